"""The model as a diagram: blocks with their places, and arrows with the shapes of what flows along them.

Plain values in, a JSON-like dictionary out, which ui/components/js/diagram.js only draws. B = 1 throughout, S source
tokens, T target tokens, V vocabulary.
"""
from collections.abc import Mapping

from ui.figures.labels import how_many

MOST_DRAWN = 6  # layers of a stack drawn one by one; with more, those between the first and the last are one
PER_ROW = 8     # numbers in a row of the layers between
WIDE, SLIM = 178, 150  # px, a layer's blocks and those before and after the stacks
PAD, BYPASS, BETWEEN = 12, 26, 54  # px: inside a layer's frame, for the residual beside it, and from frame to frame
GAP, TITLE, CHIP = 23, 30, 22
HEIGHTS = {"attention": 58, "norm": 20, "add": 20}
BLOCK = 40

ATTENTIONS = {"encoder": "self-attention", "decoder": "masked self-attention", "cross": "cross-attention"}


def model_diagram(config: Mapping[str, object], *, source: int | None, target: int | None,
                  outlined: tuple[str, int] | None = None) -> dict:
    """Blocks, layer frames and arrows of a transformer, with places in pixels.

    config: the fields of a ModelConfig, the name of its `norm`, the `width` of a head, and, in a word or two, what its
    positions do to embeddings (`embedded`) and in self-attention (`attended`). source, target: tokens read by the
    encoder and by the decoder, None without that stack. outlined: kind and layer of one attention.
    """
    drawing = _Drawing(config, outlined)
    classes = config.get("n_classes") if target is None else None
    if source is not None:
        drawing.stack("encoder", source, source, decoded=target is not None, classes=classes)
    if target is not None:
        drawing.stack("decoder", target, source, decoded=False, classes=None)
    return {"width": drawing.width, "height": drawing.below, "blocks": drawing.blocks, "frames": drawing.frames,
            "arrows": drawing.arrows}


def describe_diagram(diagram: Mapping) -> str:
    """A sentence for `aria-label`: the path from the token ids to the output."""
    ends = [block["lines"][0] for block in diagram["blocks"] if block["role"] == "end"]
    attentions = sum(block["role"] in ("attention", "number") for block in diagram["blocks"])
    return (f"The model from token ids to {ends[-1]}: {how_many(len(diagram['frames']), 'layer')} drawn, "
            f"{how_many(attentions, 'attention block')} to choose from.")


def drawn_layers(layers: int) -> list[range]:
    """The layers that share a frame: one each up to MOST_DRAWN, else the first, all between, the last."""
    if layers <= MOST_DRAWN:
        return [range(at, at + 1) for at in range(layers)]
    return [range(1), range(1, layers - 1), range(layers - 1, layers)]


class _Drawing:
    """The drawing so far; a stack is a row of columns, each read downwards."""

    def __init__(self, config: Mapping[str, object], outlined: tuple[str, int] | None) -> None:
        self.c, self.outlined = config, outlined
        self.norm = config["norm"]
        self.blocks: list[dict] = []
        self.frames: list[dict] = []
        self.arrows: list[dict] = []
        self.width = self.below = 0
        self.memory: dict | None = None

    def stack(self, kind: str, tokens: int, source: int | None, *, decoded: bool, classes: int | None) -> None:
        """A stack, from its token ids to its output; decoded: that is the memory for a decoder."""
        c = self.c
        top, shape = self.below + (44 if self.memory else 0), f"(1, {tokens}, {c['d_model']})"
        vocabulary = c.get("src_vocab_size") if kind == "encoder" else None
        vocabulary = vocabulary or c["vocab_size"]
        scale = f" × √{c['d_model']}" if c["embedding_scale"] else ""
        side = {"encoder": "source ", "decoder": "target "}[kind] if decoded or self.memory else ""  # with two stacks
        first = [self.block("end", [f"{side}token ids"]),
                 self.block("plain", ["embedding" + scale, f"{vocabulary:,} × {c['d_model']}"])]
        if c.get("type_vocab"):
            first.append(self.block("plain", ["+ learned segments"], height=26))
        if c["embedded"]:
            first.append(self.block("plain", [c["embedded"]], height=26))
        if c.get("embedding_norm"):
            first.append(self.block("norm", [self.norm]))
        x = self.column(first, 0, top, SLIM, [f"(1, {tokens})"] + [shape] * len(first))
        before, frame_bottoms = first[-1], []
        for layers in drawn_layers(c[f"{kind}_layers"]):
            items, x_next = self.layer(kind, layers, tokens, source, shape, x, top)
            self.elbow(before, items[0], shape)
            before, x = items[-1], x_next
            frame_bottoms.append(self.frames[-1]["y"] + self.frames[-1]["height"])
        last = [self.block("norm", [f"final {self.norm}"])] if (
            c["norm_position"] != "post" and c.get("final_norm", True)) else []
        shapes = [shape] * len(last)
        if decoded:
            last.append(self.block("end", ["memory"]))
        elif kind == "encoder" and classes:
            pooled = "first token" if c["pooling"] == "first" else f"{c['pooling']} over tokens"
            last.append(self.block("plain", [pooled], height=26))
            if c.get("pooler"):
                last.append(self.block("plain", [f"linear, {c['pooler']}", f"{c['d_model']} × {c['d_model']}"]))
                shapes.append(f"(1, {c['d_model']})")
            last += [self.block("plain", ["linear", f"{c['d_model']} × {classes}"]), self.block("end", ["class"])]
            shapes += [f"(1, {c['d_model']})", f"(1, {classes})"]
        elif kind == "encoder" and c.get("head") == "masked":
            last += [self.block("plain", [f"linear, {c['activation']}, {self.norm}",
                                          f"{c['d_model']} × {c['d_model']}"]),
                     self.block("plain", ["logits", f"{c['d_model']} × {vocabulary:,}"]),
                     self.block("end", ["each token"])]
            shapes += [shape, f"(1, {tokens}, {vocabulary})"]
        elif kind == "encoder":
            last.append(self.block("end", ["final rows"]))
        else:
            tied = ", tied" if c.get("tie_embeddings") else ""
            last += [self.block("plain", ["logits", f"{c['d_model']} × {c['vocab_size']:,}{tied}"]),
                     self.block("plain", ["softmax of the last row"], height=26), self.block("end", ["next token"])]
            shapes += [f"(1, {tokens}, {c['vocab_size']})", f"({c['vocab_size']},)"]
        width = self.column(last, x, top, SLIM, shapes) - BETWEEN + 24
        self.elbow(before, last[0], shape)
        bottom = max([*frame_bottoms, *(block["y"] + block["height"] for block in (*first, *last))])
        self.width, self.below = max(self.width, width), bottom + 6
        if decoded:
            self.memory = last[-1]

    def layer(self, kind: str, layers: range, tokens: int, source: int | None, shape: str, x: float,
              top: float) -> tuple[list[dict], float]:
        """The blocks of a layer, or of `layers` as one, in their frame; and where the next column starts."""
        c, norms, crossed = self.c, self.c["norm_position"], kind == "decoder" and self.memory is not None
        parts = [self.attention(kind, layers, tokens, tokens)]
        if crossed:
            parts.append(self.attention("cross", layers, tokens, source))
        if c["d_ff"]:
            gated = "gated " * bool(c.get("gated"))
            parts.append(self.block("plain", [f"{gated}feed-forward",
                                              f"{c['d_model']} → {c['d_ff']} → {c['d_model']}"]))
        items: list[dict] = []
        skips: list[tuple[dict | None, dict]] = []  # each residual's start (None: the layer's input) and end
        for part in parts:
            start = items[-1] if items else None
            skips_norm = part is parts[0] and layers[0] == 0 and not c.get("first_norm", True)
            if norms in ("pre", "both") and not skips_norm:
                items.append(self.block("norm", [self.norm]))
            items.append(part)
            if norms in ("both", "output"):
                items.append(self.block("norm", [self.norm]))
            items.append(self.block("add", ["+"]))
            skips.append((start, items[-1]))
            if norms == "post":
                items.append(self.block("norm", [self.norm]))
        left = x + PAD
        self.column(items, left, top + TITLE, WIDE, [shape] * (len(items) - 1))
        bottom = items[-1]["y"] + items[-1]["height"] + 22
        first, last = layers[0], layers[-1]
        name = f"{kind} layer {first}" if len(layers) == 1 else f"{kind} layers {first} … {last} (× {len(layers)})"
        self.frames.append({"x": x, "y": top, "width": WIDE + 2 * PAD + BYPASS, "height": bottom - top, "title": name})
        side = left + WIDE + BYPASS / 2 + 2
        for start, add in skips:
            y = _bottom(start) + 3 if start else items[0]["y"] - 10
            middle, to = left + WIDE / 2, add["y"] + add["height"] / 2
            self.arrow(start, add, shape, [[middle, y], [side, y], [side, to], [add["x"] + add["width"], to]],
                       role="residual")
        if crossed:
            self.remember(parts[1], f"(1, {source}, {c['d_model']})", left - PAD - 14, top)
        for part in parts[:-1]:
            self.numbers(part, layers)
        return items, x + WIDE + 2 * PAD + BYPASS + BETWEEN

    def attention(self, kind: str, layers: range, queries: int, keys: int) -> dict:
        c = self.c
        weights = f"weights (1, {c['n_heads']}, {queries}, {keys})"
        positions = f", {c['attended']}" if c["attended"] and kind != "cross" else ""
        heads = f"{c['n_heads']} heads, each {c['width']} wide{positions}"
        if c.get("kv_heads") not in (None, c["n_heads"]):
            heads = f"{c['n_heads']} heads ({c['kv_heads']} kv) × {c['width']}{positions}"
        block = self.block("attention", [ATTENTIONS[kind], heads, weights])
        if len(layers) == 1:
            block |= {"kind": kind, "layer": layers[0], "shown": self.outlined == (kind, layers[0]),
                      "name": f"{kind} attention of layer {layers[0]}, {weights}"}
        else:
            block |= {"role": "many", "kind": kind, "height": block["height"] + CHIP * -(-len(layers) // PER_ROW) + 4}
        return block

    def numbers(self, part: dict, layers: range) -> None:
        """A small block for each of several layers drawn as one."""
        if len(layers) == 1:
            return
        wide = (part["width"] - 10) / PER_ROW
        for at, layer in enumerate(layers):
            down, across = divmod(at, PER_ROW)
            number = self.block("number", [str(layer)], height=CHIP - 2)
            number |= {"kind": part["kind"], "layer": layer, "shown": self.outlined == (part["kind"], layer),
                       "name": f"{part['kind']} attention of layer {layer}", "width": wide - 2,
                       "x": part["x"] + 6 + across * wide, "y": part["y"] + HEIGHTS["attention"] + down * CHIP}
            self.blocks.append(number)

    def block(self, role: str, lines: list[str], *, height: float | None = None) -> dict:
        tall = HEIGHTS.get(role, BLOCK if len(lines) > 1 else 26)
        return {"role": role, "lines": lines, "height": height or tall}

    def column(self, items: list[dict], x: float, top: float, width: float, shapes: list[str]) -> float:
        """Places blocks below each other with arrows between; returns the start of the next column."""
        y = top + GAP
        for item in items:
            slim = HEIGHTS["add"] if item["role"] == "add" else width
            item |= {"id": len(self.blocks), "x": x + (width - slim) / 2, "y": y, "width": slim}
            self.blocks.append(item)
            y += item["height"] + GAP
        for above, under, shape in zip(items, items[1:], shapes, strict=False):
            middle, beside = x + width / 2, 3 if above["role"] == "add" else 0  # under the residual that starts there
            self.arrow(above, under, shape, [[middle, _bottom(above)], [middle, under["y"]]],
                       at=[middle + 7, (_bottom(above) + under["y"]) / 2 + beside])
        return x + width + BETWEEN

    def elbow(self, start: dict, end: dict, shape: str) -> None:
        """An arrow from the foot of a column up to the first block of the next."""
        under, middle, to = _bottom(start) + 12, start["x"] + start["width"] / 2, end["x"] + end["width"] / 2
        gutter, over = end["x"] - PAD - BETWEEN / 2 - 12, end["y"] - 10
        self.arrow(start, end, shape, [[middle, _bottom(start)], [middle, under], [gutter, under], [gutter, over],
                                       [to, over], [to, end["y"]]], at=[to - 8, over - 8], anchor="end")

    def remember(self, cross: dict, shape: str, lane: float, top: float) -> None:
        """An arrow from the memory, along the rail between the stacks, into a cross-attention."""
        memory, rail, y = self.memory, top - 20, cross["y"] + cross["height"] / 2
        middle = memory["x"] + memory["width"] / 2
        self.arrow(memory, cross, shape, [[middle, _bottom(memory)], [middle, rail], [lane, rail], [lane, y],
                                          [cross["x"], y]], role="memory", at=[lane + 6, rail - 9])

    def arrow(self, start: dict | None, end: dict, shape: str, points: list, *, role: str = "flow",
              at: list[float] | None = None, anchor: str = "start") -> None:
        self.arrows.append({"from": start and start["id"], "to": end["id"], "shape": shape, "points": points,
                            "role": role, "at": at, "anchor": anchor})


def _bottom(block: Mapping) -> float:
    return block["y"] + block["height"]

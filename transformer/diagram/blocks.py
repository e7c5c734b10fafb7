"""The blocks of a model, laid out from its configuration: each inside another, with its shapes and its parameters.

Whoever draws them (`js/model` in attention_view, `drawing.py` here) makes nothing up: a block's box is a fraction of
the box that it stands in, x to the right and y downwards; tokens enter below and leave above. T tokens that the
decoder reads, S those of the encoder; of an encoder alone T as well.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any, Literal

from torch import nn

from transformer.basics.design import DESIGN
from transformer.basics.formatting import how_many
from transformer.model.layers import Layer
from transformer.model.models import Transformer
from transformer.model.norms import NORMS, Norm
from transformer.model.positions import POSITIONS
from transformer.settings.config import Kind, ModelConfig

Box = tuple[float, float, float, float]  # x, y, width, height
Shape = tuple[str | int, ...]  # T and S by their letters
Role = Literal["stream", "reads", "adds", "memory"]
Type = Literal["model", "stack", "layer", "tokens", "embedding", "positions", "segments", "norm", "attention", "sum",
               "feed_forward", "linear", "pool", "output", "answer", "memory"]

# Of a column, from its top: what comes after the stack, the stack, the embeddings, the tokens.
END, STACK, EMBEDDING, TOKENS = (0.0, 0.2), (0.215, 0.605), (0.835, 0.075), (0.925, 0.075)
# Of a layer, across: its name, the residual stream, the norms, the parts.
STREAM, NORM, PART = (0.09, 0.07), (0.185, 0.075), (0.285, 0.7)
ABOVE = 0.16  # of a part, where its name stands
WIDE_PART = 5.2  # width by height of an attention when its layer fills a window
OUT, IN = 0.2, 0.72  # where a part's result leaves a row, and where it reads, from its top
# Of each type of block, and of cross-attention: what it is filled with, and its line.
COLOURS: dict[str, tuple[str, str]] = {name: (fill, line) for name, (fill, line) in DESIGN["blocks"].items()}
OTHERS = COLOURS.pop("others")  # what is made of the last rows
ATTENTIONS: dict[Kind, str] = {"encoder": "self-attention", "decoder": "masked self-attention",
                               "cross": "cross-attention"}
STACKS = {"encoder": "Encoder", "decoder": "Decoder"}


@dataclass(frozen=True)
class Wire:
    """A line of the drawing, by its role, through points of its block's box."""

    role: Role
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Heads:
    """The heads of an attention: how they stand in rows, how wide each is, and how many share keys and values."""

    count: int
    columns: int
    width: int
    groups: int  # heads of keys and values
    box: Box = (0.01, ABOVE, 0.98, 0.97 - ABOVE)  # all of them, in the attention's box


@dataclass(frozen=True)
class Block:
    """A part of a model, by its place in the whole. takes, gives: shapes; parameters: those of this block, once."""

    id: str  # "decoder.1.cross"; in a template of layers "decoder.{layer}.cross"
    type: Type
    name: str
    box: Box
    takes: Shape = ()
    gives: Shape = ()
    parameters: int = 0
    formula: str = ""
    note: str = ""
    kind: Kind | None = None
    heads: Heads | None = None
    blocks: tuple["Block", ...] = ()
    wires: tuple[Wire, ...] = ()
    layers: tuple[int, ...] = ()  # of a stack: the template among its `blocks` that each layer has
    mirrored: bool = field(default=False)  # of a stack: its stream is on the right

    def to_json(self) -> dict[str, object]:
        """Plain values, without those that say nothing."""
        def plain(pairs: list[tuple[str, object]]) -> dict[str, object]:
            return {name: _rounded(value) for name, value in pairs if value not in ((), "", None, False)}

        more = {"colours": COLOURS | {"others": OTHERS}} if self.type == "model" else {}
        return asdict(self, dict_factory=plain) | more

    @property
    def colours(self) -> tuple[str, str]:
        """What it is filled with, and its line."""
        return COLOURS.get("cross" if self.type == "attention" and self.kind == "cross" else self.type, OTHERS)

    def walk(self) -> Iterator["Block"]:
        """This block and all inside it; of a stack every layer, by its number."""
        yield self
        if self.layers:
            for at, template in enumerate(self.layers):
                yield from self.blocks[template].numbered(at, len(self.layers)).walk()
        else:
            for block in self.blocks:
                yield from block.walk()

    def numbered(self, layer: int, layers: int) -> "Block":
        """A template as the layer of that number, in its place."""
        def named(block: "Block") -> "Block":
            values = {"id": block.id.format(layer=layer), "name": block.name.format(layer=layer),
                      "blocks": tuple(map(named, block.blocks))}
            return Block(**{**{name: getattr(block, name) for name in block.__dataclass_fields__}, **values})

        return named(Block(**{**{name: getattr(self, name) for name in self.__dataclass_fields__},
                              "box": (0.0, 1 - (layer + 1) / layers, 1.0, 1 / layers)}))


def _rounded(value: object) -> object:
    """A value with its fractions to five places, a hundredth of a pixel."""
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return round(value, 5) if isinstance(value, float) else value


@lru_cache(64)
def model_blocks(config: ModelConfig) -> Block:
    """The blocks of a model, the whole first. Every parameter is counted in one of them; tied ones where they enter."""
    model = Transformer.laid_out(config)
    counted = _Counted()
    both = len(config.stacks) == 2
    columns: list[Block] = []
    wires: list[Wire] = []
    for at, stack in enumerate(config.stacks):
        x, width = (0.535 * at, 0.465) if both else (0.0, 1.0)
        column = _Column(config, model, stack, counted, tokens="S" if both and stack == "encoder" else "T",
                         has_memory=both and stack == "encoder", mirrored=both and stack == "decoder", x=x, width=width)
        columns += column.blocks
        wires += column.wires
    if both:
        wires += _bridge(config, columns)
    total = sum(parameter.numel() for parameter in model.parameters())
    return Block("", "model", "The whole model", (0.0, 0.0, 1.0, 1.0), takes=(columns[0].gives[0],),
                 gives=columns[-1].gives, parameters=total, blocks=tuple(columns), wires=tuple(wires),
                 note=_summary(config))


def _summary(config: ModelConfig) -> str:
    """What it is made of, in a line."""
    layers = " and ".join(how_many(count, f"{stack} layer") for stack, count in config.stacks.items())
    return f"{layers}, {how_many(config.n_heads, 'head')} in each attention, rows of {config.d_model:,} numbers"


class _Counted:
    """Parameters, each counted where it is met first."""

    def __init__(self) -> None:
        self.known: set[int] = set()

    def __call__(self, *modules: nn.Module | None) -> int:
        parameters = {id(one): one for module in modules if module is not None for one in module.parameters()}
        new = parameters.keys() - self.known
        self.known |= new
        return sum(parameters[one].numel() for one in new)


class _Column:
    """A stack with what stands below and above it, from the tokens to the answer."""

    def __init__(self, config: ModelConfig, model: Transformer, stack: Kind, counted: _Counted, *, tokens: str,
                 has_memory: bool, mirrored: bool, x: float, width: float) -> None:
        self.config, self.model, self.counted = config, model, counted
        self.stack: Kind = stack
        self.rows: Shape = (tokens, config.d_model)
        self.tokens, self.has_memory, self.mirrored, self.x, self.width = tokens, has_memory, mirrored, x, width
        self.norm = NORMS[config.norm_kind].title
        self.module = model.stack(stack)
        self.blocks = [*self.before(), self.stacked(), *self.after()]
        across, embedding = self.across(STREAM[0] + STREAM[1] / 2, 0)[0], self.blocks[1].box
        middle, bottom = embedding[0] + embedding[2] / 2, EMBEDDING[0] + EMBEDDING[1]
        self.wires = [Wire("stream", ((middle, TOKENS[0]), (middle, bottom))),
                      Wire("stream", ((across, EMBEDDING[0]), (across, STACK[0] + STACK[1]))),
                      Wire("stream", ((across, STACK[0]), (across, self.blocks[-1].box[1])))]

    def across(self, x: float, width: float) -> tuple[float, float]:
        """The left edge and the width in the whole of what stands at x in this column."""
        x = 1 - x - width if self.mirrored else x
        return self.x + x * self.width, width * self.width

    def block(self, type: Type, name: str, place: Box, *, id: str = "", **more: Any) -> Block:
        """A block of this column; its box in the column as if it were not mirrored."""
        x, width = self.across(place[0], place[2])
        return Block(f"{self.stack}.{id or type}", type, name, (x, place[1], width, place[3]), **more)

    def before(self) -> list[Block]:
        """The tokens and what is made of them before the first layer."""
        config, counted = self.config, self.counted
        embedding = getattr(self.model, "src_embedding" if self.stack == "encoder" else "tgt_embedding")
        vocabulary = (config.src_vocab_size if self.stack == "encoder" else None) or config.vocab_size
        positions = POSITIONS[config.positions]
        scale = config.embedding_factor
        times = f" · {f'√{config.d_model:,}' if config.embedding_scale is True else f'{scale:g}'}" * (scale != 1)
        narrow = config.embedding_dim or config.d_model
        own = counted(embedding.tokens)
        tied = "" if own else ", the same table as the source's"
        parts: list[tuple[Type, str, str, int, str]] = [
            ("embedding", "embedding", "embedding", own,
             f"row of the token in a table of {vocabulary:,} × {narrow:,}{tied}{times}")]
        widen: list[tuple[Type, str, str, int, str]] = [
            ("linear", "widen", "linear, wider" if narrow < config.d_model else "linear", counted(embedding.widen),
             f"{narrow:,} × {config.d_model:,}")] * bool(config.embedding_dim)
        if config.widen_first:
            parts += widen
        if positions.embedded:
            parts.append(("positions", "positions", positions.embedded, counted(embedding.positions),
                          positions.sentence))
        if config.type_vocab:
            parts.append(("segments", "segments", "+ segments", counted(embedding.types),
                          f"one of {config.type_vocab} learned rows is added: which sentence a token is of"))
        if config.embedding_norm:
            parts.append(("norm", "embedding_norm", self.norm, counted(embedding.norm), "of the sum"))
        if not config.widen_first:
            parts += widen
        y, height = EMBEDDING
        made = [self.block("tokens", "source tokens" if self.has_memory else "tokens",
                           (PART[0], TOKENS[0], PART[1], TOKENS[1]), gives=(self.tokens,))]
        gap, last = 0.012, len(parts) - 1
        wide = (PART[0] + PART[1] - STREAM[0] - gap * last) / len(parts)
        takes: Shape = (self.tokens,)
        for at, (type, id, name, parameters, formula) in enumerate(parts):
            # from right to left, so that the sum enters the stream
            left = STREAM[0] + (last - at) * (wide + gap)
            is_wide = any(one[1] == "widen" for one in parts[:at + 1]) or not config.embedding_dim
            gives: Shape = (self.tokens, config.d_model if is_wide else narrow)
            made.append(self.block(type, name, (left, y, wide, height), id=id, takes=takes, gives=gives,
                                   parameters=parameters, formula=formula))
            takes = gives
        if (buckets := self.module.buckets) is not None:
            table = buckets.weight.shape
            what = "a number for each head" if positions.bucketed == "numbers" else "a vector"
            made.append(self.block("positions", positions.attended, (0.0, TOKENS[0], PART[0] - 0.02, TOKENS[1]),
                                   id="buckets", gives=tuple(table), parameters=counted(buckets),
                                   formula=f"{what}, learned for each of {table[0]:,} ranges of distances; all layers "
                                           "add it to their scores"))
        return made

    def stacked(self) -> Block:
        """The stack: a template for each kind of layer that it has."""
        config, count = self.config, self.config.layers(self.stack)
        templates: list[Block] = []
        keys: list[tuple[bool, bool]] = []
        layers: list[int] = []
        for layer in range(count):
            key = (not config.first_norm and layer == 0 and not config.shared_layers, config.has_window(layer))
            if key not in keys:
                keys.append(key)
                templates.append(self.layer(layer))
            elif not config.shared_layers:
                self.counted(self.module.layers[layer])
            layers.append(keys.index(key))
        x, width = self.across(0.0, 1.0)
        parameters = sum(one.numel() for one in self.module.layers.parameters())
        note = "all layers share one set of weights" if config.shared_layers and count > 1 else ""
        return Block(self.stack, "stack", STACKS[self.stack], (x, STACK[0], width, STACK[1]), takes=self.rows,
                     gives=self.rows, parameters=parameters, note=note, kind=self.stack, blocks=tuple(templates),
                     layers=tuple(layers), mirrored=self.mirrored)

    def layer(self, number: int) -> Block:
        """A layer: its parts from the bottom up, and the stream that each adds to."""
        config, layer = self.config, self.module.layers[number]
        assert isinstance(layer, Layer)
        parts = [name for name in ("attention", "cross", "feed_forward") if getattr(layer, name) is not None]
        rows = [parts] if config.parallel else [[name] for name in parts]
        weights = [0.8 if row == ["feed_forward"] else 1.0 for row in rows]
        blocks: list[Block] = []
        wires: list[Wire] = []
        bottom = 0.98
        for row, weight in zip(rows, weights, strict=True):
            height = 0.95 * weight / sum(weights)
            self._row(layer, number, row, (bottom - height, height), blocks, wires)
            bottom -= height
        stream = self._x(STREAM[0] + STREAM[1] / 2)
        wires.insert(0, Wire("stream", ((stream, 1.0), (stream, 0.0))))
        return Block(f"{self.stack}.{{layer}}", "layer", "layer {layer}", (0, 0, 1, 1), takes=self.rows,
                     gives=self.rows, parameters=sum(one.numel() for one in layer.parameters()), kind=self.stack,
                     blocks=tuple(blocks), wires=tuple(wires))

    def _x(self, x: float, width: float = 0.0) -> float:
        return 1 - x - width if self.mirrored else x

    def _row(self, layer: Layer, number: int, parts: Sequence[str], place: tuple[float, float],
             blocks: list[Block], wires: list[Wire]) -> None:
        """A row of a layer: one part, or two beside each other that read the same rows."""
        config, counted = self.config, self.counted
        y, height = place
        count, at_stream = len(parts), STREAM[0] + STREAM[1] / 2
        wide = (PART[1] - 0.02 * (count - 1)) / count

        def add(type: Type, id: str, name: str, box: Box, **more: Any) -> None:
            blocks.append(Block(f"{self.stack}.{{layer}}.{id}", type, name,
                                (self._x(box[0], box[2]), *box[1:]), **more))

        def wire(role: Role, *points: tuple[float, float]) -> None:
            wires.append(Wire(role, tuple((self._x(x), y + down * height) for x, down in points)))

        for at, name in enumerate(parts):
            norm, out_norm = layer.norm_of(name), getattr(layer, f"{name}_out_norm", None)
            shared = at > 0 and layer.shared
            reads = isinstance(norm, Norm) and not layer.is_post and not shared
            left, lane, out, tall = PART[0] + at * (wide + 0.02), IN, OUT, 0.22
            if count > 1:  # two norms above each other, and the second part's wires around the first part
                lane, out, tall = (0.56, 0.86)[at], (0.3, 0.1)[at], 0.16
            if reads:
                add("norm", f"{name}_norm", self.norm, (NORM[0], y + (lane - tall / 2) * height, NORM[1],
                                                        tall * height),
                    takes=self.rows, gives=self.rows, parameters=counted(norm), formula=f"before {_called(name)}")
            if at:
                start = ((PART[0] - 0.012, 0.56),) if shared else ((at_stream, lane), (PART[0] - 0.012, lane))
                wire("reads", *start, (PART[0] - 0.012, 0.975), (left - 0.01, 0.975), (left - 0.01, lane), (left, lane))
                wire("adds", (left, out), (left - 0.01, out), (left - 0.01, 0.025), (PART[0] - 0.012, 0.025),
                     (PART[0] - 0.012, out), (at_stream, out))
            else:
                wire("reads", (at_stream, lane), (left, lane))
                wire("adds", (left, out), (at_stream, out))
            self._part(layer, number, name, (left, y + 0.05 * height, wide, 0.9 * height), add)
            if isinstance(out_norm, Norm):
                add("norm", f"{name}_out_norm", self.norm, (NORM[0], y + (out - tall / 2) * height, NORM[1],
                                                            tall * height),
                    takes=self.rows, gives=self.rows, parameters=counted(out_norm), formula=f"after {_called(name)}")
            add("sum", f"{name}_sum", "+", (at_stream - 0.02, y + (out - 0.06) * height, 0.04, 0.12 * height),
                takes=self.rows, gives=self.rows, formula="the row before, plus what was computed from it"
                + (f", times {config.residual_scale:g}" if config.residual_scale != 1 else ""))
            if isinstance(norm, Norm) and layer.is_post:
                add("norm", f"{name}_norm", self.norm, (STREAM[0] - 0.025, y + 0.005 * height, STREAM[1] + 0.05,
                                                        0.12 * height), takes=self.rows, gives=self.rows,
                    parameters=counted(norm), formula="of the sum")

    def _part(self, layer: Layer, number: int, name: str, box: Box, add: Callable[..., None]) -> None:
        config, module = self.config, getattr(layer, name)
        if name == "feed_forward":
            gate = f"({config.activation}(x W_gate) · x W_up)" if config.gated else f"{config.activation}(x W_up)"
            add("feed_forward", name, "gated feed-forward" if config.gated else "feed-forward", box, takes=self.rows,
                gives=self.rows, parameters=self.counted(module), formula=f"{gate} W_down",
                note=f"{how_many(config.d_ff, 'neuron')}, each token by itself")
            return
        kind: Kind = "cross" if name == "cross" else self.stack
        heads = Heads(config.n_heads, _columns(config.n_heads, box[2] / PART[1]), config.width, config.groups)
        notes = [f"{how_many(config.n_heads, 'head')} × {config.width}"]
        if config.groups < config.n_heads:
            notes.append(f"{how_many(config.groups, 'head')} of keys and values")
        if kind != "cross":
            notes += filter(None, [POSITIONS[config.positions].attended])
            if config.has_window(number):
                notes.append(f"sees {how_many(config.window or 0, 'token')}" + " each way" * (self.stack == "encoder"))
        if config.qk_norm:
            notes.append("queries and keys normed")
        scale = "/ √d_k" if config.attention_scale is None else f"· {config.attention_scale:g}"
        formula = f"softmax(q kᵀ {scale}) v W_o"
        add("attention", name, ATTENTIONS[kind], box, takes=self.rows, gives=self.rows, kind=kind, heads=heads,
            parameters=self.counted(module), formula=formula, note=", ".join(notes))

    def after(self) -> list[Block]:
        """What is made of the last layer's rows, from the bottom up."""
        config, model, counted, rows = self.config, self.model, self.counted, self.rows
        parts: list[tuple[Type, str, str, Shape, int, str]] = []  # type, id, name, gives, parameters, formula
        if isinstance(self.module.norm, Norm):
            parts.append(("norm", "norm", f"final {self.norm}", rows, counted(self.module.norm),
                          "on the last layer's output"))
        if self.has_memory:
            parts.append(("memory", "memory", "memory", rows, 0, "what cross-attention reads"))
        elif self.stack == "decoder":
            tied = ", the table of the embeddings" if config.tie_embeddings else ""
            width = config.embedding_dim or config.d_model
            if width != config.d_model:
                parts.append(("linear", "narrow", "linear, narrower" if width < config.d_model else "linear",
                              (self.tokens, width), counted(model.narrow), f"{config.d_model:,} × {width:,}"))
            parts.append(("output", "output", "logits", (self.tokens, config.vocab_size), counted(model.output),
                          f"each row times a table of {width:,} × {config.vocab_size:,}{tied}"))
            parts.append(("answer", "answer", "next token", (config.vocab_size,), 0,
                          "softmax of the last row's logits"))
        elif config.task == "classes":
            pooled = "first token" if config.pooling == "first" else f"{config.pooling} over tokens"
            parts.append(("pool", "pool", pooled, (config.d_model,), 0, "one row for the whole text"))
            if config.pooler:
                parts.append(("linear", "pooler", f"linear, {config.pooler}", (config.d_model,),
                              counted(model.pooler, model.pooler_norm), f"{config.d_model:,} × {config.d_model:,}"))
            parts.append(("output", "output", "logits", (config.n_classes or 0,), counted(model.output),
                          f"{config.d_model:,} × {config.n_classes}"))
            parts.append(("answer", "answer", "class", (config.n_classes or 0,), 0, "softmax of the logits"))
        elif config.head == "masked":
            width, vocabulary = config.embedding_dim or config.d_model, config.src_vocab_size or config.vocab_size
            tied = ", the table of the embeddings" if config.tie_embeddings else ""
            parts.append(("linear", "masked_head", f"linear, {config.head_activation or config.activation}, norm",
                          (self.tokens, width), counted(model.masked_head), f"{config.d_model:,} × {width:,}"))
            parts.append(("output", "output", "logits", (self.tokens, vocabulary), counted(model.output),
                          f"each row times a table of {width:,} × {vocabulary:,}{tied}"))
            parts.append(("answer", "answer", "each token", (self.tokens, vocabulary), 0,
                          "softmax of each row's logits"))
        else:
            parts.append(("answer", "answer", "final rows", rows, 0, "this encoder predicts nothing"))
        y, height = END
        tall = [2.0 if type == "answer" else 1.0 for type, *_ in parts]  # candidates stand in the answer
        tops = [y + height * (1 - sum(tall[:at + 1]) / sum(tall)) for at in range(len(parts))]
        return [self.block(type, name, (STREAM[0], top, PART[0] + PART[1] - STREAM[0],
                                        (height - 0.03) * share / sum(tall)), id=id,
                           takes=parts[at - 1][3] if at else rows, gives=gives, parameters=parameters, formula=formula)
                for at, ((type, id, name, gives, parameters, formula), top, share) in enumerate(
                    zip(parts, tops, tall, strict=True))]


def _called(part: str) -> str:
    return {"attention": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}[part]


def _columns(heads: int, share: float) -> int:
    """In how many columns heads are largest, of a part that has this share of a row's width."""
    def side(columns: int) -> float:
        return min(WIDE_PART * share / columns, 1 / ceil(heads / columns))

    return max(range(1, heads + 1), key=lambda columns: (round(side(columns), 9), -columns))


def _bridge(config: ModelConfig, columns: Sequence[Block]) -> list[Wire]:
    """The memory's way from the encoder's last block to every cross-attention."""
    memory = next(block for block in columns if block.type == "memory")
    stack = next(block for block in columns if block.id == "decoder")
    x, y, width, height = memory.box
    start, middle = (x + width, y + height / 2), 0.5
    found = []
    for layer in range(config.decoder_layers):
        of_layer = stack.blocks[stack.layers[layer]].numbered(layer, config.decoder_layers)
        cross = next(block for block in of_layer.blocks if block.kind == "cross")
        down = of_layer.box[1] + (cross.box[1] + IN * cross.box[3]) * of_layer.box[3]
        at = stack.box[1] + down * stack.box[3]
        found.append(Wire("memory", (start, (middle, start[1]), (middle, at),
                                     (stack.box[0] + cross.box[0] * stack.box[2], at))))
    return found

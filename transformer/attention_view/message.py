"""The messages that the scripts draw from: a JSON header, then arrays as they lie in memory.

L layers, H heads, Tq queries, Tk keys.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson
import torch

from transformer.attention_view.external_weights import ROUNDED, Tensors
from transformer.attention_view.heads import (
    AttentionSource,
    Head,
    Pooled,
    block_of,
    combined,
    in_proportion,
    on_scale,
    one_head,
    quantise,
    rolls,
    shape,
    weights,
)
from transformer.attention_view.message_fields import About, Ahead, AttentionKind, Bar, Bars, Near, Selection
from transformer.attention_view.shared import EXACT, FEW_HEADS, ORDERS
from transformer.attention_view.window import Window
from transformer.inference.decoding import GREEDY, AnyStep, Sampling, Step
from transformer.inference.reading import Reading
from transformer.inference.recompute import scoring
from transformer.inference.word_attention import SIDES, Words
from transformer.settings.config import Kind
from transformer.text.word_pieces import NONE, Merged, alternatives, label_mark, piece_labels

TYPES = {"float32": "f4", "uint8": "u1", "uint16": "u2"}
MOST_LINES = 250_000  # weights of a layer that are sent to be drawn as lines
MOST_TILES = 262_144  # cells of many heads
FINEST = 65_535
CANDIDATES = 10
LONGEST_CHARACTER = 3  # pieces before the last one of a character in UTF-8
MODEL = "model"  # the view of the whole model
LOWER = ("grid", "tiles", "text", "weights", "fine", "faint")  # of queries by keys


def about(source: AttentionSource) -> About:
    """The origin that every picture and every file states."""
    meta = source.ckpt.meta if source.ckpt is not None else {}
    name = source.ckpt.id if source.ckpt is not None else getattr(source, "origin", None)
    found: About = {"checkpoint": name, "step": meta.get("step"), "text": source.text,
                    "output": getattr(source, "output", None)}
    if merged := _merged(source):
        found["merged"] = merged
    return found


def head_of(source: AttentionSource, selection: Selection) -> Head:
    """The selected head, or mean of heads."""
    if selection.of == "head":
        return one_head(source, selection.kind, selection.layer, selection.head)
    return combined(source, selection.kind, selection.of, selection.layer)


def newest_row(source: AttentionSource, selection: Selection, head: Head) -> np.ndarray:
    """The weights (Tk,) of the last query, whether it is drawn or not; head: the part of `source` that is drawn."""
    if len(head.weights) == len(source.axes(selection.kind)[0]):
        return head.weights[-1]
    if selection.of == "rollout":  # what lies outside is on the way through the layers too
        return head_of(source, selection).weights[-1]
    layers = slice(None) if selection.of == "mean_all" else slice(selection.layer, selection.layer + 1)
    heads = slice(selection.head, selection.head + 1) if selection.of == "head" else slice(None)
    found = weights(source, selection.kind, layers=layers, heads=heads, queries=slice(-1, None))
    return found.mean(dim=(0, 1))[0].float().cpu().numpy()


def _merged(source: AttentionSource | AnyStep) -> Mapping[str, Merged] | None:
    """The tokens of each kind that are merged or left out, where any are."""
    of = source.of if isinstance(source, Window) else source
    if isinstance(of, Words):
        return {kind: of.changes(kind) for kind in of.kinds}
    return getattr(of, "merged", None)


def mark_of(source: AttentionSource | AnyStep, side: str) -> str:
    """The mark of words that labels of the source's or the target's tokens do without."""
    ckpt = source.ckpt
    if ckpt is None or any(one["words"] for one in (_merged(source) or {}).values()):
        return NONE  # tokens from elsewhere are as they came
    return label_mark(ckpt.source_tokenizer if side == "src" else ckpt.tokenizer)


def token_labels(source: AttentionSource, kind: str, *, exact: bool = False,
                 ) -> tuple[list[str], list[str], list[str] | None]:
    """The labels of a kind's queries, its keys and of what is predicted from each query, if anything is. exact: with
    the marks of words that their tokenizers use."""
    whole, sides = source.of if isinstance(source, Window) else source, SIDES.get(kind, ("tgt", "tgt"))
    marks = [NONE if exact else mark_of(source, side) for side in sides]
    queries, keys = map(piece_labels, whole.axes(kind), marks)
    makes = whole.predicted(kind)
    makes = makes and piece_labels([*whole.axes(kind)[0][:1], *makes], marks[0])[1:]
    if isinstance(source, Window):
        rows, columns = source.places[kind]
        return queries[rows], keys[columns], makes and makes[rows]
    return queries, keys, makes


def ahead(source: AttentionSource, kind: Kind, coming: Sequence[tuple[str, str]], *, exact: bool) -> Ahead:
    """The labels of tokens that a decoder will read, and of what it predicts from each."""
    known, mark = source.axes(kind)[0], NONE if exact else mark_of(source, SIDES[kind][0])
    read, makes = map(list, zip(*coming, strict=True))
    labels = piece_labels([*known, *read], mark)[len(known):]
    return {"queries": labels, "keys": labels if kind == "decoder" else [],
            "makes": piece_labels([*read[:1], *makes], mark)[1:]}


def about_kind(source: AttentionSource, kind: Kind, *, exact: bool = False, kept: bool = False) -> AttentionKind:
    """What is said of a kind. exact: as for `token_labels`; kept: with the exact `pieces`, where labels are others, as
    files have them."""
    layers, heads = shape(source, kind)
    queries, keys, makes = token_labels(source, kind, exact=exact)
    near = _near(source, kind)
    everywhere = near is not None and len(near["layers"]) == layers
    # of a whole text without windows, what may look at what is known without being made
    known = everywhere or (isinstance(source, Step | Reading) and near is None)
    mask = None if known else source.mask(kind)
    causal = kind == "decoder" and (everywhere or len(queries) > 1) if mask is None else not bool(mask.all())
    found: AttentionKind = {"layers": layers, "heads": heads, "queries": queries, "keys": keys, "causal": causal}
    if kept and (pieces := token_labels(source, kind, exact=True)) != (queries, keys, makes):
        found["pieces"] = {"queries": pieces[0], "keys": pieces[1], "makes": pieces[2]}
    if causal and mask is not None and not mask.equal(torch.ones_like(mask).tril()):
        found["sees"] = mask.sum(1).tolist()
    config = None if source.ckpt is None else source.ckpt.config
    if config is not None and config.groups < config.n_heads == heads:
        found["groups"] = config.groups
    factor, cap = scoring(source, kind)
    if factor is not None:
        found["scale"] = factor
    if cap is not None:
        found["cap"] = cap
    if makes:
        found["makes"] = makes
    if merged := (_merged(source) or {}).get(kind):
        found["merged"] = merged
    if near:
        found["near"] = near
    if rolls(source, kind):
        found["rolls"] = True
    if numbers := getattr(source, "numbers", None):
        found["numbers"] = numbers
    _of_tensors(source, kind, found)
    if isinstance(source, Window):
        found["first"] = [side.start for side in source.places[kind]]
        found["whole"] = source.whole(kind)
    return found


def _of_tensors(source: AttentionSource, kind: Kind, found: AttentionKind) -> None:
    """Put in how exact the numbers are, and what they are where they came from elsewhere."""
    of = source.of if isinstance(source, Window) else source
    rounded = None
    if isinstance(of, Tensors):
        rounded = of.rounded.get(kind)
        if scale := of.scales.get(kind):
            found["open"] = {"signed": scale.signed, "most": scale.most}
        if of.cut:
            found["cut"] = True
    elif (projections := source.projections(kind)) is not None:
        rounded = ROUNDED.get(projections[0].dtype)
    if rounded:
        found["rounded"] = rounded


def _near(source: AttentionSource, kind: Kind) -> Near | None:
    """The window of some layers, where it hides anything."""
    config = None if source.ckpt is None else source.ckpt.config
    if config is None or config.window is None or kind == "cross" or kind not in config.kinds:
        return None
    layers = [layer for layer in range(config.layers(kind)) if config.has_window(layer)]
    of = source.of if isinstance(source, Window) else source
    if not layers or isinstance(of, Tensors):
        return None
    near: Near = {"layers": layers, "size": config.window}
    if not isinstance(of, Words):
        return near if config.window < len(of.axes(kind)[1]) else None
    mask = source.mask(kind, layers[0]).int()
    start = mask.argmax(-1)
    near["sees"] = torch.stack([start, start + mask.sum(-1)], -1).tolist()
    return near


def live(source: AttentionSource, selection: Selection, pooled: Pooled, *, head: Head | None = None,
         coming: Sequence[tuple[str, str]] = (), more: Mapping[str, np.ndarray] | None = None,
         **header: Any) -> bytes:
    """The message for one picture: all heads of a kind pooled, the chosen one in full, and what its lines need.

    coming: tokens that a decoder will read, and what it predicts from each, for which room is left; more: arrays
    that go along. The header's own fields (`answered`, `dark`, `newest`) go to the script as they are.
    """
    head = head or head_of(source, selection)
    of = source.of if isinstance(source, Window) else source
    if isinstance(of, Tensors) and selection.kind in of.scales:
        arrays, block = _on_their_scale(of, selection.kind)
    elif selection.view == MODEL:  # which has all heads of every kind by itself
        arrays, block = {}, pooled.block
    else:
        arrays, block = pooled.drawn(selection.kind, selection.order, selection.layer,
                                     cells=pooled.cells.size if pooled.numbers is None else MOST_TILES)
    arrays |= {name: array for name, array in head._asdict().items() if array is not None
               and (name != "v" or selection.view == MODEL)}
    window = None
    if isinstance(source, Window) and selection.of == "head":
        arrays["text"] = pooled.cells[selection.layer, selection.head]  # where in it the window is
    if selection.view == "lines":
        queries, keys = map(len, source.axes(selection.kind))
        heads = pooled.cells.shape[1]
        most = max(32, int((MOST_LINES / heads) ** 0.5))
        window = [max(0, queries - most), max(0, keys - most)]
        layer = weights(source, selection.kind, layers=slice(selection.layer, selection.layer + 1),
                        queries=slice(window[0], None))[0, :, :, window[1]:]
        arrays["layer"] = layer.float().cpu().numpy()
    exact = selection.tokens == EXACT
    kinds = {kind: about_kind(source, kind, exact=exact, kept=kind == selection.kind)
             for kind in source.kinds}
    if coming and not isinstance(source, Window):
        for kind in source.kinds:
            if kind != "encoder":
                kinds[kind]["ahead"] = ahead(source, kind, coming, exact=exact)
    lower = lower_of(arrays)
    arrays |= more or {}
    return pack({"about": about(source), "selection": vars(selection), "kinds": kinds, "window": window,
                 "block": {selection.kind: block}, "every": pooled.every, "maps": [selection.order],
                 "modelled": of.ckpt is not None and not isinstance(of, Tensors), **header}, arrays,
                lower=lower)


def lower_of(arrays: Mapping[str, np.ndarray]) -> set[str]:
    """The arrays of queries by keys that hold nothing above their diagonal, and are sent without that."""
    square = {name: array for name, array in arrays.items()
              if name.split("/")[0] in LOWER and array.shape[-1] == array.shape[-2]}
    return {name for name, array in square.items() if not array[..., *np.triu_indices(array.shape[-1], 1)].any()}


def whole(source: AttentionSource, selection: Selection, *, exact: bool = True, stages_below: int = 4_000_000,
          more: Mapping[str, np.ndarray] | None = None, **header: Any) -> bytes:
    """The message with every head of every kind, for a page that has nobody to ask.

    exact=False leaves out the cells of all heads but the chosen one: the others are then seen pooled. Queries, keys,
    moved norms and biases go along, for the stages before and after the softmax, where all of the first two take less
    than `stages_below` bytes.
    """
    arrays: dict[str, np.ndarray] = {}
    kinds, blocks = {}, {}
    sizes = [4 * rows.numel() for kind in source.kinds for rows in (source.projections(kind) or ())[:2]]
    small = sum(sizes) < stages_below
    for kind in source.kinds:
        kinds[kind] = about_kind(source, kind, exact=selection.tokens == EXACT, kept=True)
        layers, heads = shape(source, kind)
        if isinstance(source, Tensors) and kind in source.scales:
            drawn, blocks[kind] = _on_their_scale(source, kind)
            arrays |= drawn
            if exact:
                arrays[f"values/{kind}"] = source.attentions[kind].numpy()
            continue
        if exact:  # the picture of all heads is made from these
            blocks[kind] = block_of(source, kind)
            cells = np.stack([quantise(weights(source, kind, layers=slice(at, at + 1))[0].float().cpu().numpy(), FINEST)
                              for at in range(layers)])
            arrays[f"cells/{kind}"] = np.stack([cells >> 8, cells & 255]).astype(np.uint8)  # apart they pack smaller
        if not exact or layers * heads > FEW_HEADS:
            pooled = Pooled.of(source, kind)
            if pooled.numbers is not None:
                every = [pooled.numbers.of(order) for order in ORDERS]
                arrays[f"map/{kind}"] = in_proportion(np.array(every))
            if not exact:
                arrays[f"grid/{kind}"], blocks[kind] = pooled.cells, pooled.block
        if small and source.projections(kind) is not None:
            every = [[one_head(source, kind, layer, head) for head in range(heads)] for layer in range(layers)]
            for name in ("q", "k", "moved", *(("v",) if selection.view == MODEL else ())):
                if getattr(every[0][0], name) is not None:
                    arrays[f"{name}/{kind}"] = np.array([[getattr(one, name) for one in row] for row in every])
            if every[0][0].bias is not None:  # (L, H, Tq, Tk), or (1, H, Tq, Tk) of all layers
                biases = np.array([[one.bias for one in row] for row in every])
                arrays[f"bias/{kind}"] = biases[:1] if (biases == biases[:1]).all() else biases
    if not exact:
        arrays |= {name: array for name, array in head_of(source, selection)._asdict().items() if array is not None
                   and (name != "v" or selection.view == MODEL)}
    rows = {f"{name}/{kind}" for name in "qkv" for kind in kinds} & arrays.keys()
    short = {name for name in rows if np.isfinite(arrays[name]).all()}
    arrays |= more or {}
    return pack({"about": about(source), "selection": vars(selection), "kinds": kinds, "window": None,
                 "block": blocks, "standalone": True, "maps": ORDERS, **header}, arrays, short=short)


def _on_their_scale(source: Tensors, kind: Kind) -> tuple[dict[str, np.ndarray], tuple[int, int]]:
    """What a picture of all heads is sent of values that are no weights, as by `Pooled.drawn`."""
    values, scale, block = source.attentions[kind], source.scales[kind], block_of(source, kind)
    arrays = {f"grid/{kind}": on_scale(values, scale, block)}
    if values.shape[0] * values.shape[1] > FEW_HEADS:  # how large the largest of each head is
        largest = values.abs().amax((2, 3))[None] / scale.most
        arrays[f"map/{kind}"] = in_proportion(largest.numpy())
    return arrays, block


def pack(header: Mapping[str, object], arrays: Mapping[str, np.ndarray], *, lower: Collection[str] = (),
         short: Collection[str] = ()) -> bytes:
    """u32 length of the JSON, the JSON, then each array where the JSON says, all on multiples of four bytes.

    lower: what is 0 above the diagonal of its last two axes and is sent without that; short: finite float32 that is
    sent in three bytes a number, to 6e-8 of the largest.
    """
    places, parts, at = {}, [], 0
    for name, array in arrays.items():
        places[name] = {"type": TYPES[str(array.dtype)], "shape": array.shape, "at": at, "lower": name in lower}
        if name in lower:
            array = np.concatenate([array[..., row, : row + 1] for row in range(array.shape[-2])], axis=-1)
        if name in short:
            array, places[name]["most"] = shortened(array)
        data = np.ascontiguousarray(array).tobytes()
        parts.append(data + b"\0" * (-len(data) % 4))
        at += len(parts[-1])
    text = orjson.dumps({**header, "arrays": places})
    text += b" " * (-len(text) % 4)
    return b"".join([struct.pack("<I", len(text)), text, *parts])


def shortened(numbers: np.ndarray) -> tuple[np.ndarray, float]:
    """Numbers as whole ones of 24 bits, and the largest, which is 2^23 - 1 of these: all high bytes, then all middle
    and all low ones, since apart they pack smaller."""
    most = float(np.abs(numbers).max(initial=0)) or 1.0
    whole = (np.rint(numbers / most * (2**23 - 1)) + 2**23).astype(np.uint32)
    return np.stack([whole >> 16, whole >> 8 & 255, whole & 255]).astype(np.uint8), most


def candidate_bars(step: AnyStep, rows: Sequence[Bar], **more: Any) -> Bars:
    """The likeliest next tokens of a step."""
    return Bars(**{"title": "What comes next?", "label": "next tokens", "rows": rows,
                   "rest": max(0.0, 1 - sum(one.probability for one in rows if not one.excluded)), **more})


def unknown(step: AnyStep) -> list[int]:
    """The places of the given text at which something stands that the vocabulary lacks."""
    return [at for at, piece in enumerate(step.source) if piece.unknown]


def source_tokens(step: AnyStep) -> list[str]:
    """The tokens that the encoder reads, as they were typed, and the end token after them."""
    return [*piece_labels([piece.text for piece in step.source], mark_of(step, "src")),
            step.axes("cross")[1][-1]]


def target_tokens(step: AnyStep) -> list[str]:
    """The tokens that the decoder has read; what the vocabulary lacks of a typed text is as it was typed."""
    read = piece_labels(step.axes("decoder")[0], mark_of(step, "tgt"))
    lacking = () if step.src is not None else unknown(step)
    return [step.source[at].text if at in lacking else piece for at, piece in enumerate(read)]


def bars(step: AnyStep, sampling: Sampling = GREEDY) -> list[Bar]:
    """A bar for each of the likeliest next tokens."""
    likeliest, excluded = step.candidates(CANDIDATES, sampling)
    read = step.axes("decoder")[0][-LONGEST_CHARACTER:]
    labels = alternatives(read, [one.piece for one in likeliest], mark_of(step, "tgt"))
    return [Bar(label=label, probability=one.probability, chosen=one.id == step.id, excluded=one.id in excluded)
            for label, one in zip(labels, likeliest, strict=True)]


def path_of(step: AnyStep, sampling: Sampling = GREEDY) -> dict[str, Any]:
    """Every step on the way to this one, as the script reads it: the tokens, and for each step its candidates, with
    their probabilities under `sampling`, and the text that it ends."""
    steps, read = step.path(), target_tokens(step)
    source = None if step.src is None else source_tokens(step)
    return {"prompt": len(read) - step.index, "source": source, "target": [*read, step.piece], "unknown": unknown(step),
            "outputs": [at.whole if source is None else at.output for at in steps],
            "bars": [[asdict(one) | {"probability": round(one.probability, 6)} for one in bars(at, sampling)]
                     for at in steps]}

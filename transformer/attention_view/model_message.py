"""The numbers of the picture of the whole model: fields of a header and arrays, which go along with a message.

P positions, L layers, H heads, Tk keys.
"""

from collections.abc import MutableMapping
from typing import Any

import numpy as np
from torch import Tensor

from transformer.analysis.carried import HOOKED, Carried, Effects, Source, carried, effects, feature, is_unhooked
from transformer.analysis.neurons import Stack
from transformer.attention_view.heads import POOLED, AttentionSource, Pooled, quantise, shape, weights
from transformer.attention_view.message import Selection
from transformer.attention_view.window import Window
from transformer.config import Kind
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.inference.word_attention import Words
from transformer.text.word_pieces import piece_labels

MOST_SEEN = 3_000_000  # weights of the followed query in all heads
MOST_CELLS = 600_000  # of all heads, small
IN_WORDS = "These are words, and a vector belongs to a token: choose tokens to see what it carries."
FROM_ELSEWHERE = "These weights were computed elsewhere, so what its parts add is not known here."


def model_arrays(source: AttentionSource, selection: Selection, *, newest: bool = True,
                 pooled: MutableMapping[str, Pooled] | None = None,
                 before: MutableMapping[Stack, Carried] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header's fields and the arrays of the picture of a whole model.

    One token is followed: the newest of a step, of a reading the query of the selected pair, or the last. pooled and
    before: what the caller keeps from one picture to the next, which are changed in place. newest: see `carried`. Of a
    window the whole text is sent. Where tokens have no vectors, as between words, `why` says so, and the weights alone
    are sent.
    """
    whole = source.of if isinstance(source, Window) else source
    pooled, before = {} if pooled is None else pooled, {} if before is None else before
    pair = selection.pair
    if pair is not None and isinstance(source, Window):
        pair = tuple(range(size)[side][at] for at, side, size in zip(
            pair, source.places[selection.kind], source.whole(selection.kind), strict=True))
    stack: Stack = "decoder" if "decoder" in whole.kinds else "encoder"
    tokens = whole.axes(stack)[0]
    position = len(tokens) - 1
    if not isinstance(whole, Step) and pair is not None and (selection.kind == "encoder") == (stack == "encoder"):
        position = pair[0]
    header: dict[str, Any] = {"stack": stack, "position": position, "token": piece_labels(tokens)[position]}
    arrays = _seen(whole, stack, position)
    small, header["blocks"] = _small(whole, pooled)
    arrays |= small
    if not isinstance(whole, Step | Reading):
        return header | {"why": IN_WORDS if isinstance(whole, Words) else FROM_ELSEWHERE}, arrays
    if not is_unhooked(whole):
        return header | {"why": HOOKED}, arrays
    found = carried(whole, newest=newest, before=before)
    before |= found
    header["parts"] = {name: [*one.parts] for name, one in found.items()}
    for name, one in found.items():
        arrays |= _of_stack(name, one)
    added = effects(whole, position=position, of=found)
    arrays |= _effects(added)
    header |= {"why": added.why} if added.token is None else {"effectOf": _name(whole, added.token)}
    number = getattr(selection, "feature", None)
    if pair is not None and number is not None and getattr(selection, "level", "whole") == "number":
        header["number"], more = _number(whole, selection, pair, number)
        arrays |= more
    return header, arrays


def _of_stack(stack: Stack, found: Carried) -> dict[str, np.ndarray]:
    """The norms of one stack's rows and of what is added to them."""
    arrays = {f"norms/{stack}": _array(found.norms), f"added/{stack}": _array(found.added)}
    if found.position is not None:
        arrays[f"position/{stack}"] = _array(found.position)
    return arrays | {f"headNorms/{kind}": _array(norms) for kind, norms in found.heads.items()}


def _effects(found: Effects) -> dict[str, np.ndarray]:
    """What each part adds to the logit; nothing where that is not known."""
    if found.token is None:
        return {}
    rest = np.array([found.embedding, found.positions, found.biases], np.float32)
    return {f"effects/{kind}": _array(values) for kind, values in found.heads.items()} | {
        "effects/feed_forward": _array(found.feed_forward), "effects/rest": rest}


def _name(source: Source, token: int) -> str:
    """A token's label, or that of a class."""
    ckpt = source.ckpt
    if ckpt.config.n_classes:
        return ckpt.classes[token] if ckpt.classes else str(token)
    return piece_labels([ckpt.tokenizer.piece(token) if ckpt.tokenizer else str(token)])[0]


def _seen(source: AttentionSource, stack: Stack, position: int) -> dict[str, np.ndarray]:
    """The weights of the followed query in every head of its stack, "seen/<kind>" (L, H, Tk)."""
    kinds = [kind for kind in source.kinds if (kind == "encoder") == (stack == "encoder")]
    sizes = [np.prod(shape(source, kind)) * len(source.axes(kind)[1]) for kind in kinds]
    if sum(sizes) > MOST_SEEN:
        return {}
    return {f"seen/{kind}": quantise(_array(weights(source, kind, queries=slice(position, position + 1))[:, :, 0]))
            for kind in kinds}


def _small(source: AttentionSource, pooled: MutableMapping[str, Pooled],
           ) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """Every head of every kind, "small/<kind>" (L, H, rows, columns), and the queries and keys to a cell of each."""
    for kind in source.kinds:
        pooled[kind] = Pooled.of(source, kind, pooled.get(kind))
    most = dict.fromkeys(source.kinds, POOLED)  # cells along a side
    sizes = {kind: pooled[kind].size_within(side) for kind, side in most.items()}
    while sum(map(np.prod, sizes.values())) > MOST_CELLS and max(most.values()) > 1:
        kind = max((kind for kind in most if most[kind] > 1), key=lambda kind: np.prod(sizes[kind][2:]))
        most[kind] //= 2
        sizes[kind] = pooled[kind].size_within(most[kind])
    arrays, blocks = {}, {}
    for kind, side in most.items():
        small, block = pooled[kind].within(side)
        arrays[f"small/{kind}"], blocks[kind] = small, [*block]
    return arrays, blocks


def _number(source: Source, selection: Selection, pair: tuple[int, int], number: int,
            ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """One number of the selected query taken apart: what is said of it, and its rows."""
    kind: Kind = selection.kind
    number = min(number, source.ckpt.config.width - 1)
    found = feature(source, kind, selection.layer, selection.head, pair[0], number)
    scalars = {"number": number, "side": "q", "position": pair[0], "bias": found.bias, "projected": found.projected,
               "clipped": found.clipped, "clip": found.clip, "normed": found.normed, "partner": found.partner,
               "partnerValue": found.partner_value, "cos": found.cos, "sin": found.sin, "turned": found.turned,
               "value": found.value, "changed": found.is_changed}
    rows = {"weights": found.weights, "row": found.row, "residual": found.residual}
    return ({name: value for name, value in scalars.items() if value is not None},
            {f"number/{name}": _array(row) for name, row in rows.items()})


def _array(x: Tensor) -> np.ndarray:
    return x.float().cpu().numpy()

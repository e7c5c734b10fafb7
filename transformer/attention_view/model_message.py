"""The numbers of the picture of the whole model: fields of a header and arrays, which go along with a message.

P positions, L layers, H heads, Tk keys.
"""

from collections.abc import MutableMapping, Sequence
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np
from torch import Tensor

from transformer.analysis.carried import STACKS, Carried, Effects, Source, carried, effects, feature
from transformer.analysis.neurons import Stack
from transformer.attention_view.external_weights import Tensors
from transformer.attention_view.heads import POOLED, AttentionSource, Pooled, quantise, shape, weights
from transformer.attention_view.message import FINEST, MODEL, token_labels
from transformer.attention_view.message_fields import Bar, Selection
from transformer.attention_view.shared import EXACT
from transformer.attention_view.window import Window
from transformer.diagram.blocks import model_blocks
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.inference.word_attention import Words
from transformer.model.changes import How
from transformer.settings.config import Kind
from transformer.text.word_pieces import labelled

MOST_SEEN = 1_500_000  # weights of the followed query in all heads
MOST_CELLS = 300_000  # of all heads, small
CHANGED: dict[How, str] = {
    "replace": "given other numbers", "add": "given other numbers", "freeze": "kept as it is without changes",
    "cut": "kept from looking at some tokens", "force": "made to look at chosen tokens",
    "uniform": "made to look equally at all tokens"}
IN_WORDS = "These are words, and a vector belongs to a token: choose tokens to see what it carries."
FROM_ELSEWHERE = "These weights were computed elsewhere, so what the model's parts add is not known here."


def model_message(source: AttentionSource, selection: Selection, *, newest: bool = True,
                  pooled: MutableMapping[str, Pooled] | None = None,
                  before: MutableMapping[Stack, Carried] | None = None,
                  ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The field `model` of a header, with the blocks of the model as its `tree`, and the arrays; see `model_arrays`.
    Nothing where that is not what is looked at, and for weights of a model that is not known."""
    of = source.of if isinstance(source, Window) else source
    if selection.view != MODEL or of.ckpt is None or not has_model(of):
        return {}, {}
    header, arrays = model_arrays(source, selection, newest=newest, pooled=pooled, before=before)
    return {"model": header | {"tree": model_blocks(of.ckpt.config).to_json()}}, arrays


def has_model(source: AttentionSource) -> bool:
    """Whether the model around the attention is known, and not weights alone."""
    return source.ckpt is not None and not isinstance(source, Tensors)


def model_alone(source: AttentionSource, selection: Selection, *, steps: Sequence[Step] = (), exact: bool = True,
                ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The same for a page that has nobody to ask: what the vectors at all positions carry, and one number of a query
    only where that is what is looked at.

    exact: the page has every weight, so none of them go along here. steps: those that the page goes through, for each
    of which there are effects: "effects/<kind>" is then (steps, L, H), and `steps` of the header says of what they are,
    or `why` there are none.
    """
    before: dict[Stack, Carried] = {}
    header, arrays = model_message(source, selection, newest=False, before=before)
    model: dict[str, Any] = header.get("model", {}) | class_bars(source)
    if "number" in model:  # and of no other head that is looked at later
        model["number"] |= {"kind": selection.kind, "layer": selection.layer, "head": selection.head}
    if exact:
        arrays = {name: array for name, array in arrays.items() if name.split("/")[0] not in ("seen", "small")}
    if not header or not steps or not before:
        return header and {"model": model}, arrays
    of_steps = [effects(step, of=before) for step in steps]
    arrays = {name: array for name, array in arrays.items() if not name.startswith("effects/")}
    if known := [_effects(one) for one in of_steps if one.token is not None]:
        none = {name: np.zeros_like(array) for name, array in known[0].items()}
        every = [_effects(one) or none for one in of_steps]
        arrays |= {name: np.stack([one[name] for one in every]) for name in none}
    return {"model": model | {"steps": [_logit_of(steps[-1], one) for one in of_steps]}}, arrays


def class_bars(source: AttentionSource) -> dict[str, Any]:
    """The classes of a reading as `bars`, likeliest first, for where there are no others to be seen."""
    ckpt = source.ckpt
    if not isinstance(source, Reading) or ckpt is None or not ckpt.config.n_classes or source.logits is None:
        return {}
    order = source.logits.argsort(descending=True).tolist()
    rows = [asdict(Bar(label=ckpt.classes[at], probability=float(source.logits[at].exp()), chosen=at == order[0]))
            for at in order]
    return {"bars": rows}


def model_arrays(source: AttentionSource, selection: Selection, *, newest: bool = True,
                 pooled: MutableMapping[str, Pooled] | None = None,
                 before: MutableMapping[Stack, Carried] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header's fields and the arrays of the picture of a whole model.

    One token is followed: the newest of a step, of a reading the query of the selected pair, or the last. Its place is
    that in the whole text; of a part of a text (`Window`) arrays of all tokens are of that part, which begins at
    `first`. newest: see `carried`. pooled and before: what the caller keeps from one picture to the next; they are
    changed in place. `why` is there in place of effects, and says why there are none.
    """
    whole = source.of if isinstance(source, Window) else source
    pooled, before = {} if pooled is None else pooled, {} if before is None else before
    pair, of = pair_in_whole(source, selection), whole.of if isinstance(whole, Words) else whole
    kind, stack, position = followed(source, selection)
    header: dict[str, Any] = {"stack": stack, "position": position,
                              "token": token_labels(whole, kind, exact=selection.tokens == EXACT)[0][position]}
    if isinstance(of, Step | Reading) and of.changes.ready:
        header["changes"] = _changes(of)
    if isinstance(source, Window):
        header["first"] = {kind: [side.start for side in sides] for kind, sides in source.places.items()}
    arrays = _seen(source, whole, stack, position)
    small, header["blocks"] = _small(source, pooled)
    arrays |= small
    if not isinstance(whole, Step | Reading):
        return header | {"why": IN_WORDS if isinstance(whole, Words) else FROM_ELSEWHERE}, arrays
    try:
        found = carried(whole, newest=newest, before=before)
    except ValueError as error:
        return header | {"why": str(error)}, arrays
    before.update(found)
    header["parts"] = {name: [*one.parts] for name, one in found.items()}
    for name, one in found.items():
        part = source.places[name][0] if isinstance(source, Window) and len(one.positions) > 1 else slice(None)
        arrays |= _of_stack(one, part)
    of_logit = effects(whole, position=position, of=found)
    arrays |= _effects(of_logit)
    header |= _logit_of(whole, of_logit)
    if selection.level == "number":
        end = len(whole.axes(selection.kind)[0])
        if isinstance(source, Window):
            end = source.places[selection.kind][0].stop
        query = end - 1 if pair is None else pair[0]
        header["number"], more = _number(whole, selection, query, selection.feature or 0)
        arrays |= more
    return header, arrays


def _changes(source: Source) -> list[dict[str, Any]]:
    """What was changed in this pass: in words, and where. number: of the change; heads: where it is at some heads of a
    layer; off: whether they are switched off."""
    config, found = source.ckpt.config, []
    for change, place, _ in source.changes.ready:
        off = change.how == "scale" and not change.factor
        words = f"multiplied by {change.factor:g}" if change.how == "scale" else CHANGED[change.how]
        one = {"number": source.changes.items.index(change), "words": "switched off" if off else words, "off": off}
        if place.layer is not None:
            one |= {"kind": place.kind, "layer": place.layer}
        if "head" in place.axes:
            heads = range(config.n_heads) if change.heads is None else change.heads
            if place.head is not None:
                heads = [place.head]
            elif place.site in ("k", "v") and change.heads is not None:  # which groups of heads share
                heads = [head for head in range(config.n_heads) if head * config.groups // config.n_heads in heads]
            one["heads"] = [*heads]
        found.append(one)
    return found


def followed(source: AttentionSource, selection: Selection) -> tuple[Kind, Stack, int]:
    """The token that is followed: the kind whose query it is, its stack, and its place in the whole text."""
    whole = source.of if isinstance(source, Window) else source
    kind: Kind = next(one for one in ("decoder", "cross", "encoder") if one in whole.kinds)
    of, pair = whole.of if isinstance(whole, Words) else whole, pair_in_whole(source, selection)
    position = len(whole.axes(kind)[0]) - 1
    if not isinstance(of, Step) and pair is not None and (selection.kind == "encoder") == (kind == "encoder"):
        position = pair[0]
    return kind, STACKS[kind != "encoder"], position


def pair_in_whole(source: AttentionSource, selection: Selection) -> tuple[int, int] | None:
    """The places of the selected query and key in the whole text."""
    if selection.pair is None or not isinstance(source, Window):
        return selection.pair
    rows, columns = source.places[selection.kind]
    return rows.start + selection.pair[0], columns.start + selection.pair[1]


def _of_stack(found: Carried, part: slice) -> dict[str, np.ndarray]:
    """The norms of some of one stack's rows, and of what is added to them."""
    stack = found.stack
    arrays = {f"norms/{stack}": _array(found.norms[part]), f"added/{stack}": _array(found.added[part])}
    if found.position is not None:
        arrays[f"position/{stack}"] = _array(found.position[part])
    return arrays | {f"headNorms/{kind}": _array(norms[:, part]) for kind, norms in found.heads.items()}


def _effects(found: Effects) -> dict[str, np.ndarray]:
    """What each part adds to the logit; nothing where that is not known."""
    if found.token is None:
        return {}
    rest = np.array([found.embedding, found.positions, found.biases], np.float32)
    return {f"effects/{kind}": _array(values) for kind, values in found.heads.items()} | {
        "effects/feed_forward": _array(found.feed_forward), "effects/rest": rest}


def _logit_of(source: Source, found: Effects) -> dict[str, object]:
    """Whose logit is taken apart, or why none is."""
    if found.token is None:
        return {"why": found.why}
    return {"effectOf": name_of(source, found.token), "logit": found.logit}


def name_of(source: Source, token: int) -> str:
    """A token's label, or that of a class."""
    ckpt = source.ckpt
    if ckpt.config.n_classes:
        return ckpt.classes[token] if ckpt.classes else str(token)
    piece = ckpt.tokenizer.piece(token) if ckpt.tokenizer else str(token)
    return labelled([piece], ckpt.tokenizer)[0]


def _weights_known(source: AttentionSource) -> list[Kind]:
    """The kinds whose numbers are weights."""
    of = source.of if isinstance(source, Window) else source
    return [kind for kind in source.kinds if not (isinstance(of, Tensors) and kind in of.scales)]


def _seen(source: AttentionSource, whole: AttentionSource, stack: Stack, position: int) -> dict[str, np.ndarray]:
    """The weights of the followed query in every head of its stack, over all keys of the text, "seen/<kind>" (L, H,
    Tk): the square roots in 0..65535."""
    kinds: list[Kind] = [kind for kind in _weights_known(source) if (kind == "encoder") == (stack == "encoder")]
    if sum(prod(shape(whole, kind)) * len(whole.axes(kind)[1]) for kind in kinds) > MOST_SEEN:
        return {}
    return {f"seen/{kind}": quantise(_array(weights(whole, kind, queries=slice(position, position + 1))[:, :, 0]),
                                     FINEST) for kind in kinds}


def _small(source: AttentionSource, pooled: MutableMapping[str, Pooled],
           ) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """Every head of every kind, "small/<kind>" (L, H, rows, columns), and the queries and keys to a cell of each."""
    for kind in (kinds := _weights_known(source)):
        pooled[kind] = Pooled.of(source, kind, pooled.get(kind))
    sides: dict[str, int] = dict.fromkeys(kinds, POOLED)  # the most cells along each
    sizes: dict[str, tuple[int, ...]] = {kind: pooled[kind].size_within(POOLED) for kind in kinds}
    while sum(map(prod, sizes.values())) > MOST_CELLS and max(sides.values()) > 1:
        kind = max((kind for kind in kinds if sides[kind] > 1), key=lambda kind: prod(sizes[kind][2:]))
        sides[kind] //= 2
        sizes[kind] = pooled[kind].size_within(sides[kind])
    found = {kind: pooled[kind].within(side) for kind, side in sides.items()}
    return ({f"small/{kind}": cells for kind, (cells, _) in found.items()},
            {kind: [*block] for kind, (_, block) in found.items()})


def _number(source: Source, selection: Selection, position: int, number: int,
            ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """One number of the selected head's query at a position taken apart: what is said of it, and its rows."""
    kind: Kind = selection.kind
    number = min(number, source.ckpt.config.width - 1)
    found = feature(source, kind, selection.layer, selection.head, position, number)
    said = {"number": number, "side": "q", "position": position, "bias": found.bias, "projected": found.projected,
            "clipped": found.clipped, "clip": found.clip, "normed": found.normed, "partner": found.partner,
            "partnerValue": found.partner_value, "cos": found.cos, "sin": found.sin, "turned": found.turned,
            "value": found.value, "changed": found.is_changed}
    rows = {"weights": found.weights, "row": found.row, "residual": found.residual}
    return ({name: value for name, value in said.items() if value is not None},
            {f"number/{name}": _array(row) for name, row in rows.items()})


def _array(x: Tensor) -> np.ndarray:
    return x.float().cpu().numpy()

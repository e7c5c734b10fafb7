"""The numbers that the picture of the whole model shows, as rows: of each part, each head, one score and one number of
a query.

L layers, H heads, D width of a head.
"""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.analysis.carried import Carried, Effects, Source, carried, effects, feature
from transformer.analysis.neurons import Stack
from transformer.attention_view.heads import AttentionSource, weights
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.model_message import followed, name_of
from transformer.attention_view.window import Window
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.settings.config import Kind

MOST_HEADS = 400  # that have a row each; of more models those of the layer that is looked at
TITLES = {"embedding": "embedding", "attention": "self-attention", "cross": "cross-attention",
          "feed_forward": "feed-forward"}


@dataclass(frozen=True)
class PartNumbers:
    """What one part does, or one head: the length of the row after it, of what it adds, and its direct effect."""

    stack: Stack
    part: str  # of TITLES
    kind: Kind | None = None  # of an attention
    layer: int | None = None  # None for an embedding
    head: int | None = None  # None for a whole part
    norm: float | None = None
    added: float | None = None
    effect: float | None = None
    key: int | None = None  # which the token followed looks at most, and how much
    weight: float | None = None


@dataclass(frozen=True)
class ModelNumbers:
    """All rows, in the order of computation, and what they are of. position: of the token followed; means: over how
    many tokens those of a stack are in which no token is followed; left_out: heads without a row."""

    rows: Sequence[PartNumbers]
    stack: Stack
    position: int
    means: dict[str, int]
    left_out: int = 0
    effect_of: str | None = None  # the label of the token or class whose logit the effects are on
    logit: float | None = None
    rest: tuple[float, float, float] | None = None  # of the logit: from the embedding, the positions, biases
    why: str | None = None  # why there are no effects


def model_numbers(source: AttentionSource, selection: Selection,
                  before: MutableMapping[Stack, Carried] | None = None) -> ModelNumbers:
    """The numbers of a pass. before: as for `model_arrays`. Raises ValueError where hooks changed the attention."""
    whole = source.of if isinstance(source, Window) else source
    assert isinstance(whole, Step | Reading), f"{type(whole).__name__} has no pass to follow"
    before = {} if before is None else before
    _, stack, position = followed(source, selection)
    found = carried(whole, before=before)
    before.update(found)
    of_logit = effects(whole, position=position, of=found)
    heads = sum(one.shape[0] * one.shape[2] for stack_found in found.values() for one in stack_found.heads.values())
    layer = None if heads <= MOST_HEADS else selection.layer
    rows = [row for name, one in found.items() for row in _of_stack(
        whole, one, of_logit, position if name == stack else None, kind=selection.kind, layer=layer)]
    means = {name: len(one.positions) for name, one in found.items() if name != stack}
    left_out = heads - sum(row.head is not None for row in rows)
    if of_logit.token is None:
        return ModelNumbers(rows, stack, position, means, left_out, why=of_logit.why)
    return ModelNumbers(rows, stack, position, means, left_out, name_of(whole, of_logit.token), of_logit.logit,
                        (of_logit.embedding, of_logit.positions, of_logit.biases))


def _of_stack(source: AttentionSource, found: Carried, of_logit: Effects, position: int | None, *, kind: Kind,
              layer: int | None) -> list[PartNumbers]:
    """The rows of one stack. position: of the token followed, None where these are means; kind, layer: whose heads
    alone have rows, layer None for all."""
    def number(values: Tensor) -> float:
        """Of the position followed, or the mean of all (P,)."""
        return float(values.mean() if position is None else values[found.positions.index(position)])

    rows, known = [], of_logit.token is not None and position is not None
    for at, name in enumerate(found.parts):
        where, _, part = name.rpartition(".")
        one = PartNumbers(found.stack, part, norm=number(found.norms[:, at]), added=number(found.added[:, at]))
        if not where:
            rows.append(_with(one, effect=of_logit.embedding if known else None))
            continue
        number_of_layer = int(where)
        of_kind: Kind = "cross" if part == "cross" else found.stack
        if part == "feed_forward":
            effect = float(of_logit.feed_forward[number_of_layer]) if known else None
            rows.append(_with(one, layer=number_of_layer, effect=effect))
            continue
        by_head = of_logit.heads[of_kind][number_of_layer] if known else None
        rows.append(_with(one, kind=of_kind, layer=number_of_layer,
                          effect=None if by_head is None else float(by_head.sum())))
        if layer is not None and (number_of_layer, of_kind) != (layer, kind):
            continue
        seen = None if position is None else weights(
            source, of_kind, layers=slice(number_of_layer, number_of_layer + 1),
            queries=slice(position, position + 1))[0, :, 0].float()  # (H, Tk)
        for head, norms in enumerate(found.heads[of_kind][number_of_layer].T):
            most = None if seen is None else int(seen[head].argmax())
            rows.append(PartNumbers(
                found.stack, part, of_kind, number_of_layer, head, added=number(norms),
                effect=None if by_head is None else float(by_head[head]), key=most,
                weight=None if seen is None or most is None else float(seen[head, most])))
    return rows


def _with(row: PartNumbers, **more: object) -> PartNumbers:
    return PartNumbers(**{**vars(row), **more})


def products(source: Source, kind: Kind, layer: int, head: int, pair: tuple[int, int]) -> tuple[Tensor, Tensor] | None:
    """The query and the key (D,) whose products make a score, of places in the whole text; None where they are not
    known."""
    found = source.projections(kind)
    if found is None:
        return None
    queries, keys = found[0][layer], found[1][layer]  # (H, Tq, D), (groups, Tk, D)
    return queries[head, pair[0]].float().cpu(), keys[head * len(keys) // len(queries), pair[1]].float().cpu()


def number_parts(source: Source, kind: Kind, layer: int, head: int, position: int, number: int,
                 ) -> tuple[Tensor, Tensor, float | None, float]:
    """The weights and the row (d_model,) whose products, with a bias, make one number of a query, the bias, and the
    number as the model has it. Raises ValueError for what is not there."""
    found = feature(source, kind, layer, head, position, number)
    return found.weights, found.row, found.bias, found.value

"""The selection brought into the range of what there is, and the part of a source that is then drawn."""

from collections.abc import Mapping
from dataclasses import replace

from transformer.attention_view.heads import AttentionSource, rolls, shape
from transformer.attention_view.message import Selection
from transformer.attention_view.shared import MOST_LIT, settled
from transformer.attention_view.window import Window, window
from transformer.inference.word_attention import LEFT_OUT

MOST = 999_999  # that a number of a selection is


def in_range(wanted: Mapping[str, object], source: AttentionSource, *,
             newest: bool) -> tuple[Selection, AttentionSource]:
    """What can be selected of what is asked for, by the names of `Selection`'s fields, and the part of the source that
    is drawn. Lists of numbers are read as a link writes them too. newest: of a long text the end is drawn."""
    kind = wanted["kind"] if wanted["kind"] in source.kinds else source.kinds[-1]
    layers, heads = shape(source, kind)
    sizes = tuple(map(len, source.axes(kind)))
    layer, head = min(_number(wanted["layer"]), layers - 1), min(_number(wanted["head"]), heads - 1)
    selection = Selection(kind, layer, head, **settled(wanted, rolls=rolls(source, kind)),
                          start=_pair(wanted["start"], sizes), lit=_lit(wanted["lit"], heads),
                          feature=None if wanted.get("feature") is None else _number(wanted["feature"]))
    drawn = window(source, selection.start, last=newest)
    return replace(selection, pair=_pair(wanted["pair"], tuple(map(len, drawn.axes(kind))))), drawn


def in_words(source: AttentionSource, selection: Selection) -> tuple[AttentionSource, Selection]:
    """The attention as it is drawn: between words, or without special tokens, where that is selected."""
    if selection.tokens != "words" and selection.special == "shown":
        return source, selection
    merged = source.words(merge=selection.tokens == "words",
                          leave_out=LEFT_OUT if selection.special == "hidden" else ())
    sizes = tuple(map(len, window(merged, selection.start).axes(selection.kind)))
    return merged, replace(selection, pair=_pair(selection.pair, sizes))


def at_end(drawn: AttentionSource, kind: str) -> bool:
    """Whether the newest query is among those drawn."""
    return not isinstance(drawn, Window) or drawn.places[kind][0].stop == drawn.whole(kind)[0]


def _number(value: object) -> int:
    """A number from outside, clamped to its range; 0 for anything else."""
    try:
        return int(max(0.0, min(float(value), MOST)))
    except (TypeError, ValueError, OverflowError):
        return 0


def _numbers(value: object, separator: str) -> list[int]:
    parts = value.split(separator) if isinstance(value, str) else value
    return [_number(part) for part in parts[:100] if part != ""] if isinstance(parts, list | tuple) else []


def _pair(value: object, sizes: tuple[int, int]) -> tuple[int, int] | None:
    pair = tuple(_numbers(value, ":"))
    return pair if len(pair) == 2 and pair[0] < sizes[0] and pair[1] < sizes[1] else None


def _lit(value: object, heads: int) -> tuple[int, ...] | None:
    lit = tuple(sorted({at for at in _numbers(value, ",") if at < heads}))
    return None if value is None or len(lit) == heads <= MOST_LIT else lit

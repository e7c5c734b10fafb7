"""The selection brought into the range of what there is, and the part of a source that is then drawn."""

from dataclasses import replace
from typing import Any

from transformer.attention_view.heads import AttentionSource, rolls, shape
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.shared import EXACT, MOST_LIT, settled
from transformer.attention_view.window import Window, window
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.inference.word_attention import LEFT_OUT
from transformer.settings.config import Kind

MOST = 999_999  # that a number of a selection is


def in_range(wanted: Selection, source: AttentionSource, *, newest: bool) -> tuple[Selection, AttentionSource]:
    """What can be selected of what is wanted, and the part of the source that is drawn. What is wanted comes from
    outside: any part of it may be missing, or a text as a link writes it. newest: of a long text the end is drawn."""
    if not isinstance(source, Step | Reading):  # of whose tokens it is not known which are words, or special
        wanted = replace(wanted, tokens=EXACT if wanted.tokens == EXACT else None, special=None)
    kind = wanted.kind if wanted.kind in source.kinds else source.kinds[-1]
    layers, heads = shape(source, kind)
    sizes = _sizes(source, kind)
    layer, head = min(_number(wanted.layer), layers - 1), min(_number(wanted.head), heads - 1)
    selection = Selection(kind, layer, head, pair=None, **settled(vars(wanted), rolls=rolls(source, kind)),
                          start=_pair(wanted.start, sizes), lit=_lit(wanted.lit, heads),
                          feature=None if wanted.feature is None else _number(wanted.feature))
    drawn = window(source, selection.start, last=newest)
    return replace(selection, pair=_pair(wanted.pair, _sizes(drawn, kind))), drawn


def in_words(source: AttentionSource, selection: Selection) -> tuple[AttentionSource, Selection]:
    """The attention as it is drawn: between words, or without special tokens, where that is selected."""
    if not isinstance(source, Step | Reading) or (selection.tokens != "words" and selection.special == "shown"):
        return source, selection
    merged = source.words(merge=selection.tokens == "words",
                          leave_out=LEFT_OUT if selection.special == "hidden" else ())
    sizes = _sizes(window(merged, selection.start), selection.kind)
    return merged, replace(selection, pair=_pair(selection.pair, sizes))


def at_end(drawn: AttentionSource, kind: Kind) -> bool:
    """Whether the newest query is among those drawn."""
    return not isinstance(drawn, Window) or drawn.places[kind][0].stop == drawn.whole(kind)[0]


def _sizes(source: AttentionSource, kind: Kind) -> tuple[int, int]:
    queries, keys = source.axes(kind)
    return len(queries), len(keys)


def _number(value: Any) -> int:
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

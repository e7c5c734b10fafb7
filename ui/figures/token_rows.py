"""Tokens in a row: chips shaded by weight, and one training sample with its pieces and ids."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

from ui.figures.labels import exact_label, part_of_one, plain_label
from ui.figures.palette import BAR, MARK

CHIPS_STYLE = f"""<style>
.chips {{ display: flex; flex-wrap: wrap; gap: var(--gap-1); align-items: center; line-height: 1.5;
  max-height: 14rem; overflow: auto; }}
.chips span {{ padding: .1rem .5rem; border-radius: var(--radius); border: 1px solid var(--line);
  background: color-mix(in srgb, {BAR} calc(var(--weight, 0) * 75%), transparent);
  font-size: var(--large); white-space: pre; }}
.chips.small span {{ padding: 0 .18rem; font-size: var(--body); border-color: var(--line); }}
.chips span.unknown {{ border: 2px dashed var(--wrong); }}
.chips span.predicted {{ border: 2px solid {MARK}; font-weight: var(--bold); }}
.chips span.picked {{ border-bottom: 3px solid currentColor; }}
.chips span.query.query {{ border-color: {MARK}; box-shadow: inset 0 0 0 1px {MARK}; font-weight: var(--bold); }}
.chips span > small {{ font-size: var(--small); opacity: .75; font-variant-numeric: tabular-nums; }}
.chips .later {{ opacity: .65; }}
</style>"""


def token_chips(pieces: Sequence[str], *, label: str, weights: Sequence[float] | Mapping[int, float] | None = None,
                unknown: Sequence[int] = (), predicted: int | None = None, picked: Sequence[int] = (),
                query: int | None = None, unread: int | None = None, shown: Collection[int] | None = None,
                small: bool = False, numbered: bool = False, exact: bool = False) -> str:
    """Tokens as chips, in HTML: `weights` in [0, 1], of the first or by position, shade them, positions in `unknown`
    are marked. The token at `predicted` comes next, and those after it are known from an earlier visit; none of them
    has been read. picked: chosen by the reader instead of the model. query: the token that looks at the others; unread:
    the first position, behind an arrow, that comes after all it has read. shown: the positions that are drawn, with an
    ellipsis for those between. numbered: each follows its position. exact: with a sign for every space."""
    chips = []
    given = weights if isinstance(weights, Mapping) else dict(enumerate(weights or ()))
    for position, piece in enumerate(pieces):
        if position == unread:
            chips.append("→")
        if shown is not None and position not in shown:
            if position == 0 or position - 1 in shown:
                chips.append("…")
            continue
        weight = float(given[position]) if position in given else None
        kinds = {"unknown": position in unknown, "predicted": position == predicted,
                 "picked": position in picked, "query": position == query,
                 "later": (predicted is not None and position > predicted) or (
                     unread is not None and position >= unread)}
        hints = [f"position {position}"]
        if position == query:
            hints.append("the query")
        if position in unknown:
            hints.append("not in the vocabulary: the model sees only that something is here")
        if position in picked:
            hints.append("you chose it")
        if weight is not None:
            hints.append(f"weight {part_of_one(weight, 3)}")
        # the square root, as in the heatmaps, so that small weights are visible
        shade = f' style="--weight:{weight ** 0.5:.3f}"' if weight is not None else ""
        text = escape((exact_label if exact else plain_label)(piece, longest=None))
        place = f"<small>{position}</small> " if numbered else ""
        chips.append(f'<span class="{" ".join(name for name, on in kinds.items() if on)}" data-position="{position}"'
                     f' title="{escape(", ".join(hints))}"{shade}>{place}<bdi>{text}</bdi></span>')
    small_class = " small" if small else ""
    return (f'{CHIPS_STYLE}<div class="chips{small_class}" role="group" aria-label="{escape(label)}" tabindex="0">'
            f'{"".join(chips)}</div>')


SAMPLE_STYLE = """<style>
.sample.sample { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--gap-1) var(--gap-3);
  font-size: var(--body); line-height: 1.45; margin: 0; padding: .6rem 0; border-top: 1px solid var(--line); }
.sample dt { font-weight: var(--bold); white-space: nowrap; }
.sample dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.sample dd.pieces { display: flex; flex-wrap: wrap; gap: var(--gap-1); white-space: normal; max-height: 15rem;
  overflow: auto; }
.sample .pieces span { display: inline-flex; flex-direction: column; align-items: center; padding: 0 .35rem;
  border-radius: var(--radius); border: 1px solid var(--line); max-width: 100%; }
.sample .pieces bdi { white-space: pre-wrap; }
.sample .pieces small { font-size: var(--small); font-variant-numeric: tabular-nums; }
.sample .pieces .unknown { border: 2px dashed var(--wrong); }
.sample i { font-style: normal; font-weight: var(--bold); }
@media (max-width: 640px) { .sample.sample { grid-template-columns: minmax(0, 1fr); gap: var(--gap-1); }
  .sample dd { padding-bottom: .4rem; } }
</style>"""


def sample_card(parts: Mapping[str, Mapping[str, Any]], *, label: str = "", number: int = 1) -> str:
    """A training sample as HTML: each part ("source", "target", "text") of a corpus preview, and the class."""
    rows = []
    for name, part in parts.items():
        rows += [(name.capitalize(), f"<dd><bdi>{_visible(part['text'])}</bdi>{' …' * bool(part['cut'])}</dd>"),
                 ("Pieces, ids", f'<dd class="pieces" tabindex="0" role="group" aria-label="pieces and ids">'
                                 f"{_chips(part['pieces'], part['ids'], part['unknown'])}</dd>")]
        verdict = "the same" if part["same"] else f"not the same: {part['why']}"
        rows.append(("Back again", f"<dd><bdi>{_visible(part['back'])}</bdi> · <i>{escape(verdict)}</i></dd>"))
    if label:
        rows.append(("Class", f"<dd><bdi>{_visible(label)}</bdi></dd>"))
    inside = "".join(f"<dt>{escape(name)}</dt>{cell}" for name, cell in rows)
    return f'{SAMPLE_STYLE}<dl class="sample" aria-label="sample {number}">{inside}</dl>'


def _chips(pieces: Sequence[str], ids: Sequence[int], unknown: Sequence[int]) -> str:
    chips = []
    for at, (piece, id) in enumerate(zip(pieces, ids, strict=True)):
        hint = ' class="unknown" title="not in the vocabulary"' if at in unknown else ""
        chips.append(f"<span{hint}><bdi>{escape(exact_label(piece, longest=None))}</bdi><small>{id}</small></span>")
    return "".join(chips)


def _visible(text: str) -> str:
    """Text with its control characters visible and its line breaks kept."""
    return "\n".join(" ".join(escape(exact_label(word, longest=None)) if word else "" for word in line.split(" "))
                     for line in text.split("\n"))

"""One training sample: the text, its pieces with their ids, and what the ids read as."""
from collections.abc import Mapping, Sequence
from html import escape

from ui.figures.labels import plain_label

STYLE = """<style>
.sample.sample { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .35rem .9rem; font-size: 15px;
  line-height: 1.45; margin: 0; padding: .6rem 0; border-top: 1px solid rgba(128, 128, 128, .35); }
.sample dt { font-weight: 600; white-space: nowrap; }
.sample dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.sample dd.pieces { display: flex; flex-wrap: wrap; gap: .25rem; white-space: normal; max-height: 15rem;
  overflow: auto; }
.sample .pieces span { display: inline-flex; flex-direction: column; align-items: center; padding: 0 .35rem;
  border-radius: .35rem; border: 1px solid rgba(128, 128, 128, .45); max-width: 100%; }
.sample .pieces bdi { white-space: pre-wrap; }
.sample .pieces small { font-size: .8125rem; font-variant-numeric: tabular-nums; }
.sample .pieces .unknown { border: 2px dashed #d62728; }
.sample i { font-style: normal; font-weight: 600; }
@media (max-width: 640px) { .sample.sample { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
  .sample dd { padding-bottom: .4rem; } }
</style>"""


def sample_card(parts: Mapping[str, Mapping[str, object]], *, label: str = "", number: int = 1) -> str:
    """HTML for `st.html`: each part ("source", "target", "text") as a corpus preview gives it, and the
    class."""
    rows = []
    for name, part in parts.items():
        rows += [(name.capitalize(), f"<dd><bdi>{_shown(part['text'])}</bdi>{' …' * bool(part['cut'])}</dd>"),
                 ("Pieces, ids", f'<dd class="pieces" tabindex="0" role="group" aria-label="pieces and ids">'
                                 f"{_chips(part['pieces'], part['ids'], part['unknown'])}</dd>")]
        said = "the same" if part["same"] else f"not the same: {part['why']}"
        rows.append(("Back again", f"<dd><bdi>{_shown(part['back'])}</bdi> · <i>{escape(said)}</i></dd>"))
    if label:
        rows.append(("Class", f"<dd><bdi>{_shown(label)}</bdi></dd>"))
    inside = "".join(f"<dt>{escape(name)}</dt>{cell}" for name, cell in rows)
    return f'{STYLE}<dl class="sample" aria-label="sample {number}">{inside}</dl>'


def _chips(pieces: Sequence[str], ids: Sequence[int], unknown: Sequence[int]) -> str:
    chips = []
    for at, (piece, id) in enumerate(zip(pieces, ids, strict=True)):
        hint = ' class="unknown" title="not in the vocabulary"' if at in unknown else ""
        chips.append(f"<span{hint}><bdi>{escape(plain_label(piece, longest=None))}</bdi><small>{id}</small></span>")
    return "".join(chips)


def _shown(text: str) -> str:
    """Text with its control characters visible and its line breaks kept."""
    return "\n".join(" ".join(escape(plain_label(word, longest=None)) if word else "" for word in line.split(" "))
                     for line in text.split("\n"))

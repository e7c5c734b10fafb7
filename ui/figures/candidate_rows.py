"""The likeliest next tokens for a room: large, each after the key that says it; a click says it too (keys.js)."""
from collections.abc import Collection, Sequence
from html import escape

from ui.figures.labels import plain_label
from ui.figures.palette import ACCENT, BAR, MUTED

KEYS = "1234567890"  # that choose the first, the second …
STYLE = f"""<style>
.next-tokens {{ display: grid; grid-template-columns: auto auto 1fr auto; gap: .3em .5em; align-items: center; }}
.next-tokens > div {{ display: contents; cursor: pointer; }}
.next-tokens kbd {{ font-size: .8em; }}
.next-tokens bdi {{ text-align: right; white-space: pre; }}
.next-tokens i {{ height: 1em; min-width: 2px; background: {BAR}; width: calc(var(--part) * 100%); }}
.next-tokens .chosen i {{ background: {ACCENT}; }}
.next-tokens .chosen :is(bdi, span) {{ font-weight: 700; }}
.next-tokens .excluded i, .next-tokens .others i {{ background: {MUTED}; }}
.next-tokens .others {{ cursor: default; }}
</style>"""


def candidate_rows(candidates: Sequence, *, chosen_id: int | None = None, excluded: Collection[int] = (),
                   rest: float | None = None, label: str) -> str:
    """HTML for `st.html` of candidates `(id, piece, probability)`, likeliest first, and of the probability of all the
    others; bars go from 0 to 100%."""
    rows = []
    for nth, (id, piece, probability) in enumerate(candidates):
        kinds = " ".join(["chosen"] * (id == chosen_id) + ["excluded"] * (id in excluded))
        rows.append(_row(kinds, f"<kbd>{KEYS[nth]}</kbd>", escape(plain_label(piece)), probability,
                         f' data-nth="{nth}" title="choose this token"'))
    if rest is not None:
        rows.append(_row("others", "<b></b>", "others", rest, ""))
    return f'{STYLE}<div class="next-tokens" role="group" aria-label="{escape(label)}">{"".join(rows)}</div>'


def _row(kinds: str, key: str, token: str, probability: float, more: str) -> str:
    return (f'<div class="{kinds}"{more}>{key}<bdi>{token}</bdi><i style="--part:{probability:.4f}"></i>'
            f"<span>{escape(percent(probability))}</span></div>")


def percent(probability: float) -> str:
    """A probability in per cent to three figures, four near certainty, and never a false 0 or 100."""
    if 0 < probability < 0.0001:
        return "< 0.01%"
    if 0.9999 < probability < 1:
        return "> 99.99%"
    return f"{100 * probability:.{4 if probability > 0.99 else 3}g}%"

"""The likeliest next tokens as rows with bars."""
from collections.abc import Sequence
from html import escape

from ui.figures.labels import plain_label
from ui.figures.palette import ACCENT, BAR, MUTED

STYLE = f"""<style>
.next-tokens {{ display: grid; grid-template-columns: auto 1fr auto; gap: .3em .5em; align-items: center; }}
.next-tokens > div {{ display: contents; }}
.next-tokens bdi {{ text-align: right; white-space: pre; }}
.next-tokens i {{ height: 1em; min-width: 2px; background: {BAR}; width: calc(var(--part) * 100%); }}
.next-tokens .chosen i {{ background: {ACCENT}; }}
.next-tokens .chosen :is(bdi, span) {{ font-weight: 700; }}
.next-tokens .others i {{ background: {MUTED}; }}
</style>"""


def candidate_rows(candidates: Sequence, *, chosen_id: int | None = None, rest: float | None = None,
                   label: str) -> str:
    """HTML for `st.html` of candidates `(id, piece, probability)`, likeliest first, and of the probability of all the
    others; bars go from 0 to 100%."""
    rows = [_row("chosen" * (id == chosen_id), escape(plain_label(piece)), probability)
            for id, piece, probability in candidates]
    if rest is not None:
        rows.append(_row("others", "others", rest))
    return f'{STYLE}<div class="next-tokens" role="group" aria-label="{escape(label)}">{"".join(rows)}</div>'


def _row(kind: str, token: str, probability: float) -> str:
    return (f'<div class="{kind}"><bdi>{token}</bdi><i style="--part:{probability:.4f}"></i>'
            f"<span>{escape(percent(probability))}</span></div>")


def percent(probability: float) -> str:
    """A probability in per cent to three figures, four near certainty, and never a false 0 or 100."""
    if 0 < probability < 0.0001:
        return "< 0.01%"
    if 0.9999 < probability < 1:
        return "> 99.99%"
    return f"{100 * probability:.{4 if probability > 0.99 else 3}g}%"


def some_percent(probability: float) -> str:
    """The same of a softmax, which gives nothing 0: what was rounded to that is only too small to be written."""
    return percent(probability or 1e-9)

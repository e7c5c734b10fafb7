"""A small matrix whose rows and columns have names, each cell with its number, as an HTML table."""
from collections.abc import Sequence
from html import escape

import numpy as np

from ui.figures.labels import heading
from ui.figures.palette import ink_on, ramp

SHADES = 256
STYLE = """<style>
.named-matrix { overflow-x: auto; max-width: 100%; }
.named-matrix table { border-collapse: collapse; font-size: 15px; font-variant-numeric: tabular-nums; }
.named-matrix caption { text-align: left; padding-bottom: .5em; font-weight: 700; font-size: 17px; }
.named-matrix caption small { display: block; max-width: calc(100vw - 3rem); font-weight: 400; font-size: 14px; }
.named-matrix th { padding: .3em .7em; font-weight: 400; white-space: nowrap; text-align: left; }
.named-matrix thead th { text-align: center; }
.named-matrix td { padding: .35em .7em; text-align: center; min-width: 3.4em; }
</style>"""


def named_matrix(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, label: str, caption: str = "",
                 least_high: float = 0.0, dark: bool = False) -> str:
    """Values (rows, columns) of 0 and more, coloured from 0 to the largest (or to `least_high`); NaN is left empty."""
    values = np.asarray(values, dtype=np.float64)
    assert values.shape == (len(rows), len(columns)), f"{values.shape} for {len(rows)} x {len(columns)} names"
    high = max([least_high, *values[np.isfinite(values)].tolist()]) or 1.0
    shades = ramp(SHADES, dark=dark)
    inks = ink_on(shades)
    head = "".join(map(heading, ("", *columns)))
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>'
                   + "".join(_cell(value, high, shades, inks) for value in line) + "</tr>"
                   for name, line in zip(rows, values.tolist(), strict=True))
    return (f'{STYLE}<div class="named-matrix" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
            f"<caption>{escape(label)}<small>{escape(caption)}</small></caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>")


def _cell(value: float, high: float, shades: np.ndarray, inks: list[str]) -> str:
    if not np.isfinite(value):
        return "<td></td>"
    at = min(SHADES - 1, int((SHADES - 1) * value / high))
    colour = "#" + bytes(shades[at].tolist()).hex()
    return f'<td style="background:{colour};color:{inks[at]}" title="{value:.6g}">{value:.2f}</td>'

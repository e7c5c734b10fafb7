"""Two heads' pictures against each other: the difference cell by cell, and what can be compared without one."""
from collections.abc import Sequence
from html import escape

import numpy as np

from ui.figures.attention import NUMBERED, WHERE, matrix, stripes
from ui.figures.frame import NOTE, TEXT, Finished
from ui.figures.labels import how_many, plain_label
from ui.figures.palette import diverging, diverging_scale, ink_on

UNLIKE = "≠"
LEAST = 0.01  # the smallest end of the scale: rounding errors are not blown up to a pattern


def difference_heatmap(first: np.ndarray, second: np.ndarray, queries: Sequence[str], keys: Sequence[str], *,
                       names: tuple[str, str] = ("first", "second"), title: str, source: str = "",
                       mask: np.ndarray | None = None, dark: bool | None = None) -> Finished:
    """`first - second`, both (Tq, Tk), on a diverging scale centred at 0; `mask` (Tq, Tk). Hover has all three
    numbers. Labels of positions that hold two tokens come from `paired`."""
    first, second = np.asarray(first), np.asarray(second)
    shape = len(queries), len(keys)
    assert first.shape == second.shape == shape, f"{first.shape} and {second.shape} for {shape} queries and keys"
    allowed = np.broadcast_to(True if mask is None else np.asarray(mask, dtype=bool), shape)
    difference = first.astype(np.float64) - second
    limit = max(float(np.abs(difference).max()), LEAST)
    heatmap = {
        "type": "heatmap", "z": np.where(allowed, difference, np.nan).astype(np.float32), "zmin": -limit,
        "zmax": limit, "zmid": 0, "hoverongaps": False, "colorscale": diverging_scale(dark=dark),
        "customdata": np.stack([first, second], axis=-1).astype(np.float32),
        "hovertemplate": f"<b>%{{y}}</b> looks at <b>%{{x}}</b><br>{names[0]} %{{customdata[0]:.6~g}}, {names[1]} "
                         "%{customdata[1]:.6~g}<br>difference <b>%{z:+.6~g}</b>" + WHERE,
        "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 8,
                     "lenmode": "pixels", "len": 180, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
                     "tickvals": [-limit, 0, limit], "ticktext": [f"−{limit:.2g}", "0", f"+{limit:.2g}"],
                     "title": {"text": f"{names[0]} minus {names[1]}", "side": "top", "font": {"size": NOTE}}}}
    traces = [heatmap, *_numbers(difference, allowed, limit, dark), *stripes(allowed)]
    return matrix(traces, list(queries), list(keys), newest=False, legend_at=70, title=title, source=source, dark=dark,
                  upright=any(UNLIKE in key for key in keys))


def paired(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """A label for each position both have: its token, or both of them, cut to fit, where they differ."""
    return [one if one == other else f"{plain_label(one, longest=7)}{UNLIKE}{plain_label(other, longest=7)}"
            for one, other in zip(first, second, strict=False)]


def describe_difference(first: np.ndarray, second: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> str:
    """A few words for `alt=`: where the two differ most."""
    difference = np.asarray(first, dtype=np.float64) - second
    at = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    over = f"Difference of two heads over {how_many(len(queries), 'query', 'queries')} and {how_many(len(keys), 'key')}"
    if not difference[at]:
        return f"{over}: 0 everywhere."
    return (f"{over}. Largest: "
            f"'{plain_label(queries[at[0]])}' looks at '{plain_label(keys[at[1]])}', {difference[at]:+.2f}.")


def _numbers(difference: np.ndarray, allowed: np.ndarray, limit: float, dark: bool | None) -> list[dict]:
    """The differences written in their cells, except those that round to nothing."""
    if max(difference.shape) > NUMBERED:
        return []
    rows, columns = np.nonzero(allowed & (np.abs(difference) >= 0.005))
    shown = difference[rows, columns]
    text = [f"{value:+.2f}".replace("0.", ".", 1).replace("-", "−") for value in shown]
    colours = ink_on(diverging(257, dark=dark)[(128 + 128 * shown / limit).round().astype(int).clip(0, 256)])
    return [{"type": "scatter", "mode": "text", "x": columns, "y": rows, "text": text, "hoverinfo": "skip",
             "textfont": {"size": TEXT, "color": colours}, "showlegend": False}]


STYLE = """<style>
.measures { overflow-x: auto; font-size: 1rem; }
.measures table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.measures caption { text-align: left; padding-bottom: .4em; }
.measures th, .measures td { padding: .2em .45em; text-align: right; white-space: nowrap; }
.measures th { font-weight: 600; }
.measures tr.chosen { font-weight: 700; }
</style>"""


def _measure(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def measures_table(first: dict[str, np.ndarray], second: dict[str, np.ndarray], *, chosen: int,
                   names: tuple[str, str], caption: str) -> str:
    """HTML of measures, name -> (H,), of the heads of a layer, side by side for two pictures."""
    head = "".join(f'<th colspan="2" scope="colgroup">{escape(name)}</th>' for name in first)
    below = "".join(f'<th scope="col">{escape(name)}</th>' for _ in first for name in names)
    rows = []
    for at in range(len(next(iter(first.values())))):
        cells = "".join(
            f'<td data-head="{at}" data-measure="{escape(name)}" data-of="{of}">{_measure(measured[name][at])}</td>'
            for name in first for of, measured in zip(names, (first, second), strict=True))
        rows.append(f'<tr{" class=chosen" if at == chosen else ""}><th scope="row">head {at}</th>'
                    f"{cells}</tr>")
    return (f'{STYLE}<div class="measures" role="region" aria-label="measures of the heads" tabindex="0"><table>'
            f"<caption>{escape(caption)}</caption><thead><tr><td></td>{head}</tr><tr><td></td>{below}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>")

"""A bar and its number for each of several things, in one column or in several side by side: HTML for `st.html`."""
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape

import numpy as np

from ui.figures.labels import plain_label
from ui.figures.palette import ACCENT, BAR, NEGATIVE, ZERO


def _style(dark: bool | None) -> str:
    return f"""<style>
.bar-table.bar-table {{ margin: 0; max-width: 100%; }}
.bar-table figcaption {{ font-size: 17px; font-weight: 700; padding-bottom: .4rem; }}
.bar-table figcaption small {{ display: block; font-size: 13px; font-weight: 400; }}
.bar-table .box {{ overflow: auto; }}
.bar-table .box.tall {{ max-height: 52rem; }}
.bar-table table {{ border-collapse: separate; border-spacing: 0 2px; width: 100%; font-size: 15px; margin: 0;
  font-variant-numeric: tabular-nums; table-layout: auto; }}
.bar-table th, .bar-table td {{ border: 0; padding: .1em .35em; vertical-align: middle; }}
.bar-table thead th {{ font-weight: 600; text-align: left; position: sticky; top: 0; z-index: 1;
  background: {ZERO[bool(dark)]}; }}
.bar-table tbody th {{ font-weight: 500; text-align: right; white-space: pre; width: 1%; }}
.bar-table tbody th small {{ font-size: 13px; opacity: .75; }}
.bar-table tbody th.unknown bdi {{ outline: 2px dashed #d62728; outline-offset: -1px; margin-left: .3em;
  padding: 0 .25em; }}
.bar-table td > div {{ display: flex; align-items: center; gap: .4em; }}
.bar-table .track {{ position: relative; flex: 1 1 2rem; min-width: 1.6rem; height: 1.15em;
  border-left: 1px solid rgba(128, 128, 128, .7); }}
.bar-table .track.signed {{ border-left: 0;
  background: linear-gradient(rgba(128, 128, 128, .7), rgba(128, 128, 128, .7))
  center / 1px 100% no-repeat; }}
.bar-table .track i {{ position: absolute; top: 0; bottom: 0; border-radius: 2px; }}
.bar-table .number {{ flex: 0 0 auto; min-width: 3.3em; text-align: right; white-space: nowrap; }}
.bar-table .rank {{ flex: 0 0 auto; min-width: 2.1em; text-align: right; font-size: 13px; opacity: .8; }}
.bar-table tr.marked th {{ box-shadow: inset 4px 0 {ACCENT}; font-weight: 750; }}
.bar-table tr.marked .rank {{ opacity: 1; font-weight: 750; }}
.bar-table tr.total > * {{ border-top: 2px solid rgba(128, 128, 128, .6); font-weight: 750; }}
@media (max-width: 640px) {{ .bar-table table {{ font-size: 14px; }}
  .bar-table th, .bar-table td {{ padding: .1em .15em; }}
  .bar-table .several td > div {{ flex-wrap: wrap; gap: .2em .3em; padding: .15em .2em; }}
  .bar-table .several .track {{ flex-basis: 100%; height: .7em; }}
  .bar-table .several .number {{ min-width: 0; }} .bar-table .several .rank {{ min-width: 0; }} }}
</style>"""


def signed_number(value: float) -> str:
    """A number with its sign, two digits after the point, and a true minus; never a minus before zero."""
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def bar_table(labels: Sequence[str], columns: Mapping[str, Sequence[float]], *, title: str, source: str = "",
              origin: str = "", signed: Collection[str] = (), written: Callable[[float], str] = "{:.3f}".format,
              corner: str = "token", tokens: bool = True, ranks: Mapping[str, Sequence[int]] | None = None,
              marked: Collection[int] = (), unknown: Collection[int] = (), total: Sequence[str] | None = None,
              dark: bool | None = None) -> str:
    """A row for each label with a bar in each column, all columns on the same rows and each on a scale of its own.

    signed: columns whose bars go both ways from the middle, blue to the right above zero, red to the left below.
    written: how the numbers of the others are. tokens: the labels are tokens, and numbered; else they are words.
    ranks: a place to write after a number, by column. total: a last row's heading and texts, without bars. origin: the
    source in full, where the pointer rests on it.
    """
    most = {name: float(np.abs(values).max(initial=0.0)) or 1.0 for name, values in columns.items()}
    rows = []
    for row, label in enumerate(labels):
        whole, short = (plain_label(label, longest=None), plain_label(label)) if tokens else (label, label)
        cells = []
        for name, values in columns.items():
            value = float(values[row])
            text = (signed_number if name in signed else written)(value)
            rank = "" if ranks is None else f'<span class="rank">{ranks[name][row]}.</span>'
            cells.append(f'<td data-row="{row}" data-column="{escape(name)}" data-value="{value:.7g}"><div>'
                         f"{_bar(value / most[name], name in signed)}"
                         f'<span class="number">{escape(text)}</span>{rank}</div></td>')
        kinds = "marked" if row in marked else ""
        place = f"<small>{row}</small> " if tokens else ""
        rows.append(f'<tr class="{kinds}"><th scope="row" class="{"unknown" * (row in unknown)}" '
                    f'title="{escape(whole)}">{place}<bdi>{escape(short)}</bdi></th>{"".join(cells)}</tr>')
    if total is not None:
        rows.append(f'<tr class="total"><th scope="row">{escape(total[0])}</th>' + "".join(
            f'<td><div><span class="track"></span><span class="number">{escape(text)}</span></div></td>'
            for text in total[1:]) + "</tr>")
    head = "".join(f'<th scope="col" style="width:{99 / len(columns):.1f}%">{escape(name)}</th>' for name in columns)
    return (f'{_style(dark)}<figure class="bar-table"><figcaption>{escape(title)}<small title="{escape(origin)}">'
            f'{escape(source)}</small>'
            f'</figcaption><div class="box{" tall" * tokens}" role="region" aria-label="{escape(title)}" tabindex="0">'
            f'<table class="{"several" * (len(columns) > 1)}"><thead><tr><th scope="col">{escape(corner)}</th>{head}'
            f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div></figure>")


def _bar(share: float, signed: bool) -> str:
    """A bar of that share of the longest, which may be below zero where it is signed."""
    length = 100 * min(1.0, abs(share)) / (2 if signed else 1)
    left = 0.0 if not signed else 50 - length if share < 0 else 50.0
    return (f'<span class="track{" signed" * signed}" aria-hidden="true"><i style="left:{left:.2f}%;'
            f'width:{length:.2f}%;background:{NEGATIVE if share < 0 else BAR}"></i></span>')

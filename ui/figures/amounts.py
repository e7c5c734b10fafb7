"""Amounts as bars: one bar cut into shares (HTML), or a bar for each."""
from collections.abc import Mapping
from html import escape

import altair as alt
import pandas as pd

from ui.figures.chart import Chart, chart_of, ink_of, themed
from ui.figures.frame import TEXT
from ui.figures.palette import BAR, CATEGORICAL

STYLE = """<style>
.shares.shares { margin: 0; padding: 0; font-size: var(--body); font-variant-numeric: tabular-nums; }
.shares figcaption { font-size: var(--body); font-weight: var(--bold); padding-bottom: .4rem; }
.shares figcaption small { font-size: var(--small); font-weight: 400; }
.shares .bar { display: flex; height: 1.6rem; border-radius: var(--radius); overflow: hidden; }
.shares .bar span { min-width: 2px; }
.shares ul { list-style: none; display: flex; flex-wrap: wrap; gap: var(--gap-1) var(--gap-3);
  margin: .5rem 0 0; padding: 0; }
.shares li { margin: 0; padding: 0; }
.shares li b { display: inline-block; width: .8em; height: .8em; margin-right: .4em;
  border-radius: var(--radius-cell); }
</style>"""


def share_bar(amounts: Mapping[str, int], *, unit: str, title: str) -> str:
    """A bar cut into shares, as HTML, over the name, number and share of each."""
    total = sum(amounts.values()) or 1
    colours = dict(zip(amounts, CATEGORICAL, strict=False))
    cuts = "".join(f'<span style="flex:{count / total:.6f};background:{colours[name]}"></span>'
                   for name, count in amounts.items())
    keys = "".join(f'<li><b style="background:{colours[name]}"></b>{escape(name)}: {count:,} ({count / total:.1%})</li>'
                   for name, count in amounts.items())
    return (f'{STYLE}<figure class="shares"><figcaption>{escape(title)} <small>in {escape(unit)}</small></figcaption>'
            f'<div class="bar" aria-hidden="true">{cuts}</div><ul>{keys}</ul></figure>')


def amount_bars(amounts: Mapping[str, float], *, texts: Mapping[str, str], title: str, source: str = "",
                dark: bool | None = None) -> Chart:
    """A horizontal bar for each amount, with its text at the end."""
    frame = pd.DataFrame({"name": list(amounts), "value": [float(value) for value in amounts.values()],
                          "text": [texts[name] for name in amounts]})
    room = alt.Scale(domain=[0, 1.6 * max([*amounts.values(), 1e-9])], nice=False)  # for the text
    bars = chart_of(frame).mark_bar(color=BAR, cornerRadius=2).encode(
        alt.X("value:Q", axis=None, scale=room),
        alt.Y("name:N", sort=None, axis=alt.Axis(title=None, labelLimit=160, ticks=False, domain=False)),
        tooltip=[alt.Tooltip("name:N", title="part"), alt.Tooltip("text:N", title="amount")])
    labels = bars.mark_text(align="left", dx=6, fontSize=TEXT, **ink_of(dark)).encode(text="text:N")
    return themed(alt.layer(bars, labels), title=title, source=source, dark=dark, height=alt.Step(34))


def describe_amounts(amounts: Mapping[str, float], *, texts: Mapping[str, str] | None = None, what: str) -> str:
    """A sentence for `alt=`: every amount by name."""
    texts = texts or {name: f"{value:,}" for name, value in amounts.items()}
    return f"{what}: " + ", ".join(f"{name} {texts[name]}" for name in amounts) + "."

"""What a model would predict at each depth: a table of tokens, depth by position, shaded by a number; and one
position's likeliest tokens. HTML for `st.html`."""
from collections.abc import Sequence
from html import escape

import numpy as np

from ui.figures.labels import plain_label, words_label
from ui.figures.palette import ACCENT, ZERO, ink_on, ramp
from ui.figures.probabilities import some_percent

SHORT = 9  # characters of a token in its cell; hovering has it whole


def _style(dark: bool | None) -> str:
    return f"""<style>
.depths.depths {{ margin: 0; max-width: 100%; }}
.depths figcaption {{ font-size: 17px; font-weight: 700; padding-bottom: .4rem; }}
.depths figcaption small {{ display: block; font-size: 13px; font-weight: 400; }}
.depths .box {{ overflow: auto; max-width: 100%; padding-bottom: 4px; }}
/* it opens at the column asked about, as only what snaps to it does without a script; then it scrolls as anything */
.depths .box {{ animation: depths-open .1s; }}
.depths thead .chosen {{ scroll-snap-align: center; }}
@keyframes depths-open {{ from, to {{ scroll-snap-type: x mandatory; }} }}
.depths table {{ border-collapse: separate; border-spacing: 2px; font-size: 16px; line-height: 1.25; margin: 0;
  font-variant-numeric: tabular-nums; }}
.depths th, .depths td {{ border: 0; padding: .2em .4em; text-align: center; white-space: pre; min-width: 3.2em; }}
.depths th {{ font-weight: 500; font-size: 15px; }}
.depths tbody th, .depths tfoot th:first-child, .depths thead th:first-child {{ position: sticky; left: 0;
  text-align: right; background: {ZERO[bool(dark)]}; }}
.depths td small, .depths thead small {{ display: block; font-size: 13px; font-weight: 400; }}
.depths td.said bdi {{ font-weight: 750; text-decoration: underline; text-underline-offset: 3px; }}
.depths .chosen {{ box-shadow: 0 0 0 2px {ACCENT}; }}
.depths tfoot td {{ font-weight: 750; }}
.depths .scale {{ display: flex; align-items: center; gap: .5rem; font-size: 14px; padding-top: .5rem;
  flex-wrap: wrap; }}
@media (max-width: 640px) {{ .depths tbody th span {{ display: none; }}
  .depths th, .depths td {{ min-width: 2.6em; }} }}
.depths .scale i {{ display: inline-block; width: 9rem; height: .8rem; border-radius: .2rem; }}
</style>"""


def depth_table(tokens: Sequence[Sequence[str]], values: np.ndarray, shades: np.ndarray, *, depths: Sequence[str],
                positions: Sequence[int], read: Sequence[str], said: Sequence[str], shown: Sequence[Sequence[str]],
                hits: np.ndarray, chosen: int | None, title: str, source: str, low: str, high: str,
                origin: str = "", after: str = "comes next", classes: bool = False, dark: bool | None = None) -> str:
    """tokens, values, shades (from 0 to 1), shown (how a value is written) and hits (the cell's token is the one said
    in the end), each (depths, positions); above each column the token read there, below it the one said after it.

    low, high: what the two ends of the shades stand for. origin: the source in full, where the pointer rests on it.
    after: what the last row is. classes: these are their names
    and no tokens.
    """
    assert values.shape == shades.shape == (len(depths), len(positions)), f"{values.shape}, {shades.shape}"
    def cut(token: str) -> str:
        return escape(words_label(token, longest=2 * SHORT) if classes else plain_label(token, longest=SHORT))

    named = words_label if classes else plain_label
    colours = ramp(256, dark=dark)
    at = (np.nan_to_num(shades) * 255).round().astype(int).clip(0, 255)
    body = []
    for row, depth in enumerate(depths):
        cells = []
        for column, position in enumerate(positions):
            red, green, blue = (int(part) for part in colours[at[row, column]])
            ink = ink_on(colours[at[row, column]][None])[0]
            kinds = " ".join(name for name, on in (("said", hits[row, column]), ("chosen", column == chosen)) if on)
            token, number = tokens[row][column], shown[row][column]
            cells.append(
                f'<td class="{kinds}" data-depth="{row}" data-position="{position}" '
                f'data-value="{float(values[row, column]):.7g}" '
                f'style="background:rgb({red},{green},{blue});color:{ink}" '
                f'title="{escape(named(token, longest=None))}: {escape(number)}">'
                f"<bdi>{cut(token)}</bdi><small>{escape(number)}</small></td>")
        body.append(f'<tr><th scope="row">{_depth(row, depth)}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col"{_chosen(column, chosen)}>{"" if classes else f"<small>{position}</small>"}'
                   f"<bdi>{cut(token)}</bdi></th>"
                   for column, (position, token) in enumerate(zip(positions, read, strict=True)))
    foot = "".join(f'<td data-said="{position}"{_chosen(column, chosen)} '
                   f'title="{escape(named(token, longest=None))}">'
                   f"<bdi>{cut(token)}</bdi></td>"
                   for column, (position, token) in enumerate(zip(positions, said, strict=True)))
    steps = ",".join(f"rgb({red},{green},{blue})" for red, green, blue in colours[::51])
    return (f'{_style(dark)}<figure class="depths"><figcaption>{escape(title)}<small title="{escape(origin)}">'
            f'{escape(source)}</small></figcaption><div class="box" role="region" '
            f'aria-label="{escape(title)}" tabindex="0"><table>'
            f'<thead><tr><th scope="col">{"" if classes else "<small>position</small>"}read</th>{head}</tr></thead>'
            f'<tbody>{"".join(body)}</tbody><tfoot><tr><th scope="row">{after}</th>{foot}</tr></tfoot></table></div>'
            f'<div class="scale"><span>{escape(low)}</span><i style="background:linear-gradient(90deg,{steps})"></i>'
            f"<span>{escape(high)}</span><span>· underlined: the one that {after}</span></div></figure>")


def depth_candidates(tops: Sequence[Sequence], *, depths: Sequence[str], said: int, ranks: Sequence[int],
                     probabilities: Sequence[float], entropies: Sequence[float], divergences: Sequence[float],
                     title: str, source: str, origin: str = "", classes: bool = False, dark: bool | None = None) -> str:
    """Of one position, for each depth its likeliest candidates `(id, piece, probability)`, and of the token `said` its
    rank and probability there."""
    named = words_label if classes else plain_label

    def cell(row: int, rank: int, one) -> str:
        kind = ' class="said"' if one.id == said else ""
        name, short = (escape(named(one.piece, longest=longest)) for longest in (None, 2 * SHORT))
        return (f'<td{kind} data-depth="{row}" data-rank="{rank}" data-id="{one.id}" '
                f'data-probability="{one.probability:.7g}" title="{name}">'
                f"<bdi>{short}</bdi> <small>{escape(some_percent(one.probability))}</small></td>")

    rows = []
    for row, (depth, top) in enumerate(zip(depths, tops, strict=True)):
        first, last = ("".join(f'<td data-depth="{row}" data-{name}="{value:.7g}">{escape(text)}</td>'
                               for name, value, text in part) for part in (
            (("of-said-rank", ranks[row], f"{ranks[row]:,}"),
             ("of-said-probability", probabilities[row], some_percent(probabilities[row]))),
            (("entropy", entropies[row], f"{entropies[row]:.2f}"),
             ("divergence", divergences[row], f"{max(0.0, divergences[row]):.2f}"))))
        rows.append(f'<tr><th scope="row">{_depth(row, depth)}</th>{first}'
                    + "".join(cell(row, rank, one) for rank, one in enumerate(top, 1)) + f"{last}</tr>")
    names = ["its rank", "its probability", *(f"{rank}." for rank in range(1, 1 + len(tops[0]))), "entropy, nats",
             "KL from the output, nats"]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (f'{_style(dark)}<figure class="depths candidates"><figcaption>{escape(title)}'
            f'<small title="{escape(origin)}">{escape(source)}</small></figcaption><div class="box" role="region" '
            f'aria-label="{escape(title)}" tabindex="0"><table><thead><tr><th scope="col">depth</th>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div></figure>")


def describe_depths(ranks: Sequence[int], probabilities: Sequence[float]) -> str:
    """A sentence for `alt=`: how a token comes up through the depths."""
    first = next((depth for depth, rank in enumerate(ranks) if rank == 1), None)
    when = "never the likeliest" if first is None else f"the likeliest from depth {first} on" if all(
        rank == 1 for rank in ranks[first:]) else f"first the likeliest at depth {first}"
    return (f"Rank {ranks[0]:,} and probability {some_percent(probabilities[0])} at depth 0, rank {ranks[-1]:,} and "
            f"{some_percent(probabilities[-1])} at the last, depth {len(ranks) - 1}; {when}.")


def _depth(row: int, name: str) -> str:
    """Its number, and where there is room what it is."""
    return f"{row}<span> · {escape(name)}</span>"


def _chosen(column: int, chosen: int | None) -> str:
    return ' class="chosen"' if column == chosen else ""

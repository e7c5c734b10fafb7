"""What a model would predict at each depth, as HTML for `st.html`: a table of tokens, depth by position, shaded by a
number; and the likeliest tokens of one position."""
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from ui.figures.html_table import Caption, header_rows, heading, table, tag, tr
from ui.figures.labels import plain_label, words_label
from ui.figures.palette import MARK, ZERO, ink_on, ramp
from ui.figures.probabilities import some_percent

SHORT = 9  # characters of a token in its cell; the tooltip has all of it


class DepthCell(NamedTuple):
    """The likeliest token of a depth and position. shade: from 0 to 1; text: the value as it is written; final: the
    output has the same token."""

    token: str
    value: float
    shade: float
    text: str
    final: bool


class DepthColumn(NamedTuple):
    """A position: the token read there, and the one that follows it."""

    position: int
    read: str
    next: str


@dataclass(frozen=True)
class Following:
    """The rank and probability of a token at each depth, beside the entropy of each and its KL from the output."""

    id: int
    ranks: Sequence[int]
    probabilities: Sequence[float]
    entropies: Sequence[float]
    divergences: Sequence[float] | None = None  # None where the output is of something else


def _style(dark: bool | None) -> str:
    return f"""<style>
.depths.depths {{ margin: 0; max-width: 100%; }}
.depths figcaption {{ font-size: var(--body); font-weight: var(--bold); padding-bottom: .4rem; }}
.depths figcaption small {{ display: block; font-size: var(--small); font-weight: 400; }}
.depths .box {{ overflow: auto; max-width: 100%; padding-bottom: 4px; }}
/* opens at the chosen column: without a script only snapping scrolls there; after that the box scrolls freely */
.depths .box {{ animation: depths-open .1s; }}
.depths thead .chosen {{ scroll-snap-align: center; }}
@keyframes depths-open {{ from, to {{ scroll-snap-type: x mandatory; }} }}
.depths table {{ border-collapse: separate; border-spacing: 2px; font-size: var(--body); line-height: 1.25; margin: 0;
  font-variant-numeric: tabular-nums; }}
.depths th, .depths td {{ border: 0; padding: .2em .4em; text-align: center; white-space: pre; min-width: 3.2em; }}
.depths th {{ font-weight: 400; font-size: var(--body); }}
.depths tbody th, .depths tfoot th:first-child, .depths thead th:first-child {{ position: sticky; left: 0;
  text-align: right; background: {ZERO[bool(dark)]}; }}
.depths td small, .depths thead small {{ display: block; font-size: var(--small); font-weight: 400; }}
.depths td:is(.final, .followed) bdi {{ font-weight: var(--bold); text-decoration: underline;
  text-underline-offset: 3px; }}
.depths .chosen {{ box-shadow: 0 0 0 2px {MARK}; }}
.depths tfoot td {{ font-weight: var(--bold); }}
.depths .scale {{ display: flex; align-items: center; gap: var(--gap-2); font-size: var(--small); padding-top: .5rem;
  flex-wrap: wrap; }}
@media (max-width: 640px) {{ .depths tbody th span {{ display: none; }}
  .depths th, .depths td {{ min-width: 2.6em; }} }}
.depths .scale i {{ display: inline-block; width: 9rem; height: .8rem; border-radius: var(--radius-cell); }}
</style>"""


def depth_table(cells: Sequence[Sequence[DepthCell]], columns: Sequence[DepthColumn], caption: Caption, *,
                scale: tuple[str, str], chosen: int | None = None, after: str | None = "comes next",
                underlined: str | None = None, classes: bool = False, dark: bool | None = None) -> str:
    """cells: (depths, positions). scale: names the two ends of the shades; chosen: the column that is marked; after:
    the name of the last row; None for states that nothing follows, and underlined then says what is. classes: the
    tokens are names of classes."""
    named = words_label if classes else plain_label
    colours = ramp(256, dark=dark)

    def short(token: str) -> str:
        return tag("bdi", escape(named(token, longest=2 * SHORT if classes else SHORT)))

    def cell(depth: int, column: int, cell: DepthCell) -> str:
        colour = colours[int(np.clip(round(float(np.nan_to_num(cell.shade)) * 255), 0, 255))]
        kinds = ["final"] * bool(cell.final) + ["chosen"] * (column == chosen)
        return tag("td", short(cell.token) + tag("small", escape(cell.text)), class_=" ".join(kinds), data_depth=depth,
                   data_position=columns[column].position, data_value=f"{cell.value:.7g}",
                   style=f"background:{_rgb(colour)};color:{ink_on(colour[None])[0]}",
                   title=f"{named(cell.token, longest=None)}: {cell.text}")

    def mark(column: int) -> str:
        return "chosen" * (column == chosen)

    head = tr(tag("th", ("" if classes else tag("small", "position")) + "read", scope="col"), *(
        tag("th", ("" if classes else tag("small", str(one.position))) + short(one.read), scope="col", class_=mark(at))
        for at, one in enumerate(columns)))
    body = [tr(_depth_heading(depth, len(cells), output=after is not None),
               *(cell(depth, column, one) for column, one in enumerate(line))) for depth, line in enumerate(cells)]
    foot = "" if after is None else tr(heading(after, scope="row"), *(
        tag("td", short(one.next), data_next=one.position, class_=mark(at), title=named(one.next, longest=None))
        for at, one in enumerate(columns)))
    gradient = tag("i", style=f"background:linear-gradient(90deg,{','.join(map(_rgb, colours[::51]))})")
    low, high = (tag("span", escape(end)) for end in scale)
    said = tag("span", escape(f"· underlined: {underlined or f'the one that {after}'}"))
    legend = tag("div", low + gradient + high + said, class_="scale")
    box = table([head], body, label=caption.title, box="box", foot=foot)
    return _style(dark) + tag("figure", caption.html + box + legend, class_="depths")


def depth_candidates(tops: Sequence[Sequence], following: Following, caption: Caption, *, classes: bool = False,
                     dark: bool | None = None) -> str:
    """The likeliest candidates `(id, piece, probability)` of one position at each depth, beside a token that is
    followed through all of them."""
    named = words_label if classes else plain_label

    def candidate(depth: int, rank: int, one) -> str:
        name = tag("bdi", escape(named(one.piece, longest=2 * SHORT)))
        return tag("td", f"{name} {tag('small', escape(some_percent(one.probability)))}",
                   class_="followed" * (one.id == following.id), data_depth=depth, data_rank=rank, data_id=one.id,
                   data_probability=f"{one.probability:.7g}", title=named(one.piece, longest=None))

    def number(depth: int, name: str, value: float, text: str) -> str:
        return tag("td", escape(text), data_depth=depth, **{f"data_{name}": f"{value:.7g}"})

    body = []
    for at, top in enumerate(tops):
        rank, probability = following.ranks[at], following.probabilities[at]
        entropy = following.entropies[at]
        apart = [] if following.divergences is None else [
            number(at, "divergence", following.divergences[at], f"{max(0.0, following.divergences[at]):.2f}")]
        body.append(tr(
            _depth_heading(at, len(tops), output=bool(apart)), number(at, "followed_rank", rank, f"{rank:,}"),
            number(at, "followed_probability", probability, some_percent(probability)),
            *(candidate(at, place, one) for place, one in enumerate(top, 1)),
            number(at, "entropy", entropy, f"{entropy:.2f}"), *apart))
    ranks = (f"{rank}." for rank in range(1, 1 + len(tops[0])))
    head = header_rows(["depth", "its rank", "its probability", *ranks, "entropy, nats",
                        *["KL from the output, nats"] * (following.divergences is not None)])
    box = table(head, body, label=caption.title, box="box")
    return _style(dark) + tag("figure", caption.html + box, class_="depths candidates")


def describe_depths(ranks: Sequence[int], probabilities: Sequence[float]) -> str:
    """A sentence for `alt=`: how a token comes up through the depths."""
    first = next((depth for depth, rank in enumerate(ranks) if rank == 1), None)
    when = "never the likeliest" if first is None else f"the likeliest from depth {first} on" if all(
        rank == 1 for rank in ranks[first:]) else f"first the likeliest at depth {first}"
    return (f"Rank {ranks[0]:,} and probability {some_percent(probabilities[0])} at depth 0, rank {ranks[-1]:,} and "
            f"{some_percent(probabilities[-1])} at the last, depth {len(ranks) - 1}; {when}.")


def _depth_heading(depth: int, count: int, *, output: bool) -> str:
    """A depth's number and, where there is room, its place; depth 0 is what goes into layer 0. output: the last is the
    model's."""
    place = f"after layer {depth - 1}" if depth else "before layer 0"
    return tag("th", f"{depth}<span> · {place}{', the output' * (output and depth == count - 1)}</span>", scope="row")


def _rgb(colour: np.ndarray) -> str:
    return f"rgb({','.join(map(str, colour.tolist()))})"

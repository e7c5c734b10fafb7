"""A beam search as a tree to click, and a table of its finished hypotheses."""
from collections.abc import Sequence
from html import escape
from math import exp

import numpy as np

from transformer.basics.formatting import how_many, in_percent
from ui.figures.frame import TEXT, Finished, axis, framed, picked_number
from ui.figures.html_table import heading, numeric_table, tag, tr
from ui.figures.labels import axis_label, plain_label, plotly_text
from ui.figures.palette import CLEAR, INK, MARK, MUTED, faint, ink_on, ramp

COLUMN, ROW = 128, 48  # px of the page: a step, a rank
BOX, TALL = 0.72, 0.8  # the part of a column and of a row
FAINT = faint(MUTED, 0.55)  # edges to pruned nodes
LONGEST = 9            # characters of a token in its box; the tooltip has all of it
STATES = {"kept": "kept: it continued", "open": "still open when the search stopped", "ended": "ended",
          "pruned": "pruned: not among the best"}


def beam_figure(nodes: Sequence, *, here: int | None = None, title: str = "Beam search", source: str = "",
                dark: bool | None = None) -> Finished:
    """Nodes `(place, parent, depth, rank, id, piece, log_probability, total, penalised, state, best)`, depth by depth,
    as boxes: a column a step, the best total of each on top, shaded by the token's probability. They may begin after
    the root. `here` is the place of the one being looked at. Its width in pixels is `layout.width`."""
    first, last, ranks = nodes[0].depth, nodes[-1].depth, 1 + max(node.rank for node in nodes)
    ink = INK[bool(dark)]
    shades = ramp(256, dark=dark)[[round(255 * exp(node.log_probability) ** 0.5) for node in nodes]]
    on_shade = ink_on(shades)
    fills, inks, outlines, widths = [], [], [], []
    for node, (red, green, blue), text in zip(nodes, shades, on_shade, strict=True):
        lost, root = node.state == "pruned", node.parent is None
        fills.append(CLEAR if lost or root else f"rgb({red}, {green}, {blue})")
        inks.append(MUTED if lost else ink if root else text)
        outlines.append(MARK if node.best else MUTED)
        widths.append(3 if node.best else 1)
    boxes = {"type": "bar", "orientation": "h", "base": [node.depth - BOX / 2 for node in nodes],
             "x": [BOX] * len(nodes), "y": [node.rank for node in nodes], "width": TALL,
             "customdata": [node.place for node in nodes], "text": [_words(node) for node in nodes],
             "textposition": "inside", "insidetextanchor": "middle", "constraintext": "none", "textangle": 0,
             "insidetextfont": {"size": TEXT, "color": inks}, "hovertext": [_hover(node) for node in nodes],
             "hovertemplate": "%{hovertext}<extra></extra>",
             "marker": {"color": fills, "line": {"color": outlines, "width": widths}},
             "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
    ring = [{"type": "bar", "orientation": "h", "base": [node.depth - BOX / 2 - 0.05], "x": [BOX + 0.1],
             "y": [node.rank], "width": TALL + 0.16, "hoverinfo": "skip", "name": "here",
             "marker": {"color": CLEAR, "line": {"color": ink, "width": 3}}} for node in nodes if node.place == here]
    lines = [_edges(nodes, lambda node: node.state == "pruned", color=FAINT, width=1, dash="dot"),
             _edges(nodes, lambda node: node.state != "pruned" and not node.best, color=MUTED, width=2),
             _edges(nodes, lambda node: node.best, color=MARK, width=4)]
    return framed(
        [*lines, *ring, boxes], title=title, source=source, dark=dark, height=ROW * ranks, top=34, bottom=6,
        showlegend=False, yaxis=axis(range=[ranks - 0.5, -0.5], visible=False),
        xaxis=axis(side="top", range=[first - 0.5, last + 0.5], tickvals=list(range(first, last + 1)),
                   ticktext=[f"step {depth - 1}" if depth else "start" for depth in range(first, last + 1)]),
        width=COLUMN * (last + 1 - first) + 16)


def picked_node(event) -> int | None:
    """The place of the clicked node in the state of `st.plotly_chart(beam_figure(...), on_select=...)`, or None."""
    return picked_number(event)


def describe_beam(nodes: Sequence, *, width: int) -> str:
    """A sentence for `alt=`: the numbers of steps, pruned and ended nodes, and the best path."""
    best = " ".join(plain_label(node.piece) for node in nodes if node.best and node.parent is not None)
    pruned, ended = (sum(node.state == state for node in nodes) for state in ("pruned", "ended"))
    return (f"Beam search of width {width} as a tree over {how_many(nodes[-1].depth, 'step')}: "
            f"{how_many(len(nodes) - 1, 'token')} considered, {pruned} pruned, {ended} ended. Best path: {best}.")


def _words(node) -> str:
    """The text of a box: the token, and the total by which it is ranked."""
    token = axis_label(node.piece, longest=LONGEST)
    if node.parent is None:
        return token
    token = f"<b>{token}</b>" if node.best else token
    return f"{token}{' ■' if node.state == 'ended' else ''}<br>{_number(node.total, 2)}"


def _hover(node) -> str:
    token = f"<b>{axis_label(node.piece, longest=60)}</b> (id {node.id})"
    if node.parent is None:
        return f"{token}<br>read first<br>click to look at step 0"
    return (f"{token}<br>probability {plotly_text(in_percent(exp(node.log_probability)))}, log-probability "
            f"{_number(node.log_probability, 4)}<br>total {_number(node.total, 4)}, penalised "
            f"{_number(node.penalised, 4)}<br>rank {node.rank} at step {node.depth - 1}<br>{STATES[node.state]}"
            f"{', on the best path' if node.best else ''}<br>click to look at its attention")


def _edges(nodes: Sequence, which, **line) -> dict:
    """The edges from parents to the children that `which` selects, as one trace."""
    x, y = [], []
    ranks = {node.place: node.rank for node in nodes}
    for node in nodes:
        if node.parent in ranks and which(node):
            x += [node.depth - 1 + BOX / 2, node.depth - BOX / 2, np.nan]
            y += [ranks[node.parent], node.rank, np.nan]
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip", "line": line}


def _number(value: float, places: int) -> str:
    """A number with a true minus, never -0."""
    return f"{value + 0.0:.{places}f}".replace("-", "−")


def hypotheses_table(rows: Sequence[tuple[str, float, int, float, bool]], *, source: str = "") -> str:
    """HTML of finished hypotheses, best first, each (text, total, length in tokens, penalised score, whole or cut)."""
    body = []
    for rank, (text, total, length, penalised, whole) in enumerate(rows, start=1):
        text = plain_label(text, longest=None).replace("␣", " ") + ("" if whole else " (cut short)")
        cells = {"rank": str(rank), "text": tag("bdi", escape(text)), "total": _number(total, 4),
                 "length": str(length), "penalised": _number(penalised, 4)}
        body.append(tr(*(tag("td", cell, class_="text" * (what == "text"), data_what=what)
                          for what, cell in cells.items()), class_="chosen" * (rank == 1)))
    head = tr(*(heading(name, class_="text" * (name == "Hypothesis"))
                 for name in ("Rank", "Hypothesis", "Total", "Tokens", "Penalised")))
    return numeric_table([head], body, label="finished hypotheses",
                         caption=f"Finished hypotheses, best first. {source}")

"""A matrix of queries against keys: the weights of a head as a heatmap or a small grid, or its mask."""

import itertools
from collections.abc import Sequence
from html import escape

import numpy as np

from transformer.basics.design import colour
from transformer.basics.formatting import how_many
from ui.figures.frame import NOTE, TEXT, Finished, axis, framed
from ui.figures.html_table import table, tag, token, tr
from ui.figures.labels import axis_label, cell_label, head_label, part_of_one, plain_label
from ui.figures.palette import ALLOWED, CLEAR, FORBIDDEN, INK, MARK, MUTED, ZERO, colorscale, ink_on, ramp

LABELLED = 60  # tokens along an axis; with more, positions are marked and hover has the tokens
KEYS, QUERIES = 24, 40  # labels with room side by side on a phone, and below each other anywhere
SPARSE = 20    # labels of an axis with more tokens
NUMBERED = 12  # tokens along an axis; up to here each cell has its number
LETTER = 8     # px, about the width of a character
WHERE = "<br>positions %{pointNumber[0]} and %{pointNumber[1]}<extra></extra>"


def attention_heatmap(weights: np.ndarray, queries: list[str], keys: list[str], *, title: str, source: str = "",
                      mask: np.ndarray | None = None, scale: str = "sqrt", newest: bool = True,
                      dark: bool | None = None) -> Finished:
    """One head's weights (Tq, Tk), queries from top to bottom; `mask` (Tq, Tk), `newest` outlines the last query."""
    weights, allowed = _checked(weights, queries, keys, mask)
    heatmap = {
        "type": "heatmap", "z": np.where(allowed, weights, np.nan).astype(np.float32), "zmin": 0, "zmax": 1,
        "hoverongaps": False, "hovertemplate": "<b>%{y}</b> looks at <b>%{x}</b><br>weight <b>%{z:.6~g}</b>" + WHERE,
        "colorscale": colorscale(scale, dark=dark),
        "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 8,
                     "lenmode": "pixels", "len": 230, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
                     "tickvals": [0, 0.1, 0.25, 0.5, 1],
                     "title": {"text": "weight, colours by its square root" if scale == "sqrt" else "weight",
                               "side": "top", "font": {"size": NOTE}}}}
    # forbidden cells have stripes instead of a colour: a learned zero differs from an imposed one
    traces = [heatmap, *_numbers(weights, allowed, scale, dark), *stripes(allowed)]
    return matrix(traces, queries, keys, newest=newest, legend_at=70, title=title, source=source, dark=dark)


def mask_matrix(mask: np.ndarray, queries: list[str], keys: list[str], *, title: str, source: str = "",
                dark: bool | None = None) -> Finished:
    """A mask (Tq, Tk): a filled cell may be attended to, a striped one may not."""
    mask, _ = _checked(np.asarray(mask, dtype=bool), queries, keys, None)
    filled = {"type": "heatmap", "z": np.where(mask, 1, np.nan).astype(np.float32), "showscale": False,
              "hoverongaps": False, "colorscale": [[0, ALLOWED], [1, ALLOWED]],
              "hovertemplate": "<b>%{y}</b> may look at <b>%{x}</b>" + WHERE}
    legend = {"type": "bar", "x": [None], "y": [None], "name": "may look", "marker": {"color": ALLOWED}}
    traces = [filled, legend, *stripes(mask)]
    if max(mask.shape) <= NUMBERED:
        rows, columns = np.nonzero(mask)
        traces.append({"type": "scatter", "mode": "text", "x": columns, "y": rows, "text": ["✓"] * len(rows),
                       "textfont": {"size": TEXT + 4, "color": colour("paper")}, "hoverinfo": "skip",
                       "showlegend": False})
    return matrix(traces, queries, keys, newest=False, legend_at=6, title=title, source=source, dark=dark)


def describe_attention(weights: np.ndarray, queries: list[str], keys: list[str], *, newest: bool = True) -> str:
    """A sentence for `alt=`: the sizes, the strongest weight, and with `newest` where the last query looks."""
    weights = np.nan_to_num(_checked(weights, queries, keys, None)[0])
    row, column = strongest = tuple(int(at) for at in np.unravel_index(weights.argmax(), weights.shape))
    last = len(queries) - 1, int(weights[-1].argmax())
    text = f"Attention of {how_many(len(queries), 'query', 'queries')} over {how_many(len(keys), 'key')}. Strongest: "
    text += f"{_at(row, queries)} looks at {_at(column, keys)} with {part_of_one(weights[strongest])}."
    if newest and last != strongest:
        text += f" The newest query, {_at(last[0], queries)}, looks most at {_at(last[1], keys)}"
        text += f" with {part_of_one(weights[last])}."
    return text


def describe_mask(mask: np.ndarray, queries: list[str], keys: list[str]) -> str:
    """A sentence for `alt=`: how much is allowed, in all and to the first and the last query."""
    mask, _ = _checked(np.asarray(mask, dtype=bool), queries, keys, None)
    return (f"Mask of {how_many(len(queries), 'query', 'queries')} over {how_many(len(keys), 'key')}: "
            f"{mask.sum()} of {mask.size} pairs may attend; "
            f"the first query may look at {how_many(mask[0].sum(), 'key')}, the last at {mask[-1].sum()}.")


def _checked(weights: np.ndarray, queries: list[str], keys: list[str],
             mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    weights = np.asarray(weights)
    shape = len(queries), len(keys)
    assert weights.shape == shape and min(shape) > 0, f"weights {weights.shape} for {shape} queries and keys"
    allowed = np.broadcast_to(True if mask is None else np.asarray(mask, dtype=bool), shape)
    assert not weights[~allowed].any(), f"weight {weights[~allowed].max()} where the mask allows 0"
    return weights, allowed


def _at(position: int, pieces: list[str]) -> str:
    return f"'{plain_label(pieces[position])}' (position {position})"


def _numbers(weights: np.ndarray, allowed: np.ndarray, scale: str, dark: bool | None) -> list[dict]:
    """The numbers in the cells, except those that round to 0."""
    if max(weights.shape) > NUMBERED:
        return []
    rows, columns = np.nonzero(allowed & (weights >= 0.005))
    values = weights[rows, columns]
    place = np.sqrt(values) if scale == "sqrt" else values
    text = [cell_label(weight) for weight in values]
    colours = ink_on(ramp(256, dark=dark)[(255 * place).astype(int).clip(0, 255)])
    return [{"type": "scatter", "mode": "text", "x": columns, "y": rows, "text": text, "hoverinfo": "skip",
             "textfont": {"size": TEXT, "color": colours}, "showlegend": False}]


def stripes(allowed: np.ndarray) -> list[dict]:
    """The forbidden cells: bars, because only bars have stripes, and a clear heatmap that hovers cell by cell."""
    if allowed.all():
        return []
    blocks = []  # (first row, rows, first key, keys): one bar over neighbouring cells keeps a long mask fast
    for runs, rows in itertools.groupby(range(len(allowed)), key=lambda row: _runs(~allowed[row])):
        rows = list(rows)
        blocks += [(rows[0], len(rows), start, stop - start) for start, stop in runs]
    top, height, left, width = np.array(blocks).T
    hover = {"type": "heatmap", "z": np.where(allowed, np.nan, 0).astype(np.float32), "showscale": False,
             "hoverongaps": False, "colorscale": [[0, CLEAR], [1, CLEAR]],
             "hovertemplate": "<b>%{y}</b> may not look at <b>%{x}</b> (masked)" + WHERE}
    bars = {"type": "bar", "orientation": "h", "y": top + (height - 1) / 2, "width": height, "x": width,
            "base": left - 0.5, "hoverinfo": "skip", "name": "may not look (masked)",
            "marker": {"color": FORBIDDEN, "line": {"width": 0},
                       "pattern": {"shape": "/", "size": 8, "solidity": 0.2, "fgcolor": MUTED, "bgcolor": FORBIDDEN}}}
    return [hover, bars]


def _runs(flags: np.ndarray) -> tuple[tuple[int, int], ...]:
    """The runs of set flags, as (start, stop)."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).tolist()
    return tuple(zip(edges[::2], edges[1::2], strict=True))


def matrix(traces: list[dict], queries: list[str], keys: list[str], *, newest: bool, legend_at: int,
           upright: bool = False, **frame) -> Finished:
    """A figure with keys across the top, queries downwards and a legend `legend_at` pixels below. `upright` leaves room
    for upright keys, which many keys always are."""
    height = min(52 * len(queries), 420 + 6 * len(queries), 740)
    across, down = [axis_label(piece) for piece in keys], [axis_label(piece) for piece in queries]
    letters = [len(plain_label(piece)) for piece in keys]
    # on a phone the labels are upright
    upright = len(keys) <= LABELLED and (upright or len(keys) > KEYS or LETTER * len(keys) * max(letters) > 250)
    outline = {"type": "rect", "x0": -0.5, "x1": len(keys) - 0.5, "y0": len(queries) - 1.5, "y1": len(queries) - 0.5,
               "line": {"color": MARK, "width": 3}}
    if newest:
        down[-1] = f"<b>{down[-1]}</b>"
    x_marks, y_marks = _marks(keys, KEYS), _marks(queries, QUERIES)
    tall = LETTER * (max(letters) + 3 * (len(keys) > KEYS)) if upright else 20
    return framed(
        traces, **frame, height=height, top=30 + tall, bottom=legend_at + 28,
        # flat or upright, never slanting: plotly drops slanting labels that would cross the edge
        xaxis=axis("key: the token looked at", side="top", range=[-0.5, len(keys) - 0.5], autotickangles=[0, -90],
                   ticklabeloverflow="allow", **_ticks(across, KEYS, room=tall)),
        yaxis=axis("query: the token that looks" if len(queries) > 5 else "query", range=[len(queries) - 0.5, -0.5],
                   **_ticks(down, QUERIES, room=LETTER * (3 + max(len(plain_label(piece)) for piece in queries)))),
        shapes=[outline] if newest else [],
        annotations=[{"x": at, "y": 1, "yref": "paper", "yanchor": "bottom", "textangle": -90 if upright else 0} | mark
                     for at, mark in x_marks]
        + [{"y": at, "x": 0, "xref": "paper", "xanchor": "right"} | mark for at, mark in y_marks],
        showlegend=True, legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -legend_at / height,
                                 "yanchor": "top", "itemclick": False, "itemdoubleclick": False,
                                 "font": {"size": NOTE, "color": INK[frame["dark"]]}})


def _ticks(labels: list[str], most: int, *, room: int) -> dict:
    """Ticks at numbers, because equal tokens would merge as categories; hover uses the labels even where they are not
    visible. room: pixels for the marks that replace more than `most` labels."""
    visible, short = len(labels) <= most, len(labels) <= LABELLED
    return {"tickvals": list(range(len(labels))), "ticktext": labels, "showticklabels": visible, "fixedrange": short,
            "tickfont": {"size": TEXT if len(labels) <= SPARSE or most > KEYS else NOTE - 1},
            "standoff": 14 if visible else room if short else 26}


def _marks(pieces: list[str], most: int) -> list[tuple[int, dict]]:
    """Marks for an axis that is too long for all its labels: about every second token with its position or, on a very
    long one, about every tenth position."""
    if len(pieces) <= most:
        return []
    if len(pieces) <= LABELLED:
        step = -(-len(pieces) // SPARSE)
        marked = [*range(0, len(pieces) - step, step), len(pieces) - 1]  # with the last, often an end token
        texts = {at: f"{axis_label(pieces[at])} {at}" for at in marked}
    else:
        step = 10 * -(-len(pieces) // 120)
        texts = {at: str(at) for at in range(0, len(pieces), step)}
    return [(at, {"text": text, "showarrow": False, "font": {"size": NOTE}}) for at, text in texts.items()]


NUMBERED_CELL = 16  # keys up to which the cells have numbers
LEVEL = 9      # keys up to which short names lie flat
MOST = 48      # tokens along a side


def _style(dark: bool | None) -> str:
    return f"""<style>
.weight-grid.weight-grid {{ margin: 0; overflow: auto; max-width: 100%; scrollbar-width: thin; }}
.weight-grid table {{ border-collapse: separate; border-spacing: 2px; margin: 0; font-size: var(--small);
  line-height: 1;  font-variant-numeric: tabular-nums; }}
.weight-grid th, .weight-grid td {{ border: 0; padding: 0 3px; text-align: center; white-space: pre; }}
.weight-grid th {{ font-weight: 400; background: {ZERO[bool(dark)]}; }}
.weight-grid thead th {{ position: sticky; top: 0; z-index: 1; vertical-align: bottom; padding: 2px; }}
.weight-grid.tall thead th bdi {{ writing-mode: vertical-rl; text-orientation: sideways;
  transform: rotate(180deg); }}
.weight-grid tbody th {{ position: sticky; left: 0; text-align: right; padding-right: 6px; }}
.weight-grid tbody th i {{ font-style: normal; opacity: .65; }}
.weight-grid td {{ min-width: var(--wide); height: var(--high); border-radius: var(--radius-cell); }}
.weight-grid.small td {{ padding: 0; }}
.weight-grid.small table {{ font-size: var(--small); }}
.weight-grid td.masked {{ background: repeating-linear-gradient(135deg, var(--line) 0 2px, transparent 2px
  7px); }}
</style>"""


def weight_grid(weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], *, kind: str, layer: int, head: int,
                after: Sequence[str] = (), mask: np.ndarray | None = None, dark: bool | None = None,
                small: bool = False) -> str:
    """Weights (Tq, Tk) of up to `MOST` tokens a side, colours by the square root; it scrolls inside itself.

    after: the token that each query predicts, which follows its name; small: cells as small as a line of their names,
    without numbers, for where all type is large.
    """
    assert weights.shape == (len(queries), len(keys)), f"{weights.shape} for {len(queries)} x {len(keys)} tokens"
    shades = ramp(256, dark=dark)[(255 * np.sqrt(weights)).astype(int).clip(0, 255)]  # (Tq, Tk, 3)
    numbered = len(keys) <= NUMBERED_CELL and not small
    allowed = np.ones(weights.shape, bool) if mask is None else mask
    names = [plain_label(piece) for piece in keys]

    def cell(query: int, key: int, ink: str) -> str:
        weight, hint = float(weights[query, key]), f"{plain_label(queries[query])} looks at {names[key]}"
        if not allowed[query, key]:
            return tag("td", class_="masked", data_query=query, data_key=key, title=f"{hint}: masked")
        return tag("td", cell_label(weight) if numbered and weight >= 0.005 else "", data_query=query, data_key=key,
                   data_weight=f"{weight:.6g}", title=f"{hint} with {part_of_one(weight, 3)}",
                   style=f"background:rgb({','.join(map(str, shades[query, key].tolist()))});color:{ink}")

    body = []
    for query, piece in enumerate(queries):
        goes_on = " " + tag("i", f"→ {escape(plain_label(after[query]))}") if query < len(after) else ""
        body.append(tr(tag("th", token(piece) + goes_on, scope="row"), *(
            cell(query, key, ink) for key, ink in enumerate(ink_on(shades[query])))))
    level = len(keys) <= LEVEL and max(map(len, names)) <= 9 and not small
    tall = 34 if len(queries) <= 8 else 26 if len(queries) <= 13 else 19
    wide, high = (14, 13) if small else (32 if numbered else 18, tall)
    head_row = tr(tag("td"), *(tag("th", token(piece), scope="col", data_position=at) for at, piece in enumerate(keys)))
    label = f"Weights of {kind}, {head_label(layer, head)}: tokens that look down, tokens looked at across"
    return _style(dark) + table([head_row], body, label=label, box="weight-grid" + " tall" * (not level)
                                + " small" * small, style=f"--wide:{wide}px;--high:{high}px;--rows:{len(queries)}",
                                data_kind=kind, data_layer=layer, data_head=head)

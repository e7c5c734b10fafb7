"""Tables for `st.html`: plain ones, exact numbers, named matrices, bars beside numbers, a head's weights."""

from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nlargest
from html import escape

import numpy as np

from ui.figures.html_table import Caption, header_rows, heading, numeric_table, table, tag, token, tr
from ui.figures.labels import head_label, plain_label
from ui.figures.palette import BAR, MARK, NEGATIVE, ZERO, ink_on, ramp

LONGEST = 48  # characters of a cell that is not cut
PLAIN_STYLE = """<style>
.plain-table { overflow-x: auto; max-width: 100%; }
.plain-table table { border-collapse: collapse; font-size: var(--body); margin: 0; font-variant-numeric: tabular-nums; }
.plain-table th, .plain-table td { padding: .35em .9em; text-align: left; border: 0; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
.plain-table th { font-weight: var(--bold); }
.plain-table td.code { font-family: var(--code); font-size: var(--small); }
.plain-table .number { text-align: right; }
.plain-table td.cut { max-width: min(20em, 45vw); overflow: hidden; text-overflow: ellipsis; }
.plain-table.wrap td { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 9em; vertical-align: top; }
@media (max-width: 640px) { .plain-table th, .plain-table td { padding: .3em .45em; font-size: var(--small); }
  .plain-table th, .plain-table td.text:not(.cut) { white-space: normal; }
  .plain-table td.text:not(:first-child, .cut) { min-width: 5.5em; }
  .plain-table.wrap td { min-width: 5em; } .plain-table.wrap td.number { min-width: 0; } }
</style>"""


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, label: str, code: Collection[int] = (),
                numbers: Collection[int] = (), wrap: bool = False) -> str:
    """Rows of texts; the columns in `code` are set as code, those in `numbers` to the right. With `wrap`, long cells
    take several lines and keep their own; without it they are cut, except code, and the tooltip has the whole."""
    kinds = ["code" if at in code else "number" if at in numbers else "text" for at in range(len(headers))]

    def cell(text: str, kind: str) -> str:
        cut = not (wrap or kind == "code" or len(text) <= LONGEST)
        return tag("td", escape(text), class_=kind + " cut" * cut, title=cut and text)

    head = tr(*(heading(text, class_=kind) for text, kind in zip(headers, kinds, strict=True)))
    body = [tr(*map(cell, texts, kinds)) for texts in rows]
    return PLAIN_STYLE + table([head], body, label=label, box="plain-table" + " wrap" * wrap)


def number_table(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[object]]], *, label: str, caption: str = "",
                 corner: str = "", groups: Sequence[tuple[str, int]] = (), totals: int = 0,
                 marked: Collection[tuple[int, int]] = ()) -> str:
    """Rows of a heading and cells under `columns`, numbers in the fewest digits that give them back. `groups` (name,
    columns) stand over the columns, the last `totals` rows are set off, `marked` (row, column) cells stand out."""
    body = []
    for at, (name, cells) in enumerate(rows):
        assert len(cells) == len(columns), f"{len(cells)} cells for {len(columns)} columns in row {name}"
        body.append(tr(
            tag("th", tag("bdi", escape(name)), scope="row"),
            *(tag("td", escape(str(cell)), data_row=at, data_column=column, class_="marked" * ((at, column) in marked))
              for column, cell in enumerate(cells)), class_="total" * (at == len(rows) - totals)))
    return numeric_table(header_rows([corner, *columns], groups), body, label=label, caption=caption)


def batch_table(names: Sequence[str], tokens: Sequence[Sequence[str]], lengths: Sequence[int], *, label: str,
                caption: str = "") -> str:
    """A batch of padded rows of tokens; what comes after a row's length is marked as padding."""
    body = [tr(heading(name, scope="row"), *(
        tag("td", token(piece, longest=None), class_="token" if at < length else "pad")
        for at, piece in enumerate(pieces))) for name, pieces, length in zip(names, tokens, lengths, strict=True)]
    return numeric_table([], body, label=label, caption=caption)


SHADES = 256
NAMED_STYLE = """<style>
.named-matrix { overflow-x: auto; max-width: 100%; }
.named-matrix table { border-collapse: collapse; font-size: var(--body); font-variant-numeric: tabular-nums; }
.named-matrix caption { text-align: left; padding-bottom: .5em; font-weight: var(--bold); font-size: var(--body); }
.named-matrix caption small { display: block; max-width: calc(100vw - 3rem); font-weight: 400;
  font-size: var(--small); }
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

    def cell(value: float) -> str:
        if not np.isfinite(value):
            return tag("td")
        at = min(SHADES - 1, int((SHADES - 1) * value / high))
        colour = "#" + bytes(shades[at].tolist()).hex()
        return tag("td", f"{value:.2f}", style=f"background:{colour};color:{inks[at]}", title=f"{value:.6g}")

    body = [tr(heading(name, scope="row"), *map(cell, line)) for name, line in zip(rows, values.tolist(), strict=True)]
    return NAMED_STYLE + table(header_rows(["", *columns]), body, label=label, box="named-matrix",
                               caption=escape(label) + tag("small", escape(caption)))


def _bar_style(dark: bool | None) -> str:
    return f"""<style>
.bar-table.bar-table {{ margin: 0; max-width: 100%; }}
.bar-table figcaption {{ font-size: var(--body); font-weight: var(--bold); padding-bottom: .4rem; }}
.bar-table figcaption small {{ display: block; font-size: var(--small); font-weight: 400; }}
.bar-table .box {{ overflow: auto; }}
.bar-table .box.tall {{ max-height: 52rem; }}
.bar-table table {{ border-collapse: separate; border-spacing: 0 2px; width: 100%; font-size: var(--body); margin: 0;
  font-variant-numeric: tabular-nums; table-layout: auto; }}
.bar-table th, .bar-table td {{ border: 0; padding: .1em .35em; vertical-align: middle; }}
.bar-table thead th {{ font-weight: var(--bold); text-align: left; position: sticky; top: 0; z-index: 1;
  background: {ZERO[bool(dark)]}; }}
.bar-table tbody th {{ font-weight: 400; text-align: right; white-space: pre; width: 1%; }}
.bar-table tbody th small {{ font-size: var(--small); opacity: .75; }}
.bar-table tbody th.unknown bdi {{ outline: 2px dashed var(--wrong); outline-offset: -1px; margin-left: .3em;
  padding: 0 .25em; }}
.bar-table td > div {{ display: flex; align-items: center; gap: var(--gap-1); }}
.bar-table .track {{ position: relative; flex: 1 1 2rem; min-width: 1.6rem; height: 1.15em;
  border-left: 1px solid var(--line); }}
.bar-table .track.signed {{ border-left: 0;
  background: linear-gradient(var(--tint), var(--tint))
  center / 1px 100% no-repeat; }}
.bar-table .track i {{ position: absolute; top: 0; bottom: 0; border-radius: var(--radius-cell); }}
.bar-table .number {{ flex: 0 0 auto; min-width: 3.3em; text-align: right; white-space: nowrap; }}
.bar-table .rank {{ flex: 0 0 auto; min-width: 2.1em; text-align: right; font-size: var(--small); opacity: .8; }}
.bar-table tr.marked th {{ box-shadow: inset 4px 0 {MARK}; font-weight: var(--bold); }}
.bar-table tr.marked .rank {{ opacity: 1; font-weight: var(--bold); }}
.bar-table tr.total > * {{ border-top: 2px solid var(--line); font-weight: var(--bold); }}
@media (max-width: 640px) {{ .bar-table table {{ font-size: var(--small); }}
  .bar-table th, .bar-table td {{ padding: .1em .15em; }}
  .bar-table .several td > div {{ flex-wrap: wrap; gap: var(--gap-1) var(--gap-1); padding: .15em .2em; }}
  .bar-table .several .track {{ flex-basis: 100%; height: .7em; }}
  .bar-table .several .number {{ min-width: 0; }} .bar-table .several .rank {{ min-width: 0; }} }}
</style>"""


def signed_number(value: float) -> str:
    """A number with its sign, two digits after the point, and a true minus; never a minus before zero."""
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def bar_table(labels: Sequence[str], columns: Mapping[str, Sequence[float]], caption: Caption, *,
              signed: Collection[str] = (), written: Callable[[float], str] = "{:.3f}".format, corner: str = "token",
              tokens: bool = True, rows: int | None = None, ranks: Mapping[str, Sequence[int]] | None = None,
              marked: Collection[int] = (), unknown: Collection[int] = (), total: Sequence[str] | None = None,
              dark: bool | None = None) -> str:
    """A row for each label with a bar in each column, all columns on the same rows and each on a scale of its own.

    signed: columns whose bars go both ways from the middle, blue to the right above zero, red to the left below.
    written: formats the numbers of the others. tokens: the labels are tokens, and numbered; else they are words.
    rows: at most so many, those with the longest bars, in their order; all without it. ranks: by column, a rank
    after each number. total: a last row's heading and texts, without bars.
    """
    most = {name: float(np.abs(values).max(initial=0.0)) or 1.0 for name, values in columns.items()}
    shown = range(len(labels))
    if rows is not None:
        shown = sorted(nlargest(rows, shown, key=lambda at: max(
            abs(values[at]) / most[name] for name, values in columns.items())))
    body = []
    for at in shown:
        label, cells = labels[at], []
        for name, values in columns.items():
            value = float(values[at])
            number = tag("span", escape((signed_number if name in signed else written)(value)), class_="number")
            rank = "" if ranks is None else tag("span", f"{ranks[name][at]}.", class_="rank")
            bar = _bar(value / most[name], name in signed)
            cells.append(tag("td", tag("div", bar + number + rank), data_row=at, data_column=name,
                             data_value=f"{value:.7g}"))
        whole, short = (plain_label(label, longest=None), plain_label(label)) if tokens else (label, label)
        place = tag("small", str(at)) + " " if tokens else ""
        body.append(tr(tag("th", place + tag("bdi", escape(short)), scope="row", class_="unknown" * (at in unknown),
                           title=whole), *cells, class_="marked" * (at in marked)))
    if total is not None:
        track = tag("span", class_="track")
        body.append(tr(heading(total[0], scope="row"), *(
            tag("td", tag("div", track + tag("span", escape(text), class_="number"))) for text in total[1:]),
            class_="total"))
    head = tr(heading(corner), *(heading(name, style=f"width:{99 / len(columns):.1f}%") for name in columns))
    box = table([head], body, label=caption.title, box="box" + " tall" * tokens, kind="several" * (len(columns) > 1))
    return _bar_style(dark) + tag("figure", caption.html + box, class_="bar-table")


def _bar(share: float, signed: bool) -> str:
    """A bar of that share of the longest, which may be below zero where it is signed."""
    length = 100 * min(1.0, abs(share)) / (2 if signed else 1)
    left = 0.0 if not signed else 50 - length if share < 0 else 50.0
    bar = tag("i", style=f"left:{left:.2f}%;width:{length:.2f}%;background:{NEGATIVE if share < 0 else BAR}")
    return tag("span", bar, class_="track" + " signed" * signed, aria_hidden="true")


def attention_table(weights: np.ndarray, queries: list[str], keys: list[str], *, kind: str, layer: int, head: int,
                    mask: np.ndarray | None = None, source: str = "") -> str:
    """Weights (Tq, Tk), every number in the fewest digits that give it back exactly."""
    weights = np.asarray(weights)
    allowed = np.ones(weights.shape, bool) if mask is None else np.broadcast_to(mask, weights.shape)
    which = f'data-kind="{escape(kind)}" data-layer="{layer}" data-head="{head}"'

    def name(piece: str, position: int, scope: str) -> str:
        return tag("th", token(piece, longest=None), scope=scope, data_position=position)

    def cell(query: int, key: int) -> str:  # written out: there may be a quarter of a million of them
        masked = "" if allowed[query, key] else " data-masked"
        return f'<td {which} data-query="{query}" data-key="{key}"{masked}>{weights[query, key]!s}</td>'

    head_row = tr(tag("td"), *(name(piece, at, "col") for at, piece in enumerate(keys)))
    body = [tr(name(piece, at, "row"), *(cell(at, key) for key in range(len(keys))))
            for at, piece in enumerate(queries)]
    caption = f"Attention weights, {kind}, {head_label(layer, head)}: queries down, keys across. {source}"
    return numeric_table([head_row], body, label="attention weights", caption=caption)

"""Tables as HTML for `st.html`: plain ones, exact numbers, named matrices, bars beside numbers, and the weights under a
picture."""

from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape

import numpy as np

from ui.figures.labels import head_label, heading, plain_label
from ui.figures.palette import ACCENT, BAR, NEGATIVE, ZERO, ink_on, ramp

LONGEST = 48  # characters that a cell may have and is not cut
PLAIN_STYLE = """<style>
.plain-table { overflow-x: auto; max-width: 100%; }
.plain-table table { border-collapse: collapse; font-size: 15px; margin: 0; font-variant-numeric: tabular-nums; }
.plain-table th, .plain-table td { padding: .35em .9em; text-align: left; border: 0; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .35); }
.plain-table th { font-weight: 600; }
.plain-table td.code { font-family: ui-monospace, monospace; font-size: 14px; }
.plain-table .number { text-align: right; }
.plain-table td.cut { max-width: min(20em, 45vw); overflow: hidden; text-overflow: ellipsis; }
.plain-table.wrap td { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 9em; vertical-align: top; }
@media (max-width: 640px) { .plain-table th, .plain-table td { padding: .3em .45em; font-size: 14px; }
  .plain-table th, .plain-table td.text:not(.cut) { white-space: normal; }
  .plain-table.wrap td { min-width: 5em; } .plain-table.wrap td.number { min-width: 0; } }
</style>"""


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, label: str, code: Collection[int] = (),
                numbers: Collection[int] = (), wrap: bool = False) -> str:
    """HTML; the columns in `code` are set as code, those in `numbers` to the right. wrap: long cells take
    several lines and keep their own; else they are cut, but for code, and the pointer
    shows the whole."""
    def kind(column: int) -> str:
        return "code" if column in code else "number" if column in numbers else "text"

    head = "".join(heading(text, f'class="{kind(at)}"') for at, text in enumerate(headers))

    def cell(column: int, text: str) -> str:
        if wrap or column in code or len(text) <= LONGEST:
            return f'<td class="{kind(column)}">{escape(text)}</td>'
        return f'<td class="{kind(column)} cut" title="{escape(text)}">{escape(text)}</td>'

    body = "".join("<tr>" + "".join(cell(at, text) for at, text in enumerate(row)) + "</tr>" for row in rows)
    kinds = "plain-table wrap" if wrap else "plain-table"
    return (f'{PLAIN_STYLE}<div class="{kinds}" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")


NUMBER_STYLE = f"""<style>
.number-table {{ overflow: auto; max-height: 34rem; font-size: 15px; }}
.number-table table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
.number-table caption {{ text-align: left; padding-bottom: .4em; caption-side: top; }}
.number-table th, .number-table td {{ padding: .2em .7em; text-align: right; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .25); }}
.number-table th {{ font-weight: 600; }}
.number-table thead th {{ vertical-align: bottom; }}
.number-table th[colspan] {{ text-align: center; border-left: 1px solid rgba(128, 128, 128, .25); }}
.number-table .marked {{ font-weight: 700; box-shadow: inset 0 0 0 2px {ACCENT}; border-radius: 2px; }}
.number-table .total {{ border-top: 2px solid rgba(128, 128, 128, .5); }}
.number-table td.token {{ text-align: left; border: 1px solid rgba(128, 128, 128, .45); }}
.number-table td.pad {{ opacity: .75; font-style: italic; border: 1px solid rgba(128, 128, 128, .25); background:
  repeating-linear-gradient(135deg, rgba(140, 146, 155, .3) 0 3px, transparent 3px 8px); }}
</style>"""


def number_table(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[object]]], *, label: str, caption: str = "",
                 corner: str = "", groups: Sequence[tuple[str, int]] = (), totals: int = 0,
                 marked: Collection[tuple[int, int]] = ()) -> str:
    """HTML for `st.html`: rows of a heading and cells under `columns`; `groups` (name, columns) stand above these, the
    last `totals` rows are set off, and `marked` (row, column) cells stand out. Numbers are written to give themselves
    back exactly; everything is plain text."""
    for name, cells in rows:
        assert len(cells) == len(columns), f"{len(cells)} cells for {len(columns)} columns in row {name}"
    above = "".join(heading(name, f'colspan="{count}"', scope="colgroup") for name, count in groups)
    head = f"<tr><td></td>{above}</tr>" if groups else ""
    head += f"<tr>{''.join(map(heading, (corner, *columns)))}</tr>"
    body = []
    for at, (name, cells) in enumerate(rows):
        kind = ' class="total"' if at == len(rows) - totals else ""
        inner = "".join(
            f'<td data-row="{at}" data-column="{column}"{" class=marked" if (at, column) in marked else ""}>'
            f"{escape(str(cell))}</td>" for column, cell in enumerate(cells))
        body.append(f'<tr{kind}><th scope="row"><bdi>{escape(name)}</bdi></th>{inner}</tr>')
    return _framed(f"<caption>{escape(caption)}</caption>" * bool(caption) + f"<thead>{head}</thead>"
                   f"<tbody>{''.join(body)}</tbody>", label)


def batch_table(names: Sequence[str], tokens: Sequence[Sequence[str]], lengths: Sequence[int], *, label: str,
                caption: str = "") -> str:
    """HTML for `st.html`: a batch of padded rows of tokens, what comes after each row's length marked as padding."""
    body = []
    for name, row, length in zip(names, tokens, lengths, strict=True):
        shown = [escape(plain_label(piece, longest=None)) for piece in row]
        cells = "".join(f'<td class="{"token" if at < length else "pad"}"><bdi>{piece}</bdi></td>'
                        for at, piece in enumerate(shown))
        body.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return _framed(f"<caption>{escape(caption)}</caption>" * bool(caption) + f"<tbody>{''.join(body)}</tbody>", label)


def _framed(inner: str, label: str) -> str:
    return (f'{NUMBER_STYLE}<div class="number-table" role="region" aria-label="{escape(label)}" tabindex="0">'
            f"<table>{inner}</table></div>")


SHADES = 256
NAMED_STYLE = """<style>
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
    return (f'{NAMED_STYLE}<div class="named-matrix" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
            f"<caption>{escape(label)}<small>{escape(caption)}</small></caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>")


def _cell(value: float, high: float, shades: np.ndarray, inks: list[str]) -> str:
    if not np.isfinite(value):
        return "<td></td>"
    at = min(SHADES - 1, int((SHADES - 1) * value / high))
    colour = "#" + bytes(shades[at].tolist()).hex()
    return f'<td style="background:{colour};color:{inks[at]}" title="{value:.6g}">{value:.2f}</td>'


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


WEIGHTS_STYLE = """<style>
.attention-table { overflow: auto; max-height: 26rem; font-size: 14px; }
.attention-table table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.attention-table caption { text-align: left; padding-bottom: .4em; }
.attention-table th, .attention-table td { padding: .15em .6em; text-align: right; white-space: nowrap; }
.attention-table th { font-weight: 600; }
.attention-table td[data-masked] { opacity: .5; font-style: italic; }
</style>"""


def attention_table(weights: np.ndarray, queries: list[str], keys: list[str], *, kind: str, layer: int, head: int,
                    mask: np.ndarray | None = None, source: str = "") -> str:
    """An HTML table of weights (Tq, Tk), every number in the fewest digits that give it back exactly."""
    def header(piece: str, position: int, scope: str) -> str:
        name = escape(plain_label(piece, longest=None))
        return f'<th scope="{scope}" data-position="{position}"><bdi>{name}</bdi></th>'

    weights = np.asarray(weights)
    allowed = np.ones(weights.shape, bool) if mask is None else np.broadcast_to(mask, weights.shape)
    which = f'data-kind="{escape(kind)}" data-layer="{layer}" data-head="{head}"'
    rows = []
    for query, piece in enumerate(queries):
        cells = "".join(
            f'<td {which} data-query="{query}" data-key="{key}"{"" if allowed[query, key] else " data-masked"}>'
            f"{weights[query, key]!s}</td>" for key in range(len(keys)))
        rows.append(f"<tr>{header(piece, query, 'row')}{cells}</tr>")
    caption = f"Attention weights, {kind}, {head_label(layer, head)}: queries down, keys across. {source}"
    columns = "".join(header(piece, key, "col") for key, piece in enumerate(keys))
    return (f'{WEIGHTS_STYLE}<div class="attention-table" role="region" aria-label="attention weights" tabindex="0">'
            "<table>"
            f"<caption>{escape(caption)}</caption><thead><tr><td></td>{columns}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>")

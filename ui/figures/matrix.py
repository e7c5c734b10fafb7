"""A matrix with a number in each cell, as an HTML table: alone, side by side, folded into heads; one cell spelled out.

The colours are classes that `matrix_style` defines once a page.
"""

from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from ui.figures.labels import part_of_one, plain_label
from ui.figures.palette import ACCENT, CATEGORICAL, ZERO, diverging, ink_on, ramp

SHADES = 24   # of each sign, and of weights
NARROW = 12   # columns; wider matrices are set smaller
LETTER = 6.5  # px, about the width of a character
CELL, SMALL = 46, 37  # px, the width of a number's cell, and of one set smaller

LAYOUT = f"""
.matrices {{ display: flex; flex-wrap: wrap; gap: .9rem 2rem; container-type: inline-size; --scale: 1; }}
.matrices > .spelled {{ flex: 1 1 18rem; align-self: center; }}
.matrix {{ margin: 0; min-width: 0; max-width: 100%; }}
.matrix figcaption {{ font-size: 15px; padding-bottom: .3em; }}
.matrix figcaption b {{ font-weight: 650; }}
.matrix .shape {{ font-family: var(--st-code-font, monospace); }}
.matrix .note {{ opacity: .85; font-size: 14px; }}
.matrix .sign {{ display: inline-block; vertical-align: bottom; overflow: hidden; white-space: nowrap; font-size: 14px;
  max-width: clamp(0px, (var(--needs) * var(--scale) * 1px - 100cqw) * 999, 11em); }}
.matrix .box {{ overflow-x: auto; max-width: 100%; padding-bottom: 2px; }}
.matrix table {{ border-collapse: separate; border-spacing: 1px; font-size: 15px; line-height: 1.3; margin: 0;
  font-variant-numeric: tabular-nums; }}
.matrix.wide table {{ font-size: 13px; }}
.matrix th, .matrix td {{ padding: .16em .32em; text-align: right; white-space: nowrap; border: 0;
  min-width: 2.95em; }}
.matrix.wide th, .matrix.wide td {{ padding: .16em .2em; min-width: 2.7em; }}
.matrix th {{ font-weight: 500; }}
.matrix thead th {{ opacity: .8; text-align: center; font-size: max(13px, .93em); }}
.matrix thead th.group {{ text-align: left; border-left: 2px solid currentColor; padding-left: .4em; }}
.matrix thead td, .matrix tbody th {{ min-width: 0; }}
.matrix tbody th {{ position: sticky; left: 0; text-align: right; padding: .16em .6em .16em .5em; }}
.matrix td.sum {{ font-weight: 650; padding-left: .7em; }}
.matrix td.off {{ color: #d62728; }}
.matrix .chosen th {{ font-weight: 750; box-shadow: inset 4px 0 {ACCENT}; }}
.matrix tr.chosen td {{ box-shadow: inset 0 2px {ACCENT}, inset 0 -2px {ACCENT}; }}
.matrix td.chosen, .matrix tr.chosen td.chosen {{ box-shadow: none; outline: 3px solid {ACCENT}; outline-offset: -2px;
  font-weight: 750; }}
@media (max-width: 640px) {{ .matrices {{ column-gap: 1rem; --scale: .87; }}
  .matrix table {{ font-size: 13px; }} }}
.matrix .masked {{ background: repeating-linear-gradient(135deg, rgba(140, 146, 155, .38) 0 2px,
  rgba(140, 146, 155, .08) 2px 7px); }}
"""


def matrix_style(*, dark: bool | None = None) -> str:
    """The style that every `number_matrix` of a page is drawn with; --page is what the page is drawn on."""
    rules = [LAYOUT, f".stMain {{ --page: {ZERO[bool(dark)]}; }} .matrix tbody th {{ background: var(--page); }}",
             ".matrix td.off { color: #ff8a80; }" if dark else ""]
    for prefix, shades in (("s", diverging(2 * SHADES + 1, dark=dark)), ("w", ramp(SHADES + 1, dark=dark))):
        rules += [f".{prefix}{at}{{background:rgb({r},{g},{b});color:{ink}}}"
                  for at, ((r, g, b), ink) in enumerate(zip(shades, ink_on(shades), strict=True))]
    return f"<style>{''.join(rules)}</style>"


def number_matrix(values: np.ndarray, *, name: str, rows: Sequence[str], columns: Sequence[str] | None = None,
                  groups: Sequence[tuple[str, int]] = (), kind: str = "signed", shape: tuple[int, ...] | None = None,
                  allowed: np.ndarray | None = None,
                  row: int | None = None, cell: tuple[int, int] | None = None, sums: str | None = None,
                  decimals: int = 2, note: str = "") -> str:
    """Values (R, C) under their name and shape, rows and columns labelled; hovering shows a number in full.

    kind: "signed" colours from the largest negative to the largest positive number, "weights" from 0 to 1 (by their
    square root, so that small ones can be seen), "plain" not at all. Cells not in `allowed` (R, C) are hatched. `row`
    and `cell` are marked. groups: names and widths over the columns. sums="rows" or "columns" adds those sums, the
    ones that are not 1 in red.
    """
    values = np.asarray(values)
    if values.ndim != 2 or values.shape[0] != len(rows) or (columns is not None and values.shape[1] != len(columns)):
        raise ValueError(f"{name} is {values.shape}, its labels say ({len(rows)}, "
                         f"{'any' if columns is None else len(columns)})")
    finite = np.where(np.isfinite(values), values, 0.0)
    if kind == "plain":
        classes = np.full(values.shape, "plain")
    elif kind == "weights":
        classes = np.char.add("w", (np.sqrt(finite.clip(0, 1)) * SHADES).round().astype(int).astype(str))
    else:
        largest = max(float(np.abs(finite).max(initial=0.0)), 1e-9)
        classes = np.char.add("s", (finite / largest * SHADES + SHADES).round().astype(int).astype(str))
    if allowed is not None:
        classes = np.where(allowed, classes, "masked")
    body = []
    for at, label in enumerate(rows):
        cells = "".join(
            f'<td class="{shade}{" chosen" if cell == (at, column) else ""}" title="{value:.7g}">'
            f"{_number(value, decimals)}</td>"
            for column, (shade, value) in enumerate(zip(classes[at], values[at].tolist(), strict=True)))
        if sums == "rows":
            cells += _sum(values[at])
        marked = ' class="chosen"' if at == row else ""
        body.append(f'<tr{marked}><th scope="row"><bdi>{escape(plain_label(label))}</bdi></th>{cells}</tr>')
    if sums == "columns":
        body.append(f'<tr><th scope="row">sum</th>{"".join(map(_sum, values.T))}</tr>')
    labels = map(str, range(values.shape[1])) if columns is None else map(plain_label, columns)
    head = "".join(f'<th scope="col"><bdi>{escape(label)}</bdi></th>' for label in labels)
    head += '<th scope="col">sum</th>' if sums == "rows" else ""
    over = "".join(f'<th scope="colgroup" colspan="{width}" class="group">{escape(label)}</th>'
                   for label, width in groups)
    over = f"<tr><td></td>{over}</tr>" if groups else ""
    narrow = values.shape[1] <= NARROW
    least = CELL if narrow else SMALL
    named = [""] * values.shape[1] if columns is None else list(map(plain_label, columns))
    needs = LETTER * max(map(len, map(plain_label, rows)), default=0) + 16 + least * (sums == "rows") + sum(
        max(least, LETTER * len(name) + 10) for name in named)
    shape = values.shape if shape is None else shape
    size = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    said = f' <span class="note">{escape(note)}</span>' if note else ""
    return (f'<figure class="matrix{"" if narrow else " wide"}" data-name="{escape(name)}">'
            f'<figcaption><b>{escape(name)}</b> <span class="shape">{size}</span>{said} '
            f'<span class="sign" style="--needs:{needs:.0f}" aria-hidden="true">scroll sideways ↔</span></figcaption>'
            f'<div class="box" role="region" aria-label="{escape(name)} {size}" tabindex="0"><table>'
            f"<thead>{over}<tr><td></td>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div></figure>")


def side_by_side(matrices: Sequence[str]) -> str:
    """Matrices as `number_matrix` makes them, as many beside each other as there is room for; where one is wider than
    that, it says that it scrolls."""
    return f'<div class="matrices">{"".join(matrices)}</div>'


def _number(value: float, decimals: int) -> str:
    if not np.isfinite(value):
        return "−∞" if value < 0 else "NaN" if np.isnan(value) else "∞"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _sum(values: np.ndarray) -> str:
    total = float(values.sum())
    return f'<td class="sum{"" if abs(total - 1) < 5e-3 else " off"}" title="{total:.7g}">{_number(total, 2)}</td>'


_SHADES = np.array([[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in CATEGORICAL])
_HEADS = "".join(f".blocks .head{at} {{ background: {colour}; color: {ink}; }}\n"
                 for at, (colour, ink) in enumerate(zip(CATEGORICAL, ink_on(_SHADES), strict=True)))
BLOCKS_STYLE = f"""<style>
.blocks {{ overflow-x: auto; max-width: 100%; }}
.blocks table {{ border-collapse: separate; border-spacing: 3px; font-size: 14px; margin: 0; }}
.blocks caption {{ text-align: left; font-size: 15px; padding-bottom: .4em; caption-side: top; }}
.blocks th {{ font-weight: 500; text-align: right; padding: .1em .5em .1em 0; white-space: nowrap; border: 0; }}
.blocks td {{ padding: .15em .5em; border-radius: .25rem; white-space: nowrap; border: 0; }}
{_HEADS}</style>"""


def head_blocks(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, title: str) -> str:
    """HTML of rows of blocks, each block (word, head) with the colour of its head, which is also written on it."""
    def block(word: str, head: int) -> str:
        return (f'<td class="head{head % len(CATEGORICAL)}"><bdi>{escape(plain_label(word, longest=8))}</bdi>'
                f"<sub>{head}</sub></td>")

    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{"".join(block(*each) for each in blocks)}</tr>'
                   for name, blocks in rows)
    return (f'{BLOCKS_STYLE}<div class="blocks" role="region" aria-label="{escape(title)}" tabindex="0"><table>'
            f"<caption>{escape(title)}</caption><tbody>{body}</tbody></table></div>")


SPELLED_STYLE = """<style>
.spelled { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .5rem 1rem; font-size: 15px;
  line-height: 1.6; font-variant-numeric: tabular-nums; margin: 0; }
.spelled dt { font-weight: 600; white-space: nowrap; }
.spelled dd { margin: 0; overflow-wrap: break-word; }
.spelled b { font-weight: 700; }
@media (max-width: 640px) { .spelled { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
  .spelled dd { padding-bottom: .6rem; } }
</style>"""


def spelled_cell(query: str, key: str, *, q: np.ndarray, k: np.ndarray, product: float, divisor: float,
                 divided_by: str, scaled: Sequence[float], at: int, weight: float,
                 bias: Sequence[float] | None = None, allowed: np.ndarray | None = None,
                 lines: Collection[str] | None = None) -> str:
    """HTML of how `query` comes to give `key` its weight: q and k (d_k,), `scaled` (Tk,) of the whole row, `at` the
    key's place in it, `bias` (Tk,) what positions add, `allowed` (Tk,); `lines`: which of them, all without it."""
    asks, is_asked = (f"<bdi>{escape(plain_label(token))}</bdi>" for token in (query, key))
    terms = " + ".join(f"{_signed(a)}·{_signed(b)}" for a, b in zip(q, k, strict=True))
    scaled = np.asarray(scaled, dtype=np.float64)
    allowed = np.ones(len(scaled), bool) if allowed is None else np.asarray(allowed, bool)
    said = [("Product", f"q[{asks}] · k[{is_asked}] = {terms} = <b>{product:.2f}</b>"),
            ("Scale", f"{product:.2f} / {escape(divided_by)} = {product:.2f} / {divisor:.2f} = "
                      f"<b>{scaled[at]:.2f}</b>")]
    if bias is not None:
        before, scaled = scaled, scaled + np.asarray(bias, dtype=np.float64)
        said.append(("Positions", f"{before[at]:.2f} + {_signed(bias[at])} = <b>{scaled[at]:.2f}</b>"))
    if not allowed[at]:
        said += [("Mask", f"{is_asked} comes after {asks}: −∞ takes the place of {scaled[at]:.2f}"),
                 ("Softmax", f"e<sup>−∞</sup> = 0, so the weight is <b>{weight:.2f}</b>")]
    else:
        powers = np.exp(scaled)
        total = " + ".join(f"e<sup>{score:.2f}</sup>" for score in scaled[allowed])
        said.append(("Softmax", f"e<sup>{scaled[at]:.2f}</sup> / ({total}) = {_power(powers[at])} / "
                                f"{_power(powers[allowed].sum())} = <b>{part_of_one(weight)}</b>"))
    rows = "".join(f"<dt>{what}</dt><dd>{how}</dd>" for what, how in said if lines is None or what in lines)
    return f'{SPELLED_STYLE}<dl class="spelled" aria-label="one weight spelled out">{rows}</dl>' if rows else ""


def spelled_sum(query: str, keys: Sequence[str], *, weights: np.ndarray, v: np.ndarray, total: float) -> str:
    """HTML of how the first number of a context vector adds up: weights and v's first column, both (Tk,)."""
    terms = " + ".join(f"{weight:.2f}·{_signed(value)}" for weight, value in zip(weights, v, strict=True))
    values = ", ".join(f"<bdi>{escape(plain_label(key))}</bdi>" for key in keys)
    return (f'{SPELLED_STYLE}<dl class="spelled" aria-label="one number of the context spelled out">'
            "<dt>First number</dt>"
            f"<dd>context[<bdi>{escape(plain_label(query))}</bdi>, 0] = {terms} = <b>{total:.2f}</b><br>"
            f"weight times first value of {values}</dd></dl>")


def _signed(value: float) -> str:
    text = f"{value:.2f}"
    if float(text) == 0:
        return "0.00"
    return f"({text})" if value < 0 else text


def _power(value: float) -> str:
    return f"{value:.2f}" if value < 1e5 else f"{value:.3g}"

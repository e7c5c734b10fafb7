"""A matrix with a number in each cell, as HTML: alone, side by side or folded into heads, and one cell spelled out.

The colours are classes that `matrix_style` defines once a page.
"""

from collections.abc import Collection, Sequence
from html import escape
from itertools import accumulate

import numpy as np

from ui.figures.html_table import heading, table, tag, token, tr
from ui.figures.labels import part_of_one, plain_label
from ui.figures.palette import CATEGORICAL, MARK, diverging, ink_on, ramp

SHADES = 24   # of each sign, and of weights
NARROW = 12   # columns; wider matrices are set smaller
LETTER = 6.5  # px, about the width of a character
CELL, SMALL = 46, 37  # px, the width of a number's cell, and of one set smaller

LAYOUT = f"""
.matrices {{ display: flex; flex-wrap: wrap; gap: var(--gap-3) var(--gap-4); container-type: inline-size; --scale: 1; }}
.matrices > .spelled {{ flex: 1 1 18rem; align-self: center; }}
.matrix {{ margin: 0; min-width: 0; max-width: 100%; }}
.matrix figcaption {{ font-size: var(--body); padding-bottom: .3em; }}
.matrix figcaption b {{ font-weight: var(--bold); }}
.matrix .shape {{ font-family: var(--code); }}
.matrix .note {{ opacity: .85; font-size: var(--small); }}
.matrix .sign {{ display: inline-block; vertical-align: bottom; overflow: hidden; white-space: nowrap;
  font-size: var(--small); max-width: clamp(0px, (var(--needs) * var(--scale) * 1px - 100cqw) * 999, 11em); }}
.matrix .box {{ overflow-x: auto; max-width: 100%; padding-bottom: 2px; }}
.matrix table {{ border-collapse: separate; border-spacing: 1px; font-size: var(--body); line-height: 1.3; margin: 0;
  font-variant-numeric: tabular-nums; }}
.matrix.wide table {{ font-size: var(--small); }}
.matrix th, .matrix td {{ padding: .16em .32em; text-align: right; white-space: nowrap; border: 0;
  min-width: 2.95em; }}
.matrix.wide th, .matrix.wide td {{ padding: .16em .2em; min-width: 2.7em; }}
.matrix th {{ font-weight: 400; }}
.matrix tbody th {{ background: var(--paper); }}
.matrix thead th {{ opacity: .8; text-align: center; font-size: var(--small); }}
.matrix thead th.group {{ text-align: left; border-left: 2px solid currentColor; padding-left: .4em; }}
.matrix thead td, .matrix tbody th {{ min-width: 0; }}
.matrix tbody th {{ position: sticky; left: 0; text-align: right; padding: .16em .6em .16em .5em; }}
.matrix td.sum {{ font-weight: var(--bold); padding-left: .7em; }}
.matrix td.off {{ color: var(--wrong); }}
.matrix .chosen th {{ font-weight: var(--bold); box-shadow: inset 4px 0 {MARK}; }}
.matrix tr.chosen td {{ box-shadow: inset 0 2px {MARK}, inset 0 -2px {MARK}; }}
.matrix td.chosen, .matrix tr.chosen td.chosen {{ box-shadow: none; outline: 3px solid {MARK}; outline-offset: -2px;
  font-weight: var(--bold); }}
@media (max-width: 640px) {{ .matrices {{ column-gap: var(--gap-3); --scale: .84; }}
  .matrix table {{ font-size: var(--small); }} .matrix th, .matrix td {{ min-width: 2.8em; }} }}
.matrix .masked {{ background: repeating-linear-gradient(135deg, var(--line) 0 2px, transparent 2px 7px); }}
"""


def matrix_style(*, dark: bool | None = None) -> str:
    """The style of all `number_matrix` on a page."""
    rules = [LAYOUT]
    for prefix, shades in (("s", diverging(2 * SHADES + 1, dark=dark)), ("w", ramp(SHADES + 1, dark=dark))):
        rules += [f".{prefix}{at}{{background:rgb({r},{g},{b});color:{ink}}}"
                  for at, ((r, g, b), ink) in enumerate(zip(shades, ink_on(shades), strict=True))]
    return f"<style>{''.join(rules)}</style>"


def number_matrix(values: np.ndarray, *, name: str, rows: Sequence[str] | None = None,
                  columns: Sequence[str] | None = None, groups: Sequence[tuple[str, int]] = (), kind: str = "signed",
                  allowed: np.ndarray | None = None, row: int | None = None, cell: tuple[int, int] | None = None,
                  decimals: int = 2, note: str = "", seen: tuple[range, range] | None = None) -> str:
    """Values (R, C) or (C,) under their name, shape and `note`; rows and columns are numbered where they have no
    labels, and the tooltip of a cell has its number in full.

    seen: the places of the rows and columns that are drawn, which are said; all of them without it.

    kind: "signed" colours from the largest negative to the largest positive number, "weights" from 0 to 1 (by their
    square root, so that small ones can be seen) and adds the sum of each row, red where it is not 1; "plain" has no
    colours. Cells not in `allowed` (R, C) are hatched. `row` and `cell` are marked. groups: (name, columns) over the
    columns. Colours and sums go by all values, also by those that are not drawn.
    """
    shape, values = np.shape(values), np.atleast_2d(values)
    row_labels, column_labels = (
        list(map(str, range(count))) if labels is None else list(map(plain_label, labels))
        for labels, count in zip((rows, columns), values.shape, strict=True))
    if values.shape != (len(row_labels), len(column_labels)):
        raise ValueError(f"{name} is {values.shape}, its labels say ({len(row_labels)}, {len(column_labels)})")
    note = ", ".join(filter(None, (note, place_said(seen, values.shape))))
    down, across = map(range, values.shape) if seen is None else seen
    row_labels, column_labels = row_labels[down.start:down.stop], column_labels[across.start:across.stop]
    part = np.s_[down.start:down.stop, across.start:across.stop]
    shades = _shades(values[part], kind, None if allowed is None else allowed[part],
                     largest=float(np.abs(values).max(initial=0.0, where=np.isfinite(values))))
    body = []
    for at, label, classes in zip(down, row_labels, shades, strict=True):
        cells = [tag("td", _number(value, decimals), class_=shade + " chosen" * (cell == (at, column)),
                     title=f"{value:.7g}")
                 for column, shade, value in zip(across, classes, values[at, across].tolist(), strict=True)]
        body.append(tr(tag("th", tag("bdi", escape(label)), scope="row"), *cells,
                       *[_sum(values[at])] * (kind == "weights"), class_="chosen" * (at == row)))
    head = tr(tag("td"), *(tag("th", tag("bdi", escape(label)), scope="col") for label in column_labels),
              *[heading("sum")] * (kind == "weights"))
    over = tr(tag("td"), *(heading(label, scope="colgroup", colspan=width, class_="group")
                           for label, width in _clipped(groups, across)))
    narrow = len(column_labels) <= NARROW
    least = CELL if narrow else SMALL
    needs = LETTER * max(map(len, row_labels), default=0) + 16 + least * (kind == "weights") + sum(
        least if columns is None else max(least, LETTER * len(label) + 10) for label in column_labels)
    size = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    scrolls = tag("span", "scroll sideways ↔", class_="sign", style=f"--needs:{needs:.0f}", aria_hidden="true")
    caption = [tag("b", escape(name)), tag("span", size, class_="shape"),
               *[tag("span", escape(note), class_="note")] * bool(note), scrolls]
    return tag("figure", tag("figcaption", " ".join(caption)) + table(
        [over * bool(groups), head], body, label=f"{name} {size}", box="box"),
        class_="matrix" + " wide" * (not narrow), data_name=name)


def place_said(seen: tuple[range, range] | None, shape: tuple[int, int]) -> str:
    """Which rows and columns of a matrix are shown, in words; empty where all are."""
    return ", ".join(f"{side}s {shown[0]} to {shown[-1]} of {count:,}" if len(shown) > 1 else
                     f"{side} {shown[0]} of {count:,}"
                     for side, shown, count in zip(("row", "column"), seen or (), shape, strict=False)
                     if len(shown) < count)


def _clipped(groups: Sequence[tuple[str, int]], across: range) -> list[tuple[str, int]]:
    """Of the groups, with their numbers of columns, what lies in some columns."""
    ends = accumulate(width for _, width in groups)
    widths = [(name, min(end, across.stop) - max(end - width, across.start))
              for (name, width), end in zip(groups, ends, strict=True)]
    return [(name, width) for name, width in widths if width > 0]


def _shades(values: np.ndarray, kind: str, allowed: np.ndarray | None, *, largest: float) -> np.ndarray:
    """The classes of the cells (R, C), as `matrix_style` defines them. largest: of all numbers, without its sign."""
    finite = np.where(np.isfinite(values), values, 0.0)
    if kind == "plain":
        classes = np.full(values.shape, "plain")
    elif kind == "weights":
        classes = np.char.add("w", (np.sqrt(finite.clip(0, 1)) * SHADES).round().astype(int).astype(str))
    else:
        classes = np.char.add("s", (finite / max(largest, 1e-9) * SHADES + SHADES).round().astype(int).astype(str))
    return classes if allowed is None else np.where(allowed, classes, "masked")


def side_by_side(matrices: Sequence[str]) -> str:
    """Matrices of `number_matrix`, as many beside each other as there is room for; a wider one says that it scrolls."""
    return f'<div class="matrices">{"".join(matrices)}</div>'


def _number(value: float, decimals: int) -> str:
    if not np.isfinite(value):
        return "−∞" if value < 0 else "NaN" if np.isnan(value) else "∞"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _sum(values: np.ndarray) -> str:
    total = float(values.sum())
    off = not abs(total - 1) < 5e-3  # so that NaN is off too
    return tag("td", _number(total, 2), class_="sum" + " off" * off, title=f"{total:.7g}")


_SHADES = np.array([[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in CATEGORICAL])
_HEADS = "".join(f".blocks .head{at} {{ background: {colour}; color: {ink}; }}\n"
                 for at, (colour, ink) in enumerate(zip(CATEGORICAL, ink_on(_SHADES), strict=True)))
BLOCKS_STYLE = f"""<style>
.blocks {{ overflow-x: auto; max-width: 100%; }}
.blocks table {{ border-collapse: separate; border-spacing: 3px; font-size: var(--small); margin: 0; }}
.blocks caption {{ text-align: left; font-size: var(--body); padding-bottom: .4em; caption-side: top; }}
.blocks th {{ font-weight: 400; text-align: right; padding: .1em .5em .1em 0; white-space: nowrap; border: 0; }}
.blocks td {{ padding: .15em .5em; border-radius: var(--radius); white-space: nowrap; border: 0; }}
.blocks td.again {{ outline: 2px dashed currentColor; outline-offset: -3px; }}
{_HEADS}</style>"""


def head_blocks(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, title: str) -> str:
    """Rows of blocks, each (word, head) in the colour of its head, whose number stands on it too."""
    def block(word: str, head: int) -> str:
        again, colour = divmod(head, len(CATEGORICAL))
        return tag("td", token(word, longest=8) + tag("sub", str(head)), class_=f"head{colour}" + " again" * again)

    body = [tr(heading(name, scope="row"), *(block(*each) for each in blocks)) for name, blocks in rows]
    return BLOCKS_STYLE + table([], body, label=title, box="blocks", caption=escape(title))


SPELLED_STYLE = """<style>
.spelled { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--gap-2) var(--gap-3);
  font-size: var(--body); line-height: 1.6; font-variant-numeric: tabular-nums; margin: 0; }
.spelled dt { font-weight: var(--bold); white-space: nowrap; }
.spelled dd { margin: 0; overflow-wrap: break-word; }
.spelled b { font-weight: var(--bold); }
@media (max-width: 640px) { .spelled { grid-template-columns: minmax(0, 1fr); gap: var(--gap-1); }
  .spelled dd { padding-bottom: .6rem; } }
</style>"""


def spelled_cell(query: str, key: str, *, q: np.ndarray, k: np.ndarray, product: float, divisor: float,
                 divided_by: str, scaled: Sequence[float], at: int, weight: float,
                 bias: Sequence[float] | None = None, allowed: np.ndarray | None = None,
                 lines: Collection[str] | None = None, seen: range | None = None, root: float | None = None) -> str:
    """How `query` comes to give `key` its weight: q and k (d_k,), the scaled scores of the whole row (Tk,), the key's
    place `at` in it, the `bias` (Tk,) of the positions, `allowed` (Tk,); `lines`: the steps to show, all without it.

    seen: the numbers of q and k that are written out; the products of the others are one term. root: what q and k are
    each divided by, where that takes the place of dividing their product."""
    query, key = map(token, (query, key))
    scores = np.asarray(scaled, dtype=np.float64)
    allowed = np.ones(len(scores), bool) if allowed is None else np.asarray(allowed, bool)
    scale = f"{product:.2f} / {escape(divided_by)} = {product:.2f} / {divisor:.2f} = <b>{scores[at]:.2f}</b>"
    if root is not None:
        scale = (f"with q[{query}] / {root:.2f} and k[{key}] / {root:.2f}: {_products(q / root, k / root, seen)} = "
                 f"<b>{scores[at]:.2f}</b>, the same as {product:.2f} / {escape(divided_by)}")
    steps = [("Product", f"q[{query}] · k[{key}] = {_products(q, k, seen)} = <b>{product:.2f}</b>"), ("Scale", scale)]
    if bias is not None:
        before, scores = scores, scores + np.asarray(bias, dtype=np.float64)
        steps.append(("Positions", f"{before[at]:.2f} + {_signed(bias[at])} = <b>{scores[at]:.2f}</b>"))
    if not allowed[at]:
        steps += [("Mask", f"{key} comes after {query}: −∞ takes the place of {scores[at]:.2f}"),
                  ("Softmax", f"e<sup>−∞</sup> = 0, so the weight is <b>{weight:.2f}</b>")]
    else:
        total = " + ".join(f"e<sup>{score:.2f}</sup>" for score in scores[allowed])
        with np.errstate(over="ignore", under="ignore"):
            power, powers = np.exp(scores[at]), np.exp(scores[allowed]).sum()
        # numbers that a computer cannot hold are left as powers of e
        written = f" = {_power(power)} / {_power(powers)}" if 0 < powers < np.inf else ""
        steps.append(("Softmax",
                      f"e<sup>{scores[at]:.2f}</sup> / ({total}){written} = <b>{part_of_one(weight)}</b>"))
    rows = "".join(f"<dt>{what}</dt><dd>{how}</dd>" for what, how in steps if lines is None or what in lines)
    return f'{SPELLED_STYLE}<dl class="spelled" aria-label="one weight spelled out">{rows}</dl>' if rows else ""


def _products(one: np.ndarray, other: np.ndarray, seen: range | None) -> str:
    """A dot product written out, with the products that are not seen as one term."""
    seen = range(len(one)) if seen is None else seen
    terms = [f"{_signed(one[at])}·{_signed(other[at])}" for at in seen]
    if others := len(one) - len(seen):
        rest = np.delete(one.astype(np.float64) * other, seen).sum()
        terms.append(f"{_signed(rest)} <i>(the sum of the other {others} products)</i>")
    return " + ".join(terms)


def spelled_sum(query: str, keys: Sequence[str], *, weights: np.ndarray, v: np.ndarray, total: float,
                column: int = 0) -> str:
    """How a number of a context vector adds up: weights and that column of v, both (Tk,)."""
    terms = " + ".join(f"{weight:.2f}·{_signed(value)}" for weight, value in zip(weights, v, strict=True))
    values = ", ".join(map(token, keys))
    return (f'{SPELLED_STYLE}<dl class="spelled" aria-label="one number of the context spelled out">'
            f"<dt>{f'Number {column}' if column else 'First number'}</dt>"
            f"<dd>context[{token(query)}, {column}] = {terms} = <b>{total:.2f}</b><br>"
            f"weight times {f'value {column}' if column else 'first value'} of {values}</dd></dl>")


def _signed(value: float) -> str:
    text = f"{value:.2f}"
    if float(text) == 0:
        return "0.00"
    return f"({text})" if value < 0 else text


def _power(value: float) -> str:
    return f"{value:.2f}" if value < 1e5 else f"{value:.3g}"

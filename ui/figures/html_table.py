"""The builder of all HTML tables, for `st.html`: a table is rows of cells, in a box that scrolls.

Text is escaped by whoever puts it into an element, with `escape` or `token`; attributes are escaped here.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from ui.figures.labels import LONGEST, plain_label
from ui.figures.palette import MARK

NUMBERS_STYLE = f"""<style>
.number-table {{ overflow: auto; max-width: 100%; max-height: 34rem; font-size: var(--body); }}
.number-table table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
.number-table caption {{ text-align: left; padding-bottom: .4em; caption-side: top; }}
.number-table th, .number-table td {{ padding: .2em .7em; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }}
.number-table th {{ font-weight: var(--bold); }}
.number-table thead th {{ vertical-align: bottom; }}
.number-table th[colspan] {{ text-align: center; border-left: 1px solid var(--line); }}
.number-table .marked {{ font-weight: var(--bold); box-shadow: inset 0 0 0 2px {MARK};
  border-radius: var(--radius-cell); }}
.number-table .chosen {{ font-weight: var(--bold); }}
.number-table .total {{ border-top: 2px solid var(--line); }}
.number-table .text {{ text-align: left; }}
.number-table td[data-masked] {{ opacity: .5; font-style: italic; }}
.number-table td.token {{ text-align: left; border: 1px solid var(--line); }}
.number-table td.pad {{ opacity: .75; font-style: italic; border: 1px solid var(--line); background:
  repeating-linear-gradient(135deg, var(--line) 0 3px, transparent 3px 8px); }}
</style>"""


class Caption(NamedTuple):
    """The caption of a figure. source: the line under the title; origin: the source in full, as its tooltip."""

    title: str
    source: str = ""
    origin: str = ""

    @property
    def html(self) -> str:
        return tag("figcaption", escape(self.title) + tag("small", escape(self.source), title=self.origin))


def tag(name: str, inside: str = "", /, **attributes: object) -> str:
    """An element around HTML. Attributes that are None, False or empty are left out, True stands without a value;
    `class_` is written class, `data_row` data-row."""
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False or value == "":
            continue
        key = key.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{escape(str(value))}"')
    return f"<{' '.join(parts)}>{inside}</{name}>"


def token(piece: str, *, longest: int | None = LONGEST) -> str:
    """A token, which keeps its direction of writing to itself."""
    return f"<bdi>{escape(plain_label(piece, longest=longest))}</bdi>"


def heading(text: str, *, scope: str = "col", **attributes: object) -> str:
    """A heading of plain text; an empty cell where there is none."""
    return tag("th", escape(text), scope=scope, **attributes) if text else tag("td", **attributes)


def tr(*cells: str, **attributes: object) -> str:
    return tag("tr", "".join(cells), **attributes)


def header_rows(columns: Sequence[str], groups: Sequence[tuple[str, int]] = ()) -> list[str]:
    """The names of the columns, and over them those of groups (name, columns)."""
    over = [tr(tag("td"), *(heading(name, colspan=count, scope="colgroup") for name, count in groups))]
    return over * bool(groups) + [tr(*map(heading, columns))]


def table(head: Iterable[str], body: Iterable[str], *, label: str, box: str, kind: str = "", caption: str = "",
          foot: str = "", **attributes: object) -> str:
    """Rows of cells in a box. box, kind: the classes of the box and of the table; caption: HTML; attributes: more of
    the box."""
    parts = {"caption": caption, "thead": "".join(head), "tbody": "".join(body), "tfoot": foot}
    inside = "".join(tag(name, part) for name, part in parts.items() if part)
    return tag("div", tag("table", inside, class_=kind), class_=box, role="region", aria_label=label, tabindex=0,
               **attributes)


def numeric_table(head: Iterable[str], body: Iterable[str], *, label: str, caption: str = "") -> str:
    """A table of numbers; caption: plain text."""
    return NUMBERS_STYLE + table(head, body, label=label, box="number-table", caption=escape(caption))

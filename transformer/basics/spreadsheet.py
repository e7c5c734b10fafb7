"""Tables as CSV that spreadsheets read as they are meant; `csvFile` in js/export/picture_files.js is the same in
browsers."""

import csv
import io
import re
from collections.abc import Iterable

MARK = "\ufeff"  # without it Excel reads é as Ã©
# The beginning of a cell that a spreadsheet would compute, whatever separates its cells.
FORMULA = re.compile(r"(^|[;|,\t\r\n])([\s\u200b-\u200f\u2060\ufeff\"']*)([=+\-@＝＋－＠])")


def table(rows: Iterable[Iterable[object]]) -> str:
    """Rows of texts, numbers and None, which is an empty cell, as CSV."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(map(cell, row) for row in rows)
    return MARK + written.getvalue()


def table_of(rows: list[dict[str, object]]) -> str:
    """Objects as CSV, with a column for each name that one of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table([names, *([row.get(name) for name in names] for row in rows)])


def cell(value: object) -> str:
    """The text of a cell, which no spreadsheet takes for a formula."""
    if value is None or isinstance(value, int | float):
        return "" if value is None else str(value)
    return FORMULA.sub(r"\1\2'\3", str(value).replace("\0", ""))

"""The numbers of the picture of a model, as tables for `st.html`."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from ui.figures.html_table import header_rows, heading, numeric_table, tag, token, tr

Cells = Mapping[str, float | None]  # column -> number


def parts_table(rows: Sequence[tuple[Mapping[str, object], str, Cells, str | None]], *, columns: Sequence[str],
                caption: str) -> str:
    """A row for each part of a model, (what it is, its name, its numbers, the token that it looks at most). What it is
    becomes the data of each cell: kind, layer, head, part. Numbers stand in the fewest digits that give them back."""
    body = []
    for about, name, cells, looked_at in rows:
        data = {f"data_{key}": value for key, value in about.items() if value is not None}
        numbers = [tag("td", _digits(cells.get(column)), data_column=column, **data)
                   for column in columns]
        body.append(tr(heading(name, scope="row"), *numbers,
                       tag("td", "" if looked_at is None else token(looked_at, longest=None), class_="text",
                           data_column="looked at", **data)))
    return numeric_table(header_rows(["part", *columns, "looks most at"]), body, label="the numbers of the model",
                         caption=caption)


def _digits(value: float | None) -> str:
    """A number of single precision in the fewest digits that give it back."""
    return "" if value is None else str(np.float32(value))


def products_table(first: str, second: str, values: Sequence[tuple[float, float]], *, label: str, caption: str) -> str:
    """Numbers of two vectors and their products, a row for each place. first, second: what the vectors are."""
    body = [tr(tag("th", escape(str(at)), scope="row"), *(
        tag("td", _digits(number), data_row=at, data_column=column)
        for column, number in ((first, one), (second, other), ("product", one * other))))
            for at, (one, other) in enumerate(values)]
    return numeric_table(header_rows(["number", first, second, "product"]), body, label=label, caption=caption)

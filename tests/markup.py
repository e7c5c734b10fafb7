"""Reads the HTML that figures make, as a browser would: `Markup(html).cells[0]` is its attributes and its text."""

import numpy as np
from lxml import html as lxml_html


class Markup:
    """One piece of HTML, parsed."""

    def __init__(self, html: str) -> None:
        self.root = lxml_html.fragment_fromstring(html, create_parent="main")
        self.tags = [element.tag for element in self.root.iterdescendants()]

    def all(self, path: str) -> list[tuple[dict[str, str], str]]:
        """The attributes and the text of each element on that XPath."""
        return [(dict(element.attrib), element.text_content()) for element in self.root.xpath(path)]

    def texts(self, tag: str) -> list[str]:
        """The text of each element of that name."""
        return [text for _, text in self.all(f"//{tag}")]

    @property
    def cells(self) -> list[tuple[dict[str, str], str]]:
        """The cells that say something of themselves."""
        return self.all("//td[@*]")

    @property
    def headers(self) -> list[tuple[dict[str, str], str]]:
        """The headers of rows and columns."""
        return self.all("//th")

    def grid(self, row: str = "data-row", column: str = "data-column") -> np.ndarray:
        """The texts of all cells that say their place, as an array without holes."""
        at = {(int(data[row]), int(data[column])): text for data, text in self.cells if row in data}
        rows, columns = (1 + max(place) for place in zip(*at, strict=True))
        assert len(at) == rows * columns
        return np.array([at[divmod(place, columns)] for place in range(rows * columns)]).reshape(rows, columns)

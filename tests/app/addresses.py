"""Every page and each view of it, from the tables that the pages themselves have."""

from collections.abc import Iterator

from ui.lessons.stop_links import fields_of
from ui.page.pages import EVERY_PAGE

VIEWS = ("view", "part", "show")  # the field that says which of a page's views is open


def addresses() -> Iterator[tuple[str, dict[str, str]]]:
    """The page, and what its address says to have that view open."""
    for page in EVERY_PAGE:
        fields = fields_of(page)
        view = next((name for name in VIEWS if name in fields), None)
        options = getattr(getattr(fields.get(view), "read", None), "__self__", {})
        yield from ((page, {view: option}) for option in options) if options else [(page, {})]

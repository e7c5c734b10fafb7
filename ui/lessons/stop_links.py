"""What the link of a stop opens: its page, the values that the page will read in it, and the model it will show."""

import ast
from collections.abc import Mapping
from functools import cache

from transformer.checkpoint import Checkpoint, CheckpointError
from transformer.formatting import quote
from transformer.lessons.lesson import Stop
from transformer.lessons.opened_link import Opened, Shows
from transformer.paths import ROOT
from ui.page.link import Field
from ui.page.link import read as read_values
from ui.page.pages import EVERY_PAGE, HOME, PAGES, Page
from ui.state.caches import along_the_way, entries, opened


@cache
def fields_of(page: str) -> Mapping[str, Field]:
    """The fields of a page's address. Its script is the only place that has them all, and cannot be imported without
    being run, so the part of it that names them is: imports, constants and functions."""
    tree = ast.parse((ROOT / EVERY_PAGE[page].script).read_text("utf-8"))
    named = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef) or (
        isinstance(node, ast.Assign) and all(_constant(target) for target in node.targets))]
    names: dict[str, object] = {"__name__": f"fields of {page}"}
    exec(compile(ast.Module(named, []), EVERY_PAGE[page].script, "exec"), names)
    return names.get("FIELDS", {})


def _constant(target: ast.expr) -> bool:
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(name, ast.Name) and name.id.isupper() for name in names)


def open_stop(stop: Stop) -> Opened:
    """Raises ValueError, with what to do, where the link leads nowhere or says what its page cannot read."""
    page = EVERY_PAGE.get(stop.page)
    if page is None:
        raise ValueError(f"there is no page {quote(stop.page)}; choose one of {', '.join(PAGES)}")
    fields = fields_of(page.name)
    for name, value in stop.params.items():
        if name != "checkpoint" or page is HOME:
            _check(page, fields, name, value)
    values = read_values(fields, stop.params)
    shows, wanted = _shows(page, values), stop.params.get("checkpoint")
    named = wanted is not None or shows in ("step", "reading")
    return Opened(shows, values, _checkpoint(page, wanted) if named else None)


def _shows(page: Page, values: Mapping[str, object]) -> Shows:
    """What there is to ask of."""
    if page.name in ("translate", "write"):
        return "step"
    if page.name == "classify":  # without a text it shows an example of its own
        return "reading" if values["show"] == "speakers" and (values["text"] or "").strip() else "other"
    return "hand" if page.name == "by_hand" and values["part"] == "steps" else "other"


def _check(page: Page, fields: Mapping[str, Field], name: str, value: str) -> None:
    if name not in fields:
        raise ValueError(f"{page.title} has no {quote(name)} in its links; it has "
                         + (", ".join(sorted(fields)) or "none"))
    try:
        fields[name].read(value)
    except (ValueError, KeyError, OverflowError):
        raise ValueError(f"{page.title} cannot read {quote(value)} as {name}; copy the link from the page") from None


def _checkpoint(page: Page, wanted: str | None) -> Checkpoint:
    """The checkpoint that the page will open: the one that the link names, else the first that fits, as its picker
    does."""
    found = [one for one in entries() if one.about]
    if wanted is not None:
        found = [one for one in [*found, *along_the_way()]
                 if wanted in (one.about.id, one.about.name)]
    fits = [one for one in found if page.shows(one.about.config)]
    if wanted and found and not fits:
        raise ValueError(f"{page.title} cannot show the checkpoint {quote(wanted)}; leave it out of the link, or "
                         "name another")
    if not fits:
        raise ValueError(f"the checkpoint {quote(wanted or '')} is not on this server; leave it out of the link, or "
                         "add it on Checkpoints")
    try:
        return opened(fits[0].folder, fits[0].about.id)
    except CheckpointError as error:
        raise ValueError(str(error)) from error

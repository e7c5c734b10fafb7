"""The link of a stop, opened without a browser: its page, the values that the page reads in it, and its checkpoint."""

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any

from transformer.basics.formatting import quote
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint, CheckpointError
from transformer.lessons.lesson import Stop
from transformer.lessons.opened_link import Opened, Shows
from ui.page.link import Field
from ui.page.link import read as read_values
from ui.page.pages import EVERY_PAGE, HOME, PAGES, Page
from ui.state.caches import along_the_way, entries, opened


@cache
def fields_of(page: str) -> Mapping[str, Field]:
    """The fields of a page's address. Only the page's script has them all, and to import it would be to run it; so only
    its imports, constants, functions and classes are run."""
    tree = ast.parse((ROOT / EVERY_PAGE[page].script).read_text("utf-8"))
    named: list[ast.stmt] = [node for node in tree.body if isinstance(
        node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef) or (
        isinstance(node, ast.Assign) and all(_constant(target) for target in node.targets)) or (
        isinstance(node, ast.AnnAssign) and _constant(node.target))]
    names: dict[str, Any] = {"__name__": f"fields of {page}"}
    exec(compile(ast.Module(named, []), EVERY_PAGE[page].script, "exec"), names)
    return names.get("FIELDS", {})


def _constant(target: ast.expr) -> bool:
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(name, ast.Name) and name.id.isupper() for name in names)


def open_stop(stop: Stop) -> Opened:
    """Opens a stop's link. Raises ValueError, with what to do, for an unknown page or a value that it cannot read."""
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


def _shows(page: Page, values: Mapping[str, Any]) -> Shows:
    """What a question there can be about."""
    if page.name in ("translate", "write"):
        return "step"
    if page.name == "classify":  # without a text the page shows its own example
        return "reading" if values["show"] != "toy" and (values["text"] or "").strip() else "other"
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
    """The checkpoint that the page will open: the one in the link, else, as in its picker, the first that fits."""
    candidates = [entry.about for entry in entries() if entry.about]
    if wanted is not None:
        candidates += [entry.about for entry in along_the_way() if entry.about]
        candidates = [about for about in candidates if wanted in (about.id, about.name)]
    fits = [about for about in candidates if page.shows(about.config)]
    if wanted and candidates and not fits:
        raise ValueError(f"{page.title} cannot show the checkpoint {quote(wanted)}; leave it out of the link, or "
                         "name another")
    if not fits:
        raise ValueError(f"the checkpoint {quote(wanted or '')} is not on this server; leave it out of the link, or "
                         "add it on Checkpoints")
    try:
        return opened(fits[0].folder, fits[0].id)
    except CheckpointError as error:
        raise ValueError(str(error)) from error

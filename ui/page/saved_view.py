"""A saved view: the parameters of an address as a file, for texts that are too long for a link. Dropping it on any page
opens it."""

import re
from collections.abc import Mapping

import orjson
import streamlit as st

from ui.page.pages import PAGES

VERSION = 1
LARGEST = 1_000_000  # bytes
MOST_PARAMS = 100
TOO_LARGE = f"A saved view has at most {LARGEST:,} bytes; this file is larger."
NO_VIEW = "This file is not a saved view. “Save this view as a file” writes one; its name ends in .view.json."


def view_file(page: str, params: Mapping[str, str]) -> bytes | None:
    """The file of a page with these parameters; None if it would be too large to open."""
    data = orjson.dumps({"headsup_view": VERSION, "page": page, "params": dict(params)}, option=orjson.OPT_INDENT_2)
    return data if len(data) <= LARGEST else None


def read_view(data: bytes | str) -> tuple[str, dict[str, str]]:
    """The page and the parameters in a file, as untrusted as those of an address. Raises ValueError, with a sentence,
    for any other file."""
    if len(data if isinstance(data, bytes) else data.encode("utf-8", "replace")) > LARGEST:
        raise ValueError(TOO_LARGE)
    try:
        view = orjson.loads(data)
    except ValueError:
        raise ValueError(NO_VIEW) from None
    if not isinstance(view, dict) or not _is_whole(view.get("headsup_view")) or not isinstance(view.get("page"), str):
        raise ValueError(NO_VIEW)
    if view["headsup_view"] != VERSION:
        raise ValueError(f"This view was saved by another version (file version {view['headsup_view']}; this one reads "
                         f"{VERSION}).")
    if view["page"] not in PAGES:
        raise ValueError(f"This view belongs to a page named {view['page'][:40]!r}, which does not exist here.")
    params = view.get("params")
    if not isinstance(params, dict) or not all(isinstance(value, str) for value in params.values()):
        raise ValueError("This view is damaged: each of its parameters should be a text with a name.")
    if len(params) > MOST_PARAMS:
        raise ValueError(f"This view is damaged: it has {len(params)} parameters, and at most {MOST_PARAMS} are read.")
    return view["page"], params


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def offer_view_file(page: str, params: Mapping[str, str]) -> None:
    """Says that a text is too long for a link, and offers a file instead."""
    data = view_file(page, params)
    message = "This text is too long for a link, so the address holds neither it nor what you chose in it."
    if data is None:
        st.caption(message)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{message} Save it as a file instead, and drop that on any page to see this again.",
                   width="stretch")
        st.download_button("Save this view as a file", data, f"{_stem(page, params)}.view.json", "application/json",
                           key=f"{page}_save_view", icon=":material/save:", on_click="ignore")


def _stem(page: str, params: Mapping[str, str]) -> str:
    return re.sub(r"[^\w@.-]+", "_", "-".join(filter(None, ("headsup", page, params.get("checkpoint")))))

"""Sharing a lecturer's page with the room: each page calls `share` as it writes its address.

In the sessions of others nothing is shared.
"""

import logging
import sqlite3
from collections.abc import Mapping
from functools import cache

import orjson
import streamlit as st

from transformer.rooms.room import NoRoom, Room, room_id
from transformer.rooms.store import Store
from ui.access import visitors
from ui.page.pages import HOME, PAGES
from ui.page.presentation import presenting
from ui.state.page_state import PageState

# In session state: the id of this tab; the picture that was drawn; what was published last; the room whose wall this
# is; the question of a lesson's stop, and its title.
TAB, PICTURE, PUBLISHED, WALL = "room_tab", "room_picture", "room_published", "room_wall"
QUESTION, STOP = "room_question", "room_stop"
_log = logging.getLogger(__name__)
FAILS = (sqlite3.Error, OSError)  # where the file of the rooms cannot be opened, read or written
LARGEST_PICTURE = 400_000  # bytes; phones get a text instead of a larger one


@cache
def store() -> Store:
    """The rooms of this server."""
    return Store()


def led() -> Room | None:
    """The room for which this browser has the lecturer's key. Raises `FAILS`."""
    key = visitors.cookies().get(visitors.LECTURER)
    if not key:
        return None
    try:
        return store().room(room_id(key))
    except NoRoom:
        return None


def leading() -> Room | None:
    """The room that this session leads: it sees what the session shows."""
    tab = st.session_state.get(TAB)
    try:
        room = led() if tab else None
    except FAILS as error:  # the room's bar shows it on the page
        _log.error("A room did not get its lecturer's page: %s", error)
        return None
    return room if room and room.leader == tab else None


def keep_picture(page: str, picture: bytes, sentence: str = "") -> None:
    """Keep the picture of a page, and a sentence that describes it, until its address is written."""
    st.session_state[PICTURE] = page, picture, sentence


def share(page: str, params: Mapping[str, str], *, shown_on: str | None = None) -> None:
    """Share this page as it is now with the room that this session leads. The lecturer's own page of the room is not
    shared, except during a presentation, when everybody sees how to join.

    shown_on: the page that drew the picture, if another: Home has no address for its steps and is published as the page
    that has one."""
    shown_on = shown_on or page
    drawn = st.session_state.pop(PICTURE, None)
    room = leading()
    if room is None or page == HOME.name or (page == "room" and not presenting(page)):
        return
    about = PAGES[page]
    picture, sentence = drawn[1:] if drawn and drawn[0] == shown_on else (None, "")
    if picture and len(picture) > LARGEST_PICTURE:
        picture = None
    params = {name: value for name, value in params.items() if name != "present"}
    view = {"page": page, "params": params, "title": about.title, "said": sentence,
            "place": f"step {params['step'].replace('-', ' ')}" if params.get("step") else "",
            "asked": st.session_state.get(QUESTION), "stop": st.session_state.get(STOP),
            "hide": bool(PageState(shown_on).hide)}
    stamp = room.id, orjson.dumps(view), hash(picture)
    if st.session_state.get(PUBLISHED) != stamp:
        try:
            store().publish(room.id, view, picture, room.leader)
        except FAILS as error:  # the lecturer's page goes on, and publishes again with the next step
            _log.error("A room did not get its lecturer's page: %s", error)
        else:
            st.session_state[PUBLISHED] = stamp

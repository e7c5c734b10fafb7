"""What a lecturer's session shows its room: said by every page as it writes its address, and drawn once for all phones.

Nothing of this happens in the session of anybody else.
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

# in session state: which tab this is; what was drawn, and published; the room of which this is the wall; what the stop
# of a lesson asks, and what it says
TAB, DRAWN, SAID, WALL = "room_tab", "room_drawn", "room_published", "room_wall"
ASKED, STOP = "room_asked", "room_stop"
_log = logging.getLogger(__name__)
FAILS = (sqlite3.Error, OSError)  # where the file of the rooms cannot be opened, read or written
LARGEST_PICTURE = 400_000  # bytes; phones are shown words in place of a larger one


@cache
def store() -> Store:
    """The rooms of this server."""
    return Store()


def led() -> Room | None:
    """The room that this browser holds the lecturer's key of. Raises what `FAILS` lists."""
    key = visitors.cookies().get(visitors.LECTURER)
    if not key:
        return None
    try:
        return store().room(room_id(key))
    except NoRoom:
        return None


def leading() -> Room | None:
    """The room that sees what this session shows."""
    tab = st.session_state.get(TAB)
    try:
        room = led() if tab else None
    except FAILS as error:  # which the room's bar has said on the page
        _log.error("A room was not told what its lecturer shows: %s", error)
        return None
    return room if room and room.leader == tab else None


def draw(page: str, picture: bytes, said: str = "") -> None:
    """Keep the picture of a page until its address is written. said: what it shows, in a sentence."""
    st.session_state[DRAWN] = page, picture, said


def publish(page: str, params: Mapping[str, str], *, shown_on: str | None = None) -> None:
    """Have the room see this page as it is now, where this session leads one. The page of the room itself is for the
    lecturer, and a room goes on seeing what it saw; while it is presented everybody sees the way in.

    shown_on: the page that shows it, where that is another: Home has no address of its steps, and is seen as the page
    that has."""
    shown_on = shown_on or page
    drawn = st.session_state.pop(DRAWN, None)
    room = leading()
    if room is None or page == HOME.name or (page == "room" and not presenting(page)):
        return
    about = PAGES[page]
    picture, said = drawn[1:] if drawn and drawn[0] == shown_on else (None, "")
    if picture and len(picture) > LARGEST_PICTURE:
        picture = None
    params = {name: value for name, value in params.items() if name != "present"}
    view = {"page": page, "params": params, "title": about.title, "said": said,
            "place": f"step {params['step'].replace('-', ' ')}" if params.get("step") else "",
            "asked": st.session_state.get(ASKED), "stop": st.session_state.get(STOP),
            "hide": bool(st.session_state.get(f"{shown_on}_hide"))}
    stamp = room.id, orjson.dumps(view), hash(picture)
    if st.session_state.get(SAID) != stamp:
        try:
            store().publish(room.id, view, picture, room.leader)
        except FAILS as error:  # the lecturer's page goes on, and says it again with the next step
            _log.error("A room was not told what its lecturer shows: %s", error)
        else:
            st.session_state[SAID] = stamp

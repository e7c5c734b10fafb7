"""The bar of a room on every page: the lecturer's controls, the strip of somebody who looks around, and the wall, which
goes where the lecturer is. All three are one component, which asks the room itself and tells Streamlit only where to
go."""

import logging
import re
from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.rooms.room import ANSWER, NoRoom, Room, read_code
from ui.components.scripts import HERE, component
from ui.page.link import GLOBAL_PARAMS, PRESENT, add_to_addresses, current_address, go_to, open_view, when_arrived
from ui.page.pages import EVERY_PAGE, HOME
from ui.page.plain_text import code_text, end_of
from ui.page.presentation import presenting, turn_hide
from ui.page.room_sharing import FAILS, PUBLISHED, TAB, WALL, led, store
from ui.rooms import visible_state
from ui.rooms.server_address import join_address
from ui.state.page_state import PageState

KEY, LOOKING, WENT = "room_bar", "room_looking", "room_went"
ROOM = "room"  # the page
BEEN_IN = "been_in_room"  # in session state: the code of the last room
HIDING = (HOME.name, "translate", "write")  # pages that can hide what comes next

_bar = component("room_bar", HERE / "room" / "bar" / "room_bar.js", '<div class="room-bar"></div>')

_log = logging.getLogger(__name__)

Face = Literal["wall", "lecturer", "looking"]


def face_of_visitor() -> tuple[Face, Room] | None:
    """The part that this session has in a room, and the room; None without one. Raises what `FAILS` lists."""
    state, params = st.session_state, current_address()
    for name, key in (("wall", WALL), ("room", LOOKING)):
        if read_code(params.get(name, "")):
            state[key] = read_code(params[name])
    try:
        if state.get(WALL):
            return "wall", store().with_code(state[WALL])
        room = led()
        if room is not None:
            return "lecturer", room
        return ("looking", store().with_code(state[LOOKING])) if state.get(LOOKING) else None
    except NoRoom:
        for key in (WALL, LOOKING):
            state.pop(key, None)
        add_to_addresses(ROOM, {})
        return None


def show_room(page: str) -> None:
    """Go where the room wants this session to be, and have the bar drawn, before a page is. Does nothing for who is in
    no room; where rooms cannot be read, the page does without."""
    place = st.container(key="room")
    try:
        _show_room(page, place)
    except FAILS as error:
        _log.error("Rooms cannot be read or written: %s", error)
        place.warning("Rooms do not work at the moment: the server cannot read or write their file, and its log says "
                      "why. Everything else works.")


def _show_room(page: str, place: DeltaGenerator) -> None:
    part = face_of_visitor()
    if part is None:
        _say_no_room(place)
        return
    face, room = part
    st.session_state[BEEN_IN] = room.code
    add_to_addresses(ROOM, {"wall": {"wall": room.code}, "looking": {"room": room.code}}.get(face, {}))
    if face == "lecturer":
        _lead(page, room)
    if face == "wall":
        _follow(page, room)
    when_arrived(lambda: _draw(place, face, room, page))


def _say_no_room(place: DeltaGenerator) -> None:
    """Says so where a link leads into no room; of one that has ended meanwhile, its bar has said it."""
    params = current_address()
    code = params.get("wall") or params.get("room")
    if code and read_code(code) != st.session_state.get(BEEN_IN):
        place.warning(f"There is no room {code_text(end_of(code, 20))}, or it has ended.")


def _draw(place: DeltaGenerator, face: Face, room: Room, page: str) -> None:
    with place:
        _bar(key=KEY, on_tab_change=lambda: None, on_lead_change=lambda: None, on_went_change=lambda: None,
             on_hide_change=_hide,
             data={"face": face, "code": room.code, "page": page, "presenting": presenting(page),
                   "tab": st.session_state.get(TAB), "leading": room.leader == st.session_state.get(TAB),
                   "join": join_address(), "rev": room.rev,
                   "hide": bool(PageState(page).hide) if page in HIDING else None,
                   "went": _went(room)})


def _message(name: str) -> Any:
    """What the bar has set or triggered."""
    state = st.session_state.get(KEY)
    return state.get(name) if isinstance(state, Mapping) else None


def _went(room: Room) -> int:
    """The number of the last view that was opened for this session to go to; what is older than the session counts."""
    return st.session_state.setdefault(f"{WENT}_{room.id}", room.goto["number"] if room.goto else 0)


def _lead(page: str, room: Room) -> None:
    """Take over the name of this tab and whether it leads, and go where a remote or a tile sends it."""
    state = st.session_state
    went = _went(room)
    tab = _message("tab")
    if isinstance(tab, str) and re.fullmatch(r"[0-9a-z]{16,40}", tab):
        state[TAB] = tab
    tab = state.get(TAB)
    if tab is None:
        return
    if room.leader == "" or (_message("lead") and room.leader != tab):
        store().lead(room.id, tab)
        state.pop(PUBLISHED, None)  # another tab has published something else since
    question = visible_state.current_question(store(), room)
    if question and question.phase == ANSWER and question.view.get("asked"):  # the answer is seen here as well
        PageState(page).hide = False
    if room.goto and room.goto["number"] > went and room.leader == tab:
        state[f"{WENT}_{room.id}"] = room.goto["number"]
        _go(room.goto["page"], room.goto["params"])


def _hide() -> None:
    """Hide what comes next on a page, or show it again, as its lecturer or their remote asks."""
    page = _message("hide")
    if page in HIDING:
        turn_hide(page)


def _follow(page: str, room: Room) -> None:
    """Show what the lecturer shows on the wall, made for a projector. Every run opens it anew: one that was on its way
    when the room went on carries the address of what was shown before."""
    view = room.view or {"page": ROOM, "params": {}}
    if visible_state.hides_view(store(), room):  # what is shown has the answer in it, and anybody may be a wall
        view = {"page": ROOM, "params": {}}
    if view["page"] not in EVERY_PAGE:
        return
    if view["page"] != page:
        go_to(view["page"])
    PageState(page).hide = view.get("hide", False)
    open_view(page, {**view["params"], **PRESENT})


def _go(page: str, params: Mapping[str, str]) -> None:
    """Open a page at an address, though it may have had it before; ends this run."""
    if page not in EVERY_PAGE:
        return
    go_to(page, {name: value for name, value in params.items() if name not in GLOBAL_PARAMS})

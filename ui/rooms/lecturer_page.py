"""The page of a room: the way in, opening a room, and what its lecturer does with it."""

import sqlite3
from datetime import datetime, tzinfo
from html import escape
from zoneinfo import ZoneInfo

import streamlit as st

from transformer.rooms.room import HOURS, MOST_HOURS, Room, RoomError, new_key, read_code
from ui import figures
from ui.access import owners, visitors
from ui.components.scripts import HERE, component
from ui.page.plain_text import say_error
from ui.page.presentation import presenting, settings
from ui.page.room_sharing import store
from ui.page.text_limits import taken
from ui.rooms.server_address import how_to_reach, join_address, qr, reaches_others
from ui.state.event_log import event

ENTER = "room_enter"
LONGEST_CODE = 40  # characters, with whatever was typed around it
SMALL = """<style>.qr { width: 11rem; max-width: 100%; border-radius: var(--radius); }
.room-code { display: flex; flex-wrap: wrap; gap: var(--gap-3); align-items: center; }
.room-code p { margin: 0; } .room-code b { font-size: calc(3.4 * var(--big)); letter-spacing: .08em; }</style>"""
ADVICE = """- Extend your screen rather than mirror it: your own page shows the answers. With only one screen, press
  F: answers stay hidden during questions.
- Open the wall on the projector.
- Press *Hide what comes next* before you step to what you ask."""
_enter = component("room_enter", HERE / "room" / "enter_room.js", '<div class="enter-room"></div>')
_desk = component("room_desk", HERE / "room" / "lecturer" / "page.js", '<div class="room-bar lecturer page"></div>')


def show_opening(page: str) -> None:
    """Show what a room is, the way into one, and how to open one's own."""
    st.markdown("In a room, phones show what the lecturer shows, step by step. Everybody can be asked what comes next "
                "before the model says it, and anybody can look around and show what they found. There are no accounts "
                "and no names.")
    refused = owners.refusal(owners.me(), "open a room")
    join, own = st.columns(2, gap="large")
    with join:
        st.header("Join a room", anchor=False)
        _show_join(page, filled=bool(refused))
    with own:
        st.header("Open a room", anchor=False)
        if refused:
            st.caption(f"{figures.markdown_text(refused[:1].upper() + refused[1:])}.")
        else:
            st.markdown(f"It lasts {HOURS:.0f} hours, and then everything in it is deleted.")
            st.button("Open a room", key=f"{page}_open", type="primary", on_click=_open, icon=":material/groups:")
    if error := st.session_state.pop("room_error", None):
        say_error(error)
    if key := st.session_state.get(ENTER):
        _enter(key=f"{page}_lead", data={"key": key})  # the browser takes the key and loads the page again


def _show_join(page: str, *, filled: bool) -> None:
    with st.form(f"{page}_join", border=False):
        typed = taken(st.text_input("Code of the room", key=f"{page}_code", placeholder="K7M4QX"), LONGEST_CODE)
        joins = st.form_submit_button("Join", type="primary" if filled else "secondary")
    if joins and read_code(typed):
        _enter(key=f"{page}_join_code", data={"code": read_code(typed)})
    elif joins:
        st.warning("A code has six letters and digits, such as K7M4QX: no vowels, no 0 and no 1.")


def _open() -> None:
    owners.require("open a room")
    key = new_key()
    try:
        store().open_room(key)
        event("room opened", rooms=store().count())
    except (RoomError, OSError, sqlite3.Error) as error:
        st.session_state["room_error"] = str(error)
        return
    st.session_state[ENTER] = key


def show_lecturer(page: str, room: Room) -> None:
    """Show the room that this browser leads."""
    st.session_state.pop(ENTER, None)
    address = join_address()
    if presenting(page):
        show_way_in(room, address)
        return
    if not reaches_others(address):
        st.warning(f"Only this computer can open this address. For phones, start Heads Up with `{how_to_reach()}`.")
    way, faces = st.columns([2, 3], gap="large")
    with way:
        show_code(room, address)
    with faces, settings(page):
        key = visitors.cookies()[visitors.LECTURER]
        st.link_button("Open the wall", f"./room?wall={room.code}", icon=":material/present_to_all:",
                       type="secondary" if room.view else "primary",
                       help="For a second screen or a projector: it shows what this tab shows, without controls. "
                            "Presenting on this screen works as well.")
        st.markdown(ADVICE)
        _secret_link("Your phone as a remote", f"{address}/lead#{key}",
                     "Scan this with your own phone, out of sight of the class: it can control the room.")
        _secret_link("A second lecturer", f"{address}/lead?desk=1#{key}",
                     "This link lets a colleague do everything in the room that you can. Send it to nobody else.")
        ends = datetime.fromtimestamp(room.ends, _zone())
        st.caption(f"The room ends at {figures.markdown_text(f'{ends:%H:%M}')} and is deleted then, with all answers. "
                   f"It can last {MOST_HOURS:.0f} hours at most.")
    _desk(key="room_desk", data={"code": room.code})


def _zone() -> tzinfo | None:
    """The time zone of the browser, whose clock the lecturer looks at; None, the server's, where it is unknown."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ValueError, OSError, KeyError):
        return None


def _secret_link(title: str, link: str, text: str) -> None:
    with st.expander(title):
        st.markdown(text)
        st.html(f"{SMALL}{qr(link)}")
        st.code(link, language=None)


def show_code(room: Room, address: str) -> None:
    """Show the way in, small, for who sits beside the screen."""
    st.html(f"""{SMALL}<div class="room-code">{qr(f"{address}/r/{room.code}")}<div>
<p>{escape(address.partition('://')[2])}/r</p><p><b>{room.code}</b></p></div></div>""")


def show_way_in(room: Room, address: str | None = None) -> None:
    """Show the way in as large as the screen."""
    address = address or join_address()
    st.html(f"""<div class="room-way-in">{qr(f"{address}/r/{room.code}")}<div><p>Join with your phone</p>
<p class="address">{escape(address.partition('://')[2])}/r</p><p class="code">{room.code}</p>
<p>No account, no name.</p></div></div><style>
.room-way-in {{ display: flex; flex-wrap: wrap; align-items: center; justify-content: center; gap: var(--gap-4);
min-height: 80vh; font-size: var(--big); }}
.room-way-in img {{ width: min(72vh, 90vw); height: auto; border-radius: var(--radius); }}
.room-way-in p {{ margin: .2em 0; font-size: inherit; }}
.room-way-in .address {{ font-size: calc(1.3 * var(--big)); font-weight: var(--bold); }}
.room-way-in .code {{ font-size: calc(3.4 * var(--big)); font-weight: var(--bold); letter-spacing: .12em; }}</style>""")

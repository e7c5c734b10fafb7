"""A class together: open a room, let everybody in, and lead it; or the way into one."""

import streamlit as st

from ui.page.link import arrive_at, leave_at
from ui.page.presentation import show_title
from ui.page.room_sharing import FAILS, WALL, led, store
from ui.rooms.lecturer_page import show_lecturer, show_opening, show_way_in

PAGE = "room"
FIELDS = {}

arrive_at(PAGE, FIELDS)
try:
    if st.session_state.get(WALL):
        show_way_in(store().with_code(st.session_state[WALL]))
    else:
        show_title(PAGE, "Room")
        room = led()
        if room is None:
            show_opening(PAGE)
        else:
            show_lecturer(PAGE, room)
except FAILS:  # which the room's bar has said
    pass
leave_at(PAGE, FIELDS)

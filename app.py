"""The router: the list of pages, and what every page shares."""

import streamlit as st

from transformer.basics.design import colour
from ui.access import visitors
from ui.access.accounts import account_line
from ui.components.shell import show_shell
from ui.lessons.bar import show_lesson
from ui.page.link import arriving
from ui.page.pages import HOME, menu
from ui.page.presentation import presenting
from ui.page.unheeded import say_unheeded
from ui.rooms.bar import show_room
from ui.state import patches, work_queue

# Drawn inline: Streamlit fetches icons named ":material/...:" from the network when they stand in the browser's tab.
ICON = """<svg viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="ACCENT"/><g fill="white">
<rect x="6" y="6" width="6" height="6"/><rect x="6" y="13" width="6" height="6" opacity=".45"/>
<rect x="13" y="13" width="6" height="6"/><rect x="6" y="20" width="6" height="6"/>
<rect x="13" y="20" width="6" height="6" opacity=".45"/><rect x="20" y="20" width="6" height="6"/></g></svg>"""
ABOUT = "**Heads Up** shows what every attention head of a transformer is doing while it works."

patches.apply()
st.session_state[work_queue.WHOSE] = visitors.owner() or st.context.ip_address
mark = ICON.replace("ACCENT", colour("accent"))
st.set_page_config(page_icon=mark, layout="wide", menu_items={"About": f"{ABOUT}\n\n{account_line()}".strip()})
st.logo(mark)  # the name beside it is in shell.css; both lead home
page = st.navigation(
    {section: [st.Page(one.script, title=one.title, help=one.sentence or None, default=one is HOME,
                       visibility="hidden" if one is HOME else "visible") for one in pages]
     for section, pages in menu().items()}, position="top")
st.set_page_config(page_title=f"{page.title} · Heads Up")
name = page.url_path or HOME.name
show_shell(name)
with arriving():
    show_lesson(name)
    show_room(name)
    unheeded = st.container()
    page.run()
if not presenting(name):
    with unheeded:
        say_unheeded(name)

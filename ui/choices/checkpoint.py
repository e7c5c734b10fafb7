"""The picker of a checkpoint, on every page that shows one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.checkpoint import Checkpoint, CheckpointError, Description
from ui import figures
from ui.page.link import CHOSEN, end_page
from ui.page.pages import PAGES
from ui.page.plain_text import code_text, end_of, say_error
from ui.state.caches import Entry, along_the_way, described, entries, opened


def choose_checkpoint(page: str, fits: Callable[[Description], bool] | None = None, *,
                      said: DeltaGenerator | None = None) -> Checkpoint:
    """The picker, and the checkpoint picked; stops the page with a sentence where there is none. fits: which are on
    offer; without it those that the list of pages says. said: where that sentence stands, if not beside the picker."""
    return open_entry(choose_entry(page, fits, said=said))


def standing(page: str) -> Description | None:
    """What a page's picker stands on, also before it is drawn for the first time; None where that is not on offer."""
    wanted = st.session_state.get(f"{page}_checkpoint")
    if wanted is not None:
        return described(wanted)
    return next((entry.about for entry in entries() if entry.about and PAGES[page].shows(entry.about.config)), None)


def model_box(page: str, *, help: str) -> DeltaGenerator:
    """The button that says which model a page shows, and opens the box in which another is chosen."""
    about = standing(page)
    name = figures.markdown_text(end_of(about.name)) if about else ""
    return st.popover(f"Model: {name}" if name else "Model", icon=":material/tune:", width="content", help=help)


def open_entry(entry: Entry) -> Checkpoint:
    """A checkpoint's weights; stops the page with a sentence where they cannot be read."""
    try:
        return opened(entry.folder, entry.about.id)
    except CheckpointError as error:
        say_error(error)
        end_page()


def choose_entry(page: str, fits: Callable[[Description], bool] | None = None, *, label: str = "Checkpoint",
                 name: str = "checkpoint", more: Callable[[Entry], bool] | None = None,
                 said: DeltaGenerator | None = None) -> Entry:
    """The picker alone, keyed <page>_<name>, without weights being read. more: which of the weights along the way of a
    training are on offer too; only a link leads to the others."""
    found, fits = entries(), fits or (lambda about: PAGES[page].shows(about.config))
    offered: dict[str, Entry] = {}
    for entry in found:
        if entry.about and fits(entry.about):
            offered.setdefault(entry.about.id, entry)  # a copy does not take the place of what came with the app
    key, broken = f"{page}_{name}", [entry for entry in found if entry.error]
    wanted = st.session_state.get(key)
    if more or (wanted is not None and wanted not in offered):
        for entry in along_the_way():
            if fits(entry.about) and ((more and more(entry)) or entry.about.id == wanted):
                offered.setdefault(entry.about.id, entry)
    if not offered:
        for entry in broken:
            say_error(entry.error)
        st.error("No checkpoint fits this page. Copy one into the folder `checkpoints`, or train one with "
                 "`headsup train --help`.")
        end_page()
    if wanted is not None and "@" not in wanted:  # somebody typed its name
        wanted = st.session_state[key] = next((id for id in offered if id.partition("@")[0] == wanted), wanted)
    if wanted is not None and wanted not in offered:
        with said or nullcontext():
            _say_not_offered(page, key, offered, found)
        end_page()
    help = ("Included checkpoints, kept runs, uploads and imports. After the @: the start of a hash of its files, so "
            "different weights have different ids.")
    if broken:
        help += "\n\nNot available:\n" + "\n".join(f"- {figures.markdown_text(entry.error)}" for entry in broken)
    if wanted is None:
        st.session_state[key] = next(iter(offered))
    return offered[st.selectbox(label, list(offered), key=key, persist_state="session", help=help,
                                on_change=partial(_follow, key) if name == "checkpoint" else None)]


def _follow(key: str) -> None:
    """Have the pages that somebody goes to from here show the same, where they can."""
    st.session_state[CHOSEN] = st.session_state[key]


def _say_not_offered(page: str, key: str, offered: Mapping[str, Entry], found: Sequence[Entry]) -> None:
    """Why the checkpoint of a link cannot be shown, and one that can."""
    wanted = st.session_state[key]
    called = wanted.partition("@")[0]
    changed = [id for id in offered if id.partition("@")[0] == called]
    first = [*changed, *offered][0]
    if described(wanted):
        st.error(f"The checkpoint {code_text(wanted)} does not fit here. {PAGES[page].needs}")
    else:
        st.error(f"The checkpoint {code_text(wanted)} is not on this server" + (
            ", only one of the same name with other weights." if changed else
            ". Ask the sender of the link for its folder, or choose another."))
    for entry in found:
        if entry.error:
            st.caption(f"{code_text(entry.folder.name)} cannot be opened: {figures.markdown_text(entry.error)}")
    st.button(f"Use {figures.markdown_text(first)} instead", on_click=partial(st.session_state.update, {key: first}))

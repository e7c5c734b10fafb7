"""The picker of a checkpoint, on every page that shows one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.checkpoints.checkpoint import Checkpoint, CheckpointError, Description
from ui import figures
from ui.page.link import CHOSEN, end_page
from ui.page.pages import PAGES
from ui.page.plain_text import code_text, end_of, say_error
from ui.state.caches import Entry, Unopened, along_the_way, described, entries, opened

WHICH = "Which model this page shows"


def choose_checkpoint(page: str, fits: Callable[[Description], bool] | None = None, *, help: str = WHICH,
                      beside: Callable[[Checkpoint], object] | None = None) -> Checkpoint:
    """The picker of a page's checkpoint, at the same place in the bar of every page; returns the one picked, with its
    weights. fits: as for `pick_entry`; beside: draws what else stands in the picker's box."""
    messages = st.container()  # outside the box, which is closed
    with _box(page, fits, help):
        entry = pick_entry(page, fits, messages=messages)
        with messages:
            ckpt = open_entry(entry)
        if beside:
            beside(ckpt)
    return ckpt


def choose_entry(page: str, fits: Callable[[Description], bool] | None = None, *,
                 more: Callable[[Entry], bool] | None = None) -> Entry:
    """The same picker, of a checkpoint whose weights need not be read. fits, more: as for `pick_entry`."""
    messages = st.container()
    with _box(page, fits, WHICH):
        return pick_entry(page, fits, more=more, messages=messages)


def _box(page: str, fits: Callable[[Description], bool] | None, help: str) -> DeltaGenerator:
    """The button that names a page's model and opens the box with the picker."""
    about = selected(page, fits)
    name = figures.markdown_text(end_of(about.name)) if about else ""
    with st.container(key=f"{page}_model_settings", width="content"):
        return st.popover(f"Model: {name}" if name else "Model", icon=":material/tune:", width="content",
                          help=f"{help}: {name}" if name else help)


def selected(page: str, fits: Callable[[Description], bool] | None = None) -> Description | None:
    """The checkpoint that a page's picker is set to, also before the picker is first drawn; None where it is gone.
    fits: as for `pick_entry`."""
    fits = fits or (lambda about: PAGES[page].shows(about.config))
    wanted = st.session_state.get(f"{page}_checkpoint")
    if wanted is not None:
        return described(wanted)
    return next((entry.about for entry in entries() if entry.about and fits(entry.about)), None)


def open_entry(entry: Entry) -> Checkpoint:
    """A checkpoint with its weights; ends the page, with a message, where they cannot be read."""
    try:
        return opened(entry.folder, entry.about.id)
    except CheckpointError as error:
        say_error(error)
        end_page()


def pick_entry(page: str, fits: Callable[[Description], bool] | None = None, *, label: str = "Checkpoint",
               name: str = "checkpoint", more: Callable[[Entry], bool] | None = None,
               messages: DeltaGenerator | None = None) -> Entry:
    """The picker of a checkpoint whose weights need not be read, keyed <page>_<name>; ends the page, with a message,
    where there is none. fits: which can be chosen, by default those that the page can show; more: which weights of
    `along_the_way` can be chosen too, beside one that a link names; messages: the place of a message, by default here.
    """
    everything, key = entries(), f"{page}_{name}"
    options = _options(everything, fits or (lambda about: PAGES[page].shows(about.config)), st.session_state.get(key),
                       more)
    errors = [entry.error for entry in everything if entry.error]
    if not options:
        for error in errors:
            say_error(error)
        st.error("No checkpoint fits this page. Copy one into the folder `checkpoints`, or train one with "
                 "`headsup train --help`.")
        end_page()
    wanted = _with_hash(st.session_state.get(key), options)
    if wanted != st.session_state.get(key):
        st.session_state[key] = wanted
    if wanted not in options:
        with messages or nullcontext():
            _explain_missing(page, key, options, everything)
        end_page()
    help = ("Included checkpoints, kept runs, uploads and imports. After the @: the start of a hash of its files, so "
            "different weights have different ids.")
    if errors:
        help += "\n\nNot available:\n" + "\n".join(f"- {figures.markdown_text(error)}" for error in errors)
    return options[st.selectbox(label, list(options), key=key, persist_state="session", help=help,
                                on_change=partial(_remember, key) if name == "checkpoint" else None)]


def _options(everything: Sequence[Entry | Unopened], fits: Callable[[Description], bool], wanted: str | None,
             more: Callable[[Entry], bool] | None) -> dict[str, Entry]:
    """The entries that can be chosen, by id; a copy does not replace what came with the app."""
    options: dict[str, Entry] = {}
    for entry in everything:
        if isinstance(entry, Entry) and fits(entry.about):
            options.setdefault(entry.about.id, entry)
    if more or (wanted is not None and wanted not in options):
        for entry in along_the_way():
            if fits(entry.about) and ((more and more(entry)) or entry.about.id == wanted):
                options.setdefault(entry.about.id, entry)
    return options


def _with_hash(wanted: str | None, options: Mapping[str, Entry]) -> str:
    """The id of a checkpoint that somebody may have named without its hash; the first where none is named."""
    if wanted is None:
        return next(iter(options))
    return wanted if "@" in wanted else next((id for id in options if id.partition("@")[0] == wanted), wanted)


def _remember(key: str) -> None:
    """Other pages show this checkpoint too from now on, where they can."""
    st.session_state[CHOSEN] = st.session_state[key]


def _explain_missing(page: str, key: str, options: Mapping[str, Entry],
                     everything: Sequence[Entry | Unopened]) -> None:
    """Says why the checkpoint of a link cannot be shown, and offers one that can."""
    wanted = st.session_state[key]
    changed = [id for id in options if id.partition("@")[0] == wanted.partition("@")[0]]
    first = [*changed, *options][0]
    if described(wanted):
        st.error(f"The checkpoint {code_text(wanted)} does not fit here. {PAGES[page].needs}")
    else:
        st.error(f"The checkpoint {code_text(wanted)} is not on this server" + (
            ", only one of the same name with other weights." if changed else
            ". Ask the sender of the link for its folder, or choose another."))
    for entry in everything:
        if entry.error:
            st.caption(f"{code_text(entry.folder.name)} cannot be opened: {figures.markdown_text(entry.error)}")
    st.button(f"Use {figures.markdown_text(first)} instead", on_click=partial(st.session_state.update, {key: first}))

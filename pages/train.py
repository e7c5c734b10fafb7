"""Train: choose a task, a model and a device, start, and watch the loss fall and heads form."""

import streamlit as st

from transformer.checkpoint import find as checkpoints
from transformer.paths import ROOT, home
from transformer.runs import find
from transformer.task import LEARNED
from ui.access import owners, visitors
from ui.access.accounts import account_line
from ui.page.link import Field, arrive_at, choice, leave_at
from ui.page.plain_text import say_error
from ui.page.presentation import presenting, settings, show_title
from ui.page.terms import with_terms
from ui.views.train.form import show_form, show_plan
from ui.views.train.forming import forming_fields, keeps_steps, show_forming
from ui.views.train.overview import show_runs
from ui.views.train.run_view import errors_shown, find_run, show_outcome, show_run
from ui.views.train.stored_files import show_stored_files

PAGE = "train"
VIEWS = {"new": "New run", "watch": "Watch", "runs": "All runs", "server": "Server"}
SHIPPED, IMPORTED = "checkpoints/", "imports/"  # before their names, which runs may have too


def optional_text(longest: int) -> Field:
    return Field("", lambda value: value[:longest], lambda value: value or None)


FIELDS = {
    "view": choice("new", list(VIEWS)), "run": optional_text(80), "task": choice("translation", list(LEARNED)),
    "preset": optional_text(40), **forming_fields(),
    "over": Field([], lambda value: value.split(",")[:12], lambda names: ",".join(names) or None)}


def let_others_start() -> None:
    with errors_shown(PAGE):
        owners.allow_starting(st.session_state[f"{PAGE}_allowed"])


dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
state = st.session_state
if wanted := state.pop(f"{PAGE}_next_view", None):
    state[f"{PAGE}_view"] = wanted

show_title(PAGE, "Train")
offered = [view for view in VIEWS if view != "server" or owners.allowed("oversee")]
if state[f"{PAGE}_view"] not in offered:
    state[f"{PAGE}_view"] = "new"
with settings(PAGE):
    st.segmented_control("What to do", offered, format_func=VIEWS.get, key=f"{PAGE}_view", required=True,
                         label_visibility="collapsed")
    if visitors.is_teacher():
        st.toggle("Others may start runs", owners.starting_allowed(), key=f"{PAGE}_allowed",
                  on_change=let_others_start)
        st.caption(f"You are signed in as the teacher: you can stop, rename and delete every run.  \n{account_line()}")
    elif account_line():
        st.caption(account_line())
show_outcome(PAGE)
if state[f"{PAGE}_view"] == "new":
    if presenting(PAGE):
        show_plan(PAGE)
    with settings(PAGE, "form"):
        show_form(PAGE, dark=dark)
elif state[f"{PAGE}_view"] == "runs":
    show_runs(PAGE, dark=dark)
elif state[f"{PAGE}_view"] == "server":
    show_stored_files(PAGE)
else:
    shipped = [f"{SHIPPED}{folder.name}" for folder in sorted((ROOT / "checkpoints").iterdir())
               if (folder / "attention").is_dir()]
    imported = [f"{IMPORTED}{folder.name}" for folder in checkpoints(home() / "imports") if keeps_steps(folder)]
    names = [folder.name for folder in find(home() / "runs")] + imported + shipped
    if (name := state[f"{PAGE}_run"]) and name not in names:
        say_error(f"There is no run {name}. Choose another, or start one.")
        state[f"{PAGE}_run"] = ""
    if state[f"{PAGE}_run"] not in names:
        state[f"{PAGE}_run"] = names[0]
    with settings(PAGE, "run"):
        st.selectbox("Run", names, key=f"{PAGE}_run", help="Runs, newest first, imports with several "
                     "training steps, and the included checkpoints.")
    chosen = state[f"{PAGE}_run"]
    if chosen.startswith(SHIPPED):
        st.caption(with_terms("An included checkpoint, with the attention recorded during its training.", "checkpoint"),
                   unsafe_allow_html=True)
        show_forming(PAGE, ROOT / chosen, dark=dark)
    elif chosen in imported:
        st.caption(with_terms("An imported checkpoint: each training step that came with it reads your text.",
                              "checkpoint"), unsafe_allow_html=True)
        show_forming(PAGE, home() / chosen, dark=dark)
    elif (folder := find_run(chosen)) is not None:
        show_run(PAGE, folder, dark=dark)
leave_at(PAGE, FIELDS)

"""Train: watch a loss fall and heads form, and start a training: a small one now, or one of your own."""

from functools import partial

import streamlit as st

from transformer.basics.paths import ROOT, home
from transformer.checkpoints.checkpoint import find as checkpoints
from transformer.jobs.launch import progress
from transformer.training.runs import find
from ui.access import owners, visitors
from ui.access.accounts import account_line
from ui.components.training_screen import FormingState
from ui.page.link import address_fields, arrive_at, leave_at
from ui.page.plain_text import say_error
from ui.page.presentation import presenting, settings, show_title
from ui.views.train.form import prepare_run, show_form, show_plan
from ui.views.train.forming import keeps_steps
from ui.views.train.overview import show_runs
from ui.views.train.quick_tasks import show_quick_tasks
from ui.views.train.run_bar import OTHERS, errors_shown, go_to, show_bar, show_outcome
from ui.views.train.run_view import find_run, read_run, show_checkpoint, show_run
from ui.views.train.stored_files import show_stored_files
from ui.views.train.sweep import show_sweep
from ui.views.train.train_state import VIEWS, TrainState

PAGE = "train"
SHIPPED, IMPORTED = "checkpoints/", "imports/"  # before their names, which runs may have too
RECORDED = f"{SHIPPED}translate"  # what is shown while nothing trains
NEWEST = 12  # runs, among which one that trains is looked for
FIELDS = address_fields(TrainState) | address_fields(FormingState)
ALLOWED = f"{PAGE}_allowed"  # the key of the teacher's switch


def let_others_start() -> None:
    with errors_shown(PAGE):
        owners.allow_starting(st.session_state[ALLOWED])


def show_account() -> None:
    """Who is signed in, and what the teacher alone decides."""
    if visitors.is_teacher():
        st.toggle("Others may start runs", owners.starting_allowed(), key=ALLOWED,
                  on_change=let_others_start)
        st.caption("You are signed in as the teacher: you can stop, rename and delete every run.  \n"
                   f"{account_line()}")
    elif account_line():
        st.caption(account_line())


def choose_run() -> list[str]:
    """The names of all that can be watched. One that is not there is left for what trains now, what this visitor has
    started, or the recorded run."""
    shipped = [f"{SHIPPED}{folder.name}" for folder in sorted((ROOT / "checkpoints").iterdir())
               if (folder / "attention").is_dir()]
    imported = [f"{IMPORTED}{folder.name}" for folder in checkpoints(home() / "imports") if keeps_steps(folder)]
    runs = find(home() / "runs")
    names = [folder.name for folder in runs] + imported + shipped
    if (name := state.run) and name not in names:
        say_error(f"There is no run {name}. Choose another, or start one.")
    if state.run not in names:
        trains = next((folder.name for folder in runs[:NEWEST] if progress(folder).under_way),
                      state.started)
        wanted = trains if trains in names else RECORDED
        state.run = wanted if wanted in names else names[0]
        state.plays = wanted == RECORDED
    return names


def ways_on() -> None:
    """The buttons that start a training."""
    if view != "now":
        st.button(VIEWS["now"], key=f"{PAGE}_now", type="primary", icon=":material/bolt:",
                  on_click=partial(go_to, PAGE, "now"))
    if view != "new":
        st.button("New run…", key=f"{PAGE}_new", on_click=partial(go_to, PAGE, "new"))


dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
state = TrainState(PAGE)
if wanted := TrainState.next_view.pop(PAGE):
    state.view = wanted
offered = [view for view in VIEWS if view != "server" or owners.allowed("oversee")]
if state.view not in offered:
    state.view = "watch"
view = state.view
prepare_run()

if view == "watch":
    names = choose_run()
    chosen = state.run
    folder = find_run(chosen)
    run = read_run(folder) if folder else None  # once, so that all of the page is of one moment

    def bar() -> None:
        show_bar(PAGE, names, run, views=[one for one in offered if one in OTHERS], last=show_account)
        ways_on()

    show_title(PAGE, VIEWS[view], bar)
    show_outcome(PAGE)
    if run is not None:
        show_run(PAGE, run, dark=dark)
    else:
        show_checkpoint(PAGE, (home() if chosen.startswith(IMPORTED) else ROOT) / chosen, dark=dark)
else:
    def back() -> None:
        st.button("Back", icon=":material/arrow_back:", key=f"{PAGE}_to_watch", on_click=partial(go_to, PAGE, "watch"))
        ways_on()

    show_title(PAGE, VIEWS[view], back)
    with settings(PAGE):
        show_account()
    show_outcome(PAGE)
    if view == "now":
        show_quick_tasks(PAGE, dark=dark)
    elif view == "runs":
        show_runs(PAGE, dark=dark)
    elif view == "sweep":
        show_sweep(PAGE, state.sweep, dark=dark)
    elif view == "server":
        show_stored_files(PAGE)
    elif presenting(PAGE):
        show_plan(PAGE)
    else:
        with settings(PAGE, "form"):
            show_form(PAGE, dark=dark)
leave_at(PAGE, FIELDS)

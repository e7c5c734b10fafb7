"""The row over what is trained: which run, how it stands, what can be done with it, and the way to another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import streamlit as st

from transformer.basics.folders import size_of
from transformer.checkpoints.checkpoint import CheckpointError
from transformer.checkpoints.checkpoint import describe as describe_checkpoint
from transformer.jobs import run_files
from transformer.jobs.launch import Progress, progress, resume, stop
from transformer.jobs.lock import file_lock
from transformer.training.runs import Run, as_csv, check_name, delete, describe, free_name, promote, rename, to_keep
from transformer.training.sweeps import sweep_of
from ui import figures
from ui.access import owners, quotas
from ui.page.link import go_to as open_page
from ui.page.pages import PAGES, Page
from ui.page.plain_text import say_error
from ui.state.caches import described, entries, home
from ui.state.page_state import Kept, PageState
from ui.views.train.train_state import TrainState

LARGEST_CSV = 20_000_000  # bytes of metrics that are made into a table
STATES = {"queued": "Queued", "starting": "Starting", "running": "Training", "finished": "Finished",
          "stopped": "Stopped", "failed": "Failed", "died": "Died"}
COLOURS: dict[str, Literal["blue", "green", "red"]] = {
    "running": "blue", "finished": "green", "failed": "red", "died": "red"}
OTHERS = {"runs": ("All runs", "list"), "server": ("Server", "dns")}  # views behind the menu


class BarState(PageState):
    """What is kept of the menu."""

    kept = Kept(0)  # checkpoints; another number is another menu, which is closed
    promote_refused: Kept[str | None] = Kept(None)  # why none was kept


class RunState(PageState):
    """What is typed in the menu of a run, under its own prefix."""

    promote_as = Kept("")
    rename_to = Kept("")


def show_bar(page: str, names: list[str], run: Run | None, *, views: list[str], last: Callable[[], None]) -> None:
    """The chooser of a run, its state, *Stop* or *Resume*, and the menu. run: None for a checkpoint; views: those of
    OTHERS that this visitor may open; last: draws the end of the menu."""
    st.selectbox("Run", names, key=TrainState.run.key(page), label_visibility="collapsed", width=230,
                 help="Runs, newest first, imports with several training steps, and the included checkpoints.")
    if run is not None:
        st.badge(STATES[run.now.state], color=COLOURS.get(run.now.state, "gray"))
        _stop_or_resume(page, run)
    with st.popover("More", key=f"{page}_menu_{BarState(page).kept}"):
        for view in views:
            title, icon = OTHERS[view]
            st.button(title, icon=f":material/{icon}:", key=f"{page}_to_{view}", width="stretch",
                      on_click=partial(go_to, page, view))
        if run is not None:
            _menu(page, run)
        last()


def go_to(page: str, view: str) -> None:
    """Show another view of the page."""
    TrainState(page).view = view


def open_sweep(page: str, name: str) -> None:
    """Show the sweep of that name."""
    TrainState(page).sweep = name
    go_to(page, "sweep")


def _refused(action: owners.Action, run: Run) -> bool:
    return owners.refusal(owners.me(), action, owners.run_thing(run.folder)) is not None


def _stop_or_resume(page: str, run: Run) -> None:
    if run.now.under_way:
        st.button("Stop", icon=":material/stop:", key=f"{page}_stop", on_click=_do, disabled=_refused("stop", run),
                  args=[page, partial(_stop, run.folder)], help="It saves first and can be resumed.")
    elif run.now.state == "finished":
        refused, says = _refused("keep", run), "Keeps its best weights as a checkpoint and opens it there."
        if (page_of := _page_of(run)) and st.button(
                f"Open in {page_of.title}", icon=page_of.symbol, key=f"{page}_open", disabled=refused,
                help=f"{says} Only the teacher and whoever started the run can do that." if refused else says):
            _open(page, run, page_of)
    else:
        st.button("Resume", icon=":material/play_arrow:", key=f"{page}_resume", on_click=_do,
                  disabled=_refused("resume", run), args=[page, partial(_resume, run.folder)])


def _page_of(run: Run) -> Page | None:
    """The page that shows what a run has trained; None if it saved nothing."""
    try:
        kept = to_keep(run.folder)
        return kept and next(one for one in PAGES.values() if one.shows(describe_checkpoint(kept).config))
    except CheckpointError:
        return None


def _open(page: str, run: Run, page_of: Page) -> None:
    """Open what a run has trained on its page, as a checkpoint that is kept unless it has been before."""
    with errors_shown(page):
        kept = describe_checkpoint(to_keep(run.folder) or run.folder)
        about = next((entry.about for entry in entries() if entry.about and entry.about.step == kept.step
                      and (entry.about.config, entry.about.train) == (kept.config, kept.train)), None)
        if about := about or described(_keep(run.folder, free_name(home() / "checkpoints", f"{run.name}-trained"))):
            open_page(page_of.name, page_of.address(about.id))


def _menu(page: str, run: Run) -> None:
    """What is done with a run now and then: keep, rename or delete it, and take its metrics along."""
    folder, key, ended = run.folder, f"{page}_{run.name}", not run.now.under_way
    if name := sweep_of(folder):
        st.button("Its sweep", icon=":material/grid_view:", key=f"{page}_to_its_sweep", width="stretch",
                  on_click=open_sweep, args=[page, name], help="The runs that differ from it in the settings tried.")
    metrics = folder / "metrics.jsonl"
    st.download_button("Metrics as CSV", partial(as_csv, folder), f"{run.name}.csv", "text/csv", key=f"{page}_csv",
                       icon=":material/download:", on_click="ignore", width="stretch",
                       disabled=not 0 < size_of(metrics) <= LARGEST_CSV)
    kept = to_keep(folder)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Name of the checkpoint", run.name, key=RunState.promote_as.key(key), max_chars=60, width=220)
        st.button("Keep", key=f"{page}_promote", on_click=_promote, args=[page, folder, key],
                  disabled=_refused("keep", run) or kept is None,
                  help="There is nothing to keep before the first save; Stop saves." if kept is None else
                  f"Keeps its {'best' if kept.name == 'best' else 'newest'} weights in half precision, with curve, "
                  "attention and a model card.")
    if wrong := BarState.promote_refused.pop(page):
        say_error(wrong)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("New name", run.name, key=RunState.rename_to.key(key), max_chars=60, width=220)
        st.button("Rename", key=f"{page}_rename", on_click=_do, args=[page, partial(_rename, page, folder, key)],
                  disabled=_refused("rename", run) or not ended)
    with st.container(horizontal=True, vertical_alignment="center"):
        sure = st.checkbox("With its weights, curves and attention", key=f"{key}_sure", width=220,
                           disabled=_refused("delete", run) or not ended)
        st.button("Delete", key=f"{page}_delete", on_click=_do, args=[page, partial(_delete, page, folder)],
                  disabled=_refused("delete", run) or not ended or not sure, help="This cannot be undone.")
    if _refused("stop", run):
        st.caption("Only its owner and the teacher can stop, resume, rename, keep or delete this run."
                   if run.owner else "This run was started from a shell: only the teacher can stop, resume, rename, "
                   "keep or delete it.")


def show_outcome(page: str) -> None:
    """Show the outcome of the button that was pressed last."""
    if refused := TrainState.refused.pop(page):
        say_error(refused)
    done, opens = TrainState.done.pop(page), TrainState.opens.pop(page)
    if done:
        st.success(figures.markdown_text(done))
    if about := described(opens):
        target = next(one for one in PAGES.values() if one.shows(about.config))
        st.page_link(target.script, label=f"Open it in {target.title}", icon=target.symbol,
                     query_params=target.address(about.id))


@contextmanager
def errors_shown(page: str) -> Iterator[None]:
    """Errors inside are shown on the page instead of being raised."""
    try:
        yield
    except (ValueError, OSError, CheckpointError) as error:
        TrainState(page).refused = str(error)


def _do(page: str, act: partial) -> None:
    with errors_shown(page):
        act()


def _stop(folder: Path) -> None:
    owners.require("stop", owners.run_thing(folder))
    now: Progress = progress(folder)
    if now.under_way and not stop(folder):
        raise ValueError(f"the run {folder.name} has just ended")


def _require_with_corpus(action: owners.Action, folder: Path) -> None:
    """Raises NotAllowed if a visitor may not do something to a run that reads its corpus and its teachers again."""
    owners.require(action, owners.run_thing(folder))
    if corpus := describe(folder).corpus:
        train = run_files.read_json(folder / "config.json").get("train")
        owners.require_training({**(train if isinstance(train, dict) else {}), "corpus": corpus})


def _resume(folder: Path) -> None:
    _require_with_corpus("resume", folder)
    quotas.check_runs()
    resume(folder, minutes=quotas.minutes_left(folder), **quotas.run_limits())


def _keep(folder: Path, wanted: str) -> str:
    """Keep a run as a checkpoint; returns its name. Raises ValueError for a name that is taken, and as `promote`."""
    _require_with_corpus("keep", folder)
    quotas.check_kept()
    name = check_name(wanted)
    with file_lock(home() / ".kept.lock"):
        if name.lower() in {entry.folder.name.lower() for entry in entries()}:
            raise ValueError(f"there is a checkpoint {name} already; choose another name")
        promote(folder, home() / "checkpoints" / name, processor=describe(folder).processor or "unknown device")
        owners.remember_keeper(name)
    return name


def _promote(page: str, folder: Path, key: str) -> None:
    state = TrainState(page)
    try:
        name = _keep(folder, RunState(key).promote_as)
    except (ValueError, OSError, CheckpointError) as error:
        BarState(page).promote_refused = str(error)
        return
    BarState(page).kept += 1
    state.done, state.opens = f"Kept as the checkpoint {name}.", name


def _rename(page: str, folder: Path, key: str) -> None:
    owners.require("rename", owners.run_thing(folder))
    TrainState(page).run = rename(folder, RunState(key).rename_to).name


def _delete(page: str, folder: Path) -> None:
    owners.require("delete", owners.run_thing(folder))
    delete(folder)
    state = TrainState(page)
    state.run, state.view = "", "runs"
    state.done = f"The run {folder.name} is deleted."

"""A table of runs that sorts, in which runs are ticked and opened; and what is done to those that are ticked."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pandas as pd
import streamlit as st

from transformer.basics.formatting import enumerated, how_many
from transformer.jobs.launch import stop
from transformer.training.runs import FILLED_IN, Run, delete, differing
from transformer.training.sweeps import written
from ui.access import owners, visitors
from ui.choices.held_out_corpus import corpus_name
from ui.figures import markdown_text
from ui.page.presentation import settings
from ui.state.page_state import Kept, PageState
from ui.views.train.run_bar import STATES
from ui.views.train.run_view import find_run
from ui.views.train.train_state import TrainState

MOST_COLUMNS = 12  # of settings
APART = {"corpus", "pinned", "distill", "languages"} | FILLED_IN  # settings that have a column of their own, or none
NUMBERS = {"step": "localized", "best held-out loss": "%.4f", "accuracy": "percent", "whole answers": "percent",
           "minutes": "%.1f"}


class TableState(PageState):
    """What is kept of a table of runs, under its own prefix."""

    ticked: Kept[list[str]] = Kept([])  # names
    turn = Kept(0)  # another number is another table, in which other rows are ticked


def show_table(prefix: str, page: str, runs: Sequence[Run], known: dict[str, dict[str, object]],
               ticked: Sequence[str]) -> list[str]:
    """Show runs with the settings in which they differ; returns the names of those that are ticked, in the order in
    which they were. known: the settings of each run by its name. A click on a name opens the run."""
    names = [run.name for run in runs]
    visible = [name for name in ticked if name in names]
    key = f"{prefix}_table_{sha256(repr((names, TableState(prefix).turn)).encode()).hexdigest()[:8]}"
    varied = [name for name in differing(known.get(name, {}) for name in names) if name not in APART]
    frame = _frame(runs, known, varied[:MOST_COLUMNS])
    opened = f"{key}_open"
    config = {name: st.column_config.NumberColumn(format=form) for name, form in NUMBERS.items() if name in frame}
    config |= {"run": st.column_config.ButtonColumn(type="tertiary", pinned=True, alignment="left", key=opened,
                                                    on_click=_open, args=(page, opened, names)),
               "started": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")}
    event = st.dataframe(frame, key=key, hide_index=True, on_select="rerun", selection_mode="multi-row",
                         selection_default={"selection": {"rows": sorted(map(names.index, visible))}}, placeholder="",
                         column_config=config,
                         alt=f"{how_many(len(names), 'run')}, with state and results")
    if len(varied) > MOST_COLUMNS:
        st.caption(f"They differ in {len(varied) - MOST_COLUMNS} more settings; tick some to see these.")
    rows = [names[row] for row in event["selection"]["rows"] if row < len(names)]
    return [name for name in ticked if name in rows or name not in names] + [
        name for name in rows if name not in ticked]


def _frame(runs: Sequence[Run], known: dict[str, dict[str, object]], varied: Sequence[str]) -> pd.DataFrame:
    """A row for each run. Without the columns in which nothing stands."""
    columns = {"run": [run.name for run in runs], "state": [state_of(run) for run in runs],
               "step": [float(run.now.step) for run in runs], "best held-out loss": [run.best for run in runs],
               "accuracy": [run.accuracy for run in runs], "whole answers": [run.exact for run in runs]}
    for name in varied:
        values = [known.get(run.name, {}).get(name) for run in runs]
        numbers = all((isinstance(value, int | float) and not isinstance(value, bool)) or value is None
                      for value in values)
        columns[name] = values if numbers else ["" if value is None else written(value) for value in values]
    corpora = [run.corpus or known.get(run.name, {}).get("corpus") for run in runs]
    columns |= {"corpus": [corpus_name(corpus) if isinstance(corpus, str) else "" for corpus in corpora],
                "device": [run.processor or "" for run in runs], "minutes": [run.seconds / 60 or None for run in runs],
                "started": [_moment(run.started) for run in runs]}
    if len({run.owner for run in runs}) > 1 or owners.shared():
        columns["started by"] = [started_by(run) for run in runs]
    numeric = [name for name in columns if name in NUMBERS]
    frame = pd.DataFrame(columns).astype(dict.fromkeys(numeric, float))
    return frame.drop(columns=[name for name in ("accuracy", "whole answers") if frame[name].isna().to_numpy().all()])


def state_of(run: Run) -> str:
    """The state of a run in a word, and how far it is while it trains."""
    share = f" {min(1.0, run.now.step / run.now.steps):.0%}" if run.now.state == "running" and run.now.steps else ""
    return STATES[run.now.state] + share


def started_by(run: Run) -> str:
    """Whose a run is, to read."""
    return "you" if visitors.theirs(run.owner) else "another visitor" if run.owner else "a shell"


def _moment(seconds: float | None) -> datetime | None:
    with suppress(ValueError, OverflowError, OSError):  # a damaged record
        return datetime.fromtimestamp(seconds) if seconds else None
    return None


def _open(page: str, key: str, names: Sequence[str]) -> None:
    click = st.session_state.get(key)
    row: int = click["row"] if click else -1
    if 0 <= row < len(names):
        open_run(page, names[row])


def open_run(page: str, name: str) -> None:
    """Have the page show a run when it is drawn next."""
    state = TrainState(page)
    state.run, state.next_view = name, "watch"
    state.opened = True  # a click in a fragment draws that alone; the page is drawn again then


def drawn_again(page: str) -> bool:
    """Whether a click inside of a fragment wants the whole page drawn again."""
    return TrainState.opened.pop(page)


def show_actions(prefix: str, page: str, runs: Sequence[Run]) -> None:
    """Buttons for the runs that are ticked: open one, stop those under way, delete those that have ended."""
    running = [run.name for run in runs if run.now.under_way and owners.allowed("stop", owners.run_thing(run.folder))]
    ended = [run.name for run in runs
             if not run.now.under_way and owners.allowed("delete", owners.run_thing(run.folder))]
    with settings(page, f"{prefix}_actions"), st.container(horizontal=True, vertical_alignment="center"):
        if len(runs) == 1:
            st.button("Open", key=f"{prefix}_open", icon=":material/open_in_full:", on_click=open_run,
                      args=[page, runs[0].name])
        if running:
            st.button(f"Stop {how_many(len(running), 'run')}", key=f"{prefix}_stop", icon=":material/stop:",
                      on_click=act_on, args=[page, "stop", running], help="Each saves first and can be resumed.")
        if ended:
            with st.popover(f"Delete {how_many(len(ended), 'run')}", key=f"{prefix}_delete_box",
                            icon=":material/delete:"):
                named = enumerated([f"**{markdown_text(name)}**" for name in ended])
                st.markdown(f"Delete {named} with weights, curves and attention? This cannot be undone.")
                st.button("Delete them" if len(ended) > 1 else "Delete it", key=f"{prefix}_delete", on_click=act_on,
                          args=[page, "delete", ended])


def act_on(page: str, action: owners.Action, names: Sequence[str]) -> None:
    """Stop runs, or delete them, as far as the visitor may; what could not be done is said on the page."""
    acts: dict[str, Callable[[Path], object]] = {"stop": stop, "delete": delete}
    done, refused = [], []
    for name in names:
        folder = find_run(name)
        try:
            if folder is None:
                raise ValueError(f"there is no run {name} any more")
            owners.require(action, owners.run_thing(folder))
            acts[action](folder)
            done.append(name)
        except (ValueError, OSError) as error:
            refused.append(str(error))
    state = TrainState(page)
    if done:
        said = {"stop": "Asked to save and stop", "delete": "Deleted"}[action]
        state.done = f"{said}: {enumerated(done)}."
    if refused:
        state.refused = "; ".join(refused)
    state.opened = True

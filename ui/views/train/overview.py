"""The view of all runs: a table that sorts and filters, and those ticked in it over each other."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from transformer.jobs.launch import progress
from transformer.settings.task import unit_of
from transformer.text.corpus_catalogue import published_loss
from transformer.training.runs import FILLED_IN, Run, describe, differences, differing, find, is_run, settings_of
from transformer.training.sweeps import sweep_of, written
from ui import figures
from ui.access import accounts, visitors
from ui.access.owners import shared
from ui.choices.held_out_corpus import corpus_name
from ui.components.run_curves import MOST_RUNS, show_curves
from ui.page.presentation import settings
from ui.page.text_limits import SEARCH, taken
from ui.state.caches import home
from ui.state.page_state import Kept, PageState
from ui.state.polling import pace
from ui.views.train.run_table import TableState, drawn_again, show_actions, show_table, state_of
from ui.views.train.sweep import show_sweeps
from ui.views.train.train_state import TrainState

MOST_SHOWN = 200
SIGNED_IN = ("What you start while signed in is yours in every browser where you sign in. What was started in this "
             "browser before is yours here, through a key that the browser keeps.")
Known = dict[str, dict[str, object]]  # the name of a run -> its settings


class Moving(PageState):
    """What is kept of moving a visitor's runs to another browser."""

    code: Kept[str | None] = Kept(None)


def show_runs(page: str, *, dark: bool) -> None:
    """Show the table of runs, and the curves and the differences of those ticked."""
    drawn_again(page)  # it is now
    folders = find(home() / "runs")
    if not folders:
        _show_code(page)
        folder = figures.markdown_text(str(home() / "runs"))
        st.info("No runs yet. Start one under New run" + (
            "." if shared() else f", or from a shell: any run in {folder} appears here."))
        return
    prefix = f"{page}_all"
    show_sweeps(page)
    _arrive(page, prefix, [folder.name for folder in folders])
    known = {folder.name: settings_of(folder) for folder in folders[:MOST_SHOWN]}
    wanted = _filter(page, prefix, [describe(folder) for folder in folders[:MOST_SHOWN]], known)
    if len(folders) > MOST_SHOWN:
        st.caption(f"The newest {MOST_SHOWN} of {len(folders):,} runs.")
    ticked = [home() / "runs" / name for name in TableState(prefix).ticked]
    under_way = any(progress(folder).under_way for folder in {*wanted, *ticked})
    st.fragment(_compare, run_every=pace() if under_way else None)(page, prefix, wanted, known, dark)


def _arrive(page: str, prefix: str, names: Sequence[str]) -> None:
    """Take over which runs an address names; more may be ticked than it does. Those that are gone are left out."""
    state, table = TrainState(page), TableState(prefix)
    over = [name for name in state.over if name in names][:MOST_RUNS]
    ticked = [name for name in table.ticked if name in names]
    if ticked[:MOST_RUNS] != over:
        ticked, table.turn = over, table.turn + 1
    state.over, table.ticked = over, ticked


def _filter(page: str, prefix: str, runs: Sequence[Run], known: Known) -> list[Path]:
    """Show the filters; returns the runs that pass all of them."""
    told = {run.name: _told(run, known[run.name]) for run in runs}
    varied = differing(one for name, one in known.items())
    by = [name for name in ("sweep", "state", "corpus") if len({one.get(name) for one in told.values()}) > 1]
    by += [name for name in varied if name not in FILLED_IN and name not in by]
    with settings(prefix, "filters"), st.container(horizontal=True, vertical_alignment="bottom"):
        text = taken(st.text_input("Filter", key=f"{prefix}_text", width=260, icon=":material/filter_list:",
                                   placeholder="a name, a corpus, a value …"), SEARCH)
        setting = st.selectbox("By", by, index=None, key=f"{prefix}_by", width=200, placeholder="any setting",
                               disabled=not by)
        values = []
        if setting:
            offered = sorted({one[setting] for one in told.values() if setting in one})
            values = st.multiselect(setting, offered, key=f"{prefix}_values_{setting}", width=320,
                                    placeholder="all values")
        _show_code(page)
    words = text.lower().split()
    return [run.folder for run in runs
            if (setting is None or not values or told[run.name].get(setting) in values)
            and all(any(word in value.lower() for value in told[run.name].values()) for word in words)]


def _told(run: Run, known: dict[str, object]) -> dict[str, str]:
    """What a run can be filtered by: its name, its state, its sweep and its settings."""
    told = {name: written(value) for name, value in known.items() if value is not None}
    corpus = {"corpus": corpus_name(run.corpus)} if run.corpus else {}
    sweep = {"sweep": name} if (name := sweep_of(run.folder)) else {}
    return told | corpus | sweep | {"run": run.name, "state": state_of(run).partition(" ")[0]}


def _compare(page: str, prefix: str, folders: Sequence[Path], known: Known, dark: bool) -> None:
    """The table, and the ticked runs over each other; drawn again while one is under way."""
    if drawn_again(page):
        st.rerun()
    table = TableState(prefix)
    table.ticked = [name for name in table.ticked if is_run(home() / "runs" / name)]
    folders = [folder for folder in folders if is_run(folder)]  # others delete some meanwhile
    if folders:
        before = table.ticked
        ticked = show_table(prefix, page, [describe(folder) for folder in folders], known, before)
        if ticked != before:
            table.ticked, TrainState(page).over = ticked, ticked[:MOST_RUNS]
            st.rerun()  # the whole page, which writes the address
    else:
        st.info("No run passes the filters.")
    chosen = [describe(home() / "runs" / name) for name in table.ticked]
    if not chosen:
        st.caption("Tick runs to draw them over each other; click a name to open it, a heading to sort.")
        return
    show_actions(prefix, page, chosen)
    if len(chosen) > MOST_RUNS:
        st.caption(f"The first {MOST_RUNS} of the {len(chosen)} ticked runs are drawn.")
    show_over(page, chosen[:MOST_RUNS], dark=dark)


def show_over(page: str, runs: Sequence[Run], *, dark: bool) -> None:
    """Draw runs over each other, those with one unit in one picture, and the settings in which they differ in a table.
    """
    if len({(run.task, run.corpus) for run in runs}) > 1:
        st.caption("These runs use different texts or tokenizers, so their losses are not comparable.")
    by_unit: dict[str, list[Run]] = {}
    for run in runs:
        by_unit.setdefault(f"nats per {unit_of(run.task)}", []).append(run)
    for unit, same_unit in by_unit.items():  # two units never share an axis
        if len(by_unit) > 1:
            st.header(f"Losses in {unit}", anchor=False)
        references = {published_loss(run.corpus) for run in same_unit}
        show_curves(f"{page}_all_{unit.rpartition(' ')[2]}", [run.folder for run in same_unit], dark=dark, unit=unit,
                    reference=references.pop() if len(references) == 1 else None)
    if len(runs) > 1:
        _show_differences(runs)


def _show_differences(runs: Sequence[Run]) -> None:
    """Show the settings in which runs differ."""
    table = differences(run.folder for run in runs)
    if table.empty:
        st.caption("These runs have the same settings.")
        return
    rows = [[name, *("" if value is None else _cell(name, value) for value in table.loc[name])] for name in table.index]
    st.html(figures.plain_table(["setting", *table.columns], rows, label="Settings that differ", code={0}))


def _cell(name: str, value: object) -> str:
    return corpus_name(value) if name == "corpus" and isinstance(value, str) else written(value)


def _show_code(page: str) -> None:
    """Show a code that makes a visitor's runs theirs in another browser too."""
    if visitors.of_browser() is None:
        return
    with settings(page, "code"), st.popover("My runs in another browser", icon=":material/devices:"):
        st.markdown(SIGNED_IN if accounts.signed_in() else "This browser keeps the key to the runs you start.")
        st.markdown("A code passes the key to another browser. It works once, within five minutes, and whoever types "
                    "it can stop, rename and delete your runs.")
        st.button("Make a code", key=f"{page}_make_code",
                  on_click=lambda: Moving.code.put(page, visitors.code_to_move()))
        if code := Moving(page).code:
            st.code(code, language=None)
        st.markdown("In the other browser, open the same popover and [type the code](./move) there.")

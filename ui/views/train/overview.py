"""The view of all runs: the state of each, and the curves of several in one picture."""

import time
from pathlib import Path

import streamlit as st

from transformer.formatting import duration
from transformer.jobs.launch import progress
from transformer.runs import Run, describe, find
from transformer.task import unit_of
from transformer.text.corpus_catalogue import published_loss
from ui import figures
from ui.access import accounts, visitors
from ui.access.owners import shared
from ui.choices.held_out_corpus import corpus_name
from ui.components.run_curves import MOST_RUNS, show_curves
from ui.page.presentation import settings
from ui.state.caches import home
from ui.views.train.run_view import STATES, pace

MOST_SHOWN = 200
SIGNED_IN = ("What you start while signed in is yours in every browser where you sign in. What was started in this "
             "browser before is yours here, through a key that the browser keeps.")


def show_runs(page: str, *, dark: bool) -> None:
    """Show the list of runs, and the curves of those chosen."""
    _show_code(page)
    folders = find(home() / "runs")
    if not folders:
        folder = figures.markdown_text(str(home() / "runs"))
        st.info("No runs yet. Start one under New run" + (
            "." if shared() else f", or from a shell: any run in {folder} appears here."))
        return
    state, names = st.session_state, [folder.name for folder in folders]
    state[f"{page}_over"] = [name for name in state.get(f"{page}_over") or [] if name in names][:MOST_RUNS]
    under_way = any(progress(folder).under_way for folder in folders[:MOST_SHOWN])
    st.fragment(_list, run_every=2 * pace() if under_way else None)(page, folders[:MOST_SHOWN])
    if len(folders) > MOST_SHOWN:
        st.caption(f"The newest {MOST_SHOWN} of {len(folders):,} runs.")
    with settings(page, "choice"):
        left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.multiselect("Compare curves", names, key=f"{page}_over", max_selections=MOST_RUNS,
                     placeholder="Choose up to twelve runs")
    with right:
        wanted = st.selectbox("Watch one", ["", *names], key=f"{page}_watch_one", format_func=lambda name: name or "…")
        if wanted:
            state[f"{page}_run"] = wanted
            state[f"{page}_next_view"] = "watch"
            del state[f"{page}_watch_one"]
            st.rerun()
    chosen = [home() / "runs" / name for name in state[f"{page}_over"]]
    if not chosen:
        st.caption("Choose two or more runs to overlay their losses.")
        return
    st.fragment(_curves, run_every=pace() if any(progress(one).under_way for one in chosen) else None)(
        page, chosen, dark)


def _show_code(page: str) -> None:
    """Show a code that makes a visitor's runs theirs in another browser too."""
    if visitors.of_browser() is None:
        return
    state, key = st.session_state, f"{page}_code"
    with settings(page, "code"), st.popover("My runs in another browser", icon=":material/devices:"):
        st.markdown(SIGNED_IN if accounts.signed_in() else "This browser keeps the key to the runs you start.")
        st.markdown("A code passes the key to another browser. It works once, within five minutes, and whoever types "
                    "it can stop, rename and delete your runs.")
        st.button("Make a code", key=f"{page}_make_code",
                  on_click=lambda: state.update({key: visitors.code_to_move()}))
        if code := state.get(key):
            st.code(code, language=None)
        st.markdown("In the other browser, open the same popover and [type the code](./move) there.")


def _curves(page: str, chosen: list[Path], dark: bool) -> None:
    runs = [describe(folder) for folder in chosen]
    by_unit: dict[str, list[Run]] = {}
    for run in runs:
        by_unit.setdefault(f"nats per {unit_of(run.task)}", []).append(run)
    for unit, same_unit in by_unit.items():  # two units never share an axis
        if len(by_unit) > 1:
            st.header(f"Losses in {unit}", anchor=False)
        references = {published_loss(run.corpus) for run in same_unit}
        show_curves(f"{page}_all_{unit.rpartition(' ')[2]}", [run.folder for run in same_unit], dark=dark, unit=unit,
                    reference=references.pop() if len(references) == 1 else None)
    if len({(run.task, run.corpus) for run in runs}) > 1:
        st.caption("These runs use different texts or tokenizers, so their losses are not comparable.")


def _list(page: str, folders: list[Path]) -> None:
    runs = [describe(folder) for folder in folders]
    columns = ["run", "state", "step", "best held-out loss", "trained for", "what", "device", "started", "started by"]
    st.html(figures.plain_table(columns, [_row(run) for run in runs], label="Runs", numbers={2, 3}))


def _row(run: Run) -> list[str]:
    steps = f"{run.now.step:,}" + (f" of {run.now.steps:,}" if run.now.steps else "")
    what = " · ".join(filter(None, [run.corpus and corpus_name(run.corpus), run.shape]))
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started)) if run.started else ""
    by = "you" if visitors.theirs(run.owner) else "another visitor" if run.owner else "a shell"
    return [run.name, STATES[run.now.state], steps, "" if run.best is None else f"{run.best:.4f}",
            duration(run.seconds) if run.seconds else "", what, run.device or "", started, by]

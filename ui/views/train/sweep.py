"""Sweeps on the page: the values that are tried, the start of the runs, and the runs as a grid while they train."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.basics.formatting import how_many
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.settings.presets import preset as find_preset
from transformer.training import sweeps as library
from transformer.training.runs import Run, describe, settings_of
from transformer.training.sweeps import MOST_RUNS, MOST_SETTINGS, Sweep, check_cells, read_values, written
from ui import figures
from ui.access import owners, quotas, visitors
from ui.page.plain_text import say_error
from ui.page.presentation import chart_size, columns, enlarged, settings
from ui.page.text_limits import SETTINGS, taken
from ui.state.caches import curves, home
from ui.state.page_state import Kept, PageState
from ui.state.polling import pace, run_started
from ui.views.train.run_bar import STATES, open_sweep
from ui.views.train.run_check import find_faults, listed
from ui.views.train.run_table import TableState, act_on, drawn_again, open_run, show_actions, show_table, state_of
from ui.views.train.train_state import TrainState

MOST_OFFERED = 8  # sweeps, of which each has a button
FEW, MOST_ACROSS = 3, 6  # columns of a grid with room for all that is said of them, and for its numbers
FIRST = ("n_heads", "positions", "lr", "encoder_layers", "decoder_layers", "d_model", "d_ff", "dropout", "seed",
         "batch_tokens", "optimizer", "schedule", "norm_position", "activation", "label_smoothing", "warmup", "steps")
NEVER = {"task", "corpus", "languages", "pinned", "distill", "start_from", "tensorboard", "micro_tokens"}
EXAMPLES = {"n_heads": "1, 2, 4", "positions": "sinusoidal, none", "lr": "0.0003, 0.001, 0.003", "seed": "1, 2, 3",
            "dropout": "0, 0.1, 0.3", "optimizer": "adamw, muon", "norm_position": "pre, post"}
RESULTS = {"best": "best held-out loss", "accuracy": "accuracy", "exact": "whole answers"}  # fields of a run


class SweepState(PageState):
    """What is kept of this view."""

    sweep_shown: Kept[str | None] = Kept(None)  # the one whose runs may be ticked
    sweep_result: Kept[str] = Kept("")  # the kind of result that is shown, of RESULTS
    sweep_clicks = Kept(0)  # another number is other pictures, in which nothing is clicked


@dataclass(frozen=True)
class Grid:
    """The runs of a sweep in rows and columns, with their names."""

    rows: list[str]
    across: list[str]
    runs: list[Run | None]  # row by row; None: deleted
    names: list[str]  # of the runs where columns have none

    def lines(self, words: Sequence[str], *, between: str) -> list[list[str]]:
        """Words of each run by rows, after its name; the last places may be empty."""
        named = [f"{name}{between}{one}" if name else one for name, one in zip(self.names, words, strict=True)]
        named += [""] * (len(self.rows) * len(self.across) - len(named))
        return [named[at:at + len(self.across)] for at in range(0, len(named), len(self.across))]


@dataclass(frozen=True)
class Tried:
    """The values that a sweep is to try. faults: why it cannot; place: beside the values, for what they make."""

    values: dict[str, list[object]]
    faults: list[str]
    place: DeltaGenerator

    def __bool__(self) -> bool:
        return bool(self.values or self.faults)


def choose_sweep(page: str, preset: str, settings: Mapping[str, object]) -> Tried:
    """Show the part of the form in which several values are tried; says on the spot why some make no run."""
    with st.expander("Try several values", key=f"{page}_sweep_box"):
        st.caption(f"Trains one model for each value, or for each pair of values of two settings; at most {MOST_RUNS}.")
        texts = []
        for number in range(MOST_SETTINGS):
            left, right = st.columns([1, 2], vertical_alignment="bottom")
            name = left.selectbox("and" if number else "Setting", _offered(), index=None, placeholder="a setting",
                                  key=f"{page}_sweep_setting_{number}")
            typed = taken(right.text_input(
                "Values", key=f"{page}_sweep_values_{number}", disabled=not name,
                placeholder=EXAMPLES.get(name or "n_heads", "two or more, with commas between them")), SETTINGS)
            if name and typed.strip():
                texts.append(f"{name}={typed}")
        place = st.container()
        if not texts:
            return Tried({}, [], place)
        try:
            values = read_values(texts)
            check_cells(find_preset(preset), settings, values)
        except ValueError as error:
            say_error(str(error))
            return Tried({}, [str(error)], place)
        faults = list(dict.fromkeys(fault for cell in library.cells_of(values)
                                    for fault in _faults(preset, {**settings, **cell})))
        if faults:
            st.error(listed("These cannot be trained:", faults))
    return Tried(values, faults, place)


def runs_made(name: str, values: dict[str, list[object]], *, device: str) -> str:
    """A sentence on the runs of a sweep: how many, where they train, and their names. Raises ValueError for a name that
    no run can have."""
    names = library.run_names(free_name(home() / "runs", name, values), values)
    where = "" if device == "cluster" else f", one after another on {device}"
    return f"Makes {len(names)} runs{where}: {names[0]} to {names[-1]}."


def _offered() -> list[str]:
    """The settings that can be tried, those that teach most first."""
    names = [name for name in (*ModelConfig.model_fields, *TrainConfig.model_fields) if name not in {*NEVER, *FIRST}]
    return [*FIRST, *sorted(names)]


def _faults(preset: str, settings: dict[str, object]) -> list[str]:
    """Why a visitor can have no run of these settings, a sentence each."""
    config = find_preset(preset)
    faults = find_faults(config, settings) or quotas.run_faults(config.set(settings).train)
    refused = owners.refuse_training(owners.me(), {"corpus": config.train.corpus} | settings)
    return faults + ([refused] if refused else [])


def start_sweep(page: str, name: str, preset: str, settings: dict[str, object], values: Mapping[str, Sequence[object]],
                arguments: list[str], *, devices: tuple[str, ...], processes: int, cluster: bool) -> str:
    """Start the runs of a sweep for this visitor; returns its name, which has a number where runs have those names
    already. The page then shows it.

    Raises ValueError, before any run starts, for what a visitor may not train, and for a quota that it would exceed.
    """
    runs = home() / "runs"
    owners.require("start")
    quotas.check_runs()
    for cell in library.cells_of(values):
        owners.require_training({"corpus": find_preset(preset).train.corpus, **settings, **cell})
        if faults := _faults(preset, {**settings, **cell}):
            raise ValueError(f"{library.said(cell)}: {faults[0]}")
    name = free_name(runs, name, values)
    library.start(runs, name, values, arguments, devices=devices, processes=processes, cluster=cluster,
                  owner=visitors.owner(), minutes=quotas.minutes_left(runs / name), **quotas.run_limits())
    for _ in library.cells_of(values):
        run_started(preset)
    TrainState(page).sweep, TrainState(page).next_view = name, "sweep"
    return name


def free_name(runs: Path, name: str, values: Mapping[str, Sequence[object]]) -> str:
    """The name, or the first of name-2, name-3, ... that no sweep has, and of which no run is called."""
    there, free, number = {one.name for one in library.sweeps(runs)}, name, 1
    while free in there or library.taken(runs, library.run_names(free, values)):
        number += 1
        free = f"{name[:40]}-{number}"
    return free


def show_sweeps(page: str) -> bool:
    """Show a button for each of the newest sweeps; returns whether there are any."""
    found = library.sweeps(home() / "runs")[:MOST_OFFERED]
    if found:
        with settings(page, "sweeps"), st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Sweeps", width="content")
            for sweep in found:
                st.button(figures.markdown_text(sweep.name), key=f"{page}_to_sweep_{sweep.name}",
                          icon=":material/grid_view:", on_click=open_sweep, args=[page, sweep.name])
    return bool(found)


def show_sweep(page: str, name: str, *, dark: bool) -> None:
    """Show the runs of a sweep: a grid of their curves, their results, and a table in which they are opened and
    stopped."""
    drawn_again(page)  # it is now
    sweep = next((one for one in library.sweeps(home() / "runs") if one.name == name), None)
    if sweep is None:
        if name:
            say_error(f"There is no sweep {name}. Its runs may have been deleted.")
        if not show_sweeps(page):
            st.info("No sweeps yet. Start one with New run…, under Try several values.")
        return
    state = SweepState(page)
    if state.sweep_shown != name:
        state.sweep_shown, TableState(f"{page}_sweep").ticked = name, []
    under_way = any(describe(folder).now.under_way for folder in sweep.folders.values())
    st.fragment(_live, run_every=2 * pace() if under_way else None)(page, sweep, under_way, dark)


def _live(page: str, sweep: Sweep, was_under_way: bool, dark: bool) -> None:
    """All of a sweep, drawn again while a run of it is under way."""
    cells = [describe(folder) if (folder := sweep.folder(cell)) and folder.is_dir() else None for cell in sweep.cells]
    runs = {run.name: run for run in cells if run}
    going = [run for run in runs.values() if run.now.under_way]
    if drawn_again(page) or bool(going) != was_under_way:
        st.rerun()
    _show_heading(page, sweep, list(runs.values()), going)
    grid = _arranged(sweep, cells)
    left, right = columns(page, [3, 2], gap="large")
    with left:
        _show_curves(page, grid, dark)
    with right:
        _show_results(page, grid, dark)
    table = TableState(f"{page}_sweep")
    before = [one for one in table.ticked if one in runs]
    table.ticked = show_table(table.page, page, list(runs.values()),
                              {run.name: settings_of(run.folder) for run in runs.values()}, before)
    if chosen := [runs[one] for one in table.ticked if one in runs]:
        show_actions(f"{page}_sweep", page, chosen)


def _show_heading(page: str, sweep: Sweep, runs: Sequence[Run], going: Sequence[Run]) -> None:
    counts = Counter(run.now.state for run in runs)
    tried = " × ".join(f"{setting} {', '.join(map(written, values))}" for setting, values in sweep.values.items())
    standing = ", ".join(f"{counts[name]} {title.lower()}" for name, title in STATES.items() if name in counts)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(figures.markdown_text(sweep.name), anchor=False, width="content")
        st.caption(figures.markdown_text(f"{tried} · {how_many(len(runs), 'run')}: {standing}"), width="content")
        # the last first, so that none has its turn because another was stopped
        may = [run.name for run in reversed(going) if owners.allowed("stop", owners.run_thing(run.folder))]
        if may:
            with settings(page, "sweep_stop_all"):
                st.button("Stop all", key=f"{page}_sweep_stop_all", icon=":material/stop:", on_click=act_on,
                          args=[page, "stop", may], help="Each saves first and can be resumed.")


def _arranged(sweep: Sweep, runs: Sequence[Run | None]) -> Grid:
    """A row for each value of the first setting, a column for each of the second. Where that is too wide it is turned
    over; the values of one setting are broken into rows of the same length."""
    *first, across = [(setting, [written(value) for value in values]) for setting, values in sweep.values.items()]
    wide, none = len(across[1]), [""] * len(runs)
    if not first and wide > MOST_ACROSS:
        tall = ceil(wide / MOST_ACROSS)
        return Grid([""] * tall, [""] * ceil(wide / tall), list(runs), _named(across))
    if not first:
        return Grid([""], _named(across), list(runs), none)
    (down,) = first
    if wide > max(MOST_ACROSS, len(down[1])):
        return Grid(_named(across), _named(down), [run for at in range(wide) for run in runs[at::wide]], none)
    return Grid([f"{down[0]} {value}" for value in down[1]], _named(across), list(runs), none)


def _named(setting: tuple[str, list[str]]) -> list[str]:
    """The values of a setting, all with its name, or the first alone where they are many."""
    name, values = setting
    return [f"{name} {value}" if len(values) <= FEW or not at else value for at, value in enumerate(values)]


def _show_curves(page: str, grid: Grid, dark: bool) -> None:
    panels = [_panel(run, short=len(grid.across) > FEW) for run in grid.runs]
    words = grid.lines([panel.words for panel in panels], between=" · ")
    drawn = iter(panels)
    rows = [[replace(next(drawn, figures.Panel("", exists=False)), words=one) for one in row] for row in words]
    last = max([run.now.steps or run.now.step for run in grid.runs if run], default=0) or 1
    figure = figures.sweep_curves(rows, grid.rows, grid.across, last=last, title="Losses over the steps", dark=dark,
                                  source="bold: held out; thin: training; a click opens the run")
    key = f"{page}_sweep_curves_{SweepState(page).sweep_clicks}"
    event = st.plotly_chart(enlarged(page, figure), key=key, on_select="rerun", selection_mode="points",
                            config=figures.PLOTLY_CONFIG, **chart_size(page, 0.7),
                            alt=figures.describe_sweep(words, grid.rows, grid.across, what="Losses of a sweep"))
    _open_clicked(page, event, grid.runs)


def _panel(run: Run | None, *, short: bool) -> figures.Panel:
    if run is None:
        return figures.Panel("deleted", exists=False)
    known = curves(run.folder)
    known.update()
    _, points = known.new({})
    training, held_out = points["train"], points["held_out"]
    result = f"{run.best:.3f}" if run.best is not None else ""
    words = result if short and run.now.state == "finished" else " · ".join(filter(None, (state_of(run), result)))
    return figures.Panel(words, (training["step"].tolist(), training["loss"].tolist()),
                         (held_out["step"].tolist(), held_out["validation_loss"].tolist()))


def _show_results(page: str, grid: Grid, dark: bool) -> None:
    kinds = [kind for kind in RESULTS if any(run and getattr(run, kind) is not None for run in grid.runs)]
    if not kinds:
        return
    kind, state = kinds[0], SweepState(page)
    if len(kinds) > 1:
        if state.sweep_result not in kinds:
            state.sweep_result = kinds[1]
        with settings(page, "sweep_result"):
            st.segmented_control("Result", kinds, format_func=RESULTS.__getitem__,
                                 key=SweepState.sweep_result.key(page), required=True, label_visibility="collapsed")
        kind = state.sweep_result
    found = [getattr(run, kind) if run else None for run in grid.runs]
    said = ["–" if value is None else f"{value:.4f}" if kind == "best" else f"{value:.1%}" for value in found]
    words = grid.lines(said, between="\n")
    values = np.full((len(grid.rows), len(grid.across)), np.nan)
    values.flat[:len(found)] = [np.nan if value is None else value for value in found]
    best = float((np.nanmin if kind == "best" else np.nanmax)(values))
    title = RESULTS[kind].capitalize()
    figure = figures.sweep_results(values, words, grid.rows, grid.across, down="", across="", best=best, title=title,
                                   dark=dark, limits=None if kind == "best" else (0.0, 1.0),
                                   source=f"{'lighter' if dark else 'darker'}: higher; outlined: the best")
    key = f"{page}_sweep_results_{kind}_{state.sweep_clicks}"
    event = st.plotly_chart(enlarged(page, figure), key=key, on_select="rerun", selection_mode="points",
                            config=figures.PLOTLY_CONFIG, **chart_size(page, 0.5),
                            alt=figures.describe_sweep(words, grid.rows, grid.across, what=title))
    _open_clicked(page, event, grid.runs)


def _open_clicked(page: str, event: object, cells: Sequence[Run | None]) -> None:
    """Open the run whose panel or cell was clicked."""
    number = figures.picked_number(event)
    if number is not None and number < len(cells) and (run := cells[number]):
        SweepState(page).sweep_clicks += 1  # so that no click is left over
        open_run(page, run.name)
        st.rerun()

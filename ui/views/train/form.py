"""The form of a new run: task, preset, corpus, device, sizes, and the button that starts it."""

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import orjson
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.basics.formatting import how_many
from transformer.jobs import checks, ray_cluster
from transformer.jobs.launch import check_limit, launch, prepare
from transformer.settings.config import ModelConfig, RunConfig, TrainConfig, read_settings
from transformer.settings.presets import ABOUT, PRESETS, preset
from transformer.settings.task import LEARNED
from transformer.text.corpora import is_available
from transformer.text.lines import lines_of
from transformer.training.memory_size import check_least
from transformer.training.runs import LONGEST_NAME, check_name, free_name
from transformer.training.sweeps import cells_of, written
from ui.access import owners, quotas, visitors
from ui.figures import markdown_text
from ui.page.plain_text import say_error
from ui.page.text_limits import PINNED, SETTINGS, taken
from ui.state.caches import home
from ui.state.page_state import Kept, PageState
from ui.state.polling import run_started
from ui.views.train.corpus_choice import choose_corpus
from ui.views.train.run_check import check_folder, find_faults, listed, show_check
from ui.views.train.sweep import Tried, choose_sweep, runs_made, start_sweep
from ui.views.train.train_state import TrainState

CLUSTER = "cluster"
MODEL = ("d_model", "n_heads", "encoder_layers", "decoder_layers", "d_ff", "max_len", "vocab_size", "dropout",
         "norm_position", "positions", "activation", "pooling")
TRAIN = ("steps", "batch_tokens", "lr", "warmup", "schedule", "optimizer", "label_smoothing", "eval_every",
         "save_every", "seed", "tensorboard")
HELP = {
    "d_model": "Width of every vector between the layers", "d_ff": "Width inside the feed-forward layer",
    "max_len": "Longest sequence, in tokens", "vocab_size": "Largest vocabulary of the tokenizer",
    "norm_position": "pre: before each sub-layer, which trains easily; post: after, as in the paper",
    "batch_tokens": "Positions in a batch, padding included",
    "warmup": "Steps until the learning rate reaches its peak",
    "lr": "Peak learning rate", "eval_every": "Steps between evaluations on held-out text",
    "save_every": "Steps between saves: at most this many are lost in a power cut",
    "label_smoothing": "Share of the target's probability spread over all other tokens",
    "accumulate": "Batches whose gradients are summed for one step",
    "tensorboard": "Also write TensorBoard events into the run's folder"}


class FormState(PageState):
    """What is kept of the name in the form."""

    name = Kept("")  # as it stands in its field
    named = Kept("")  # the same, which stays while another view is open
    named_for: Kept[str | None] = Kept(None)  # the preset that it was made of; None: the next is to be made


def show_form(page: str, *, dark: bool) -> None:
    """Show the form; the page then watches the run that starts. What starts it stands first, and what is rarely changed
    is folded."""
    first, start_place, messages = *st.columns([4, 5], vertical_alignment="bottom"), st.container()
    first.segmented_control("Task", list(LEARNED), format_func=lambda name: markdown_text(LEARNED[name].title),
                            key=TrainState.task.key(page), required=True)
    state = TrainState(page)
    task = state.task
    fitting = [name for name, config in PRESETS.items() if config.train.task == task]
    left, right = st.columns(2)
    with left:
        if state.preset not in fitting:
            state.preset = LEARNED[task].preset or fitting[0]
        name = st.selectbox("Model", fitting, key=TrainState.preset.key(page),
                            help="A preset is a complete configuration. Everything in it can be changed below.")
        st.caption(ABOUT[name])
    with right:
        corpus_settings = choose_corpus(f"{page}_{task}", task, default=PRESETS[name].train.corpus)
    config = PRESETS[name]
    settings, faults = _choose_settings(page, name, config)
    for key, value in corpus_settings.items():
        if value != getattr(config.train, key):
            settings.setdefault(key, value)
    pinned, wrong = _choose_pinned(page, task)
    if pinned:
        settings["pinned"] = pinned
    device, processes = _device(page)
    tried = choose_sweep(page, name, settings)
    faults += wrong + find_faults(config, settings) or quotas.run_faults(config.set(settings).train)
    if refusal := owners.refuse_training(owners.me(), {"corpus": config.train.corpus} | settings):
        faults.append(refusal)
    if settings.get("tensorboard") is True and not find_spec("tensorboard"):
        faults.append("TensorBoard is not installed here: pip install tensorboard, or switch it off. This page and "
                      "metrics.jsonl show the same numbers.")
    if faults:
        st.error(listed("This cannot be trained:", faults))
    else:
        st.caption(_summary(config.set(settings)))
    if not corpus_settings and "corpus" not in settings:
        st.info("Choose a corpus above.")
        faults.append("no corpus is chosen; choose one above")
    with start_place:
        _start_button(page, name, settings, device, processes, faults + tried.faults, tried, messages)
    _show_command(page, name, settings, device, processes, tried)
    st.header("Before it starts", anchor=False)
    show_check(page, name, settings, "cpu" if device == CLUSTER else device, faults=faults, dark=dark)


def _choose_settings(page: str, name: str, preset: RunConfig) -> tuple[dict[str, object], list[str]]:
    """Show the settings; returns those that differ from the preset, and what is wrong with lines of the text field."""
    values = {**preset.model.model_dump(), **preset.train.model_dump()}
    changed: dict[str, object] = {}
    with st.expander("Sizes and training", key=f"{page}_sizes"):
        for title, names in (("The model", MODEL), ("The training", TRAIN)):
            st.markdown(f"**{title}**")
            visible = [one for one in names if one != "pooling" or preset.model.pooling]
            for at in range(0, len(visible), 4):
                for column, one in zip(st.columns(4), visible[at:at + 4], strict=False):
                    with column:
                        value = _widget(f"{page}_{name}_{one}", one, values[one])
                    if value != values[one]:
                        changed[one] = value
        typed = taken(st.text_area(
            "Any other setting, one per line", key=f"{page}_{name}_other", height=100,
            placeholder="accumulate=4\ntie_embeddings=false", help="As key=value. There are " + ", ".join(sorted(
                {*ModelConfig.model_fields, *TrainConfig.model_fields} - {*MODEL, *TRAIN}))), SETTINGS)
    lines = [line.strip() for line in lines_of(typed) if line.strip()]
    wrong = [f"the line {line[:60]!r} has no '='; write one setting per line, as key=value" for line in lines
             if "=" not in line]
    pairs = ["=".join(part.strip() for part in line.split("=", 1)) for line in lines if "=" in line]
    return changed | read_settings(pairs), wrong


def _widget(key: str, name: str, value: Any) -> object:
    """The widget of one setting, by its type in the configuration."""
    field = ModelConfig.model_fields.get(name) or TrainConfig.model_fields[name]
    options: dict[str, Any] = {"key": key, "help": HELP.get(name)}
    label = name
    kinds = [one for one in get_args(field.annotation) if one is not type(None)] or [field.annotation]
    literal = next((one for one in [field.annotation, *kinds] if get_origin(one) is Literal), None)
    if literal is not None:
        choices = list(get_args(literal))
        return st.selectbox(label, choices, index=choices.index(value), **options)
    if isinstance(value, bool):
        return st.toggle(label, value, **options)
    if isinstance(value, int):
        return st.number_input(label, value=value, step=1, min_value=0, max_value=100_000_000, **options)
    return st.number_input(label, value=value, step=value / 10 or 0.05, min_value=0.0, max_value=10.0, format="%g",
                           **options)


def _choose_pinned(page: str, task: str) -> tuple[list[str], list[str]]:
    """Show the field for pinned sentences; returns them, each with its translation after a tab, and what is wrong with
    some."""
    with st.expander("Sentences to watch attention on", key=f"{page}_pinned_box"):
        st.caption("Up to four, one per line. Their attention is recorded throughout the training, to be replayed "
                   "later. " + {
                       "translation": "A sentence that is not in the corpus needs its translation after a | sign: the "
                                      "decoder is given the correct answer.",
                       "language-model": "The beginning of a text each.", "classification": "A text each."}[task]
                   + " Leave empty to have some chosen.")
        typed = taken(st.text_area(
            "Sentences", key=f"{page}_{task}_pinned", height=110, label_visibility="collapsed",
            placeholder="I am cold. | J'ai froid." if task == "translation" else "O Romeo, Romeo!"), PINNED)
    lines = [line.strip() for line in lines_of(typed) if line.strip()]
    if task != "translation":
        return lines, []
    parts = [[part.strip() for part in line.split("|", 1)] for line in lines]
    wrong = [f"sentence {place} to watch has nothing on one side of its | sign; write: sentence | translation"
             for place, one in enumerate(parts, start=1) if not all(one)]
    return ["\t".join(one) for one in parts if all(one)], wrong


def show_plan(page: str) -> None:
    """Show the choices of the form in a few lines, for a room."""
    state = TrainState(page)
    task = state.task
    fitting = [name for name, config in PRESETS.items() if config.train.task == task]
    if state.preset not in fitting:
        state.preset = LEARNED[task].preset or fitting[0]
    name = state.preset
    st.header("A new run", anchor=False)
    st.markdown(f"{markdown_text(LEARNED[task].title)} with the preset **{markdown_text(name)}**. "
                f"{markdown_text(ABOUT[name])}")
    st.markdown(_summary(PRESETS[name]))


def _summary(config: RunConfig) -> str:
    """The model and its training in one line."""
    model, train = config.model, config.train
    layers = " + ".join(f"{count} {stack}" for stack, count in model.stacks.items())
    return (f"{layers} layers · {how_many(model.n_heads, 'head')} · d_model {model.d_model:d} · "
            f"{how_many(train.steps, 'step')} of {train.batch_tokens * train.accumulate:,} positions · "
            f"{markdown_text(train.optimizer)}, peak learning rate {train.lr:g}")


def prepare_run() -> None:
    """Have a process ready, so that the next run of this visitor starts at once."""
    if owners.allowed("start"):
        prepare()


@cache
def devices() -> dict[str, str]:
    """The devices that this machine can train on: the name for --device, and a title."""
    titles = {f"cuda:{i}": torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())}
    if torch.backends.mps.is_available():
        titles["mps"] = "Apple GPU"
    return {**titles, "cpu": f"this computer's CPU, {os.cpu_count()} cores"}


def _device(page: str) -> tuple[str, int]:
    offered, address = dict(devices()), ray_cluster.offered_address()
    if address:
        offered[CLUSTER] = f"at {address}"
    box = st.expander("Device: this computer's CPU", key=f"{page}_device_box") if len(offered) == 1 else st.container()
    left, right = box.columns(2)
    with left:
        device = st.selectbox("Device", list(offered), key=f"{page}_device",
                              format_func=lambda name: f"{name} · {offered[name]}")
        if device == "cpu" and len(devices()) == 1:
            st.caption("No GPU was found here.")
    gpus = sum(name.startswith("cuda") for name in offered)
    most = {"cpu": os.cpu_count() or 1, CLUSTER: 64}.get(device, gpus or 1)
    with right:
        processes = 1
        if most > 1:
            processes = st.number_input("Processes", 1, min(most, 64), key=f"{page}_processes_{device.split(':')[0]}",
                                        help="They share each batch; one process per GPU.")
    if device == CLUSTER:
        st.caption("The run folder must be on a disk that the cluster sees under the same path. The check below runs "
                   "on this computer.")
    return device, int(processes)


def command(name: str, settings: dict[str, object], out: str, device: str, processes: int) -> str:
    """The shell command that starts the same run."""
    if device == CLUSTER:
        where = ["--cluster", "--processes", str(processes), "--out", out]
        return f"headsup train {shlex.join([*arguments(name, settings), *where])}"
    start = "headsup" if processes == 1 else f"torchrun --nproc-per-node {processes} -m transformer"
    where = ["--device", "cuda" if processes > 1 and device.startswith("cuda") else device]
    return f"{start} train {shlex.join([*arguments(name, settings), *where, '--out', out])}"


def arguments(name: str, settings: dict[str, object]) -> list[str]:
    """Preset and settings as `headsup train` takes them."""
    words = ["--preset", name]
    for key, value in settings.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        words += ["--set", f"{key}={text}"]
    return words


def devices_used(device: str, processes: int) -> tuple[str, ...]:
    """The devices that a run keeps from others."""
    if processes == 1 or not device.startswith("cuda"):
        return (device,)
    return tuple([name for name in devices() if name.startswith("cuda")][:processes])


def _start_button(page: str, name: str, settings: dict[str, object], device: str, processes: int, faults: list[str],
                  tried: Tried, messages: DeltaGenerator) -> None:
    """The name and the button, in a row; what is wrong goes into `messages`, below which the form stands."""
    state, runs = FormState(page), home() / "runs"
    if state.named_for != name:
        state.named_for, state.name = name, free_name(runs, name)
    elif not FormState.name.known(page):  # Streamlit dropped it while another view was open
        state.name = state.named
    failed = not faults and device != CLUSTER and checks.failure(check_folder(name, settings, device)) is not None
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    state.named = left.text_input(
        "Name of the sweep" if tried else "Name of the run", key=FormState.name.key(page),
        help=f"Up to {LONGEST_NAME} letters from a to z, digits, dots, hyphens and underscores, beginning with a "
             "letter or digit.")
    right.button("Start", key=f"{page}_start", icon=":material/play_arrow:", type="primary", width="stretch",
                 on_click=_start, args=[page, name, settings, device, processes, faults, tried.values],
                 disabled=failed or not owners.allowed("start"))
    with messages:
        if refused := TrainState.start_refused.pop(page):
            st.error(listed("Not started:", refused))
        elif wrong := _wrong_name(runs, state.name):
            say_error(wrong)
        elif tried.values:
            tried.place.caption(markdown_text(runs_made(state.name, tried.values, device=device)))
        if failed:
            st.caption("The check failed, so the run cannot start. Change what the check names, or check again.")
        if refused := owners.refusal(owners.me(), "start"):
            st.warning(f"{markdown_text(refused)}. Runs already under way are not affected.")
        elif quotas.quotas_apply():
            st.caption(markdown_text(quotas.summary()))


def _show_command(page: str, name: str, settings: dict[str, object], device: str, processes: int,
                  tried: Tried) -> None:
    """The same run as a shell command."""
    with st.expander("The same as a command", key=f"{page}_shell"):
        runs = home() / "runs"
        out = runs / (FormState(page).name.strip() or name)
        line = command(name, settings, _short(runs if tried.values else out), device, processes)
        line += "".join(f" --sweep {shlex.quote(f'{setting}=' + ','.join(map(written, values)))}"
                        for setting, values in tried.values.items())
        st.code(owners.without_home(line), language="bash", wrap_lines=True)
        st.caption("A run in that folder appears here, wherever it was started.")


def _wrong_name(runs: Path, typed: str) -> str | None:
    """Why no run can have this name; None if one can."""
    try:
        run = check_name(typed)
    except ValueError as error:
        return str(error)
    return f"there is a run {run} already; choose another name" if (runs / run).exists() else None


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _cannot_start(name: str, settings: dict[str, object], device: str, processes: int) -> list[str]:
    """Why this computer cannot train a run that its settings allow, a sentence each; a cluster checks for itself."""
    if device == CLUSTER:
        return []
    config, reasons = preset(name).set(settings), []
    if not is_available(config.train.corpus):
        reasons.append(f"the file {config.train.corpus} is not on this computer; choose another")
    try:
        check_least(config, torch.device(device), processes=processes)
    except ValueError as error:
        reasons.append(str(error))
    failed = checks.failure(check_folder(name, settings, device))
    return reasons or ([f"its check failed: {failed}"] if failed else [])


def start(page: str, name: str, settings: dict[str, object], device: str, processes: int = 1, *, run: str,
          faults: Sequence[str] = ()) -> bool:
    """Start a run, and have the page show it; returns whether it has started, and else keeps why not for the page.

    faults: what is known to be wrong with its settings.
    """
    state = TrainState(page)
    try:
        owners.require("start")
        owners.require_training({"corpus": PRESETS[name].train.corpus} | settings)
        quotas.check_runs()
        wrong = _wrong_name(home() / "runs", run)
        if faults := [*(faults or _cannot_start(name, settings, device, processes)), *([wrong] if wrong else [])]:
            state.start_refused = faults
            return False
        folder = home() / "runs" / check_name(run)
        owner, minutes = visitors.owner(), quotas.minutes_left(folder)
        if device == CLUSTER:
            check_limit(folder.parent, owner, **quotas.run_limits())
            ray_cluster.submit(folder, arguments(name, settings) + (["--minutes", str(minutes)] if minutes else []),
                           processes=processes, owner=owner)
        else:
            launch(folder, arguments(name, settings), devices=devices_used(device, processes), processes=processes,
                   owner=owner, minutes=minutes, **quotas.run_limits())
    except (ValueError, OSError) as error:
        state.start_refused = [str(error)]
        return False
    run_started(name)
    state.run = state.started = folder.name
    state.view = "watch"
    FormState(page).named_for = None
    return True


def _start(page: str, name: str, settings: dict[str, object], device: str, processes: int,
           faults: list[str], tried: Mapping[str, Sequence[object]]) -> None:
    state, typed = TrainState(page), FormState(page).name
    if not tried:
        start(page, name, settings, device, processes, run=typed, faults=faults)
        return
    try:
        faults = faults or list(dict.fromkeys(reason for cell in cells_of(tried) for reason in _cannot_start(
            name, settings | cell, device, processes)))
        if faults:
            state.start_refused = faults
            return
        start_sweep(page, check_name(typed), name, settings, tried, arguments(name, settings),
                    devices=devices_used(device, processes), processes=processes, cluster=device == CLUSTER)
    except (ValueError, OSError) as error:
        state.start_refused = [str(error)]
        return
    FormState(page).named_for = None

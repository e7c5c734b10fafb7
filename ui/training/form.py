"""The form of a new run: task, preset, corpus, device, sizes, and the button that starts it."""

import os
import shlex
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args, get_origin

import orjson
import streamlit as st
import torch

from transformer.config import ModelConfig, RunConfig, TrainConfig, read_settings
from transformer.presets import PRESETS
from transformer.training import cluster
from transformer.training.launch import check_limit, launch
from transformer.training.runs import LONGEST_NAME, check_name, free_name
from ui import figures, owners
from ui.before import said, show_check
from ui.cluster import cluster_offered
from ui.corpus_choice import choose_corpus
from ui.resources import home

TASKS = {"translation": "Translate", "language-model": "Write", "classification": "Classify"}
ABOUT = {
    "paper-base": "Attention Is All You Need, the base model: 6 + 6 layers of 512. Wants a GPU.",
    "annotated": "The same with the norms before the sub-layers. Wants a GPU.",
    "postnorm-small": "Norms after the sub-layers, as in the paper, at a size for a laptop.",
    "word-level": "Whole words, lower-cased, with learned positions: the recipe of many first tutorials.",
    "translate": "The model that comes with Heads Up. A laptop takes an hour or two.",
    "gpt-lab": "A decoder with post-norm blocks and ReLU, by characters.",
    "gpt2": "The shape of the smallest GPT-2: 12 layers of 768. Wants a GPU.",
    "shakespeare": "The small GPT that comes with Heads Up. A laptop takes an hour.",
    "pooled-classifier": "An encoder, max-pooled over time. A laptop takes minutes.",
    "sentiment": "The smallest there is: one layer, a few sentences of your own.",
}
MODEL = ("d_model", "n_heads", "encoder_layers", "decoder_layers", "d_ff", "max_len", "vocab_size", "dropout", "norm",
         "positions", "activation", "pooling")
TRAIN = ("steps", "batch_tokens", "lr", "warmup", "schedule", "optimizer", "label_smoothing", "eval_every",
         "save_every", "seed", "tensorboard")
HELP = {
    "d_model": "Width of every vector between the layers", "d_ff": "Width inside the feed-forward part",
    "max_len": "The most tokens read at once", "vocab_size": "Pieces of the tokenizer, at most",
    "norm": "pre: before each sub-layer, which trains easily; post: after, as in the paper",
    "batch_tokens": "Positions read at once, padding included",
    "warmup": "Steps until the learning rate is at its peak",
    "lr": "Learning rate at its peak", "eval_every": "Steps between two measurements on held-out text",
    "save_every": "Steps between two saves: as many are lost if the power goes",
    "label_smoothing": "Share of the probability that the right token gives to all others",
    "accumulate": "Batches whose gradients are added up for one step",
    "tensorboard": "Write the metrics as TensorBoard events too, into the run's folder"}
PINNED = 4
CLUSTER = "cluster"
AT_ONCE = 3  # queued or training, for one owner


def show_form(page: str, *, dark: bool) -> None:
    """Everything from the task to the button; a run that starts is what the page then watches."""
    task = st.segmented_control("Task", list(TASKS), format_func=TASKS.get, key=f"{page}_task", required=True)
    fitting = [name for name, config in PRESETS.items() if config.train.task == task]
    left, right = st.columns(2)
    with left:
        if st.session_state.get(f"{page}_preset") not in fitting:
            st.session_state[f"{page}_preset"] = {"translation": "translate", "language-model": "shakespeare",
                                                  "classification": "pooled-classifier"}[task]
        name = st.selectbox("Model", fitting, key=f"{page}_preset",
                            help="A preset: a whole configuration with a name. Everything in it can be changed below.")
        st.caption(ABOUT[name])
    with right:
        corpus = choose_corpus(f"{page}_{task}", task)
    preset = PRESETS[name]
    settings = _settings(page, name, preset)
    if corpus is not None and corpus != preset.train.corpus:
        settings.setdefault("corpus", corpus)
    pinned = _pinned(page, task)
    if pinned:
        settings["pinned"] = pinned
    device, processes = _device(page)
    try:
        config = preset.set(settings)
        st.caption(_summary(config))
    except ValueError as error:
        st.error(figures.markdown_text(said(error)))
        return
    if corpus is None:
        st.info("Choose what it learns from above.")
        return
    if config.train.tensorboard and not find_spec("tensorboard"):
        st.error("TensorBoard is not installed here: pip install -r requirements/tensorboard.txt, or switch it off. "
                 "The curves on this page and metrics.jsonl have the same numbers.")
        return
    st.subheader("Before it starts", anchor=False)
    show_check(page, name, settings, "cpu" if device == CLUSTER else device, dark=dark)
    _start_button(page, name, config, settings, device, processes)


def _summary(config: RunConfig) -> str:
    """What is about to be trained, in one line."""
    model, train = config.model, config.train
    layers = " + ".join(f"{count} {side}" for side, count in (("encoder", model.encoder_layers), (
        "decoder", model.decoder_layers)) if count)
    return (f"{layers} layers · {model.n_heads} heads · d_model {model.d_model} · {train.steps:,} steps of "
            f"{train.batch_tokens * train.accumulate:,} positions · {train.optimizer}, peak learning rate {train.lr:g}")


def _settings(page: str, name: str, preset: RunConfig) -> dict[str, object]:
    """What is changed from the preset, by widgets for the settings one often turns and by text for all."""
    values = {**preset.model.model_dump(), **preset.train.model_dump()}
    changed: dict[str, object] = {}
    with st.expander("Sizes and training", key=f"{page}_sizes"):
        for title, names in (("The model", MODEL), ("The training", TRAIN)):
            st.markdown(f"**{title}**")
            shown = [one for one in names if one != "pooling" or preset.model.pooling]
            for at in range(0, len(shown), 4):
                for place, one in zip(st.columns(4), shown[at:at + 4], strict=False):
                    with place:
                        value = _widget(f"{page}_{name}_{one}", one, values[one])
                    if value != values[one]:
                        changed[one] = value
        typed = st.text_area("Any other setting, one a line", key=f"{page}_{name}_other", height=100, max_chars=4_000,
                             placeholder="accumulate=4\ntie_embeddings=false",
                             help="As on the command line. " + ", ".join(sorted(
                                 {*ModelConfig.model_fields, *TrainConfig.model_fields} - {*MODEL, *TRAIN})))
    try:
        return changed | read_settings([line.strip() for line in typed.splitlines() if line.strip()])
    except ValueError as error:
        st.error(figures.markdown_text(str(error)))
        st.stop()


def _widget(key: str, name: str, value: object) -> object:
    """The control of one setting, by the type that its configuration gives it."""
    field = ModelConfig.model_fields.get(name) or TrainConfig.model_fields[name]
    options = {"key": key, "help": HELP.get(name)}
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


def _pinned(page: str, task: str) -> list[str]:
    with st.expander("Sentences to watch attention on", key=f"{page}_pinned_box"):
        st.caption("Up to four, one a line. Their attention is recorded all along the training, to be moved through "
                   "afterwards. " + {
                       "translation": "A sentence that is not in the corpus needs its translation after a | sign, "
                                      "because the decoder is given the right answer.",
                       "language-model": "The beginning of a text each.", "classification": "A text each."}[task]
                   + " Without any, the run takes some of its own.")
        typed = st.text_area("Sentences", key=f"{page}_{task}_pinned", height=110, max_chars=2_000,
                             label_visibility="collapsed",
                             placeholder="I am cold. | J'ai froid." if task == "translation" else "O Romeo, Romeo!")
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    if task == "translation":
        lines = ["\t".join(part.strip() for part in line.split("|", 1)) for line in lines]
    if len(lines) > PINNED:
        st.error(f"{len(lines)} sentences to watch, at most {PINNED}; take some away")
        st.stop()
    return lines


@cache
def devices() -> dict[str, str]:
    """What this machine can train on: the name for --device, and what it is called."""
    found = {f"cuda:{i}": torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())}
    if torch.backends.mps.is_available():
        found["mps"] = "Apple GPU"
    return {**found, "cpu": f"this computer's processor, {os.cpu_count()} cores"}


def _device(page: str) -> tuple[str, int]:
    offered, address = dict(devices()), cluster_offered()
    if address:
        offered[CLUSTER] = f"at {address}"
    left, right = st.columns(2)
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
                                        help="They share each batch; on GPUs, one process each.")
    if device == CLUSTER:
        st.caption("The run folder has to be on a disk that the cluster sees under the same path. The check below runs "
                   "on this computer.")
    return device, int(processes)


def command(name: str, settings: dict[str, object], out: str, device: str, processes: int) -> str:
    """What does the same from a shell."""
    if device == CLUSTER:
        there = ["--cluster", "--processes", str(processes), "--out", out]
        return f"python -m transformer train {shlex.join([*arguments(name, settings), *there])}"
    start = "python -m" if processes == 1 else f"torchrun --nproc-per-node {processes} -m"
    where = ["--device", "cuda" if processes > 1 and device.startswith("cuda") else device]
    return f"{start} transformer train {shlex.join([*arguments(name, settings), *where, '--out', out])}"


def arguments(name: str, settings: dict[str, object]) -> list[str]:
    """Preset and settings as `python -m transformer train` takes them."""
    found = ["--preset", name]
    for key, value in settings.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        found += ["--set", f"{key}={text}"]
    return found


def used(device: str, processes: int) -> tuple[str, ...]:
    """The devices that a run keeps from others."""
    if processes == 1 or not device.startswith("cuda"):
        return (device,)
    return tuple([name for name in devices() if name.startswith("cuda")][:processes])


def _start_button(page: str, name: str, config: RunConfig, settings: dict[str, object], device: str,
                  processes: int) -> None:
    state, runs = st.session_state, home() / "runs"
    if state.get(f"{page}_named_for") != name:
        state[f"{page}_named_for"], state[f"{page}_name"] = name, free_name(runs, name)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.text_input("Name of the run", key=f"{page}_name", max_chars=LONGEST_NAME)
    right.button("Start", key=f"{page}_start", icon=":material/play_arrow:", width="stretch", on_click=_start,
                 args=[page, name, settings, device, processes],
                 disabled=not (owners.starting_allowed() or owners.is_teacher()))
    if not owners.starting_allowed():
        st.warning("The teacher has stopped new runs for now." + (
            " You can still start some." if owners.is_teacher() else " Runs under way go on."))
    with st.expander("The same from a shell", key=f"{page}_shell"):
        out = runs / (state[f"{page}_name"].strip() or name)
        st.code(command(name, settings, _short(out), device, processes), language="bash", wrap_lines=True)
        st.caption("A run in that folder looks the same here, wherever it was started.")


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _start(page: str, name: str, settings: dict[str, object], device: str, processes: int) -> None:
    state = st.session_state
    try:
        if not (owners.starting_allowed() or owners.is_teacher()):
            raise ValueError("the teacher has stopped new runs; ask them, or wait")
        run = check_name(state[f"{page}_name"])
        owners.my_key()
        folder, owner, limit = home() / "runs" / run, owners.owner(), None if owners.is_teacher() else AT_ONCE
        if device == CLUSTER:
            check_limit(folder.parent, owner, limit or 1_000)
            cluster.submit(folder, arguments(name, settings), processes=processes, owner=owner)
        else:
            launch(folder, arguments(name, settings), devices=used(device, processes), processes=processes,
                   owner=owner, limit=limit)
    except (ValueError, OSError) as error:
        state[f"{page}_refused"] = str(error)
        return
    state[f"{page}_run"], state[f"{page}_view"] = run, "watch"
    state[f"{page}_named_for"] = None

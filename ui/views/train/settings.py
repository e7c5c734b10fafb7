"""The settings of a new run: widgets for those that are often changed, and a text field for all others."""

from typing import Literal, get_args, get_origin

import streamlit as st

from transformer.config import ModelConfig, RunConfig, TrainConfig, read_settings
from ui.page.text_limits import PINNED, SETTINGS, taken

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


def choose_settings(page: str, name: str, preset: RunConfig) -> tuple[dict[str, object], list[str]]:
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
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    wrong = [f"the line {line[:60]!r} has no '='; write one setting per line, as key=value" for line in lines
             if "=" not in line]
    pairs = ["=".join(part.strip() for part in line.split("=", 1)) for line in lines if "=" in line]
    return changed | read_settings(pairs), wrong


def _widget(key: str, name: str, value: object) -> object:
    """The widget of one setting, by its type in the configuration."""
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


def choose_pinned(page: str, task: str) -> tuple[list[str], list[str]]:
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
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    if task != "translation":
        return lines, []
    parts = [[part.strip() for part in line.split("|", 1)] for line in lines]
    wrong = [f"sentence {place} to watch has nothing on one side of its | sign; write: sentence | translation"
             for place, one in enumerate(parts, start=1) if not all(one)]
    return ["\t".join(one) for one in parts if all(one)], wrong

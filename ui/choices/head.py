"""Choosers of attention kind, layer and head, for pages that draw a head among other things."""

import streamlit as st

from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.settings.config import Kind, ModelConfig
from ui.figures import Caption

MOST_BUTTONS = 8  # side by side on a phone; with more there is a list

# Names on pages, by folder, of checkpoints that come with the app; a translator is named by its languages.
PLAIN = {"write": "our Shakespeare model", "classify": "our model of who speaks"}


def head_in_range(page: str, config: ModelConfig) -> tuple[Kind, int, int]:
    """The chosen kind, layer and head, clamped to those of this model."""
    state = st.session_state
    if state.get(f"{page}_kind") not in config.kinds:
        state[f"{page}_kind"] = config.kinds[-1]
    kind = state[f"{page}_kind"]
    for name, count in (("layer", config.layers(kind)), ("head", config.n_heads)):
        state[f"{page}_{name}"] = min(int(state.get(f"{page}_{name}") or 0), count - 1)
    return kind, state[f"{page}_layer"], state[f"{page}_head"]


def head_controls(page: str, config: ModelConfig) -> None:
    """Draws the choosers, after `head_in_range`."""
    kind = st.session_state[f"{page}_kind"]
    counts = {"layer": config.layers(kind), "head": config.n_heads}
    with st.container(horizontal=True, gap="medium", width="content"):
        if len(config.kinds) > 1:
            st.segmented_control("Attention", config.kinds, key=f"{page}_kind", required=True, persist_state="session",
                                 format_func=str.capitalize)
        for name, count in counts.items():
            if count <= MOST_BUTTONS:
                st.segmented_control(name.capitalize(), range(count), key=f"{page}_{name}", required=True,
                                     persist_state="session")
            else:
                st.selectbox(name.capitalize(), range(count), key=f"{page}_{name}", width=110, persist_state="session")


def origin(ckpt: Checkpoint) -> str:
    """The origin of a figure: the checkpoint's id and training step."""
    return origin_of(ckpt.description)


def origin_of(about: Description) -> str:
    """The origin for a checkpoint whose weights have not been read."""
    return f"{about.id} · training step {'not recorded' if about.step is None else f'{about.step:,}'}"


def plain_name(ckpt: Checkpoint) -> str:
    """The name of a checkpoint on a page; the unique `origin` is in files, links and tooltips."""
    about = ckpt.description
    name = about.name
    if about.folder is None or about.folder.resolve().parent != (ROOT / "checkpoints").resolve():
        return name
    return f"our {'–'.join(about.languages)} model" if about.languages else PLAIN.get(name, name)


def caption_of(ckpt: Checkpoint, title: str, source: str = "", *, more: str = "") -> Caption:
    """The caption of a figure about a checkpoint. source: in place of its plain name; more: after its origin."""
    return Caption(title, source or plain_name(ckpt), origin(ckpt) + more)

"""Choosers of attention kind, layer and head, for pages that draw a head among other things."""

import streamlit as st

from transformer.analysis.ablation import Head
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.settings.config import Kind, ModelConfig
from ui.figures import Caption
from ui.state.page_state import Kept, PageState

MOST_BUTTONS = 8  # side by side on a phone; with more there is a list

# Names on pages, by folder, of checkpoints that come with the app; a translator is named by its languages.
PLAIN = {"write": "our Shakespeare model", "classify": "our model of who speaks"}


class HeadState(PageState):
    """The chosen head."""

    kind: Kept[Kind | None] = Kept(None)
    layer: Kept[int | None] = Kept(None)
    head: Kept[int | None] = Kept(None)


def head_in_range(page: str, config: ModelConfig) -> Head:
    """The chosen kind, layer and head, clamped to those of this model."""
    state = HeadState(page)
    kind = state.kind = state.kind if state.kind in config.kinds else config.kinds[-1]
    layer = state.layer = min(int(state.layer or 0), config.layers(kind) - 1)
    head = state.head = min(int(state.head or 0), config.n_heads - 1)
    return Head(kind, layer, head)


def head_controls(page: str, config: ModelConfig) -> None:
    """Draws the choosers, after `head_in_range`."""
    kind = HeadState(page).kind or config.kinds[-1]
    counts = {HeadState.layer: config.layers(kind), HeadState.head: config.n_heads}
    with st.container(horizontal=True, gap="medium", width="content"):
        if len(config.kinds) > 1:
            st.segmented_control("Attention", config.kinds, key=HeadState.kind.key(page), required=True,
                                 persist_state="session", format_func=str.capitalize)
        for part, count in counts.items():
            name, key = part.name.capitalize(), part.key(page)
            if count <= MOST_BUTTONS:
                st.segmented_control(name, range(count), key=key, required=True, persist_state="session")
            else:
                st.selectbox(name, range(count), key=key, width=110, persist_state="session")


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

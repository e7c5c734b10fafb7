"""The chosen model as a diagram: its blocks, the shapes between them, and a way into the attention of each layer."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from transformer.attention_view.heads import AttentionSource
from transformer.attention_view.message import Selection
from transformer.model.norms import NORMS
from ui import figures
from ui.components.attention_view import change_selection
from ui.components.scripts import HERE, component
from ui.figures.palette import ACCENT
from ui.page.presentation import presenting

_diagram = component("model_diagram", HERE / "diagram.js", '<div class="model-diagram"></div>')


def show_model(page: str, source: AttentionSource, selection: Selection) -> None:
    """The model in a box to open; a block clicked is what is shown next."""
    if presenting(page):
        return
    key = f"{page}_model"
    box = st.expander("The model", key=key, icon=":material/schema:", on_change="rerun",
                      expanded=bool(st.session_state.get(key)))
    if not box.open:
        return
    config, positions = source.ckpt.config, source.ckpt.model.positions
    sizes = {kind: len(source.axes(kind)[0]) for kind in source.kinds}
    facts = {"width": config.width, "embedded": positions.embedded, "attended": positions.attended,
             "norm": NORMS[config.norm_kind].title}
    diagram = figures.model_diagram(config.model_dump() | facts, source=sizes.get("encoder"),
                                    target=sizes.get("decoder"), outlined=(selection.kind, selection.layer))
    with box:
        _diagram(key=f"{page}_diagram", on_pick_change=partial(_picked, page),
                 data={"diagram": diagram, "alt": figures.describe_diagram(diagram), "accent": ACCENT,
                       "target": f"{page}_screen"})
        heads = (f"{config.n_heads} heads of {config.width} work side by side" if config.n_heads > 1 else
                 f"one head of {config.width} works")
        st.caption("Shapes are (batch, tokens, width) for this text at this step; "
                   f"{heads} in each attention. Thin lines past a block are what it is added "
                   "to. Click an attention to see it above; the one shown is outlined.")


def _picked(page: str) -> None:
    state, picked = st.session_state, st.session_state[f"{page}_diagram"].pick
    if not isinstance(picked, Mapping) or not {"kind", "layer"} <= picked.keys():
        return
    change_selection(page, kind=picked["kind"], layer=picked["layer"])
    if state.get(f"{page}_of") == "mean_all":  # which is of no one layer
        change_selection(page, of="head")

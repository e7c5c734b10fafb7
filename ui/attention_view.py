"""The attention of the step looked at: all heads of a kind to choose from, one of them large, and what explains it."""

from functools import partial

import numpy as np
import streamlit as st

from transformer.checkpoint import Checkpoint
from transformer.config import ModelConfig
from transformer.decoding import Step
from ui import figures

MEANING = {
    "encoder": "Encoder: each source token looks at all source tokens.",
    "decoder": "Decoder: each token written looks at itself and at those before it.",
    "cross": "Cross: each token written looks at the source tokens.",
}


def chosen_head(page: str, step: Step) -> tuple[str, int, int]:
    """Kind, layer and head as chosen, brought into the range that this checkpoint has."""
    return head_in_range(page, step.ckpt.config)


def head_in_range(page: str, config: ModelConfig) -> tuple[str, int, int]:
    """The same, where there is no step."""
    state = st.session_state
    if state.get(f"{page}_kind") not in config.kinds:
        state[f"{page}_kind"] = config.kinds[-1]
    kind = state[f"{page}_kind"]
    layers = config.encoder_layers if kind == "encoder" else config.decoder_layers
    for name, count in (("layer", layers), ("head", config.n_heads)):
        state[f"{page}_{name}"] = min(int(state.get(f"{page}_{name}") or 0), count - 1)
    return kind, state[f"{page}_layer"], state[f"{page}_head"]


def source_line(step: Step) -> str:
    """What every figure says of where it comes from."""
    return origin(step.ckpt)


def origin(ckpt: Checkpoint) -> str:
    """The same, where there is no step."""
    trained = ckpt.meta.get("step")
    return f"{ckpt.id} · training step {'not recorded' if trained is None else f'{trained:,}'}"


def choose_head(page: str, step: Step) -> None:
    """The choosers of kind, layer and head."""
    head_controls(page, step.ckpt.config)


def head_controls(page: str, config: ModelConfig) -> None:
    """The same, where there is no step; after `head_in_range`."""
    kind = st.session_state[f"{page}_kind"]
    layers = config.encoder_layers if kind == "encoder" else config.decoder_layers
    row = st.container(horizontal=True, gap="medium")
    with row:
        if len(config.kinds) > 1:
            st.segmented_control("Attention", config.kinds, key=f"{page}_kind", required=True, persist_state="session",
                                 format_func=str.capitalize)
        st.segmented_control("Layer", range(layers), key=f"{page}_layer", required=True, persist_state="session")
        st.segmented_control("Head", range(config.n_heads), key=f"{page}_head", required=True, persist_state="session")


def show_attention(page: str, step: Step, weights: np.ndarray, *, dark: bool) -> None:
    """One head large, and all heads small to click; weights (layers, H, Tq, Tk) of the chosen kind."""
    kind, layer, head = (st.session_state[f"{page}_{name}"] for name in ("kind", "layer", "head"))
    queries, keys = step.axes(kind)
    mask, source = step.mask(kind).numpy(), source_line(step)
    one = weights[layer, head]
    title = f"{kind.capitalize()} attention, {figures.head_label(layer, head)}"
    figure = figures.attention_heatmap(one, queries, keys, title=title, source=source, mask=mask,
                                       newest=kind != "encoder", dark=dark)
    st.plotly_chart(figure, key=f"{page}_heatmap", config=figures.PLOTLY_CONFIG,
                    alt=figures.describe_attention(one, queries, keys, newest=kind != "encoder"))
    st.caption(f"{MEANING[kind]} Each row adds up to 1; the scale says which colour is which weight. Attention shows "
               "where a head looks, not why the model decides.")
    grid = f"{page}_grid_{kind}_{layer}_{head}"
    st.plotly_chart(figures.head_grid(weights, kind=kind, selected=(layer, head), source=source, mask=mask, dark=dark),
                    key=grid, on_select=partial(_clicked, page, grid), selection_mode="points",
                    config=figures.PLOTLY_CONFIG,
                    alt=figures.describe_grid(weights, kind=kind, selected=(layer, head)))


def _clicked(page: str, grid: str) -> None:
    picked = figures.picked_head(st.session_state.get(grid))
    if picked is not None:
        st.session_state[f"{page}_layer"], st.session_state[f"{page}_head"] = picked


def show_details(page: str, step: Step, weights: np.ndarray, *, dark: bool) -> None:
    """The mask on these tokens, the positional encoding of these positions, and the chosen head's numbers."""
    kind, layer, head = (st.session_state[f"{page}_{name}"] for name in ("kind", "layer", "head"))
    queries, keys = step.axes(kind)
    mask, source = step.mask(kind).numpy(), source_line(step)
    tabs = st.tabs(["Mask", "Positions", "Numbers"], key=f"{page}_details", on_change="rerun")
    if tabs[0].open:
        with tabs[0]:
            figure = figures.mask_matrix(mask, queries, keys, title=f"Who may look at whom: {kind}", source=source,
                                         dark=dark)
            st.plotly_chart(figure, key=f"{page}_mask", config=figures.PLOTLY_CONFIG,
                            alt=figures.describe_mask(mask, queries, keys))
            st.caption("The causal mask: no token sees the ones after it, for when it was written they were not there "
                       "yet (Vaswani et al. 2017, section 3.2.3)." if kind == "decoder" else
                       "Every query may look at every key: with one sentence there is no padding to hide.")
    if tabs[1].open:
        with tabs[1]:
            _show_positions(page, step, kind, dark=dark)
    if tabs[2].open:
        with tabs[2]:
            if weights[layer, head].size > 10_000:
                st.info(f"{len(queries)} x {len(keys)} weights are too many for a table; hover over the picture for "
                        "each.")
            else:
                st.html(figures.attention_table(weights[layer, head], queries, keys, kind=kind, layer=layer, head=head,
                                                mask=mask, source=source))


def _show_positions(page: str, step: Step, kind: str, *, dark: bool) -> None:
    side = "src" if kind in ("encoder", "cross") else "tgt"
    tokens = step.axes(kind)[1]
    table = step.ckpt.model.position_table(len(tokens), side=side)
    positions = step.ckpt.config.positions
    if table is None:
        st.info("This model has no positional encoding: only the causal mask tells its tokens apart.")
        return
    encoding = table.numpy()
    what = {"sinusoidal": "Sines and cosines added to the embeddings (Vaswani et al. 2017, section 3.5): low "
                          "dimensions swing fast and tell neighbours apart, high ones slowly and tell near from far.",
            "learned": "Learned vectors added to the embeddings, one for each position.",
            "rotary": "Rotary positions turn queries and keys instead of adding to embeddings (Su et al. 2021); the "
                      "curves are the cosines of the angles that each pair of features is turned by."}[positions]
    width = encoding.shape[1]
    dims = st.multiselect("Dimensions", range(width), default=sorted({0, 1, width // 8, width // 4, width // 2}),
                          key=f"{page}_dimensions", max_selections=12)
    if not dims:
        st.info("Choose a dimension to see its curve.")
        return
    st.vega_lite_chart(figures.position_curves(encoding, dims, tokens=tokens, source=source_line(step), dark=dark,
                                               title=f"Positional encoding: {positions}"),
                       key=f"{page}_positions", alt=figures.describe_positions(encoding, dims))
    st.caption(what)

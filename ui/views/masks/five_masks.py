"""The five masks of a batch: one of them large, or all of them small."""

import streamlit as st
import torch

from transformer.analysis.masks import batch_masks
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.masks import apply_window
from transformer.settings.config import Kind
from ui import figures
from ui.choices.head import origin
from ui.page.presentation import chart_size, enlarged, presenting
from ui.views.masks.batch import PAGE, Batch

MASKS = {"target": "Target padding", "causal": "Causal", "decoder": "Target and causal", "source": "Source padding",
         "cross": "Cross", "all": "All, small"}
WINDOWED: dict[str, Kind] = {"source": "encoder", "decoder": "decoder"}  # a mask -> the attention whose window is drawn
BELOW = 0.74  # of the window's height, under the choosers of mask and pair while presenting
MEANINGS = {
    "target": "Target tokens attend to all target tokens that are not padding.",
    "causal": "A token sees itself and earlier tokens; later ones are what it has to predict.",
    "decoder": "Both combined: the mask of the decoder's self-attention.",
    "source": "The encoder: every token attends to every token that is not padding. Rows of padding are computed too, "
              "but nothing reads them.",
    "cross": "Decoder tokens attend to the source tokens that are not padding.",
    "all": "Every pair (down) under every mask (across). The causal mask is the same for all; the others depend on "
           "sentence length."}


def choose_mask() -> str:
    """Draws the chooser of a mask and returns one of MASKS."""
    st.segmented_control("Mask", list(MASKS), key=f"{PAGE}_mask", required=True, format_func=MASKS.__getitem__,
                         persist_state="session", label_visibility="collapsed")
    return st.session_state[f"{PAGE}_mask"]


def show_mask(ckpt: Checkpoint, batch: Batch, pair: int, name: str, *, dark: bool) -> None:
    """One mask of one pair, or all masks of all pairs."""
    masks = {key: mask.numpy() for key, mask in batch_masks(batch.src, batch.tgt, ckpt.config)._asdict().items()}
    if name == "all":
        small = {MASKS[key].lower(): masks[key] for key in MASKS if key in masks}
        grid = figures.mask_grid(small, batch.names, selected=pair, title="The whole batch", source=origin(ckpt),
                                 dark=dark)
        st.plotly_chart(enlarged(PAGE, grid), key=f"{PAGE}_batch", config=figures.PLOTLY_CONFIG, **chart_size(PAGE),
                        alt=figures.describe_mask_grid(small, batch.names, selected=pair))
        return
    mask, axes = masks[name][pair], batch.axes(name, pair)
    config, kind = ckpt.config, WINDOWED.get(name)
    if kind and config.window is not None:
        every = all(map(config.has_window, range(config.layers(kind))))
        if every:
            mask = in_window(torch.from_numpy(mask), ckpt, kind, 0).numpy()
        st.caption(f"{'Every layer has' if every else 'Some layers also have'} a window of {config.window:,} tokens"
                   + (", drawn here too." if every else ", drawn below with the head of such a layer."))
    matrix = figures.mask_matrix(mask, *axes, title="" if presenting(PAGE) else MASKS[name], dark=dark)
    st.plotly_chart(enlarged(PAGE, matrix, BELOW), key=f"{PAGE}_{name}_mask", config=figures.PLOTLY_CONFIG,
                    **chart_size(PAGE, BELOW), alt=figures.describe_mask(mask, *axes))


def in_window(mask: torch.Tensor, ckpt: Checkpoint, kind: Kind, layer: int) -> torch.Tensor:
    """A mask (Tq, Tk) within the window of a layer, where it has one."""
    window = ckpt.model.window(kind, *map(range, mask.shape), layer=layer)
    return mask if window is None else apply_window(mask, window.cpu())

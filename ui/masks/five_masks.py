"""The five masks of a batch, for one pair and for all."""

import streamlit as st

from transformer.analysis.masks import batch_masks
from transformer.checkpoint import Checkpoint
from ui import figures
from ui.head_choice import origin
from ui.masks.address import PAGE
from ui.masks.batch import Batch

NAMES = {"source": "source padding", "target": "target padding", "causal": "causal",
         "decoder": "target and causal", "cross": "cross"}
MEANINGS = {  # in the order of the page
    "target": "Target tokens attend to all target tokens that are not padding.",
    "causal": "A token sees itself and earlier tokens; later ones are what it has to predict.",
    "decoder": "Both combined: the mask of the decoder's self-attention. Padding is on the right, so the causal mask "
               "already hides it from real tokens.",
    "source": "Encoder. Every token attends to every token that is not padding. Rows of padding are computed too, but "
              "nothing reads them.",
    "cross": "Decoder tokens attend to the source tokens that are not padding."}


def show_masks(ckpt: Checkpoint, batch: Batch, pair: int, *, dark: bool) -> None:
    """Every mask of one pair, and all masks of all pairs, small."""
    source = origin(ckpt)
    masks = {name: mask.numpy() for name, mask in batch_masks(batch.src, batch.tgt, ckpt.config)._asdict().items()}
    places = [*st.columns(3), *st.columns(3)]
    for (name, meaning), place in zip(MEANINGS.items(), places, strict=False):
        mask, axes = masks[name][pair], batch.axes(name, pair)
        with place:
            st.plotly_chart(figures.mask_matrix(mask, *axes, title=NAMES[name].capitalize(), source=source, dark=dark),
                            key=f"{PAGE}_{name}_mask", config=figures.PLOTLY_CONFIG,
                            alt=figures.describe_mask(mask, *axes))
            st.caption(meaning)
    with places[-1]:
        small = {NAMES[name]: mask for name, mask in masks.items()}
        st.plotly_chart(figures.mask_grid(small, batch.names, selected=pair, title="The whole batch", source=source,
                                          dark=dark), key=f"{PAGE}_batch", config=figures.PLOTLY_CONFIG,
                        alt=figures.describe_mask_grid(small, batch.names, selected=pair))
        st.caption("Every pair (down) under every mask (across). The causal mask is the same for all; the others "
                   "depend on sentence length.")

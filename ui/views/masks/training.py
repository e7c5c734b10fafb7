"""What training without the causal mask teaches: to copy."""

from math import log

import numpy as np
import streamlit as st

from transformer.analysis.masks import DIGITS, LENGTH
from ui import figures
from ui.page.presentation import columns, enlarged, room
from ui.state.caches import chart, digit_runs
from ui.views.masks.address import PAGE


def show_training(*, dark: bool) -> None:
    """Two tiny decoders trained on random digits, with the causal mask and without: their losses and what leaks."""
    honest, cheat = digit_runs()
    left, right = columns(PAGE, 2)
    curves, weights = {"with the causal mask": honest.losses, "without it": cheat.losses}, cheat.weights.numpy()
    with left:
        st.vega_lite_chart(enlarged(PAGE, chart(
            figures.lines, curves, across="training step", up="nats per digit", first=1,
            title="Loss on unseen digits",
            source="one layer, one head, d_model 32, 12 random digits a row", zero=True, dark=dark,
            rules={figures.guessing_label(log(DIGITS)): log(DIGITS),
                   f"log 10 / 12 = {log(DIGITS) / LENGTH:.3f}: all but the last copied": log(DIGITS) / LENGTH})),
            key=f"{PAGE}_learned", **room(PAGE),
            alt=figures.describe_lines(curves, across="training step", up="nats per digit"))
    with right:
        figure = figures.attention_heatmap(
            weights, cheat.digits, cheat.digits, title="Trained without: each token attends to the next",
            newest=False, source="on an unseen row", dark=dark)
        st.plotly_chart(
            enlarged(PAGE, figure), key=f"{PAGE}_cheat", config=figures.PLOTLY_CONFIG, **room(PAGE),
            alt=figures.describe_attention(weights, cheat.digits, cheat.digits, newest=False))
    honest_end, cheat_end = (np.mean(run.losses[-20:]) for run in (honest, cheat))
    st.caption(f"Random digits cannot be predicted: no honest loss stays below log 10 = {log(DIGITS):.3f} nats, and "
               f"with the mask the last twenty steps average {honest_end:.3f}. Without it they average "
               f"{cheat_end:.3f}: the head copies the next digit, and only the last of a row is left to guess. When "
               "such a model generates, there is no next digit to copy.")

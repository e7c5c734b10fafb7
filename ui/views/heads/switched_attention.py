"""One head's attention on a text, with all heads as they are and with some switched."""

import numpy as np
import streamlit as st

from transformer.analysis.ablation import Head
from transformer.config import ModelConfig
from ui import figures
from ui.choices.head import head_controls, head_in_range, origin
from ui.views.heads.matrix_window import say_tokens, windowed
from ui.views.heads.switched_text import Both


def show_seen(page: str, both: Both, chosen: tuple[Head, ...], *, dark: bool) -> None:
    """A head's weights before and after, and their difference."""
    state, ckpt, pair, name = st.session_state, both.ckpt, both.readings, both.name
    if state.get(f"{page}_seen_layer") is None and state.get(f"{page}_seen_kind") is None:
        state[f"{page}_seen_kind"], state[f"{page}_seen_layer"], state[f"{page}_seen_head"] = _later(
            ckpt.config, chosen[0])
    kind, layer, head = head_in_range(f"{page}_seen", ckpt.config)
    st.markdown("On the tokens the unchanged model writes, read both ways." if both.change else
                "On this text, read both ways.")
    head_controls(f"{page}_seen", ckpt.config)
    (before, after), queries, keys, mask = windowed(
        [one.attentions[kind][layer, head].cpu().numpy() for one in pair], *pair[0].axes(kind),
        pair[0].mask(kind).numpy())
    say_tokens(queries, keys)
    which, newest = f"{kind.capitalize()}, {figures.head_label(layer, head)}", False
    for place, of, matrix, title in zip(st.columns(2, gap="large"), ("before", "after"), (before, after),
                                        ("unchanged", name), strict=True):
        with place:
            st.plotly_chart(
                figures.attention_heatmap(matrix, queries, keys, title=f"{which} · {title}", source=origin(ckpt),
                                          mask=mask, newest=newest, dark=dark),
                key=f"{page}_seen_{of}", config=figures.PLOTLY_CONFIG,
                alt=figures.describe_attention(matrix, queries, keys, newest=newest))
    if Head(kind, layer, head) in chosen:
        st.caption("This head is itself switched" + (
            ": it still computes its weights, but its output is discarded."
            if st.session_state[f"{page}_what"] == "off" else ": its weights are uniform."))
    if np.abs(after - before).max() < 1e-6:
        st.info("This head attends exactly as before. Only heads in later layers, or in the decoder after a change in "
                "the encoder, can be affected.")
        return
    left, right = st.columns(2, gap="large")
    left.plotly_chart(
        figures.difference_heatmap(after, before, queries, keys, names=("after", "before"), mask=mask, dark=dark,
                                   title=f"{which} · after minus before", source=origin(ckpt)),
        key=f"{page}_seen_difference", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_difference(after, before, queries, keys))
    with right, st.expander("The difference as a table", key=f"{page}_seen_table"):
        if before.size <= 2_500:
            st.html(figures.attention_table(after - before, queries, keys, kind=kind, layer=layer, head=head,
                                            source=f"After minus before. {origin(ckpt)}"))
        else:
            st.caption(f"{before.size:,} numbers are too many for a table; try a shorter text.")


def _later(config: ModelConfig, head: Head) -> Head:
    """A head that reads what this one writes, to begin with: the one above it, else itself."""
    return head._replace(layer=head.layer + 1) if head.layer + 1 < config.layers(head.kind) else head

"""The views that take one prediction apart, by name."""

import streamlit as st

from transformer.checkpoint import Checkpoint
from ui import figures
from ui.address import Field
from ui.heads import attribution, direct, lens, said
from ui.heads.attribution import show_attribution
from ui.heads.direct import show_direct
from ui.heads.lens import show_lens
from ui.heads.said import ask

VIEWS = {"lens": show_lens, "direct": show_direct, "attribution": show_attribution}


def prediction_fields() -> dict[str, Field]:
    """All that these views have in the address, but the text."""
    return {**said.FIELDS, **lens.FIELDS, **direct.FIELDS, **attribution.FIELDS}


def show_prediction(page: str, ckpt: Checkpoint, view: str, *, dark: bool) -> None:
    """Choose a prediction and show one of the views of it."""
    if not ckpt.config.decoder_layers and ckpt.config.head:
        name = figures.markdown_text(ckpt.id)
        does = ("fills in masked pieces of a text" if ckpt.config.head == "masked" else
                "turns a text into vectors and goes no further")
        st.info(f"The encoder {name} has no classes: it {does}. This view takes a decision apart, so it needs a "
                "classifier or a model that writes. What this model can be asked: **Roles** and **Switch off** above, "
                "and its attention on the page **Classify**.")
        return
    asked = ask(page, ckpt)
    if asked is not None:
        st.divider()
        VIEWS[view](page, asked, dark=dark)

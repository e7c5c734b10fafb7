"""The text that a view of the page on heads is about."""

import streamlit as st

from transformer.checkpoint import Checkpoint
from ui.texts import PASSAGE, taken

EXAMPLES = {  # by the attention kinds of a model
    ("encoder", "decoder", "cross"): ("An English sentence", "I like red wine."),
    ("decoder",): ("How the text begins", "ROMEO:\nO, she doth teach"),
    ("encoder",): ("A text", "Is she a Capulet?\nO dear account! my life is my foe's debt."),
}


def type_text(page: str, ckpt: Checkpoint) -> str:
    """The box for a text that this model reads -> what stands in it, an example until somebody typed."""
    state, key = st.session_state, f"{page}_text"
    label, example = EXAMPLES[ckpt.config.kinds]
    if ckpt.source_tokenizer is not None and ckpt.source_tokenizer.kind == "ids":
        example = " ".join(str(id % ckpt.source_tokenizer.vocab_size) for id in range(5, 10))
    # an example that nobody touched gives way to that of another sort of model
    if state.get(key) in (None, state.get(f"{page}_example")):
        state[key] = example
    state[f"{page}_example"] = example
    if ckpt.config.decoder_layers and ckpt.config.encoder_layers:
        return taken(st.text_input(label, key=key, placeholder="Type a sentence and press Enter"), PASSAGE)
    return taken(st.text_area(label, key=key, height=68, placeholder="Type a text and press Ctrl+Enter"), PASSAGE)

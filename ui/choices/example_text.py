"""A text for a model to read: an example to begin with, what to type, and the box for it."""

import streamlit as st

from transformer.checkpoint import Checkpoint
from ui.choices.languages import reads_examples, sides_of
from ui.figures import markdown_text
from ui.page.text_limits import PASSAGE, fill, taken

EXAMPLES = {  # by the task of a model
    "translation": "I like red wine.",
    "text": "ROMEO:\nO, she doth teach",
    "classes": "Is she a Capulet?\nO dear account! my life is my foe's debt."}
PLAIN = "The weather is cold today, so we stay at home."  # for an encoder of which nobody knows what it learned from


def example_of(ckpt: Checkpoint) -> str:
    """A text that a model can read, to begin with; empty where it reads another language than the examples."""
    if not ckpt.reads_text:
        return " ".join(str(id % ckpt.source_tokenizer.vocab_size) for id in range(5, 10))
    if not ckpt.config.decoder_layers and ckpt.meta.get("corpus") != "speakers":
        return PLAIN
    return EXAMPLES[ckpt.config.task] if reads_examples(ckpt) else ""


def label_of(ckpt: Checkpoint) -> str:
    """What to type for a model, as a label."""
    if ckpt.config.task == "translation":
        return markdown_text(sides_of(ckpt.description).sentence)
    return "How the text begins" if ckpt.config.decoder_layers else "A text"


def type_text(page: str, ckpt: Checkpoint, *, example: str | None = None) -> str:
    """The box for a text that this model reads -> what stands in it, an example until somebody typed."""
    key = f"{page}_text"
    fill(key, example_of(ckpt) if example is None else example)
    if ckpt.config.task == "translation":
        return taken(st.text_input(label_of(ckpt), key=key, placeholder="Type a sentence and press Enter"), PASSAGE)
    return taken(st.text_area(label_of(ckpt), key=key, height=68, placeholder="Type a text and press Ctrl+Enter"),
                 PASSAGE)

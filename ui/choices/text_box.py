"""The box for a text that a model reads: its label, its example, what it is read as, and how unfamiliar that is."""

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import opening_of
from transformer.evaluation.unfamiliar_text import describe_unfamiliar, read_as
from transformer.inference.decoding import Step
from transformer.text.sides import sides_of
from transformer.text.spelling import respell
from ui.figures import markdown_text
from ui.page.text_limits import PASSAGE, fill, taken
from ui.state.caches import usual
from ui.state.page_state import Kept, PageState


class TextState(PageState):
    """What is kept of the box: its text, as it was typed."""

    text: Kept[str | None] = Kept(None)


def example_of(ckpt: Checkpoint) -> str:
    """An example that a model can read; empty where it reads another language than the examples."""
    if not ckpt.reads_text:
        return " ".join(str(id % ckpt.source_tokenizer.vocab_size) for id in range(5, 10))
    examples = opening_of(ckpt.description).examples
    return examples[0].text if examples else ""


def label_of(ckpt: Checkpoint) -> str:
    """The label of the box: what to type for a model."""
    if ckpt.config.task == "translation":
        return markdown_text(sides_of(ckpt.description.languages).sentence)
    return "How the text begins" if ckpt.config.decoder_layers else "A text"


def type_text(page: str, ckpt: Checkpoint, *, example: str | None = None) -> str:
    """Draws the box for a text that this model reads and returns the text as it reads it, an example until somebody
    types."""
    key = TextState.text.key(page)
    fill(key, example_of(ckpt) if example is None else example)
    if ckpt.config.task == "translation":
        typed = taken(st.text_input(label_of(ckpt), key=key, placeholder="Type a sentence and press Enter"), PASSAGE)
    else:
        typed = taken(st.text_area(label_of(ckpt), key=key, height=68,
                                   placeholder="Type a text and press Ctrl+Enter"), PASSAGE)
    return as_learned(ckpt, typed, say=True)


def as_learned(ckpt: Checkpoint, typed: str, *, say: bool = False) -> str:
    """A text as this model learned to spell it. say: with a caption that says so, where no line will."""
    known = usual(ckpt)
    text, found = respell(typed, known.spellings) if known else (typed, {})
    if say and (words := read_as(found)):
        st.caption(markdown_text(words))
    return text


def place_of_line(page: str) -> DeltaGenerator:
    """The place of the line, in the gap under the box just drawn (shell.css), so that nothing moves when it appears."""
    return st.container(key=f"{page}_unlike")


def show_unlike(ckpt: Checkpoint, typed: str, *, last: Step | None = None) -> None:
    """The line, empty for a familiar text. last: as for `describe_unfamiliar`."""
    known = usual(ckpt)
    line = escape(describe_unfamiliar(known, typed, last=last)) if known else ""
    st.html(f'<p title="{line}">{line}</p>')

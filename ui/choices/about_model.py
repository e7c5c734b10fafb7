"""What a reader should know of a model before believing it: its size, what it was trained on, how good it is."""

import streamlit as st

from transformer.checkpoint import Checkpoint
from transformer.formatting import amount
from transformer.text.corpus_catalogue import find_source
from ui.choices.held_out_corpus import corpus_name
from ui.figures import markdown_text
from ui.page.presentation import presenting


def about_model(ckpt: Checkpoint) -> str:
    """One line of what the checkpoint's own files say; what they do not say is left out."""
    meta = ckpt.meta
    count = meta.get("parameters") or sum(weight.numel() for weight in ckpt.model.parameters())
    said = [f"{'A small model' if count < 1e8 else 'A model'}: {amount(count)} parameters"]
    name = (ckpt.description.train and corpus_name(ckpt.description.train.corpus)) or meta.get("corpus")
    if name:
        pairs = f"{meta['train_pairs']:,} pairs of " if isinstance(meta.get("train_pairs"), int) else ""
        source = find_source(name)
        said[0] += f", trained on {pairs}{source.title if source else name}"
    found = meta.get("metrics")
    found = found if isinstance(found, dict) else {}
    if isinstance(found.get("bleu"), float):
        said.append(f"BLEU {found['bleu']:.1f} on {found.get('n', 0):,} {found.get('split', 'held-out')} sentences")
    elif isinstance(found.get("bits_per_char"), float):
        said.append(f"On held-out text it needs {found['bits_per_char']:.2f} bits per character, so it spells well "
                    "but makes little sense")
    elif isinstance(meta.get("validation_loss"), float):
        said.append(f"Loss on held-out text: {meta['validation_loss']:.2f} nats per token")
    return ". ".join(said) + "."


def show_about(page: str, ckpt: Checkpoint) -> None:
    if not presenting(page):
        st.caption(markdown_text(about_model(ckpt)))

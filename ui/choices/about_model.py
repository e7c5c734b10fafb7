"""Facts about a model that readers should know before they believe it: its size, its training text, its quality."""

import streamlit as st

from transformer.basics.formatting import amount
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.text.corpus_catalogue import find_source
from ui.choices.held_out_corpus import corpus_name
from ui.figures import markdown_text
from ui.page.presentation import presenting


def about_model(ckpt: Checkpoint) -> str:
    """A line with the facts that the checkpoint's files have."""
    meta = ckpt.meta
    count = meta.get("parameters") or sum(weight.numel() for weight in ckpt.model.parameters())
    parts = [f"{'A small model' if count < 1e8 else 'A model'}: {amount(count)} parameters"]
    name = (ckpt.description.train and corpus_name(ckpt.description.train.corpus)) or meta.get("corpus")
    if name:
        pairs = f"{meta['train_pairs']:,} pairs of " if isinstance(meta.get("train_pairs"), int) else ""
        source = find_source(name)
        parts[0] += f", trained on {pairs}{source.title if source else name}"
    metrics = meta.get("metrics")
    metrics = metrics if isinstance(metrics, dict) else {}
    if isinstance(metrics.get("bleu"), float):
        people = metrics.get("bleu_human")
        beside = f"; a second human translation scores {people:.1f}" if isinstance(people, float) else ""
        parts.append(f"BLEU {metrics['bleu']:.1f} on {metrics.get('n', 0):,} {metrics.get('split', 'held-out')} "
                     f"sentences{beside}")
    elif isinstance(metrics.get("bits_per_char"), float):
        parts.append(f"On held-out text it needs {metrics['bits_per_char']:.2f} bits per character, so it spells well "
                    "but makes little sense")
    elif isinstance(meta.get("validation_loss"), float):
        parts.append(f"Loss on held-out text: {meta['validation_loss']:.2f} nats per token")
    return ". ".join(parts) + "."


def show_about(page: str, ckpt: Checkpoint) -> None:
    if not presenting(page):
        st.caption(markdown_text(about_model(ckpt)))

"""The batch of sentence pairs on Masks: its boxes, its padding, and the pair that is looked at."""

from dataclasses import dataclass

import streamlit as st
import torch

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.prompts import check_length
from transformer.text.batches import PairBatches
from transformer.text.sides import sides_of
from transformer.text.word_pieces import labelled
from ui import figures
from ui.page.plain_text import say_error
from ui.page.text_limits import SENTENCE, taken

PAGE, ROWS = "masks", 4
PAIRS = [("I am cold.", "J'ai froid."), ("Look.", "Regarde."), ("", ""), ("", "")]
EXAMPLES = {f"{side}{row + 1}": PAIRS[row][at]  # by the names of their fields
            for row in range(ROWS) for at, side in enumerate(("source", "target"))}
AXES = {"encoder": ("src", "src"), "source": ("src", "src"), "target": ("tgt", "tgt"), "causal": ("tgt", "tgt"),
        "decoder": ("tgt", "tgt"), "cross": ("tgt", "src")}  # an attention or a mask -> its queries, its keys


@dataclass(frozen=True)
class Batch:
    """B sentence pairs, padded to S source tokens and T target tokens."""

    names: list[str]  # the source sentences
    pairs: list[tuple[list[int], list[int]]]  # ids without special tokens
    src: torch.Tensor  # (B, S)
    tgt: torch.Tensor  # (B, T)
    labels: torch.Tensor  # (B, T)
    words: dict[str, list[list[str]]]  # src and tgt -> each row's pieces, padding included

    def lengths(self, pair: int) -> tuple[int, int]:
        """Source and target tokens of one pair that are not padding."""
        source, target = self.pairs[pair]
        return 1 + len(source), 1 + len(target)

    def axes(self, name: str, pair: int) -> tuple[list[str], list[str]]:
        """The queries and the keys of an attention or a mask."""
        queries, keys = (self.words[side][pair] for side in AXES[name])
        return queries, keys


def typed_batch(ckpt: Checkpoint, sentences: list[tuple[str, str]]) -> Batch | None:
    """The batch of the sentences; None, with a message on the page, where there is none."""
    config, sides = ckpt.config, sides_of(ckpt.description.languages)
    try:
        ids = [(ckpt.source_tokenizer.encode(source), ckpt.tokenizer.encode(target)) for source, target in sentences]
        pairs = [pair for pair in ids if all(pair)]
        for pair in pairs:
            check_length(1 + max(map(len, pair)), config.max_len)
        if config.pad_id is None or config.eos_id is None:
            raise ValueError("this model has no token for padding, or for the end of a sentence; choose another")
    except ValueError as error:
        say_error(error)
        return None
    if not pairs:
        st.info(f"Open *Your sentences* above. Type {figures.markdown_text(sides.typed)} and its translation there; "
                "two or more pairs of different lengths show what padding is for.")
        return None
    if any(any(pair) and not all(pair) for pair in ids):
        st.caption("Pairs with an empty side are left out.")
    names = [source.strip() for (source, _), pair in zip(sentences, ids, strict=True) if all(pair)]
    batch = PairBatches(pairs, batch_tokens=1_000_000, pad_id=config.pad_id, start_id=config.start_id,
                        eos_id=config.eos_id, seed=0).make(pairs)
    assert batch.src is not None and batch.tgt is not None
    words = {side: [labelled([tokenizer.piece(id) for id in row], tokenizer) for row in rows.tolist()]
             for side, tokenizer, rows in (("src", ckpt.source_tokenizer, batch.src),
                                           ("tgt", ckpt.tokenizer, batch.tgt))}
    return Batch(names, pairs, batch.src, batch.tgt, batch.labels, words)


def type_pairs(ckpt: Checkpoint) -> list[tuple[str, str]]:
    """Draws the boxes for pairs of sentences and returns their texts."""
    sides, sentences = sides_of(ckpt.description.languages), []
    for row in range(1, ROWS + 1):
        left, right = st.columns(2)
        labels = [f"{figures.markdown_text(side)} {row}" for side in (sides.source, sides.target)]
        with left:
            source = taken(st.text_input(labels[0], key=f"{PAGE}_source{row}", persist_state="session",
                                         placeholder=sides.sentence), SENTENCE)
        with right:
            target = taken(st.text_input(labels[1], key=f"{PAGE}_target{row}", persist_state="session",
                                         placeholder=sides.translation), SENTENCE)
        sentences.append((source, target))
    return sentences


def show_batch(batch: Batch) -> None:
    """The tokens that the encoder and the decoder read, with the padding."""
    pairs = range(len(batch.pairs))
    for at, (side, label, caption) in enumerate((
            ("src", "the source batch", "The encoder reads {} × {} tokens. Striped: padding"),
            ("tgt", "the target batch", "The decoder reads {} × {} tokens, from the start token on"))):
        words = batch.words[side]
        st.html(figures.batch_table(
            [str(pair + 1) for pair in pairs], words, [batch.lengths(pair)[at] for pair in pairs], label=label,
            caption=caption.format(len(pairs), len(words[0]))))


def choose_pair(batch: Batch) -> int:
    """Draws the chooser of a pair and returns its index."""
    state, count = st.session_state, len(batch.pairs)
    state[f"{PAGE}_pair"] = min(state[f"{PAGE}_pair"], count)
    names = [figures.markdown_text(figures.words_label(name, longest=24)) for name in batch.names]
    st.segmented_control("Pair", range(1, count + 1), key=f"{PAGE}_pair", required=True,
                         format_func=lambda pair: f"{pair} · {names[pair - 1]}", label_visibility="collapsed")
    return state[f"{PAGE}_pair"] - 1

"""Sentences to measure heads on, as ids, and the batches in which they are read.

B batch, S source length, T target length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer.basics.formatting import brief, how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.prompts import check_length
from transformer.settings.config import ModelConfig

LARGEST = 4_000_000  # weights of one kind of attention in a batch, all layers and heads: 16 MB


@dataclass(frozen=True)
class Sentence:
    """What the model reads, and what it should predict."""

    text: str  # as typed, or as it stands in the corpus
    target: str | None  # its translation, if it has one
    src: tuple[int, ...] | None  # what the encoder reads, its end token included
    tgt: tuple[int, ...] | None  # what the decoder reads
    labels: tuple[int, ...] | None  # what comes after each of tgt; or the one class
    references: tuple[str, ...] = ()  # all translations that count as right

    __repr__ = brief

    @property
    def tokens(self) -> int:
        """The number of labels that count."""
        return len(self.labels or ())


class Padded(NamedTuple):
    """Several sentences in one batch; padding stands on the right."""

    src: Tensor | None  # (B, S)
    tgt: Tensor | None  # (B, T)
    labels: Tensor | None  # (B, T), pad_id for labels that do not count; or (B,), classes
    real: Tensor | None  # (B, T), False for padding in tgt, whatever ids a target holds

    __repr__ = brief

    @property
    def target(self) -> tuple[Tensor, Tensor]:
        """What a decoder reads, and which of it is no padding."""
        assert self.tgt is not None and self.real is not None
        return self.tgt, self.real


def sentence_with_target(ckpt: Checkpoint, text: str, target: str, references: Sequence[str] = ()) -> Sentence:
    """A sentence and its translation, as in training: the source ends with EOS, the target starts with start_id."""
    config = ckpt.config
    src, tgt = ckpt.source_tokenizer.encode(text), ckpt.tokenizer.encode(target)
    if not src:
        raise ValueError("there is nothing to read; type a sentence")
    check_length(max(len(src), len(tgt)) + 1, config.max_len)
    assert ckpt.end_id is not None and config.eos_id is not None
    return Sentence(text, target, (*src, ckpt.end_id), (config.start_id, *tgt), (*tgt, config.eos_id),
                    tuple(references or (target,)))


def sentence_of_ids(ckpt: Checkpoint, ids: Sequence[int]) -> Sentence:
    """A piece of running text: each id but the last predicts the next."""
    if len(ids) < 3:
        raise ValueError(f"the text has {how_many(len(ids), 'token')}; at least 3 are needed for a head to have a "
                         "choice")
    check_length(len(ids) - 1, ckpt.config.max_len)
    text = ckpt.tokenizer.decode(ids[:-1]) if ckpt.tokenizer else " ".join(map(str, ids[:-1]))
    return Sentence(text, None, None, tuple(ids[:-1]), tuple(ids[1:]))


def sentence_with_class(ckpt: Checkpoint, text: str, label: str | None = None) -> Sentence:
    """A text to classify, cut to what the model reads, and its class if the model knows it."""
    ids = ckpt.source_tokenizer.encode(text)[:ckpt.config.max_len]
    if not ids:
        raise ValueError("there is nothing to read; type a sentence")
    return Sentence(text, None, tuple(ids), None, (ckpt.classes.index(label),) if label in ckpt.classes else None)


def read_texts(ckpt: Checkpoint, texts: Sequence[str], targets: Sequence[str] | None = None) -> list[Sentence]:
    """Sentences of the caller's own texts, with translations for a model that translates. Raises ValueError for a text
    that is too long or empty, and for another number of translations."""
    config = ckpt.config
    if config.task == "translation":
        if targets is None or len(targets) != len(texts):
            raise ValueError(f"{len(texts)} sentences and {len(targets or ())} translations; give one for each")
        return [sentence_with_target(ckpt, text, target) for text, target in zip(texts, targets, strict=True)]
    if config.decoder_layers:
        return [sentence_of_ids(ckpt, ckpt.source_tokenizer.encode(text)) for text in texts]
    return [sentence_with_class(ckpt, text) for text in texts]


def pad_sentences(config: ModelConfig, sentences: Sequence[Sentence], *, device: torch.device | None = None) -> Padded:
    """Sentences of one model in one batch. A model without padding takes one at a time: see `batches`."""
    def rows(name: str) -> Tensor | None:
        rows_of_ids = [getattr(sentence, name) for sentence in sentences]
        if any(row is None for row in rows_of_ids):
            return None
        return pad_sequence([torch.tensor(row) for row in rows_of_ids], batch_first=True,
                            padding_value=config.pad_id or 0).to(device)

    labels = rows("labels")
    if labels is not None and not config.decoder_layers:
        labels = labels[:, 0]
    tgt, real = rows("tgt"), None
    if tgt is not None:
        lengths = torch.tensor([len(sentence.tgt or ()) for sentence in sentences], device=device)
        real = torch.arange(tgt.shape[1], device=device) < lengths[:, None]
    return Padded(rows("src"), tgt, labels, real)


def batches(config: ModelConfig, sentences: Sequence[Sentence], *, largest: int = LARGEST) -> Iterator[list[int]]:
    """The places of sentences that are read together: of similar length, with at most `largest` weights of one kind of
    attention at once. One sentence is never cut."""
    def longest(at: int) -> int:
        return max(len(sentences[at].src or ()), len(sentences[at].tgt or ()))

    chosen: list[int] = []
    each = max(config.stacks.values()) * config.n_heads
    for at in sorted(range(len(sentences)), key=longest):
        if chosen and (config.pad_id is None or (len(chosen) + 1) * each * longest(at) ** 2 > largest):
            yield chosen
            chosen = []
        chosen.append(at)
    if chosen:
        yield chosen

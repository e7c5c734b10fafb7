"""Tokens as pages and pictures show them."""

from collections.abc import Iterable

from transformer.inference.decoding import Step
from transformer.text.tokenizer import Tokenizer
from transformer.text.word_pieces import labelled
from ui.figures import plain_label


def labels(pieces: Iterable[str], tokenizer: Tokenizer) -> list[str]:
    """Consecutive pieces."""
    return [plain_label(label, longest=None) for label in labelled([*pieces], tokenizer)]


def labels_of(step: Step) -> list[str]:
    """What a decoder has read, and the token that it predicts."""
    return labels(map(step.label, (*step.tokens, step.id)), step.ckpt.tokenizer)

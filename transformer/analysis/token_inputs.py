"""The ids that a model read of one text, so that any analysis can run it again.

S source length, T target length.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes, Given
from transformer.inference.decoding import Step
from transformer.inference.forward import Batch
from transformer.inference.prompts import prompt
from transformer.model.layers import StackOutput
from transformer.model.sites import Taps
from transformer.text.tokenizer import Tokenizer
from transformer.text.word_pieces import labelled


@dataclass(frozen=True, eq=False)
class TokenInputs:
    """The ids that a model read on both sides, and what is changed."""

    ckpt: Checkpoint
    src: Tensor | None  # (1, S)
    tgt: Tensor | None  # (1, T); None for a model that classifies
    changes: Changes
    next_id: int | None  # the token that came next, if one was chosen
    types: Tensor | None = None  # (1, S), the segments of a pair, where the model has segments

    __repr__ = brief

    @property
    def row(self) -> Tensor:
        """The ids that the decoder read, or the encoder if there is no decoder: (1, T) or (1, S)."""
        row = self.src if self.tgt is None else self.tgt
        assert row is not None
        return row

    @property
    def ids(self) -> list[int]:
        """The same as a list."""
        return self.row[0].tolist()

    @cached_property
    def taps(self) -> Taps:
        """What changes it."""
        return self.changes.taps(self.src, self.tgt, self.types)

    def encode(self) -> StackOutput | None:
        """The encoder's output; None without a source."""
        return None if self.src is None else self.ckpt.model.encode(self.src, types=self.types, taps=self.taps)

    def decode(self, encoded: StackOutput | None) -> StackOutput:
        """The decoder's output. Every token of the target is read, whatever its id, as a step reads it."""
        assert self.tgt is not None
        return self.ckpt.model.decode(self.tgt, None if encoded is None else encoded.x, causal=True, taps=self.taps)

    def output(self) -> StackOutput:
        """The output of the decoder, or of the encoder if there is no decoder."""
        encoded = self.encode()
        if self.tgt is None and encoded is not None:
            return encoded
        return self.decode(encoded)

    def labels(self, side: str) -> list[str]:
        """The tokens of "src" or "tgt" as they are read."""
        return labelled(self.pieces(side), self._tokenizer(side))

    def pieces(self, side: str) -> list[str]:
        """The tokens of "src" or "tgt", exact."""
        tokenizer, ids = self._tokenizer(side), getattr(self, side)
        return [] if ids is None else [tokenizer.piece(id) if tokenizer else str(id) for id in ids[0].tolist()]

    def _tokenizer(self, side: str) -> Tokenizer | None:
        return self.ckpt.source_tokenizer if side == "src" else self.ckpt.tokenizer


def inputs_of_step(step: Step) -> TokenInputs:
    """What a step has read, and the token that it predicted."""
    ckpt = step.ckpt
    tgt = torch.tensor([step.tokens], device=ckpt.device)
    return TokenInputs(ckpt, step.src, tgt, step.changes, step.id)


def inputs_of_text(ckpt: Checkpoint, text: str, target: str | None = None, *,
                   change: Given = None) -> TokenInputs:
    """A whole text, and a target that is forced on the decoder, as `reading.attend` reads them. Raises ValueError as it
    does."""
    src, tgt = prompt(ckpt, text, target)
    changes = Changes.of(ckpt, change)
    changes.check_hits(Batch.of(src, tgt).lengths)
    return TokenInputs(ckpt, src, tgt, changes, None)


def inputs_up_to(read: TokenInputs, position: int) -> TokenInputs:
    """The same inputs up to a position of the target; the next token is the one after it."""
    if read.tgt is None:
        raise ValueError(f"{read.ckpt.id} classifies and predicts no token at a position")
    length = read.tgt.shape[1]
    if not 0 <= position < length:
        raise ValueError(f"position is {position}; choose one from 0 to {length - 1}")
    next_id = int(read.tgt[0, position + 1]) if position + 1 < length else read.next_id
    return replace(read, tgt=read.tgt[:, : position + 1], next_id=next_id)


def check_classes(ckpt: Checkpoint) -> None:
    """Raises ValueError for an encoder without classes."""
    if ckpt.config.task == "reads":
        raise ValueError(f"the checkpoint {ckpt.id} is an encoder without classes ({ckpt.config.head}); this "
                         "reading needs a classifier or a decoder")


def check_choice(size: int, *ids: int | None) -> None:
    """Raises ValueError for an id that is not among `size` tokens or classes; None stands for no choice."""
    for id in ids:
        if id is not None and not 0 <= id < size:
            raise ValueError(f"token {id} is not one of {size:,}; choose one from 0 to {size - 1:,}")

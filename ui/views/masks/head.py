"""One head on one pair of the batch."""

from dataclasses import dataclass

import torch

from transformer.analysis.masks import batch_masks
from transformer.checkpoint import Checkpoint
from transformer.config import Kind
from transformer.model.masks import apply_window
from ui import figures
from ui.views.masks.batch import Batch

MASK_OF = {"encoder": "source", "decoder": "decoder", "cross": "cross"}  # the mask that an attention works under


@dataclass(frozen=True)
class Head:
    """A head of a model, and the pair that it is looked at on."""

    ckpt: Checkpoint
    batch: Batch
    pair: int
    kind: Kind
    layer: int
    head: int

    @property
    def name(self) -> str:
        """What figures call it."""
        return f"{self.kind.capitalize()}, {figures.head_label(self.layer, self.head)}"

    @property
    def axes(self) -> tuple[list[str], list[str]]:
        """Its queries and its keys."""
        return self.batch.axes(self.kind, self.pair)

    def of(self, numbers: dict[str, torch.Tensor]) -> torch.Tensor:
        """Its own (Tq, Tk) of numbers: kind -> (layers, B, H, Tq, Tk)."""
        return numbers[self.kind][self.layer, self.pair, self.head]

    def mask(self, *, causal: bool = True, padding: bool = True) -> torch.Tensor:
        """What it may attend to (Tq, Tk), with both masks or without one of them; a window of its layer stays."""
        masks = batch_masks(self.batch.src, self.batch.tgt, self.ckpt.config, causal=causal, padding=padding)
        return in_window(getattr(masks, MASK_OF[self.kind])[self.pair], self.ckpt, self.kind, self.layer)


def in_window(mask: torch.Tensor, ckpt: Checkpoint, kind: Kind, layer: int) -> torch.Tensor:
    """The part of a mask (Tq, Tk) that the window of a layer leaves."""
    window = ckpt.model.window(kind, *map(range, mask.shape), layer=layer)
    return mask if window is None else apply_window(mask, window.cpu())

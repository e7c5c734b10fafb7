"""Attention that a model of transformers returned step by step, as it generated, joined to that of one forward pass.

H heads, Tq queries, Tk keys.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Steps = Sequence[Sequence[Tensor | None]]  # for each step its layers
ONCE = "call the model once on out.sequences[:1] with output_attentions=True{given}, and show what that returns"
GIVEN = {"own": "", "decoder": ", as its decoder_input_ids", "cross": ", as its decoder_input_ids"}


def is_steps(layers: object) -> bool:
    """Whether it is what `generate` returns of a kind of attention: all layers of every step."""
    if not isinstance(layers, tuple | list) or not layers or not all(isinstance(one, tuple | list) for one in layers):
        return False
    found = [one for step in layers for one in step if one is not None]
    return all(isinstance(one, Tensor) and one.dim() == 4 for one in found)


def joined(kind: str, steps: Steps) -> list[Tensor | None]:
    """The layers (1, H, Tq, Tk) of all that was read. Raises ValueError where several sequences were written, and where
    a step does not go on from the one before."""
    once = ONCE.format(given=GIVEN[kind])
    most = max((one.shape[0] for step in steps for one in step if one is not None), default=1)
    if most > 1:
        raise ValueError(f"this is the attention of {most} sequences that were written at once, as in a beam search, "
                         f"and one can be shown; {once}")
    if len({len(step) for step in steps}) > 1:
        raise ValueError(f"the steps of this attention have different numbers of layers; {once}")
    return [_join(kind, one, once) for one in zip(*steps, strict=True)]


def _join(kind: str, steps: Sequence[Tensor | None], once: str) -> Tensor | None:
    """One layer (1, H, Tq, Tk) of all steps."""
    there = [one for one in steps if one is not None]
    if len(there) < len(steps):
        return None
    rows: list[Tensor] = []
    read = 0
    for at, one in enumerate(there):
        queries, keys = one.shape[2:]
        new = queries - read if queries > read else queries  # all are there again where no cache is used
        read += new
        wanted = there[0].shape[3] if kind == "cross" else read
        if keys != wanted:
            raise ValueError(f"the attention of step {at} is {tuple(one.shape)}, and not between all {wanted} tokens, "
                             f"as with a static cache, a window or a text read in parts; {once}")
        rows.append(one[:, :, -new:])
    most = rows[-1].shape[3]
    return torch.cat([torch.nn.functional.pad(one, (0, most - one.shape[3])) for one in rows], dim=2)

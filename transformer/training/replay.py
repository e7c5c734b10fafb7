"""Attention as it forms on a text of the reader's: read again with the weights of every step that a checkpoint kept."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from transformer.checkpoint import describe, load, snapshots
from transformer.formatting import how_many
from transformer.inference.reading import Reading, attend
from transformer.inference.search import translate
from transformer.measures.matrices import encode_weights
from transformer.training.forming import MOST_BYTES, MOST_TOKENS, Forming, Pinned, evenly, measured


def reread(folder: Path, text: str, *, watch: Callable[[int, int], None] = lambda done, of: None) -> Forming:
    """What `read_forming` reads of a run, made of the snapshots of a checkpoint and of a text. The loss is that of the
    text, where a decoder writes such texts. A model that translates is given the translation of its last step at every
    step.

    watch: told how many steps have read the text, of how many. Raises ValueError for a text that is too long, or that
    the model cannot read.
    """
    last = describe(folder).step
    folders = {int(part.name): part for part in snapshots(folder)}
    if not folders:
        raise ValueError(f"{folder.name} has no steps of its training; import several, as steps of one checkpoint")
    if last is not None and last > max(folders):
        folders[last] = folder
    watch(0, len(folders))
    ckpt = load(folder)
    target = translate(ckpt, [text], max_steps=MOST_TOKENS // 2)[0] if ckpt.config.task == "translation" else None
    reading = attend(ckpt, text, target)
    longest = max(map(len, reading.tokens.values()))
    size, notes = sum(weights.numel() for weights in reading.attentions.values()), []
    if longest > MOST_TOKENS or MOST_BYTES // size < 2:
        raise ValueError(f"this text has {how_many(longest, 'token')}, and their attention in every head and at every "
                         f"step is more than is kept here. Please shorten it")
    steps = evenly(sorted(folders), size, notes)
    found, losses = [], []
    for step in steps:
        watch(len(found), len(steps))
        read = reading if folders[step] == folder else attend(load(folders[step]), text, target)
        found.append({kind: encode_weights(weights).numpy() for kind, weights in read.attentions.items()})
        losses.append(_loss(read))
    cells = {(0, kind): np.stack([one[kind] for one in found]) for kind in reading.kinds}
    sentence = Pinned(*(tuple(reading.tokens[side]) or None for side in ("src", "tgt")))
    config = ckpt.config
    return Forming(ckpt.id, False, tuple(steps), {kind: (config.layers(kind), config.n_heads) for kind in config.kinds},
                   (sentence,), cells, {key: measured(one, key[1]) for key, one in cells.items()},
                   validation=tuple((step, loss) for step, loss in zip(steps, losses, strict=True) if loss is not None),
                   losses=tuple((None, loss) for loss in losses), notes=tuple(notes),
                   called=("training loss", "loss on this text"))


def _loss(reading: Reading) -> float | None:
    """Nats per token of a text, each given those before it; None where the model does not write such texts."""
    ids = reading.ids["tgt"]
    if reading.ckpt.config.task != "text" or len(ids) < 2:
        return None
    return cross_entropy(reading.logits[:-1].cpu(), torch.tensor(ids[1:])).item()

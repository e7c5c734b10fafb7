"""Attention as it forms on a text of the reader's: read again with the weights of every step that a checkpoint kept."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from transformer.brief import how_many
from transformer.checkpoint import describe, load, snapshots
from transformer.inference.reading import attend
from transformer.inference.search import translate
from transformer.measures.matrices import rooted
from transformer.training.forming import MOST_BYTES, MOST_TOKENS, Forming, Pinned, evenly, measured


def reread(folder: Path, text: str, *, watch: Callable[[int, int], None] = lambda done, of: None) -> Forming:
    """What `read_forming` reads of a run, made of the snapshots of a checkpoint and of a text, without losses. A model
    that translates is given the translation of its last step at every step.

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
                         f"step is more than is kept here; shorten it")
    steps = evenly(sorted(folders), size, notes)
    found = [_cells(folders[step], text, target, lambda at=at: watch(at, len(steps))) for at, step in enumerate(steps)]
    cells = {(0, kind): np.stack([one[kind] for one in found]) for kind in reading.kinds}
    sentence = Pinned(*(tuple(reading.tokens[side]) or None for side in ("src", "tgt")))
    config = ckpt.config
    return Forming(ckpt.id, False, tuple(steps), {kind: (config.layers(kind), config.n_heads) for kind in config.kinds},
                   (sentence,), cells, {key: measured(one, key[1]) for key, one in cells.items()},
                   losses=((None, None),) * len(steps), notes=tuple(notes))


def _cells(folder: Path, text: str, target: str | None, watch: Callable[[], None]) -> dict[str, np.ndarray]:
    """What one step makes of it: kind -> uint8 square roots (L, H, Tq, Tk)."""
    watch()
    weights = attend(load(folder), text, target).attentions
    return {kind: rooted(one).numpy() for kind, one in weights.items()}

"""Heads whose absence is seen at once: the sentences that the view of switched heads opens on and offers."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer.analysis.ablation import Head, compare_paths, switch_heads
from transformer.checkpoint import Checkpoint


@dataclass(frozen=True)
class Demonstration:
    """A sentence, and a head without which the model writes another translation of it."""

    text: str
    head: Head

    @property
    def label(self) -> str:
        return f"{self.text} · {self.head.kind} {self.head.layer}.{self.head.head} off"


# Found among all heads of the checkpoint that comes with the app; a test holds what is written without each.
DEMONSTRATIONS = [Demonstration("I am cold.", Head("cross", 2, 3)),
                  Demonstration("She is not as tall as her brother.", Head("cross", 2, 3))]


def seen_in(ckpt: Checkpoint, *, watch: Callable[[], None] = lambda: None) -> list[Demonstration]:
    """Those that change what a model writes, measured: other weights may make nothing of them."""
    found = []
    for one in DEMONSTRATIONS:
        try:
            change = compare_paths(ckpt, one.text, switch_heads(ckpt.config, one.head), max_steps=60, watch=watch)
        except ValueError:  # there is no such head, or the sentence cannot be read
            continue
        if change.before[-1].output != change.after[-1].output:
            found.append(one)
    return found

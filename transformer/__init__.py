"""A transformer whose attention can be looked at: load a checkpoint, step it, read every head.

What is named here is imported when it is first used, so that a process that only waits or lists needs no PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer.attention_view.html import show
    from transformer.checkpoint import Checkpoint, load
    from transformer.inference.beam import beam_tree
    from transformer.inference.decoding import Step, next_step, start, steps
    from transformer.inference.reading import attend
    from transformer.inference.sampling import Candidate, Sampling
    from transformer.inference.search import translate
    from transformer.model.switches import Switches
    from transformer.text.corpora import corpus

_HOMES = {"attention_view.html": ("show",), "checkpoint": ("Checkpoint", "load"), "inference.beam": ("beam_tree",),
          "inference.decoding": ("Step", "next_step", "start", "steps"), "inference.reading": ("attend",),
          "inference.sampling": ("Candidate", "Sampling"), "inference.search": ("translate",),
          "model.switches": ("Switches",), "text.corpora": ("corpus",)}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["Candidate", "Checkpoint", "Sampling", "Step", "Switches", "attend", "beam_tree", "corpus", "load",
           "next_step", "show", "start", "steps", "translate"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

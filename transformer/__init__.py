"""A transformer whose attention can be looked at: load a checkpoint, step it, read every head.

What is named here is imported when it is first used, so that a process that only waits or lists needs no PyTorch.

Attention has the same axes everywhere. Of one text, in a `Step` as in a `Reading`, `.attentions["cross"]` is (layers,
heads, queries, keys). A model reads a batch, a layer at a time, and there the batch is the first axis:
`model.encode(ids, readable=True).attention[layer].weights` is (batch, heads, queries, keys).

The examples in docstrings run in the repository's folder, `ckpt` being `transformer.load("checkpoints/translate")` and
`tmp` an empty folder.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer.attention_view.notebook import show
    from transformer.checkpoints.checkpoint import Checkpoint, CheckpointError, describe, load, save
    from transformer.diagram.drawing import architecture
    from transformer.evaluation.quality import evaluate
    from transformer.huggingface.exporting import export_model
    from transformer.huggingface.importing import import_model
    from transformer.huggingface.training_steps import import_steps
    from transformer.inference.beam_search import translate
    from transformer.inference.beam_tree import beam_tree
    from transformer.inference.decoding import Step, next_step, start, steps
    from transformer.inference.reading import Reading, attend
    from transformer.inference.run import Run, run
    from transformer.inference.sampling import Candidate, Sampling
    from transformer.model.changes import Change, add, cut, force, freeze, replace, scale, uniform
    from transformer.model.models import Transformer
    from transformer.publishing.page import publish
    from transformer.settings.config import ModelConfig
    from transformer.text.corpora import corpus
    from transformer.training import runs
    from transformer.training.trainer import train

_HOMES = {"attention_view.notebook": ("show",),
          "checkpoints.checkpoint": ("Checkpoint", "CheckpointError", "describe", "load", "save"),
          "settings.config": ("ModelConfig",),
          "diagram.drawing": ("architecture",),
          "huggingface.exporting": ("export_model",), "huggingface.importing": ("import_model",),
          "huggingface.training_steps": ("import_steps",), "inference.beam_tree": ("beam_tree",),
          "inference.decoding": ("Step", "next_step", "start", "steps"),
          "inference.reading": ("Reading", "attend"), "inference.sampling": ("Candidate", "Sampling"),
          "inference.run": ("Run", "run"), "inference.beam_search": ("translate",), "model.models": ("Transformer",),
          "model.changes": ("Change", "add", "cut", "force", "freeze", "replace", "scale", "uniform"),
          "publishing.page": ("publish",), "evaluation.quality": ("evaluate",), "text.corpora": ("corpus",),
          "training.trainer": ("train",)}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["Candidate", "Change", "Checkpoint", "CheckpointError", "ModelConfig", "Reading", "Run", "Sampling", "Step",
           "Transformer", "add", "architecture", "attend", "beam_tree", "corpus", "cut", "describe", "evaluate",
           "export_model", "force", "freeze", "import_model", "import_steps", "load", "next_step", "publish", "replace",
           "run", "runs", "save", "scale", "show", "start", "steps", "train", "translate", "uniform"]


def __getattr__(name: str) -> object:
    if name == "runs":
        return import_module(f"{__name__}.training.runs")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

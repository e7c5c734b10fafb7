"""Example texts for an encoder, and what its corpus says of a text."""

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import CLASSES, Example, opening_of
from ui.choices.held_out_corpus import corpus_of
from ui.state.caches import labelled
from ui.views.classify.classifier import mask_of
from ui.views.stepper.examples import IDS

SHOWN = 5
ANSWERS = {"speakers": "Spoken by", "endings": "In the corpus:"}


def examples_of(ckpt: Checkpoint) -> list[Example]:
    """Examples that a checkpoint can read; with classes, passages of its own corpus, if available."""
    if not ckpt.reads_text:
        return [Example(IDS)]
    examples = opening_of(ckpt.description).examples
    if ckpt.config.task == "classes" and ckpt.meta.get("corpus") not in CLASSES:
        name = corpus_of(ckpt.description)
        if (corpus := labelled(name) if name else None) is not None:
            texts = corpus.split("test" if "test" in corpus.splits else "train")
            return [Example(text, label) for text, label in texts[:SHOWN]]
    mask = mask_of(ckpt) if ckpt.config.head == "masked" else None
    return [*[Example(f"Paris is the {mask} of France.")] * bool(mask), *examples]


def answer_of(ckpt: Checkpoint, text: str) -> str:
    """What the corpus of a checkpoint that comes with the app says of a text; empty if it says nothing."""
    name = ckpt.meta.get("corpus")
    if name not in CLASSES or (corpus := labelled(name)) is None:
        return ""
    if match := corpus.find(text.strip()):
        split, names = match
        use = {"train": "seen in training", "test": "not seen in training"}.get(
            split, "used to select the model, not to train it")
        return f"{ANSWERS[name]} {' and '.join(names)} · {use}"
    if name == "speakers":
        return "This passage isn't by any of the ten speakers; the model knows only these ten and answers anyway."
    return ""

"""Example texts for an encoder, and the speaker of a passage of Shakespeare."""

from transformer.checkpoint import Checkpoint
from transformer.openings import OPENINGS, Example
from ui.choices.held_out_corpus import corpus_of
from ui.state.caches import labelled
from ui.views.classify.classifier import mask_of
from ui.views.stepper.examples import IDS

EXAMPLES, PLAIN = OPENINGS["classes"].examples, OPENINGS["reads"].examples


def examples_of(ckpt: Checkpoint) -> list[Example]:
    """Examples that a checkpoint can read; with classes, passages of its own corpus, if available."""
    if not ckpt.reads_text:
        return [Example(IDS)]
    if ckpt.meta.get("corpus") == "speakers":
        return [*EXAMPLES]
    name = corpus_of(ckpt.description)
    corpus = labelled(name) if name and ckpt.config.task == "classes" else None
    if corpus is not None:
        texts = corpus.split("test" if "test" in corpus.splits else "train")
        return [Example(passage, label) for passage, label in texts[:len(EXAMPLES)]]
    mask = mask_of(ckpt) if ckpt.config.head == "masked" else None
    return [*[Example(f"Paris is the {mask} of France.")] * bool(mask), *PLAIN]


def whose(ckpt: Checkpoint, passage: str) -> str:
    """The speaker of a passage, if this checkpoint learned from Shakespeare; else nothing."""
    if ckpt.meta.get("corpus") != "speakers":
        return ""
    if match := labelled("speakers").find(passage.strip()):
        split, names = match
        use = {"train": "seen in training", "test": "not seen in training"}.get(
            split, "used to select the model, not to train it")
        return f"Spoken by {' and by '.join(names)} · from the {split} split, {use}"
    return "This passage isn't by any of the ten speakers; the model knows only these ten and answers anyway."

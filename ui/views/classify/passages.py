"""Example texts for an encoder, and the speaker of a passage of Shakespeare."""

from transformer.checkpoint import Checkpoint
from ui.choices.held_out_corpus import corpus_of
from ui.figures import markdown_text
from ui.state.caches import labelled
from ui.views.classify.classifier import mask_of
from ui.views.stepper.examples import IDS

EXAMPLES = [  # of the test split, not seen in training
    ("ROMEO", "Is she a Capulet?\nO dear account! my life is my foe's debt."),
    ("PETRUCHIO", "What, with my tongue in your tail? nay, come again,\nGood Kate; I am a gentleman."),
    ("LEONTES", "There is no truth at all i' the oracle:\nThe sessions shall proceed: this is mere falsehood."),
    ("CORIOLANUS", "By Jupiter! forgot.\nI am weary; yea, my memory is tired.\nHave we no wine here?"),
    ("KING RICHARD III", "Shall we hear from thee, Tyrrel, ere we sleep?"),
]
PLAIN = ["The weather is cold today, so we stay at home.", "She gave her brother the book that he had lost.",
         "What he said was true, and nobody believed it."]


def examples_of(ckpt: Checkpoint) -> list[tuple[str, str]]:
    """Examples (label, text) that a checkpoint can read; with classes, passages of its own corpus, if available."""
    if not ckpt.reads_text:
        return [("", IDS)]
    if ckpt.meta.get("corpus") == "speakers":
        return EXAMPLES
    name = corpus_of(ckpt.description)
    corpus = labelled(name) if name and ckpt.config.task == "classes" else None
    if corpus is not None:
        texts = corpus.split("test" if "test" in corpus.splits else "train")
        return [(label, passage) for passage, label in texts[:len(EXAMPLES)]]
    mask = mask_of(ckpt) if ckpt.config.head == "masked" else None
    return [("", text) for text in ([f"Paris is the {mask} of France."] * bool(mask) + PLAIN)]


def chip(whose: str, passage: str) -> str:
    """The label of an example's chip: its speaker and beginning."""
    first = " ".join(passage.split()[:3]).rstrip(":,;.")
    return markdown_text(f"{whose.title().replace('Iii', 'III')}: {first} …" if whose else f"{first} …")


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

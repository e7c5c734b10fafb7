"""The translation so far, its known continuation, and human translations of the same sentence."""

from transformer.attention_view.message_fields import Text
from transformer.inference.decoding import Step
from transformer.inference.decoding_tree import DecodingTree
from transformer.text.sides import Sides
from ui.choices.held_out_corpus import corpus_name, corpus_of
from ui.state.caches import sentences

MOST = 8  # human translations that are sent


def written_text(decoding: DecodingTree[Step], sides: Sides) -> Text:
    """The text of the step view under the tokens."""
    written, tip = decoding.step.output, decoding.branch.tip.output
    coming = tip[len(written):] if tip.startswith(written) else ""
    return {"label": "Translation so far", "written": written, "coming": coming, **_by_people(decoding, sides)}


def _by_people(decoding: DecodingTree[Step], sides: Sides) -> Text:
    trained_on = corpus_of(decoding.step.ckpt.description)
    if not trained_on:
        return {}
    known = sentences(trained_on)
    if known is None:
        return {"note": f"Reference translations are shown where {corpus_name(trained_on)} is on this machine."}
    result = known.find(decoding.step.text)
    if not result:
        return {}
    split, answers = result
    seen = "The model saw it in training." if split == "train" else f"Of the {split} split, not seen in training."
    return {"reference": {"label": sides.references, "note": seen, "texts": answers[:MOST], "more": len(answers) - 1}}

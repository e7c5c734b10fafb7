"""Who is speaking? An encoder with pooling on a passage of Shakespeare; and the smallest training run there is."""

import streamlit as st

from transformer.checkpoint import Checkpoint
from ui.address import Field, arrive_at, choice, leave_at, looks, opened, text
from ui.classifier import classifies, show_reading
from ui.figures import markdown_text
from ui.resources import speakers
from ui.stepper import choose_checkpoint, fit_example
from ui.texts import PASSAGE, taken
from ui.toy import NEGATIVE, POSITIVE, show_toy

PAGE, TOY = "classify", "classify_toy"
EXAMPLES = [  # of the test split: no training saw them
    ("ROMEO", "Is she a Capulet?\nO dear account! my life is my foe's debt."),
    ("PETRUCHIO", "What, with my tongue in your tail? nay, come again,\nGood Kate; I am a gentleman."),
    ("LEONTES", "There is no truth at all i' the oracle:\nThe sessions shall proceed: this is mere falsehood."),
    ("CORIOLANUS", "By Jupiter! forgot.\nI am weary; yea, my memory is tired.\nHave we no wine here?"),
    ("KING RICHARD III", "Shall we hear from thee, Tyrrel, ere we sleep?"),
]
VIEWS = {"speakers": "Who is speaking?", "toy": "Train the smallest one"}


def one_of_its_classes() -> Field:
    """The class looked at; without one it is the likeliest."""
    return Field(None, str, lambda value: value or "")


FIELDS = {
    "show": choice("speakers", list(VIEWS)), "text": text(EXAMPLES[0][1]),
    "class": one_of_its_classes(), "model": opened(), **looks(),
    "toy_run": Field("", lambda value: value[:40]),
    "toy_positive": text(POSITIVE), "toy_negative": text(NEGATIVE),
    "toy_text": text(POSITIVE), "toy_class": one_of_its_classes(),
    "toy_model": opened(), **looks("toy_"),
}


def another_text() -> None:
    st.session_state[f"{PAGE}_class"] = None


def use_example() -> None:
    picked = st.session_state[f"{PAGE}_example"]
    if picked is not None:
        st.session_state[f"{PAGE}_text"], st.session_state[f"{PAGE}_example"] = EXAMPLES[picked][1], None
        another_text()


def say_whose(ckpt: Checkpoint, passage: str) -> None:
    """Whose words these are, where they are a passage of the corpus that this checkpoint learned from."""
    if ckpt.meta.get("corpus") != "speakers":
        return
    known = speakers()
    if known is None:
        st.caption("For passages of Tiny Shakespeare, who says them is told here once the corpus is on this machine; "
                   "`python -m transformer evaluate checkpoints/classify` downloads it.")
    elif found := known.find(passage.strip()):
        split, names = found
        seen = ", so the model has seen this passage" if split == "train" else (
            ", never trained on" if split == "test" else ", used to choose the model but not to train it")
        st.markdown(f"**Said by {' and by '.join(map(markdown_text, names))}** · from the {markdown_text(split)} split"
                    f"{seen}")
    else:
        st.caption("Not a passage of one of the ten speakers. The model answers all the same: it knows only these ten.")


dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
st.title("Classify", anchor=False)
view = st.segmented_control("Show", list(VIEWS), key=f"{PAGE}_show", required=True, format_func=VIEWS.get,
                            label_visibility="collapsed")
if view == "toy":
    show_toy(TOY, dark=dark)
    leave_at(PAGE, FIELDS, checkpoint=st.session_state.get(f"{PAGE}_checkpoint"), hidden="text")
    st.stop()

left, right = st.columns([3, 1])
with right:
    ckpt = choose_checkpoint(PAGE, classifies)
    measured = ckpt.meta.get("metrics")
    if isinstance(measured, dict) and all(isinstance(measured.get(name), float) for name in ("accuracy", "majority")):
        st.caption(f"Right on {measured['accuracy']:.0%} of {markdown_text(str(measured.get('n')))} "
                   f"{markdown_text(str(measured.get('split')))} passages. Always saying the most frequent "
                   f"speaker: {measured['majority']:.0%}." + (
                       f" Counting words, without order (logistic regression): {measured['baseline']:.0%}."
                       if isinstance(measured.get("baseline"), float) else ""))
fit_example(PAGE, ckpt, [example for _, example in EXAMPLES])
with left:
    passage = taken(st.text_area("A passage", key=f"{PAGE}_text", height=110, on_change=another_text,
                                 placeholder="Type or paste a passage and press Ctrl+Enter"), PASSAGE)
    st.pills("Examples", range(len(EXAMPLES)), key=f"{PAGE}_example", on_change=use_example,
             format_func=lambda at: f"{EXAMPLES[at][0].title().replace('Iii', 'III')}: "
                                    f"{' '.join(EXAMPLES[at][1].split()[:3]).rstrip(':,;.')} …",
             label_visibility="collapsed", wrap=True)
if passage.strip():
    say_whose(ckpt, passage)
    asked = "Who is speaking?" if ckpt.meta.get("corpus") == "speakers" else "Which class?"
    show_reading(PAGE, ckpt, passage, question=asked, dark=dark)
else:
    st.info("Type or paste a passage above and press Ctrl+Enter, or choose an example.")
leave_at(PAGE, FIELDS, checkpoint=ckpt.id, hidden="toy_")

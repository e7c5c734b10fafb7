"""A sentence translated one token at a time, with every head of the encoder, the decoder and the attention between."""

from functools import partial

import streamlit as st

from ui import figures
from ui.about_model import show_about
from ui.checkpoint_choice import choose_checkpoint
from ui.components.attention_view import look_at, show_attention, show_details, source_line
from ui.components.controls import show_controls
from ui.components.diagram import show_model
from ui.held_out_corpus import corpus_name, corpus_of
from ui.languages import reads_examples, sides_of
from ui.present import places, presenting, show_title
from ui.resources import sentences
from ui.stepper.address import arrive, leave, walk_fields
from ui.stepper.candidates import show_candidates
from ui.stepper.examples import example_pills, fit_example
from ui.stepper.moves import follow
from ui.texts import PASSAGE, taken
from ui.translate import beam, two_steps

PAGE = "translate"
EXAMPLES = ["I am cold.", "I like red wine.", "Do you know where he lives?", "She is not as tall as her brother.",
            "We have to go home before it gets dark."]
FIELDS = {**walk_fields(example=EXAMPLES[0]), **beam.FIELDS, **two_steps.FIELDS}

dark = st.context.theme.type == "dark"
arrival = arrive(PAGE, FIELDS)
beam.arrive(PAGE, arrival)

top = st.container()  # the examples depend on the checkpoint
left, right = st.columns([3, 1], vertical_alignment="bottom")
with right:
    ckpt = choose_checkpoint(PAGE)
sides = sides_of(ckpt.description)
with top:
    show_title(PAGE, "Translate", partial(example_pills, PAGE, EXAMPLES if reads_examples(ckpt) else []))
fit_example(PAGE, ckpt, EXAMPLES)
with left:
    text = taken(st.text_input(figures.markdown_text(sides.sentence), key=f"{PAGE}_text", persist_state="session",
                               placeholder="Type a sentence and press Enter"), PASSAGE)
show_about(PAGE, ckpt)
if not text.strip():
    st.info(f"Type {figures.markdown_text(sides.typed)} above and press Enter"
            + (", or choose an example." if reads_examples(ckpt) else "."))
    st.stop()

walk = two_steps.arrive(PAGE, follow(PAGE, ckpt, text, arrival), arrival)
step = walk.step
look, head = look_at(PAGE, step)
show_controls(PAGE, walk)

# the tokens: what is read, and what is written
newest = head.weights[-1]
source_pieces, tokens = step.axes("cross")[1], step.axes("decoder")[0]
words, chances, picture = places(PAGE)
with picture:  # it stands below these two and is sent before they are filled
    show_attention(PAGE, step, look, head, dark=dark)
with words:
    reads, writes = (st.container(), st.container()) if presenting(PAGE) else st.columns(2)
with reads:
    st.markdown(f"**{figures.markdown_text(sides.read)}, read by the encoder**")
    unknown = [at for at, piece in enumerate(step.source) if piece.unknown]
    shown = [*(piece.text for piece in step.source), source_pieces[-1]]  # the encoder reads an end token after them
    st.html(figures.token_chips(shown, label="source tokens", unknown=unknown,
                                weights=newest if look.kind == "cross" else None))
    if unknown:
        st.caption("Dashed: unknown token. The model only sees that there is one.")
with writes:
    picks = walk.picks
    st.markdown(f"**{figures.markdown_text(sides.written)}, written by the decoder**")
    st.html(figures.token_chips([*tokens, step.piece, *walk.after], label="target tokens",
                                predicted=len(tokens), picked=[1 + at for at in picks],
                                weights=newest if look.kind == "decoder" else None))
with words:
    st.caption("Outlined: the predicted token. ␣ is a space." + (" Underlined: chosen by you." if picks else "") + (
        " Shaded: where the chosen head looks from the newest token." if look.kind != "encoder" else ""))

    translation, references = (st.container(), st.container()) if presenting(PAGE) else st.columns(2)
    with translation:
        st.markdown("**Translation so far**")
        st.text(step.output)
    with references.container(key=f"{PAGE}_references"):
        trained_on = corpus_of(ckpt.description)
        known = sentences(trained_on) if trained_on else None
        if known is not None and (found := known.find(text)):
            split, answers = found
            st.markdown(f"**{figures.markdown_text(sides.references)}** · from the {figures.markdown_text(split)} split"
                        + (", seen in training" if split == "train" else ", not seen in training"))
            st.text("\n".join(answers[:8]))
            if len(answers) > 8:
                st.caption(f"and {len(answers) - 8} more")
        elif known is None and trained_on:
            st.caption(f"Reference translations are shown where {figures.markdown_text(corpus_name(trained_on))} is on "
                       "this machine.")
with chances:
    show_candidates(PAGE, walk, source=source_line(step), dark=dark)
show_model(PAGE, step, look)
beam.show_beam(PAGE, walk, look, head, dark=dark)
show_details(PAGE, step, look, head, dark=dark)
two_steps.show_compare(PAGE, look, dark=dark)
leave(PAGE, FIELDS, ckpt, walk, **beam.values(PAGE), **two_steps.values(PAGE))

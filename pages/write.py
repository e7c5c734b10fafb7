"""Shakespeare, one character at a time, with every head of a decoder."""

from functools import partial

import streamlit as st

from ui import figures
from ui.about_model import show_about
from ui.checkpoint_choice import choose_checkpoint
from ui.components.attention_view import look_at, show_attention, show_details, source_line
from ui.components.controls import show_controls
from ui.components.diagram import show_model
from ui.present import places, presenting, show_title
from ui.stepper.address import arrive, leave, walk_fields
from ui.stepper.candidates import show_candidates
from ui.stepper.examples import example_pills, fit_example
from ui.stepper.moves import follow
from ui.texts import PASSAGE, taken

PAGE = "write"
EXAMPLES = ["ROMEO:\nO, she doth teach", "First Citizen:\nBefore we proceed", "To be, or not to be", "KING "]
FIELDS = walk_fields(example=EXAMPLES[0], temperature=0.8)

dark = st.context.theme.type == "dark"
arrival = arrive(PAGE, FIELDS)

show_title(PAGE, "Write", partial(example_pills, PAGE, EXAMPLES))
left, right = st.columns([3, 1])
with right:
    ckpt = choose_checkpoint(PAGE)
fit_example(PAGE, ckpt, EXAMPLES)
with left:
    text = taken(st.text_area("How the text begins", key=f"{PAGE}_text", persist_state="session", height=68,
                              placeholder="Type a beginning and press Ctrl+Enter, or start from nothing"), PASSAGE)
show_about(PAGE, ckpt)

walk = follow(PAGE, ckpt, text, arrival)
step, picks = walk.step, walk.picks
look, head = look_at(PAGE, step)
show_controls(PAGE, walk)

read = step.axes("decoder")[0]
unknown = [at for at, piece in enumerate(step.source) if piece.unknown]
shown = [step.source[at].text if at in unknown else piece for at, piece in enumerate(read)]
words, chances, picture = places(PAGE)
with picture:  # it stands below these two and is sent before they are filled
    show_attention(PAGE, step, look, head, dark=dark)
with words:
    reads, writes = (st.container(), st.container()) if presenting(PAGE) else st.columns([3, 2])
with reads:
    st.markdown("**Tokens read, and the token predicted next** (outlined). Shaded: where the chosen head looks from "
                "the newest token.")
    st.html(figures.token_chips([*shown, step.piece, *walk.after], label="tokens", unknown=unknown,
                                weights=head.weights[-1], predicted=len(read), small=True,
                                picked=[len(read) - step.index + at for at in picks]))
    if picks:
        st.caption("Underlined: chosen by you.")
    if unknown:
        st.caption("Dashed: unknown token. The model only sees that there is one.")
with writes:
    st.markdown("**The text so far**")
    with st.container(key=f"{PAGE}_so_far"):
        st.code(step.whole, language=None, wrap_lines=True, height=170)
with chances:
    show_candidates(PAGE, walk, source=source_line(step), dark=dark)
show_model(PAGE, step, look)
show_details(PAGE, step, look, head, dark=dark)
leave(PAGE, FIELDS, ckpt, walk)

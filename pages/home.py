"""What attention is, seen at once: a whole model while it translates, one key that rewrites it, a head that learns."""

import streamlit as st

from transformer.attention_view.decoding_parts import source_row, target_row
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint, CheckpointError, describe
from transformer.checkpoints.openings import OPENINGS
from transformer.settings.quick_tasks import QUICK
from transformer.text.sides import sides_of
from ui.choices.quick_picture import quick_picture
from ui.components.attention_view import Selected
from ui.figures import markdown_text
from ui.lessons.lesson_list import offer_tour
from ui.page.link import arrive_at, leave_at
from ui.page.pages import GROUPS, HOME, PAGES, pages_of
from ui.page.plain_text import say_error
from ui.page.presentation import presenting, show_title
from ui.page.room_sharing import share
from ui.page.terms import with_terms
from ui.state.caches import opened
from ui.state.page_state import PageState, kept
from ui.views.home.head_in_training import sentence_shown, show_growing
from ui.views.stepper.address import address_of_step
from ui.views.stepper.controller import (
    current_decoding,
    forget_decoding,
    go_on,
    sampling_of,
    show_decoding,
)

PAGE = HOME.name
RED, NOW = "I like red wine.", "We have to go home now."
SELECTION = {**OPENINGS["translation"].selection, "view": "model"}
PLAYS = 3  # steps that it takes by itself
# the link of a card reaches over all of it
CARD = """.st-key-home_title h1 { white-space: normal; }
@media (max-width: 640px) { .stMain [data-testid=stHorizontalBlock] { row-gap: var(--gap-2); } }
@media (min-width: 481px) { .st-key-home_title h1 { font-size: var(--display); line-height: 48px; } }
[class*=st-key-home_card_] { position: relative; gap: 0; }
[class*=st-key-home_card_]:hover { border-color: var(--accent); }
[class*=st-key-home_card_] [data-testid=stElementContainer]:has(a) { position: static; }
[class*=st-key-home_card_] a::after { content: ""; position: absolute; inset: 0; z-index: 1; }"""


class HomeState(PageState):
    """What is kept of this page."""

    text = kept(lambda: RED)


def show_sentence(text: str) -> None:
    """Show a sentence, at its first step."""
    HomeState(PAGE).text = text
    forget_decoding(PAGE)


@st.fragment
def step_through(ckpt: Checkpoint, *, dark: bool) -> None:
    """The example: a sentence, its tokens, the whole model, and what comes next."""
    decoding = current_decoding(PAGE, ckpt, HomeState(PAGE).text, {"choices": {}, "step": 0}, opening=None)
    sides = sides_of(ckpt.description.languages)
    rows = [source_row(decoding, label=sides.source), target_row(decoding, label=sides.target)]
    show_decoding(PAGE, decoding, rows=rows, text=None, dark=dark, brief=not presenting(PAGE),
                  plays=PLAYS if decoding.step.text == RED and not decoding.index else 0)
    at = {"step": decoding.index, "choices": decoding.branch.departures(sampling_of(PAGE))}
    share("translate", address_of_step(ckpt.id, decoding.step.text, selection=SELECTION, **at)[0], shown_on=PAGE)
    query, _ = address_of_step(ckpt.id, decoding.step.text, selection={**SELECTION, "view": None}, **at)
    st.page_link(PAGES["translate"].script, label="See all heads at this step", query_params=query,
                 icon=":material/arrow_forward:")
    go_on(PAGE)


def show_pages() -> None:
    """All pages in their groups."""
    for column, group in zip(st.columns(len(GROUPS)), GROUPS, strict=True):
        column.header(group, anchor=False)
        for page in pages_of(group):
            with column.container(border=True, key=f"{PAGE}_card_{page.name}"):
                st.page_link(page.script, label=f"**{page.title}**", icon=page.symbol)
                st.caption(markdown_text(page.sentence))


def invite(ckpt: Checkpoint) -> None:
    """What is seen, and the ways in: the tour, or a sentence of one's own."""
    sides = sides_of(ckpt.description.languages)
    st.markdown(with_terms(f"A transformer writes {sides.target} one token at a time. Before each one, every **head** "
                           "decides where to look: a small square is one head, darker where it looks more.",
                           "token", "head"), unsafe_allow_html=True)
    offer_tour()
    st.page_link(PAGES["translate"].script, label="Type a sentence of your own", icon=":material/edit:")
    st.caption("Every number is computed as you look, by a model trained from scratch.")


def show_examples(*, dark: bool) -> None:
    """What one key changes, a head while it learned, and one that learns now."""
    rewrite, learns = st.columns(2, gap="medium")
    with rewrite:
        with st.container(border=True, key=f"{PAGE}_rewrite"):
            st.markdown(f"**Press 2 and see.** Change the first word, and the model rewrites the rest: “{NOW}”")
            st.button("Load this sentence, then press 2", key=f"{PAGE}_now", on_click=show_sentence, args=[NOW])
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"{PAGE}_trains"):
            with st.container(width="stretch"):
                st.markdown("**Train one now:** from random weights to this pattern.")
                st.page_link(PAGES["train"].script, label=f"Watch it for {QUICK['reverse'].seconds} seconds",
                             query_params={"view": "now"}, icon=":material/bolt:")
            st.html(quick_picture("reverse", dark=dark), width="content")
    with learns, st.container(border=True, key=f"{PAGE}_learns"):
        st.markdown(f"**Watch this head learn** · {markdown_text(sentence_shown())}")
        show_growing(dark=dark)


arrive_at(PAGE, {})
dark = st.context.theme.type == "dark"
if not Selected.selection.known(PAGE):
    Selected(PAGE).select(**SELECTION)
st.html(f"<style>{CARD}</style>")
presented = presenting(PAGE)
left, right = [st.container()] * 2 if presented else st.columns([3, 7], gap="large")
try:
    ckpt = opened(folder := ROOT / "checkpoints" / "translate", describe(folder).id)
    with left:
        show_title(PAGE, "See where a transformer looks")
        if not presented:
            invite(ckpt)
    with right:
        step_through(ckpt, dark=dark)
    if not presented:
        show_examples(dark=dark)
except CheckpointError as error:
    say_error(error)
if not presented:
    show_pages()
leave_at(PAGE, {})

"""Every mask of a small batch, what the softmax makes of it as numbers, and what leaks where it is switched off."""

import streamlit as st

from transformer.basics.paths import ROOT
from transformer.settings.config import KINDS
from ui.choices.checkpoint import choose_checkpoint
from ui.choices.languages import fit_pairs
from ui.page.link import arrive_at, choice, end_page, leave_at, switch, text, whole, wholes
from ui.page.pages import PAGES
from ui.page.presentation import columns, show_title
from ui.views.masks.batch import EXAMPLES, PAGE, ROWS, choose_pair, show_batch, type_pairs, typed_batch
from ui.views.masks.five_masks import MASKS, MEANINGS, choose_mask, show_mask
from ui.views.masks.numbers import MOST_SCORES, SCALES, show_numbers
from ui.views.masks.switch_off import show_switched_off, show_training

STYLE = (ROOT / "ui/views/masks/page.css").read_text("utf-8")
FIELDS = {
    **{name: text(example) for name, example in EXAMPLES.items()},
    "pair": whole(2, 1, ROWS), "mask": choice("decoder", list(MASKS)), "kind": choice("decoder", KINDS),
    "layer": whole(0, 0, 1_000), "head": whole(0, 0, 1_000), "causal": switch(False), "padding": switch(True),
    "train": switch(False), "scores": choice("typed", ["typed", "from the model"]),
    "typed": text("2.0 1.0 0.5 5.0"), "blocked": wholes([2, 3], MOST_SCORES - 1, count=MOST_SCORES),
    "query": whole(1, 0, 10_000), "scale": choice(1, SCALES), "all": switch(False)}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
st.html(f"<style>{STYLE}</style>")
with st.container(key=f"{PAGE}_line", horizontal=True, gap="small", vertical_alignment="center"):
    show_title(PAGE, "Masks")
    sets = st.container(key=f"{PAGE}_settings", width="content")
ckpt = choose_checkpoint(PAGE, beside=lambda _: st.caption(PAGES[PAGE].needs))
with sets.popover("Your sentences", icon=":material/edit:"):
    fit_pairs(PAGE, ckpt, {f"{PAGE}_{name}": example for name, example in EXAMPLES.items()})
    sentences = type_pairs(ckpt)
batch = typed_batch(ckpt, sentences)
if batch is None:
    end_page()
with st.container(key=f"{PAGE}_choice", horizontal=True, gap="small"):
    mask = choose_mask()
    pair = choose_pair(batch)
with st.container(key=f"{PAGE}_picture"):
    large, beside = columns(PAGE, [3, 2], gap="medium")
with large:
    show_mask(ckpt, batch, pair, mask, dark=dark)
with beside:
    st.markdown("A mask says where a token may look: never at padding, and never ahead in a decoder. "
                f"{MEANINGS[mask]} :gray[Vaswani et al. 2017, section 3.2.3.]")
    show_batch(batch)

with st.container(key=f"{PAGE}_switched"):
    st.header("Switch a mask off", anchor=False)
    head, reading = show_switched_off(ckpt, batch, pair, dark=dark)
st.markdown("**Training without the causal mask**")
if st.toggle("Train two tiny decoders on random digits, with and without the causal mask (a second or two)",
             key=f"{PAGE}_train"):
    show_training(dark=dark)

with st.container(key=f"{PAGE}_as_numbers"):
    st.header("From true and false to numbers", anchor=False)
    st.markdown("The models here store masks as true and false. Many others add numbers to the scores before the "
                "softmax: 0 where attending is allowed, −inf or a large negative number elsewhere. The results are not "
                "always the same.")
    show_numbers(head, reading)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id)

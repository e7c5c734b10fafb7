"""Every mask of a small batch, what the softmax makes of it as numbers, and what leaks where it is switched off."""

import streamlit as st

from ui.checkpoint_choice import choose_checkpoint
from ui.languages import fit_pairs
from ui.link import arrive_at, leave_at
from ui.masks.address import EXAMPLES, FIELDS, PAGE
from ui.masks.batch import choose_pair, show_batch, typed_batch
from ui.masks.five_masks import show_masks
from ui.masks.numbers import show_numbers
from ui.masks.switch_off import show_switched_off
from ui.masks.training import show_training
from ui.present import show_title

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
show_title(PAGE, "Masks")
about, picker = st.columns([3, 1], vertical_alignment="bottom")
about.markdown("A mask determines which keys a query may attend to. One hides the **padding** that makes all sentences "
               "of a batch equally long; the other, the **causal** mask, keeps a decoder from reading the word it is "
               "about to predict (Vaswani et al. 2017, section 3.2.3).")
with picker:
    ckpt = choose_checkpoint(PAGE)
fit_pairs(PAGE, ckpt, {f"{PAGE}_{name}": example for name, example in EXAMPLES.items()})

st.subheader("A batch of your sentences", anchor=False)
batch = typed_batch(ckpt)
if batch is None:
    st.stop()
show_batch(batch)

st.subheader("The five masks", anchor=False)
pair = choose_pair(batch)
show_masks(ckpt, batch, pair, dark=dark)

st.subheader("Switch a mask off", anchor=False)
head, reading = show_switched_off(ckpt, batch, pair, dark=dark)
st.markdown("**Training without the causal mask**")
if st.toggle("Train two tiny decoders on random digits, with and without the causal mask (a second or two)",
             key=f"{PAGE}_train"):
    show_training(dark=dark)

st.subheader("From true and false to numbers", anchor=False)
st.markdown("The models here store masks as true and false. Many others add numbers to the scores before the softmax: "
            "0 where attending is allowed, −inf or a large negative number elsewhere. The results are not always the "
            "same.")
show_numbers(head, reading)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id)

"""What this is, three examples to click, and what each page shows."""

import streamlit as st

from transformer.checkpoint import CheckpointError, describe
from transformer.inference.decoding import steps
from transformer.places import ROOT
from ui import figures
from ui.components.attention_view import source_line
from ui.link import enter
from ui.pages import GROUPS, HOME, PAGES
from ui.resources import opened
from ui.say import say_error

enter(HOME.name)

EXAMPLES = [
    ("Which word is being translated?", "translate",
     {"text": "I like red wine.", "step": "4", "kind": "cross", "layer": "1", "head": "3"},
     "French puts the colour after the noun. Keep stepping: cross-attention skips *red*, goes to *wine*, then comes "
     "back."),
    ("How does it read a question?", "translate",
     {"text": "Do you know where he lives?", "step": "3", "kind": "encoder", "layer": "1", "head": "0"},
     "The encoder sees the whole sentence at once. From the third word on, this head looks one or two tokens back; "
     "the first two look at the end. Find a head that looks ahead."),
    ("Where does a word end?", "write",
     {"text": "ROMEO:\nO, she doth teach", "step": "12", "kind": "decoder", "layer": "2", "head": "1"},
     "Shakespeare, one character at a time. This head keeps looking at spaces and line ends. Choose a different "
     "letter from the model's and see where it leads."),
]
# the link of an example reaches over its whole card
CARD = """[class*=st-key-home_card_] { position: relative; }
[class*=st-key-home_card_]:hover { border-color: var(--st-primary-color); }
[class*=st-key-home_card_] [data-testid=stElementContainer]:has(a) { position: static; }
[class*=st-key-home_card_] a::after { content: ""; position: absolute; inset: 0; z-index: 1; }"""
HEADLINE, LAYER, HEAD = "I like red wine.", 1, 3

st.title("See what every attention head does", anchor=False)
about, picture = st.columns(2, gap="large")
with about:
    st.markdown(
        "**Heads Up** runs a transformer one token at a time and shows, live, where each of its attention heads looks. "
        "The models were trained from scratch and run on this machine, so every number on the screen was computed by "
        "the model. Type your own words, step with the arrow keys, choose a different token, and see what changes.")
    st.html(f"<style>{CARD}</style>")
    for number, (title, page, query, what) in enumerate(EXAMPLES):
        with st.container(border=True, key=f"home_card_{number}"):
            st.page_link(PAGES[page].script, label=f"**{title}**", icon=":material/arrow_forward:", query_params=query)
            st.caption(what)
with picture:
    try:
        ckpt = opened(folder := ROOT / "checkpoints" / "translate", describe(folder).id)
        *_, step = steps(ckpt, HEADLINE)
        weights, (queries, keys) = step.attentions["cross"][LAYER, HEAD].numpy(), step.axes("cross")
        st.plotly_chart(figures.attention_heatmap(
            weights, queries, keys, title=f"“{HEADLINE}” → “{step.output}”", newest=False,
            source=f"{figures.head_label(LAYER, HEAD)} · {source_line(step)}",
            dark=st.context.theme.type == "dark"), config=figures.PLOTLY_CONFIG,
            alt=figures.describe_attention(weights, queries, keys, newest=False))
        st.caption("Cross-attention: each row is a token the decoder has just read; the columns are the English "
                   "tokens it can look at to predict the next one. After *le* this head looks at "
                   "*wine*, after *vin* back at *red*: French puts the colour after the noun. Every row adds up to 1.")
    except CheckpointError as error:
        say_error(error)

st.subheader("The pages", anchor=False)
for group in GROUPS:
    st.caption(f"**{group}**")
    for page in PAGES.values():
        if page.group == group:
            name, text = st.columns([1, 6], vertical_alignment="center")
            name.page_link(page.script, label=f"**{page.title}**")
            text.markdown(figures.markdown_text(page.sentence))

with st.expander("How to read an attention picture"):
    st.markdown(
        "A transformer turns each token into a vector. An **attention head** lets one token, the *query*, collect "
        "information from others, the *keys*: it gives every key a weight, and the weights of a query add up to 1. "
        "Each row of a picture is a query and each column a key; the scale below shows which colour is which weight. "
        "Each layer has several heads side by side, and layers are stacked.\n\n"
        "Attention shows where a head looks. By itself it does not show why the model predicts what it predicts: what "
        "is moved, and what later layers do with it, matters too.")

"""What this is, three examples to click, and what each page shows."""

import streamlit as st

from transformer.checkpoint import CheckpointError, describe
from transformer.inference.decoding import steps
from ui import figures
from ui.arrival import through_the_router
from ui.components.attention_view import source_line
from ui.resources import ROOT, opened
from ui.say import say_error

through_the_router()
st.session_state["visited"] = "home"

EXAMPLES = [
    ("Which word is being translated?", "translate",
     {"text": "I like red wine.", "step": "4", "kind": "cross", "layer": "1", "head": "3"},
     "French puts the colour after the noun. Step on: the cross-attention passes over *red* to *wine*, and then goes "
     "back for it."),
    ("How does it read a question?", "translate",
     {"text": "Do you know where he lives?", "step": "3", "kind": "encoder", "layer": "1", "head": "0"},
     "The encoder sees the whole sentence at once. From the third word on this head looks back, at the one or two "
     "tokens before; the first two, with little behind them, look at the end. Click others and find one that looks "
     "ahead."),
    ("Where does a word end?", "write",
     {"text": "ROMEO:\nO, she doth teach", "step": "12", "kind": "decoder", "layer": "2", "head": "1"},
     "Shakespeare, one character at a time. This head keeps looking at spaces and line ends; choose another letter "
     "than the model would, and see where that leads."),
]
PAGES = [
    ("translate", "Translate",
     "English to French with an encoder-decoder: encoder, decoder and cross-attention of every step, the ten likeliest "
     "next tokens to choose from, branches, and the reference translations of known sentences."),
    ("write", "Write",
     "Shakespeare with a decoder alone, character by character: causal attention over all that was read, temperature "
     "and top-k, and links that bring back exactly this text."),
    ("classify", "Classify",
     "Who is speaking? An encoder with max pooling on a passage of Shakespeare: the probabilities, which token won "
     "each feature, what it adds; and the smallest training run there is, two sentences, to watch from start to end."),
    ("by_hand", "By hand",
     "Attention on one sentence with every number in sight, from the ids to a whole block; why the scores are divided "
     "by √d_k, how heads fold into the batch, three well-known slips, and the same steps in a trained head."),
    ("masks", "Masks",
     "Who may look at whom in a small batch of your own sentences: padding, causal and cross masks, what the softmax "
     "makes of them in float32 and float16, and what leaks when one is switched off."),
    ("positions", "Positions",
     "How a model knows the order of its tokens: sinusoidal curves and their wavelengths, learned and rotary "
     "positions, and what a head does when they are left out."),
    ("train", "Train",
     "A task, a model and a device, and the loss falls while you watch, with samples, on a corpus of your own if you "
     "like; then every head is moved through the training with a slider. A run goes on when you close the page."),
    ("heads", "Heads",
     "What every head does over held-out text, beside the same model untrained; what is lost when one is switched off; "
     "and what a single prediction is made of: the logit lens, direct effects, attribution."),
    ("checkpoints", "Checkpoints",
     "Any checkpoint opened: its card, tokenizer and every tensor, tried on its test set, compared with another or an "
     "earlier step; your own files and Hugging Face models brought in."),
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
        "The models are trained from scratch and run on this machine, so every number on the screen is one the model "
        "computed. Type your own words, step with the arrow keys, pick another token than the model would, and see "
        "what changes.")
    st.html(f"<style>{CARD}</style>")
    for number, (title, page, query, what) in enumerate(EXAMPLES):
        with st.container(border=True, key=f"home_card_{number}"):
            st.page_link(f"pages/{page}.py", label=f"**{title}**", icon=":material/arrow_forward:", query_params=query)
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
        st.caption("Cross-attention: each row is a token of the translation that the decoder has just read; the "
                   "columns are the English tokens it can look at to say the next one. After *le* this head looks at "
                   "*wine*, after *vin* back at *red*: French puts the colour after the noun. Every row adds up to 1.")
    except CheckpointError as error:
        say_error(error)

st.subheader("The pages", anchor=False)
for page, title, what in PAGES:
    name, text = st.columns([1, 6], vertical_alignment="center")
    name.page_link(f"pages/{page}.py", label=f"**{title}**")
    text.markdown(what)

with st.expander("How to read an attention picture"):
    st.markdown(
        "A transformer turns each token into a vector. An **attention head** lets one token, the *query*, collect "
        "information from others, the *keys*: it gives every key a weight, and the weights of one query add up to 1. "
        "In the pictures each row is a query and each column a key; the scale under a picture says which colour is "
        "which weight. Several heads work side by side in each layer, and layers follow one another.\n\n"
        "Attention shows where a head looks. It does not show by itself why the model decided as it did: what is moved "
        "from there, and what later layers make of it, counts too.")

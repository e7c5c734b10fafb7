"""What this is, three examples to click, and what each page shows."""

import streamlit as st

from ui.stepper import through_the_router

through_the_router()
st.session_state["visited"] = "home"

st.title("See what every attention head does", anchor=False)
st.markdown(
    "**Heads Up** runs a transformer one token at a time and shows, live, where each of its attention heads looks. The models "
    "are trained from scratch and run on this machine, so every number on the screen is the one the model computed. Type your "
    "own words, step with the arrow keys, pick another token than the model would, and see what changes.")

EXAMPLES = [
    ("Which word is being translated?", "translate",
     {"text": "She is not as tall as her brother.", "step": "5", "kind": "cross", "layer": "2", "head": "0"},
     "Step through a translation and watch the cross-attention move along the English sentence."),
    ("How does it read a question?", "translate",
     {"text": "Do you know where he lives?", "step": "3", "kind": "encoder", "layer": "0", "head": "1"},
     "The encoder sees the whole sentence at once: compare its heads, each looks for something else."),
    ("Who taught it to spell?", "write",
     {"text": "ROMEO:\nO, she doth teach", "step": "12", "kind": "decoder", "layer": "0", "head": "0", "temperature": "0.8"},
     "Shakespeare, one character at a time: some heads only ever look at the character before."),
]
for column, (title, page, query, about) in zip(st.columns(3), EXAMPLES, strict=True):
    with column.container(border=True, height="stretch"):
        st.markdown(f"**{title}**")
        st.write(about)
        st.page_link(f"pages/{page}.py", label="Open this", icon=":material/arrow_forward:", query_params=query)

st.subheader("The pages", anchor=False)
PAGES = [
    ("translate", "Translate", "English to French with an encoder-decoder: encoder, decoder and cross-attention of every step, "
     "the ten likeliest next tokens to choose from, branches, and the reference translations of known sentences."),
    ("write", "Write", "Shakespeare with a decoder alone, character by character: causal attention over all that was read, "
     "temperature and top-k, and links that bring back exactly this text."),
]
for page, title, about in PAGES:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(f"pages/{page}.py", label=f"**{title}**", width=140)
        st.markdown(about)

with st.expander("How to read an attention picture"):
    st.markdown(
        "A transformer turns each token into a vector. An **attention head** lets one token, the *query*, collect information "
        "from others, the *keys*: it gives every key a weight, and the weights of one query add up to 1. In the pictures each "
        "row is a query and each column a key, and a darker cell is a larger weight. Several heads work side by side in each "
        "layer, and layers follow one another.\n\n"
        "Attention shows where a head looks. It does not show by itself why the model decided as it did: what is moved from "
        "there, and what later layers make of it, counts too.")

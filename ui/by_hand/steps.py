"""The steps, in order: one head, several heads, a whole block."""

from math import sqrt

import streamlit as st
import torch

from transformer.by_hand.stages import ByHand
from transformer.model.masks import additive
from ui import figures

DIVIDED_BY = {"sqrt(d_k)": "√d_k", "1": "1", "sqrt(d_model)": "√d_model", "d_k": "d_k"}
CONTENTS = {
    "ids": "Ids", "embeddings": "Embeddings", "qkv": "Queries, keys, values", "products": "Unnormalised scores",
    "scaled": "Scaled scores", "mask": "Mask", "softmax": "Softmax", "context": "Context vectors",
    "heads": "Several heads", "concatenation": "Concatenation", "projection": "Output projection",
    "add-and-norm": "Add and normalise", "feed-forward": "Feed-forward", "block": "The block's output"}


def title(anchor: str, text: str, section: str) -> None:
    """A step's heading, its sentences and where the paper has it."""
    number = list(CONTENTS).index(anchor) + 1
    st.subheader(f"{number} · {CONTENTS[anchor]}", anchor=anchor)
    st.markdown(f"{text} :gray[Vaswani et al. 2017, {section}.]")


def show_steps(hand: ByHand, *, query: int, key: int) -> None:
    """Every matrix, the query's row marked in each."""
    st.markdown(" · ".join(f"[{number} {name}](#{anchor})"
                           for number, (anchor, name) in enumerate(CONTENTS.items(), start=1)))
    st.caption("Each matrix is labelled with its shape, (rows, columns). Blue is positive, red negative; the deeper "
               "the colour, the larger the number within that matrix. Marked in orange: the query's row, and the "
               "key's among "
               "keys and values. Hover over a number for more digits.")
    _show_words(hand, query)
    _show_head(hand, query, key)
    _show_heads(hand, query)
    _show_block(hand, query)


def _show_words(hand: ByHand, query: int) -> None:
    s = hand.settings
    title("ids", f"A model reads numbers. Here the vocabulary is the sentence's {len(s.vocabulary)} different words in "
          "alphabetical order (capitals first), and a word's id is its place in it, counted from 0.", "section 3.4")
    st.html(figures.number_matrix(torch.tensor([hand.ids]).numpy(), name="ids", rows=["id"], columns=s.words,
                                  shape=(len(hand.ids),), decimals=0, kind="plain", cell=(0, query)))
    title("embeddings", f"The embedding table has one row of d = {s.d} numbers for each word of the vocabulary; an id "
          "picks a row. A trained model has learned these numbers, here they are drawn from a normal distribution of "
          "spread 1. The paper multiplies them by √d_model, which is left out here.", "section 3.4")
    left, right = st.columns(2)
    with left:
        st.html(figures.number_matrix(hand.table.numpy(), name="embedding table", rows=s.vocabulary,
                                      row=hand.ids[query]))
    with right:
        st.html(figures.number_matrix(hand.embedded.numpy(), name="embeddings" if s.positions else "x = embeddings",
                                      rows=s.words, row=query))
    if s.positions:
        st.markdown("Attention by itself cannot tell the order of words. Sines and cosines of the position, each pair "
                    "of dimensions slower than the one before, are added so that it can. "
                    ":gray[Vaswani et al. 2017, section 3.5.]")
        left, right = st.columns(2)
        left.html(figures.number_matrix(hand.positions.numpy(), name="positions", rows=s.words, row=query))
        right.html(figures.number_matrix(hand.x.numpy(), name="x = embeddings + positions", rows=s.words, row=query))
    else:
        st.caption("No positions are added: move a word, and its row moves, but no word can know where it stands. "
                   "Without a mask, even its context vector stays the same. Choose *Added* under *Positions* to change "
                   "that.")


def _show_head(hand: ByHand, query: int, key: int) -> None:
    s, head, projections = hand.settings, hand.heads[0], hand.projections[0]
    words, mask = s.words, s.mask
    allowed = None if mask is None else mask.numpy()
    asks, looked_at = (figures.markdown_text(figures.plain_label(words[at])) for at in (query, key))
    title("qkv", f"Three matrices of weights turn each word's {s.d} numbers into a query (what it looks for), a key "
          "(what it can be found by) and a value (what it has to give). Queries and keys are multiplied with each "
          f"other and need the same width, d_k = {s.d_k}; values may have another, d_v = {s.d_v}.",
          "sections 3.2.1 and 3.2.2")
    for name, values, at in (("q = x W_q", head.q, query), ("k = x W_k", head.k, key), ("v = x W_v", head.v, key)):
        st.html(figures.number_matrix(values.numpy(), name=name, rows=words, row=at))
    with st.expander("The weights W_q, W_k and W_v"):
        st.caption("Drawn with spread 1/√d, so that a vector of spread 1 comes out with spread 1.")
        for name, values in zip(("W_q", "W_k", "W_v"), projections, strict=True):
            st.html(figures.number_matrix(values.numpy(), name=name, rows=list(map(str, range(s.d)))))

    left, right = st.columns(2, gap="large")
    with left:
        title("products", "Every query meets every key: their numbers are multiplied one by one and added up. A large "
              "product says that the two point the same way. Rows are queries, columns keys.",
              "section 3.2.1, equation 1")
        st.html(figures.number_matrix(head.products.numpy(), name="q kᵀ", rows=words, columns=words, row=query,
                                      cell=(query, key)))
    with right:
        by = DIVIDED_BY[s.scale]
        paper = "" if s.scale == "sqrt(d_k)" else f" here; the paper divides by √d_k = {sqrt(s.d_k):.2f}"
        title("scaled", f"Divided by {by} = {s.divisor:.2f}{paper}. A product of vectors of {s.d_k} numbers is a sum "
              f"of {s.d_k} terms and grows with them; √d_k undoes that, so that the softmax neither freezes on one "
              "word nor blurs over all.", "section 3.2.1, footnote 4")
        st.html(figures.number_matrix(head.scaled.numpy(), name=f"q kᵀ / {by}", rows=words, columns=words, row=query,
                                      cell=(query, key)))
    left, right = st.columns(2, gap="large")
    with left:
        title("mask", "What a word must not see gets −∞ added to its score, everything else 0. " + (
            "The causal mask hides the words that come later, as in a decoder, which has not written them yet."
            if s.causal else "No mask is chosen, so nothing is hidden, as in an encoder: all zeros. Choose *Causal* "
            "above to hide the words that come later."), "section 3.2.3")
        shown = torch.ones(len(words), len(words), dtype=torch.bool) if mask is None else mask
        st.html(figures.number_matrix(additive(shown).numpy(), name="mask", rows=words, columns=words, allowed=allowed,
                                      row=query, cell=(query, key), decimals=0))
        if s.causal:
            st.html(figures.number_matrix(head.scores.numpy(), name="scores + mask", rows=words, columns=words,
                                          allowed=allowed, row=query, cell=(query, key)))
    with right:
        title("softmax", "Each score becomes e to its power, divided by the sum of its row. So every weight is "
              "between 0 and 1, every row adds up to 1, and e to the power of −∞ is exactly 0. These are the attention "
              "weights.",
              "section 3.2.1, equation 1")
        st.html(figures.number_matrix(head.weights.numpy(), name="weights", rows=words, columns=words, kind="weights",
                                      allowed=allowed, row=query, cell=(query, key), sums="rows"))
    st.markdown(f"**One weight, spelled out: how *{asks}* comes to look at *{looked_at}***")
    st.html(spelled(hand.heads[0], words, words, query, key, divisor=s.divisor, divided_by=by, allowed=allowed))
    st.caption("Shown rounded, computed in full.")

    title("context", "Each word takes a share of every value, given by its weight, and adds the shares up: "
          "context = weights · v. One row is what the head has found out for one word.", "section 3.2.1, equation 1")
    st.html(figures.number_matrix(head.context.numpy(), name="context = weights v", rows=words, row=query))
    st.html(figures.spelled_sum(words[query], words, weights=head.weights[query].numpy(), v=head.v[:, 0].numpy(),
                                total=float(head.context[query, 0])))


def in_pairs(pictures: list[str], *, wide: bool = False) -> None:
    """HTML two by two, which on a narrow screen stays in order; one by one where each needs the whole width."""
    for at in range(0, len(pictures), 2):
        boxes = [st.container()] * 2 if wide else st.columns(2, gap="large")
        for box, picture in zip(boxes, pictures[at:at + 2], strict=False):
            box.html(picture)


def difference(one: torch.Tensor, other: torch.Tensor) -> str:
    """The largest difference between two tensors, as text."""
    largest = float((one - other).abs().max())
    return f"{largest:.1e}" if largest else "0"


def spelled(head, queries: list[str], keys: list[str], query: int, key: int, *, divisor: float, divided_by: str,
            allowed) -> str:
    """One weight of a head spelled out, as HTML."""
    return figures.spelled_cell(
        queries[query], keys[key], q=head.q[query].numpy(), k=head.k[key].numpy(),
        product=float(head.products[query, key]), divisor=divisor, divided_by=divided_by,
        scaled=head.scaled[query].numpy(), bias=None if head.bias is None else head.bias[query].tolist(), at=key,
        weight=float(head.weights[query, key]), allowed=None if allowed is None else allowed[query])


def _show_heads(hand: ByHand, query: int) -> None:
    s, words = hand.settings, hand.settings.words
    allowed = None if s.mask is None else s.mask.numpy()
    title("heads", f"The same is done {s.heads:d} times side by side, each head with its own W_q, W_k and W_v, so that "
          "each can look for something else. Head 0 is the one above." if s.heads > 1 else
          "There is one head, the one above. Choose more to see them look at different words.", "section 3.2.2")
    in_pairs([figures.number_matrix(head.weights.numpy(), name=f"weights of head {at}", rows=words, columns=words,
                                    kind="weights", allowed=allowed, row=query, sums="rows")
              for at, head in enumerate(hand.heads)])
    title("concatenation", f"The context vectors of the heads are put side by side: h · d_v = {s.heads:d} · {s.d_v} = "
          f"{s.heads * s.d_v:d} numbers for each word, head after head.", "section 3.2.2")
    st.html(figures.number_matrix(hand.block.concatenated.numpy(), name="concatenation", rows=words, row=query,
                                  groups=[(f"head {at}", s.d_v) for at in range(s.heads)]))
    title("projection", f"One more matrix mixes what the heads have found and brings it back to d = {s.d}, the width "
          "the word came in with, so that it can be added to it.", "section 3.2.2")
    st.html(figures.number_matrix(hand.block.attended.numpy(), name="attended = concatenation W_o", rows=words,
                                  row=query))
    with st.expander("The weights W_o"):
        st.html(figures.number_matrix(hand.w_out.numpy(), name="W_o", rows=list(map(str, range(len(hand.w_out))))))


def _show_block(hand: ByHand, query: int) -> None:
    s, words, block = hand.settings, hand.settings.words, hand.block
    title("add-and-norm", "What attention has found is added to the word it was found for, so that the word itself is "
          "not lost. Then each row is shifted and stretched to mean 0 and variance 1 (layer normalisation, its learned "
          "gain at 1 and bias at 0). Dropout (section 5.4) is off: it acts in training only.", "section 3.1")
    left, right = st.columns(2)
    left.html(figures.number_matrix(block.added.numpy(), name="x + attended", rows=words, row=query))
    right.html(figures.number_matrix(block.normed.numpy(), name="y = LayerNorm(x + attended)", rows=words, row=query))
    title("feed-forward", f"Each word goes through two linear maps by itself: up to 4 d = {4 * s.d} numbers, all "
          f"negative ones set to 0 (ReLU), and down to d = {s.d} again. Words do not meet here; only attention moves "
          "anything between them. The biases are 0.", "section 3.3")
    st.html(figures.number_matrix(block.up.numpy(), name="y W_1", rows=words, row=query))
    st.html(figures.number_matrix(block.hidden.numpy(), name="max(0, y W_1)", rows=words, row=query))
    st.html(figures.number_matrix(block.down.numpy(), name="max(0, y W_1) W_2", rows=words, row=query))
    with st.expander("The weights W_1 and W_2"):
        for name, values in (("W_1", hand.w_up), ("W_2", hand.w_down)):
            st.html(figures.number_matrix(values.numpy(), name=name, rows=list(map(str, range(len(values))))))
    title("block", "Added and normalised again. The shape is the one that came in, so another block can follow: a "
          "transformer is a stack of these.", "section 3.1")
    left, right = st.columns(2)
    left.html(figures.number_matrix(block.added_again.numpy(), name="y + max(0, y W_1) W_2", rows=words, row=query))
    right.html(figures.number_matrix(block.output.numpy(), name="output", rows=words, row=query))
    with torch.no_grad():
        ours = hand.layer()(hand.x[None], mask=s.mask).x[0]
    st.caption("Checked just now: the layer that the models of this app are made of, given these weights, outputs the "
               f"same matrix; the largest difference is {difference(ours, block.output)}.")

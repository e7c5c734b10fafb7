"""Steps 9 to 14: several heads, and the rest of a block."""

import streamlit as st
import torch

from transformer.by_hand.stages import ByHand
from ui import figures
from ui.views.by_hand.matrices import difference, draw, heading


def show_heads(hand: ByHand, query: int, key: int) -> None:
    s, words = hand.settings, hand.settings.words
    heading(9, f"This happens {s.heads:d} times side by side, in each head with its own W_q, W_k and W_v, so that "
            "each can look for something else. Head 0 is the one above." if s.heads > 1 else
            "There is one head, the one above. Choose more in the settings to see them look at different words.",
            "section 3.2.2")
    draw(*(figures.number_matrix(head.weights.numpy(), name=f"weights of head {at}", rows=words, columns=words,
                                 kind="weights", allowed=None if s.mask is None else s.mask.numpy(), row=query,
                                 sums="rows") for at, head in enumerate(hand.heads)))


def show_concatenation(hand: ByHand, query: int, key: int) -> None:
    s = hand.settings
    heading(10, f"The heads' context vectors are put side by side: h · d_v = {s.heads:d} · {s.d_v} = "
            f"{s.heads * s.d_v:d} numbers for each word.", "section 3.2.2")
    draw(figures.number_matrix(hand.block.concatenated.numpy(), name="concatenation", rows=s.words, row=query,
                               groups=[(f"head {at}", s.d_v) for at in range(s.heads)]))


def show_projection(hand: ByHand, query: int, key: int) -> None:
    s = hand.settings
    heading(11, f"One more matrix mixes what the heads have found and brings it back to d = {s.d}, the width of a "
            "word, so that it can be added to it.", "section 3.2.2")
    draw(figures.number_matrix(hand.block.attended.numpy(), name="attended = concatenation W_o", rows=s.words,
                               row=query))
    with st.expander("The weights W_o"):
        draw(figures.number_matrix(hand.w_out.numpy(), name="W_o", rows=list(map(str, range(len(hand.w_out))))))


def show_add_and_norm(hand: ByHand, query: int, key: int) -> None:
    words, block = hand.settings.words, hand.block
    heading(12, "What attention has found is added to the word itself, so that the word is not lost. Then each row is "
            "shifted and stretched to mean 0 and variance 1 (layer normalisation).", "section 3.1")
    draw(figures.number_matrix(block.added.numpy(), name="x + attended", rows=words, row=query),
         figures.number_matrix(block.normed.numpy(), name="y = LayerNorm(x + attended)", rows=words, row=query))


def show_feed_forward(hand: ByHand, query: int, key: int) -> None:
    s, words, block = hand.settings, hand.settings.words, hand.block
    heading(13, f"Each word goes through two linear maps by itself: up to 4 d = {4 * s.d} numbers, all negative ones "
            f"set to 0 (ReLU), and down to d = {s.d} again. Words don't interact here.", "section 3.3")
    draw(figures.number_matrix(block.up.numpy(), name="y W_1", rows=words, row=query),
         figures.number_matrix(block.hidden.numpy(), name="max(0, y W_1)", rows=words, row=query),
         figures.number_matrix(block.down.numpy(), name="max(0, y W_1) W_2", rows=words, row=query))
    with st.expander("The weights W_1 and W_2"):
        draw(*(figures.number_matrix(values.numpy(), name=name, rows=list(map(str, range(len(values)))))
               for name, values in (("W_1", hand.w_up), ("W_2", hand.w_down))))


def show_output(hand: ByHand, query: int, key: int) -> None:
    s, words, block = hand.settings, hand.settings.words, hand.block
    heading(14, "Added and normalised again. The shape is that of the input, so another block can follow: a "
            "transformer is a stack of these.", "section 3.1")
    draw(figures.number_matrix(block.added_again.numpy(), name="y + max(0, y W_1) W_2", rows=words, row=query),
         figures.number_matrix(block.output.numpy(), name="output", rows=words, row=query))
    with torch.no_grad():
        ours = hand.layer()(hand.x[None], mask=s.mask).x[0]
    st.caption("Checked just now: the layer that this app's models are made of, given these weights, outputs the same "
               f"matrix; the largest difference is {difference(ours, block.output)}.")

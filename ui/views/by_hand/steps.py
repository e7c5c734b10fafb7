"""The steps of By hand, together or one by one: 1 to 8 make one head, 9 to 14 the rest of a block."""

from functools import partial
from math import sqrt

import numpy as np
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.by_hand.stages import SCALES, ByHand, Settings
from transformer.by_hand.window import window
from transformer.model.masks import additive
from ui import figures
from ui.views.by_hand.matrices import NAMES, Places, difference, draw, heading, numbers, spelled
from ui.views.by_hand.settings import ALL, PAGE


def show_ids(hand: ByHand, at: Places) -> None:
    s = hand.settings
    heading(1, f"A model reads numbers. Here the vocabulary is just the {len(s.vocabulary)} words of the sentence, "
            "sorted, capitals first; a word's id is its place in that order, counted from 0.", "section 3.4")
    draw(figures.number_matrix(np.array(hand.ids), name="ids", rows=["id"], columns=s.words, decimals=0, kind="plain",
                               cell=(0, at.query)))


def show_embeddings(hand: ByHand, at: Places) -> None:
    s = hand.settings
    heading(2, f"The embedding table has a row of d = {s.d} numbers for each word, and an id picks a row. A model "
            "learns these numbers; here they are random.", "section 3.4")
    name = "embeddings" if s.positions else "x = embeddings"
    draw(numbers(hand.table, "embedding table", at.first, rows=s.vocabulary, row=hand.ids[at.query]),
         numbers(hand.embedded, name, at.first, rows=s.words, row=at.query))
    if s.positions:
        st.markdown("Attention by itself cannot tell the order of words. Sines and cosines of the position are added "
                    "so that it can. :gray[Vaswani et al. 2017, section 3.5.]")
        draw(numbers(hand.positions, "positions", at.first, rows=s.words, row=at.query),
             numbers(hand.x, "x = embeddings + positions", at.first, rows=s.words, row=at.query))


def show_qkv(hand: ByHand, at: Places) -> None:
    s, head = hand.settings, hand.heads[0]
    heading(3, f"Three matrices of weights turn each word's {s.d} numbers into a query (what it looks for), a key "
            "(what it can be found by) and a value (what it has to give). Queries and keys need the same width, "
            f"d_k = {s.d_k}; values may have another, d_v = {s.d_v}.", "sections 3.2.1 and 3.2.2")
    draw(*(numbers(values, name, at.first, rows=s.words, row=row) for name, values, row in
           (("q = x W_q", head.q, at.query), ("k = x W_k", head.k, at.key), ("v = x W_v", head.v, at.key))))
    _draw_weights(3, "The weights W_q, W_k and W_v", at.first,
                  dict(zip(("W_q", "W_k", "W_v"), hand.projections[0], strict=True)))


def show_products(hand: ByHand, at: Places) -> None:
    heading(4, "Every query is compared with every key: their numbers are multiplied one by one and added up. The "
            "more alike their directions, the larger the product. Rows are queries, columns keys.",
            "section 3.2.1, equation 1")
    draw(_square(hand, at, "q kᵀ", hand.heads[0].products), _spell(hand, at, "Product"))


def show_scaled(hand: ByHand, at: Places) -> None:
    s, head = hand.settings, hand.heads[0]
    how = f"Each product is divided by {s.scaling.sign} = {s.divisor:.2f}"
    if s.scaling.split:
        how = (f"Queries and keys are each divided by ⁴√d_k = {s.root:.2f} before they are multiplied. That gives the "
               "same scores, and no product on the way is larger than a score, which matters where numbers have 16 "
               f"bits; the paper divides the products by √d_k = {s.divisor:.2f}")
    elif s.scale != next(iter(SCALES)):
        how += f" here; the paper divides by √d_k = {sqrt(s.d_k):.2f}"
    heading(5, f"{how}. Wide vectors give large products; dividing by √d_k undoes that, so that the softmax does not "
            "put everything on one word.", "section 3.2.1, footnote 4")
    halves = (("q / ⁴√d_k", head.q, at.query), ("k / ⁴√d_k", head.k, at.key)) if s.scaling.split else ()
    draw(*(numbers(values / s.root, name, at.first, rows=s.words, row=row) for name, values, row in halves),
         _square(hand, at, s.scaling.quotient, head.scaled), _spell(hand, at, "Scale"))


def show_mask(hand: ByHand, at: Places) -> None:
    s, words = hand.settings, hand.settings.words
    heading(6, "−∞ is added to scores that must be hidden, 0 to all others. " + (
        "The causal mask hides later words, as in a decoder, which has not written them yet." if s.causal else
        "No mask is chosen, so nothing is hidden, as in an encoder."), "section 3.2.3")
    mask = torch.ones(len(words), len(words), dtype=torch.bool) if s.mask is None else s.mask
    draw(_square(hand, at, "mask", additive(mask), decimals=0),
         *([_square(hand, at, "scores + mask", hand.heads[0].scores)] if s.causal else []))


def show_softmax(hand: ByHand, at: Places) -> None:
    heading(7, "e is raised to each score, and the result divided by the sum of its row. So every weight is between "
            "0 and 1 and every row adds up to 1. These are the attention weights.", "section 3.2.1, equation 1")
    draw(_square(hand, at, "weights", hand.heads[0].weights, kind="weights"), _spell(hand, at, "Mask", "Softmax"))


def show_context(hand: ByHand, at: Places) -> None:
    s, head = hand.settings, hand.heads[0]
    column = window(s.d_v, at.first)[0]
    heading(8, "Each word takes a share of every value, equal to its weight, and adds the shares up. A row is what "
            "the head has found for one word.", "section 3.2.1, equation 1")
    draw(numbers(head.context, "context = weights v", at.first, rows=s.words, row=at.query),
         figures.spelled_sum(s.words[at.query], s.words, weights=head.weights[at.query].numpy(),
                             v=head.v[:, column].numpy(), total=float(head.context[at.query, column]), column=column))


def _square(hand: ByHand, at: Places, name: str, values: torch.Tensor, **options) -> str:
    """A matrix of words by words, with the query's row and the chosen cell marked."""
    words, mask = hand.settings.words, hand.settings.mask
    hides = name in ("mask", "scores + mask", "weights")
    return numbers(values, name, at.first, rows=words, columns=words, row=at.query, cell=(at.query, at.key),
                   allowed=mask.numpy() if hides and mask is not None else None, **options)


def _draw_weights(step: int, label: str, first: int, weights: dict[str, torch.Tensor]) -> None:
    """A closed box with weights, whose numbers are written only when it is opened: there are more of them than of
    everything else."""
    with st.expander(label, key=f"{PAGE}_weights_{step}", on_change="rerun") as box:
        if box.open:
            draw(*(numbers(values, name, first) for name, values in weights.items()))


def _spell(hand: ByHand, at: Places, *lines: str) -> str:
    """The computation of the chosen cell in this step."""
    s = hand.settings
    return spelled(hand.heads[0], s.words, s.words, at.query, at.key, divisor=s.divisor, divided_by=s.scaling.sign,
                   allowed=None if s.mask is None else s.mask.numpy(), lines=lines, first=at.first,
                   root=s.root if s.scaling.split else None)


def show_heads(hand: ByHand, at: Places) -> None:
    s, words = hand.settings, hand.settings.words
    heading(9, f"Attention is computed {s.heads:d} times side by side, in each head with its own W_q, W_k and W_v, "
            "so that each can look for something else. Head 0 is that of the steps before." if s.heads > 1 else
            "There is one head here, that of the steps before. With more, chosen in the settings, each looks at words "
            "of its own.", "section 3.2.2")
    draw(*(numbers(head.weights, f"weights of head {number}", at.first, rows=words, columns=words, kind="weights",
                   allowed=None if s.mask is None else s.mask.numpy(), row=at.query)
           for number, head in enumerate(hand.heads)))


def show_concatenation(hand: ByHand, at: Places) -> None:
    s = hand.settings
    heading(10, f"The heads' context vectors are put side by side: h · d_v = {s.heads:d} · {s.d_v} = "
            f"{s.heads * s.d_v:,} numbers for each word.", "section 3.2.2")
    draw(numbers(hand.block.concatenated, "concatenation", at.first, rows=s.words, row=at.query,
                 groups=[(f"head {head}", s.d_v) for head in range(s.heads)]))


def show_projection(hand: ByHand, at: Places) -> None:
    s = hand.settings
    heading(11, f"One more matrix mixes what the heads have found and brings it back to d = {s.d}, the width of a "
            "word, so that it can be added to it.", "section 3.2.2")
    draw(numbers(hand.block.attended, "attended = concatenation W_o", at.first, rows=s.words, row=at.query))
    _draw_weights(11, "The weights W_o", at.first, {"W_o": hand.w_out})


def show_add_and_norm(hand: ByHand, at: Places) -> None:
    words, block = hand.settings.words, hand.block
    heading(12, "What attention has found is added to the word itself, so that the word is not lost. Then each row is "
            "shifted and stretched to mean 0 and variance 1 (layer normalisation).", "section 3.1")
    draw(numbers(block.added, "x + attended", at.first, rows=words, row=at.query),
         numbers(block.normed, "y = LayerNorm(x + attended)", at.first, rows=words, row=at.query))


def show_feed_forward(hand: ByHand, at: Places) -> None:
    s, words, block = hand.settings, hand.settings.words, hand.block
    heading(13, f"Each word goes through two linear maps by itself: up to 4 d = {4 * s.d:,} numbers, all negative ones "
            f"set to 0 (ReLU), and down to d = {s.d} again. Words don't interact here.", "section 3.3")
    draw(numbers(block.up, "y W_1", at.first, rows=words, row=at.query),
         numbers(block.hidden, "max(0, y W_1)", at.first, rows=words, row=at.query),
         numbers(block.down, "max(0, y W_1) W_2", at.first, rows=words, row=at.query))
    _draw_weights(13, "The weights W_1 and W_2", at.first, {"W_1": hand.w_up, "W_2": hand.w_down})


def show_output(hand: ByHand, at: Places) -> None:
    s, words, block = hand.settings, hand.settings.words, hand.block
    heading(14, "Added and normalised again. The shape is that of the input, so another block can follow: a "
            "transformer is a stack of these.", "section 3.1")
    draw(numbers(block.added_again, "y + max(0, y W_1) W_2", at.first, rows=words, row=at.query),
         numbers(block.output, "output", at.first, rows=words, row=at.query))
    with torch.no_grad():
        ours = hand.layer()(hand.x[None], mask=s.mask).x[0]
    st.caption("Checked just now: the layer that this app's models are made of, given these weights, outputs the same "
               f"matrix; the largest difference is {difference(ours, block.output)}.")


FIRST = 7  # the step that it opens with
SHOWS = (show_ids, show_embeddings, show_qkv, show_products, show_scaled,
         show_mask, show_softmax, show_context, show_heads,
         show_concatenation, show_projection, show_add_and_norm,
         show_feed_forward, show_output)
ROWS = ((1, 2), (3,), (4, 5), (6, 7), (8,), (9,), (10, 11), (12,), (13,), (14,))  # side by side if there is room
WIDE = 12  # columns; with wider matrices each step has the whole width


def choose_word(name: str, short: str, meaning: str, words: list[str]) -> None:
    """Draws the chooser of the query's or the key's word in a line."""
    def name_of(at: int) -> str:
        return words[at] if words.count(words[at]) == 1 else f"{words[at]} · {at}"

    with st.container(key=f"{PAGE}_{name}_line", horizontal=True, gap="xsmall", vertical_alignment="center",
                      width="content", wrap=False):
        st.markdown(short, width="content", help=f"{meaning.capitalize()}. Its row is marked in orange.")
        st.selectbox(f"{short}: {meaning}", range(len(words)), key=f"{PAGE}_{name}", format_func=name_of,
                     width=120, filter_mode=None, persist_state="session", label_visibility="collapsed")


def choose_step(place: DeltaGenerator, steps: list[int], *, all_of_them: bool) -> int | str:
    """Draws the chooser of a step with buttons back and on; returns one of `steps`, or ALL."""
    state, key, options = st.session_state, f"{PAGE}_step", [*([ALL] if all_of_them else []), *steps]
    wanted = state[key]
    if wanted not in options:
        first = FIRST if steps == list(NAMES) else steps[0]
        state[key] = first if wanted in (None, ALL) else min(steps, key=lambda step: abs(step - wanted))
    at = options.index(state[key])
    with place:
        st.selectbox("Step", options, key=key, persist_state="session", width=235, filter_mode=None,
                     format_func=lambda step: "All steps" if step == ALL else f"{step} · {NAMES[step]}",
                     label_visibility="collapsed")
        st.button("Back", key=f"{PAGE}_back", disabled=at <= options.index(steps[0]), on_click=partial(
            _go, options, at - 1))
        st.button("Next", key=f"{PAGE}_next", disabled=at == len(options) - 1, type="primary", on_click=partial(
            _go, options, at + 1), help="The next step by itself")
    return st.session_state[key]


def _go(options: list[int | str], at: int) -> None:
    st.session_state[f"{PAGE}_step"] = options[at]


def longest_side(s: Settings, step: int | str) -> int:
    """The most numbers that a row or column has in a step, or in all of them."""
    sides: dict[int | str, tuple[int, ...]] = {
        2: (s.d,), 3: (s.d, s.d_k, s.d_v), 4: (s.d_k,), 5: (s.d_k,) if s.scaling.split else (), 8: (s.d_v,),
        10: (s.heads * s.d_v,), 11: (s.d, s.heads * s.d_v), 12: (s.d,), 13: (4 * s.d,), 14: (s.d,)}
    return max((side for number in (sides if step == ALL else [step]) for side in sides.get(number, ())), default=0)


def show_steps(hand: ByHand, at: Places, *, step: int | str) -> None:
    """One step, or all, with the query's row marked."""
    if isinstance(step, int):
        with st.container(key=f"{PAGE}_one"):
            SHOWS[step - 1](hand, at)
        return
    s = hand.settings
    wide = max(s.d, s.d_k, s.d_v, len(s.words)) > WIDE
    for row in ROWS:
        places = [st.container()] * len(row) if wide or len(row) == 1 else st.columns(len(row), gap="large")
        for number, place in zip(row, places, strict=True):
            with place:
                SHOWS[number - 1](hand, at)

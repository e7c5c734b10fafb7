"""The beam search of a sentence as a tree beside the steps: a click on a node moves the decoding to it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from transformer.attention_view.heads import Head
from transformer.attention_view.message import token_labels
from transformer.attention_view.message_fields import Selection
from transformer.inference.beam_tree import Tree, beam_tree
from transformer.inference.decoding import Step
from transformer.inference.decoding_tree import DecodingTree
from ui import figures
from ui.choices.head import plain_name
from ui.components.attention_details import source_line
from ui.page.link import apart, decimal, quiet, whole
from ui.page.presentation import presenting
from ui.state.page_state import Kept, PageState
from ui.state.work_queue import heavy
from ui.views.stepper.controller import decoding_of, go_to, sampling_of

WIDTH, MOST = 4, 8
PENALTY, STRONGEST = 0.6, 2.0
FITS = 8    # steps on a page of usual width
SCROLLS = """BOX > * { max-width: none; }
BOX { overflow-x: auto; scrollbar-width: auto; padding-bottom: 6px;
  background: linear-gradient(90deg, var(--tint), transparent) 0 0 / 14px 100% no-repeat scroll,
    linear-gradient(270deg, var(--tint), transparent) 100% 0 / 14px 100% no-repeat scroll; }"""
DRAWN = 40  # steps of the tree at once: a sentence that never ends takes 200, and a browser 5 s to draw them


FIELDS = {"beam": apart(whole(None, 1, MOST)), "penalty": apart(quiet(decimal(PENALTY, 0.0, STRONGEST)))}


class Beam(PageState):
    """What is kept of the beam search."""

    beam = Kept(False)  # it is open
    beam_width, beam_penalty = Kept(WIDTH), Kept(PENALTY)
    beam_clicks = Kept(0)  # on the tree
    beam_searched: Kept[Tree | None] = Kept(None)


def arrive(page: str, arrival: Mapping[str, Any] | None) -> None:
    """Opens the beam search of an address, on arrival."""
    if arrival is None:
        return
    state, width = Beam(page), arrival["beam"]
    state.beam, state.beam_width = width is not None, width or WIDTH
    state.beam_penalty = round(arrival["penalty"], 1)


def values(page: str) -> dict[str, Any]:
    """The parameters of an open beam search."""
    state = Beam(page)
    if not state.beam:
        return {}
    return {"beam": state.beam_width, "penalty": state.beam_penalty}


def show_beam(page: str, decoding: DecodingTree[Step], selection: Selection, head: Head, *, dark: bool) -> None:
    """The tree, the chosen head at the chosen node, and the finished hypotheses; the search starts when the box is
    opened."""
    if presenting(page):
        return
    panel = st.expander("Beam search", key=Beam.beam.key(page), on_change="rerun", icon=":material/account_tree:")
    if not panel.open:
        return
    with panel:
        left, right = st.columns(2)
        width = left.slider("Width", 1, MOST, WIDTH, key=Beam.beam_width.key(page), persist_state="session",
                            help="How many partial translations are kept at each step; 1 is greedy decoding.")
        penalty = right.slider("Length penalty", 0.0, STRONGEST, PENALTY, step=0.1, key=Beam.beam_penalty.key(page),
                               persist_state="session",
                               help="Alpha. Totals are divided by ((5 + tokens) / 6)^alpha, so that longer sentences "
                                    "can compete. 0: no penalty.")
        tree = _searched(page, decoding.step, width, penalty)
        source = source_line(decoding.step)
        here = tree.find([*decoding.step.tokens[1:], decoding.step.id])
        place = here.place if here else None
        chart = f"{page}_beam_tree_{Beam(page).beam_clicks}_{width}_{penalty}"
        first = max(0, min(decoding.index + 1 - DRAWN // 2, tree.depth - DRAWN))
        nodes = [node for node in tree.nodes if first <= node.depth <= first + DRAWN]
        figure = figures.beam_figure(nodes, here=place, title=f"Beam search, width {width}", source=source,
                                     dark=dark)
        # Streamlit never makes a chart wider than its container, so this one scrolls in a box of its own, with shadows
        # where there is more
        st.html(f"<style>{SCROLLS.replace('BOX', f'.st-key-{page}_beam_box')}</style>")
        if here:  # for the step controls, which keep it in sight
            across = (here.depth - nodes[0].depth + 0.5) / (nodes[-1].depth - nodes[0].depth + 1)
            st.html(f'<i class="beam-here" data-across="{across:.4f}" hidden></i>')
        with st.container(horizontal=True, wrap=False, key=f"{page}_beam_box"):
            st.plotly_chart(figure, key=chart, width=figure.to_dict()["layout"]["width"],
                            on_select=partial(_clicked, page, chart),
                            selection_mode="points", config=figures.PLOTLY_CONFIG,
                            alt=figures.describe_beam(tree.nodes, width=width))
        if len(nodes) < len(tree.nodes):
            st.caption(f"The search took {tree.depth} steps. {DRAWN} of them are drawn, around the one shown.")
        if tree.depth > FITS:
            st.caption("← Scroll sideways to see the whole tree. →")
        st.caption(
            f"At each step the {2 * width} likeliest continuations of the kept hypotheses are considered. The number "
            f"in a box is the sum of log-probabilities so far; the best is on top. The best "
            f"{f'{width} unfinished ones continue' if width > 1 else 'unfinished one continues'}; "
            "grey ones are pruned, ■ ended. "
            f"{'Lighter' if dark else 'Darker'}: a likelier token. Orange: the best hypothesis. Outlined: the current "
            f"step. Click a box to see its attention below."
            + (" The search does not sample: its probabilities are without temperature." * bool(
                sampling_of(page).temperature)))
        kind, (queries, keys, _) = selection.kind, token_labels(decoding.step, selection.kind)
        newest = kind != "encoder"
        name = "the mean chosen above" if selection.of != "head" else figures.head_label(selection.layer,
                                                                                         selection.head)
        left, right = st.columns(2, gap="large")
        with left:
            st.plotly_chart(figures.attention_heatmap(
                head.weights, queries, keys, source=source, newest=newest, mask=decoding.step.mask(kind).numpy(),
                title=f"{kind.capitalize()}, {name} · after “{decoding.step.output[-40:]}”", dark=dark),
                key=f"{page}_beam_attention", config=figures.PLOTLY_CONFIG,
                alt=figures.describe_attention(head.weights, queries, keys, newest=newest))
        ends = decoding.step.ckpt.config.ends
        right.html(figures.hypotheses_table(
            [(tree.output(node), node.total, node.depth, node.penalised, ends(node.id)) for node in tree.hypotheses()],
            source=f"By {plain_name(decoding.step.ckpt)}."))
        right.caption("Total: sum of the log-probabilities of all tokens, end token included. Penalised: total "
                      "divided by the length penalty (Wu et al. 2016, equation 14); the largest wins.")


def _searched(page: str, step: Step, width: int, penalty: float) -> Tree:
    """The tree of this text, searched again when the text or the settings change."""
    tree = Beam(page).beam_searched
    if (tree is None or tree.ckpt.id != step.ckpt.id
            or (tree.text, tree.width, tree.length_penalty) != (step.text, width, penalty)):
        with heavy("Searching") as work:
            tree = beam_tree(step.ckpt, step.text, width=width, length_penalty=penalty, watch=work.watch)
        Beam(page).beam_searched = tree
    return tree


def _clicked(page: str, chart: str) -> None:
    state = Beam(page)
    place = figures.picked_node(st.session_state.get(chart))
    tree = state.beam_searched
    if place is None or tree is None or decoding_of(page) is None or place >= len(tree.nodes):
        return
    node = tree.nodes[place]
    go_to(page, None if node.parent is None else tree.step(node))
    state.beam_clicks += 1

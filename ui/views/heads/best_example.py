"""One head on the sentence that shows it best, and the way to that sentence on the page of its model."""

from collections import Counter

import numpy as np
import streamlit as st
import torch

from transformer.analysis.roles import SHORT, HeadRoles, read_weights, repeated
from transformer.analysis.sample import Sentence, pad_sentences
from transformer.checkpoint import Checkpoint
from transformer.config import Kind
from transformer.measures.catalogue import BY_NAME
from transformer.measures.totals import ENOUGH
from transformer.model.masks import allowed_keys
from ui import figures
from ui.choices.head import origin
from ui.page.pages import stepper_of
from ui.page.presentation import presenting
from ui.views.heads.matrix_window import LABELLED, say_tokens, windowed
from ui.views.heads.page_layout import behind
from ui.views.heads.sample import OWN
from ui.views.stepper.address import address_of_step

TWICE = 8  # random tokens in a row that stands twice
MOST_CELLS = 2_500  # in the table


def show_best(page: str, ckpt: Checkpoint, roles: HeadRoles, measure: str, kind: Kind, layer: int, head: int, *,
              dark: bool) -> None:
    """The head's weights on the sentence where the measure is largest, its targets given to the decoder."""
    value, random = (of[kind][measure][layer, head] for of in (roles.values, roles.untrained))
    about = BY_NAME[measure]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_role_head_line"):
        st.markdown(f"## {kind.capitalize()}, {figures.head_label(layer, head)}", width="content")
        if not presenting(page):  # the map beside it has them
            st.markdown(f"**{figures.part_of_one(value)}** · random weights {figures.part_of_one(random)}, "
                        f"uniform {roles.even[kind][measure]:.2f}",
                        help=about.explained, width="content")
    best, short = (roles.sentence(kind, measure, layer, head, short=short) for short in (False, True))
    longest = best is not short and bool(st.session_state[f"{page}_role_longest"])
    if about.repeated:
        sentence = next(iter(repeated(ckpt.config, roles.sentences, seed=roles.seed, count=TWICE, rows=1)), None)
    else:
        sentence = best if longest else short
    if sentence is None:
        st.info("No single sentence can show this measure.")
        return
    if about.repeated:
        read = Counter(sentence.src if kind == "encoder" else sentence.tgt)
        twice = sum(times == 2 for times in read.values())
        st.caption(f"Measured on random tokens. Here are {twice} of them, repeated once: an induction head looks from "
                   "the second half at what followed the same token in the first.")
    else:
        window = ckpt.config.task == "text" and st.session_state.get(f"{page}_role_on") != OWN
        st.text("…" * window + sentence.text + (f" → {sentence.target}" if sentence.target is not None else ""))
    weights = _draw(page, ckpt, sentence, kind, layer, head, dark=dark)
    if about.repeated:
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_role_best_settings"):
        what, other = "sentence" if sentence.target is not None else "text", stepper_of(ckpt.config)
        st.page_link(other.script, label=f"Open this {what} in {other.title}", icon=":material/open_in_new:",
                     query_params=address_of(ckpt, sentence, kind, layer, head), width="content",
                     help=_chosen_so(what, sentence, longest=longest))
        if best is not short:
            st.toggle("Allow longer texts", key=f"{page}_role_longest")
    if weights.size <= MOST_CELLS:
        with behind(page, "role_weights", "These weights as a table") as is_open:
            if is_open:
                queries, keys, mask = axes_on(ckpt, sentence, kind, layer)
                st.html(figures.attention_table(weights, queries, keys, kind=kind, layer=layer, head=head, mask=mask,
                                                source=origin(ckpt)))


def _chosen_so(what: str, sentence: Sentence, *, longest: bool) -> str:
    """Why this text is the one that is shown."""
    few = is_short(sentence) and not longest
    return (f"The {what} of the sample where this head scores highest"
            + (f", of those with at most {SHORT} tokens" if few else "")
            + f" ({ENOUGH} or more measurable tokens where possible)"
            + (". The decoder is given its translation." if sentence.target is not None else "."))


def _draw(page: str, ckpt: Checkpoint, sentence: Sentence, kind: Kind, layer: int, head: int, *,
          dark: bool) -> np.ndarray:
    """The picture of a head's weights, which are returned; only of a long text is it one that plotly draws."""
    whole = weights_on(ckpt, sentence, kind)[layer, head]
    queries, keys, mask = axes_on(ckpt, sentence, kind, layer)
    (weights,), queries, keys, mask = windowed([whole], queries, keys, mask)
    if max(weights.shape) <= figures.MOST_IN_GRID:
        after = [ckpt.tokenizer.piece(id) for id in sentence.labels or ()] if kind != "encoder" and (
            ckpt.config.task != "classes") else []
        small = presenting(page)
        st.html(figures.weight_grid(weights, queries, keys, kind=kind, layer=layer, head=head, mask=mask, dark=dark,
                                    after=() if small else after, small=small))
        return whole
    st.plotly_chart(
        figures.attention_heatmap(weights, queries, keys, mask=mask, newest=False, dark=dark, source=origin(ckpt),
                                  title=f"{kind.capitalize()}, {figures.head_label(layer, head)}"),
        key=f"{page}_role_heatmap", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_attention(weights, queries, keys, newest=False))
    if max(len(queries), len(keys)) > LABELLED:
        with st.container(key=f"{page}_role_long", height=160, border=False):
            say_tokens(queries, keys)
    return whole


def is_short(sentence: Sentence) -> bool:
    return max(len(sentence.src or ()), len(sentence.tgt or ())) <= SHORT


def weights_on(ckpt: Checkpoint, sentence: Sentence, kind: str) -> np.ndarray:
    """The weights (layers, H, Tq, Tk) of a kind on a sentence as it was measured."""
    batch = pad_sentences(ckpt.config, [sentence], device=ckpt.device)
    layers = dict(read_weights(ckpt.model, batch.src, batch.tgt))[kind]
    return torch.cat(layers).cpu().numpy()


def axes_on(ckpt: Checkpoint, sentence: Sentence, kind: Kind,
            layer: int) -> tuple[list[str], list[str], np.ndarray | None]:
    """The queries and keys of a kind on a sentence, and the mask of a layer where it hides anything."""
    tokens = {"src": [ckpt.source_tokenizer.piece(id) for id in sentence.src or ()],
              "tgt": [ckpt.tokenizer.piece(id) for id in sentence.tgt or ()]}
    queries, keys = tokens["src" if kind == "encoder" else "tgt"], tokens["tgt" if kind == "decoder" else "src"]
    mask = allowed_keys(ckpt.config, kind, range(len(queries)), range(len(keys)), layer=layer)
    return queries, keys, None if mask.all() else mask.numpy()


def address_of(ckpt: Checkpoint, sentence: Sentence, kind: Kind, layer: int, head: int) -> dict[str, str]:
    """The query string under which the page of the model shows this head on this sentence, its target forced."""
    selection = {"kind": kind, "layer": str(layer), "head": str(head)}
    if sentence.target is None:
        return address_of_step(ckpt.id, sentence.text, selection=selection)[0]
    choices = dict(enumerate(sentence.labels or ()))
    return address_of_step(ckpt.id, sentence.text, choices=choices, temperature=0.0, step=len(choices) - 1,
                           selection=selection)[0]

"""One head on the sentence that shows it best, and the way to that sentence on the page of its model."""

from collections import Counter

import streamlit as st
import torch

from transformer.analysis.roles import SHORT, HeadRoles, read_weights, repeated
from transformer.analysis.sample import Sentence, padded
from transformer.checkpoint import Checkpoint
from transformer.config import Kind
from transformer.measures.catalogue import BY_NAME
from transformer.measures.totals import ENOUGH
from transformer.model.masks import causal_mask
from ui import figures
from ui.head_choice import origin
from ui.heads.windowed import say_tokens, windowed
from ui.pages import stepper_of
from ui.stepper.address import address_of_step

TWICE = 8  # random tokens in a row that stands twice


def show_best(page: str, ckpt: Checkpoint, roles: HeadRoles, measure: str, kind: Kind, layer: int, head: int, *,
              dark: bool) -> None:
    """The head's weights on the sentence where the measure is largest, its targets given to the decoder."""
    value, random = (of[kind][measure][layer, head] for of in (roles.values, roles.untrained))
    title = figures.markdown_text(BY_NAME[measure].title)
    st.subheader(f"{kind.capitalize()}, {figures.head_label(layer, head)}", anchor=False)
    st.markdown(f"**{title}: {value:.2f}** over all of the sample · random weights {random:.2f} · uniform "
                f"{roles.even[kind][measure]:.2f}")
    st.caption(BY_NAME[measure].explained)
    on_text = not BY_NAME[measure].repeated
    sentence = (_example(page, roles, measure, kind, layer, head) if on_text else
                next(iter(repeated(ckpt.config, roles.sentences, seed=roles.seed, count=TWICE, rows=1)), None))
    if sentence is None:
        st.info("No single sentence can show this measure.")
        return
    if not on_text:
        read = Counter(sentence.src if kind == "encoder" else sentence.tgt)
        twice = sum(times == 2 for times in read.values())
        st.caption(f"{title} is measured on random tokens. Here are {twice} of them, repeated once. An induction head "
                   f"looks from the second half at what followed the same token in the first.")
    else:
        what = "sentence" if sentence.target is not None else "text"
        few = is_short(sentence) and sentence is not roles.sentence(kind, measure, layer, head)
        st.caption(f"The {what} of the sample where this head scores highest"
                   + (f", of those with at most {SHORT} tokens" if few else "")
                   + f"; shorter than {ENOUGH} measurable tokens only if no longer one exists"
                   + (". The decoder is given its translation." if sentence.target is not None else "."))
        st.text(sentence.text + (f"\n→ {sentence.target}" if sentence.target is not None else ""))
    weights, queries, keys, mask = weights_on(ckpt, sentence, kind)
    (matrix,), queries, keys, mask = windowed([weights[layer, head]], queries, keys, mask)
    say_tokens(queries, keys)
    st.plotly_chart(
        figures.attention_heatmap(matrix, queries, keys, mask=mask, newest=False, dark=dark, source=origin(ckpt),
                                  title=f"{kind.capitalize()}, {figures.head_label(layer, head)}"),
        key=f"{page}_role_heatmap", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_attention(matrix, queries, keys, newest=False))
    if on_text:
        other = stepper_of(ckpt.config)
        st.page_link(other.script, label=f"Open this {what} in {other.title}", icon=":material/open_in_new:",
                     query_params=address_of(ckpt, sentence, kind, layer, head))
    if matrix.size <= 2_500:
        with st.expander("Weights as a table", key=f"{page}_role_weights"):
            st.html(figures.attention_table(matrix, queries, keys, kind=kind, layer=layer, head=head, mask=mask,
                                            source=origin(ckpt)))


def _example(page: str, roles: HeadRoles, measure: str, kind: Kind, layer: int, head: int) -> Sentence | None:
    """A sentence that is read at a glance; the one that shows the measure best of all only where it is asked for."""
    best, short = (roles.sentence(kind, measure, layer, head, short=short) for short in (False, True))
    if best is short:
        return best
    return best if st.toggle("Allow longer texts", key=f"{page}_role_longest") else short


def is_short(sentence: Sentence) -> bool:
    return max(len(sentence.src or ()), len(sentence.tgt or ())) <= SHORT


def weights_on(ckpt: Checkpoint, sentence: Sentence, kind: str) -> tuple:
    """The weights (layers, H, Tq, Tk) of a kind on a sentence as it was measured; its queries, its keys, the mask."""
    batch = padded(ckpt.config, [sentence], device=ckpt.device)
    layers = dict(read_weights(ckpt.model, batch.src, batch.tgt))[kind]
    weights = torch.cat(layers).cpu().numpy()
    tokens = {"src": [ckpt.source_tokenizer.piece(id) for id in sentence.src or ()],
              "tgt": [ckpt.tokenizer.piece(id) for id in sentence.tgt or ()]}
    queries, keys = tokens["src" if kind == "encoder" else "tgt"], tokens["tgt" if kind == "decoder" else "src"]
    mask = causal_mask(len(queries), len(keys))[0, 0].numpy() if kind == "decoder" else None
    return weights, queries, keys, mask


def address_of(ckpt: Checkpoint, sentence: Sentence, kind: Kind, layer: int, head: int) -> dict[str, str]:
    """The query string under which the page of the model shows this head on this sentence, its target forced."""
    look = {"kind": kind, "layer": str(layer), "head": str(head)}
    if sentence.target is None:
        return address_of_step(ckpt.id, sentence.text, look=look)[0]
    choices = dict(enumerate(sentence.labels or ()))
    return address_of_step(ckpt.id, sentence.text, choices=choices, temperature=0.0, step=len(choices) - 1,
                           look=look)[0]

"""Heads switched off, or made to look at everything alike: a text before and after, and each head in turn."""

from functools import partial

import numpy as np
import streamlit as st

from transformer.analysis.ablation import EXPLAINED, Head, all_heads, compare_paths, switch
from transformer.brief import how_many
from transformer.checkpoint import Checkpoint
from transformer.config import KINDS, ModelConfig
from transformer.inference.decoding import steps
from transformer.inference.reading import attend
from transformer.model.switches import Switches
from ui import figures
from ui.example_text import type_text
from ui.head_choice import head_controls, head_in_range, origin
from ui.heads.demonstrations import Demonstration, seen_in
from ui.heads.effects import CALLED, LIMITS, show_effects
from ui.heads.switched_text import show_encoder, show_paths
from ui.heads.windowed import say_tokens, windowed
from ui.heavy import heavy
from ui.held_out_corpus import readable
from ui.languages import reads_examples
from ui.link import Field, choice, optional, quiet, whole
from ui.resources import shelf
from ui.say import say_error
from ui.texts import untouched

MOST = 2_000  # heads in an address
STEPS = {"translation": 60, "text": 40}
WHAT = {"off": "Off", "uniform": "Uniform attention"}


def switch_fields() -> dict[str, Field]:
    """What of this view the address holds: heads=decoder:0:3,cross:1:2 and so on."""
    return {"heads": Field([], read_heads, lambda heads: write_heads(heads) or None, long=True),
            "what": quiet(choice("off", list(WHAT))),
            "seen_kind": optional(choice(None, KINDS)),
            "seen_layer": optional(whole(0, 0, 1_000)), "seen_head": optional(whole(0, 0, 1_000)),
            "limit": quiet(choice(200, LIMITS))}


def read_heads(text: str) -> list[Head]:
    """"decoder:0:3,cross:1:2" as heads; what cannot be read is left out."""
    found = []
    for part in text[:20_000].split(",")[:MOST]:
        kind, *places = part.strip().split(":")
        if kind in KINDS and len(places) == 2 and all(
                place.isascii() and place.isdigit() and len(place) < 5 for place in places):
            found.append(Head(kind, *map(int, places)))
    return list(dict.fromkeys(found))


def write_heads(heads: list[Head]) -> str:
    return ",".join(f"{kind}:{layer}:{head}" for kind, layer, head in heads)


def show_switch(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """The whole view."""
    state, config = st.session_state, ckpt.config
    state.pop(f"{page}_switch_again", None)  # the whole page is being drawn again
    there = set(all_heads(config))
    state[f"{page}_heads"] = [head for head in state[f"{page}_heads"] if head in there]
    st.caption("What does the model lose without a head? Select heads to see what it predicts without them.")
    text = _choose_text(page, ckpt)
    with st.container(key=f"{page}_switches"):
        _choose_heads(page, config)
    heads = state[f"{page}_heads"]
    if not text.strip():
        st.info("Type a text above to see what switching heads changes in it.")
    elif not heads:
        st.info("Select heads above. The text then runs through the model twice: unchanged, and with them switched.")
    else:
        try:
            _show_text(page, ckpt, text, switch(config, *heads, what=state[f"{page}_what"]), dark=dark)
        except ValueError as error:
            say_error(error)
    st.caption(EXPLAINED["switch"])
    show_effects(page, ckpt, names=readable(ckpt), crossed=heads, on_pick=partial(_toggle, page), dark=dark)


def _choose_text(page: str, ckpt: Checkpoint) -> str:
    """The text, and sentences that a head matters to, where this model has such: it opens on the first."""
    state, offered = st.session_state, _demonstrations(ckpt)
    arriving, state[f"{page}_demonstrated"] = state.get(f"{page}_demonstrated") != ckpt.id, ckpt.id
    example = offered[0].text if offered else None
    if arriving and untouched(f"{page}_text") and offered and not state[f"{page}_heads"]:
        state[f"{page}_heads"] = [offered[0].head]
    text = type_text(page, ckpt, example=example)
    if offered:
        st.pills("Examples", range(len(offered)), key=f"{page}_demonstration", wrap=True,
                 format_func=lambda at: figures.markdown_text(offered[at].label), label_visibility="collapsed",
                 on_change=_demonstrate, args=[page, offered])
    return text


def _demonstrations(ckpt: Checkpoint) -> list[Demonstration]:
    if ckpt.config.task != "translation" or not reads_examples(ckpt):
        return []
    return shelf("demonstrations").make((ckpt.id,), "Trying two sentences",
                                        lambda work: seen_in(ckpt, watch=work.watch))


def _demonstrate(page: str, offered: list[Demonstration]) -> None:
    state, picked = st.session_state, st.session_state[f"{page}_demonstration"]
    if picked is not None:
        state[f"{page}_text"], state[f"{page}_heads"] = offered[picked].text, [offered[picked].head]
        state[f"{page}_demonstration"] = None


def _toggle(page: str, pick: dict) -> None:
    """A head clicked in a map of effects is switched, or no longer."""
    state = st.session_state
    head, heads = Head(pick["kind"], pick["layer"], pick["head"]), state[f"{page}_heads"]
    state[f"{page}_heads"] = [one for one in heads if one != head] if head in heads else [*heads, head]
    state[f"{page}_switch_again"] = True


def _choose_heads(page: str, config: ModelConfig) -> None:
    """A row of heads to press for each layer of each kind."""
    state = st.session_state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control("Selected heads are", list(WHAT), format_func=WHAT.get, key=f"{page}_what", required=True)
        st.button("Reset", key=f"{page}_all_on", icon=":material/restart_alt:", on_click=_all_on, args=[page],
                  disabled=not state[f"{page}_heads"])
    chosen = state[f"{page}_heads"]
    st.caption(f"Select heads. A highlighted head is {CALLED[state[f'{page}_what']]}, all others are unchanged.")
    for place, kind in zip(st.columns(len(config.kinds), gap="large"), config.kinds, strict=True):
        with place:
            count = sum(head.kind == kind for head in chosen)
            named = figures.markdown_text(kind.capitalize())
            st.markdown(f"**{named}**" + (f" · {count} {CALLED[state[f'{page}_what']]}" if count else ""))
            for layer in range(config.layers(kind)):
                key = f"{page}_switch_{kind}_{layer}"
                state[key] = [head.head for head in chosen if head[:2] == (kind, layer)]
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    st.markdown(f"Layer {layer}", width="content")
                    st.pills(f"{named}, layer {layer}: heads switched", range(config.n_heads), key=key,
                             selection_mode="multi", label_visibility="collapsed", wrap=True, on_change=_pressed,
                             args=[page, kind, layer])


def _pressed(page: str, kind: str, layer: int) -> None:
    state = st.session_state
    others = [head for head in state[f"{page}_heads"] if head[:2] != (kind, layer)]
    state[f"{page}_heads"] = [*others, *(Head(kind, layer, head) for head in state[f"{page}_switch_{kind}_{layer}"])]


def _all_on(page: str) -> None:
    st.session_state[f"{page}_heads"] = []


def _show_text(page: str, ckpt: Checkpoint, text: str, heads: Switches, *, dark: bool) -> None:
    """One text with the heads as they are and switched, and one head's attention in both."""
    state = st.session_state
    chosen, what = tuple(state[f"{page}_heads"]), state[f"{page}_what"]
    name = f"with {how_many(len(chosen), 'head')} {CALLED[what]}"
    key = (ckpt.id, text, chosen, what)
    if ckpt.config.decoder_layers:
        known = state.get(f"{page}_paths")
        if known is None or known[0] != key:
            with heavy("Decoding both ways") as work:
                change = compare_paths(ckpt, text, heads, max_steps=STEPS[ckpt.config.task], watch=work.watch)
                said = {step.index: step.id for step in change.before}
                for after in steps(ckpt, text, max_steps=len(said), forced=said, heads=heads):
                    pair = change.before[-1], after
                    work.watch()
            known = state[f"{page}_paths"] = key, change, pair
        _, change, pair = known
        show_paths(page, ckpt, change, name=name, dark=dark)
        about = "on the tokens the unchanged model writes, read both ways"
    else:
        with heavy("Reading the text both ways"):
            pair = attend(ckpt, text), attend(ckpt, text, heads=heads)
        show_encoder(page, ckpt, pair, name=name, dark=dark)
        about = "on this text, read both ways"
    _show_attention(page, ckpt, pair, chosen, name=name, about=about, dark=dark)


def _show_attention(page: str, ckpt: Checkpoint, pair: tuple, chosen: tuple[Head, ...], *, name: str, about: str,
                    dark: bool) -> None:
    """A head's weights before and after, and their difference."""
    state = st.session_state
    if state.get(f"{page}_seen_layer") is None and state.get(f"{page}_seen_kind") is None:
        state[f"{page}_seen_kind"], state[f"{page}_seen_layer"], state[f"{page}_seen_head"] = _later(
            ckpt.config, chosen[0])
    kind, layer, head = head_in_range(f"{page}_seen", ckpt.config)
    st.markdown(f"**Attention of a head**, {about}")
    head_controls(f"{page}_seen", ckpt.config)
    (before, after), queries, keys, mask = windowed(
        [one.attentions[kind][layer, head].cpu().numpy() for one in pair], *pair[0].axes(kind),
        pair[0].mask(kind).numpy())
    say_tokens(queries, keys)
    which, newest = f"{kind.capitalize()}, {figures.head_label(layer, head)}", False
    for place, of, matrix, title in zip(st.columns(2, gap="large"), ("before", "after"), (before, after),
                                        ("unchanged", name), strict=True):
        with place:
            st.plotly_chart(
                figures.attention_heatmap(matrix, queries, keys, title=f"{which} · {title}", source=origin(ckpt),
                                          mask=mask, newest=newest, dark=dark),
                key=f"{page}_seen_{of}", config=figures.PLOTLY_CONFIG,
                alt=figures.describe_attention(matrix, queries, keys, newest=newest))
    if Head(kind, layer, head) in chosen:
        st.caption("This head is itself switched" + (
            ": it still computes its weights, but its output is discarded."
            if st.session_state[f"{page}_what"] == "off" else ": its weights are uniform."))
    if np.abs(after - before).max() < 1e-6:
        st.info("This head attends exactly as before. Only heads in later layers, or in the decoder after a change in "
                "the encoder, can be affected.")
        return
    left, right = st.columns(2, gap="large")
    left.plotly_chart(
        figures.difference_heatmap(after, before, queries, keys, names=("after", "before"), mask=mask, dark=dark,
                                   title=f"{which} · after minus before", source=origin(ckpt)),
        key=f"{page}_seen_difference", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_difference(after, before, queries, keys))
    with right, st.expander("The difference as a table", key=f"{page}_seen_table"):
        if before.size <= 2_500:
            st.html(figures.attention_table(after - before, queries, keys, kind=kind, layer=layer, head=head,
                                            source=f"After minus before. {origin(ckpt)}"))
        else:
            st.caption(f"{before.size:,} numbers are too many for a table; try a shorter text.")


def _later(config: ModelConfig, head: Head) -> Head:
    """A head that reads what this one writes, to begin with: the one above it, else itself."""
    return head._replace(layer=head.layer + 1) if head.layer + 1 < config.layers(head.kind) else head

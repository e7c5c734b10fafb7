"""Heads switched off, or made to look at everything alike: a text before and after, and each head in turn."""

from functools import partial

import streamlit as st

from transformer.analysis.ablation import EXPLAINED, Head, all_heads, compare_paths, switch_heads
from transformer.checkpoint import Checkpoint
from transformer.config import KINDS, ModelConfig
from transformer.formatting import how_many
from transformer.inference.decoding import steps
from transformer.inference.reading import attend
from transformer.model.switches import Switches
from ui import figures
from ui.choices.example_text import type_text
from ui.choices.held_out_corpus import readable
from ui.choices.languages import reads_examples
from ui.page.link import Field, choice, opened, optional, quiet, whole
from ui.page.plain_text import say_error
from ui.page.presentation import presenting
from ui.page.text_limits import untouched
from ui.state.caches import shelf
from ui.state.work_queue import heavy
from ui.views.heads.demonstrations import Demonstration, seen_in
from ui.views.heads.head_ablation import CALLED, LIMITS, show_effects
from ui.views.heads.page_layout import behind
from ui.views.heads.switched_attention import show_seen
from ui.views.heads.switched_text import Both, show_both, show_chances

MOST = 2_000  # heads in an address
FIGURE_SPACE = "\u2007"  # as wide as a digit
STEPS = {"translation": 60, "text": 40}
WHAT = {"off": "Off", "uniform": "Uniform attention"}
SAID = {"off": "Click a head to switch it off. Highlighted heads are off.",
        "uniform": "Click a head to make it look at everything equally. Highlighted heads do."}


def switch_fields() -> dict[str, Field]:
    """What of this view the address holds: heads=decoder:0:3,cross:1:2 and so on."""
    return {"heads": Field([], read_heads, lambda heads: write_heads(heads) or None, long=True),
            "what": quiet(choice("off", list(WHAT))),
            "seen_kind": optional(choice(None, KINDS)),
            "seen_layer": optional(whole(0, 0, 1_000)), "seen_head": optional(whole(0, 0, 1_000)),
            "limit": quiet(choice(200, LIMITS)), "each": opened(), "chances": opened(), "seen": opened()}


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
    """The whole view: the switches, and beside them what the model makes of a text with and without these heads."""
    state, config = st.session_state, ckpt.config
    state.pop(f"{page}_switch_again", None)  # the whole page is being drawn again
    there = set(all_heads(config))
    state[f"{page}_heads"] = [head for head in state[f"{page}_heads"] if head in there]
    text = _choose_text(page, ckpt)
    left, right = st.columns([9, 11] if presenting(page) else [11, 9], gap="medium")
    with left, st.container(key=f"{page}_switches"):
        _choose_heads(page, config)
    heads, both = state[f"{page}_heads"], None
    with right, st.container(key=f"{page}_switched"):
        if not text.strip():
            st.info("Type a text above to see what switching heads changes in it.")
        elif not heads:
            st.info("Click heads to switch them off. The text then runs through the model twice: with them and "
                    "without.")
        else:
            try:
                both = _read_both(page, ckpt, text, switch_heads(config, *heads, what=state[f"{page}_what"]))
                show_both(page, both, dark=dark)
            except ValueError as error:
                say_error(error)
    with behind(page, "each", "Each head in turn: how much worse is the model without it?") as is_open:
        if is_open:
            show_effects(page, ckpt, names=readable(ckpt), crossed=heads, on_pick=partial(_toggle, page), dark=dark)
    if both is None:
        return
    with behind(page, "chances", "How likely each answer is, with and without") as is_open:
        if is_open:
            show_chances(page, both, dark=dark)
    with behind(page, "seen", "Where another head looks, with and without") as is_open:
        if is_open:
            show_seen(page, both, tuple(heads), dark=dark)


def _choose_text(page: str, ckpt: Checkpoint) -> str:
    """The text, and sentences that a head matters to, where this model has such: it opens on the first."""
    state, offered = st.session_state, _demonstrations(ckpt)
    arriving, state[f"{page}_demonstrated"] = state.get(f"{page}_demonstrated") != ckpt.id, ckpt.id
    example = offered[0].text if offered else None
    if arriving and untouched(f"{page}_text") and offered and not state[f"{page}_heads"]:
        state[f"{page}_heads"] = [offered[0].head]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_switch_line"):
        with st.container(width=480):
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
    chosen, what = state[f"{page}_heads"], state[f"{page}_what"]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_what_settings"):
        st.segmented_control("Clicked heads are", list(WHAT), format_func=WHAT.get, key=f"{page}_what", required=True,
                             label_visibility="collapsed")
        st.button("Reset", key=f"{page}_all_on", icon=":material/restart_alt:", on_click=_all_on, args=[page],
                  disabled=not chosen)
    st.markdown(SAID[what], help=EXPLAINED["switch"])
    with st.container(horizontal=True, key=f"{page}_boards"):
        for kind in config.kinds:
            with st.container(width="content", key=f"{page}_board_{kind}"):
                count = sum(head.kind == kind for head in chosen)
                named = figures.markdown_text(kind.capitalize())
                st.markdown(f"**{named}**" + (f" · {count} {CALLED[what]}" if count else ""))
                for layer in range(config.layers(kind)):
                    _choose_of_layer(page, config, kind, layer, named)


def _choose_of_layer(page: str, config: ModelConfig, kind: str, layer: int, named: str) -> None:
    state, key = st.session_state, f"{page}_switch_{kind}_{layer}"
    state[key] = [head.head for head in state[f"{page}_heads"] if head[:2] == (kind, layer)]
    digits = len(str(config.layers(kind) - 1))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        st.markdown(f"*Layer* {layer:{FIGURE_SPACE}>{digits}}", width="content")
        st.pills(f"{named}, layer {layer}: heads switched", range(config.n_heads), key=key, selection_mode="multi",
                 label_visibility="collapsed", wrap=True, on_change=_pressed, args=[page, kind, layer])


def _pressed(page: str, kind: str, layer: int) -> None:
    state = st.session_state
    others = [head for head in state[f"{page}_heads"] if head[:2] != (kind, layer)]
    state[f"{page}_heads"] = [*others, *(Head(kind, layer, head) for head in state[f"{page}_switch_{kind}_{layer}"])]


def _all_on(page: str) -> None:
    st.session_state[f"{page}_heads"] = []


def _read_both(page: str, ckpt: Checkpoint, text: str, heads: Switches) -> Both:
    """One text with the heads as they are and switched; raises ValueError for one that cannot be read."""
    state = st.session_state
    chosen, what = tuple(state[f"{page}_heads"]), state[f"{page}_what"]
    name, key = name_of(chosen, what), (ckpt.id, text, chosen, what)
    if not ckpt.config.decoder_layers:
        with heavy("Reading the text both ways"):
            return Both(ckpt, name, (attend(ckpt, text), attend(ckpt, text, heads=heads)))
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
    return Both(ckpt, name, pair, change)


def name_of(chosen: tuple[Head, ...], what: str) -> str:
    """What is switched, such as “without cross 2.3”."""
    one = chosen[0]
    heads = f"{one.kind} {one.layer}.{one.head}" if len(chosen) == 1 else how_many(len(chosen), "head")
    return f"without {heads}" if what == "off" else f"with {heads} uniform"

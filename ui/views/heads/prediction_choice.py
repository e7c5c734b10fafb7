"""Choosing what is asked about: a text, what the model says of it, and one token of that, or a class."""

from functools import partial

import streamlit as st

from transformer.checkpoint import Checkpoint
from ui import figures
from ui.choices.example_text import type_text
from ui.page.link import Field, current_address, optional, whole
from ui.page.plain_text import say_error
from ui.page.text_limits import ANSWER, taken
from ui.views.heads.prediction import MOST, Answer, Prediction, answer, kept

MASKS = ("[MASK]", "<mask>")
FEW = 80         # tokens to choose among by a click; more of them by number
GO_ON = 60       # tokens that a decoder goes on by, at most
FIELDS = {
    "target": Field("", str, lambda value: value or None, long=True),
    "more": whole(8, 1, GO_ON),
    "position": optional(whole(0, 0, MOST)),
    "class": optional(Field(None))}


def ask(page: str, ckpt: Checkpoint) -> Prediction | None:
    """The box for a text, and the chooser of the token or class asked about; None, with a sentence, where there is
    nothing to ask."""
    config = ckpt.config
    target, more = "", 0
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_ask_line"):
        with st.container():
            text = type_text(page, ckpt)
        if config.decoder_layers:
            with st.popover("More", key=f"{page}_ask_settings"):
                if config.encoder_layers:
                    target = taken(st.text_input(
                        "Its translation", key=f"{page}_target", persist_state="session",
                        placeholder="the model's own; type another to examine it"), ANSWER).strip()
                else:
                    more = st.number_input("Tokens to continue by", 1, GO_ON, step=1, key=f"{page}_more",
                                           persist_state="session")
    of = (ckpt.id, text, target, more)
    _forget_another(page, ckpt, text, target)
    if not text.strip():
        st.info(f"Type a {'sentence' if config.task == 'translation' else 'text'} above.")
        return None
    try:
        found = kept(page, "answer", of, "Reading", lambda work: answer(
            ckpt, text, target=target, more=more, watch=work.watch))
    except ValueError as error:
        say_error(error)
        return None
    return _choose_class(page, found, of) if found.whole.tgt is None and not found.masked else (
        _choose_token(page, found, of))


def _forget_another(page: str, ckpt: Checkpoint, text: str, target: str) -> None:
    """What was chosen of another text's tokens means nothing here; what came with an address does."""
    state = st.session_state
    arrived = state[f"{page}_arrived"]
    before, last = arrived.get("text"), state.get(f"{page}_asked_of", ckpt.id)
    state[f"{page}_asked_of"] = ckpt.id
    changed = last != ckpt.id and current_address().get("checkpoint") != ckpt.id  # by hand and not by an address
    if changed or (before is not None and before != text) or (arrived.get("target") or "").strip() != target:
        forget(page, "position", "class", "against")


def forget(page: str, *names: str) -> None:
    """Leave what these say to the view again."""
    for name in names:
        st.session_state[f"{page}_{name}"] = None


def _choose_class(page: str, found: Answer, of: tuple) -> Prediction:
    state, classes, key = st.session_state, found.ckpt.classes, f"{page}_class"
    if state.get(key) not in classes:
        state[key] = classes[found.said[0]]
    tokens = found.whole.labels("src")
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_asked"):
        with st.container(width=320):
            chosen = st.selectbox("Class", classes, key=key, on_change=partial(forget, page, "against"),
                                  help="The likeliest at first.")
        st.html(figures.token_chips(tokens, label="tokens read", small=len(tokens) > FEW, unknown=found.unknown))
    _say_unknown(found)
    return Prediction(found, of, 0, classes.index(chosen))


def worth_seeing(found: Answer) -> int:
    """Where to begin: at the longest piece that the model itself says, a word that means something rather than an
    article; of several the first. In a masked language model's text at the first mask, where there is one."""
    if found.masked and (masks := [at for at, token in enumerate(found.whole.labels("src")) if token in MASKS]):
        return masks[0]

    def length(at: int) -> int:
        id = found.said[at]
        return -1 if found.ckpt.config.ends(id) else len(found.ckpt.tokenizer.piece(id).strip("▁ "))

    return max(range(min(found.typed, len(found.said) - 1), len(found.said)), key=length)


def _choose_token(page: str, found: Answer, of: tuple) -> Prediction:
    """Every token that was predicted, as chips; where there are too many of them, by number."""
    state, key, count = st.session_state, f"{page}_position", len(found.said)
    if state.get(key) is None:
        state[key] = worth_seeing(found)
    state[key] = min(state[key], count - 1)
    tokens, anew = [found.ckpt.tokenizer.piece(id) for id in found.said], partial(forget, page, "against")
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_asked"):
        if found.whole.src is not None and not found.masked:
            st.html(figures.token_chips(found.whole.labels("src"), label="source tokens", unknown=found.unknown),
                    width="content")
        if count <= FEW:
            position = st.pills("Token", range(count), key=key, required=True, on_change=anew, wrap=True,
                                label_visibility="collapsed",
                                format_func=lambda at: _pill(at, tokens[at], own=at >= found.typed))
        else:
            position = st.number_input(f"Token {'at' if found.masked else 'after'} position", 0, count - 1, step=1,
                                       key=key, on_change=anew, width=200)
            begin = max(0, position - FEW // 2)
            st.html(figures.token_chips(
                [*found.whole.labels(found.side)[begin:position + 1], *tokens[position:position + FEW // 2]],
                small=True,
                label=f"tokens from position {begin} on", predicted=position + 1 - begin))
    if found.cut:
        st.warning(f"Cut off after {count} tokens: the model had not ended the translation.")
    _say_unknown(found)
    return Prediction(found, of, position, found.said[position])


def _pill(at: int, token: str, *, own: bool) -> str:
    label = figures.markdown_text(figures.plain_label(token))
    return f":small[{at}]\u2002**{label}**" if own else f":small[{at}]\u2002{label}"


def _say_unknown(found: Answer) -> None:
    if found.unknown:
        st.caption("Dashed, or marked as unknown: not in the vocabulary. The model only sees that there is a token.")

"""The choice of a prediction that a view explains: of a token read or written, or of a class."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import streamlit as st

from transformer.analysis.token_inputs import TokenInputs, check_classes, inputs_of_step, inputs_of_text, inputs_up_to
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import steps
from transformer.inference.sampling import begun
from transformer.model.changes import Change
from transformer.text.tokenizer import Piece
from transformer.text.word_pieces import labelled
from ui import figures
from ui.choices.text_box import type_text
from ui.page.link import Field, current_address, optional, whole, write
from ui.page.pages import Page, stepper_of
from ui.page.plain_text import say_error
from ui.page.text_limits import ANSWER, taken
from ui.state.work_queue import Work, heavy
from ui.views.stepper import what_if
from ui.views.stepper.address import address_of_step

T = TypeVar("T")
MOST = 400            # tokens read at once; every view runs the model over all of them, some many times
LONGEST_ANSWER = 100  # tokens of a translation


@dataclass(frozen=True, eq=False)
class Answer:
    """A text and the output of a model."""

    ckpt: Checkpoint
    text: str
    whole: TokenInputs
    predicted: list[int]  # a decoder: the token after each position; a classifier: the likeliest class; a masked
    #                       language model: the likeliest piece at each position
    typed: int  # the number of these that are in the text itself
    picked: Mapping[int, int]  # step -> token, where the reader decided instead of greedy decoding
    pieces: tuple[Piece, ...]  # of the text
    forced: bool = False  # the output was typed

    @property
    def side(self) -> str:
        """The side with the positions of predictions: "src" for a masked language model, else "tgt"."""
        return "src" if self.whole.tgt is None else "tgt"

    @property
    def masked(self) -> bool:
        return self.ckpt.config.head == "masked"

    @property
    def cut(self) -> bool:
        """Whether the model's own translation was cut off."""
        config = self.ckpt.config
        return config.task == "translation" and not self.forced and not config.ends(self.predicted[-1])

    @property
    def labels(self) -> list[str]:
        """The predicted tokens as they are read: of a decoder one after the other."""
        tokenizer = self.ckpt.tokenizer
        pieces = [tokenizer.piece(id) for id in self.predicted]
        if self.masked:
            return [labelled([piece], tokenizer)[0] for piece in pieces]
        return labelled([*self.whole.pieces("tgt")[:1], *pieces], tokenizer)[1:]

    @property
    def unknown(self) -> list[int]:
        return [at for at, piece in enumerate(self.pieces) if piece.unknown]


@dataclass(frozen=True, eq=False)
class Prediction:
    """One of the predictions of an answer."""

    answer: Answer
    of: tuple  # the key of the answer
    position: int  # in the decoder, or in the text of a masked language model; 0 for a class
    token: int  # or the class

    @property
    def ckpt(self) -> Checkpoint:
        return self.answer.ckpt

    @property
    def classifies(self) -> bool:
        return self.answer.whole.tgt is None and not self.answer.masked

    @property
    def outcomes(self) -> int:
        """How many tokens, or classes, there are to predict."""
        config = self.ckpt.config
        return config.n_classes if self.classifies and config.n_classes else config.vocab_size

    @property
    def key(self) -> tuple:
        """The key of all numbers about this prediction."""
        return (*self.of, self.position, self.token)

    @cached_property
    def read(self) -> TokenInputs:
        """The inputs before it."""
        return self.answer.whole if self.answer.whole.tgt is None else inputs_up_to(self.answer.whole, self.position)

    def name(self, id: int) -> str:
        """A token or a class as plain text, all characters visible."""
        if self.classifies:
            return figures.words_label(self.ckpt.classes[id], longest=60)
        return figures.plain_label(self.ckpt.tokenizer.piece(id))

    def link(self, kind: str, layer: int, head: int, *, change: Sequence[Change] = (),
             forced: Sequence[int] = ()) -> tuple[Page, dict[str, str]] | None:
        """The page and the address that show a head at this prediction; None if no link can lead there. change: what is
        changed there; forced: positions at which the same tokens are chosen all the same."""
        selection = {"kind": kind, "layer": str(layer), "head": str(head)}
        answer, changes = self.answer, [one.to_json() for one in change]
        if self.classifies or answer.masked:
            params = {"checkpoint": self.ckpt.id, "text": answer.text, **selection,
                      **write(what_if.FIELDS, None, change=changes)}
            if self.classifies:
                params["class"] = self.ckpt.classes[self.token]
            return stepper_of(self.ckpt.config), params
        text, step, choices = answer.text, self.position - answer.typed, answer.picked
        if step < 0:  # inside the text, which the page reads up to there, if that gives the same tokens
            text, step = text[: answer.pieces[self.position].end], 0
            choices = {0: self.token}
            if self.ckpt.source_tokenizer.encode(text) != self.read.ids:
                return None
        choices = {at: id for at, id in choices.items() if at <= step}
        choices |= {at - answer.typed: answer.predicted[at] for at in forced if 0 <= at - answer.typed < step}
        params, whole = address_of_step(self.ckpt.id, text, choices=choices, temperature=0.0, step=step,
                                        selection=selection, change=changes)
        return (stepper_of(self.ckpt.config), params) if whole else None


def answer(ckpt: Checkpoint, text: str, *, target: str = "", more: int = 8,
           watch: Callable[[], None] = lambda: None) -> Answer:
    """Read a text: an encoder-decoder translates it (or is made to say `target` first), a decoder goes on with it by
    `more` tokens, greedily. watch is called at every step, and may raise to end it. Raises ValueError for a text that
    cannot be read, or is too long."""
    config = ckpt.config
    if not config.decoder_layers and config.head != "masked":
        check_classes(ckpt)
    pieces = tuple(ckpt.source_tokenizer.pieces(text))
    limit = min(MOST, config.max_len)
    check_size(len(pieces), limit, "text")
    if not config.decoder_layers:
        whole = inputs_of_text(ckpt, text)
        predicted = ckpt.model(whole.src)[0].argmax(-1).tolist()
        return Answer(ckpt, text, whole, predicted if config.head == "masked" else [predicted], 0, {}, pieces)
    forced = begun(ckpt.tokenizer.encode(target), config) if target else []
    check_size(len(forced) + 1, limit, "translation with its start")
    if config.encoder_layers:
        more = len(forced) + 1 if forced else LONGEST_ANSWER
    path = []
    for step in steps(ckpt, text, max_steps=more, forced=dict(enumerate(forced))):
        path.append(step)
        watch()
    last = path[-1]
    predicted = [*last.tokens[1:], last.id]
    picked = {step.index: step.id for step in path if step.id != step.likeliest}
    return Answer(ckpt, text, inputs_of_step(last), predicted, len(path[0].tokens) - 1, picked, pieces, bool(forced))


def check_size(tokens: int, limit: int, what: str) -> None:
    """Raises ValueError for more tokens than a view reads."""
    if tokens > limit:
        raise ValueError(f"the {what} has {tokens:,} tokens; this view reads at most {limit}. Please shorten it")


def is_kept(page: str, name: str, key: tuple) -> bool:
    result = st.session_state.get(f"{page}_kept_{name}")
    return result is not None and result[0] == key


def kept(page: str, name: str, key: tuple, text: str, make: Callable[[Work], T]) -> T:
    """The last result under a name in this session; made anew only for another key, as heavy work that `text`
    describes."""
    slot = f"{page}_kept_{name}"
    if not is_kept(page, name, key):
        st.session_state.pop(slot, None)  # so that two are never in memory
        with heavy(text) as work:
            result = make(work)
        st.session_state[slot] = (key, result)
    return st.session_state[slot][1]


MASKS = ("[MASK]", "<mask>")
FEW = 80         # tokens to choose from by a click; of more, by number
GO_ON = 60       # the most tokens by which a decoder continues
FIELDS = {
    "target": Field("", str, lambda value: value or None, long=True),
    "more": whole(8, 1, GO_ON),
    "position": optional(whole(0, 0, MOST)),
    "class": optional(Field(None))}


def ask(page: str, ckpt: Checkpoint, first: Callable[[Answer], int] | None = None) -> Prediction | None:
    """Draws the box for a text and the chooser of a token or class; returns None, with a message, if there is none.
    first: the position that is asked about until somebody chooses one; None: the one worth seeing."""
    config = ckpt.config
    target, more = "", 0
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_ask_line"):
        with st.container():
            text = type_text(page, ckpt)
        if config.decoder_layers:
            with st.popover("More", key=f"{page}_ask_settings"):
                if config.encoder_layers:
                    target = type_target(page)
                else:
                    more = st.number_input("Tokens to continue by", 1, GO_ON, step=1, key=f"{page}_more",
                                           persist_state="session")
    of = (ckpt.id, text, target, more)
    _forget_another(page, ckpt, text, target)
    if not text.strip():
        st.info(f"Type a {'sentence' if config.task == 'translation' else 'text'} above.")
        return None
    try:
        result = kept(page, "answer", of, "Reading", lambda work: answer(
            ckpt, text, target=target, more=more, watch=work.watch))
    except ValueError as error:
        say_error(error)
        return None
    return _choose_class(page, result, of) if result.whole.tgt is None and not result.masked else (
        _choose_token(page, result, of, (first or worth_seeing)(result)))


def type_target(page: str) -> str:
    """Draws the box for a translation that the decoder reads in place of the model's own."""
    return taken(st.text_input("Its translation", key=f"{page}_target", persist_state="session",
                               placeholder="the model's own; type another to examine it"), ANSWER).strip()


def _forget_another(page: str, ckpt: Checkpoint, text: str, target: str) -> None:
    """Drops choices of tokens of another text, unless they came with the address."""
    state = st.session_state
    arrived = state[f"{page}_arrived"]
    before, last = arrived.get("text"), state.get(f"{page}_asked_of", ckpt.id)
    state[f"{page}_asked_of"] = ckpt.id
    changed = last != ckpt.id and current_address().get("checkpoint") != ckpt.id  # by a widget, not by an address
    if changed or (before is not None and before != text) or (arrived.get("target") or "").strip() != target:
        forget(page, "position", "class", "against")


def forget(page: str, *names: str) -> None:
    """Resets these choices to the view's own."""
    for name in names:
        st.session_state[f"{page}_{name}"] = None


def _choose_class(page: str, result: Answer, of: tuple) -> Prediction:
    state, classes, key = st.session_state, result.ckpt.classes, f"{page}_class"
    if state.get(key) not in classes:
        state[key] = classes[result.predicted[0]]
    tokens = result.whole.labels("src")
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_asked"):
        with st.container(width=320):
            chosen = st.selectbox("Class", classes, key=key, on_change=partial(forget, page, "against"),
                                  help="The likeliest at first.")
        st.html(figures.token_chips(tokens, label="tokens read", small=len(tokens) > FEW, unknown=result.unknown))
    _say_unknown(result)
    return Prediction(result, of, 0, classes.index(chosen))


def worth_seeing(result: Answer) -> int:
    """The default position: the first of the longest pieces in the model's own output, more likely a noun than an
    article. For a masked language model, the first mask, if there is one."""
    if result.masked and (masks := [at for at, token in enumerate(result.whole.pieces("src")) if token in MASKS]):
        return masks[0]

    def length(at: int) -> int:
        id = result.predicted[at]
        return -1 if result.ckpt.config.ends(id) else len(result.ckpt.tokenizer.piece(id).strip("▁ "))

    return max(range(min(result.typed, len(result.predicted) - 1), len(result.predicted)), key=length)


def _choose_token(page: str, result: Answer, of: tuple, first: int) -> Prediction:
    """Draws all predicted tokens as chips; if there are too many, a choice by number."""
    state, key, count = st.session_state, f"{page}_position", len(result.predicted)
    if state.get(key) is None:
        state[key] = first
    state[key] = min(state[key], count - 1)
    tokens, anew = result.labels, partial(forget, page, "against")
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_asked"):
        if result.whole.src is not None and not result.masked:
            st.html(figures.token_chips(result.whole.labels("src"), label="source tokens", unknown=result.unknown),
                    width="content")
        if count <= FEW:
            st.pills("Token", range(count), key=key, required=True, on_change=anew, wrap=True,
                     label_visibility="collapsed",
                     format_func=lambda at: pill(at, tokens[at], own=at >= result.typed))
            position: int = state[key]
        else:
            position = st.number_input(f"Token {'at' if result.masked else 'after'} position", 0, count - 1, step=1,
                                       key=key, on_change=anew, width=200)
            begin = max(0, position - FEW // 2)
            st.html(figures.token_chips(
                [*result.whole.labels(result.side)[begin:position + 1], *tokens[position:position + FEW // 2]],
                small=True,
                label=f"tokens from position {begin} on", predicted=position + 1 - begin))
    if result.cut:
        st.warning(f"Cut off after {count} tokens: the model had not ended the translation.")
    _say_unknown(result)
    return Prediction(result, of, position, result.predicted[position])


def pill(at: int, token: str, *, own: bool) -> str:
    """The label of a token to choose, its position before it; own: the model wrote it."""
    label = figures.markdown_text(figures.plain_label(token))
    return f":small[{at}]\u2002**{label}**" if own else f":small[{at}]\u2002{label}"


def _say_unknown(result: Answer) -> None:
    if result.unknown:
        st.caption("Dashed, or marked as unknown: not in the vocabulary. The model only sees that there is a token.")

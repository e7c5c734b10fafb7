"""The prediction that a view asks about: of a text read, of a token that came, of a class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import streamlit as st

from transformer.analysis.token_inputs import TokenInputs, check_classes, inputs_of_step, inputs_of_text, inputs_up_to
from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import steps
from transformer.inference.sampling import begun
from transformer.text.tokenizer import Piece
from ui import figures
from ui.page.pages import Page, stepper_of
from ui.state.work_queue import Work, heavy
from ui.views.stepper.address import address_of_step

T = TypeVar("T")
MOST = 400            # tokens read at once: every view runs the model over all of them, some many times
LONGEST_ANSWER = 100  # tokens of a translation


@dataclass(frozen=True, eq=False)
class Answer:
    """A text, and all that a model made of it."""

    ckpt: Checkpoint
    text: str
    whole: TokenInputs
    said: list[int]  # the token that came after each position of the decoder; the likeliest class of a classifier; of a
    #                  masked language model the likeliest piece at each position
    typed: int  # of these, how many the text itself has
    picked: Mapping[int, int]  # step -> token, where not greedy decoding but the reader decided
    pieces: tuple[Piece, ...]  # of the text
    forced: bool = False  # somebody typed what is said

    @property
    def side(self) -> str:
        """Whose positions the predictions stand at: "src" of a masked language model, else "tgt"."""
        return "src" if self.whole.tgt is None else "tgt"

    @property
    def masked(self) -> bool:
        return self.ckpt.config.head == "masked"

    @property
    def cut(self) -> bool:
        """A translation of the model's own that had not ended."""
        config = self.ckpt.config
        return config.task == "translation" and not self.forced and not config.ends(self.said[-1])

    @property
    def unknown(self) -> list[int]:
        return [at for at, piece in enumerate(self.pieces) if piece.unknown]


@dataclass(frozen=True, eq=False)
class Prediction:
    """One of its predictions."""

    answer: Answer
    of: tuple  # what decides the answer
    position: int  # of the decoder, or of what a masked language model read; 0 for a class
    token: int  # or the class

    @property
    def ckpt(self) -> Checkpoint:
        return self.answer.ckpt

    @property
    def classifies(self) -> bool:
        return self.answer.whole.tgt is None and not self.answer.masked

    @property
    def key(self) -> tuple:
        """What decides every number about this prediction."""
        return (*self.of, self.position, self.token)

    @cached_property
    def read(self) -> TokenInputs:
        """All that was read before it."""
        return self.answer.whole if self.answer.whole.tgt is None else inputs_up_to(self.answer.whole, self.position)

    def name(self, id: int) -> str:
        """A token or a class as a reader sees it, nothing in it unseen; as plain text."""
        if self.classifies:
            return figures.words_label(self.ckpt.classes[id], longest=60)
        return figures.plain_label(self.ckpt.tokenizer.piece(id))

    def link(self, kind: str, layer: int, head: int) -> tuple[Page, dict[str, str]] | None:
        """The page, and its address, that show a head at this very prediction; None where a link cannot lead there."""
        selection = {"kind": kind, "layer": str(layer), "head": str(head)}
        answer = self.answer
        if self.classifies:
            params = {"checkpoint": self.ckpt.id, "text": answer.text, "class": self.ckpt.classes[self.token],
                      **selection}
            return stepper_of(self.ckpt.config), params
        if answer.masked:
            return stepper_of(self.ckpt.config), {"checkpoint": self.ckpt.id, "text": answer.text, **selection}
        text, step, choices = answer.text, self.position - answer.typed, answer.picked
        if step < 0:  # inside the text: the page reads it up to there, if that is read as the same tokens
            text, step = text[: answer.pieces[self.position].end], 0
            choices = {0: self.token}
            if self.ckpt.source_tokenizer.encode(text) != self.read.ids:
                return None
        choices = {at: id for at, id in choices.items() if at <= step}
        params, whole = address_of_step(self.ckpt.id, text, choices=choices, temperature=0.0, step=step,
                                        selection=selection)
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
    _check(len(pieces), limit, "text")
    if not config.decoder_layers:
        whole = inputs_of_text(ckpt, text)
        said = ckpt.model(whole.src)[0].argmax(-1).tolist()
        return Answer(ckpt, text, whole, said if config.head == "masked" else [said], 0, {}, pieces)
    forced = begun(ckpt.tokenizer.encode(target), config) if target else []
    _check(len(forced) + 1, limit, "translation with its start")
    if config.encoder_layers:
        more = len(forced) + 1 if forced else LONGEST_ANSWER
    path = []
    for step in steps(ckpt, text, max_steps=more, forced=dict(enumerate(forced))):
        path.append(step)
        watch()
    last = path[-1]
    said = [*last.tokens[1:], last.id]
    picked = {step.index: step.id for step in path if step.id != step.likeliest}
    return Answer(ckpt, text, inputs_of_step(last), said, len(path[0].tokens) - 1, picked, pieces, bool(forced))


def _check(tokens: int, limit: int, what: str) -> None:
    if tokens > limit:
        raise ValueError(f"the {what} has {tokens:,} tokens; this view reads at most {limit}. Please shorten it")


def is_kept(page: str, name: str, key: tuple) -> bool:
    found = st.session_state.get(f"{page}_kept_{name}")
    return found is not None and found[0] == key


def kept(page: str, name: str, key: tuple, text: str, make: Callable[[Work], T]) -> T:
    """What this visitor's last run made under a name, made again, as heavy work of which `text` says what it is, only
    where the key is another: a session keeps one of each name."""
    slot = f"{page}_kept_{name}"
    if not is_kept(page, name, key):
        st.session_state.pop(slot, None)  # not held beside the next one
        with heavy(text) as work:
            found = make(work)
        st.session_state[slot] = (key, found)
    return st.session_state[slot][1]

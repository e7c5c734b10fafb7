"""The sample on which heads are measured: held-out text, once for all visitors, or texts of one's own."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from transformer.analysis.alignment import WordAligner
from transformer.analysis.roles import HeadRoles, measure_roles
from transformer.analysis.sample import Sentence, read_texts
from transformer.basics.folders import written_ns
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import reads_examples
from transformer.evaluation.held_out import held_out_sentences, piece_counts, word_aligner
from transformer.inference.beam_search import translate
from transformer.measures.catalogue import BY_NAME
from transformer.settings.config import KINDS
from transformer.studies.roles_file import read_roles
from transformer.text.lines import lines_of
from transformer.text.sides import sides_of
from transformer.text.user_corpus import is_user_corpus
from ui.choices.held_out_corpus import (
    choose_size,
    corpus_name,
    corpus_of,
    measurable,
    readable,
    say_missing,
    sizes_of,
    split_of,
    texts_of,
)
from ui.choices.text_box import example_of
from ui.figures import markdown_text
from ui.page.link import Field, choice, opened, optional, quiet, whole
from ui.page.plain_text import say_error
from ui.page.text_limits import LONGEST_TRANSLATION, PASSAGE, fill, taken
from ui.state.caches import home, shelf
from ui.state.page_state import PageState
from ui.state.work_queue import Work, may_begin

SIZES = [50, 200, 500]
OWN = "own"
MOST_LINES = 200
SEED = 0
EXAMPLES = {  # by the task of a model; an encoder reads any text
    "translation": "I like red wine.\nWhere does he live?\nShe is not as tall as her brother.",
    "text": "ROMEO:\\nO, she doth teach the torches to burn bright!\nShall we hear from thee, ere we sleep?",
}
ANY_TEXTS = ("Is she a Capulet? O dear account! my life is my foe's debt.\n"
             "The weather is cold today, so we stay at home.\nWhat he said was true, and nobody believed it.")


class RoleState(PageState):
    """What is kept of what heads do: the measure, the chosen head, and the texts on which they are measured."""

    role: Field[str | None] = optional(choice(None, list(BY_NAME)))
    role_kind = optional(choice(None, KINDS))
    role_layer = optional(whole(0, 0, 1_000))
    role_head = optional(whole(0, 0, 1_000))
    role_on: Field[str | None] = Field(None, lambda value: value[:300], lambda value: value or None)
    role_longest = opened()
    role_sample = quiet(choice(200, SIZES))
    role_texts: Field[str | None] = Field(None, str, lambda value: value or None, long=True)


@dataclass(frozen=True)
class Sample:
    """A sample that has not been read yet."""

    ckpt: Checkpoint
    on: str  # a corpus, or OWN
    size: int
    texts: str

    @property
    def key(self) -> tuple:
        if self.on == OWN:
            return self.ckpt.id, OWN, hashlib.sha256(self.texts.encode("utf-8", "replace")).hexdigest()
        written = written_ns(Path(self.on)) if is_user_corpus(self.on) else None  # it may change
        return self.ckpt.id, self.on, self.size, written

    def sentences(self, watch: Callable[..., None]) -> list[Sentence]:
        """Raises ValueError as `held_out_sentences` and `read_own` do; watch: as for `translate`."""
        if self.on == OWN:
            return read_own(self.ckpt, self.texts, watch=watch)
        return held_out_sentences(self.ckpt, limit=self.size, seed=SEED, name=self.on)

    def aligner(self, watch: Callable[[], None]) -> WordAligner | None:
        names = readable(self.ckpt)
        name = self.on if self.on != OWN else names[0] if names else None
        if self.ckpt.config.task != "translation" or name is None:
            return None
        (home() / "analysis").mkdir(parents=True, exist_ok=True)
        return word_aligner(self.ckpt, home() / "analysis", name=name, watch=watch)

    def counts(self, watch: Callable[[], None]) -> dict[str, Tensor] | None:
        """The count of each piece in training; None if it is unknown or not for this visitor."""
        if not corpus_of(self.ckpt.description):
            return None
        kept, key = shelf("pieces"), (self.ckpt.id,)
        if (counts := kept.find(key)) is None and (counts := piece_counts(self.ckpt, watch=watch)) is not None:
            kept.keep(key, counts)
        return counts

    @property
    def where(self) -> str:
        """Where its texts are from, and whether the model has seen them."""
        if self.on == OWN:
            return "typed here"
        split = split_of(self.on)
        return f"of {corpus_name(self.on)}, {split} split, " + (
            "which it may have seen in training" if corpus_of(self.ckpt.description) != self.on else
            "which it was trained on: nothing is held out" if split == "train" else "not seen in training")

    def about(self, roles: HeadRoles) -> str:
        """A line on the sample, for under the picture."""
        many = how_many(len(roles.sentences), "sentence" if self.ckpt.config.task == "translation" else "text")
        if self.ckpt.config.task == "text" and self.on != OWN:
            many = how_many(len(roles.sentences), "window of up to 128 tokens", "windows of up to 128 tokens")
        return f"{many} {self.where} · {how_many(roles.tokens, 'token')} · seed {roles.seed}"


def choose_sample(page: str, ckpt: Checkpoint, box: DeltaGenerator | None = None) -> Sample | None:
    """Draws the chooser of a sample, in a popover of its own or in `box`; returns None, with a message, if there is
    none yet."""
    state, names = RoleState(page), measurable(ckpt)
    offered = [*names, OWN]
    on = state.role_on = state.role_on if state.role_on in offered else offered[0]
    translates, texts = ckpt.config.task == "translation", ""
    sizes = {} if on == OWN else sizes_of(ckpt, on, SIZES)
    if sizes and state.role_sample not in sizes:
        state.role_sample = max(sizes)
    many = "Your own texts" if on == OWN else f"{texts_of(ckpt).capitalize()}: {sizes[state.role_sample]}"
    with box or st.popover(markdown_text(many), key=f"{page}_role_settings"):
        if not names:
            say_missing(ckpt)
        st.segmented_control("Measured on", offered, key=RoleState.role_on.key(page), required=True,
                             persist_state="session", format_func=lambda name: "Your own texts" if name == OWN else
                             markdown_text(f"{corpus_name(name)}, {split_of(name)} split"))
        if on != OWN:
            choose_size(texts_of(ckpt).capitalize(), RoleState.role_sample.key(page), sizes)
        else:
            texts = _type_texts(page, ckpt, translates=translates)
    if on != OWN:
        return Sample(ckpt, on, state.role_sample, "")
    if not texts.strip():
        st.info("Type some texts under *Your own texts*, and press *Measure*."
                + (f" This model reads {markdown_text(sides_of(ckpt.description.languages).source)}."
                   if translates and not reads_examples(ckpt.description) else ""))
        return None
    return Sample(ckpt, OWN, 0, texts)


def _type_texts(page: str, ckpt: Checkpoint, *, translates: bool) -> str:
    """Draws the box for texts of one's own and returns the texts, examples until somebody types."""
    help = "One text per line; \\n stands for a line break."
    if translates:
        help = ("One sentence per line, then a tab or | and its translation. Without one, the decoder is given the "
                "model's own translation.")
    example = EXAMPLES.get(ckpt.config.task, ANY_TEXTS) if reads_examples(ckpt.description) else ""
    fill(RoleState.role_texts.key(page), example if ckpt.reads_text else example_of(ckpt))
    typed = taken(st.text_area("Your texts", key=RoleState.role_texts.key(page), persist_state="session", height=130,
                               help=f"At most {MOST_LINES} lines."), PASSAGE)
    # leaving the box for the button sends the texts, as Ctrl+Enter does, and draws the page again
    st.button("Measure", key=f"{page}_role_own", icon=":material/play_arrow:")
    st.caption(help + " This checkpoint has no tokenizer: type ids separated by spaces." * (not ckpt.reads_text))
    return typed


def read_own(ckpt: Checkpoint, typed: str, *, watch: Callable[..., None] = lambda *done: None) -> list[Sentence]:
    """Texts of one's own, one a line, as sentences. Raises ValueError, with the number of the line, for one that cannot
    be read, and for none or too many."""
    lines = [(number, line.strip()) for number, line in enumerate(lines_of(typed), 1) if line.strip()]
    if not lines:
        raise ValueError("there are no texts; type one per line")
    if len(lines) > MOST_LINES:
        raise ValueError(f"there are {len(lines)} lines; at most {MOST_LINES} are measured. Please remove some")
    if ckpt.config.task != "translation":
        return [_read(ckpt, number, line.replace("\\n", "\n")) for number, line in lines]
    pairs = [(number, *(part.strip() for part in line.partition("\t" if "\t" in line else "|")[::2]))
             for number, line in lines]
    given = []
    for number, source, target in pairs:
        _read(ckpt, number, source, target)  # before the first translation
        given.append((number, source, target))
    open_ones = [source for _, source, target in given if not target]
    most = min(LONGEST_TRANSLATION, ckpt.config.max_len - 1)  # the decoder reads the start token too
    made = iter(translate(ckpt, open_ones, max_steps=most, watch=watch) if open_ones else [])
    return [_read(ckpt, number, source, target or next(made)) for number, source, target in given]


def say_cut(sample: Sample, roles: HeadRoles) -> None:
    """Says how many of the model's translations of typed texts were cut off."""
    if sample.on != OWN or sample.ckpt.config.task != "translation":
        return
    most = min(LONGEST_TRANSLATION, sample.ckpt.config.max_len)
    cut = sum(len(one.tgt or ()) >= most and (one.target or "") not in sample.texts for one in roles.sentences)
    if cut:
        st.warning(f"{cut} of the model's own translations {'is' if cut == 1 else 'are'} cut off after about {most:,} "
                   "tokens, before their end.")


def _read(ckpt: Checkpoint, number: int, text: str, target: str | None = None) -> Sentence:
    try:
        return read_texts(ckpt, [text], None if target is None else [target])[0]
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def at_hand(sample: Sample) -> HeadRoles | None:
    """The roles on a sample, if somebody has measured them or they came with the checkpoint."""
    kept = shelf("roles")
    if (roles := kept.find(sample.key)) is None and sample.on != OWN:
        roles = read_roles(sample.ckpt, corpus=sample.on, limit=sample.size, seed=SEED)
        if roles is not None:
            kept.keep(sample.key, roles)
    return roles


def measured(page: str, sample: Sample) -> HeadRoles | None:
    """The roles on a sample, measured now; None if that waits for a button or, with a message, if the sample cannot be
    read."""
    if sample.on != OWN and not may_begin(
            sample.ckpt, f"{page}_role_measure", sample.key, f"Measure every head on {sample.size} texts",
            reads=2 * sample.size, more="This is done once, and everyone then sees the result."):
        return None
    try:
        return shelf("roles").make(sample.key, "Reading the text", partial(_measure, sample))
    except (ValueError, OSError) as error:
        say_error(error)
        return None


def _measure(sample: Sample, work: Work) -> HeadRoles:
    sentences = sample.sentences(work.watch)
    if sample.ckpt.config.task == "translation":
        work.say("Aligning words, without attention")
    aligner = sample.aligner(work.watch)
    work.say("Measuring every head")
    return measure_roles(sample.ckpt, sentences, aligner=aligner, counts=sample.counts(work.watch), seed=SEED,
                         watch=work.watch)

"""Why this token: five sentences on a prediction, each from another analysis, and where these disagree."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from transformer.analysis.ablation import Head
from transformer.analysis.attribution import Attribution
from transformer.analysis.why import EXPLAINED, TRIED, Removal, Story, Wrote, why
from transformer.basics.formatting import enumerated, how_many
from transformer.model.changes import scale
from transformer.model.sites import label
from transformer.text.tokenizer import Tokenizer
from transformer.text.word_pieces import SPACES, piece_labels, word_text, words_of
from ui import figures
from ui.choices.head import caption_of, origin, plain_name
from ui.page.link import PRESENT
from ui.page.plain_text import say_error
from ui.page.presentation import columns, presenting
from ui.state.caches import tuned_lens
from ui.state.work_queue import may_begin
from ui.views.heads.prediction import Prediction, kept

STEPS = 64  # of integrated gradients, as its view begins with
PASSES = 3 * STEPS + TRIED + 6  # over the text, about: a gradient is as long as two
NAMED, LEAST = 3, 0.1  # tokens of the attribution, and what they have of the first at least
NATS, ROWS = "integrated gradients, nats", 12  # a column of the table, and the tokens in it at most
FAINT = 0.005  # what reads as 0.00
EVIDENCE = {"attribution": "attribution", "output": "cross-attention at the output",
            "input": "cross-attention at the input"}


def show_why(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The five sentences, each with a link to its picture, and what they agree on."""
    tuned = tuned_lens(prediction.ckpt)
    key = (*prediction.key, tuned is not None)
    if not may_begin(prediction.ckpt, f"{page}_why_begin", key, "Ask five analyses", reads=PASSES):
        return
    try:
        story = kept(page, "why", key, "Asking five analyses", lambda work: why(
            prediction.read, prediction.token, position=prediction.position if prediction.answer.masked else None,
            tuned=tuned, steps=STEPS, watch=work.watch))
    except ValueError as error:
        say_error(error)
        return
    words, counted = Wording(prediction, story), _by_token(prediction, story)
    left, right = columns(page, [3, 2], gap="medium") if counted else (st.container(), None)
    with left, st.container(key=f"{page}_why"):
        name = figures.markdown_text(plain_name(prediction.ckpt))
        st.markdown(f"Why does {name} predict {words.asked()}?",
                    help=f"{EXPLAINED}\n\n{figures.markdown_text(origin(prediction.ckpt))}")
        for name, title, sentence, links in (
                ("sure", "How sure", words.sure(), (_to_step,)),
                ("since", "Since when", words.since(), (_to_lens,)),
                ("wrote", "Written by", words.wrote(), (_to_direct,)),
                ("rests", "Rests on", words.rests(), (_to_attribution,)),
                ("without", "Without it", words.without(), (_to_change, _to_switch)),
                ("agree", "Taken together", words.agreement(), ())):
            with st.container(key=f"{page}_why_{name}"):
                st.markdown(f"**{title}.** {sentence}")
                if links:
                    with st.container(horizontal=True, gap="small", width="content", key=f"{page}_why_{name}_links"):
                        for link in links:
                            link(page, prediction, story)
    if right is not None and isinstance(story.rests, Attribution):
        with right, st.container(key=f"{page}_evidence"):
            tokens, source = story.rests.tokens, plain_name(prediction.ckpt)
            title = f"What “{prediction.name(prediction.token)}” rests on"
            if len(tokens) > ROWS:
                source += f" · {ROWS} of {len(tokens)} tokens, those that count most"
            st.html(figures.bar_table(
                tokens, counted, caption_of(prediction.ckpt, title, source), signed={NATS}, rows=ROWS,
                written=figures.part_of_one, unknown=prediction.answer.unknown, dark=dark))


def _read(prediction: Prediction) -> str:
    """The side whose tokens attribution is to."""
    return "tgt" if prediction.read.src is None else "src"


def _by_token(prediction: Prediction, story: Story) -> dict[str, list[float]]:
    """What two of the sentences say of each token that was read, side by side: a column each, as far as it is known."""
    rests, wrote = story.rests, story.wrote
    if not isinstance(rests, Attribution):
        return {}
    by_token = {NATS: rests.integrated.tolist()} if rests.sound else {}
    if isinstance(wrote, Wrote) and wrote.adds > 0 and wrote.side == _read(prediction):
        by_token[f"{label(*wrote.head)} looks, share"] = wrote.looks.tolist()
    return by_token


def _open_view(page: str, label: str, view: str, **values: Any) -> None:
    """A button that opens another view of the same prediction."""
    changed = {f"{page}_{name}": value for name, value in {"view": view, **values}.items()}
    st.button(label, key=f"{page}_why_to_{view}", type="tertiary", on_click=partial(st.session_state.update, changed))


def _open_page(page: str, label: str, link: tuple | None) -> None:
    """A link to another page; none where the text does not fit into one."""
    if link is not None:
        other, params = link
        st.page_link(other.script, label=label, query_params=params | (PRESENT if presenting(page) else {}))


def _to_step(page: str, prediction: Prediction, story: Story) -> None:
    where = "step" if prediction.read.tgt is not None else "text"
    _open_page(page, f"See the {where}", prediction.link(*_first(story)))


def _first(story: Story) -> Head:
    """The head that is shown: the one that adds most directly, else the costliest."""
    return story.wrote.head if isinstance(story.wrote, Wrote) else story.without.tried[0].head


def _to_lens(page: str, prediction: Prediction, story: Story) -> None:
    _open_view(page, "See the lens", "lens", lens="logit")


def _to_direct(page: str, prediction: Prediction, story: Story) -> None:
    if isinstance(story.wrote, Wrote):
        _open_view(page, "See direct effects", "direct", effect=tuple(story.wrote.head),
                   against=story.predicted.against)


def _to_attribution(page: str, prediction: Prediction, story: Story) -> None:
    if isinstance(story.rests, Attribution):
        _open_view(page, "See attribution", "attribution", steps=STEPS, baseline=story.rests.baseline)


def _to_change(page: str, prediction: Prediction, story: Story) -> None:
    one = story.without.of(_first(story))
    _open_page(page, "See it without", prediction.link(*one.head, change=[scale(label(*one.head), 0)],
                                                       forced=one.earlier))


def _to_switch(page: str, prediction: Prediction, story: Story) -> None:
    _open_view(page, "See the switches", "switch", heads=[story.without.tried[0].head], what="off")


@dataclass(frozen=True, eq=False)
class Wording:
    """The sentences, as Markdown."""

    prediction: Prediction
    story: Story

    def asked(self) -> str:
        """The token or class, with the word that it goes on with."""
        prediction, token = self.prediction, self.story.token
        name = f"**{self._name(token)}**"
        if prediction.read.tgt is None:
            return name
        tokenizer, labels = prediction.ckpt.tokenizer, prediction.read.pieces("tgt")
        pieces = [*labels, tokenizer.piece(token)]
        last = words_of(pieces, tokenizer.word_mark, [at for at, id in enumerate(
            [*prediction.read.ids, token]) if id in tokenizer.special])[-1]
        begun = [pieces[at] for at in last[:-1]]
        if not "".join(begun).strip(SPACES):
            return name
        return f"{name} after {_quoted(word_text(begun, tokenizer.word_mark))}"

    def sure(self) -> str:
        """What is predicted, and how surely."""
        found, name = self.story.predicted, self._name(self.story.token)
        own, other = (figures.some_percent(value) for value in (found.probability, found.other))
        apart = abs(found.margin)
        ahead = "barely ahead" if apart < FAINT else f"{apart:.2f} logits ahead"
        if found.rank == 1:
            return f"It predicts {name} at {own}, {ahead} of {self._name(found.against)} ({other})."
        return f"It puts {name} at {own}, rank {found.rank:,}; {self._name(found.against)} leads at {other}, {ahead}."

    def since(self) -> str:
        """From which layer on it comes first."""
        found = self.story.decided
        if found.logit is None:
            rank, depth = found.best
            return f"It does not lead in the end. Its best on the logit lens is rank {rank:,}, {self._after(depth)}."
        lenses = "both lenses, logit and tuned" if found.tuned == found.logit else "the logit lens"
        leads = f"On {lenses}, it leads {self._from(found.logit)}"
        if found.tuned in (None, found.logit):
            return f"{leads}."
        return f"{leads}; on the tuned lens, {self._from(found.tuned, short=True)}."

    def wrote(self) -> str:
        """What adds most to it, and where that head looks."""
        found, other = self.story.wrote, self._name(self.story.predicted.against)
        if found == "capped":
            return "This model caps its logits, so they are no sum of what its parts add."
        if not isinstance(found, Wrote):
            return "Direct effects are of one prediction from a text; this model makes one at every position."
        looks = f"looking most at {self._tokens(found.side)[found.looks_at]} ({figures.part_of_one(found.looks.max())})"
        head, adds = self._head(found.head), f"({figures.signed_number(found.adds)})"
        if found.feed_forward is not None and found.feed_forward[1] > max(0.0, found.adds):
            layer, most = found.feed_forward
            first = (f"The feed-forward part of {self._stack()}layer {layer} does most for it against {other} "
                     f"({figures.signed_number(most)} logits)")
            return first + (f"; among the heads, it is {head} {adds}, {looks}." if found.adds > 0 else
                            "; no head speaks for it.")
        if found.adds <= 0:
            nor = " and no feed-forward part" * (found.feed_forward is not None)
            return f"No head{nor} speaks for it against {other}."
        logits = figures.signed_number(found.adds)
        return f"{_capital(head)} does most for it against {other} ({logits} logits), {looks}."

    def rests(self) -> str:
        """Which tokens that were read count most."""
        found = self.story.rests
        if not isinstance(found, Attribution):
            return "Attribution is of one prediction from a text; this model makes one at every position."
        if not found.sound:
            total, change = (figures.signed_number(value) for value in (float(found.integrated.sum()), found.change))
            return "Integrated gradients cannot be trusted here: " + (
                "half of their steps say something else." if found.adds_up else
                f"they add up to {total} nats and not to {change}.")
        names = self._tokens(_read(self.prediction))
        size = abs(found.integrated)
        most = [at for at in size.argsort(kind="stable")[::-1][:NAMED].tolist()
                if size[at] >= max(FAINT, LEAST * size.max())]
        if not most:
            return "By integrated gradients, no token moves it by as much as 0.01 nats."
        first, *others = ((names[at], figures.signed_number(float(found.integrated[at]))) for at in most)
        then = enumerated([f"{name} ({value})" for name, value in others]) if others else ""
        against = ", against it" * bool(found.integrated[most[0]] < 0)
        return (f"By integrated gradients, {first[0]} counts most{against} ({first[1]} nats)"
                + f", then {then}" * bool(then) + ".")

    def without(self) -> str:
        """What happens without that head, and which head costs most."""
        found, wrote = self.story.without, self.story.wrote
        costliest, tried = found.tried[0], len(found.tried)
        counted = f" ({tried} of {found.heads:,} tried)" * (tried < found.heads)
        name = self._head(costliest.head)
        if not isinstance(wrote, Wrote):
            if found.needed is None:
                return f"No single head is needed{counted}: even without {name}, {self._becomes(costliest)}."
            return f"Of all heads{counted}, {name} is needed most: without it, {self._becomes(costliest)}."
        with_off = f"With that head off, {self._becomes(found.of(wrote.head))}."
        if found.needed is None:
            return f"{with_off} No single head is needed{counted}."
        if found.needed == wrote.head:
            return with_off + f" No other head costs more{counted}." * (found.heads > 1)
        least = figures.some_percent(costliest.probability)
        return f"{with_off} Without {name}, it falls furthest, to {least}{counted}."

    def agreement(self) -> str:
        """Whether all name the same places, and where they do not."""
        story = self.story
        if story.agrees is None:
            return "There is one answer to each question here, so nothing can disagree."
        if not story.agrees:
            return f"The evidence disagrees: {'; '.join(self._disagreements())}."
        places = [] if story.heads is None else [self._head(story.heads.direct)]
        places += [] if story.tokens is None else [self._token(next(iter(story.tokens.first.values())))]
        return f"All point to the same place: {enumerated(places)}." if places else "Both lenses agree."

    def _disagreements(self) -> list[str]:
        """What disagrees, each as a part of a sentence."""
        heads, tokens, lenses, parts = self.story.heads, self.story.tokens, self.story.lenses, []
        wrote = self.story.wrote
        if heads is not None and not heads.agrees:
            parts.append(f"{self._head(heads.direct)} adds most, " + (
                "yet no single head is needed" if heads.needed is None else
                f"but {self._head(heads.needed)} is needed most"))
        if tokens is not None and not tokens.agrees:
            by: dict[int, list[str]] = {}
            for evidence, at in tokens.first.items():
                by.setdefault(at, []).append(
                    self._head(wrote.head) if evidence == "looks" and isinstance(wrote, Wrote) else EVIDENCE[evidence])
            (at, names), *others = by.items()
            parts.append(", ".join([f"{enumerated(names)} point{'s' * (len(names) == 1)} to {self._token(at)}",
                                    *(f"{enumerated(names)} to {self._token(at)}" for at, names in others)]))
        if lenses is not None and not lenses.agrees:
            apart = lenses.logit - lenses.tuned
            parts.append(
                f"on the tuned lens, it leads {how_many(abs(apart), 'layer')} {'earlier' if apart > 0 else 'later'}")
        return parts

    def _becomes(self, removal: Removal) -> str:
        """What becomes of the prediction, as a part of a sentence."""
        found, story = self.story.without, self.story
        cost, after = found.cost(removal), figures.some_percent(removal.probability)
        before = figures.some_percent(story.predicted.probability)
        what = f"it stays at {after}" if after == before else (
            f"it {'falls' if cost > 0 else 'rises'} from {before} to {after}")
        first = story.predicted.rank == 1
        if removal.leads != story.token and first:
            return f"{what} and {self._name(removal.leads)} leads ({figures.some_percent(removal.lead)})"
        return f"{what} and leads" if removal.leads == story.token and not first else what

    def _name(self, id: int) -> str:
        """A token or a class that is predicted."""
        prediction = self.prediction
        ends = not prediction.classifies and prediction.read.tgt is not None and prediction.ckpt.config.ends(id)
        return f"“{figures.markdown_text(prediction.name(id))}”" + " (the end)" * ends

    def _tokens(self, side: str) -> list[str]:
        """The tokens that were read, told apart."""
        read, ckpt = self.prediction.read, self.prediction.ckpt
        tokenizer = ckpt.source_tokenizer if side == "src" else ckpt.tokenizer
        return told_apart(read.pieces(side), getattr(read, side)[0].tolist(), tokenizer)

    def _token(self, at: int) -> str:
        """A token that attribution is to."""
        return self._tokens(_read(self.prediction))[at]

    def _head(self, head: Head) -> str:
        kind = f"{head.kind}, " * (len(self.prediction.ckpt.config.kinds) > 1)
        return kind + figures.head_label(head.layer, head.head)

    def _stack(self) -> str:
        return "decoder " * (len(self.prediction.ckpt.config.stacks) > 1)

    def _from(self, depth: int, *, short: bool = False) -> str:
        """From which depth on it leads, as a part of a sentence; short: of as many layers as were just named."""
        if depth == 0:
            return "from the start"
        if short:
            return f"after {how_many(depth, 'layer')}"
        return ("only " if depth == self.story.decided.layers else "for good ") + self._after(depth)

    def _after(self, depth: int) -> str:
        """A depth, as a part of a sentence."""
        layers = self.story.decided.layers
        if depth == 0:
            return "before the first layer"
        if layers == 1:
            return f"after its one {self._stack()}layer"
        if depth == layers:
            return f"after the last of {layers} {self._stack()}layers"
        return f"after {depth} of {layers} {self._stack()}layers"


def told_apart(pieces: Sequence[str], ids: Sequence[int], tokenizer: Tokenizer) -> list[str]:
    """Tokens in quotes, as Markdown: a piece of a word with its word, and one that stands twice with its position."""
    labels, names = piece_labels(pieces), []
    special = [at for at, id in enumerate(ids) if id in tokenizer.special]
    for word in words_of(pieces, tokenizer.word_mark, special):
        whole = _quoted(word_text([pieces[at] for at in word], tokenizer.word_mark))
        for at in word:
            where = "" if len(word) == 1 else f" in {whole}" if labels[at].strip(SPACES) else f" before {whole}"
            names.append(f"{_quoted(labels[at])}{where}")
    count = Counter(names)
    return [name if count[name] == 1 else f"{name} at position {at}" for at, name in enumerate(names)]


def _quoted(text: str) -> str:
    return f"“{figures.markdown_text(figures.plain_label(text))}”"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]

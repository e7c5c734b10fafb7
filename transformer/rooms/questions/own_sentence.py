"""A sentence for each phone: the same question of up to two hundred texts, each with a key of its own."""

from collections.abc import Sequence
from typing import Any

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import held_out_sentences
from transformer.lessons.opened_link import Opened, head_of
from transformer.rooms.questions.cell import Cell
from transformer.rooms.questions.choice import Choice
from transformer.rooms.questions.kind import (
    Answers,
    Kind,
    Moment,
    Options,
    QuestionRecord,
    Values,
    levels_table,
    make_key,
)
from transformer.rooms.questions.next_token import NextToken

MOST = 200  # sentences
USUAL = 60  # of the held-out ones
FEWEST = 2  # that must be left
BEGINNING = 60  # characters of running text
LONGEST = 200  # characters of a sentence on a phone


class OwnSentence(Choice):
    """One question of many sentences: one's own, or held-out ones of the model's corpus, drawn with the seed. Those
    where the model hesitates, or which end before this step, are left out and counted. `each` of spec and key has an
    entry for every sentence, and a phone has the one that its number leads to."""

    name = "own sentence"
    title = "A sentence for each phone"
    ways = "next token", "cell", "class"
    takes_sentences = True

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        of = _check_page(moment, options.of)
        texts = _texts(moment.source.ckpt, options.sentences, options.seed)
        each, keys, why = [], [], ""
        for done, text in enumerate(texts):
            options.watch(done, len(texts))
            try:
                one = _one(moment.opened, of, options.query, text)
            except ValueError as error:
                why = str(error)
                continue
            each.append({"text": text, "written": one.spec["written"], "choices": one.spec["choices"]})
            keys.append({name: one.key[name] for name in ("right", "values", "margin", "said")})
        options.watch(len(texts), len(texts))
        if len(each) < min(FEWEST, len(texts)):
            raise ValueError(f"only {len(each)} of {len(texts)} sentences can be asked about ({why}); choose others")
        spec = {"about": self.name, "form": self.form, "ask": _ask(moment, of), "each": each, "pieces": of != "class",
                "left_out": len(texts) - len(each), "of": of, **({"worth": "weight"} if of == "cell" else {})}
        return QuestionRecord(spec, make_key(
            said=_said(len(each), len(texts)), margin=min(one["margin"] for one in keys), each=keys,
            proof=moment.proof(of=of, query=options.query, seed=options.seed)))

    def offer(self, moment: Moment) -> None:
        """Only checks whether it can be asked: many forward passes are made once it is wanted."""
        _check_page(moment, None)

    def choices(self, spec: Values, number: int) -> list[str]:
        return spec["each"][number % len(spec["each"])]["choices"]

    def key_of(self, key: Values, number: int) -> Values:
        return key["each"][number % len(key["each"])]

    def count(self, spec: Values, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
        """Also each, the votes on every sentence that was answered by its number, and sentences, how many those are."""
        answers = list(answers)
        grouped: dict[int, list[tuple[int, Any, int | None]]] = {}
        for one in answers:
            grouped.setdefault(one[0] % len(spec["each"]), []).append(one)
        each = {str(at): levels_table(grouped[at], len(self.choices(spec, at))) for at in sorted(grouped)}
        return Kind.count(self, spec, answers) | {"each": each, "sentences": len(each)}  # keys of JSON are texts

    def tables(self, spec: Values, key: Values, votes: Values) -> list[tuple[Values, list[list[int]]]]:
        return [(self.key_of(key, int(at)), table) for at, table in votes["each"].items()]

    def summary(self, spec: Values, key: Values, votes: Values) -> dict[str, Any]:
        """Also agreed, how many sentences most got right, and exceptions, those that most got wrong."""
        agreed, exceptions = 0, []
        for at, table in votes["each"].items():
            one, right, margin = spec["each"][int(at)], *(key["each"][int(at)][name] for name in ("right", "margin"))
            counts = [sum(column) for column in zip(*table, strict=True)]
            most = max(range(len(counts)), key=lambda choice: (counts[choice], choice == right))
            agreed += most == right
            if most != right:
                exceptions.append({"number": int(at), "text": one["text"], "right": one["choices"][right],
                                   "said": one["choices"][most], "counts": counts, "margin": margin})
        return super().summary(spec, key, votes) | {
            "sentences": len(votes["each"]), "agreed": agreed, "exceptions": exceptions}


def _check_page(moment: Moment, of: str | None) -> str:
    """What is asked of each sentence. Raises ValueError where the page does not show it."""
    shows = moment.opened.shows
    if shows not in ("step", "reading"):
        raise ValueError("this gives each phone a sentence for the model to read: open Translate, Write or Classify")
    of = of or ("next token" if shows == "step" else "class" if moment.source.ckpt.config.n_classes else "cell")
    if (of == "next token") != (shows == "step") and of != "cell":
        where = "Translate or Write" if of == "next token" else "Classify"
        raise ValueError(f"this asks for the {of}: open {where}")
    head_of(moment.opened, moment.source)
    return of


def _one(opened: Opened, of: str, query: str, text: str) -> QuestionRecord:
    """The question of one sentence, at the step that the room is at, with the tokens that the model chooses."""
    values = {**opened.values, "text": text, "choices": {}, "temperature": 0.0}
    moment = Moment(Opened(opened.shows, values, opened.ckpt))
    if of == "cell":
        return Cell().make(moment, Options(query=query))
    return NextToken().make(moment, Options()) if of == "next token" else NextToken().of_classes(moment)


def _texts(ckpt: Checkpoint, sentences: Sequence[str] | int | None, seed: int) -> list[str]:
    if isinstance(sentences, str):
        raise ValueError("sentences is one text; give a list of them")
    if sentences is None or isinstance(sentences, int):
        count = USUAL if sentences is None else sentences
        if not FEWEST <= count <= MOST:
            raise ValueError(f"sentences is {count:,}; choose {FEWEST} to {MOST}")
        # more than are wanted, as the long ones do not fit on a phone
        held_out = [_shorter(ckpt, one.text) for one in held_out_sentences(ckpt, limit=4 * count, seed=seed)]
        texts = [text for text in held_out if len(text) <= LONGEST][:count]
    else:
        texts = [text.strip() for text in sentences if text.strip()]
        if longer := [text for text in texts if len(text) > LONGEST]:
            raise ValueError(f"a sentence has {len(longer[0]):,} characters; a phone has room for {LONGEST}. Please "
                             "shorten it")
    texts = [*dict.fromkeys(texts)]
    if not 1 <= len(texts) <= MOST:
        raise ValueError(f"there are {len(texts):,} different sentences; give {FEWEST} to {MOST}")
    return texts


def _shorter(ckpt: Checkpoint, text: str) -> str:
    """The beginning of a running text, up to the end of a word; any other text whole."""
    if ckpt.config.task != "text":
        return text
    return text[:BEGINNING].rpartition(" ")[0].strip() or text[:BEGINNING]


def _ask(moment: Moment, of: str) -> str:
    if of == "class":
        return "Which class does the model choose for your text?"
    if of == "next token":
        where = "after your text" if moment.source.ckpt.config.task == "text" else "for your sentence"
        return f"Which token does the model think is most likely to come next {where}?"
    kind, layer, head = head_of(moment.opened, moment.source)
    return f"Where does {kind}, layer {layer}, head {head} look most in your sentence?"


def _said(asked: int, of: int) -> str:
    left = f"; {of - asked} more were left out: there the model hesitates, or the text is too short" * (of > asked)
    return f"Each of {asked} sentences has an answer of its own{left}."

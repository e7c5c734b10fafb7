"""A sentence for each phone: the same question of up to two hundred texts, each with a key of its own."""

from collections.abc import Callable, Sequence

from transformer.checkpoint import Checkpoint
from transformer.held_out import held_out_sentences
from transformer.lessons.opened_link import Opened, head_of
from transformer.rooms.head_questions import cell
from transformer.rooms.question_record import FORMS, Moment, QuestionRecord, key
from transformer.rooms.token_questions import likeliest_class, next_token

WAYS = "next token", "cell", "class"
MOST = 200  # sentences
USUAL = 60  # of the held-out ones
FEWEST = 2  # that must be left
BEGINNING = 60  # characters of running text
LONGEST = 200  # characters of a sentence on a phone


def own_sentence(moment: Moment, *, of: str | None = None, query: str = "newest",
                 sentences: Sequence[str] | int | None = None, seed: int = 0,
                 watch: Callable[[int, int], None] = lambda done, of: None) -> QuestionRecord:
    """of: a word of `WAYS`; sentences: one's own, or how many of the held-out ones of the model's corpus, drawn with
    the seed. Those where the model hesitates, or which end before this step, are left out and counted."""
    of = check(moment, of)
    texts = _texts(moment.opened.ckpt, sentences, seed)
    each, keys, why = [], [], ""
    for done, text in enumerate(texts):
        watch(done, len(texts))
        try:
            one = _one(moment.opened, of, query, text)
        except ValueError as error:
            why = str(error)
            continue
        each.append({"text": text, "written": one.spec["written"], "choices": one.spec["choices"]})
        keys.append({name: one.key[name] for name in ("right", "values", "margin", "said")})
    watch(len(texts), len(texts))
    if len(each) < min(FEWEST, len(texts)):
        raise ValueError(f"only {len(each)} of {len(texts)} sentences can be asked about ({why}); choose others")
    return QuestionRecord(
        {"about": "own sentence", "form": FORMS["own sentence"], "ask": _ask(moment, of), "each": each,
         "pieces": of != "class", "left_out": len(texts) - len(each), "of": of},
        key(said=_said(len(each), len(texts)), margin=min(one["margin"] for one in keys), each=keys,
            proof=moment.proof(of=of, query=query, seed=seed)))


def check(moment: Moment, of: str | None) -> str:
    """What is asked of each sentence. Raises ValueError where the page does not show it."""
    shows = moment.opened.shows
    if shows not in ("step", "reading"):
        raise ValueError("this gives each phone a sentence for the model to read: open Translate, Write or Classify")
    of = of or ("next token" if shows == "step" else "class" if moment.opened.ckpt.config.n_classes else "cell")
    if (of == "next token") != (shows == "step") and of != "cell":
        where = "Translate or Write" if of == "next token" else "Classify"
        raise ValueError(f"this asks for the {of}: open {where}")
    head_of(moment.opened, moment.shown)
    return of


def _one(opened: Opened, of: str, query: str, text: str) -> QuestionRecord:
    """The question of one sentence, at the step that the room is at, with the tokens that the model chooses."""
    values = {**opened.values, "text": text, "choices": {}, "temperature": 0.0}
    moment = Moment(Opened(opened.shows, values, opened.ckpt))
    if of == "cell":
        return cell(moment, query=query)
    return next_token(moment) if of == "next token" else likeliest_class(moment)


def _texts(ckpt: Checkpoint, sentences: Sequence[str] | int | None, seed: int) -> list[str]:
    if isinstance(sentences, str):
        raise ValueError("sentences is one text; give a list of them")
    if sentences is None or isinstance(sentences, int):
        count = USUAL if sentences is None else sentences
        if not FEWEST <= count <= MOST:
            raise ValueError(f"sentences is {count:,}; choose {FEWEST} to {MOST}")
        # more than are wanted, as the long ones do not fit on a phone
        found = [_shorter(ckpt, one.text) for one in held_out_sentences(ckpt, limit=4 * count, seed=seed)]
        texts = [text for text in found if len(text) <= LONGEST][:count]
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
    """Of running text a beginning that ends with a word."""
    if ckpt.config.task != "text":
        return text
    return text[:BEGINNING].rpartition(" ")[0].strip() or text[:BEGINNING]


def _ask(moment: Moment, of: str) -> str:
    if of == "class":
        return "Which class does the model choose for your text?"
    if of == "next token":
        where = "after your text" if moment.opened.ckpt.config.task == "text" else "for your sentence"
        return f"Which token does the model think is most likely to come next {where}?"
    kind, layer, head = head_of(moment.opened, moment.shown)
    return f"Where does head {head} of layer {layer} ({kind}) look most in your sentence?"


def _said(asked: int, of: int) -> str:
    left = f"; {of - asked} more were left out: there the model hesitates, or the text is too short" * (of > asked)
    return f"Each of {asked} sentences has an answer of its own{left}."

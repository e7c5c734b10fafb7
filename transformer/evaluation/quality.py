"""The quality of a checkpoint on held-out text, as one dictionary of figures."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, log
from typing import NamedTuple

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.beam_search import translate
from transformer.model.masks import is_token
from transformer.model.models import Transformer
from transformer.text.augmentation import without_mark
from transformer.text.batches import Batch, WindowBatches
from transformer.text.corpora import LabelledCorpus, Pair, PairCorpus, TextCorpus, corpus, neighbours, unseen
from transformer.text.tokenizer import standardise

Watch = Callable[[int, int], None]  # done, of
IGNORED = -100  # the label that does not count
WORDS = ((1, 5), (6, 8), (9, 12), (13, None))  # of a source


def evaluate(ckpt: Checkpoint, *, split: str | None = None, beam: int = 1, limit: int | None = None,
             human: bool = False, as_typed: bool = False, watch: Watch = lambda done, of: None) -> dict[str, object]:
    """Measures a checkpoint on the corpus it was trained for.

    By default on the split on which its corpus is measured: test, of running text validation, train if nothing is held
    out. Translation: `bleu` (first reference), `bleu_all_references`, `bleu_unseen` (without near-duplicates of
    training sentences, see `corpora.unseen`), `bleu_no_neighbours` (without sources that differ from a training source
    in one word, see `corpora.neighbours`), the numbers of sentences in these (`n_unseen`, `n_no_neighbours`), `chrf`,
    `bleu_standardised` (outputs and first references in lower case without punctuation, which is fair to models that
    write so), `bleu_human` (the second reference against the first, where there are two: how far one reference lets a
    translator come) and `bleu_beside_human` (the model on the same sentences), sacrebleu's `signature`, `n`. Text:
    `loss` in nats per token and `bits_per_char`. Classes: `accuracy`, `majority` and `baseline` (see `class_quality`),
    `n`. limit: only the first sentences. human: of a translation, second references alone, see `human_quality`.
    as_typed: also `bleu_as_typed` (lower case without the last mark, of sources and references alike, so that an
    answer in correct case counts as wrong there) and `bleu_joined` (three sentences at a time). Raises ValueError if
    the checkpoint does not name its training corpus, for human, as_typed or a beam where nothing is translated, for a
    limit of running text, and for human with as_typed or a beam.

    >>> found = transformer.evaluate(ckpt, limit=10)
    >>> found["corpus"], found["split"]
    ('eng-fra', 'test')
    """
    if ckpt.description.train is None:
        raise ValueError(f"{ckpt.id} does not name its training corpus, so there is nothing to measure it by")
    text = corpus(ckpt.description.train.corpus)
    about = {"checkpoint": ckpt.id, "step": ckpt.meta.get("step"), "corpus": text.name, "corpus_sha256": text.sha256}
    split = split or text.measured_on
    if (human or as_typed) and not isinstance(text, PairCorpus):
        raise ValueError(f"{ckpt.id} was trained on {text.name}, which has no translations to measure; leave out "
                         "human and as_typed")
    if human and (as_typed or beam > 1):
        raise ValueError("human measures people in the place of the model; leave out as_typed and beam")
    if beam > 1 and not isinstance(text, PairCorpus):
        raise ValueError(f"{ckpt.id} was trained on {text.name}, and only what translates has a beam; leave beam out")
    if limit is not None and isinstance(text, TextCorpus):
        raise ValueError(f"{text.name} is one text, which has no first sentences; leave limit out")
    if isinstance(text, TextCorpus):
        quality = text_quality(ckpt, text.split(split), watch=watch)
    elif isinstance(text, LabelledCorpus):
        quality = class_quality(ckpt, text, split, limit=limit, watch=watch)
    elif human:
        about = {"corpus": text.name, "corpus_sha256": text.sha256}
        quality = human_quality(text.split(split)[:limit])
    else:
        quality = translation_quality(ckpt, text.split(split)[:limit], train=text.split("train"), beam=beam,
                                      as_typed=as_typed, watch=watch)
    return about | {"split": split} | quality


def translation_quality(ckpt: Checkpoint, pairs: list[Pair], *, train: list[Pair], beam: int = 1,
                        as_typed: bool = False, watch: Watch = lambda done, of: None) -> dict[str, object]:
    """BLEU (Papineni et al. 2002) and chrF (Popovic 2015) of translated (source, references) pairs, 0 to 100. A source
    longer than the model reads is cut."""
    sets = [pairs, *((typed_pairs(pairs), joined_pairs(pairs)) if as_typed else ())]
    sources = [source for some in sets for source, _ in some]
    translated = iter(translate(ckpt, sources, beam=beam, cut=True, watch=lambda done: watch(done, len(sources))))
    outputs, *others = [[next(translated) for _ in some] for some in sets]
    first = [references[0] for _, references in pairs]
    most = max(len(references) for _, references in pairs)
    # sacrebleu takes a list for each place in the references; None if a sentence has no more
    everyone = [[references[i] if i < len(references) else None for _, references in pairs] for i in range(most)]
    keep, far = unseen(pairs, train), [not near for near in neighbours(pairs, train)]
    several = [len(references) > 1 for _, references in pairs]
    signed = BLEU()

    def bleu(outputs: list[str], references: list[str], kept: list[bool] | None = None) -> float | None:
        some = [both for both, keep in zip(zip(outputs, references, strict=True), kept or [True] * len(outputs),
                                           strict=True) if keep]
        return signed.corpus_score([o for o, _ in some], [[r for _, r in some]]).score if some else None

    typed = {name: bleu(written, [references[0] for _, references in some])
             for name, some, written in zip(("bleu_as_typed", "bleu_joined"), sets[1:], others, strict=False)}
    return {
        "bleu": bleu(outputs, first),
        "bleu_all_references": signed.corpus_score(outputs, everyone).score,  # pyright: ignore[reportArgumentType]
        "bleu_unseen": bleu(outputs, first, keep), "bleu_no_neighbours": bleu(outputs, first, far),
        "bleu_human": human_bleu(pairs), "bleu_beside_human": bleu(outputs, first, several),
        "chrf": CHRF().corpus_score(outputs, [first]).score,
        "bleu_standardised": bleu([*map(standardise, outputs)], [*map(standardise, first)]),
        **typed, "signature": str(signed.get_signature()), "n": len(pairs), "n_unseen": sum(keep),
        "n_no_neighbours": sum(far), "n_human": sum(several), "beam": beam,
    }


def human_bleu(pairs: list[Pair]) -> float | None:
    """BLEU of second references against first ones, where a source has both; None if none has."""
    several = [references for _, references in _several(pairs)]
    return BLEU().corpus_score([second for _, second, *_ in several],
                               [[first for first, *_ in several]]).score if several else None


def _several(pairs: list[Pair]) -> list[Pair]:
    return [pair for pair in pairs if len(pair[1]) > 1]


def human_quality(pairs: list[Pair]) -> dict[str, object]:
    """BLEU of the second reference of each source against the first, of all that have two, and by the source's number
    of words."""
    several = _several(pairs)
    bands = {f"{first} to {last} words" if last else f"{first} words and more": [
        pair for pair in several if first <= len(pair[0].split()) <= (last or inf)] for first, last in WORDS}
    return {"bleu_human": human_bleu(several), "n_human": len(several),
            "bleu_by_length": {band: human_bleu(some) for band, some in bands.items()},
            "n_by_length": {band: len(some) for band, some in bands.items()}}


def typed_pairs(pairs: list[Pair]) -> list[Pair]:
    """(source, references) pairs in lower case, without their last mark."""
    return [(without_mark(source.lower()), [without_mark(one.lower()) for one in references])
            for source, references in pairs]


def joined_pairs(pairs: list[Pair], count: int = 3) -> list[Pair]:
    """(source, references) pairs, each of `count` that follow one another; the first reference of each."""
    groups = [pairs[at:at + count] for at in range(0, len(pairs), count)]
    return [(" ".join(source for source, _ in group), [" ".join(references[0] for _, references in group)])
            for group in groups]


def text_quality(ckpt: Checkpoint, text: str, *, watch: Watch = lambda done, of: None) -> dict[str, object]:
    """Cross-entropy over windows of max_len that do not overlap; every position counts but the first of the text."""
    ids = ckpt.tokenizer.encode(text)
    batches = WindowBatches(ids, batch_tokens=4_096, max_len=ckpt.config.max_len, seed=0).in_order()
    total = 0.0
    for done, batch in enumerate(batches):
        total += held_out_loss(ckpt.model, [batch]) * batch.tokens
        watch(done + 1, len(batches))
    tokens = sum(batch.tokens for batch in batches)
    return {"loss": total / tokens, "bits_per_char": total / len(text[1:]) / log(2), "n": tokens}


def class_quality(ckpt: Checkpoint, corpus: LabelledCorpus, split: str, *, limit: int | None = None,
                  watch: Watch = lambda done, of: None) -> dict[str, object]:
    """The share of texts whose likeliest class is right, and two baselines on the same split.

    `majority` always predicts the most frequent class of the training. `baseline` is logistic regression on word
    counts, by scikit-learn; if that is not installed it is None and `baseline_note` says so. A text without a piece
    (only characters that the tokenizer drops) counts as the majority class; one over max_len is cut.
    """
    if set(ckpt.classes) != set(corpus.classes):
        raise ValueError(f"{ckpt.id} tells {', '.join(ckpt.classes[:3])}... apart, and {corpus.name} has "
                         f"{', '.join(corpus.classes[:3])}...; measure it on what it was trained for")
    items = corpus.split(split)[:limit]
    most = Counter(label for _, label in corpus.split("train")).most_common(1)[0][0]
    right = 0
    for done, (text, label) in enumerate(items):
        right += (likeliest_class(ckpt, text) or most) == label
        watch(done + 1, len(items))
    baseline, note = bag_of_words(corpus, items)
    return {"accuracy": right / len(items), "majority": sum(label == most for _, label in items) / len(items),
            "baseline": baseline, "n": len(items), **({"baseline_note": note} if note else {})}


@torch.no_grad()
def likeliest_class(ckpt: Checkpoint, text: str) -> str | None:
    """The likeliest class of a text, cut to what the model reads; None for a text without a piece."""
    ids = ckpt.tokenizer.encode(text)[:ckpt.config.max_len]
    return ckpt.classes[int(ckpt.model(torch.tensor([ids], device=ckpt.device)).argmax())] if ids else None


def bag_of_words(corpus: LabelledCorpus, items: list[tuple[str, str]]) -> tuple[float | None, str | None]:
    """The accuracy of logistic regression on word counts, trained on the train split, and a note if it is missing.

    Its regularisation is chosen on the validation split, as the transformer's settings were.
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ImportError:
        return None, "scikit-learn is not installed; pip install scikit-learn installs it"
    texts, labels = zip(*corpus.split("train"), strict=True)
    models = [make_pipeline(CountVectorizer(), LogisticRegression(C=c, max_iter=2_000))
              for c in (0.1, 0.3, 1.0, 3.0, 10.0)]
    chosen_on = list(zip(*(corpus.splits.get("validation") or corpus.split("train")), strict=True))
    best = max(models, key=lambda model: model.fit(texts, labels).score(*chosen_on))
    return float(best.score(*zip(*items, strict=True))), None


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Switches dropout off inside, and back to what it was afterwards."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def cross_entropy(logits: Tensor, labels: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats of logits (N, V) and labels (N,), summed over those that are not IGNORED."""
    return F.cross_entropy(logits, labels, label_smoothing=label_smoothing, ignore_index=IGNORED, reduction="sum")


def label_logits(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits (N, V) in float32 and their labels (N,), IGNORED where none counts. Of a classifier log-probabilities,
    which are logits too."""
    if batch.tgt is None:
        return model(batch.src).float(), batch.labels
    rows, labels = label_rows(model, batch.src, batch.tgt, batch.labels)
    return model.project(rows).float(), labels


def label_rows(model: Transformer, src: Tensor | None, tgt: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The decoder's final rows (N, d_model) from which the labels (N,) of a batch are predicted, IGNORED where none
    counts."""
    hidden, counts = model.hidden(src, tgt), is_token(labels, model.config.pad_id)
    if src is None:  # windows of a text, where hardly anything is padding
        return hidden.flatten(0, 1), labels.where(counts, IGNORED).flatten()
    return hidden[counts], labels[counts]


def right_labels(logits: Tensor, labels: Tensor) -> Tensor:
    """Whether each label (N,) is the likeliest of its logits (N, V), False where it is IGNORED: bool (N,)."""
    return logits.argmax(-1) == labels


class HeldOut(NamedTuple):
    """Sums over held-out batches."""

    nats: float  # the loss, without label smoothing and dropout
    right: int  # labels that are the likeliest prediction
    exact: int  # texts of which every label is: as many would be written without a mistake, taking the likeliest token


@torch.no_grad()
def held_out_sums(model: Transformer, batches: list[Batch], *, micro_tokens: int | None = None) -> HeldOut:
    """The loss and what is predicted of batches; read in pieces of at most micro_tokens positions."""
    nats, right, exact = 0.0, 0, 0
    with eval_mode(model):
        device = next(model.parameters()).device
        for piece in (piece for batch in batches for piece in batch.cut(micro_tokens)):
            logits, labels = label_logits(model, piece.to(device))
            hits = right_labels(logits, labels)
            nats += cross_entropy(logits, labels).item()
            right += int(hits.sum())
            exact += _exact(hits, piece.labels.to(device), model.config.pad_id)
    return HeldOut(nats, right, exact)


def _exact(hits: Tensor, labels: Tensor, pad_id: int | None) -> int:
    """The rows of labels (B, T), or (B,), of which all that count were hit."""
    if labels.dim() == 1 or len(hits) == labels.numel():
        return int(hits.view(len(labels), -1).all(1).sum())
    missed = torch.zeros_like(labels, dtype=torch.bool)
    missed[labels != pad_id] = ~hits
    return len(labels) - int(missed.any(1).sum())


def held_out_loss(model: Transformer, batches: list[Batch], *, micro_tokens: int | None = None) -> float:
    """The mean loss in nats per token, or per text of a classifier."""
    return held_out_sums(model, batches, micro_tokens=micro_tokens).nats / sum(batch.tokens for batch in batches)

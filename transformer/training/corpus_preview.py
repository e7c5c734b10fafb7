"""A prepared corpus before anything is trained on it: samples, lengths, what the vocabulary covers, what is left out.

All of it is plain values that go to JSON as they are.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training.tasks import Prepared

LONGEST_SAMPLE = 300  # characters
BINS = 60
MOST_CLASSES = 20  # counted one by one


def look(task: Prepared, *, samples: int = 6, seed: int = 0) -> dict[str, object]:
    """What a task learns from.

    `corpus` with its `splits` (in `unit`), `samples` drawn at random from the training part, `lengths` as histograms in
    pieces, `left_out` or cut at max_len, and of each vocabulary the `coverage`: how many of its pieces the training
    part uses, and how many held-out pieces are unknown.
    """
    found, config = task.corpus, task.config
    return {
        "task": config.train.task,
        "corpus": {"name": found.name, "sha256": found.sha256, "licence": found.licence,
                   "attribution": found.attribution},
        **_sizes(task),
        "samples": [_sample(task, item) for item in _drawn(found, samples, np.random.default_rng(seed))],
        "max_len": config.model.max_len,
        "lengths": {side: _histogram(lengths) for side, lengths in task.lengths.items()},
        "left_out": _left_out(task),
        "coverage": _coverage(task),
    }


def _sizes(task: Prepared) -> dict[str, object]:
    found = task.corpus
    said = {"validation_from": task.about.get("validation_from", "validation")}
    if isinstance(found, TextCorpus):
        return said | {"unit": "characters", "splits": {name: len(found.split(name)) for name in
                                                        ("train", "validation")}}
    said["splits"] = {name: len(items) for name, items in found.splits.items()}
    if isinstance(found, PairCorpus):
        return said | {"unit": "different sources", "train_pairs": len(task.lengths["source"])}
    labels = [label for _, label in found.split("train")]
    counts = sorted(((labels.count(name), name) for name in found.classes[:MOST_CLASSES]), reverse=True)
    return said | {"unit": "texts", "n_classes": len(found.classes),
                   "classes": [{"name": name, "texts": count} for count, name in counts]}


def _drawn(found: TextCorpus | PairCorpus | LabelledCorpus, count: int,
           random: np.random.Generator) -> list[dict[str, str]]:
    """Different items of the training part, in the order of the corpus: texts by what they are."""
    if isinstance(found, TextCorpus):
        text = found.split("train")
        starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
        starts = [start for start in starts if text[start:start + 1].strip()]
        return [{"text": text[starts[i]:starts[i] + LONGEST_SAMPLE // 2]} for i in _some(starts, count, random)]
    items = found.split("train")
    chosen = [items[i] for i in _some(items, count, random)]
    if isinstance(found, LabelledCorpus):
        return [{"text": text, "label": label} for text, label in chosen]
    return [{"source": source, "target": references[random.integers(len(references))]} for source, references in chosen]


def _some(items: Sequence, count: int, random: np.random.Generator) -> list[int]:
    return sorted(random.choice(len(items), min(count, len(items)), replace=False).tolist())


def _sample(task: Prepared, item: dict[str, str]) -> dict[str, object]:
    """{"parts": {"source": ..., "target": ...} or {"text": ...}, "label": where it has one}."""
    tokenizers = {"source": task.source_tokenizer, "target": task.tokenizer, "text": task.tokenizer}
    parts = {name: _read(text, tokenizers[name]) for name, text in item.items() if name in tokenizers}
    return {"parts": parts} | ({"label": item["label"]} if "label" in item else {})


def _read(text: str, tokenizer: Tokenizer) -> dict[str, object]:
    """A text, its pieces, their ids, and what they read as together: `same` where that is the text again."""
    cut, text = len(text) > LONGEST_SAMPLE, text[:LONGEST_SAMPLE]
    pieces = tokenizer.pieces(text)
    back = tokenizer.decode([piece.id for piece in pieces])
    unknown = [at for at, piece in enumerate(pieces) if piece.unknown]
    if back == text:
        why = None
    elif unknown:
        why = "unknown pieces"
    elif getattr(tokenizer, "standardise", False):
        why = "lower case, no punctuation"
    else:
        why = "spaces and characters in their usual form (NFKC)"
    return {"text": text, "cut": cut, "pieces": [piece.text for piece in pieces], "ids": [piece.id for piece in pieces],
            "unknown": unknown, "back": back, "same": back == text, "why": why}


def _histogram(lengths: np.ndarray) -> dict[str, object]:
    """How many have each length, in bins of a whole width: bin i holds first + i * width and up."""
    if not len(lengths):
        return {"first": 0, "width": 1, "counts": [], "median": 0, "longest": 0}
    longest, first = int(lengths.max()), int(lengths.min())
    width = -(-(longest - first + 1) // BINS)
    counts = np.bincount((lengths - first) // width)
    return {"first": first, "width": width, "counts": counts.tolist(), "median": float(np.median(lengths)),
            "longest": longest}


def _left_out(task: Prepared) -> dict[str, object]:
    """How many training items max_len leaves out (pairs) or cuts (texts); running text is read in windows."""
    max_len, lengths = task.config.model.max_len, task.lengths
    if "line" in lengths:
        return {"how": "read in windows", "count": 0, "of": len(lengths["line"]), "share": 0.0, "takes_in_99": None}
    # a translation needs a place for EOS beside its pieces
    tokens = np.maximum(lengths["source"], lengths["target"]) + 1 if "source" in lengths else lengths["text"]
    count = int((tokens > max_len).sum())
    return {"how": "left out" if "source" in lengths else "cut", "count": count, "of": len(tokens),
            "share": count / len(tokens), "takes_in_99": int(np.quantile(tokens, 0.99, method="higher"))}


def _coverage(task: Prepared) -> dict[str, dict[str, object]]:
    found = task.corpus
    if isinstance(found, TextCorpus):
        return {"text": _covered(task.tokenizer, [task.batches.ids], [found.split("validation")])}
    held_out = found.splits.get("validation", {})
    if isinstance(found, LabelledCorpus):
        return {"text": _covered(task.tokenizer, [ids for ids, _ in task.batches.items], [t for t, _ in held_out])}
    pairs = task.batches.items
    rows = {"source": [source for source, _ in pairs], "target": [target for _, target in pairs]}
    texts = {"source": list(held_out), "target": [references[0] for references in held_out.values()]}
    if task.source_tokenizer is task.tokenizer:
        return {"both sides": _covered(task.tokenizer, chain(*rows.values()), [*texts["source"], *texts["target"]])}
    tokenizers = {"source": task.source_tokenizer, "target": task.tokenizer}
    return {side: _covered(tokenizers[side], rows[side], texts[side]) for side in rows}


def _covered(tokenizer: Tokenizer, training: Iterable[Sequence[int]], held_out: list[str]) -> dict[str, object]:
    """Of the pieces but the special ones, how many training uses; of the held-out pieces, how many are unknown."""
    special = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id}
    used = np.bincount(np.fromiter(chain.from_iterable(training), np.int64), minlength=tokenizer.vocab_size) > 0
    read = list(chain.from_iterable(tokenizer.encode_batch(held_out)))
    unknown = read.count(tokenizer.unk_id)
    return {"vocab_size": tokenizer.vocab_size, "pieces": tokenizer.vocab_size - len(special),
            "used": int(used.sum()) - sum(bool(used[id]) for id in special),
            "held_out": len(read), "unknown": unknown, "unknown_share": unknown / len(read) if read else None}

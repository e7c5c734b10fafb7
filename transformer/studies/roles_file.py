"""roles.json in a checkpoint's folder: measures of its heads on one sample, so that nobody has to measure them again.

The file is outside the manifest, so that it does not change a checkpoint's id. It names the id that it was measured on,
and is ignored for any other.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from transformer.analysis.roles import HeadRoles
from transformer.analysis.sample import Sentence, sentence_of_ids, sentence_with_class, sentence_with_target
from transformer.basics.folders import ROLES
from transformer.basics.resource_errors import os_errors
from transformer.checkpoints.checkpoint import LARGEST_JSON, Checkpoint
from transformer.evaluation.held_out import held_out_sentences
from transformer.measures.catalogue import measures_of
from transformer.settings.config import Kind
from transformer.text.corpus_catalogue import find_source
from transformer.text.user_corpus import is_user_corpus

FORMAT = 1
VALUES = ("trained", "untrained", "even", "queries", "best", "best_short")


def write_roles(ckpt: Checkpoint, roles: HeadRoles, *, corpus: str, limit: int) -> Path:
    """Writes measures that were taken on `held_out_sentences(ckpt, limit=limit, seed=roles.seed, name=corpus)`. Raises
    ValueError if its sentences would be read back as other tokens."""
    sample = {"corpus": corpus, "sha256": _digest(corpus), "limit": limit, "seed": roles.seed,
              "held_out": len(held_out_sentences(ckpt, limit=None, seed=None, name=corpus))}
    texts = [_texts_of(sentence) for sentence in roles.sentences]
    for sentence, stored in zip(roles.sentences, texts, strict=True):
        again = _sentence(ckpt, stored)
        if (again.src, again.tgt) != (sentence.src, sentence.tgt):
            raise ValueError(f"{ckpt.id} reads {sentence.text[:40]!r} as other tokens than it was measured on")
    heads = {kind: {name: dict(zip(VALUES, (
        values, roles.untrained[kind][name], roles.even[kind][name], roles.queries[kind][name],
        roles.best[kind][name], roles.best_short[kind][name]), strict=True)) for name, values in measures.items()}
        for kind, measures in roles.values.items()}
    path = ckpt.description.folder / ROLES
    with os_errors():
        path.write_bytes(orjson.dumps(
            {"format": FORMAT, "checkpoint": ckpt.id, "sample": sample, "notes": roles.notes, "heads": heads,
             "sentences": texts}, option=orjson.OPT_SERIALIZE_NUMPY))
    return path


def read_roles(ckpt: Checkpoint, *, corpus: str, limit: int, seed: int) -> HeadRoles | None:
    """The measures that were stored for these weights and this sample, if they are all that there are now; None if
    there is no such file, or it is damaged."""
    content = _read(ckpt, corpus)
    if content is None or (content["sample"]["limit"], content["sample"]["seed"]) != (limit, seed):
        return None
    try:
        sentences = [_sentence(ckpt, stored) for stored in content["sentences"]]
        parts = {name: {} for name in VALUES}
        for kind in ckpt.config.kinds:
            names = [measure.name for measure in measures_of(kind)]
            if list(content["heads"][kind]) != names:
                return None
            for part, values in parts.items():
                values[kind] = {name: _values(content["heads"][kind][name][part], part, ckpt, kind, len(sentences))
                                for name in names}
        notes = {str(name): str(why) for name, why in content["notes"].items()}
        return HeadRoles(ckpt.id, sentences, seed, parts["trained"], parts["untrained"], parts["even"], parts["best"],
                         parts["best_short"], parts["queries"], notes)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def count_held_out(ckpt: Checkpoint, corpus: str) -> int | None:
    """The number of held-out sentences of a corpus, from a checkpoint's file; None if it does not say. The corpus is
    not read."""
    content = _read(ckpt, corpus)
    count = content and content["sample"].get("held_out")
    return count if isinstance(count, int) else None


def _read(ckpt: Checkpoint, corpus: str) -> dict | None:
    """The file's content, if it is of these weights and of this corpus as it is now."""
    path = ckpt.description.folder and ckpt.description.folder / ROLES
    try:
        if path is None or path.stat().st_size > LARGEST_JSON:
            return None
        content = orjson.loads(path.read_bytes())
        sample = content["sample"]
        return content if (content["format"], content["checkpoint"], sample["corpus"], sample["sha256"]) == (
            FORMAT, ckpt.id, corpus, _digest(corpus)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(corpus: str) -> str:
    """The `Corpus.sha256` of a corpus; one that comes with the library is not read for it."""
    if is_user_corpus(corpus):
        return hashlib.sha256(Path(corpus).read_bytes()).hexdigest()
    if (source := find_source(corpus)) is None:
        raise ValueError(f"no corpus {corpus!r}")
    return source.sha256


def _texts_of(sentence: Sentence) -> list[str] | list[int]:
    """A sentence as its text, with its translation where it has one; running text, which is cut anywhere, as ids."""
    if sentence.src is None and sentence.tgt and sentence.labels:
        return [*sentence.tgt, sentence.labels[-1]]
    return [sentence.text] if sentence.target is None else [sentence.text, sentence.target]


def _sentence(ckpt: Checkpoint, stored: Sequence[Any]) -> Sentence:
    if ckpt.config.task == "text":
        return sentence_of_ids(ckpt, [int(id) for id in stored])
    make = sentence_with_target if ckpt.config.task == "translation" else sentence_with_class
    return make(ckpt, *stored)


def _values(value: Any, part: str, ckpt: Checkpoint, kind: Kind, sentences: int) -> NDArray | float | int:
    """A number, or one for each head of a kind. Raises ValueError if the file has something else there."""
    if part in ("even", "queries"):
        return int(value) if part == "queries" else float("nan") if value is None else float(value)
    values = np.array(value, np.float32 if part in ("trained", "untrained") else np.int64)
    if values.shape != (ckpt.config.layers(kind), ckpt.config.n_heads):
        raise ValueError(f"{part} has the shape {values.shape}")
    if values.dtype == np.int64 and not ((values >= -1) & (values < sentences)).all():
        raise ValueError(f"{part} names a sentence that is not there")
    return values

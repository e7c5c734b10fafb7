"""Which piece of a pinned source each piece of its target comes from, by the rule of its corpus, or learned from it.

A link is a place of the target, whose query is about to write a piece, and a place of the source.
"""

from itertools import product
from pathlib import Path

import numpy as np

from transformer.analysis.alignment import WordAligner, word_links
from transformer.evaluation.held_out import ALIGNED_FROM, aligner_path, learn_aligner
from transformer.text.batches import Batch
from transformer.text.corpora import PairCorpus
from transformer.text.corpus_catalogue import find_source
from transformer.text.tokenizer import Piece, Tokenizer
from transformer.training.tasks import Prepared

Links = list[list[int]]
SECONDS = 1e-4  # that a pair takes to learn an alignment from, at most: four seconds for 40,000 pairs
AT_ONCE = 0.1  # seconds that may be taken whenever it is
SHARE, AT_END = 0.01, 0.1  # of the time trained, that learning may take while a run goes on, and once it is finished
KEPT_FROM = 10_000  # pairs: what is learned of fewer is not kept


def rule_links(task: Prepared, batch: Batch) -> Links | None:
    """The links of a pinned pair by the rule of a corpus that comes with the library; None for one without."""
    corpus, texts = find_source(task.config.train.corpus), _texts(task, batch)
    if corpus is None or corpus.links is None or texts is None:
        return None
    (source, sources), (target, targets) = texts
    return sorted([query, key] for at, place in set(corpus.links(source, target))
                  for query, key in product(_pieces_at(targets, at), _pieces_at(sources, place)))


def learned_links(task: Prepared, batch: Batch, aligner: WordAligner) -> Links | None:
    """The links of a pinned pair by a word alignment; None where its tokens are not those of a text."""
    if (texts := _texts(task, batch)) is None:
        return None
    (source, sources), (target, targets) = texts
    spans = [[(piece.start, piece.end) for piece in pieces] for pieces in (sources, targets)]
    return np.argwhere(word_links(aligner, source, target, *spans)).tolist()


def find_aligner(task: Prepared, folder: Path, *, seconds: float, finished: bool) -> WordAligner | None:
    """The word alignment of a run's pairs: the one that a folder has, or one that is learned, and then kept there.

    seconds: how long the run has trained. None as long as learning would take more than a hundredth of that, a tenth
    once the run is finished; None too for a corpus without pairs.
    """
    pairs = task.corpus
    if not isinstance(pairs, PairCorpus):
        return None
    path, count = aligner_path(pairs, folder), len(pairs.splits["train"])
    if path.is_file():
        return WordAligner.load(path)
    if SECONDS * min(count, ALIGNED_FROM) > max(AT_ONCE, seconds * (AT_END if finished else SHARE)):
        return None
    aligner = learn_aligner(pairs)
    if count < KEPT_FROM:
        return aligner
    aligner.save(path)
    return WordAligner.load(path)  # the file leaves out rare pairs


def _texts(task: Prepared, batch: Batch) -> tuple[tuple[str, list[Piece]], tuple[str, list[Piece]]] | None:
    """Source and target of a pair as text, each with its pieces; None where there is no pair of texts."""
    if batch.src is None or batch.tgt is None or not isinstance(task.corpus, PairCorpus):
        return None
    source, target = _text(task.source_tokenizer, batch.src[0].tolist()), _text(task.tokenizer, batch.tgt[0].tolist())
    return None if source is None or target is None else (source, target)


def _text(tokenizer: Tokenizer, ids: list[int]) -> tuple[str, list[Piece]] | None:
    """The text of ids and its pieces; None if they are cut into others than these ids."""
    text = tokenizer.decode(ids)
    pieces = tokenizer.pieces(text)
    return (text, pieces) if [one.id for one in pieces] == [id for id in ids if id not in tokenizer.special] else None


def _pieces_at(pieces: list[Piece], place: int) -> list[int]:
    return [at for at, piece in enumerate(pieces) if piece.start <= place < piece.end]

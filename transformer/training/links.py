"""Which piece of a pinned source each piece of its target comes from, by the corpus' own rule or by counts."""

from functools import lru_cache
from itertools import product

import numpy as np

from transformer.analysis.alignment import WordAligner, word_links, words
from transformer.held_out import ALIGNED_FROM
from transformer.text.batches import Batch
from transformer.text.corpora import PairCorpus
from transformer.text.corpus_catalogue import find_source
from transformer.text.tokenizer import Piece
from transformer.training.tasks import Prepared

Links = list[list[int]]  # places of a query, and of a key that what it is about to write comes from


def pinned_links(task: Prepared, batch: Batch) -> Links | None:
    """The links of a pinned pair; None where there is no pair, or its tokens are not those of a text."""
    if batch.src is None or batch.tgt is None or not isinstance(task.corpus, PairCorpus):
        return None
    found = (_text(task.source_tokenizer, batch.src[0].tolist()), _text(task.tokenizer, batch.tgt[0].tolist()))
    if None in found:
        return None
    (source, sources), (target, targets) = found
    corpus = find_source(task.config.train.corpus)
    if corpus is not None and corpus.links is not None:
        return sorted([query, key] for at, place in set(corpus.links(source, target)) for query, key in product(
            _pieces_at(targets, at), _pieces_at(sources, place)))
    spans = [[(piece.start, piece.end) for piece in pieces] for pieces in (sources, targets)]
    return np.argwhere(word_links(_aligner(task.corpus), source, target, *spans)).tolist()


def _text(tokenizer, ids: list[int]) -> tuple[str, list[Piece]] | None:
    """The text of ids and its pieces; None if they are cut into others than these ids."""
    text = tokenizer.decode(ids)
    pieces = tokenizer.pieces(text)
    return (text, pieces) if [one.id for one in pieces] == [id for id in ids if id not in tokenizer.special] else None


def _pieces_at(pieces: list[Piece], place: int) -> list[int]:
    return [at for at, piece in enumerate(pieces) if piece.start <= place < piece.end]


@lru_cache(maxsize=1)
def _aligner(corpus: PairCorpus) -> WordAligner:
    """The word alignment of a corpus, learned from its first 40,000 training sentences, in seconds."""
    return WordAligner.learn((words(source), words(references[0]))
                             for source, references in corpus.split("train")[:ALIGNED_FROM])

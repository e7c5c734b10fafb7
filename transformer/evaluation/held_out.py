"""Samples of text that a checkpoint was not trained on, to measure heads with."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from transformer.analysis.alignment import WordAligner, words
from transformer.analysis.sample import Sentence, sentence_of_ids, sentence_with_class, sentence_with_target
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus, corpus, drawn, is_available, passages
from transformer.text.corpus_catalogue import PAIRS, TEXT, Form, corpus_choices

ALIGNED_FROM = 40_000  # sentences; all of eng-fra align little better and take 1 GB of memory
WINDOW = 128  # tokens of running text that are read at once
COUNTED_AT_ONCE = 2_000  # texts


def form_of_model(ckpt: Checkpoint) -> Form | None:
    """The kind of corpus that a model can be measured on; None for an encoder alone, which reads any text."""
    return {"translation": PAIRS, "text": TEXT}.get(ckpt.config.task)


def corpus_of(ckpt: Checkpoint, name: str | None = None) -> TextCorpus | PairCorpus | LabelledCorpus:
    """The corpus of that name, or the one a checkpoint was trained on. Raises ValueError if it does not name one, or
    the corpus is of another kind than the model reads."""
    if not name:
        if ckpt.description.train is None:
            raise ValueError(f"{ckpt.id} does not name its training corpus; name one, or give texts of your own")
        name = ckpt.description.train.corpus
    text, form = corpus(name), form_of_model(ckpt)
    if form is not None and form != text.form:
        raise ValueError(f"{text.name} is not what {ckpt.id} reads: that is {form.what}, {corpus_choices(form)}")
    return text


def held_out_sentences(ckpt: Checkpoint, *, limit: int | None = 200, seed: int | None = 0, split: str | None = None,
             name: str | None = None) -> list[Sentence]:
    """Sentences of a held-out split: pairs and texts with a class from "test", running text from "validation".

    limit: at most that many, drawn with the seed; seed None takes the first, as `evaluate` does. A decoder reads
    running text in windows of 128 tokens, an encoder in paragraphs. Texts longer than max_len and texts without a piece
    are left out. Raises ValueError as `corpus_of` does, without a tokenizer, and if nothing is left.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit}; choose at least 1, or leave it out")
    if not ckpt.reads_text:
        raise ValueError(f"{ckpt.id} has no tokenizer, so it cannot read text")
    source, tokenizer = corpus_of(ckpt, name), ckpt.source_tokenizer
    if isinstance(source, TextCorpus) and ckpt.config.decoder_layers:
        ids, size = tokenizer.encode(source.split(split or source.measured_on)), min(WINDOW, ckpt.config.max_len)
        rows = [ids[at:at + size + 1] for at in range(0, len(ids) - 1, size)]
        rows = [row for row in rows if len(row) > 2]
        return [sentence_of_ids(ckpt, row) for row in drawn(rows, limit, seed)]
    items = passages(source, split)
    out = []
    for text, right in drawn(items, None, seed):  # those left out are made up for by the next
        try:
            out.append(sentence_with_target(ckpt, text, right[0], right) if ckpt.config.decoder_layers
                       else sentence_with_class(ckpt, text, right if isinstance(source, LabelledCorpus) else None))
        except ValueError:
            continue
        if len(out) == limit:
            break
    if not out:
        raise ValueError(f"none of {len(items):,} sentences of {source.name} fits {ckpt.id}")
    return out


def word_aligner(ckpt: Checkpoint, folder: Path, *, name: str | None = None,
                 watch: Callable[[], None] = lambda: None) -> WordAligner:
    """The word alignment of a corpus, learned from its first 40,000 training sentences with their first translations.
    It is stored in a folder, as a file of 2 MB named by the corpus' hash, and read from there next time. watch: as for
    `WordAligner.learn`.

    Raises ValueError as `corpus_of` does, for a corpus without pairs, and if the file is damaged.
    """
    pairs_corpus = corpus_of(ckpt, name)
    if not isinstance(pairs_corpus, PairCorpus):
        raise ValueError(f"{pairs_corpus.name} has no pairs of sentences to align")
    path = aligner_path(pairs_corpus, folder)
    if not path.exists():
        learn_aligner(pairs_corpus, watch=watch).save(path)
    return WordAligner.load(path)  # also just after learning, because the file leaves out rare pairs


def aligner_path(pairs: PairCorpus, folder: Path) -> Path:
    """The file in a folder in which the word alignment of a corpus is stored."""
    return folder / f"word-alignment-{pairs.sha256[:16]}.safetensors"


def learn_aligner(pairs: PairCorpus, *, watch: Callable[[], None] = lambda: None) -> WordAligner:
    """The word alignment of a corpus, learned from its first 40,000 training sentences with their first translations.
    watch: as for `WordAligner.learn`."""
    rows = pairs.split("train")[:ALIGNED_FROM]
    return WordAligner.learn(((words(source), words(references[0])) for source, references in rows), watch=watch)


def piece_counts(ckpt: Checkpoint, *, watch: Callable[[], None] = lambda: None) -> dict[str, Tensor] | None:
    """How often each piece came in a model's training: counts (V,) of "src", what its encoder reads, and of "tgt", its
    decoder, as far as it has them.

    Running text is counted whole, else the first 40,000 training texts, with their first translations and the token
    that is read at their end or start. None if the checkpoint names no corpus, or one that is not here, and if it has
    no tokenizer. watch: called now and then, and may raise to end it.
    """
    config, train = ckpt.config, ckpt.description.train
    if train is None or not is_available(train.corpus) or ckpt.tokenizer is None or ckpt.tokenizer.kind == "ids":
        return None
    trained_on = corpus_of(ckpt)
    if isinstance(trained_on, TextCorpus) and config.task == "text":
        texts = {"tgt": [trained_on.split("train")]}
    else:
        items = passages(trained_on, "train")[:ALIGNED_FROM]
        texts = {"src": [text for text, _ in items]}
        if config.task == "translation":
            texts["tgt"] = [translations[0] for _, translations in items]
    tokenizers = {"src": ckpt.source_tokenizer, "tgt": ckpt.tokenizer}
    sizes = {"src": config.src_vocab_size or config.vocab_size, "tgt": config.vocab_size}
    counts = {side: torch.zeros(sizes[side], dtype=torch.long) for side in texts}
    for side, rows in texts.items():
        for first in range(0, len(rows), COUNTED_AT_ONCE):
            watch()
            ids = chain.from_iterable(tokenizers[side].encode_batch(rows[first:first + COUNTED_AT_ONCE]))
            counts[side] += torch.bincount(torch.tensor(list(ids)), minlength=sizes[side])
        if config.task == "translation":
            counts[side][config.eos_id if side == "src" else config.start_id] += len(rows)
    return counts

"""The data of a run: the corpus as batches, its held-out part, and the pinned texts whose attention is recorded."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from transformer.analysis.roles import repeated
from transformer.analysis.sample import Sentence
from transformer.evaluation.quality import eval_mode
from transformer.measures.matrices import encode_weights
from transformer.model.masks import padding_mask
from transformer.model.models import Transformer
from transformer.settings.config import AUGMENTATION, RunConfig
from transformer.settings.task import LEARNED
from transformer.text import tokenizer as tokenizers
from transformer.text.augmentation import AugmentedPairs
from transformer.text.batches import Batch, LabelledBatches, Pair, PairBatches, WindowBatches
from transformer.text.corpora import HELD_OUT, Corpus, LabelledCorpus, PairCorpus, TextCorpus, corpus
from transformer.text.corpus_catalogue import corpus_choices, find_source, form_of
from transformer.text.lines import lines_of

SHORT_PINNED = 24  # pieces, of texts that are chosen for the user
LONGEST_PINNED = 32  # tokens a side, EOS included
REPEATED, DRAWN_FROM = 12, 200  # random tokens that are pinned twice in a row, and held-out rows that they come from
COUNTED = 40_000  # training rows of which pieces are counted


@dataclass(frozen=True)
class Prepared:
    """A corpus that is ready for training; `config` has the vocabulary size of its trained tokenizer."""

    config: RunConfig
    tokenizer: tokenizers.Tokenizer
    source_tokenizer: tokenizers.Tokenizer
    batches: PairBatches | WindowBatches | LabelledBatches
    held_out: list[Batch]
    pinned: list[Batch]  # one sequence each
    about: dict[str, object]  # corpus, its hash, how much of it is used
    corpus: TextCorpus | PairCorpus | LabelledCorpus = field(repr=False)
    lengths: dict[str, np.ndarray] = field(repr=False)  # pieces of every training source and target, text, or line
    repeated: Batch | None = None  # a row of random tokens, twice, pinned beside the sentences; None: no room for it

    @cached_property
    def piece_counts(self) -> dict[str, Tensor]:
        """How often each piece comes in the training: counts (V,) of "source" and of "target", as far as the model has
        them. Running text is counted whole, else the first 40,000 rows with the token at their end or start."""
        model, batches = self.config.model, self.batches
        sizes = {"source": model.src_vocab_size or model.vocab_size, "target": model.vocab_size}
        if isinstance(batches, WindowBatches):
            return {"target": torch.bincount(torch.from_numpy(batches.ids), minlength=sizes["target"])}
        rows = batches.items[:COUNTED]
        sides = {"source": [row[0] for row in rows]} | ({"target": [row[1] for row in rows]} if isinstance(
            batches, PairBatches) else {})
        counts = {side: torch.bincount(torch.tensor([*chain.from_iterable(ids)]), minlength=sizes[side])
                  for side, ids in sides.items()}
        if isinstance(batches, PairBatches):
            counts["source"][batches.eos_id] += len(rows)
            counts["target"][batches.start_id] += len(rows)
        return counts


def _special_ids(tokenizer: tokenizers.Tokenizer) -> dict[str, int | None]:
    return {name: getattr(tokenizer, name) for name in ("pad_id", "unk_id", "bos_id", "eos_id")}


def _needed(config: RunConfig, name: Literal["pad_id", "eos_id"]) -> int:
    """A special id. Raises ValueError for a tokenizer without it."""
    id = getattr(config.model, name)
    if id is None:
        raise ValueError(f"{config.train.task} needs {name}, which the tokenizer of start_from does not have; leave it "
                         "out")
    return id


def prepare(config: RunConfig, *, tokenizer: tokenizers.Tokenizer | None = None,
            source_tokenizer: tokenizers.Tokenizer | None = None) -> Prepared:
    """Read the corpus, train its tokenizer (or take the given one), and make batches.

    Raises ValueError if the corpus is broken, missing or of another kind than the task learns from, if the model has
    another shape than the task needs, if the given tokenizer cannot be sampled from and that is asked for, or if
    nothing of the corpus fits max_len.
    """
    if tokenizer is not None and config.train.subword_sampling is not None and tokenizer.kind not in ("unigram", "bpe"):
        raise ValueError(f"subword_sampling cuts unigram or bpe pieces, and the tokenizer of start_from is "
                         f"{tokenizer.kind}; leave it out")
    if isinstance(tokenizer, tokenizers.SentencePieceTokenizer):
        config = config.set({"tokenizer": tokenizer.kind, "standardise": tokenizer.standardise})
    task = config.train.task
    needs = LEARNED[task].stacks
    for stack in ("encoder", "decoder"):
        layers = config.model.layers(stack)
        if (layers > 0) != (stack in needs):
            raise ValueError(f"{task} is learned by {' and '.join(needs)}, and this model has {layers} {stack} layers; "
                             f"set {stack}_layers to {'1 or more' if stack in needs else 0}, or choose another task")
    learned, wanted = corpus(config.train.corpus), form_of(task)
    if learned.form != wanted:
        raise ValueError(f"{learned.name} has no {wanted.what}, which {task} learns from; set corpus to "
                         f"{corpus_choices(wanted)}")
    if isinstance(learned, PairCorpus):
        prepared = _translation(config, learned, tokenizer, source_tokenizer)
    elif isinstance(learned, LabelledCorpus):
        prepared = _classification(config, learned, tokenizer)
    else:
        prepared = _language_model(config, learned, tokenizer)
    return replace(prepared, repeated=_repeated(prepared))


def _repeated(prepared: Prepared) -> Batch | None:
    """Random tokens of the held-out texts, twice, on which induction is measured. None where they do not fit."""
    model, special = prepared.config.model, {prepared.config.model.start_id}  # a new line, of running text
    pool = {side: tuple({*chain.from_iterable(islice((row for batch in prepared.held_out if (ids := getattr(
        batch, side)) is not None for row in ids.tolist()), DRAWN_FROM))} - special) for side in ("src", "tgt")}
    sentence = Sentence("", None, pool["src"], pool["tgt"], None)
    for row in repeated(model, [sentence], seed=prepared.config.train.seed, count=REPEATED, rows=1):
        src, tgt = (None if ids is None else torch.tensor([ids]) for ids in (row.src, row.tgt))
        return Batch(src, tgt, torch.zeros(1, dtype=torch.long), 0)
    return None


def _built_in_pinned(config: RunConfig) -> tuple[str, ...]:
    """The pinned texts of a built-in corpus; a user's file has none."""
    source = find_source(config.train.corpus)
    return source.pinned if source else ()


def _about(corpus: Corpus, tokenizer: tokenizers.Tokenizer, *, validation: int, held_out: bool,
           **amounts: object) -> dict[str, object]:
    """What a checkpoint says about its corpus; if nothing is held out, its best weights are chosen by training loss."""
    return {"corpus": corpus.name, "corpus_sha256": corpus.sha256, **amounts, "validation": validation,
            **({} if held_out else {"validation_from": "train"}), "tokenizer_sha256": tokenizer.digest}


def _translation(config: RunConfig, corpus: PairCorpus, tokenizer: tokenizers.Tokenizer | None,
                 source_tokenizer: tokenizers.Tokenizer | None) -> Prepared:
    train = [(source, reference) for source, references in corpus.split("train") for reference in references]
    held_out = [(source, references[0]) for source, references in corpus.splits.get("validation", {}).items()]
    source_size = config.model.src_vocab_size
    shared = source_size is None
    options: dict[str, Any] = {"kind": config.train.tokenizer, "standardise": config.train.standardise,
                               "verbatim": config.train.tokenizer == "char" and not config.train.standardise,
                               "seed": config.train.seed}
    if tokenizer is None:
        targets = [target for _, target in train]
        sources = [source for source, _ in train]
        learn = sources + targets if shared else targets
        tokenizer = tokenizers.train(learn, vocab_size=config.model.vocab_size, **options)
        source_tokenizer = tokenizer if shared else tokenizers.train(
            sources, vocab_size=source_size, **options)
    source_tokenizer = source_tokenizer or tokenizer
    special = _special_ids(tokenizer)
    config = config.set({"vocab_size": tokenizer.vocab_size, **special, "start_id": special["bos_id"],
                         **({} if shared else {"src_vocab_size": source_tokenizer.vocab_size})})

    def encode(pairs: list[tuple[str, str]]) -> list[Pair]:
        return list(zip(source_tokenizer.encode_batch([s for s, _ in pairs]),
                        tokenizer.encode_batch([t for _, t in pairs]), strict=True))

    def fits(row: Pair) -> bool:
        return max(map(len, row)) < config.model.max_len  # EOS needs a place too

    def fitting(rows: list[Pair]) -> list[Pair]:
        return [*filter(fits, rows)]

    def batches(pairs: list[Pair], augmented: AugmentedPairs | None = None) -> PairBatches:
        return PairBatches(pairs, batch_tokens=config.train.batch_tokens, pad_id=_needed(config, "pad_id"),
                           start_id=config.model.start_id, eos_id=_needed(config, "eos_id"), seed=config.train.seed,
                           augmented=augmented)

    rows = encode(train)
    pairs, others = fitting(rows), fitting(encode(held_out))
    lengths = {side: np.array([len(row[at]) for row in rows]) for at, side in enumerate(("source", "target"))}
    if not pairs:
        longer = np.maximum(*lengths.values()) + 1
        raise ValueError(f"none of the {len(rows):,} training pairs fits max_len {config.model.max_len}: the shortest "
                         f"takes {longer.min():,} tokens; set max_len to {int(np.quantile(longer, 0.99)):,}, which "
                         "takes in 99 of 100")
    augmentation = config.train.model_dump(include={*AUGMENTATION})
    augmented = AugmentedPairs([pair for pair, row in zip(train, rows, strict=True) if fits(row)], pairs,
                               source_tokenizer=source_tokenizer, tokenizer=tokenizer, max_len=config.model.max_len,
                               seed=config.train.seed, **augmentation) if any(augmentation.values()) else None
    training = batches(pairs, augmented)
    pinned = encode(_pinned_pairs(config, corpus))
    if config.train.pinned:
        _check_pinned(config, [max(map(len, row)) + 1 for row in pinned])
    elif not (pinned := fitting(pinned)):
        short = [row for row in others or pairs if max(map(len, row)) <= SHORT_PINNED] or others or pairs
        pinned = [(source[:LONGEST_PINNED - 1], target[:LONGEST_PINNED - 1]) for source, target in short[:4]]
    about = _about(corpus, tokenizer, train_pairs=len(pairs), left_out=len(train) - len(pairs),
                   validation=len(others or pairs[:HELD_OUT]), held_out=bool(others))
    return Prepared(config, tokenizer, source_tokenizer, training, batches(others or pairs[:HELD_OUT]).in_order(),
                [training.make([pair]) for pair in pinned], about, corpus, lengths)


def _pinned_pairs(config: RunConfig, corpus: PairCorpus) -> list[tuple[str, str]]:
    """The user's pinned sentences, or those of the corpus, each with the translation that is forced on the model."""
    pairs = []
    built_in = [text for text in _built_in_pinned(config) if "\t" in text or corpus.find(text)]
    for text in config.train.pinned or built_in:
        source, tab, target = text.partition("\t")
        known = corpus.find(source.strip())
        if tab:
            pairs.append((source.strip(), target.strip()))
        elif known is not None:
            pairs.append((source.strip(), known[1][0]))
        else:
            raise ValueError(f"the pinned sentence {source!r} is not in {corpus.name}; give its translation after a "
                             "tab")
    return pairs


def _check_pinned(config: RunConfig, tokens: list[int]) -> None:
    """Raises ValueError for a pinned text whose attention would be too large to record. tokens: of each text."""
    most = min(LONGEST_PINNED, config.model.max_len)
    for text, count in zip(config.train.pinned, tokens, strict=True):
        if not 1 <= count <= most:
            raise ValueError(f"the pinned text {text!r} takes {count} tokens, and from 1 to {most} can be recorded; "
                             f"{'shorten it' if count else 'give one that the tokenizer knows'}")


def _language_model(config: RunConfig, corpus: TextCorpus, tokenizer: tokenizers.Tokenizer | None) -> Prepared:
    text = corpus.split("train")
    if tokenizer is None:
        tokenizer = tokenizers.train(lines_of(text, keep_ends=True), kind=config.train.tokenizer, verbatim=True,
                                     vocab_size=config.model.vocab_size, seed=config.train.seed)
    special = _special_ids(tokenizer)
    newline = tokenizer.encode("\n")[0]
    config = config.set({"vocab_size": tokenizer.vocab_size, **special, "start_id": newline})
    options = {"batch_tokens": config.train.batch_tokens, "max_len": config.model.max_len, "seed": config.train.seed}
    ids, held_out = tokenizer.encode(text), tokenizer.encode(corpus.split("validation"))
    enough = len(held_out) > 1  # to predict one from another
    others = held_out if enough else ids
    pinned = tokenizer.encode_batch(config.train.pinned)
    for begin, row in zip(config.train.pinned, pinned, strict=True):
        if len(row) < 2:
            raise ValueError(f"the pinned text {begin!r} is {len(row)} token, and at least 2 are needed; make it "
                             "longer")
    if not pinned:
        pinned = [row for row in tokenizer.encode_batch(_built_in_pinned(config)) if len(row) > 1] or [others]
    pinned = [torch.tensor([row[:min(LONGEST_PINNED, config.model.max_len) + 1]]) for row in pinned]
    ends = np.flatnonzero(np.asarray([newline, *ids, newline]) == newline)
    lines = np.diff(ends) - 1  # pieces between two newlines
    about = _about(corpus, tokenizer, train_tokens=len(ids), validation=len(others), held_out=enough)
    return Prepared(config, tokenizer, tokenizer, WindowBatches(ids, **options),
                WindowBatches(others, **options).in_order(),
                [Batch(None, row[:, :-1], row[:, 1:], row.shape[1] - 1) for row in pinned], about, corpus,
                {"line": lines[lines > 0]})


def _classification(config: RunConfig, corpus: LabelledCorpus, tokenizer: tokenizers.Tokenizer | None) -> Prepared:
    train = corpus.split("train")
    if tokenizer is None:
        lines = [line for text, _ in train for line in lines_of(text)]
        tokenizer = tokenizers.train(lines, kind=config.train.tokenizer, vocab_size=config.model.vocab_size,
                                     standardise=config.train.standardise, seed=config.train.seed)
    special = _special_ids(tokenizer)
    config = config.set({"vocab_size": tokenizer.vocab_size, **special, "start_id": special["bos_id"],
                         "n_classes": len(corpus.classes)})

    def encode(items: list[tuple[str, str]]) -> list[tuple[list[int], int]]:
        rows = tokenizer.encode_batch([text for text, _ in items])
        return [(ids, corpus.classes.index(label)) for ids, (_, label) in zip(rows, items, strict=True)]

    def read(rows: list[tuple[list[int], int]]) -> list[tuple[list[int], int]]:
        """The part of each text that the model reads; texts without a piece are left out."""
        return [(ids[:config.model.max_len], label) for ids, label in rows if ids]

    def batches(items: list[tuple[list[int], int]], word_dropout: float = 0.0) -> LabelledBatches:
        return LabelledBatches(items, batch_tokens=config.train.batch_tokens, pad_id=_needed(config, "pad_id"),
                               unk_id=config.model.unk_id, seed=config.train.seed, word_dropout=word_dropout)

    rows = encode(train)
    texts, held_out = read(rows), read(encode(corpus.splits.get("validation", [])))
    others = held_out or texts[:HELD_OUT]
    if config.train.pinned:  # a text's class has no part in attention
        pinned = [(tokenizer.encode(text), 0) for text in config.train.pinned]
        _check_pinned(config, [len(ids) for ids, _ in pinned])
    else:
        pinned = [row for row in others if 4 <= len(row[0]) <= SHORT_PINNED][:4] or [
            (ids[:LONGEST_PINNED], label) for ids, label in others[:4]]
    about = _about(corpus, tokenizer, classes=list(corpus.classes), train_texts=len(texts), validation=len(others),
                   held_out=bool(held_out))
    return Prepared(config, tokenizer, tokenizer, batches(texts, config.train.word_dropout), batches(others).in_order(),
                [batches([row]).in_order()[0] for row in pinned], about, corpus,
                {"text": np.array([len(ids) for ids, _ in rows])})


@torch.no_grad()
def pinned_attention(model: Transformer, pinned: list[Batch]) -> Iterator[dict[str, Tensor]]:
    """The attention of each pinned sequence, teacher-forced: kind -> (layers, H, Tq, Tk), uint8 square roots."""
    with eval_mode(model):
        device = next(model.parameters()).device
        for batch in pinned:
            batch = batch.to(device)
            weights, memory, mask = {}, None, None
            if batch.src is not None:
                encoded = model.encode(batch.src, readable=True)
                memory, mask = encoded.x, padding_mask(batch.src, model.config.pad_id)
                weights["encoder"] = encoded.attention
            if batch.tgt is not None:
                decoded = model.decode(batch.tgt, memory, memory_mask=mask, readable=True)
                weights["decoder"] = decoded.attention
                if decoded.cross:
                    weights["cross"] = decoded.cross
            yield {kind: encode_weights(torch.cat([a.weights for a in layers])) for kind, layers in weights.items()}

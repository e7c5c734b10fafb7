"""What a run learns from: the corpus as batches, the held-out part, and the pinned sentences it is watched on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from transformer import tokenizer as tokenizers
from transformer.config import RunConfig
from transformer.data.batches import Batch, LabelledBatches, PairBatches, WindowBatches
from transformer.data.corpora import LabelledCorpus, corpus
from transformer.evaluate import evaluating
from transformer.model.masks import padding_mask
from transformer.model.models import Transformer

PINNED = ["I am cold.", "She is not as tall as her brother.", "Do you know where he lives?",
          "We have to go home before it gets dark."]
LONGEST_PINNED = 24  # pieces
SAMPLES = 4
PINNED_TEXT = "First Citizen:\nBefore we proceed"


@dataclass(frozen=True)
class Task:
    """A corpus made ready; `config` has the vocabulary that its tokenizer turned out to have."""

    config: RunConfig
    tokenizer: tokenizers.Tokenizer
    source_tokenizer: tokenizers.Tokenizer
    batches: PairBatches | WindowBatches | LabelledBatches
    held_out: list[Batch]
    pinned: list[Batch]  # one sequence each
    samples: list[tuple[str, str]]  # held-out texts, and what should be said of them
    about: dict[str, object]  # corpus, its hash, how much of it is used


def _special_ids(tokenizer: tokenizers.Tokenizer) -> dict[str, int | None]:
    return {name: getattr(tokenizer, name) for name in ("pad_id", "unk_id", "bos_id", "eos_id")}


def prepare(config: RunConfig, *, data_dir: Path | None = None, tokenizer: tokenizers.Tokenizer | None = None,
            source_tokenizer: tokenizers.Tokenizer | None = None) -> Task:
    """Read the corpus, train its tokenizer (or take the one given), and cut batches.

    Raises ValueError where the corpus is missing, or nothing of it fits max_len.
    """
    found = corpus(config.train.corpus, data_dir=data_dir)
    make = {"translation": _translation, "language-model": _language_model,
            "classification": _classification}[config.train.task]
    return make(config, found, tokenizer, source_tokenizer)


def _translation(config, found, tokenizer, source_tokenizer) -> Task:
    train = [(source, reference) for source, references in found.split("train") for reference in references]
    held_out = [(source, references[0]) for source, references in found.split("validation")]
    shared = config.model.src_vocab_size is None
    options = {"kind": config.train.tokenizer, "standardise": config.train.standardise, "seed": config.train.seed}
    if tokenizer is None:
        targets = [target for _, target in train]
        sources = [source for source, _ in train]
        learn = sources + targets if shared else targets
        tokenizer = tokenizers.train(learn, vocab_size=config.model.vocab_size, **options)
        source_tokenizer = tokenizer if shared else tokenizers.train(
            sources, vocab_size=config.model.src_vocab_size, **options)
    special = _special_ids(tokenizer)
    config = config.set({"vocab_size": tokenizer.vocab_size, **special, "start_id": special["bos_id"],
                         **({} if shared else {"src_vocab_size": source_tokenizer.vocab_size})})

    def encode(pairs: list[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        rows = zip(source_tokenizer.encode_batch([s for s, _ in pairs]), tokenizer.encode_batch([t for _, t in pairs]),
                   strict=True)
        return [row for row in rows if max(map(len, row)) < config.model.max_len]  # EOS needs a place too

    def batches(pairs: list[tuple[list[int], list[int]]]) -> PairBatches:
        return PairBatches(pairs, batch_tokens=config.train.batch_tokens, pad_id=special["pad_id"],
                           start_id=config.model.start_id, eos_id=special["eos_id"], seed=config.train.seed)

    pairs = encode(train)
    watched = batches(pairs)
    known = [(text, split[1][0]) for text in PINNED if (split := found.find(text))] or held_out[:4]
    about = {"corpus": found.name, "corpus_sha256": found.sha256, "train_pairs": len(pairs),
             "left_out": len(train) - len(pairs), "validation": len(held_out), "tokenizer_sha256": tokenizer.digest}
    return Task(config, tokenizer, source_tokenizer, watched, batches(encode(held_out)).in_order(),
                [watched.make([pair]) for pair in encode(known)], held_out[:SAMPLES], about)


def _language_model(config, found, tokenizer, _) -> Task:
    text = found.split("train")
    if tokenizer is None:
        tokenizer = tokenizers.train(text.splitlines(keepends=True), kind=config.train.tokenizer, verbatim=True,
                                     vocab_size=config.model.vocab_size, seed=config.train.seed)
    special = _special_ids(tokenizer)
    config = config.set({"vocab_size": tokenizer.vocab_size, **special, "start_id": tokenizer.encode("\n")[0]})
    options = {"batch_tokens": config.train.batch_tokens, "max_len": config.model.max_len, "seed": config.train.seed}
    ids, held_out = tokenizer.encode(text), tokenizer.encode(found.split("validation"))
    pinned = torch.tensor([tokenizer.encode(PINNED_TEXT)[:min(32, config.model.max_len) + 1]])
    about = {"corpus": found.name, "corpus_sha256": found.sha256, "train_tokens": len(ids), "validation": len(held_out),
             "tokenizer_sha256": tokenizer.digest}
    return Task(config, tokenizer, tokenizer, WindowBatches(ids, **options),
                WindowBatches(held_out, **options).in_order(),
                [Batch(None, pinned[:, :-1], pinned[:, 1:], pinned.shape[1] - 1)],
                _beginnings(found.split("validation"), config.model.max_len), about)


def _beginnings(text: str, max_len: int) -> list[tuple[str, str]]:
    """Two places of a text, each as some of it and how it goes on."""
    length = min(40, max_len // 2, len(text) // 4)
    return [(text[at:at + length], text[at + length:at + 4 * length]) for at in (0, len(text) // 2)]


def _classification(config, found, tokenizer, _) -> Task:
    if not isinstance(found, LabelledCorpus):
        raise ValueError(f"{found.name} has no classes to learn; set corpus to speakers or the path of a .tsv file")
    train = found.split("train")
    held_out = found.splits.get("validation") or train  # so few that none was held out
    if tokenizer is None:
        lines = [line for text, _ in train for line in text.splitlines()]
        tokenizer = tokenizers.train(lines, kind=config.train.tokenizer, vocab_size=config.model.vocab_size,
                                     standardise=config.train.standardise, seed=config.train.seed)
    special = _special_ids(tokenizer)
    config = config.set({"vocab_size": tokenizer.vocab_size, **special, "start_id": special["bos_id"],
                         "n_classes": len(found.classes)})

    def encode(items: list[tuple[str, str]]) -> list[tuple[list[int], int]]:
        """As much of each text as the model reads; texts without a piece say nothing and are left out."""
        rows = tokenizer.encode_batch([text for text, _ in items])
        return [(ids[:config.model.max_len], found.classes.index(label))
                for ids, (_, label) in zip(rows, items, strict=True) if ids]

    def batches(items: list[tuple[list[int], int]], word_dropout: float = 0.0) -> LabelledBatches:
        return LabelledBatches(items, batch_tokens=config.train.batch_tokens, pad_id=special["pad_id"],
                               unk_id=special["unk_id"], seed=config.train.seed, word_dropout=word_dropout)

    texts, others = encode(train), encode(held_out)
    pinned = [row for row in others if 4 <= len(row[0]) <= LONGEST_PINNED][:4] or others[:4]
    about = {"corpus": found.name, "corpus_sha256": found.sha256, "classes": list(found.classes),
             "train_texts": len(texts), "validation": len(others), "tokenizer_sha256": tokenizer.digest}
    return Task(config, tokenizer, tokenizer, batches(texts, config.train.word_dropout), batches(others).in_order(),
                [batches([row]).in_order()[0] for row in pinned], held_out[:SAMPLES], about)


@torch.no_grad()
def pinned_attention(model: Transformer, pinned: list[Batch]) -> Iterator[dict[str, Tensor]]:
    """Each pinned sequence's weights, kind -> (layers, H, Tq, Tk) as uint8 square roots, teacher-forced."""
    with evaluating(model):
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
            yield {kind: (torch.cat([a.weights for a in layers]).sqrt() * 255).round().byte().cpu()
                   for kind, layers in weights.items()}

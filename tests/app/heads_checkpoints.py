"""Tiny checkpoints among those that are kept, trained on a corpus of one's own, for the tests of the Heads page."""

import random
from functools import cache
from pathlib import Path

import torch

import transformer
from transformer.checkpoints.checkpoint import Checkpoint, save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.text import tokenizer as tokenizers

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 24, "max_len": 60, "tie_embeddings": False, "logits_bias": True}
WORDS = ["a dog", "the cat", "it", "he", "we", "she"]
ENDS = [" is cold", " can go home", " is tall, too", " sees a dog"]
KINDS = {"translator": {"encoder_layers": 1, "decoder_layers": 2}, "writer": {"encoder_layers": 0, "decoder_layers": 2},
         "classifier": {"encoder_layers": 2, "decoder_layers": 0, "pooling": "mean", "n_classes": 2}}


def sentences() -> list[str]:
    return [f"{start}{end}{stop}" for start in WORDS for end in ENDS for stop in (".", "!")]


def corpus_file(folder: Path, kind: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts = sentences()
    random.Random(0).shuffle(texts)
    texts = [f"{text} {number}" for number in range(4) for text in texts]
    path = folder / {"translator": "mine.tsv", "writer": "mine.txt", "classifier": "mine.csv"}[kind]
    path.write_text({
        "translator": "".join(f"{text}\t{text.replace('a', 'o')}\n" for text in texts),
        "writer": "\n".join(texts),
        "classifier": "text,label\n" + "".join(f'"{text}",{text[0]}\n' for text in texts if text[0] in "at")}[kind])
    return path


@cache
def tokenizer_of(letters: str) -> tokenizers.SentencePieceTokenizer:
    """One that knows the letters of the sentences, and more."""
    return tokenizers.train([*sentences(), letters], kind="char", vocab_size=50 + len(letters), verbatim=True)


def make(home: Path, kind: str, *, name: str = "", corpus: bool = True, sharp: float = 1.5, letters: str = "",
         **changes: object) -> Checkpoint:
    """A model of random weights, sharp enough that every head matters, opened from where the page finds it. letters:
    that its tokenizer knows besides those of the sentences."""
    tokenizer = tokenizer_of(f"o 0123456789{letters}")
    settings = {**SIZES, **KINDS[kind], "vocab_size": tokenizer.vocab_size, **changes}
    model = Transformer(ModelConfig(**settings), generator=torch.Generator().manual_seed(29))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(sharp)
    folder = home / "checkpoints" / (name or kind)
    train = None
    if corpus:
        task = {"translator": "translation", "writer": "language-model", "classifier": "classification"}[kind]
        train = TrainConfig(task=task, corpus=str(corpus_file(home / "data", kind)))
    save(folder, model, tokenizer=tokenizer, train=train, meta={"step": 7, **(
        {"classes": ["a", "t"]} if kind == "classifier" else {})})
    return transformer.load(folder)


def make_without_tokenizer(home: Path, *, name: str = "theirs", **changes: object) -> Checkpoint:
    """An imported model of random weights that reads ids."""
    settings = {"d_model": 16, "n_heads": 2, "d_ff": 24, "vocab_size": 30, "max_len": 20, "tie_embeddings": False}
    model = Transformer(ModelConfig(**settings | changes), generator=torch.Generator().manual_seed(1))
    save(home / "imports" / name, model, tokenizer=None, meta={"imported_from": "x"})
    return transformer.load(home / "imports" / name)


WITHOUT_TOKENIZER = {
    "one head": {"encoder_layers": 0, "decoder_layers": 1, "n_heads": 1, "pad_id": None},
    "many heads": {"encoder_layers": 0, "decoder_layers": 12, "n_heads": 12, "d_model": 24},
    "encoder that only reads": {"encoder_layers": 2, "decoder_layers": 0, "head": "none"},
    "masked": {"encoder_layers": 2, "decoder_layers": 0, "head": "masked"},
    "many classes": {"encoder_layers": 2, "decoder_layers": 0, "pooling": "first", "pooler": "tanh", "n_classes": 40}}

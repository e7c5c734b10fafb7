"""A made-up language, corpora of it, the tiny run that learns it, and what a run leaves behind."""

import json
import os
from itertools import product

import torch
from safetensors.torch import load_file

from transformer.jobs import run_files
from transformer.settings.config import ModelConfig, RunConfig, TrainConfig
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus
from transformer.text.corpus_catalogue import find_source
from transformer.training import tasks
from transformer.training.event_file import read_events
from transformer.training.trainer import Trainer

CPU = torch.device("cpu")
WHO = [("I", "je"), ("we", "nous"), ("she", "elle")]
DOES = [("see", "vois"), ("like", "aime"), ("want", "veux")]
WHAT = [("a dog", "un chien"), ("the cat", "le chat"), ("my house", "ma maison"), ("some bread", "du pain"),
        ("you", "toi"), ("the old man", "le vieil homme")]
PAIRS = [(" ".join(english) + ".", [" ".join(french) + "."])
         for english, french in (zip(*words, strict=True) for words in product(WHO, DOES, WHAT))]
TEXT = "".join(f"{english}\n{french[0].capitalize()}\n\n" for english, french in PAIRS)
PAIR_CORPUS = PairCorpus("made up", "0" * 64, "public domain", "nobody", {
    "train": dict(PAIRS[:-4]), "validation": dict(PAIRS[-4:-2]), "test": dict(PAIRS[-2:])})
TEXT_CORPUS = TextCorpus("made up", "1" * 64, "public domain", "nobody", TEXT)
LABELLED = [(source, source.split()[0]) for source, _ in PAIRS]
LABELLED_CORPUS = LabelledCorpus("made up", "2" * 64, "public domain", "nobody", ("I", "we", "she"), {
    "train": LABELLED[::2], "validation": LABELLED[1::2]})

TINY = RunConfig(
    model=ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=2, d_ff=24, vocab_size=60, max_len=16),
    train=TrainConfig(tokenizer="word", steps=14, batch_tokens=80, lr=1e-2, warmup=3, eval_every=6, save_every=5))
WRITES = {"task": "language-model", "corpus": "tiny-shakespeare", "tokenizer": "char", "encoder_layers": 0,
          "label_smoothing": 0.0, "positions": "rotary"}
CLASSIFIES = {"task": "classification", "corpus": "speakers", "decoder_layers": 0, "pooling": "max", "n_classes": 2,
              "tie_embeddings": False, "word_dropout": 0.2, "batch_tokens": 40}

THIRTY_PAIRS = "".join(f"The {thing} is {how}.\tLe {chose} est {comment}.\n" for thing, chose in (
    ("cat", "chat"), ("dog", "chien"), ("wind", "vent"), ("bread", "pain"), ("book", "livre"), ("bed", "lit"))
    for how, comment in (("red", "rouge"), ("big", "grand"), ("old", "vieux"), ("cold", "froid"), ("dry", "sec")))


def use(monkeypatch):
    """Have these corpora read in place of the real ones, and nobody wait for the disk."""
    by_form = {corpus.form: corpus for corpus in (TEXT_CORPUS, PAIR_CORPUS, LABELLED_CORPUS)}

    def corpus(name: str) -> PairCorpus | TextCorpus | LabelledCorpus:
        source = find_source(name)
        return by_form[source.form] if source else LABELLED_CORPUS

    monkeypatch.setattr(tasks, "corpus", corpus)
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def make(folder, **settings):
    return Trainer(folder, TINY.set(settings), device=CPU)


def at(run, step, act):
    """Have `act` done right before the step after `step`."""
    real = run.train_step

    def train_step():
        if run.step == step:
            act()
        return real()

    run.train_step = train_step
    return run


def stop_after(run, step):
    """Have the run stopped as SIGTERM would, once `step` steps are done."""
    return at(run, step - 1, run.stopping.set)


def status(folder):
    return json.loads((folder / "status.json").read_text())


def rows(folder):
    """The metrics, without what depends on the clock."""
    clock = ("time", "seconds", "tokens_per_sec")
    return [{key: value for key, value in row.items() if key not in clock}
            for row in run_files.read(folder / "metrics.jsonl")]


def outcome(folder):
    """All that a run leaves behind but times: weights, optimizer and random state, metrics, attention, events."""
    plain = {k: v for k, v in json.loads((folder / "last" / "state.json").read_text()).items() if k != "seconds"}
    tensors = {str(path.relative_to(folder)): load_file(path) for path in folder.rglob("*.safetensors")}
    return [*rows(folder), *read_events(folder)], plain, tensors


def assert_same(one, other):
    assert one[:2] == other[:2]
    assert one[2].keys() == other[2].keys()
    for name, tensors in one[2].items():
        assert tensors.keys() == other[2][name].keys()
        for key, tensor in tensors.items():
            assert torch.equal(tensor, other[2][name][key]), f"{name} {key}"

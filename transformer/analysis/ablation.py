"""The effect of switching a head off or making it uniform, on one text and on a held-out sample.

Michel et al. 2019, section 3, and Voita et al. 2019, section 5, switch heads off like this. T tokens, H heads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from torch.nn import functional as F

from transformer.analysis.sample import LARGEST, Sentence, batches, pad_sentences
from transformer.basics.formatting import brief, quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.beam_search import translate
from transformer.inference.changed import Changes, Given
from transformer.inference.decoding import Step, steps
from transformer.inference.forward import Batch
from transformer.model.changes import Change, scale, uniform
from transformer.model.masks import padding_mask
from transformer.model.sites import NO_TAPS
from transformer.settings.config import Kind, ModelConfig

SWITCHES = ("off", "uniform")
EXPLAINED = {  # what each number shows and what it does not
    "switch": "A disabled head adds nothing; a uniform one adds the mean of all values it may attend to. The change "
              "is what the rest of the model cannot make up for. A head whose absence changes nothing may still "
              "matter: another can replace it (Michel et al. 2019), and later layers were not trained to work without "
              "it.",
    "loss_change": "How much worse the held-out loss gets, in nats per token, when only that head is switched, with "
                   "the standard error over sentences. A change within two standard errors is not distinguishable "
                   "from zero, and with many heads some exceed that by chance. Effects of single heads do not add up.",
    "bleu_change": "How BLEU of the greedy translations changes when one head is switched, and how many translations "
                   "differ. BLEU moves by whole words, so on a few hundred sentences a change of a point or "
                   "two is noise; the loss is the finer measure.",
}
LOSS_OF_CLASSES = (  # the same of a model whose texts have a class
    "How much worse the held-out loss gets, in nats per text, when only that head is switched, with the standard "
    "error over texts. A change within two standard errors is not distinguishable from zero, and with many heads some "
    "exceed that by chance. Effects of single heads do not add up.")

Watch = Callable[[int, int], None]  # done, of


class Head(NamedTuple):
    """The place of a head in a model."""

    kind: Kind
    layer: int
    head: int


def all_heads(config: ModelConfig) -> list[Head]:
    """Every head of a model: encoder, decoder, cross, each from its first layer on."""
    return [Head(kind, layer, head) for kind in config.kinds for layer in range(config.layers(kind))
            for head in range(config.n_heads)]


def switch_heads(config: ModelConfig, *heads: Head, what: str = "off") -> list[Change]:
    """Changes that turn some heads "off" or "uniform" and leave the others. Raises ValueError for a head that is not
    there, or another word."""
    if what not in SWITCHES:
        raise ValueError(f"heads are switched {what!r}; choose {' or '.join(SWITCHES)}")
    chosen: dict[str, list[int]] = {}
    for kind, layer, head in heads:
        if kind not in config.kinds or not 0 <= layer < config.layers(kind) or not 0 <= head < config.n_heads:
            raise ValueError(f"there is no {kind}, layer {layer}, head {head}; it has {', '.join(config.kinds)} "
                             f"attention, and layers and heads count from 0 (heads to {config.n_heads - 1})")
        chosen.setdefault(f"{kind}.{layer}", []).append(head)
    return [uniform(layer, heads=those) if what == "uniform" else scale(f"{layer}.z", 0, heads=those)
            for layer, those in chosen.items()]


@dataclass(frozen=True)
class PathChange:
    """A text decoded as it is, and changed."""

    before: list[Step]
    after: list[Step]
    differs: int | None  # the first step that predicts another token; None if none does
    probabilities: NDArray  # (steps, 2), of each token of `before` after those ahead of it: as it is, and changed

    def __repr__(self) -> str:
        text = quote(self.before[0].text) if self.before else "no step"
        return f"PathChange of {text}: " + ("all tokens the same" if self.differs is None else
                                            f"the first other token at step {self.differs}")


@torch.no_grad()
def compare_paths(ckpt: Checkpoint, text: str, change: Given, *, max_steps: int = 60,
                  watch: Callable[[], None] = lambda: None, **options: Any) -> PathChange:
    """Decodes a text twice, as it is and changed; options (temperature, seed, ...) go to `decoding.steps`.

    Both read the same up to the first token that differs, so the two distributions can be compared up to that step and
    no further. `probabilities` can be compared everywhere: there both read the tokens of `before`. watch is called at
    every step, and may raise to end it. Raises ValueError as `decoding.start` does.
    """
    changes = Changes.of(ckpt, change)
    before, after = [], []
    for path, under in ((before, None), (after, changes)):
        for step in steps(ckpt, text, max_steps=max_steps, change=under, **options):
            path.append(step)
            watch()
    pairs = zip(before, after, strict=False)
    differs = next((at for at, (one, other) in enumerate(pairs) if one.id != other.id), None)
    if not before:
        return PathChange(before, after, None, np.empty((0, 2)))
    tgt = torch.tensor([before[-1].tokens], device=ckpt.device)
    ids = torch.tensor([step.id for step in before], device=ckpt.device)
    columns = []
    src = before[0].src
    for taps in (NO_TAPS, changes.taps(src, tgt)):
        memory = None if src is None else ckpt.model.encode(src, taps=taps).x
        rows = ckpt.model.decode(tgt, memory, causal=True, taps=taps).x[0, -len(ids):]
        columns.append(ckpt.model.project(rows).softmax(-1).gather(1, ids[:, None])[:, 0])
    return PathChange(before, after, differs, torch.stack(columns, 1).cpu().numpy())


@dataclass(frozen=True)
class Measurement:
    """Results of a model on a sample of n sentences."""

    nats: NDArray  # (n,), -log p of all labels of each sentence
    tokens: NDArray  # (n,), labels of each
    outputs: list[str] | None  # greedy translations
    right: NDArray | None  # (n,), whether the likeliest class is the right one
    bleu: float | None  # of outputs, with the first reference

    __repr__ = brief

    @property
    def loss(self) -> float:
        """Nats per token, or per text of a classifier."""
        return float(self.nats.sum() / self.tokens.sum())


@torch.no_grad()
def measure(ckpt: Checkpoint, sentences: Sequence[Sentence], change: Given = None, *, largest: int = LARGEST,
            watch: Watch = lambda done, of: None) -> Measurement:
    """Measures the held-out loss, the translations and the classes of a sample, under changes. The model itself
    stays as it is.

    watch is called after each batch, and may raise to end it. Raises ValueError for a sentence without labels.
    """
    config, model, changes = ckpt.config, ckpt.model, Changes.of(ckpt, change)
    translates = config.task == "translation"
    changes.check_hits((len(one.src or ()), len(one.tgt or ())) for one in sentences)
    if any(sentence.labels is None for sentence in sentences):
        raise ValueError("some sentences have no label, so there is no loss; give texts whose class the model knows")
    nats, right = np.zeros(len(sentences)), np.zeros(len(sentences), bool)
    done, of = 0, len(sentences) * (1 + translates)
    for chosen in batches(config, sentences, largest=largest):
        those = [sentences[at] for at in chosen]
        batch = pad_sentences(config, those, device=ckpt.device)
        taps = changes.of_batch(Batch(batch.src, batch.tgt, tuple(len(one.src or ()) for one in those),
                                      tuple(len(one.tgt or ()) for one in those)))
        encoded = None if batch.src is None else model.encode(batch.src, taps=taps).x
        assert batch.labels is not None
        if batch.tgt is None:
            assert batch.src is not None and encoded is not None
            scores = model.classify(encoded, batch.src)  # log-probabilities
            each = -scores.gather(1, batch.labels[:, None])[:, 0]
            right[chosen] = (scores.argmax(-1) == batch.labels).cpu().numpy()
        else:
            mask = None if batch.src is None else padding_mask(batch.src, config.pad_id)
            rows = model.decode(batch.tgt, encoded, memory_mask=mask, causal=True, taps=taps).x
            lengths = torch.tensor([sentences[at].tokens for at in chosen], device=ckpt.device)
            counts = torch.arange(batch.tgt.shape[1], device=ckpt.device) < lengths[:, None]  # (B, T)
            few = max(1, LARGEST // config.vocab_size)  # logits at once
            each = torch.cat([F.cross_entropy(model.project(some).float(), labels, reduction="none") for some, labels in
                              zip(rows[counts].split(few), batch.labels[counts].split(few), strict=True)])
            each = torch.zeros(len(chosen), device=ckpt.device).index_add(0, counts.nonzero()[:, 0], each)
        nats[chosen] = each.double().cpu().numpy()
        done += len(chosen)
        watch(done, of)
    outputs = bleu = None
    if translates:
        outputs = translate(ckpt, [sentence.text for sentence in sentences], change=changes,
                            watch=lambda translated: watch(done + translated, of))
        bleu = BLEU().corpus_score(outputs, [[sentence.target or "" for sentence in sentences]]).score
    return Measurement(nats, np.array([sentence.tokens for sentence in sentences]), outputs,
                    None if config.decoder_layers else right, bleu)


def loss_change(nats: NDArray, baseline: NDArray, tokens: NDArray) -> tuple[float, float | None]:
    """The change of the loss in nats per token, and its standard error over sentences; None for a single sentence.

    The loss is a ratio of two sums over sentences, and the error is that of a ratio: the spread of what each sentence
    changes beyond its share (Cochran 1977, section 2.11). Both are measured on the same sentences, so their difficulty
    cancels.
    """
    changes = nats - baseline
    mean = changes.sum() / tokens.sum()
    if len(changes) < 2:
        return float(mean), None
    beyond = changes - mean * tokens
    return float(mean), float(sqrt((beyond ** 2).sum() / (len(changes) - 1) * len(changes)) / tokens.sum())


def effects(ckpt: Checkpoint, sentences: Sequence[Sentence], baseline: Measurement, heads: Sequence[Head], *, what: str,
            watch: Watch = lambda done, of: None) -> Iterator[dict[str, object]]:
    """Switches each head alone, in turn; yields a row of plain values for each as soon as it is measured.

    `loss`, `change` and its standard error `se`, over `n` sentences; a translator's `bleu`, `bleu_change` and the
    number of translations that are `other`; a classifier's `accuracy`, `accuracy_change` and `accuracy_se`, the
    standard error if a head changed as many texts for the better as for the worse (McNemar 1947).
    """
    for head in heads:
        measurement = measure(ckpt, sentences, switch_heads(ckpt.config, head, what=what), watch=watch)
        change, error = loss_change(measurement.nats, baseline.nats, measurement.tokens)
        row = {**head._asdict(), "loss": measurement.loss, "change": change, "se": error, "n": len(sentences),
               "tokens": int(measurement.tokens.sum())}
        if measurement.outputs is not None:
            assert baseline.outputs is not None and measurement.bleu is not None and baseline.bleu is not None
            other = sum(one != two for one, two in zip(measurement.outputs, baseline.outputs, strict=True))
            row |= {"bleu": measurement.bleu, "bleu_change": measurement.bleu - baseline.bleu, "other": other}
        if measurement.right is not None:
            assert baseline.right is not None
            row |= {"accuracy": float(measurement.right.mean()),
                    "accuracy_change": float(measurement.right.mean() - baseline.right.mean()),
                    "accuracy_se": sqrt((measurement.right != baseline.right).sum()) / len(sentences)}
        yield row

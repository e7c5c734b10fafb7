"""Contexts of a head: the texts in which it does a thing most, and some of those in which it does so less.

HeadVis (Luger, Kamath et al. 2026, transformer-circuits.pub/2026/headvis) sorts texts into five equal bands of their
largest weight and shows ten of the highest band and three of each other, so that a head isn't judged by its most
beautiful texts alone. Here any measure can take the place of that weight.

N texts, L layers, H heads, B batch, Tq queries, Tk keys, M measures.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from transformer.analysis.alignment import WordAligner
from transformer.analysis.roles import batch_tokens, read_weights
from transformer.analysis.sample import LARGEST, Sentence, batches, pad_sentences
from transformer.checkpoint import Checkpoint
from transformer.config import Kind
from transformer.formatting import brief
from transformer.measures.catalogue import BY_NAME, measures_of
from transformer.measures.measure import BatchMeasures, Measure
from transformer.measures.tokens import Tokens
from transformer.model.sites import label
from transformer.text.tokenizer import Tokenizer

BANDS, TOP, EACH, KEPT = 5, 10, 3, 8  # bands; contexts of the highest and of each other; keys kept of a row
LEAST = 0.005  # a weight below is left out of a file, as by HeadVis
FINE, TOKENS = 50, 50  # bars of a histogram, tokens of a list
DISTANCES = (0, *(2 ** power for power in range(13)))  # edges of the bars of distances
EXPLAINED = (
    "Every text gets the score of its strongest query, and all texts are sorted by it into five bands of equal size. "
    "Shown are the ten strongest and three of each other band, drawn at random: what a head does in its strongest "
    "texts alone says little if it does the same, or something else, in all others (HeadVis, Luger, Kamath et al. "
    "2026). The first token is left out as a query, and in *Largest weight* as a key, since heads rest there; in "
    "cross-attention nothing is left out. A context shows where weight lies, not what the model does with it.")

Watch = Callable[[int, int], None]  # done, of
Side = TypeVar("Side", bound=Sequence)


def _largest(weights: Tensor, tokens: Tokens) -> Tensor:
    """The largest weight of each row (..., Tq), the first token of the text aside."""
    return weights.amax(-1) if tokens.kind == "cross" else weights[..., 1:].amax(-1) if (
        weights.shape[-1] > 1) else weights.new_zeros(weights.shape[:-1])


PEAK = Measure(  # by which HeadVis sorts; of a single row, so it isn't one of the catalogue's means
    name="peak", title="Largest weight", unit="the largest weight on one token", rows=_largest,
    explained="The largest weight that the query puts on one token, the first of the text aside, as HeadVis sorts by. "
              "It says how sharply a head looks, and nothing about what at.")
TITLES = {name: measure.title for name, measure in (BY_NAME | {PEAK.name: PEAK}).items()}


@dataclass(frozen=True, eq=False)
class HeadScores:
    """The score of every head on every text, by every measure: that of its strongest query, and which one that is."""

    checkpoint: str
    sentences: Sequence[Sentence]
    values: Mapping[str, Mapping[str, Tensor]]  # kind -> measure -> (N, L, H), float32; NaN where no query counts
    queries: Mapping[str, Mapping[str, Tensor]]  # the same, int32; -1 where none counts
    notes: Mapping[str, str]  # measure -> why it could not be taken

    __repr__ = brief

    def of(self, kind: str, measure: str) -> tuple[Tensor, Tensor]:
        """The scores and the queries (N, L, H) of a measure. Raises ValueError where it was not taken."""
        if measure not in self.values.get(kind, {}):
            why = self.notes.get(measure) or f"choose one of {', '.join(self.values.get(kind, ()))}"
            raise ValueError(f"there is no measure {measure!r} of {kind} attention here: {why}")
        return self.values[kind][measure], self.queries[kind][measure]


@dataclass(frozen=True, eq=False)
class Context:
    """A head on one text: the text's score, the query that has it, and where every query looks."""

    score: float
    band: int  # 1 to 5, the highest
    sentence: int  # its number among those that were read
    query: int
    keys: Tensor  # (Tq, k): the keys with most weight of each query, the first first
    weights: Tensor  # (Tq, k)

    __repr__ = brief

    def row(self) -> dict[int, float]:
        """The weights of its query, by key, as far as they were kept and are not 0."""
        return {key: weight for key, weight in zip(self.keys[self.query].tolist(), self.weights[self.query].tolist(),
                                                   strict=True) if weight > 0}


@dataclass(frozen=True, eq=False)
class HeadContexts:
    """A head's contexts, the highest band first and in it the highest score."""

    ckpt: Checkpoint
    scores: HeadScores
    kind: Kind
    layer: int
    head: int
    measure: str
    contexts: Sequence[Context]
    edges: Sequence[tuple[float, float, int] | None]  # of each band, the lowest first: lowest and highest score, and
    #                                                    texts; None if it has none

    __repr__ = brief

    @cached_property
    def label(self) -> str:
        return label(self.kind, self.layer, self.head)

    def sides(self, sentence: int) -> tuple[list[str], list[str]]:
        """The pieces of the queries and of the keys of a text."""
        one = self.scores.sentences[sentence]
        return _sides(self.kind, _pieces(self.ckpt.source_tokenizer, one.src), _pieces(self.ckpt.tokenizer, one.tgt))

    def headvis(self) -> dict[str, object]:
        """The contexts as one head's file of HeadVis, for JSON.

        The fields are those of `heads/L{layer}H{head}.json` as Neuronpedia's pipeline writes it
        (hijohnnylin/neuronpedia at ebb8426, neuronpedia_utils/headvis/compute-head-metrics.py): `sequences`, of which
        each has `sequence_id`, `interval` (1 to 5, the highest), `tokens`, `seq_len`, `max_activation`, and the
        weights `attention_values` at `attention_indices`, query · seq_len + key; then `qk_distance_histogram`,
        `top_query_tokens`, `top_key_tokens`, `histogram` and `statistics`. `headvis` has what theirs lack: the
        checkpoint, the head, the measure, and of each sequence its score and query.

        Cross-attention, which HeadVis has not, is written as one sequence, the source and after it the target, so that
        a query is its place in the target plus the length of the source.
        """
        peaks = self.scores.values[self.kind][PEAK.name][:, self.layer, self.head]
        sequences, details = [], []
        for one in self.contexts:
            queries, keys = self.sides(one.sentence)
            before = len(keys) if self.kind == "cross" else 0
            tokens = [_as_text(piece) for piece in (*keys[:before], *queries)]
            places = sorted(((before + query) * len(tokens) + key, round(weight, 4)) for query, (row, weights) in
                            enumerate(zip(one.keys.tolist(), one.weights.tolist(), strict=True))
                            for key, weight in zip(row, weights, strict=True) if weight >= LEAST)
            sequences.append({
                "sequence_id": one.sentence, "interval": one.band, "tokens": tokens,
                "attention_indices": [place for place, _ in places],
                "attention_values": [weight for _, weight in places], "seq_len": len(tokens),
                "max_activation": _rounded(float(peaks[one.sentence]))})
            details.append({"sequence_id": one.sentence, "score": one.score, "query": before + one.query})
        known = peaks[peaks.isfinite()].double()
        counts, edges = np.histogram(known.clamp(0, 1).numpy(), FINE, (0, 1))
        return {
            "sequences": sequences, "qk_distance_histogram": _distances(sequences),
            "top_query_tokens": _top(sequences, query=True), "top_key_tokens": _top(sequences, query=False),
            "histogram": {"bin_edges": edges.round(4).tolist(), "bin_values": counts.tolist()},
            "statistics": {"n_samples": len(sequences),
                           "mean_max_activation": _rounded(float(known.mean())) if len(known) else None},
            "headvis": {"checkpoint": self.scores.checkpoint, "head": self.label, "kind": self.kind,
                        "layer": self.layer, "head_index": self.head, "measure": self.measure,
                        "n_sequences": len(self.scores.sentences), "bands": self.edges,
                        "sequences": details}}


@torch.no_grad()
def score_heads(ckpt: Checkpoint, sentences: Sequence[Sentence], *, aligner: WordAligner | None = None,
                counts: Mapping[str, Tensor] | None = None, largest: int = LARGEST,
                watch: Watch = lambda done, of: None) -> HeadScores:
    """Scores every head on every text by every measure, `PEAK` included, a batch at a time.

    Induction is measured in the texts themselves, not on random tokens as by `measure_roles`. aligner, counts: as for
    `measure_roles`; a measure that lacks its input is left out, and its reason is in `notes`. watch: called after each
    batch, and may raise to end it. Raises ValueError if there are no texts.
    """
    if not sentences:
        raise ValueError("there are no texts to find contexts in; give at least one")
    config, done, notes = ckpt.config, 0, {}
    shapes = {kind: (len(sentences), config.layers(kind), config.n_heads) for kind in config.kinds}
    values: dict[str, dict[str, Tensor]] = {kind: {} for kind in config.kinds}
    queries: dict[str, dict[str, Tensor]] = {kind: {} for kind in config.kinds}
    for chosen in batches(config, sentences, largest=largest):
        batch = [sentences[place] for place in chosen]
        padded = pad_sentences(config, batch, device=ckpt.device)
        tokens = batch_tokens(ckpt, batch, padded, aligner=aligner, counts=counts)
        for kind, layers in read_weights(ckpt.model, padded.src, padded.tgt):
            taken = BatchMeasures([*measures_of(kind), PEAK], tokens[kind])
            notes |= taken.lacking
            for name in taken.names:
                if name not in values[kind]:
                    values[kind][name] = torch.full(shapes[kind], float("nan"))
                    queries[kind][name] = torch.full(shapes[kind], -1, dtype=torch.int32)
            counted = taken.counts.clone()
            if kind != "cross":
                counted[:, 0] = False  # as by HeadVis
            for layer, weights in enumerate(layers):
                answers = taken.answers(weights).masked_fill(~counted[:, :, None], float("-inf"))
                best, at = answers.float().max(1)  # (B, H, M)
                none = best == float("-inf")
                best, at = best.masked_fill(none, float("nan")).cpu(), at.masked_fill(none, -1).int().cpu()
                for place, name in enumerate(taken.names):
                    values[kind][name][chosen, layer] = best[..., place]
                    queries[kind][name][chosen, layer] = at[..., place]
        done += len(chosen)
        watch(done, len(sentences))
    return HeadScores(ckpt.id, sentences, values, queries, notes)


@torch.no_grad()
def head_contexts(ckpt: Checkpoint, scores: HeadScores, kind: Kind, layer: int, head: int, measure: str = PEAK.name, *,
                  seed: int = 0, watch: Watch = lambda done, of: None) -> HeadContexts:
    """The contexts of a head: the ten texts with the highest score of a measure, and three drawn from each lower band,
    which are read again. Equal scores are in the order of the texts. seed: of the draw.

    Raises ValueError for a head that is not there, and for a measure that was not taken.
    """
    config = ckpt.config
    if kind not in config.kinds or not (0 <= layer < config.layers(kind) and 0 <= head < config.n_heads):
        heads = ", ".join(f"{label(one, 0, 0)} to {label(one, config.layers(one) - 1, config.n_heads - 1)}"
                          for one in config.kinds)
        raise ValueError(f"there is no {kind} head {layer}.{head} in {ckpt.id}; it has {heads}")
    every, queries = (of[:, layer, head] for of in scores.of(kind, measure))
    bands = _bands(every)
    draw, places = random.Random(seed), []  # (band, text)
    for band in range(BANDS, 0, -1):
        texts = bands[band - 1]
        few = texts[:TOP] if band == BANDS else sorted(draw.sample(texts, min(EACH, len(texts))), key=texts.index)
        places += [(band, at) for at in few]
    sparse = dict(_rows(ckpt, scores.sentences, [at for _, at in places], kind, layer, head, watch))
    contexts = [Context(float(every[at]), band, at, int(queries[at]), *sparse[at]) for band, at in places]
    edges = [(float(every[texts[-1]]), float(every[texts[0]]), len(texts)) if texts else None for texts in bands]
    return HeadContexts(ckpt, scores, kind, layer, head, measure, contexts, edges)


def _bands(values: Tensor) -> list[list[int]]:
    """The texts that have a score in five bands of equal size, the lowest first; each with its highest score first."""
    order = [at for at in values.argsort(descending=True, stable=True).tolist() if values[at].isfinite()]
    cuts = [round(band * len(order) / BANDS) for band in range(BANDS + 1)]
    return [order[cuts[band]:cuts[band + 1]] for band in range(BANDS - 1, -1, -1)]


def _rows(ckpt: Checkpoint, sentences: Sequence[Sentence], places: Sequence[int], kind: Kind, layer: int, head: int,
          watch: Watch) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """For each text its number, and the keys and weights (Tq, k) with the most weight of each query."""
    done = 0
    for chosen in batches(ckpt.config, [sentences[at] for at in places]):
        batch = [sentences[places[at]] for at in chosen]
        padded = pad_sentences(ckpt.config, batch, device=ckpt.device)
        weights = next(layers[layer] for one, layers in read_weights(ckpt.model, padded.src, padded.tgt) if one == kind)
        for row, (at, sentence) in enumerate(zip(chosen, batch, strict=True)):
            queries, asked = _sides(kind, sentence.src or (), sentence.tgt or ())
            real = weights[row, head, :len(queries), :len(asked)].float()
            most, keys = real.topk(min(KEPT, len(asked)), dim=-1)
            yield places[at], (keys.cpu(), most.cpu())
        done += len(chosen)
        watch(done, len(places))


def _sides(kind: Kind, src: Side, tgt: Side) -> tuple[Side, Side]:
    """What asks and what is asked."""
    return (src if kind == "encoder" else tgt), (tgt if kind == "decoder" else src)


def _pieces(tokenizer: Tokenizer | None, ids: Sequence[int] | None) -> list[str]:
    return [tokenizer.piece(id) if tokenizer else str(id) for id in ids or ()]


def _as_text(piece: str) -> str:
    """A piece with its spaces as spaces, as HeadVis' frontend joins them."""
    return piece.replace("▁", " ")


def _rounded(value: float) -> float | None:
    return round(value, 4) if np.isfinite(value) else None


def _entries(sequences: Sequence[Mapping]) -> Iterator[tuple[list[str], int, int, float]]:
    """Every weight of some sequences: the tokens, query, key, weight."""
    for one in sequences:
        for place, weight in zip(one["attention_indices"], one["attention_values"], strict=True):
            query, key = divmod(place, one["seq_len"])
            yield one["tokens"], query, key, weight


def _distances(sequences: Sequence[Mapping]) -> dict[str, list]:
    """The weight at each distance between query and key."""
    entries = [(abs(query - key), weight) for _, query, key, weight in _entries(sequences)]
    bars, _ = np.histogram([distance for distance, _ in entries], DISTANCES, weights=[weight for _, weight in entries])
    return {"bin_edges": list(DISTANCES), "bin_values": bars.astype(float).round(4).tolist()}


def _top(sequences: Sequence[Mapping], *, query: bool) -> list[dict[str, object]]:
    """The tokens with the most weight, as queries or as keys."""
    total: dict[str, float] = defaultdict(float)
    for tokens, asks, asked, weight in _entries(sequences):
        total[tokens[asks if query else asked]] += weight
    most = sorted(total.items(), key=lambda pair: -pair[1])[:TOKENS]
    return [{"token": token, "weight": round(weight, 4)} for token, weight in most]

"""Contexts of a head: the queries of held-out text at which it does a thing most, and some at which it does so less.

After HeadVis (Luger, Kamath et al. 2026, transformer-circuits.pub/2026/headvis), which sorts whole texts into five
equal bands of their largest weight and shows ten of the highest band and three of each other, so that a head isn't
judged by its finest examples alone. Here single queries are sorted, by any measure: in a long text nearly every head
has some row that is as strong as any. `headvis_file` has HeadVis' own sample of texts.

N texts, R queries drawn from all texts, L layers, H heads, B batch, Tq queries, Tk keys, M measures.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from transformer.analysis.alignment import WordAligner
from transformer.analysis.roles import batch_tokens, read_weights
from transformer.analysis.sample import LARGEST, Sentence, batches, pad_sentences
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.measures.catalogue import measures_of
from transformer.measures.measure import BatchMeasures, Measure
from transformer.measures.tokens import Tokens
from transformer.model.sites import label
from transformer.settings.config import Kind
from transformer.text.tokenizer import Tokenizer

BANDS, TOP, EACH, KEPT = 5, 10, 3, 8  # bands; contexts of the highest and of each other; keys kept of a row
DRAWN = 1_000  # queries of all texts together, from which the bands are made
ENOUGH = 5  # keys that a query needs: with fewer, most of its weight is where it is whatever the head does
LEAST = 0.005  # a weight below is left out of a file, as by HeadVis
FINE, TOKENS = 50, 50  # bars of a histogram, tokens of a list
DISTANCES = (0, *(2 ** power for power in range(13)))  # edges of the bars of distances
EXPLAINED = (
    f"{DRAWN:,} queries, drawn from all texts, are sorted by the measure into five bands of equal size. Shown are the "
    "ten highest queries of different texts, and three of each lower band, drawn at random: what a head does at its "
    "highest queries says little if it does the same, or something else, everywhere (after HeadVis, Luger, Kamath et "
    "al. 2026). Only queries with five or more tokens to choose from are taken. The first token, where many heads "
    "rest, is left out as a query, and in Largest weight as a key too; not so in cross-attention. Shaded are the eight "
    "tokens with most weight. A context shows where weight lies, not what the model does with it.")

Watch = Callable[[int, int], None]  # done, of
Side = TypeVar("Side", bound=Sequence)


def _largest(weights: Tensor, tokens: Tokens) -> Tensor:
    """The largest weight of each row (..., Tq), but for self-attention to the first token."""
    if tokens.kind == "cross":
        return weights.amax(-1)
    return weights[..., 1:].amax(-1) if weights.shape[-1] > 1 else weights.new_zeros(weights.shape[:-1])


PEAK = Measure(  # not in the catalogue, whose measures say where weight lies or how it is spread over all keys
    name="peak", title="Largest weight", unit="the largest weight on one token", rows=_largest,
    explained="The largest weight that a query puts on one token, the first of the text aside, by which HeadVis sorts. "
              "It says how sharply a head looks, and nothing about what at.")


class Row(NamedTuple):
    """A query of a text."""

    text: int  # its number among those that were read
    query: int


@dataclass(frozen=True, eq=False)
class HeadScores:
    """What every head does on some texts: each measure at each text's strongest query, and at queries drawn from all
    texts. The maps are kind -> measure."""

    checkpoint: str
    sentences: Sequence[Sentence]
    highest: Mapping[Kind, Mapping[str, Tensor]]  # (N, L, H), float32; NaN where no query counts
    queries: Mapping[Kind, Mapping[str, Tensor]]  # (N, L, H), int32, the queries of these; -1 where none counts
    rows: Mapping[Kind, Sequence[Row]]  # R of them
    drawn: Mapping[Kind, Mapping[str, Tensor]]  # (R, L, H), float32; NaN where the query doesn't count
    peaks: Mapping[Kind, Tensor]  # (N, L, H), HeadVis' `max_activation` of each text
    notes: Mapping[str, str]  # measure -> why it could not be taken

    __repr__ = brief

    def check(self, kind: Kind, measure: str) -> None:
        """Raises ValueError for a measure that was not taken."""
        if measure not in self.highest[kind]:
            why = self.notes.get(measure) or f"choose one of {', '.join(self.highest[kind])}"
            raise ValueError(f"there is no measure {measure!r} of {kind} attention here: {why}")


@dataclass(frozen=True, eq=False)
class Context:
    """A query of a text, and where every query of it looks."""

    score: float
    band: int  # 1 to 5, the highest
    row: Row
    keys: Tensor  # (Tq, k): the keys with most weight of each query, the first first
    weights: Tensor  # (Tq, k)

    __repr__ = brief

    @property
    def looks_at(self) -> dict[int, float]:
        """The weights of its query, by key, as far as they were kept and are not 0."""
        at = self.row.query
        return {key: weight for key, weight in zip(self.keys[at].tolist(), self.weights[at].tolist(), strict=True)
                if weight > 0}


@dataclass(frozen=True, eq=False)
class HeadContexts:
    """A head's contexts, the highest band first and in it the highest score."""

    ckpt: Checkpoint
    kind: Kind
    layer: int
    head: int
    measure: str
    sentences: Sequence[Sentence]  # all that were read
    contexts: Sequence[Context]
    edges: Sequence[tuple[float, float] | None]  # the lowest and highest score of each band, the lowest band first;
    #                                              None for one without queries

    __repr__ = brief

    @cached_property
    def label(self) -> str:
        return label(self.kind, self.layer, self.head)

    def sides(self, context: Context) -> tuple[list[str], list[str]]:
        """The pieces of the queries and of the keys of its text."""
        return _pieces(self.ckpt, self.kind, self.sentences[context.row.text])

    def summary(self) -> dict[str, object]:
        """All of it as plain values for JSON."""
        rows = []
        for one in self.contexts:
            queries, keys = self.sides(one)
            rows.append({"band": one.band, "score": one.score, "text": self.sentences[one.row.text].text,
                         "target": self.sentences[one.row.text].target, "query": one.row.query,
                         "token": queries[one.row.query], "looks_at": [
                             {"key": key, "token": keys[key], "weight": weight}
                             for key, weight in one.looks_at.items()]})
        return {"checkpoint": self.ckpt.id, "head": self.label, "measure": self.measure,
                "texts": len(self.sentences), "bands": self.edges, "contexts": rows}


@torch.no_grad()
def score_heads(ckpt: Checkpoint, sentences: Sequence[Sentence], *, aligner: WordAligner | None = None,
                counts: Mapping[str, Tensor] | None = None, seed: int = 0, largest: int = LARGEST,
                watch: Watch = lambda done, of: None) -> HeadScores:
    """Takes every measure, `PEAK` included, of every head at the strongest query of each text, and at a thousand
    queries drawn from all texts; a batch at a time.

    Induction is measured in the texts themselves, not on random tokens as by `measure_roles`. aligner, counts: as for
    `measure_roles`; a measure that lacks its input is left out, with the reason in `notes`. seed: of the draw. watch:
    called after each batch, and may raise to end it. Raises ValueError if there are no texts.
    """
    if not sentences:
        raise ValueError("there are no texts to find contexts in; give at least one")
    config, done, notes = ckpt.config, 0, {}
    shapes: dict[Kind, tuple[int, int]] = {kind: (config.layers(kind), config.n_heads) for kind in config.kinds}
    least = {kind: _enough(kind, sentences) for kind in config.kinds}
    rows: dict[Kind, list[Row]] = {kind: _draw(kind, sentences, least[kind], seed) for kind in config.kinds}
    highest: dict[Kind, dict[str, Tensor]] = {kind: {} for kind in config.kinds}
    queries: dict[Kind, dict[str, Tensor]] = {kind: {} for kind in config.kinds}
    drawn: dict[Kind, dict[str, Tensor]] = {kind: {} for kind in config.kinds}
    peaks: dict[Kind, Tensor] = {
        kind: torch.full((len(sentences), *shape), float("nan")) for kind, shape in shapes.items()}
    for chosen in batches(config, sentences, largest=largest):
        batch = [sentences[place] for place in chosen]
        padded = pad_sentences(config, batch, device=ckpt.device)
        tokens = batch_tokens(ckpt, batch, padded, aligner=aligner, counts=counts)
        places = {text: place for place, text in enumerate(chosen)}
        for kind, layers in read_weights(ckpt.model, padded.src, padded.tgt):
            taken = BatchMeasures([*measures_of(kind), PEAK], tokens[kind])
            notes |= taken.lacking
            for name in taken.names:
                if name not in highest[kind]:
                    highest[kind][name] = torch.full((len(sentences), *shapes[kind]), float("nan"))
                    queries[kind][name] = torch.full((len(sentences), *shapes[kind]), -1, dtype=torch.int32)
                    drawn[kind][name] = torch.full((len(rows[kind]), *shapes[kind]), float("nan"))
            enough = tokens[kind].sizes >= least[kind]
            asked = tokens[kind].sizes > 1
            if kind != "cross":
                enough[:, 0] = asked[:, 0] = False
            counted = taken.counts & enough[..., None]
            here = [(at, places[row.text], row.query) for at, row in enumerate(rows[kind]) if row.text in places]
            into, texts, asks = (list(column) for column in zip(*here, strict=True)) if here else ([], [], [])
            for layer, weights in enumerate(layers):
                answers = taken.answers(weights).float()
                top = taken.names.index(PEAK.name)
                peak = answers[..., top].masked_fill(~asked[..., None], 0.0).amax(1)  # (B, H)
                peaks[kind][chosen, layer] = peak.masked_fill(~asked.any(1)[:, None], float("nan")).cpu()
                best, at = answers.masked_fill(~counted[:, :, None], float("-inf")).max(1)  # (B, H, M)
                none = best == float("-inf")
                best, at = best.masked_fill(none, float("nan")).cpu(), at.masked_fill(none, -1).int().cpu()
                few = answers[texts, asks].masked_fill(~counted[texts, asks][:, None], float("nan")).cpu()  # (r, H, M)
                for place, name in enumerate(taken.names):
                    highest[kind][name][chosen, layer] = best[..., place]
                    queries[kind][name][chosen, layer] = at[..., place]
                    drawn[kind][name][into, layer] = few[..., place]
        done += len(chosen)
        watch(done, len(sentences))
    return HeadScores(ckpt.id, sentences, highest, queries, rows, drawn, peaks, notes)


def _enough(kind: Kind, sentences: Sequence[Sentence]) -> int:
    """The keys that a query needs: two if all texts are too short to have more."""
    longest = max(len(_sides(kind, one.src or (), one.tgt or ())[1]) for one in sentences)
    return ENOUGH if longest >= ENOUGH else 2


def _draw(kind: Kind, sentences: Sequence[Sentence], least: int, seed: int) -> list[Row]:
    """Queries with at least so many keys, drawn from all texts, in the order of the texts."""
    every = []
    for text, one in enumerate(sentences):
        queries, keys = _sides(kind, one.src or (), one.tgt or ())
        first = {"encoder": 1, "decoder": least - 1, "cross": 0}[kind]
        every += [Row(text, query) for query in range(first, len(queries))] if len(keys) >= least else []
    return sorted(random.Random(seed).sample(every, min(DRAWN, len(every))))


@torch.no_grad()
def head_contexts(ckpt: Checkpoint, scores: HeadScores, kind: Kind, layer: int, head: int, measure: str = PEAK.name, *,
                  seed: int = 0, watch: Watch = lambda done, of: None) -> HeadContexts:
    """The contexts of a head by a measure: the highest queries of ten texts, and three queries of each lower band.
    Their texts are read again. Equal scores are in the order of the texts. seed: of the draw.

    Raises ValueError for a head that is not there, and for a measure that was not taken.
    """
    _check_head(ckpt, kind, layer, head)
    scores.check(kind, measure)
    drawn, highest, queries = (of[kind][measure][:, layer, head] for of in (
        scores.drawn, scores.highest, scores.queries))
    bands, draw = _bands(drawn), random.Random(seed)
    edges: list[tuple[float, float] | None] = [
        (float(drawn[of[-1]]), float(drawn[of[0]])) if of else None for of in bands]
    best = [at for at in highest.argsort(descending=True, stable=True).tolist() if highest[at].isfinite()]
    if edges[-1]:
        best = [at for at in best if highest[at] >= edges[-1][0]]
        edges[-1] = edges[-1][0], float(highest[best[0]])
    places = [(BANDS, float(highest[at]), Row(at, int(queries[at]))) for at in best[:TOP]]
    for band in range(BANDS - 1, 0, -1):
        of = bands[band - 1]
        few = sorted(draw.sample(of, min(EACH, len(of))), key=of.index)
        places += [(band, float(drawn[at]), scores.rows[kind][at]) for at in few]
    sparse = _sparse(ckpt, scores.sentences, [row.text for *_, row in places], kind, layer, head, watch)
    return HeadContexts(ckpt, kind, layer, head, measure, scores.sentences, [
        Context(score, band, row, *sparse[row.text]) for band, score, row in places], edges)


@torch.no_grad()
def headvis_file(ckpt: Checkpoint, scores: HeadScores, kind: Kind, layer: int, head: int, *, seed: int = 0,
                 watch: Watch = lambda done, of: None) -> dict[str, object]:
    """A head's file of HeadVis, for JSON: ten whole texts of the highest of five equal bands of their largest weight,
    and three of each other.

    The fields are those of `heads/L{layer}H{head}.json` as Neuronpedia's pipeline writes it (hijohnnylin/neuronpedia at
    ebb8426, neuronpedia_utils/headvis/compute-head-metrics.py): `sequences`, of which each has `sequence_id`,
    `interval` (1 to 5, the highest), `tokens`, `seq_len`, `max_activation`, and the weights `attention_values` at
    `attention_indices`, query · seq_len + key; then `qk_distance_histogram`, `top_query_tokens`, `top_key_tokens`,
    `histogram` and `statistics`. `origin` says whose head it is. Theirs takes the bands from the first texts and shows
    later ones; here both are all texts.

    Cross-attention, which HeadVis has not, is written as one sequence, the source and after it the target, so that a
    query is its place in the target plus the length of the source; as everywhere, its largest weight is that of all
    queries and keys. Raises ValueError for a head that is not there.
    """
    _check_head(ckpt, kind, layer, head)
    peaks = scores.peaks[kind][:, layer, head]
    bands, draw, places = _bands(peaks), random.Random(seed), []
    for band in range(BANDS, 0, -1):
        of = bands[band - 1]
        few = of[:TOP] if band == BANDS else sorted(draw.sample(of, min(EACH, len(of))), key=of.index)
        places += [(band, at) for at in few]
    sparse = _sparse(ckpt, scores.sentences, [at for _, at in places], kind, layer, head, watch)
    sequences = []
    for band, at in places:
        queries, keys = _pieces(ckpt, kind, scores.sentences[at])
        before = keys if kind == "cross" else []
        tokens = [piece.replace("▁", " ") for piece in (*before, *queries)]  # their frontend joins them to a text
        most, weights = sparse[at]
        cells = sorted(((len(before) + query) * len(tokens) + key, round(weight, 4)) for query, row in enumerate(zip(
            most.tolist(), weights.tolist(), strict=True)) for key, weight in zip(*row, strict=True) if weight >= LEAST)
        sequences.append({
            "sequence_id": at, "interval": band, "tokens": tokens, "attention_indices": [cell for cell, _ in cells],
            "attention_values": [weight for _, weight in cells], "seq_len": len(tokens),
            "max_activation": round(float(peaks[at]), 4)})
    known = peaks[peaks.isfinite()].double()
    counts, edges = np.histogram(known.clamp(0, 1).numpy(), FINE, (0, 1))
    return {
        "sequences": sequences, "qk_distance_histogram": _distances(sequences),
        "top_query_tokens": _top(sequences, query=True), "top_key_tokens": _top(sequences, query=False),
        "histogram": {"bin_edges": edges.round(4).tolist(), "bin_values": counts.tolist()},
        "statistics": {"n_samples": len(sequences),
                       "mean_max_activation": round(float(known.mean()), 4) if len(known) else None},
        "origin": {"checkpoint": scores.checkpoint, "head": label(kind, layer, head), "kind": kind,
                   "texts": len(scores.sentences)}}


def _check_head(ckpt: Checkpoint, kind: Kind, layer: int, head: int) -> None:
    config = ckpt.config
    if kind not in config.kinds or not (0 <= layer < config.layers(kind) and 0 <= head < config.n_heads):
        heads = ", ".join(f"{label(one, 0, 0)} to {label(one, config.layers(one) - 1, config.n_heads - 1)}"
                          for one in config.kinds)
        raise ValueError(f"there is no {kind}, layer {layer}, head {head} in {ckpt.id}; it has {heads}")


def _bands(values: Tensor) -> list[list[int]]:
    """The places of all finite values in five bands of equal size, the lowest first; in each the highest first."""
    order = [at for at in values.argsort(descending=True, stable=True).tolist() if values[at].isfinite()]
    cuts = [round(band * len(order) / BANDS) for band in range(BANDS + 1)]
    return [order[cuts[band]:cuts[band + 1]] for band in range(BANDS - 1, -1, -1)]


def _sparse(ckpt: Checkpoint, sentences: Sequence[Sentence], texts: Sequence[int], kind: Kind, layer: int, head: int,
            watch: Watch) -> dict[int, tuple[Tensor, Tensor]]:
    """For each text by number the keys and weights (Tq, k) with the most weight of each query."""
    each, out = sorted({*texts}), {}
    for chosen in batches(ckpt.config, [sentences[at] for at in each]):
        batch = [sentences[each[at]] for at in chosen]
        padded = pad_sentences(ckpt.config, batch, device=ckpt.device)
        weights = next(layers[layer] for one, layers in read_weights(ckpt.model, padded.src, padded.tgt) if one == kind)
        for row, at in enumerate(chosen):
            queries, asked = _sides(kind, batch[row].src or (), batch[row].tgt or ())
            real = weights[row, head, :len(queries), :len(asked)].float()
            most, keys = real.topk(min(KEPT, len(asked)), dim=-1)
            out[each[at]] = keys.cpu(), most.cpu()
        watch(len(out), len(each))
    return out


def _sides(kind: Kind, src: Side, tgt: Side) -> tuple[Side, Side]:
    """What asks and what is asked."""
    return (src if kind == "encoder" else tgt), (tgt if kind == "decoder" else src)


def _pieces(ckpt: Checkpoint, kind: Kind, sentence: Sentence) -> tuple[list[str], list[str]]:
    """The pieces of the queries and of the keys of a text."""
    def named(tokenizer: Tokenizer | None, ids: Sequence[int] | None) -> list[str]:
        return [tokenizer.piece(id) if tokenizer else str(id) for id in ids or ()]

    return _sides(kind, named(ckpt.source_tokenizer, sentence.src), named(ckpt.tokenizer, sentence.tgt))


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

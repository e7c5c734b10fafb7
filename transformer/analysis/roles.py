"""Measures of every head over many sentences, beside the same architecture with random weights.

B batch, H heads, Tq queries, Tk keys. Every measure (`transformer.measures.catalogue`) is a mean over the queries of
all sentences together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer.analysis.alignment import WordAligner, word_links
from transformer.analysis.sample import LARGEST, Padded, Sentence, batches, pad_sentences
from transformer.basics import data_frames
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.measures.catalogue import BY_NAME, measures_of
from transformer.measures.measure import BatchMeasures
from transformer.measures.tokens import Tokens
from transformer.measures.totals import ByKind, Totals
from transformer.model.attention import AttentionOutput
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.masks import is_token as real_tokens
from transformer.model.models import Transformer
from transformer.settings.config import Kind, ModelConfig

SHORT = 12  # tokens a side that are read at a glance
REPEATED, ROWS = 25, 16  # random tokens in a row, twice, and how many such rows

BASELINES = {  # what each shows
    "untrained": "The same measure on the same sentences for the same architecture with random initial weights, of "
                 "one seed. Whatever is as large here comes from the sentences, the mask and the architecture, not "
                 "from learning.",
    "even": "The value for a head that weights every visible token equally. In short sentences most shares are large "
            "anyway; this is the baseline.",
}

Watch = Callable[[int, int], None]  # done, of


@dataclass(frozen=True)
class HeadRoles:
    """Measures of every head. NaN where a measure means nothing for a kind, such as the next token of a decoder."""

    checkpoint: str
    sentences: list[Sentence]
    seed: int  # of the untrained weights and the random tokens
    values: ByKind  # float32
    untrained: ByKind  # the same sentences, read by the same architecture with random weights
    even: dict[str, dict[str, float]]  # kind -> measure -> the value of uniform attention
    best: ByKind  # int64, the place of the sentence that shows the measure best; -1 if none does
    best_short: ByKind  # the same, of those with at most SHORT tokens a side
    queries: dict[str, dict[str, int]]  # kind -> measure -> the queries that it is a mean over
    notes: dict[str, str]  # measure -> why it could not be taken

    def __repr__(self) -> str:
        return f"HeadRoles of {self.checkpoint}: {len(self.sentences)} sentences, {', '.join(self.values)}"

    @property
    def tokens(self) -> int:
        """Tokens read, of sources and targets together."""
        return sum(len(sentence.src or ()) + len(sentence.tgt or ()) for sentence in self.sentences)

    def sentence(self, kind: str, measure: str, layer: int, head: int, *, short: bool = False) -> Sentence | None:
        """The sentence that shows a measure of a head best: where it is largest, of those with five queries or more.
        short: of those with at most `SHORT` tokens a side, if there is one."""
        at = int(self.best_short[kind][measure][layer, head]) if short else -1
        at = at if at >= 0 else int(self.best[kind][measure][layer, head])
        return self.sentences[at] if at >= 0 else None

    def frame(self) -> "data_frames.DataFrame":
        """A tidy pandas table with a row for each head and measure.

        Columns: `kind`, `layer`, `head`, `measure` (its name in `measures.catalogue`) and `unit`, in words; `trained`,
        `untrained` and `even`, the value of the head, of the same head with random weights and of one that looks at all
        it may see alike, NaN where the measure could not be taken; `queries`, how many it is a mean over.
        """
        return data_frames.pandas().DataFrame([
            {"kind": kind, "layer": layer, "head": head, "measure": name, "unit": BY_NAME[name].unit_in(kind),
             "trained": values[layer, head], "untrained": self.untrained[kind][name][layer, head],
             "even": self.even[kind][name], "queries": self.queries[kind][name]}
            for kind, measures in self.values.items() for name, values in measures.items()
            for layer, head in np.ndindex(values.shape)])

    def summary(self) -> dict[str, object]:
        """All of it as plain values for JSON; NaN becomes null."""
        def texts(best: NDArray) -> list[list[str | None]]:
            return [[self.sentences[at].text if at >= 0 else None for at in row] for row in best.tolist()]

        return {"checkpoint": self.checkpoint, "sentences": len(self.sentences), "tokens": self.tokens,
                "seed": self.seed, "notes": self.notes, "roles": {kind: {name: {
                    "trained": value.tolist(), "untrained": self.untrained[kind][name].tolist(),
                    "even": self.even[kind][name], "queries": self.queries[kind][name],
                    "best": texts(self.best[kind][name])} for name, value in values.items()}
                    for kind, values in self.values.items()}}


def measure_roles(ckpt: Checkpoint, sentences: Sequence[Sentence], *, aligner: WordAligner | None = None,
                  counts: Mapping[str, Tensor] | None = None, seed: int = 0, largest: int = LARGEST,
                  watch: Watch = lambda done, of: None) -> HeadRoles:
    """Takes every measure of every head on sentences, a batch at a time, so that memory does not grow with their
    number.

    aligner: for "alignment"; counts: how often each piece of "src" and "tgt" came in training, (V,) each; see
    `held_out.word_aligner` and `piece_counts`. A measure that lacks its input is NaN. watch: called after each batch;
    rows of random tokens count as sentences. Raises ValueError if there are no sentences.
    """
    if not sentences:
        raise ValueError("there are no sentences to measure heads on; give at least one")
    config = ckpt.config
    short = [place for place, one in enumerate(sentences) if max(len(one.src or ()), len(one.tgt or ())) <= SHORT]
    each = ((ckpt.model, Totals(config, short)), (untrained(config, seed=seed).to(ckpt.device), Totals(config)))
    again, done = repeated(config, sentences, seed=seed), 0
    of = len(sentences) + len(again)
    for places in batches(config, sentences, largest=largest):
        batch = [sentences[place] for place in places]
        _measure(ckpt, each, batch, aligner=aligner, counts=counts, repeated=False, which=places)
        done += len(places)
        watch(done, of)
    for places in batches(config, again, largest=largest):
        _measure(ckpt, each, [again[place] for place in places], repeated=True, which=[-1] * len(places))
        done += len(places)
        watch(done, of)
    trained, random = (totals for _, totals in each)
    return HeadRoles(ckpt.id, list(sentences), seed, trained.means(), random.means(), trained.even(), trained.best,
                     trained.best_short, trained.queries(), trained.lacking)


def _measure(ckpt: Checkpoint, each: Sequence[tuple[Transformer, Totals]], sentences: list[Sentence], *,
             repeated: bool, which: Sequence[int], aligner: WordAligner | None = None,
             counts: Mapping[str, Tensor] | None = None) -> None:
    """Adds the measures of one batch to the totals of each model."""
    batch = pad_sentences(ckpt.config, sentences, device=ckpt.device)
    tokens = batch_tokens(ckpt, sentences, batch, aligner=aligner, counts=counts)
    by_kind = {kind: BatchMeasures([measure for measure in measures_of(kind) if measure.repeated == repeated], of)
                 for kind, of in tokens.items()}
    for model, totals in each:
        for kind, layers in read_weights(model, batch.src, batch.tgt):
            totals.add(kind, layers, by_kind[kind], which)


def batch_tokens(ckpt: Checkpoint, sentences: Sequence[Sentence], batch: Padded, *, aligner: WordAligner | None = None,
                 counts: Mapping[str, Tensor] | None = None) -> dict[Kind, Tokens]:
    """What measures are told of the tokens of a batch, by kind of attention. aligner, counts: as for
    `measure_roles`."""
    links = None
    if aligner is not None and ckpt.config.task == "translation":
        links = _links(ckpt, sentences, aligner).to(ckpt.device)
    return {kind: _tokens(ckpt, kind, batch, links=links, counts=counts or {}) for kind in ckpt.config.kinds}


def untrained(config: ModelConfig, *, seed: int = 0) -> Transformer:
    """The same architecture with the random weights that training would start from."""
    return Transformer(config, generator=torch.Generator().manual_seed(seed)).eval().requires_grad_(False)


@torch.no_grad()
def read_weights(model: Transformer, src: Tensor | None, tgt: Tensor | None) -> Iterator[tuple[Kind, list[Tensor]]]:
    """Yields (kind, the weights of each layer, (B, H, Tq, Tk)) of a batch."""
    memory, memory_mask = None, None
    if src is not None:
        encoded = model.encode(src, readable=True)
        memory, memory_mask = encoded.x, padding_mask(src, model.config.pad_id)
        yield "encoder", _weights(encoded.attention)
        del encoded
    if tgt is not None:
        # padding is on the right, where no query attends, and a target may begin with the padding id
        decoded = model.decode(tgt, memory, memory_mask=memory_mask, causal=True, readable=True)
        yield "decoder", _weights(decoded.attention)
        if decoded.cross:
            yield "cross", _weights(decoded.cross)


def _weights(layers: list[AttentionOutput]) -> list[Tensor]:
    return [layer.seen[1] for layer in layers]


def _tokens(ckpt: Checkpoint, kind: Kind, batch: Padded, *, links: Tensor | None,
            counts: Mapping[str, Tensor]) -> Tokens:
    """The queries and keys of a batch, and which keys each query may attend to."""
    config = ckpt.config
    source = None if batch.src is None else real_tokens(batch.src, config.pad_id)  # as the model masks it
    real_queries, real_keys = source if kind == "encoder" else batch.real, batch.real if kind == "decoder" else source
    assert real_queries is not None and real_keys is not None
    allowed = real_queries[:, :, None] & real_keys[:, None]  # (B, Tq, Tk)
    if kind == "decoder":
        allowed = allowed & causal_mask(*allowed.shape[1:], device=allowed.device)[0]
    side, tokenizer = ("tgt", ckpt.tokenizer) if kind == "decoder" else ("src", ckpt.source_tokenizer)
    key_counts = counts[side].to(allowed.device) if side in counts else None
    return Tokens(kind, allowed, query_ids=batch.src if kind == "encoder" else batch.tgt, key_ids=getattr(batch, side),
                  end_id=config.eos_id, tokenizer=tokenizer, links=links, key_counts=key_counts)


def _links(ckpt: Checkpoint, sentences: Sequence[Sentence], aligner: WordAligner) -> Tensor:
    """The source pieces of the word that a query is about to write, bool (B, T, S)."""
    most = max(len(sentence.src or ()) for sentence in sentences)
    rows = []
    for sentence in sentences:
        text, target = sentence.text, sentence.target or ""
        spans = [[piece[2:4] for piece in tokenizer.pieces(side)] for tokenizer, side in (
            (ckpt.source_tokenizer, text), (ckpt.tokenizer, target))]
        links = torch.zeros(len(sentence.tgt or ()), most, dtype=torch.bool)  # the end tokens come from nothing
        links[:-1, :len(spans[0])] = torch.from_numpy(word_links(aligner, text, target, *spans))
        rows.append(links)
    return pad_sequence(rows, batch_first=True)


def repeated(config: ModelConfig, sentences: Sequence[Sentence], *, seed: int, count: int = REPEATED,
             rows: int = ROWS) -> list[Sentence]:
    """Rows of `count` random tokens of the sentences, twice, on which induction is measured. Fewer tokens if the
    sentences have fewer, and no row if these are less than two.

    Prefix matching, Olsson et al. 2022, "Definition of induction heads". The tokens are drawn without replacement, so
    the earlier occurrence is the only one. The target and the source of an encoder-decoder are drawn independently, so
    translating does not help.
    """
    generator = torch.Generator().manual_seed(seed)
    special = {config.pad_id, config.unk_id, config.bos_id, config.eos_id}
    sides: dict[str, list] = {}
    for side, layers, before, after in (
            ("src", config.encoder_layers, (), (config.eos_id,) * bool(config.decoder_layers)),
            ("tgt", config.decoder_layers, (config.start_id,) * bool(config.encoder_layers), ())):
        if not layers:
            sides[side] = [None] * rows
            continue
        pool = sorted({id for sentence in sentences for id in getattr(sentence, side)} - special)
        length = min(count, len(pool), (config.max_len - len(before) - len(after)) // 2)
        if length < 2:
            return []
        tokens = [tuple(pool[at] for at in torch.randperm(len(pool), generator=generator)[:length].tolist())
                 for _ in range(rows)]
        sides[side] = [(*before, *row, *row, *after) for row in tokens]
    return [Sentence("", None, src, tgt, None) for src, tgt in zip(sides["src"], sides["tgt"], strict=True)]

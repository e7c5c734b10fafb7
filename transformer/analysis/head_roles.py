"""What each head does over many sentences, beside the same architecture before it learned anything.

B batch, H heads, Tq queries, Tk keys. Every measure is a mean over queries, all sentences together; a query that has
fewer than two keys to choose from counts nowhere, and padding is neither a query nor a key. A share is the weight on
some keys, and it takes only the queries that may look at one of them. Clark et al. 2019, section 3, and
Voita et al. 2019, section 3, name heads by such shares.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import category

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer.analysis.alignment import WordAligner, word_links
from transformer.analysis.role_measures import Asked, ByKind, Totals
from transformer.analysis.roles import aligned
from transformer.analysis.sample import LARGEST, Padded, Sentence, batches, padded
from transformer.checkpoint import Checkpoint
from transformer.config import ModelConfig
from transformer.model.attention import Attended
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.masks import real as real_tokens
from transformer.model.models import Transformer
from transformer.text.tokenizer import Tokenizer

SHORT = 12  # tokens a side that are read at a glance
REPEATED, ROWS = 25, 16  # random tokens in a row, twice, and how many such rows

Watch = Callable[[int, int], None]  # done, of


@dataclass(frozen=True)
class HeadRoles:
    """What was measured. NaN where a measure means nothing for a kind, such as the next token of a decoder."""

    checkpoint: str
    sentences: list[Sentence]
    seed: int  # of the untrained weights and the random tokens
    values: ByKind  # float32
    untrained: ByKind  # the same sentences, read by the same architecture with random weights
    even: dict[str, dict[str, float]]  # kind -> measure -> what a head gives that looks at all keys alike
    best: ByKind  # int64, the place of the sentence that shows the measure best; -1 where none does
    best_short: ByKind  # the same, of those with at most SHORT tokens a side
    queries: dict[str, dict[str, int]]  # kind -> measure -> the queries that it is a mean over
    notes: dict[str, str]  # measure -> why it could not be taken

    def __repr__(self) -> str:
        return f"HeadRoles of {self.checkpoint}: {len(self.sentences)} sentences, {', '.join(self.values)}"

    @property
    def tokens(self) -> int:
        """Tokens read, those of sources and targets together."""
        return sum(len(sentence.src or ()) + len(sentence.tgt or ()) for sentence in self.sentences)

    def sentence(self, kind: str, measure: str, layer: int, head: int, *, short: bool = False) -> Sentence | None:
        """The sentence that shows a measure of a head best: where it is largest, of those with five queries or more.
        short: of those with at most `SHORT` tokens a side, where there is one."""
        at = int(self.best_short[kind][measure][layer, head]) if short else -1
        at = at if at >= 0 else int(self.best[kind][measure][layer, head])
        return self.sentences[at] if at >= 0 else None

    def summary(self) -> dict[str, object]:
        """All of it as plain values that go to JSON; NaN goes as null."""
        def texts(best: NDArray) -> list[list[str | None]]:
            return [[self.sentences[at].text if at >= 0 else None for at in row] for row in best.tolist()]

        return {"checkpoint": self.checkpoint, "sentences": len(self.sentences), "tokens": self.tokens,
                "seed": self.seed, "notes": self.notes, "roles": {kind: {name: {
                    "trained": value.tolist(), "untrained": self.untrained[kind][name].tolist(),
                    "even": self.even[kind][name], "queries": self.queries[kind][name],
                    "best": texts(self.best[kind][name])} for name, value in found.items()}
                    for kind, found in self.values.items()}}


def measure_roles(ckpt: Checkpoint, sentences: Sequence[Sentence], *, aligner: WordAligner | None = None, seed: int = 0,
                  largest: int = LARGEST, watch: Watch = lambda done, of: None) -> HeadRoles:
    """Measure every head on sentences, a batch at a time, so that memory does not grow with their number.

    `OWN` are the measures of self-attention, `CROSS` those of cross-attention; `transformer.analysis.explained` says
    what each is. aligner: what "alignment" is compared with; without one it is NaN. watch: called after each batch.
    Raises ValueError where there are no sentences.
    """
    if not sentences:
        raise ValueError("there are no sentences to measure heads on; give at least one")
    config, tokenizer = ckpt.config, ckpt.tokenizer
    models = [ckpt.model, untrained(config, seed=seed).to(ckpt.device)]
    short = [at for at, one in enumerate(sentences) if max(len(one.src or ()), len(one.tgt or ())) <= SHORT]
    totals = [Totals(config, short), Totals(config)]
    marks = {side: _punctuation(chosen, size, ckpt.device) for side, chosen, size in (
        ("src", ckpt.source_tokenizer, config.src_vocab_size or config.vocab_size),
        ("tgt", tokenizer, config.vocab_size))}
    done = 0
    for chosen in batches(config, sentences, largest=largest):
        batch = padded(config, [sentences[at] for at in chosen], device=ckpt.device)
        crossed = config.task == "translation" and aligner
        links = _links(ckpt, [sentences[at] for at in chosen], aligner) if crossed else None
        asked = {kind: _ask(config, kind, batch, marks, links) for kind in config.kinds}
        for model, total in zip(models, totals, strict=True):
            for kind, layers in read_weights(model, batch.src, batch.tgt):
                for layer, weights in enumerate(layers):
                    total.add(kind, layer, weights, asked[kind], chosen)
        done += len(chosen)
        watch(done, len(sentences))
    for model, total in zip(models, totals, strict=True):
        _measure_induction(model, sentences, total, seed=seed, largest=largest)
    found, random = (total.means() for total in totals)
    notes = {}
    if not tokenizer:
        notes["punctuation"] = "the checkpoint has no tokenizer, so no token is known to be punctuation"
    if config.task == "translation" and aligner is None:
        notes |= dict.fromkeys(("alignment", "alignment_read"), "no word alignment was given")
    return HeadRoles(ckpt.id, list(sentences), seed, found, random, totals[0].even(), totals[0].best,
                     totals[0].best_short, totals[0].queries(), notes)


def untrained(config: ModelConfig, *, seed: int = 0) -> Transformer:
    """The same architecture with the random weights that training would start from."""
    return Transformer(config, generator=torch.Generator().manual_seed(seed)).eval().requires_grad_(False)


@torch.no_grad()
def read_weights(model: Transformer, src: Tensor | None, tgt: Tensor | None) -> Iterator[tuple[str, list[Tensor]]]:
    """(kind, the weights of each layer, (B, H, Tq, Tk)) of a batch read at once."""
    memory, memory_mask = None, None
    if src is not None:
        encoded = model.encode(src, readable=True)
        memory, memory_mask = encoded.x, padding_mask(src, model.config.pad_id)
        yield "encoder", _weights(encoded.attention)
        del encoded
    if tgt is not None:
        # padding stands on the right, where nobody looks, and a target may begin with the padding id
        decoded = model.decode(tgt, memory, memory_mask=memory_mask, causal=True, readable=True)
        yield "decoder", _weights(decoded.attention)
        if decoded.cross:
            yield "cross", _weights(decoded.cross)


def _weights(layers: list[Attended]) -> list[Tensor]:
    return [layer.weights for layer in layers]


def _ask(config: ModelConfig, kind: str, batch: Padded, marks: dict[str, Tensor],
         links: tuple[Tensor, Tensor] | None) -> Asked:
    """Where the queries of a batch may look, and which keys each measure of a kind asks for."""
    source = None if batch.src is None else real_tokens(batch.src, config.pad_id)  # as the model masks it
    real_queries, real = source if kind == "encoder" else batch.real, batch.real if kind == "decoder" else source
    side = "tgt" if kind == "decoder" else "src"
    keys = getattr(batch, side)
    rows, columns = real_queries.shape[1], real.shape[1]
    allowed = real_queries[:, :, None] & real[:, None]  # (B, Tq, Tk)
    if kind == "decoder":
        allowed = allowed & causal_mask(rows, columns, device=keys.device)[0]
    at, key = torch.arange(rows, device=keys.device)[:, None], torch.arange(columns, device=keys.device)
    found = {"first": (key == 0).expand(rows, columns).expand_as(allowed),
             "end": (keys == (-1 if config.eos_id is None else config.eos_id))[:, None].expand_as(allowed),
             "punctuation": marks[side][keys][:, None].expand_as(allowed)}
    if kind == "cross":
        lengths, sources = real_queries.sum(-1)[:, None, None], real.sum(-1)[:, None, None]
        diagonal = aligned(at, lengths, sources)  # (B, Tq, 1)
        found["diagonal"] = key == diagonal
        if links is not None:
            found |= dict(zip(("alignment", "alignment_read"), (link.to(keys.device) for link in links), strict=True))
        return Asked.places(allowed, found, (key - diagonal).abs())
    own = key == at
    found |= {"itself": own.expand_as(allowed), "previous": (key == at - 1).expand_as(allowed),
              "next": (key == at + 1).expand_as(allowed), "same": (keys[:, None] == keys[:, :, None]) & ~own}
    return Asked.places(allowed, found, (key - at).abs().expand(allowed.shape))


def _punctuation(tokenizer: Tokenizer | None, size: int, device: torch.device) -> Tensor:
    """Whether each piece of a vocabulary is punctuation and nothing else (V,); the mark of a space does not count."""
    if tokenizer is None:
        return torch.zeros(size, dtype=torch.bool, device=device)
    pieces = (tokenizer.piece(id).strip("▁Ġ ") for id in range(size))
    return torch.tensor([bool(piece) and all(category(char).startswith("P") for char in piece) for piece in pieces],
                        device=device)


def _links(ckpt: Checkpoint, sentences: list[Sentence], aligner: WordAligner) -> tuple[Tensor, Tensor]:
    """Which source pieces the word comes from that a query is about to write, and the one that it reads, (B, T, S)."""
    most = max(len(sentence.src) for sentence in sentences)
    rows = []
    for sentence in sentences:
        spans = [[piece[2:4] for piece in tokenizer.pieces(text)] for tokenizer, text in (
            (ckpt.source_tokenizer, sentence.text), (ckpt.tokenizer, sentence.target))]
        links = torch.zeros(len(sentence.tgt), most, dtype=torch.bool)  # the end tokens come from nothing
        links[:-1, :len(spans[0])] = torch.from_numpy(word_links(aligner, sentence.text, sentence.target, *spans))
        rows.append(links)
    written = pad_sequence(rows, batch_first=True)  # query t writes piece t, and has read piece t - 1
    read = torch.zeros_like(written)
    read[:, 1:] = written[:, :-1]
    return written, read


def _measure_induction(model: Transformer, sentences: Sequence[Sentence], total: Totals, *, seed: int,
                       largest: int) -> None:
    """The weight on the token after the earlier occurrence of the query's own, in random tokens that come twice.

    Prefix matching, Olsson et al. 2022, "Definition of induction heads". The tokens are drawn without replacement
    from those of the sentences, so that the earlier occurrence is the only one; an encoder-decoder's target and source
    are drawn independently, so that translating is no help.
    """
    config = model.config
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    special = {config.pad_id, config.unk_id, config.bos_id, config.eos_id}
    rows = {}
    for side, before, after in (("src", [], [config.eos_id] * bool(config.decoder_layers)),
                                ("tgt", [config.start_id] * bool(config.encoder_layers), [])):
        pool = sorted({id for sentence in sentences for id in getattr(sentence, side) or ()} - special)
        count = min(REPEATED, len(pool), (config.max_len - len(before) - len(after)) // 2)
        if count < 2:
            rows[side] = None
            continue
        drawn = [[pool[i] for i in torch.randperm(len(pool), generator=generator)[:count].tolist()]
                 for _ in range(ROWS)]
        rows[side] = torch.tensor([[*before, *row, *row, *after] for row in drawn], device=device), len(before), count
    if (config.encoder_layers and rows["src"] is None) or (config.decoder_layers and rows["tgt"] is None):
        return
    each = max(config.stacks.values()) * config.n_heads * max(
        row[0].shape[1] for row in rows.values() if row) ** 2
    step = max(1, largest // each)
    for first in range(0, ROWS, step):
        src, tgt = (row and row[0][first:first + step] for row in (rows["src"], rows["tgt"]))
        for kind, layers in read_weights(model, src, tgt):
            if kind == "cross":
                continue
            ids, begin, count = rows["src" if kind == "encoder" else "tgt"]
            length, chosen = ids.shape[1], len(layers[0])
            after = torch.zeros(chosen, length, length, dtype=torch.bool, device=device)
            again = torch.arange(begin + count, begin + 2 * count)
            after[:, again, again - count + 1] = True
            allowed = causal_mask(length, length, device=device)[0] if kind == "decoder" else torch.ones_like(after)
            asked = Asked.places(allowed.expand_as(after), {"induction": after})
            for layer, weights in enumerate(layers):
                total.add(kind, layer, weights, asked, [-1] * chosen)

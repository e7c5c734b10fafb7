"""A whole text read in one forward pass, with everything the attention did.

T target length, V vocabulary, H heads, D width of a head, Tq queries, Tk keys.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.basics import data_frames
from transformer.basics.formatting import quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes, Given
from transformer.inference.forward import Batch
from transformer.inference.hooks import altered, hooked
from transformer.inference.prompts import prompt, prompt_pair
from transformer.inference.sampling import choosable
from transformer.inference.validation import check_checkpoint, check_text
from transformer.inference.word_attention import Words, words
from transformer.model.attention import AttentionOutput
from transformer.model.changes import Change
from transformer.model.masks import allowed_keys
from transformer.model.sites import Taps
from transformer.settings.config import KINDS, Kind


@dataclass(frozen=True)
class Reading:
    """One forward pass over a whole text, everything captured on the way.

    >>> reading = transformer.attend(ckpt, "I am cold.", "J'ai froid.")
    >>> reading.kinds
    ('encoder', 'decoder', 'cross')
    >>> reading.attentions["encoder"].shape
    torch.Size([4, 4, 5, 5])
    """

    ckpt: Checkpoint
    text: str  # of a pair both, with a slash between
    logits: Tensor | None  # (T, V), also of a masked language model; (classes,) log-probabilities; None without a head
    attentions: dict[str, Tensor]  # kind -> (layers, H, Tq, Tk)
    scores: dict[str, Tensor]
    changes: Changes  # under which it was read
    ids: dict[str, list[int]]  # "src" and "tgt" -> what was read
    tokens: dict[str, list[str]]  # the same as text to show
    seen: dict[str, list[AttentionOutput]]  # kind -> what the attention of each layer did
    hidden: Tensor | None = None  # (T, d_model), an encoder's final rows, which a classifier pools
    types: list[int] | None = None  # the segment of each source token of a pair, where the model has segments
    altered: bool = False  # hooks changed the attention: its scores and weights are not those of its queries and keys

    def __repr__(self) -> str:
        tokens = " and ".join(f"{len(self.tokens[side])} {side}" for side in ("src", "tgt") if self.tokens[side])
        changed = f", under {self.changes.said(len(self.ids['src']), len(self.ids['tgt']))}" if self.changes else ""
        return f"Reading of {quote(self.text)} by {self.ckpt.id}: {', '.join(self.kinds)}; {tokens} tokens{changed}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in KINDS if kind in self.attentions)

    @property
    def change(self) -> tuple[Change, ...]:
        """What was changed while it was read."""
        return self.changes.items

    @property
    def taps(self) -> Taps:
        """What did it."""
        src, tgt, types = (None if not ids else torch.tensor([ids], device=self.ckpt.device)
                           for ids in (self.ids["src"], self.ids["tgt"], self.types))
        return self.changes.taps(src, tgt, types)

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        """The query and the key tokens of an attention kind, as text to show."""
        return self.tokens["src" if kind == "encoder" else "tgt"], self.tokens["tgt" if kind == "decoder" else "src"]

    @property
    def next_id(self) -> int | None:
        """The token that is likeliest after the last one read; None where the model writes none."""
        if not self.ids["tgt"] or self.logits is None:
            return None
        return int(choosable(self.logits[-1], self.ckpt.config, read=len(self.ids["tgt"])).argmax())

    def predicted(self, kind: str) -> list[str] | None:
        """The token that comes after each query of the decoder: what the query is read to predict, and for the last
        the likeliest. None for the encoder, which predicts nothing."""
        if kind == "encoder" or (id := self.next_id) is None:
            return None
        return [*self.tokens["tgt"][1:], self.ckpt.tokenizer.piece(id)]

    def words(self, *, merge: bool = True, leave_out: Collection[str] | str = ()) -> Words:
        """The same attention between words: weights of pieces added over keys, averaged over queries. leave_out:
        "special" tokens, "sinks" or both; merge=False keeps the pieces apart. Raises ValueError for other names."""
        return words(self, merge=merge, leave_out=leave_out)

    def mask(self, kind: Kind, layer: int | None = None) -> Tensor:
        """(Tq, Tk), True where a query may attend to a key in a layer, or in any."""
        return allowed_keys(self.ckpt.config, kind, *map(range, self.attentions[kind].shape[2:]), layer=layer)

    @property
    def masks(self) -> dict[str, Tensor]:
        """Kind -> (Tq, Tk)."""
        return {kind: self.mask(kind) for kind in self.kinds}

    def projections(self, kind: str) -> tuple[Tensor, Tensor, Tensor] | None:
        """Queries (layers, H, T, D), keys and values (layers, G, T, D) of all layers, as the model computed them; None
        where hooks made other weights of them than they make by themselves."""
        if self.altered:
            return None
        layers = self.seen[kind]
        return (torch.cat([a.queries for a in layers]), torch.cat([a.memory.keys for a in layers]),
                torch.cat([a.memory.values for a in layers]))

    def bias(self, kind: Kind, queries: slice = slice(None), layer: int = 0) -> Tensor | None:
        """What positions add to the scores of some queries in a layer, (H, Tq, Tk); None where they add nothing."""
        bias = self.seen[kind][layer].bias
        return None if bias is None else bias.view(-1, *bias.shape[-2:])[:, queries]

    def attended(self, kind: Kind, layers: slice = slice(None), heads: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Scores and weights of some layers and heads, each (layers, H, Tq, Tk)."""
        return self.scores[kind][layers, heads], self.attentions[kind][layers, heads]

    def frame(self, kind: str, *, layer: int | None = None, head: int | None = None) -> "data_frames.DataFrame":
        """Attention as a tidy pandas table, a row for each head and pair of tokens; columns: `data_frames`."""
        return data_frames.attention(self, kind, layer=layer, head=head)


@torch.no_grad()
def attend(ckpt: Checkpoint, text: str | tuple[str, str], target: str | None = None,
           change: Given = None) -> Reading:
    """Read a text, and of an encoder-decoder a target (teacher-forced), at once; change: as for `start`.

    A pair of texts is read by an encoder as one, framed as its tokenizer does it, with a segment each where it has
    segments (Devlin et al. 2019, section 3). Raises ValueError for what is too long, empty, or has no place in the
    model.

    >>> transformer.attend(ckpt, "I am cold.").axes("encoder")[0]
    ['▁I', '▁am', '▁cold', '.', '</s>']
    """
    check_checkpoint(ckpt)
    types = None
    if isinstance(text, tuple) and target is None:
        (src, types), tgt, shown = prompt_pair(ckpt, text), None, " / ".join(map(str, text))
    else:
        shown = check_text(text)
        src, tgt = prompt(ckpt, shown, target)
    config, model, changes = ckpt.config, ckpt.model, Changes.of(ckpt, change)
    changes.check_hits(Batch.of(src, tgt).lengths)
    layers, memory, logits, taps = {}, None, None, changes.taps(src, tgt, types)
    if src is not None:
        seen = torch.ones(1, 1, 1, src.shape[1], dtype=torch.bool, device=ckpt.device)  # one text has no padding
        encoded = model.encode(src, types=types, mask=seen, taps=taps, readable=True)
        memory, layers["encoder"] = encoded.x, encoded.attention
    if tgt is not None:
        decoded = model.decode(tgt, memory, causal=True, taps=taps, readable=True)
        layers["decoder"] = decoded.attention
        if decoded.cross:
            layers["cross"] = decoded.cross
        logits = model.project(decoded.x[0])
    elif src is not None and memory is not None and config.head != "none":
        logits = model.read(memory, src)[0]
    changes.check_finite(logits)
    ids = {side: [] if row is None else row[0].tolist() for side, row in (("src", src), ("tgt", tgt))}
    labels = {"src": [ckpt.source_tokenizer.piece(id) for id in ids["src"]],
              "tgt": [ckpt.tokenizer.piece(id) for id in ids["tgt"]]}
    read = Reading(ckpt, shown, logits, {kind: torch.cat([a.weights for a in seen]) for kind, seen in layers.items()},
                   {kind: torch.cat([a.scores for a in seen]) for kind, seen in layers.items()}, changes, ids, labels,
                   layers, None if memory is None or config.decoder_layers else memory[0],
                   None if types is None else types[0].tolist())
    return replace(read, altered=True) if hooked(model) and altered(read, layers) else read

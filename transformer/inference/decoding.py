"""From a text to tokens, one step at a time, with all that every step computed at hand.

B batch, S source length, T target length, H heads, D width of a head, V vocabulary.
"""

import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from transformer.basics import data_frames
from transformer.basics.formatting import in_percent, quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.activation_cache import ReadWeights, Rows, apart, keys_values, projection_rows
from transformer.inference.changed import Changes, Given
from transformer.inference.forward import Batch
from transformer.inference.hooks import altered, hooked
from transformer.inference.prompts import prompt
from transformer.inference.recompute import by_layer
from transformer.inference.sampling import GREEDY, Candidate, Sampling, choosable
from transformer.inference.validation import check_checkpoint, check_whole
from transformer.inference.word_attention import Words, words
from transformer.model.changes import Change
from transformer.model.layers import StackOutput
from transformer.model.masks import allowed_keys
from transformer.model.rotary import rotation_state
from transformer.model.sites import NO_TAPS, Taps
from transformer.settings.config import Kind
from transformer.text.tokenizer import Piece

if TYPE_CHECKING:
    from transformer.attention_view.external_weights import Tensors

RECENT_LOGITS = 64
RECENT_TEXTS = 2  # of which every row is kept, where longer texts have other rows


@dataclass(frozen=True, eq=False)
class _Context:
    """What all steps of a text share."""

    ckpt: Checkpoint
    text: str
    source: tuple[Piece, ...]  # of the encoder, or of the prompt
    src: Tensor | None  # (1, S)
    source_projections: Tensor | None  # keys, values and queries of the encoder, (layers, G + G + H, S, D)
    memory: Tensor | None  # keys and values of cross-attention, (layers, G + G, S, D)
    changes: Changes
    recent: Callable[[Rows | tuple[int, ...], int], Tensor]  # logits at a place of rows, or of a text; the newest kept
    again: Callable[[tuple[int, ...]], Rows]  # all rows of a text, those of the newest texts kept
    read: ReadWeights

    @cached_property
    def source_labels(self) -> list[str]:
        tokenizer = self.ckpt.source_tokenizer
        ids = [] if self.src is None else self.src[0].tolist()
        return [tokenizer.piece(id) if tokenizer else str(id) for id in ids]


class _ByKind(Mapping[str, Tensor]):
    """Kind -> tensor, computed when read."""

    def __init__(self, kinds: tuple[Kind, ...], read: Callable[[Kind], Tensor]):
        self.kinds, self.read = kinds, read

    def __getitem__(self, kind: str) -> Tensor:
        if kind not in self.kinds:
            raise KeyError(kind)
        return self.read(kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)


@dataclass(frozen=True, eq=False)
class AnyStep:
    """What a decoder has read, and what it predicts next: a `Step`, or a step of a model that is not ours."""

    index: int
    id: int  # what was predicted (or chosen, or forced); the next step reads it
    likeliest: int  # what greedy decoding would have predicted
    tokens: tuple[int, ...]  # all ids read so far, from the start token or the prompt's first
    parent: Self | None

    if TYPE_CHECKING:  # what each kind of step has by itself
        @property
        def ckpt(self) -> Checkpoint | None: ...
        @property
        def text(self) -> str: ...
        @property
        def source(self) -> tuple[Piece, ...]: ...
        @property
        def src(self) -> Tensor | None: ...
        @property
        def kinds(self) -> tuple[Kind, ...]: ...
        @property
        def attentions(self) -> Mapping[str, Tensor]: ...
        @property
        def limit(self) -> int | None: ...
        @property
        def finished(self) -> bool: ...
        @property
        def logits(self) -> Tensor: ...
        @property
        def allowed(self) -> Tensor: ...
        @property
        def output(self) -> str: ...
        @property
        def whole(self) -> str: ...
        @property
        def seen(self) -> "Step | Tensors": ...  # what its attention is drawn from
        def same_text(self, other: object) -> bool: ...
        def axes(self, kind: str) -> tuple[list[str], list[str]]: ...
        def label(self, id: int) -> str: ...
        def next(self, id: int | None = None, *, sampling: Sampling = GREEDY) -> Self: ...

    def __repr__(self) -> str:
        probability = float(self.logits.softmax(-1)[self.id])  # the model's own, at no temperature
        return f"Step {self.index} of {quote(self.text)}: {quote(self.piece)} {in_percent(probability)}"

    @property
    def piece(self) -> str:
        """`id` as text to show."""
        return self.label(self.id)

    @property
    def next_id(self) -> int:
        """`id`, under the name that a `Reading` has for it too."""
        return self.id

    @property
    def full(self) -> bool:
        """There is no room for another token."""
        return self.limit is not None and len(self.tokens) >= self.limit

    @property
    def ended(self) -> bool:
        """The end of the sentence was predicted, or there is no room for another token."""
        return self.full or self.finished

    def top(self, count: int = 10, sampling: Sampling = GREEDY) -> list[Candidate]:
        """The likeliest next tokens, with their probabilities under `sampling`."""
        probabilities = sampling.probabilities(self.allowed)
        values, ids = probabilities.topk(min(count, len(probabilities)))
        return [Candidate(i, self.label(i), p) for i, p in zip(ids.tolist(), values.tolist(), strict=True)]

    def candidates(self, count: int = 10, sampling: Sampling = GREEDY) -> tuple[list[Candidate], list[int]]:
        """The likeliest next tokens, and the ids of those that `sampling` excludes. A token that is excluded has the
        probability that it would have if no token were."""
        before, after = self.top(count, sampling.unfiltered), sampling.probabilities(self.allowed)
        kept = [one._replace(probability=float(after[one.id]) or one.probability) for one in before]
        return kept, [one.id for one in before if not after[one.id]]

    def probability(self, sampling: Sampling = GREEDY) -> float:
        """The probability of the token chosen, counted as in `candidates`."""
        after = float(sampling.probabilities(self.allowed)[self.id])
        return after or float(sampling.unfiltered.probabilities(self.allowed)[self.id])

    def path(self) -> list[Self]:
        """All steps from the first to this one, each with the id that was read after it."""
        steps, step = [self], self
        while step.parent is not None:
            step = step.parent
            steps.append(step)
        return steps[::-1]

    def predicted(self, kind: str) -> list[str] | None:
        """The token that comes after each query of the decoder, the last of them `piece`: what the query is read to
        predict. None for the encoder, which predicts nothing."""
        return None if kind == "encoder" else [self.label(i) for i in (*self.tokens[1:], self.id)]


@dataclass(frozen=True, eq=False, repr=False)
class Step(AnyStep):
    """The decoder after it has read some tokens, and what it predicts next. It never changes.

    >>> step = transformer.start(ckpt, "I am cold.")
    >>> step.piece, step.finished
    ('▁J', False)
    >>> step.attentions["cross"].shape
    torch.Size([2, 4, 1, 5])
    """

    _context: _Context
    _rows: Rows | None  # None: no other step has them, and they are made again when they are read
    _altered: bool = False  # hooks changed the attention of this step, or of one before it

    def __repr__(self) -> str:
        changed = f", under {self.changes.said(*map(len, self.ids.values()))} so far" if self.changes else ""
        return super().__repr__() + changed

    @property
    def seen(self) -> Self:
        """What its attention is drawn from."""
        return self

    @property
    def ckpt(self) -> Checkpoint:
        return self._context.ckpt

    @property
    def text(self) -> str:
        return self._context.text

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.ckpt.config.kinds

    @property
    def changes(self) -> Changes:
        """What was changed while this path was decoded, with its sources looked up."""
        return self._context.changes

    @property
    def change(self) -> tuple[Change, ...]:
        """What was changed while this path was decoded."""
        return self.changes.items

    @property
    def missed(self) -> list[tuple[Change, str]]:
        """The changes that have acted on nothing so far, each with the reason."""
        read, written = map(len, self.ids.values())
        return self.changes.missed([(read, written)])

    @property
    def taps(self) -> Taps:
        """What changes all that was read so far."""
        return _taps(self._context, self.tokens)

    def same_text(self, other: object) -> bool:
        """`other` is a step of the same start, on this path or another."""
        return isinstance(other, Step) and other._context is self._context

    def follows(self, other: object) -> bool:
        """`other` is this step or an earlier one of its path, and all it computed is a part of what this one did."""
        return (isinstance(other, Step) and self.same_text(other) and self._turned == other._turned
                and self.tokens[: len(other.tokens)] == other.tokens)

    @property
    def _turned(self) -> tuple[int, ...]:
        return rotation_state(self.ckpt.config, len(self.tokens))

    @property
    def ids(self) -> dict[str, list[int]]:
        """What was read so far, "src" by the encoder and "tgt" by the decoder."""
        return {"src": [] if self.src is None else self.src[0].tolist(), "tgt": [*self.tokens]}

    @property
    def source(self) -> tuple[Piece, ...]:
        """The pieces of the text typed, with offsets; the encoder also reads an end token after them."""
        return self._context.source

    @property
    def src(self) -> Tensor | None:
        """What the encoder read (1, S), its end token included; None without an encoder."""
        return self._context.src

    @property
    def limit(self) -> int:
        """The most tokens that the model reads."""
        return self.ckpt.config.max_len

    @property
    def finished(self) -> bool:
        """The end of the sentence was predicted."""
        return self.ckpt.config.ends(self.id)

    def next(self, id: int | None = None, *, sampling: Sampling = GREEDY) -> "Step":
        """The step after this one: `next_step`."""
        return next_step(self.ckpt, self, id, sampling=sampling)

    @property
    def logits(self) -> Tensor:
        """(V,), before sampling; those of older steps are computed again from their last row."""
        return self._context.recent(self._rows or self.tokens, len(self.tokens) - 1)

    @property
    def allowed(self) -> Tensor:
        """The logits (V,), -inf where the model's configuration keeps a token from being chosen; see `choosable`."""
        return choosable(self.logits, self.ckpt.config, read=len(self.tokens))

    @property
    def output(self) -> str:
        """The text written so far, `id` included."""
        ids = [*self.tokens, self.id][len(self.tokens) - self.index:]
        tokenizer = self.ckpt.tokenizer
        return tokenizer.decode(ids) if tokenizer else " ".join(map(str, ids))

    @property
    def whole(self) -> str:
        """The text typed and what was written after it, as one text; where ids are shown, with a space between."""
        if not self.ckpt.tokenizer:
            return f"{self.text} {self.output}"
        typed, written = [piece.id for piece in self.source], [*self.tokens, self.id][len(self.tokens) - self.index:]
        before, both = (self.ckpt.tokenizer.decode(ids) for ids in (typed, [*typed, *written]))
        return self.text + (both[len(before):] if both.startswith(before) else self.output)

    def label(self, id: int) -> str:
        return self.ckpt.tokenizer.piece(id) if self.ckpt.tokenizer else str(id)

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        """The query and the key tokens of an attention kind, as text to show."""
        read = [*self._labels]
        if self.src is None:
            return read, read
        source = [*self._context.source_labels]
        return {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}[kind]

    @cached_property
    def _labels(self) -> list[str]:
        return [self.label(i) for i in self.tokens]

    def words(self, *, merge: bool = True, leave_out: Collection[str] | str = ()) -> Words:
        """The same attention between words: weights of pieces added over keys, averaged over queries. leave_out:
        "special" tokens, "sinks" or both; merge=False keeps the pieces apart. Raises ValueError for other names."""
        return words(self, merge=merge, leave_out=leave_out)

    def mask(self, kind: Kind, layer: int | None = None) -> Tensor:
        """(Tq, Tk), True where a query may attend to a key in a layer, or in any; without padding, only "decoder" and
        windows block anything."""
        read, source = range(len(self.tokens)), range(0 if self.src is None else self.src.shape[1])
        queries, keys = {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}[kind]
        return allowed_keys(self.ckpt.config, kind, queries, keys, layer=layer)

    @property
    def masks(self) -> Mapping[str, Tensor]:
        """Kind -> (Tq, Tk)."""
        return _ByKind(self.ckpt.config.kinds, self.mask)

    @property
    def attentions(self) -> Mapping[str, Tensor]:
        """Kind -> weights (layers, H, Tq, Tk), all queries so far; rows sum to 1. Those of the steps of one path share
        their rows, so clone them before you change them."""
        return _ByKind(self.ckpt.config.kinds, self._weights)

    @property
    def scores(self) -> Mapping[str, Tensor]:
        """Kind -> scores (layers, H, Tq, Tk), scaled and masked: what the softmax saw."""
        return _ByKind(self.ckpt.config.kinds, lambda kind: self.attended(kind)[0])

    def row(self, kind: Kind) -> Tensor:
        """Weights (layers, H, Tk) of the newest query alone, the token read last: what this step added to those before.
        Raises ValueError for the encoder, which reads all its tokens at once."""
        if kind not in self.kinds or kind == "encoder":
            each = " or ".join(one for one in self.kinds if one != "encoder")
            raise ValueError(f"no step adds a row of {kind!r} attention; choose {each}, or read all rows with "
                             "step.attentions")
        return self.attended(kind, queries=slice(len(self.tokens) - 1, None))[1][:, :, 0]

    def _weights(self, kind: Kind) -> Tensor:
        queries, keys, _ = self.projections(kind)
        tokens = tuple(self.ids["src"]) if kind == "encoder" else self.tokens
        turned = () if kind == "encoder" else self._turned
        return self._context.read.of(kind, turned, tokens, keys.shape[2], queries, lambda some: (
            weights for _, weights in by_layer(self, kind, queries=some)))

    def projections(self, kind: str) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (layers, H, T, D), keys and values (layers, G, T, D) of all layers, as the model computed them.
        Raises ValueError where hooks made other weights of them than they make by themselves."""
        if self._altered:
            raise ValueError("hooks on the model's attention changed its weights while this path was decoded, and a "
                             "step makes weights again without hooks; read the text with transformer.attend while the "
                             "hooks are there, which keeps what they did")
        context, config = self._context, self.ckpt.config
        if kind == "encoder":
            rows = context.source_projections
            assert rows is not None
        else:
            rows = (self._rows or context.again(self.tokens)).projections[..., : len(self.tokens), :]
        keys, values, queries, *crossing = apart(rows, config.groups, config.n_heads)
        if kind == "cross":
            assert context.memory is not None
            queries, (keys, values) = crossing[0], context.memory.chunk(2, dim=1)
        return queries, keys, values

    def bias(self, kind: Kind, queries: slice = slice(None), layer: int = 0) -> Tensor | None:
        """What positions add to the scores of some queries in a layer, (H, Tq, Tk); None where they add nothing."""
        q, k = (part[layer] for part in self.projections(kind)[:2])
        model, places, keys = self.ckpt.model, range(q.shape[-2])[queries], range(k.shape[-2])
        bias = model.bias(kind, places, keys)
        return model.distance_bias(kind, layer, q[:, queries], k, places, keys) if bias is None else bias

    def attended(self, kind: Kind, layers: slice = slice(None), heads: slice = slice(None),
                 queries: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Scores and weights of some layers, heads and queries, each (layers, H, Tq, Tk)."""
        scores, weights = zip(*by_layer(self, kind, layers, heads, queries), strict=True)
        return torch.stack(scores), torch.stack(weights)

    def frame(self, kind: str, *, layer: int | None = None, head: int | None = None) -> "data_frames.DataFrame":
        """Attention as a tidy pandas table, a row for each head and pair of tokens; columns: `data_frames`."""
        return data_frames.attention(self, kind, layer=layer, head=head)


@torch.no_grad()
def start(ckpt: Checkpoint, text: str, *, sampling: Sampling = GREEDY, change: Given = None) -> Step:
    """Step 0: the start token, or the whole prompt, has been read. Raises ValueError for a text too long or empty.

    change: one or several `transformer.Change`, or their JSON; all steps that follow are decoded under them.

    >>> transformer.start(ckpt, "I am cold.").attentions["encoder"].shape
    torch.Size([4, 4, 5, 5])
    """
    check_checkpoint(ckpt)
    config, model = ckpt.config, ckpt.model
    if not config.decoder_layers:
        raise ValueError(f"{ckpt.id} is an encoder and writes no tokens; choose a checkpoint that translates or writes")
    _check_sampling(sampling)
    src, tgt = prompt(ckpt, text)
    assert tgt is not None
    changes, watched = Changes.of(ckpt, change), hooked(model)
    changes.check_hits(Batch.of(src, tgt).lengths, ahead=True)
    taps = changes.taps(src, tgt)
    source_projections, memory, encoded = None, None, None
    if src is not None:
        seen = torch.ones(1, 1, 1, src.shape[1], dtype=torch.bool, device=ckpt.device)  # one text has no padding
        encoded = model.encode(src, mask=seen, taps=taps, readable=watched)
        source_projections = projection_rows(encoded.attention, [], src.shape[1])
        memory = torch.stack([torch.cat(layer, dim=1)[0] for layer in model.project_memory(encoded.x, taps=taps)])
    again = lru_cache(RECENT_TEXTS)(lambda tokens: _whole(ckpt, tokens, src, memory, changes)[0])
    recent = lru_cache(RECENT_LOGITS)(partial(_logits, ckpt, again))
    context = _Context(ckpt, text, tuple(ckpt.source_tokenizer.pieces(text)), src, source_projections, memory, changes,
                       recent, again, ReadWeights())
    tokens = tuple(tgt[0].tolist())
    rows, decoded = _whole(ckpt, tokens, src, memory, changes, readable=watched)
    step = Step(0, -1, -1, tokens, None, context, rows)
    if watched:
        step = replace(step, _altered=altered(step, {
            "encoder": encoded.attention if encoded else [], "decoder": decoded.attention, "cross": decoded.cross}))
    return _decided(step, sampling)


@torch.no_grad()
def _whole(ckpt: Checkpoint, tokens: tuple[int, ...], src: Tensor | None, memory: Tensor | None, changes: Changes, *,
           readable: bool = False) -> tuple[Rows, StackOutput]:
    """All rows of a text, read at once."""
    tgt = torch.tensor([tokens], device=ckpt.device)
    decoded = ckpt.model.decode(tgt, None if memory is None else keys_values(memory, ckpt.config.groups), causal=True,
                                taps=changes.taps(src, tgt), readable=readable)
    return Rows(decoded.x[0], projection_rows(decoded.attention, decoded.cross, len(tokens))), decoded


@torch.no_grad()
def _logits(ckpt: Checkpoint, again: Callable[[tuple[int, ...]], Rows], rows: Rows | tuple[int, ...],
            place: int) -> Tensor:
    return ckpt.model.project((again(rows) if isinstance(rows, tuple) else rows).hidden[place])


@torch.no_grad()
def next_step(ckpt: Checkpoint, step: Step, id: int | None = None, *, sampling: Sampling = GREEDY) -> Step:
    """The step after `step`, which reads `id`, or what `step` predicted. `step` stays as it was.

    ckpt: the checkpoint of `step`, or another copy of it: it is the model of `step` that goes on. Raises ValueError for
    another checkpoint, where there is no room for another token, and for an id that is not in the vocabulary.

    >>> step = transformer.start(ckpt, "I am cold.")
    >>> transformer.next_step(ckpt, step, step.top(2)[1].id).index
    1
    """
    check_checkpoint(ckpt)
    if not isinstance(step, Step):
        raise ValueError(f"the step is of type {type(step).__name__}; give one that start or next_step made")
    if step.ckpt.id != ckpt.id:
        raise ValueError(f"the step was made with {step.ckpt.id}, not with {ckpt.id}; start again with this checkpoint")
    ckpt = step.ckpt
    if step.full:
        raise ValueError(f"{len(step.tokens):,} tokens are read and this model reads at most {ckpt.config.max_len:,}")
    _check_sampling(sampling)
    id = step.id if id is None else _token(ckpt, id)
    context, config, tokens, watched = step._context, ckpt.config, (*step.tokens, id), hooked(ckpt.model)
    length, decoded, kept = len(step.tokens), None, True
    if rotation_state(config, length + 1) == step._turned:
        assert step._rows is not None
        memory = None if context.memory is None else keys_values(context.memory, config.groups)
        decoded = ckpt.model.decode(torch.tensor([[id]], device=ckpt.device), memory, taps=_taps(context, tokens),
                                    past=keys_values(step._rows.projections[..., :length, :], config.groups),
                                    readable=watched)
        rows = step._rows.append(length, decoded.x[0], projection_rows(decoded.attention, decoded.cross, 1))
    else:
        if watched:
            rows, decoded = _whole(ckpt, tokens, context.src, context.memory, context.changes, readable=True)
        else:
            rows = context.again(tokens)
        kept = watched or rotation_state(config, length + 2) == rotation_state(config, length + 1)
    parent = step if step.id == id else replace(step, id=id)
    new = Step(step.index + 1, -1, -1, tokens, parent, context, rows if kept else None, step._altered)
    if watched and decoded is not None and not new._altered:
        new = replace(new, _altered=altered(new, {"decoder": decoded.attention, "cross": decoded.cross}))
    return _decided(new, sampling)


def _taps(context: _Context, tokens: tuple[int, ...]) -> Taps:
    """What changes these tokens."""
    if not context.changes:
        return NO_TAPS
    return context.changes.taps(context.src, torch.tensor([tokens], device=context.ckpt.device))


def _decided(step: Step, sampling: Sampling) -> Step:
    logits = step.allowed
    step.changes.check_finite(logits)
    return replace(step, id=sampling.choose(logits, step.index), likeliest=int(logits.argmax()))


def _check_sampling(sampling: object) -> None:
    if not isinstance(sampling, Sampling):
        raise ValueError(f"sampling is of type {type(sampling).__name__}; give transformer.Sampling(temperature=...)")


def _token(ckpt: Checkpoint, id: Any) -> int:
    try:
        found = operator.index(id)
    except TypeError:
        raise ValueError(f"the token is of type {type(id).__name__}; give its id, a whole number") from None
    if not 0 <= found < ckpt.config.vocab_size:
        raise ValueError(f"token {found} is not in the vocabulary of {ckpt.config.vocab_size:,}")
    return found


def steps(ckpt: Checkpoint, text: str, *, max_steps: int = 200, sampling: Sampling | None = None,
          forced: Mapping[int, int] | None = None, change: Given = None, **settings: Any) -> Iterator[Step]:
    """Decodes step by step until the end token, a full context or max_steps.

    settings: the fields of `Sampling`, in place of `sampling`. forced: step index
    -> the id that this step has to predict. change: as for `start`. The last step yielded predicted the end.

    >>> *_, last = transformer.steps(ckpt, "I am cold.")
    >>> last.output, last.finished
    ("J'ai froid.", True)
    """
    check_checkpoint(ckpt)
    check_whole("max_steps", max_steps, 0)
    if sampling is not None and settings:
        raise ValueError(f"both sampling and {', '.join(settings)} are given; give one or the other")
    sampling = Sampling(**settings) if sampling is None else sampling
    if not isinstance(forced, Mapping | None):
        raise ValueError(f"forced is of type {type(forced).__name__}; give {{step index: id}}")
    for place in forced or ():
        check_whole("a step of forced", place, 0, max(0, max_steps - 1))
    forced = {place: _token(ckpt, id) for place, id in (forced or {}).items()}
    step = start(ckpt, text, sampling=sampling, change=change)
    for place in range(max_steps):
        if place in forced:
            step = replace(step, id=forced[place])
        yield step
        if step.ended or place + 1 == max_steps:
            return
        step = next_step(ckpt, step, sampling=sampling)

"""Activation patching: which part of a model carries what distinguishes two texts.

The model reads the *other* text, and one activation is replaced by the one that it has in the *clean* text. How much of
the clean result comes back says what that place carries: 0 nothing, 1 all of it. Meng et al. 2022, "causal tracing";
Zhang and Nanda 2024, section 2.

L layers, T positions, H heads, V vocabulary (or classes).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from transformer.analysis.token_inputs import TokenInputs
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.run import Run, run_ids
from transformer.model.cache import KeysValues
from transformer.model.changes import Change, freeze, replace
from transformer.model.sites import NO_TAP, Place, Tap, Taps, find_place, label
from transformer.settings.config import Kind, ModelConfig

PARTS = {"resid_pre": "residual stream", "attn_out": "attention", "mlp_out": "feed-forward"}
METRICS = {
    "difference": "the difference of two logits", "probability": "the probability of a token",
    "kl": "the divergence from the clean distribution, in nats"}
TOKENS_AT_ONCE = 2_048  # of all texts that are run together
EXPLAINED = (
    "The model reads the other text, and one vector, at one layer and one position, is replaced by the one that it "
    "has in the clean text. The number says how much of the clean result comes back: 0 nothing, 1 all of it, below 0 "
    "that it is further away than before. A place that brings it back carries what distinguishes the two texts; one "
    "that does not may still be used, where another carries the same (Meng et al. 2022; Zhang and Nanda 2024).")
ATTRIBUTION = (
    "Attribution patching is the first-order estimate of the same map: the change of an activation times the gradient "
    "of the result there, in one pass forward and one back instead of one for each cell (Nanda 2023; Kramár et al. "
    "2024). It is exact where the result is linear in the activation, and far off where a softmax or a norm saturates.")
PATHS = (
    "Path patching changes one connection and nothing else: the heads on the left are as in the first text and all "
    "others as in the second; what reaches the heads on the right then is put into a last pass (Wang et al. 2023).")
Watch = Callable[[int, int], None]  # done, of


@dataclass(frozen=True)
class Metric:
    """A number that a prediction is judged by: of "difference", "probability" or "kl"; token and against are ids, or
    classes."""

    name: Literal["difference", "probability", "kl"] = "difference"
    token: int = 0
    against: int | None = None

    def of(self, logits: Tensor, clean: Tensor) -> Tensor:
        """Of logits (..., V) -> (...); clean (V,) are those of the clean text."""
        if self.name == "probability":
            return logits.softmax(-1)[..., self.token]
        if self.name == "kl":
            own = clean.log_softmax(-1)
            return (own.exp() * (own - logits.log_softmax(-1))).sum(-1)
        return logits[..., self.token] - (0.0 if self.against is None else logits[..., self.against])


@dataclass(frozen=True, eq=False)
class TextPair:
    """Two texts of the same number of tokens, read with everything that patching needs."""

    clean: Run
    other: Run
    metric: Metric
    position: int | None  # of the prediction: of the decoder, or of a masked language model; None for classes
    from_to: tuple[float, float]  # the metric of the other text and of the clean one

    __repr__ = brief

    @property
    def ckpt(self) -> Checkpoint:
        return self.clean.ckpt

    def logits(self, of: Run) -> Tensor:
        """The logits (V,) of the prediction."""
        return _prediction(of, self.position)

    def recovered(self, measured: Tensor) -> Tensor:
        """The share of the way from the other text's metric to the clean one's."""
        start, end = self.from_to
        return (measured - start) / (end - start)

    def tokens(self, stack: Kind) -> tuple[list[str], list[str]]:
        """What a stack read of the clean text and of the other."""
        side = "src" if stack == "encoder" else "tgt"
        return self.clean.tokens(side), self.other.tokens(side)


def _prediction(read: Run, position: int | None) -> Tensor:
    """The logits (V,) of the prediction at a position, or of a text's class."""
    assert read.logits is not None, "a model that predicts something was asked for"
    return read.logits if position is None else read.logits[position]


def read_pair(clean: TokenInputs, other: TokenInputs, *, metric: str = "difference", token: int | None = None,
              against: int | None = None, position: int = -1) -> TextPair:
    """Reads two texts that differ in a word or two, and of an encoder-decoder the same target after both
    (`inputs_of_text`).

    token: the one that the clean text leads to; None: the likeliest there, and likewise against for the other text.
    Raises ValueError for texts of another number of tokens, a metric that both have alike, and a model that predicts
    nothing.
    """
    ckpt, config = clean.ckpt, clean.ckpt.config
    if config.head == "none":
        raise ValueError(f"{ckpt.id} predicts nothing, so there is no result to bring back; choose a model that "
                         "writes, translates or classifies")
    if metric not in METRICS:
        raise ValueError(f"there is no metric {metric!r}; choose {', '.join(METRICS)}")
    capture = [f"{stack}.*.{part}" for stack in config.stacks for part in PARTS
               if part != "mlp_out" or config.d_ff]
    capture += [f"{kind}.*.{site}" for kind in config.kinds for site in ("z", "attn_out")]
    capture += [f"{stack}.final" for stack in config.stacks]
    one, two = (_read(inputs, capture) for inputs in (clean, other))
    for side, name in (("src", "texts"), ("tgt", "texts" if config.task == "text" else "targets")):
        counts = [len(read.tokens(side)) for read in (one, two)]
        if counts[0] != counts[1]:
            raise ValueError(f"the {name} have {counts[0]} and {counts[1]} tokens; patching puts a token's vector in "
                             "the place of another's, so give two of the same number")
    length = len(one.tokens("src" if not config.decoder_layers else "tgt"))
    at = None if config.n_classes else range(length)[position] if -length <= position < length else position
    if at is not None and not 0 <= at < length:
        raise ValueError(f"position is {position}; choose from 0 to {length - 1}")
    logits = [_prediction(read, at) for read in (one, two)]
    likeliest = [int(found.argmax()) for found in logits]
    chosen = likeliest[0] if token is None else token
    if against is None and metric == "difference":
        against = likeliest[1] if likeliest[1] != chosen else int(logits[1].topk(2).indices[1])
    for id in (chosen, against):
        if id is not None and not 0 <= id < len(logits[0]):
            raise ValueError(f"token {id} is not one of {len(logits[0]):,}")
    measure = Metric(metric, chosen, against)  # type: ignore[arg-type]
    end, start = (float(measure.of(found, logits[0])) for found in logits)
    if abs(end - start) < 1e-6:
        raise ValueError("both texts lead to the same result, so there is nothing to bring back; change a word that "
                         "matters to the prediction, or choose another token")
    return TextPair(one, two, measure, at, (start, end))


def _read(inputs: TokenInputs, capture: Sequence[str]) -> Run:
    """A run over ids; its text is what they say."""
    ckpt = inputs.ckpt
    source, target = (inputs.src, inputs.tgt) if inputs.src is not None else (inputs.tgt, None)
    texts = [None if ids is None or tokenizer is None else tokenizer.decode(
        [id for id in ids[0].tolist() if id not in (ckpt.config.start_id, ckpt.end_id)] if inputs.src is not None else
        ids[0].tolist()) for ids, tokenizer in ((source, ckpt.source_tokenizer), (target, ckpt.tokenizer))]
    return run_ids(ckpt, [(inputs.src, inputs.tgt, None)], texts=[texts[0] or ""], targets=[texts[1]], capture=capture,
                   change=inputs.changes)


class OneEach(Tap):
    """Puts something else into each text of a batch: into one position, or into one head."""

    def __init__(self, site: str, index: tuple[Tensor, ...], values: Tensor):
        self.site, self.index, self.values = site, index, values

    def __call__(self, site: str, x: Tensor, scores: Tensor | None = None) -> Tensor:
        if site != self.site:
            return x
        x = x.clone()
        x[self.index] = self.values
        return x


class AtLayer(Taps):
    """Taps with one tap at one layer."""

    def __init__(self, kind: Kind, layer: int, tap: Tap):
        self.place, self.tap = (kind, layer), tap

    def of(self, kind: Kind | None, layer: int | None = None) -> Tap:
        return self.tap if (kind, layer) == self.place else NO_TAP


@torch.no_grad()
def patch_positions(pair: TextPair, kind: Kind, part: str = "resid_pre", *,
                    watch: Watch = lambda done, of: None) -> Tensor:
    """How much each position of each layer brings back, exactly -> (L, T): one pass for each cell, those of a layer
    together, from that layer on.

    kind: "encoder" or "decoder", or "cross" for what cross-attention adds ("attn_out"). watch may raise to end it.
    Raises ValueError for a part that there is not.
    """
    _check_part(pair.ckpt, kind, part)
    layers = pair.ckpt.config.layers(kind)
    length = len(pair.tokens("encoder" if kind == "encoder" else "decoder")[0])
    out, once = torch.zeros(layers, length), max(1, TOKENS_AT_ONCE // _cost(pair))
    for layer in range(layers):
        clean = pair.clean[f"{kind}.{layer}.{part}"]
        for begin in range(0, length, once):
            at = torch.arange(begin, min(begin + once, length), device=clean.device)
            tap = OneEach(part, (torch.arange(len(at), device=clean.device), at), clean[at])
            out[layer, at.cpu()] = pair.recovered(_measured(pair, kind, layer, tap, len(at))).cpu()
            watch(layer * length + begin + len(at), layers * length)
    return out


@torch.no_grad()
def patch_heads(pair: TextPair, kind: Kind, *, watch: Watch = lambda done, of: None) -> Tensor:
    """How much each head's output z, at all positions, brings back, exactly -> (L, H). watch may raise to end it."""
    config = pair.ckpt.config
    out, once = torch.zeros(config.layers(kind), config.n_heads), max(1, TOKENS_AT_ONCE // _cost(pair))
    for layer in range(config.layers(kind)):
        clean = pair.clean[f"{kind}.{layer}.z"]
        for begin in range(0, config.n_heads, once):
            at = torch.arange(begin, min(begin + once, config.n_heads), device=clean.device)
            tap = OneEach("z", (torch.arange(len(at), device=clean.device), at), clean[at])
            out[layer, at.cpu()] = pair.recovered(_measured(pair, kind, layer, tap, len(at))).cpu()
            watch(layer * config.n_heads + begin + len(at), out.numel())
    return out


def _cost(pair: TextPair) -> int:
    """Tokens that one patched text is."""
    return sum(len(pair.clean.tokens(side)) for side in ("src", "tgt"))


def _check_part(ckpt: Checkpoint, kind: Kind, part: str) -> None:
    if part not in PARTS:
        raise ValueError(f"there is no part {part!r}; choose {', '.join(PARTS)}")
    find_place(ckpt.config, f"{kind}.0.{part}")


def _measured(pair: TextPair, kind: Kind, layer: int, tap: Tap, count: int) -> Tensor:
    """The metric (count,) of so many copies of the other text with a tap at a layer: nothing below it is computed
    again."""
    model, other = pair.ckpt.model, pair.other
    taps = AtLayer(kind, layer, tap)
    stack: Kind = "encoder" if kind == "encoder" else "decoder"
    x = other[f"{stack}.{layer}.resid_pre"].expand(count, -1, -1)
    places = range(x.shape[1])
    if stack == "encoder":
        memory = model.encoder(x, first=layer, placed=model.placed("encoder", places), kind="encoder", taps=taps).x
        src, tgt = other.batch.src, other.batch.tgt
        assert src is not None
        if tgt is None:
            logits = model.read(memory, src.expand(count, -1))
            return pair.metric.of(logits if pair.position is None else logits[:, pair.position],
                                  pair.logits(pair.clean))
        rows = model.decode(tgt.expand(count, -1), memory, causal=True).x
    else:
        memory = None
        if other.batch.src is not None:
            memory = [KeysValues(*(part.expand(count, -1, -1, -1) for part in kept))
                      for kept in model.project_memory(other["encoder.final"][None])]
        rows = model.decoder(x, memory, first=layer, causal=True, placed=model.placed("decoder", places), taps=taps).x
    return pair.metric.of(model.project(rows[:, pair.position]), pair.logits(pair.clean))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Attribution patching: first-order estimates of the exact maps."""

    positions: dict[tuple[Kind, str], Tensor]  # (kind, part) -> (L, T)
    heads: dict[Kind, Tensor]  # kind -> (L, H)

    __repr__ = brief


def estimate(pair: TextPair) -> Estimates:
    """All maps at once by attribution patching: one pass forward and one back. Nanda 2023, "attribution patching"."""
    clean_logits = pair.logits(pair.clean)
    slopes = pair.other.grad(lambda read: pair.metric.of(pair.logits(read), clean_logits))
    start, end = pair.from_to
    positions: dict[tuple[Kind, str], Tensor] = {}
    heads: dict[Kind, Tensor] = {}
    for kind in pair.ckpt.config.kinds:
        layers = range(pair.ckpt.config.layers(kind))
        for part in PARTS:
            names = [f"{kind}.{layer}.{part}" for layer in layers]
            if names[0] in slopes:
                positions[kind, part] = torch.stack([_shift(pair, slopes, name).sum(-1) for name in names]) / (
                    end - start)
        heads[kind] = torch.stack([_shift(pair, slopes, f"{kind}.{layer}.z").sum((-1, -2)) for layer in layers]) / (
            end - start)
    return Estimates({key: value.cpu() for key, value in positions.items()},
                     {kind: value.cpu() for kind, value in heads.items()})


def _shift(pair: TextPair, slopes: Run, name: str) -> Tensor:
    return (pair.clean[name] - pair.other[name]) * slopes[name]


@dataclass(frozen=True)
class EstimateError:
    """How far estimates are from the exact map."""

    largest: float  # the largest difference of a cell, in shares of the way
    mean: float  # of all cells, without signs
    correlation: float  # Pearson's; NaN where one of them is flat

    @classmethod
    def of(cls, estimated: Tensor, exact: Tensor) -> "EstimateError":
        """The errors of an estimated map beside the exact one of the same shape."""
        apart = (estimated - exact).abs()
        both = torch.stack([estimated.flatten(), exact.flatten()]).double()
        flat = bool((both.std(1) == 0).any()) or both.shape[1] < 2
        return cls(float(apart.max()), float(apart.mean()), float("nan") if flat else float(torch.corrcoef(both)[0, 1]))


def patched(pair: TextPair, site: str, *, rows: Sequence[int] | None = None,
            heads: Sequence[int] | None = None) -> Change:
    """One cell of a map as a change, under which the other text can be decoded."""
    return replace(site, pair.clean, rows=rows, heads=heads)


def run_again(read: Run, change: Sequence[Change], capture: Sequence[str] = ()) -> Run:
    """The same tokens under changes."""
    return run_ids(read.ckpt, [(read.batch.src, read.batch.tgt, None)], texts=read.texts, targets=read.targets,
                   capture=capture, change=change)


def patch_path(pair: TextPair, senders: Iterable[str], receivers: Iterable[str] = (), *,
               inputs: Sequence[str] = ("q", "k", "v"), feed_forward: bool = True) -> float:
    """How much comes back along the paths from some heads straight to others, or to the logits if none receives.

    Senders are taken from the clean text while all other heads stay as they are in the other one; what the receivers'
    inputs become then is put into a last pass. heads are labels ("D1H3"); feed_forward: whether a path may go through
    feed-forward parts, or these stay, too. Wang et al. 2023, section 3.1 and appendix B.
    """
    config, other = pair.ckpt.config, pair.other
    sent, received = _heads(config, senders), _heads(config, receivers)
    if not sent:
        raise ValueError("no head sends; give at least one label")
    groups = config.n_heads // config.groups
    read = sorted({(f"{place.kind}.{place.layer}.{name}", head // (groups if name in "kv" else 1))
                   for place, head in received for name in inputs})
    changes = [freeze("*.z"), *([] if feed_forward or not config.d_ff else [freeze("*.mlp_out")]),
               *(replace(f"{place.kind}.{place.layer}.z", pair.clean, heads=[head]) for place, head in sent)]
    first = run_again(other, changes, [name for name, _ in read])
    if not received:
        return float(pair.recovered(pair.metric.of(pair.logits(first), pair.logits(pair.clean))))
    last = run_again(other, [replace(name, first, heads=[head]) for name, head in read])
    return float(pair.recovered(pair.metric.of(pair.logits(last), pair.logits(pair.clean))))


def _heads(config: ModelConfig, labels: Iterable[str]) -> list[tuple[Place, int]]:
    """Heads by their labels, each with its number. Raises ValueError for what is none."""
    found = []
    for place in (find_place(config, name) for name in labels):
        if place.head is None:
            raise ValueError(f"{place} is no head; give labels such as {label(config.kinds[-1], 0, 0)}")
        found.append((place, place.head))
    return found

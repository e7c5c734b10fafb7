"""Attribution of a prediction to tokens by integrated gradients, beside the attention to the same tokens.

S tokens that are attributed to: the encoder's, or all that a decoder alone has read. d_model width of an embedding.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.rollout import rollout
from transformer.analysis.token_inputs import TokenInputs, check_choice, check_classes
from transformer.basics.formatting import brief
from transformer.model.attention import AttentionOutput
from transformer.model.models import Embedding, Transformer
from transformer.model.sites import Taps
from transformer.settings.config import Kind

BASELINES = ("padding", "zero", "mean")
MOST_STEPS = 1_024
WRONG, LEAST_CHANGE = 0.15, 0.4  # a gap above this share of the change, or of this many nats if the change is smaller
SCATTERED = 0.5  # two halves of the points that differ by this share of the whole: the sum may be right by chance
TOKENS_AT_ONCE = 2_048  # positions of all points of the path that are run together
EXPLAINED = {  # what each shows and what it does not
    "integrated": "How much each token adds to the log-probability of the prediction, along the straight path from a "
                  "baseline, which stands for an empty text, to this one (integrated gradients, Sundararajan et "
                  "al. 2017). The values add up to the change, apart from the gap shown. They depend on what "
                  "counts as empty: padding, zero or the mean embedding give different values, and none of them is a "
                  "text the model was trained on.",
    "attention": "The weight that the prediction's query puts on each token, as the mean of all layers and heads. It "
                 "shows where values were taken from, not what they were or whether they mattered: attention is not "
                 "explanation (Jain and Wallace 2019).",
    "rollout": "Attention followed through the layers as if it moved whole positions and the residual connection "
               "counted half (Abnar and Zuidema 2020). Values, feed-forward parts and differences between heads are "
               "left out.",
    "correlation": "Spearman's rank correlation between two of these rankings of the same tokens: 1 for the same "
                   "order, 0 for unrelated orders, -1 for opposite ones. Integrated gradients enter by magnitude. "
                   "With a dozen tokens, values up to about 0.5 happen by chance.",
}


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each token adds to the log-probability of a prediction, and where attention looked."""

    token: int  # or the class
    label: str
    tokens: list[str]  # (S,), as text to show
    baseline: str
    integrated: NDArray  # (S,), nats; adds up to `change` but for the gap
    log_probability: float
    change: float  # log-probability of the text less that of the baseline, nats
    steps: int
    attention: NDArray  # (S,), a share each: the mean over layers and heads
    rollout: NDArray  # (S,), a share each: attention followed through the layers
    correlations: dict[tuple[str, str], float]  # Spearman's, between |integrated|, attention and rollout; NaN if flat
    scatter: float = 0.0  # difference between the shares of every other point and the rest; 0 unless 4 divides steps

    __repr__ = brief

    @property
    def gap(self) -> float:
        """The error of the integral in nats: how far the attributions are from adding up."""
        return float(self.integrated.sum()) - self.change

    @property
    def adds_up(self) -> bool:
        """Whether the gap is small enough for the attributions to mean anything."""
        return abs(self.gap) <= WRONG * max(abs(self.change), LEAST_CHANGE)

    @property
    def sound(self) -> bool:
        """Whether the attributions add up, and not by chance."""
        return self.adds_up and self.scatter <= SCATTERED


def attribute(read: TokenInputs, token: int | None = None, *, baseline: str = "padding", steps: int = 64,
              watch: Callable[[int, int], None] = lambda done, of: None) -> Attribution:
    """Integrated gradients of log p(token) with respect to the token embeddings. Sundararajan et al. 2017, equation 1.

    The path goes straight from the baseline's embeddings to the text's, every token at once; positions stay, and so do
    the decoder's own tokens if there is an encoder. baseline: the embedding of "padding", "zero", or the "mean" of the
    vocabulary. The integral is taken at `steps` points by the midpoint rule; `gap` is its error. 20 to 300 steps are
    enough for most models; check it (section 5). They are not enough if log p(token) jumps on the way: in a deep model
    with RMS norm and rotary positions it changes ever faster near zero, where other rules miss it too; then `sound` is
    False. token: of the vocabulary, or a class; None: the one that came next, else the likeliest. No gradient is kept
    for weights. Raises ValueError for a token, baseline or number of steps that is not there.
    """
    if baseline not in BASELINES:
        raise ValueError(f"there is no baseline {baseline!r}; choose {', '.join(BASELINES)}")
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError(f"steps is {steps}; choose 1 to {MOST_STEPS:,}")
    if read.tgt is None:
        check_classes(read.ckpt)
    model, config = read.ckpt.model, read.ckpt.config
    side = "tgt" if read.src is None else "src"
    embedding: Embedding = getattr(model, f"{side}_embedding")
    ids = getattr(read, side)
    with torch.no_grad():
        end = embedding.tokens(ids)[0].float()  # (S, d_model)
        begin = _baseline(embedding, baseline, config.pad_id).expand_as(end)
        ends = _log_probabilities(read, torch.stack([begin, end]))  # (2, V)
    size = ends.shape[1]
    check_choice(size, token)
    if token is None:
        token = int(ends[1].argmax()) if read.next_id is None or read.tgt is None else read.next_id
    once = max(1, TOKENS_AT_ONCE // (len(end) + len(read.ids)))
    halves = end.new_zeros(2, *end.shape)  # of the points 0, 3, 4, 7 … and 1, 2, 5, 6 …
    for first in range(0, steps, once):
        shares = (torch.arange(first, min(first + once, steps), device=end.device) + 0.5) / steps
        points = (begin + shares[:, None, None] * (end - begin)).requires_grad_()  # (points, S, d_model)
        with torch.enable_grad():
            [gradient] = torch.autograd.grad(_log_probabilities(read, points)[:, token].sum(), points)
        own = (torch.arange(first, first + len(points), device=end.device) + 1) // 2 % 2
        halves.index_add_(0, own, gradient)
        watch(min(first + once, steps), steps)
    integrated = (halves.sum(0) / steps * (end - begin)).sum(-1).double().cpu().numpy()
    apart = ((halves[0] - halves[1]) / steps * (end - begin)).sum(-1).abs().sum().item() if steps % 4 == 0 else 0.0
    attention, through = _attention(read)
    parts = {"integrated": np.abs(integrated), "attention": attention, "rollout": through}
    names = list(parts)
    correlations = {(one, other): spearman(parts[one], parts[other]) for at, one in enumerate(names)
                    for other in names[at + 1:]}
    label = read.ckpt.classes[token] if read.tgt is None else (
        read.ckpt.tokenizer.piece(token) if read.ckpt.tokenizer else str(token))
    return Attribution(token, label, read.pieces(side), baseline, integrated, float(ends[1, token]),
                       float(ends[1, token] - ends[0, token]), steps, attention, through, correlations,
                       apart / max(float(np.abs(integrated).sum()), 1e-6))


def spearman(one: NDArray, other: NDArray) -> float:
    """Spearman's rank correlation, ties given their mean rank; NaN where either is flat. Spearman 1904."""
    ranks = _ranks(one), _ranks(other)
    if len(one) < 2 or any(np.ptp(values) == 0 for values in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: NDArray) -> NDArray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def _baseline(embedding: Embedding, name: str, pad_id: int | None) -> Tensor:
    """(d_model,), before embeddings are scaled. Raises ValueError for padding where the model has none."""
    if name == "padding" and pad_id is None:
        raise ValueError("this model has no padding to begin from; choose the baseline zero or mean")
    table = embedding.tokens.weight.float()
    return {"padding": lambda: table[pad_id], "zero": lambda: torch.zeros_like(table[0]),
            "mean": lambda: table.mean(0)}[name]()


def _log_probabilities(read: TokenInputs, tokens: Tensor) -> Tensor:
    """Log-probabilities (B, V) of the last prediction, of token embeddings (B, S, d_model)."""
    model, taps = read.ckpt.model, read.taps
    if read.src is None:
        x = model.tgt_embedding.sum(tokens)
        places = range(x.shape[1])
        rows = model.decoder(x, causal=True, placed=model.placed("decoder", places), taps=taps.at(places)).x
        return model.project(rows[:, -1]).log_softmax(-1)
    src = model.src_embedding.sum(tokens)
    places = range(src.shape[1])
    memory = model.encoder(src, placed=model.placed("encoder", places), kind="encoder", taps=taps.at(places)).x
    if read.tgt is None:
        return model.classify(memory, read.src.expand(len(tokens), -1))
    tgt = read.tgt.expand(len(tokens), -1)
    return model.project(model.decode(tgt, memory, causal=True, taps=taps).x[:, -1]).log_softmax(-1)


@torch.no_grad()
def _attention(read: TokenInputs) -> tuple[NDArray, NDArray]:
    """Attention of the prediction to the S tokens, as the mean of all layers and heads and by rollout.

    In an encoder-decoder it is the last query's cross-attention, which rollout follows through the encoder; in a
    decoder, the last query's. A classifier has no single query: every position counts by its share of the pooled
    features.
    """
    model, taps = read.ckpt.model, read.taps
    encoded = read.encode()
    if encoded is None:
        own = _means(read.decode(None).attention, "decoder", taps, causal=True)
        attention, through = own[:, 0, -1].mean(0), rollout(own)[-1][-1]
    else:
        own = _means(encoded.attention, "encoder", taps)  # (L, 1, S, S)
        if read.tgt is None:
            query = pooled_shares(model, encoded.x[0])  # (S,)
            attention, through = query @ own.mean((0, 1)), query @ rollout(own)[-1]
        else:
            attention = _means(read.decode(encoded).cross, "cross", taps)[:, 0, -1].mean(0)
            through = attention @ rollout(own)[-1]
    return attention.double().cpu().numpy(), through.double().cpu().numpy()


def _means(layers: list[AttentionOutput], kind: Kind, taps: Taps, *, causal: bool = False) -> Tensor:
    """The mean over heads of each layer's weights, (L, 1, Tq, Tk). The weights of all heads at once could fill the
    memory."""
    means = []
    for at, layer in enumerate(layers):
        tap = taps.at(range(layer.queries.shape[2])).of(kind, at)
        weights = layer.recompute(causal=causal, tap=tap)[2]
        means.append(weights.mean(1))
    return torch.stack(means)


def pooled_shares(model: Transformer, x: Tensor) -> Tensor:
    """Each position's share of the pooled features (S,)."""
    if model.config.pooling == "mean":
        return x.new_full((len(x),), 1 / len(x))
    if model.config.pooling == "first":
        return torch.eye(len(x), device=x.device)[0]
    return torch.bincount(x.argmax(0), minlength=len(x)).to(x) / x.shape[1]

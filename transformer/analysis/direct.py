"""Direct effects: what each part of a model adds to a logit through the residual stream alone.

The decoder's last row is the sum of what the embedding, every head and every feed-forward part wrote into it. With the
factor of each norm frozen, the logit is linear in them, so they add up to it. Elhage et al. 2021, "logit attribution";
Wang et al. 2023, section 3.1. L layers, H heads, T positions, D width of a head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.analysis.pooling import pooler_slope
from transformer.analysis.token_inputs import TokenInputs, check_choice, check_classes
from transformer.basics.formatting import brief
from transformer.model.layers import Layer, Layers, StackOutput
from transformer.model.models import Embedding, Transformer
from transformer.model.norms import Norm
from transformer.model.sites import Taps
from transformer.settings.config import Kind

EXPLAINED = (  # what it shows and what it does not
    "How much each head, feed-forward part and embedding itself adds to the logit of a token, with the scales of the "
    "norms (what each divides by) held fixed; the parts add up to the logit (Elhage et al. 2021). It is what a part "
    "writes directly to the output. What it changes through later layers is not included, nor are the heads of an "
    "encoder, so a head with no direct effect "
    "may still decide the token. A logit has no natural zero: compare two tokens to see what distinguishes them.")
EXPLAINED_OF_CLASSES = (  # the same of a model whose texts have a class
    "How much each head, feed-forward part and embedding itself adds to the logit of a class, with the "
    "scales of the norms (what each divides by), and of an activation after pooling, held fixed; the parts add up to "
    "the logit (Elhage et al. 2021). It is what a part writes directly to the output, over all tokens that are "
    "pooled. What it changes through later layers is not included, so a head with no direct effect may still decide "
    "the class. A logit has no natural zero: compare two classes to see what distinguishes them.")


@dataclass(frozen=True, eq=False)
class DirectEffect:
    """A logit (or the difference of two), and the parts that add up to it."""

    token: int
    against: int | None
    logit: float  # as the model computes it
    embedding: float  # of the token at the position itself (of all tokens if they are pooled)
    positions: float | None  # of its position; None if no positions are added, as with rotary ones
    heads: dict[str, Tensor]  # kind -> (L, H)
    feed_forward: Tensor  # (L,), 0 for a layer without it
    biases: float  # of all linear maps and norms, and segment embeddings, which no token and no head decides

    __repr__ = brief

    @property
    def total(self) -> float:
        """The sum of all parts, which is the logit but for rounding."""
        return self.embedding + (self.positions or 0.0) + self.biases + float(self.feed_forward.sum()) + sum(
            float(found.sum()) for found in self.heads.values())


@torch.no_grad()
def direct_effect(read: TokenInputs, token: int | None = None, *, against: int | None = None,
                  run: StackOutput | None = None) -> DirectEffect:
    """Takes a logit apart: that of a token, or of the one that came next or is likeliest.

    against: another token whose logit is subtracted, which shows what distinguishes the two and cancels what all tokens
    get. In a model that classifies, a token is a class; max pooling is frozen at the positions that win, and the
    activation of a layer after pooling at its factor. Exact for every `norm_position`; with "post", a part passes
    through every later norm too. An encoder's heads reach a decoder only through the values that cross-attention reads,
    which is no direct effect, so they are left out. run: the pass of the stack that predicts, where it has been made;
    of a decoder its last position is enough. Raises ValueError for a token that is not there, and for a model
    that caps its logits, which are then no sum.
    """
    model = read.ckpt.model
    config = model.config
    if config.logits_cap is not None:
        raise ValueError(f"the checkpoint {read.ckpt.id} caps its logits ({config.logits_cap:g}), so they are not a "
                         "sum of parts")
    kinds: tuple[Kind, Kind | None] = ("encoder", None) if read.tgt is None else ("decoder", "cross")
    if read.tgt is None:
        check_classes(read.ckpt)
        stack, embedding = model.encoder, model.src_embedding
        run = run or read.output()
        logits = model.project(model.pool(run.x, read.row))[0]
    else:
        stack, embedding = model.decoder, model.tgt_embedding
        run = run or read.output()
        logits = model.project(run.x[0, -1])
    check_choice(len(logits), token, against)
    if token is None:
        token = int(logits.argmax()) if read.next_id is None else read.next_id
    output = model.output.weight[token] - (0 if against is None else model.output.weight[against])
    bias = 0.0 if model.output.bias is None else float(
        model.output.bias[token] - (0 if against is None else model.output.bias[against]))
    rows = slice(None) if read.tgt is None else slice(-1, None)  # the positions whose rows reach the logit
    output, bias = output.to(run.x.dtype) * config.logits_scale, bias * config.logits_scale
    if read.tgt is not None and not isinstance(model.narrow, nn.Identity):
        bias += float(output @ model.narrow.bias) if model.narrow.bias is not None else 0.0
        output = output @ model.narrow.weight
    path = _Path(output[None], biases=bias)
    if read.tgt is None:
        if config.pooler:
            path.past_pooler(model, model.gather(run.x, read.row))
        path.g = _unpool(model, run.x, path.g[0])  # (T, d_model)
    _parts(path, stack.layers, stack.norm, run, rows, kinds, read.taps.at(range(read.row.shape[1])[rows]))
    tokens, positions = _embedded(path, embedding, read.row, rows, None if read.tgt is not None else read.types)
    logit = float(logits[token] - (0 if against is None else logits[against]))
    heads = {kind: torch.stack(found[::-1]).cpu() for kind, found in path.heads.items()}
    return DirectEffect(token, against, logit, tokens, positions, heads, torch.stack(path.feed_forward[::-1]).cpu(),
                        path.biases)


class _Path:
    """The way back from the logit. g (T, d_model) is the gradient of the logit at the rows."""

    def __init__(self, g: Tensor, *, biases: float):
        self.g, self.biases = g, biases
        self.heads: dict[str, list[Tensor]] = {}
        self.feed_forward: list[Tensor] = []

    def constant(self, bias: Tensor | None) -> None:
        """Adds what a bias (d_model,) contributes."""
        if bias is not None:
            self.biases += float((self.g * bias).sum())

    def through(self, norm: nn.Module | None, x: Tensor) -> None:
        """Passes a norm, if there is one, with its factors frozen at those of its rows x (T, d_model)."""
        if isinstance(norm, Norm):
            frozen = norm.frozen(x)
            self.constant(frozen.bias)
            self.g = frozen.pull_back(self.g)

    def past_pooler(self, model: Transformer, pooled: Tensor) -> None:
        """Passes the layer after pooling, of pooled rows (1, d_model). Its activation is frozen at its factor, as a
        norm is."""
        before, slope = pooler_slope(model, pooled)
        self.through(model.pooler_norm, slope * before)
        self.g = self.g * slope
        self.constant(model.pooler.bias)
        self.g = self.g @ model.pooler.weight


def _parts(path: _Path, layers: Layers, last: nn.Module, run: StackOutput, rows: slice,
           kinds: tuple[Kind, Kind | None], taps: Taps) -> None:
    """Every layer's parts, from the last one back to the embeddings. taps: of the rows alone."""
    path.through(last, run.inputs[-1][0, rows])
    for at in reversed(range(len(layers))):
        layer, x = layers[at], run.inputs[at][0, rows]
        # with the input of its last linear map (T, inputs)
        parts: list[tuple[str, Kind | None, nn.Linear, Tensor]] = []
        sums = [x]  # the rows that each part was added to
        for name, kind, seen in zip(("attention", "cross"), kinds, (run.attention, run.cross), strict=True):
            if (part := getattr(layer, name)) is not None:
                # a decoder's last query sees every key in its window, so no other mask is needed
                context = seen[at].recompute(rows, tap=taps.of(kind, at))[0][0]  # (H, T, D)
                parts.append((name, kind, part.out_proj, context.transpose(0, 1).flatten(1)))
                sums.append(layer.add(sums[-1], part.out_proj(parts[-1][3]), name))
        if layer.feed_forward is None:
            sums.pop()
            path.feed_forward.append(x.new_zeros(()))
        else:
            inside = layer.feed_forward.activated(layer.part_input(x if layer.parallel else sums[-1], "feed_forward"))
            parts.append(("feed_forward", None, layer.feed_forward.down, inside))
        for (name, kind, linear, read), before in zip(reversed(parts), reversed(sums), strict=True):
            ways = _ways(path, layer, name, linear, read, before)
            if kind is None:
                path.feed_forward.append((ways * read).sum())
            else:
                n_heads = layer.attention.n_heads
                path.heads.setdefault(kind, []).append((ways * read).sum(0).view(n_heads, -1).sum(1))


def _ways(path: _Path, layer: Layer, name: str, linear: nn.Linear, read: Tensor, before: Tensor) -> Tensor:
    """The gradient of the logit at each input of a part's last linear map (T, inputs). The part was added to rows
    `before` (T, d_model); with "post", the path also passes the norm of their sum."""
    change = linear(read)
    if layer.is_post:
        path.through(layer.norm_of(name), before + layer.part_output(change, name))
    beside = path.g
    path.g = path.g * layer.scale
    if layer.has_output_norm:
        path.through(getattr(layer, f"{name}_out_norm"), change)
    path.constant(linear.bias)
    ways, path.g = path.g @ linear.weight.to(change.dtype), beside
    return ways


def _unpool(model: Transformer, x: Tensor, output: Tensor) -> Tensor:
    """The gradient of the pooled logit at each final row x (1, T, d_model) -> (T, d_model)."""
    if model.config.pooling == "mean":
        return (output / x.shape[1]).expand(x.shape[1], -1)
    g = torch.zeros_like(x[0])
    if model.config.pooling == "first":
        g[0] = output
        return g
    return g.scatter(0, x[0].argmax(dim=0)[None], output[None])


def _embedded(path: _Path, embedding: Embedding, ids: Tensor, rows: slice,
              types: Tensor | None) -> tuple[float, float | None]:
    """What tokens and positions add; None for positions that are not added. Segment embeddings go with the biases: no
    token decides them. types (1, S): the segments of a pair."""
    tokens = embedding.tokens(ids)[0].to(path.g.dtype) * embedding.scale  # (T, d_model)
    positions = embedding.encoding(0, ids.shape[1])
    same = None
    if embedding.types is not None:  # (d_model,), or a row for each token of a pair
        same = embedding.types.weight[0] if types is None else embedding.types(types)[0]
    x = embedding.widen(tokens) if embedding.widen_first else tokens
    x = x + (0 if positions is None else positions) + (0 if same is None else same)
    if not embedding.widen_first:
        _widened(path, embedding)
    path.through(embedding.norm, x[rows])
    path.constant(same)
    placed = None if positions is None else float((path.g * positions[rows]).sum())
    if embedding.widen_first:
        _widened(path, embedding)
    return float((path.g * tokens[rows]).sum()), placed


def _widened(path: _Path, embedding: Embedding) -> None:
    """Passes the linear map from the width of embeddings to that of the rows, if there is one."""
    if not isinstance(embedding.widen, nn.Identity):
        path.constant(embedding.widen.bias)
        path.g = path.g @ embedding.widen.weight


def strongest(found: DirectEffect, count: int = 5) -> list[tuple[str, int, int, float]]:
    """The heads with the largest effect, for or against: (kind, layer, head, effect)."""
    every = [(kind, layer, head, value) for kind, values in found.heads.items()
             for layer, row in enumerate(values.tolist()) for head, value in enumerate(row)]
    return sorted(every, key=lambda one: -abs(one[3]))[:count]

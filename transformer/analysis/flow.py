"""Information flow: through which states and heads a prediction is made, from its row down to the tokens.

Ferrando and Voita 2024, "Information Flow Routes: Automatically Interpreting Language Models at Scale", section 2.
Every row of the residual stream is a sum, and each part of it takes a share by how near it comes to the sum:

    proximity(part) = max(0, |sum| - |sum - part|), with L1 norms; share(part) = proximity / the proximities of all

as in Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer", section 3. The parts of
an attention block at a position are the row before it and, of every head and every position that it reads, the weight
times the value, through the head's part of the output matrix: alpha W_O (W_V norm(x_j) + b_V). With the factors of a
norm after it frozen (`FrozenNorm`), they and the block's constant (the output matrix's bias, the biases of norms) add
up to the row after it exactly. The constant is in the sum, comes from no state, and takes no share. Where no part comes
nearer to the sum than 0 does, shares are by the parts' L1 norms.

Unlike in the paper, which keeps every edge above a threshold, importance is handed down: an edge is worth its share
of the importance of the node above it, so that every depth has all of it.

T positions, S positions that are read, H heads, D width of a head.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.analysis.neurons import Stack, Written
from transformer.analysis.pooling import pooler_slope
from transformer.analysis.token_inputs import TokenInputs, check_classes
from transformer.basics.formatting import brief
from transformer.inference.sampling import Candidate
from transformer.model.attention import AttentionOutput, repeat_for_queries
from transformer.model.layers import Layer, Layers, StackOutput
from transformer.model.models import Transformer
from transformer.model.norms import Norm
from transformer.model.sites import find_place
from transformer.settings.config import Kind

Watch = Callable[[int, int], None]  # done, of
AT_ONCE = 250_000  # numbers of parts at once, which fit a core's cache
MOST = 100_000_000  # shares that are kept: 400 MB
EXPLAINED = (
    "Each row of the model is a sum: the row below it, and what each head moves there from each token. A part that "
    "brings the sum closer to what it becomes has a larger share (by L1 distance), and the importance of the "
    "prediction's row is handed down by these shares, so every depth holds 100% of it (after Ferrando and Voita 2024). "
    "It shows what the row was made of, not what would change without a part: Patching and Switch off show that. It "
    "follows the whole row, so it is the same for every token that could be predicted there. The scales of norms are "
    "held fixed; biases come from no token and have no share, nor has what pushes against the sum.")


class Node(NamedTuple):
    """A row of the residual stream at a position, what the feed-forward part adds there, or the prediction. Its site is
    one of `transformer.model.sites`."""

    kind: Kind | None
    layer: int | None
    site: str
    position: int

    @property
    def name(self) -> str:
        """The name of its place: "decoder.0.resid_mid", or "logits"."""
        return ".".join(str(part) for part in self[:3] if part is not None)


TOP = Node(None, None, "logits", 0)  # the prediction


class Edge(NamedTuple):
    """A way from one node up to another: a head's, or, where `head` is None, that of the residual stream ("residual"),
    into or out of the feed-forward part ("feed_forward"), or to the prediction ("logits")."""

    kind: Kind | Literal["residual", "feed_forward", "logits"]
    layer: int | None
    head: int | None
    source: Node
    target: Node
    share: float  # of the target's importance
    importance: float


class Ways(NamedTuple):
    """The ways of one kind from the nodes of one place up to those of another."""

    kind: Kind | Literal["residual", "feed_forward", "logits"]
    layer: int | None
    below: str
    above: str
    shares: Tensor  # of the node above: (T,) between the same positions, (T, S) between any, (T, H, S) of heads

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Cut:
    """What is left of a flow above a threshold: all that is reached from the prediction by edges of that importance."""

    nodes: dict[Node, float]  # and their importance in the whole flow
    edges: list[Edge]  # the strongest first
    hidden: float  # the share of the importance that does not come all the way from the tokens by these edges

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Flow:
    """The importance of every node and every edge of a prediction."""

    ways: list[Ways]  # from the prediction down
    importance: dict[str, Tensor]  # of the nodes of every place, by its name: (T,)

    __repr__ = brief

    def edges(self, least: float = 0.0) -> Iterator[Edge]:
        """All edges of at least this importance, and more than 0, from the prediction down."""
        for ways in self.ways:
            yield from self._edges(ways, self._worth(ways) >= least)

    def edges_into(self, node: Node) -> list[Edge]:
        """The edges that lead into a node, the largest share first. Raises KeyError for a place that is not there."""
        here = torch.zeros_like(self.importance[node.name], dtype=torch.bool)
        here[node.position] = True
        edges = [edge for ways in self.ways if ways.above == node.name for edge in self._edges(ways, _along(
            here, ways.shares).expand_as(ways.shares))]
        return sorted(edges, key=lambda edge: -edge.share)

    def cut(self, threshold: float) -> Cut:
        """The part of the flow above a threshold, a share of the whole importance. Raises ValueError for one that is
        not from 0 to 1."""
        if not 0 <= threshold <= 1:
            raise ValueError(f"the threshold is {threshold:g}; give a share from 0 to 1")
        through = {place: torch.zeros_like(values) for place, values in self.importance.items()}  # by drawn edges alone
        reached = {place: torch.zeros_like(values, dtype=torch.bool) for place, values in self.importance.items()}
        through[TOP.name][0], reached[TOP.name][0] = 1.0, True
        edges: list[Edge] = []
        for ways in self.ways:
            worth = self._worth(ways)
            kept = (worth >= threshold) & (worth > 0) & _along(reached[ways.above], worth)
            edges += self._edges(ways, kept)
            through[ways.below] += _collected(ways.shares * _along(through[ways.above], worth) * kept)
            reached[ways.below] |= _collected(kept.float()) > 0
        above = {ways.above for ways in self.ways}
        shown = sum(float(through[place].sum()) for place in {ways.below for ways in self.ways} - above)
        nodes = {_node(place, at): float(self.importance[place][at])
                 for place, seen in reached.items() for at in seen.nonzero().flatten().tolist()}
        return Cut(nodes, sorted(edges, key=lambda edge: -edge.importance), min(1.0, max(0.0, 1.0 - shown)))

    def _worth(self, ways: Ways) -> Tensor:
        """The importance of edges, in the shape of their shares."""
        return ways.shares * _along(self.importance[ways.above], ways.shares)

    def _edges(self, ways: Ways, kept: Tensor) -> Iterator[Edge]:
        """The edges that are kept and have any importance."""
        worth = self._worth(ways)
        for at in (kept & (worth > 0)).nonzero().tolist():
            yield Edge(ways.kind, ways.layer, at[1] if len(at) == 3 else None, _node(ways.below, at[-1]),
                       _node(ways.above, at[0]), float(ways.shares[tuple(at)]), float(worth[tuple(at)]))


def _along(values: Tensor, shares: Tensor) -> Tensor:
    """A value of each node above, beside the shares of its parts."""
    return values.view(-1, *(1,) * (shares.dim() - 1))


def _collected(worth: Tensor) -> Tensor:
    """What comes to each node below, of the importance of edges."""
    return worth if worth.dim() == 1 else worth.flatten(0, -2).sum(0)


def _node(place: str, position: int) -> Node:
    if place == TOP.name:
        return TOP
    kind, layer, site = place.split(".")
    return Node(cast(Kind, kind), int(layer), site, position)


class _Block(NamedTuple):
    """A part of a layer as it was computed: the rows it was added to, what it computed, and the rows after it."""

    layer: Layer
    at: int
    kind: Kind | Literal["feed_forward"]
    part: Literal["attention", "cross", "feed_forward"]
    seen: AttentionOutput | None
    before: Tensor  # (T, d_model)
    change: Tensor  # (T, d_model), before the norm and the scale of the output
    after: Tensor  # (T, d_model)
    below: str
    above: str
    inside: str | None  # the feed-forward part's own node, and the place of what it reads
    reads: str

    def through(self, parts: Tensor, rows: Tensor, *, is_added: bool = True, biased: bool = False) -> Tensor:
        """What becomes of parts (N, ..., d_model) of the sum at some rows (N,) on their way to the rows after it.
        is_added: whether they are of what is added, not of the rows before. biased: with the norms' own biases."""
        def frozen(norm: nn.Module, x: Tensor) -> Tensor:
            if not isinstance(norm, Norm):  # the first layer's, of a model that has none there
                return parts
            held = norm.frozen(x[rows])
            factor = held.factor.view(len(rows), *(1,) * (parts.dim() - 2), -1)
            passed = held._replace(factor=factor).apply(parts)
            return passed + held.bias if biased and held.bias is not None else passed

        if is_added:
            if self.layer.has_output_norm:
                parts = frozen(getattr(self.layer, f"{self.part}_out_norm"), self.change)
            parts = parts * self.layer.scale
        if self.layer.is_post:
            added = self.layer.part_output(self.change, self.part)
            parts = frozen(self.layer.norm_of(self.part), self.before + added)
        return parts


def _blocks(stack: Stack, layers: Layers, run: StackOutput) -> list[_Block]:
    """The parts of all layers, in the order of computation."""
    blocks: list[_Block] = []
    for at, layer in enumerate(layers):
        x, below = run.inputs[at][0], f"{stack}.{at}.resid_pre"
        entry, start = below, x
        last = at == len(layers) - 1
        end = f"{stack}.{at}.resid_post" if last else f"{stack}.{at + 1}.resid_pre"
        attentions: list[tuple[Kind, Literal["attention", "cross"], AttentionOutput]] = []
        attentions.append((stack, "attention", run.attention[at]))
        if layer.cross is not None:
            attentions.append(("cross", "cross", run.cross[at]))
        for number, (kind, part, seen) in enumerate(attentions, 1):
            ends = number == len(attentions) and layer.feed_forward is None
            after = layer.add(x, seen.output[0], part)
            above = end if ends else f"{kind}.{at}.resid_mid"
            blocks.append(_Block(layer, at, kind, part, seen, x, seen.output[0], after, below, above, None, below))
            x, below = after, above
        if layer.feed_forward is not None:
            change = layer.feed_forward(layer.part_input(start if layer.parallel else x, "feed_forward"))
            blocks.append(_Block(layer, at, "feed_forward", "feed_forward", None, x, change,
                                 layer.add(x, change, "feed_forward"), below, end, f"{stack}.{at}.mlp_out",
                                 entry if layer.parallel else below))
    return blocks


def _runs(read: TokenInputs) -> dict[Stack, StackOutput]:
    """The output of each stack, with the weights of every head."""
    if read.changes:
        raise ValueError("the flow is that of the model as it is; read the text without changes")
    model, runs = read.ckpt.model, cast(dict[Stack, StackOutput], {})
    if read.src is not None:
        runs["encoder"] = model.encode(read.src, readable=True)
    if read.tgt is not None:
        memory = runs["encoder"].x if runs else None
        runs["decoder"] = model.decode(read.tgt, memory, causal=True, readable=True)
    return runs


def _moved(block: _Block) -> Tensor:
    """What each head would move from each position that it reads with a weight of 1 -> (H, S, d_model)."""
    attention, seen = getattr(block.layer, block.part), block.seen
    assert seen is not None, "only attention moves anything"
    return attention.by_head(repeat_for_queries(seen.memory.values, attention.n_heads))[0].transpose(0, 1)


def _head_parts(block: _Block, moved: Tensor, head: int, rows: Tensor) -> Tensor:
    """What a head moves from each of S positions to some rows (N,), as it arrives in the rows after the block, of what
    all heads move (H, S, d_model) -> (N, S, d_model)."""
    assert block.seen is not None and block.seen.weights is not None, "only attention that is readable has weights"
    return block.through(block.seen.weights[0, head, rows, :moved.shape[1], None] * moved[head], rows)


class AttentionParts(NamedTuple):
    """An attention block's rows at T positions as a sum: residual + heads + constant = total."""

    residual: Tensor  # (T, d_model)
    heads: Tensor  # (T, H, S, d_model)
    constant: Tensor  # (T, d_model)
    total: Tensor  # (T, d_model), as the model computed it

    __repr__ = brief


@torch.no_grad()
def attention_parts(read: TokenInputs, kind: Kind, layer: int) -> AttentionParts:
    """The rows after an attention block taken apart, as its importance is. Raises ValueError for a layer that is not
    there, and for changes."""
    find_place(read.ckpt.config, f"{kind}.{layer}.pattern")
    stack: Stack = "encoder" if kind == "encoder" else "decoder"
    layers, run = read.ckpt.model.stack(kind).layers, _runs(read)[stack]
    block = next(one for one in _blocks(stack, layers, run) if (one.kind, one.at) == (kind, layer))
    rows = torch.arange(len(block.after), device=block.after.device)
    bias = getattr(block.layer, block.part).out_proj.bias
    bias = torch.zeros_like(block.after) if bias is None else bias.to(block.after.dtype).expand_as(block.after)
    moved = _moved(block)
    heads = torch.stack([_head_parts(block, moved, head, rows) for head in range(len(moved))], 1)
    return AttentionParts(block.through(block.before, rows, is_added=False), heads,
                          block.through(bias, rows, biased=True), block.after)


def _proximity(parts: Tensor, total: Tensor) -> Tensor:
    """How much nearer parts (N, P, d_model) are to their sum (N, d_model) than 0 is -> (N, P)."""
    return (total.abs().sum(-1, keepdim=True) - (parts - total[:, None]).abs_().sum(-1)).clamp_min_(0)


def _size(parts: Tensor, total: Tensor) -> Tensor:
    return parts.abs().sum(-1)


def _shares(measure: Callable[[Callable[[Tensor, Tensor], Tensor]], Tensor]) -> Tensor:
    """The shares of parts in their sums -> (N, P), of a function that measures all of them (N, P)."""
    near = measure(_proximity)
    if (lost := near.sum(-1) == 0).any():
        near[lost] = measure(_size)[lost]
    return near / near.sum(-1, keepdim=True).clamp_min(torch.finfo(near.dtype).tiny)


def _block_shares(block: _Block, above: Tensor) -> tuple[Tensor, Tensor]:
    """The shares of a block's sum at the rows that have any importance: of the residual stream (T,), and of its other
    parts: of heads (T, H, S), or of the feed-forward part, which keeps its own biases (T,)."""
    rows = above.nonzero().flatten()
    shape = () if block.seen is None else (block.seen.queries.shape[1], block.seen.memory.values.shape[2])
    residual, parts = block.after.new_zeros(len(above)), block.after.new_zeros(len(above), *shape)
    moved = None if block.seen is None else _moved(block)

    def measured(by: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        return torch.cat([_measured(block, moved, some, by) for some in rows.split(once)])

    once = max(1, AT_ONCE // (block.after.shape[1] * (shape[1] if shape else 1)))
    if len(rows):
        shares = _shares(measured)
        residual[rows], parts[rows] = shares[:, 0], shares[:, 1:].reshape(len(rows), *shape)
    return residual.cpu(), parts.cpu()


def _measured(block: _Block, moved: Tensor | None, rows: Tensor, by: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A measure of all parts of a block's sum at some rows (N,), the row before it first -> (N, P)."""
    total = block.after[rows]
    columns = [by(block.through(block.before[rows, None], rows, is_added=False), total)]
    if moved is None:
        columns.append(by(block.through(block.change[rows, None], rows), total))
        return torch.cat(columns, 1)
    keys = moved.shape[1]
    seen = int(rows.max()) + 1 if block.kind == "decoder" else keys  # no query sees what comes after it
    for head in range(len(moved)):
        near = by(_head_parts(block, moved[:, :seen], head, rows), total)
        columns.append(F.pad(near, (0, keys - seen)))
    return torch.cat(columns, 1)


def _change(block: _Block) -> Tensor:
    """What a block adds to its rows (T, d_model), biases included: after a norm of the sum, all but what is left of the
    rows before it."""
    rows = torch.arange(len(block.after), device=block.after.device)
    return block.after - block.through(block.before, rows, is_added=False)


@torch.no_grad()
def flow(read: TokenInputs, position: int | None = None, *, watch: Watch = lambda done, of: None) -> Flow:
    """Follows a prediction down to the tokens: from the decoder's last row, from a position of a masked language model,
    or from all that a classifier pools. watch is called after each part of a layer, and may raise to end it.

    An encoder-decoder's flow goes through cross-attention to the encoder's last rows and on to the source. Raises
    ValueError for an encoder without a head, a position that is not there, changes, and a text too long to be followed.
    """
    ckpt, model, config = read.ckpt, read.ckpt.model, read.ckpt.config
    is_masked = config.head == "masked"
    if read.tgt is None and not is_masked:
        check_classes(ckpt)
    length = len(read.ids)
    if position is not None and ((not is_masked and position != length - 1) or not 0 <= position < length):
        raise ValueError(f"position is {position}; " + (
            f"choose one from 0 to {length - 1}" if is_masked else "a prediction is followed from the last position"))
    _check_size(read)
    runs = _runs(read)
    blocks = {stack: _blocks(stack, model.stack(stack).layers, run) for stack, run in runs.items()}
    kind = "encoder" if read.tgt is None else "decoder"
    first = torch.zeros(length)
    if read.tgt is None and not is_masked:
        first = _pooled(model, runs[kind].x, read.row)
    else:
        first[length - 1 if position is None else position] = 1.0
    last = f"{kind}.{config.layers(kind) - 1}.resid_post"
    memory = f"encoder.{config.encoder_layers - 1}.resid_post"
    found = Flow([], {TOP.name: torch.ones(1)})

    def follow(*ways: Ways) -> None:
        for one in ways:
            found.ways.append(one)
            worth = _collected(one.shares * _along(found.importance[one.above], one.shares))
            found.importance[one.below] = found.importance.get(one.below, 0) + worth

    follow(Ways("logits", None, last, TOP.name, first[None]))
    order = [block for stack in reversed(blocks.values()) for block in reversed(stack)]
    for done, block in enumerate(order, 1):
        residual, parts = _block_shares(block, found.importance[block.above].to(model.device))
        follow(Ways("residual", block.at, block.below, block.above, residual))
        if block.inside is None:
            follow(Ways(block.kind, block.at, memory if block.kind == "cross" else block.reads, block.above, parts))
        else:
            follow(Ways("feed_forward", block.at, block.inside, block.above, parts),
                   Ways("feed_forward", block.at, block.reads, block.inside, torch.ones_like(parts)))
        watch(done, len(order))
    return found


def _check_size(read: TokenInputs) -> None:
    """Raises ValueError for a text with more shares than are kept."""
    config = read.ckpt.config
    src, tgt = (0 if ids is None else ids.shape[1] for ids in (read.src, read.tgt))
    pairs = {"encoder": src * src, "decoder": tgt * tgt, "cross": src * tgt}
    count = sum(config.layers(kind) * config.n_heads * pairs[kind] for kind in config.kinds)
    if count > MOST:
        raise ValueError(f"the text has {count:,} ways through the heads of this model, and at most {MOST:,} are "
                         "followed; please shorten it")


def _pooled(model: Transformer, x: Tensor, src: Tensor) -> Tensor:
    """The share of each position (T,) in the pooled features, of the final rows x (1, T, d_model)."""
    parts = _of_pooled(model, x[0], torch.arange(x.shape[1], device=x.device), x[0])
    return _shares(lambda by: by(parts[None], model.gather(x, src)))[0].cpu()


def _of_pooled(model: Transformer, x: Tensor, rows: Tensor, parts: Tensor) -> Tensor:
    """What parts (N, d_model) of some of the final rows x (T, d_model) come to in the pooled features."""
    if model.config.pooling == "mean":
        return parts / len(x)
    if model.config.pooling == "first":
        return parts * (rows == 0)[:, None]
    return parts * (x.argmax(0) == rows[:, None])


@torch.no_grad()
def update_writes(read: TokenInputs, node: Node, *, count: int = 8) -> Written:
    """What the update that made a node promotes and suppresses: what attention or the feed-forward part added to its
    row, through the final norm, frozen at the last row of that position, and the output matrix. At the embeddings it is
    they that are read. nostalgebraist 2020, the logit lens; at a prediction's own position of a pre-norm model it is
    what the update adds to its logits.

    `probability` of each is the change of its logit less the mean change of all. A classifier's positions are pooled,
    and what follows is frozen as norms are. Raises ValueError for a node that is not there, and for one of an encoder
    under a decoder, whose rows have no direct reading.
    """
    ckpt, model, config = read.ckpt, read.ckpt.model, read.ckpt.config
    kind = "encoder" if read.tgt is None else "decoder"
    if node.kind == "encoder" and kind == "decoder":
        raise ValueError("an encoder's row has no direct reading: it reaches the logits only through the values that "
                         "cross-attention reads")
    runs = _runs(read)
    blocks = _blocks(kind, model.stack(kind).layers, runs[kind])
    update = next((_change(block) for block in blocks if node.name in (block.above, block.inside)),
                  runs[kind].inputs[0][0] if node.name == f"{kind}.0.resid_pre" else None)
    if update is None or not 0 <= node.position < len(update):
        raise ValueError(f"there is no node {node.name} at position {node.position}")
    part = update[node.position, None]
    norm, row = model.stack(kind).norm, runs[kind].inputs[-1][0, node.position, None]
    if isinstance(norm, Norm):
        part = norm.frozen(row).apply(part)
    moved = _projected(read, runs[kind].x, node.position, part)[0].float()
    moved = moved - moved.mean()
    names = ckpt.classes if config.n_classes else None
    ends = [moved.topk(min(count, len(moved)), largest=largest) for largest in (True, False)]
    return Written(*([Candidate(id, names[id] if names else ckpt.tokenizer.piece(id) if ckpt.tokenizer else str(id),
                                value) for value, id in zip(values.tolist(), ids.tolist(), strict=True)]
                     for values, ids in ends))


def _projected(read: TokenInputs, x: Tensor, position: int, part: Tensor) -> Tensor:
    """What a part (1, d_model) of a final row, of all final rows x (1, T, d_model), adds to each logit (1, V), with all
    that is not linear frozen, and without biases."""
    model, config = read.ckpt.model, read.ckpt.config
    if read.tgt is not None:
        if isinstance(model.narrow, nn.Linear):
            part = F.linear(part, model.narrow.weight.to(part.dtype))
    elif config.head == "masked":
        head, row = model.masked_head, x[0, position, None]
        before = head.dense(row)
        before = torch.where(before.abs() < 1e-4, 1e-4, before)
        slope = head.activation(before) / before
        part = head.norm.frozen(slope * before).apply(F.linear(part, head.dense.weight.to(part.dtype)) * slope)
    else:
        part = _of_pooled(model, x[0], torch.tensor([position], device=x.device), part)
        if config.pooler:
            before, slope = pooler_slope(model, model.gather(x, read.row))
            part = F.linear(part, model.pooler.weight.to(part.dtype)) * slope
            if isinstance(model.pooler_norm, Norm):
                part = model.pooler_norm.frozen(slope * before).apply(part)
    return F.linear(part, model.output.weight.to(part.dtype)) * config.logits_scale

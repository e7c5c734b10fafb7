"""What a token's vector carries through the layers: how long its row is after each part, what each part and each head
adds, what each adds to the prediction, and one number of a query or a key taken apart.

All is read at the sites of a pass over the same ids under the same changes, so nothing of a layer is written again
here.

P positions that are followed, L layers, H heads, T tokens, D width of a head.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from transformer.analysis.direct import direct_effect
from transformer.analysis.neurons import Stack
from transformer.analysis.token_inputs import TokenInputs, inputs_of_step, inputs_up_to
from transformer.basics.formatting import brief
from transformer.inference.decoding import Step
from transformer.inference.forward import Capturing
from transformer.inference.reading import Reading
from transformer.model.attention import AttentionOutput
from transformer.model.cache import KeysValues
from transformer.model.layers import Layer, StackOutput
from transformer.model.rotary import rotation_state
from transformer.model.sites import NO_TAPS, Taps, places
from transformer.settings.config import Kind

AT_ONCE = 4_000_000  # numbers of what heads add, at once
EXACT = 1e-3  # how far the parts of a logit may be from it, as a share of all that they add and take off
ALIKE = 1e-3  # how far the queries of two passes may be apart, as a share of the largest
NO_HEAD = "This model has no head that predicts, so no part has an effect on a prediction."
MASKED = "Effects are those on one prediction, and this model makes one for every token."
CAPPED = "This model caps its logits, so they are not a sum of what its parts add."
CHANGED = "Under these changes the logit is not the sum of what the parts add, so it is not taken apart."
HOOKED = ("Hooks changed what this model computed, and no other pass makes that again. Read the text without them, or "
          "change the model with transformer.Change.")
SITES_OF_ROWS = {"embed", "pos_embed", "resid_pre", "z", "attn_out", "resid_mid", "mlp_out", "resid_post"}

STACKS: tuple[Stack, Stack] = ("encoder", "decoder")  # by whether there is a decoder

Source = Step | Reading


@dataclass(frozen=True, eq=False)
class Carried:
    """What the vectors at some positions of one stack carry, and what each part adds.

    Norms are Euclidean. With norms of the sums (post), `added` is what goes into the sum and `norms` what comes out of
    the norm.
    """

    stack: Stack
    positions: range  # the places in the text
    parts: tuple[str, ...]  # in the order of computation: "embedding", "0.attention", "0.cross", "0.feed_forward", ...
    norms: Tensor  # (P, parts): of the row after each part; for "embedding" of what enters the first layer
    added: Tensor  # (P, parts): of what the part adds; for "embedding" of the token's own vector times its factor
    heads: dict[Kind, Tensor]  # kind -> (L, P, H): of what each head adds, with an output norm frozen
    position: Tensor | None  # (P,): of the position's vector; None where none is added
    source: Source  # what was followed
    run: StackOutput  # the pass over these positions

    __repr__ = brief


@torch.no_grad()
def carried(source: Source, *, newest: bool = True, before: Mapping[Stack, Carried] | None = None,
            ) -> dict[Stack, Carried]:
    """Follows the vectors of a step or a reading through every stack, under the changes of the source.

    newest: of a step's decoder the newest position alone, which costs as much as one more token; all others are read
    whole. before: what this returned for another step of the same start, whose encoder is the same. Raises ValueError
    where hooks changed the attention.
    """
    _check_unhooked(source)
    found: dict[Stack, Carried] = {}
    read, taps = inputs_of(source), _capturing(source, SITES_OF_ROWS)
    if read.src is not None:
        known = (before or {}).get("encoder")
        if known is not None and (known.source is source or (
                isinstance(source, Step) and source.same_text(known.source))):
            found["encoder"] = known
        else:
            found["encoder"] = _carried(source, "encoder", _encode(source, taps), taps.values, range(read.src.shape[1]))
    if read.tgt is not None:
        positions = range(read.tgt.shape[1])
        if isinstance(source, Step) and newest:
            positions = positions[-1:]
            run = read_again(source, positions[0], taps)
        else:
            run = _decode(source, found["encoder"].run.x if found else None, taps)
        found["decoder"] = _carried(source, "decoder", run, taps.values, positions)
    return found


def _carried(source: Source, stack: Stack, run: StackOutput, values: Mapping[str, Tensor],
             positions: range) -> Carried:
    """What one stack's vectors carry, of its pass and of what was at the sites."""
    _check_alike(source, stack, run, positions)
    parts, norms, added = ["embedding"], [values[f"{stack}.0.resid_pre"][0]], [values[f"{stack}.embed"][0]]
    heads: dict[Kind, list[Tensor]] = {}
    layers = cast(Sequence[Layer], source.ckpt.model.stack(stack).layers)
    for at, layer in enumerate(layers):
        computed: list[tuple[Kind, str, str]] = [(stack, "attention", "attn_out")]
        if layer.cross is not None:
            computed.append(("cross", "cross", "attn_out"))
        if layer.feed_forward is not None:
            computed.append((stack, "feed_forward", "mlp_out"))
        for kind, part, site in computed:
            is_last = part == computed[-1][1]
            parts.append(f"{at}.{part}")
            added.append(values[f"{kind}.{at}.{site}"][0])
            norms.append(values[f"{stack}.{at}.resid_post" if is_last else f"{kind}.{at}.resid_mid"][0])
            if part != "feed_forward":
                seen = run.cross[at] if part == "cross" else run.attention[at]
                heads.setdefault(kind, []).append(_head_norms(layer, part, seen.output[0], values, f"{kind}.{at}"))
    placed = values.get(f"{stack}.pos_embed")
    return Carried(stack, positions, tuple(parts), _norms(norms), _norms(added),
                   {kind: torch.stack(each).cpu() for kind, each in heads.items()},
                   None if placed is None else placed[0].float().norm(dim=-1).cpu(), source, run)


def _norms(rows: list[Tensor]) -> Tensor:
    """The norms of rows (P, width) of each part -> (P, parts)."""
    return torch.stack([one.float().norm(dim=-1) for one in rows], dim=1).cpu()


def _head_norms(layer: Layer, part: str, output: Tensor, values: Mapping[str, Tensor], place: str) -> Tensor:
    """The norms (P, H) of what each head of an attention adds, of what all of them computed, output (P, d_model)."""
    attention, z = getattr(layer, part), values[f"{place}.z"]  # (1, H, P, D)
    changed = values.get(f"{place}.result")  # (1, P, H, d_model), where single results are changed
    out = []
    for rows in torch.arange(len(output), device=z.device).split(max(1, AT_ONCE // (z.shape[1] * output.shape[1]))):
        each = attention.by_head(z[:, :, rows])[0] if changed is None else changed[0, rows]  # (rows, H, d_model)
        if layer.has_output_norm:
            frozen = getattr(layer, f"{part}_out_norm").frozen(output[rows])
            each = frozen._replace(factor=frozen.factor[:, None]).apply(each)
        out.append((each * layer.scale).float().norm(dim=-1))
    return torch.cat(out)


def _capturing(source: Source, wanted: set[str]) -> Capturing:
    """Taps that keep some sites of all layers, and each head's result where a change acts on it."""
    changed = {one.place.name for one in source.changes.ready if one.place.site == "result"}
    return Capturing([place for place in places(source.ckpt.config).values()
                      if place.site in wanted or place.name in changed], source.taps)


def _check_unhooked(source: Source) -> None:
    """Raises ValueError where hooks changed scores or weights."""
    try:
        projections = source.projections(source.kinds[0])
    except ValueError:
        projections = None
    if projections is None:
        raise ValueError(HOOKED)


def _check_alike(source: Source, stack: Stack, run: StackOutput, positions: range) -> None:
    """Raises ValueError for a pass that made other queries than the source has, as where hooks have come or gone."""
    rows = slice(positions.start, positions.stop)
    for kind, passes in ((stack, run.attention), ("cross", run.cross)):
        projections = source.projections(kind) if passes else None
        if projections is not None:
            expected = projections[0][:, :, rows]
            found = torch.cat([one.queries for one in passes])
            if not torch.allclose(found, expected, rtol=0, atol=ALIKE * (1 + float(expected.abs().max()))):
                raise ValueError(HOOKED)


def inputs_of(source: Source) -> TokenInputs:
    """The ids that a step or a reading read."""
    if isinstance(source, Step):
        return inputs_of_step(source)
    src, tgt, types = (None if not ids else torch.tensor([ids], device=source.ckpt.device)
                       for ids in (source.ids["src"], source.ids["tgt"], source.types))
    return TokenInputs(source.ckpt, src, tgt, source.changes, source.next_id, types)


def _encode(source: Source, taps: Taps) -> StackOutput:
    read, is_reading = inputs_of(source), isinstance(source, Reading)
    assert read.src is not None, "only a model with an encoder encodes"
    seen = torch.ones(1, 1, 1, read.src.shape[1], dtype=torch.bool, device=read.src.device)  # one text has no padding
    return source.ckpt.model.encode(read.src, types=read.types, mask=seen, taps=taps, readable=is_reading)


def _decode(source: Source, memory: Tensor | None, taps: Taps) -> StackOutput:
    read, is_reading = inputs_of(source), isinstance(source, Reading)
    assert read.tgt is not None, "only a model with a decoder decodes"
    return source.ckpt.model.decode(read.tgt, memory, causal=True, taps=taps, readable=is_reading)


@torch.no_grad()
def read_again(step: Step, position: int, taps: Taps = NO_TAPS) -> StackOutput:
    """The decoder's output at one position of a step, made of the keys and values that the step has of all before it:
    rows (1, 1, d_model). Only for positions whose rows were turned as they are now; see `rotation_state`."""
    def of_layers(kind: Kind, count: int | None) -> list[KeysValues]:
        _, keys, values = step.projections(kind)
        return [KeysValues(k[None, :, :count], v[None, :, :count]) for k, v in zip(keys, values, strict=True)]

    token = torch.tensor([[step.tokens[position]]], device=step.ckpt.device)
    return step.ckpt.model.decode(token, of_layers("cross", None) if "cross" in step.kinds else None, causal=True,
                                  past=of_layers("decoder", position), taps=taps)


@dataclass(frozen=True, eq=False)
class Effects:
    """The direct effects of all parts on the logit of one token or class: `transformer.analysis.direct`."""

    token: int | None  # whose logit; of a model that classifies a class
    heads: dict[str, Tensor]  # kind -> (L, H); empty where there are none
    feed_forward: Tensor  # (L,)
    embedding: float = 0.0
    positions: float = 0.0  # 0 where none are added
    biases: float = 0.0
    logit: float = 0.0
    why: str | None = None  # why there are none, in a sentence

    __repr__ = brief

    @classmethod
    def none(cls, why: str) -> "Effects":
        """No effects, and the sentence that says why."""
        return cls(None, {}, torch.zeros(0), why=why)


def effects(source: Source, token: int | None = None, *, position: int | None = None,
            of: Mapping[Stack, Carried] | None = None) -> Effects:
    """Takes the logit of the chosen token apart: of a step what it chose, of a reading what came next or is likeliest,
    of a classifier the likeliest class, unless another is given. position: of a target, the place it is predicted from;
    the last unless given. of: what `carried` returned for this source, whose pass is then not made again. Raises
    ValueError for a token or a position that is not there."""
    config = source.ckpt.config
    if config.task == "reads":
        return Effects.none(MASKED if config.head == "masked" else NO_HEAD)
    if config.logits_cap is not None:
        return Effects.none(CAPPED)
    read, stack = inputs_of(source), STACKS[bool(config.decoder_layers)]
    last = len(read.ids) - 1
    position = last if position is None or read.tgt is None else position
    if read.tgt is not None:
        read = inputs_up_to(read, position)
    if not of or position not in of[stack].positions:
        try:
            of = carried(source, newest=position == last)
        except ValueError as error:
            return Effects.none(str(error))
    run = of[stack].run
    if read.tgt is not None:
        run = _row_of(run, of[stack].positions.index(position), position)
    found = direct_effect(read, token, run=run)
    parts = [value for each in found.heads.values() for value in each.flatten().tolist()]
    size = sum(map(abs, [*parts, *found.feed_forward.tolist(), found.embedding, found.positions or 0.0, found.biases]))
    if source.changes and abs(found.total - found.logit) > EXACT * (size + 1):
        return Effects.none(CHANGED)
    return Effects(found.token, found.heads, found.feed_forward, found.embedding, found.positions or 0.0, found.biases,
                   found.logit)


def _row_of(run: StackOutput, row: int, position: int) -> StackOutput:
    """A decoder's pass as far as one row has to do with it, which is at a position of the text."""
    rows, keys = slice(row, row + 1), position + 1

    def seen(one: AttentionOutput, keys: int) -> AttentionOutput:
        memory = KeysValues(*(part[:, :, :keys] for part in one.memory))
        return one._replace(
            queries=one.queries[:, :, rows], memory=memory, output=one.output[:, rows], scores=None, weights=None,
            bias=None if one.bias is None else one.bias[..., rows, :keys],
            mask=None if one.mask is None else one.mask[rows, :keys])

    return StackOutput(run.x[:, rows], [x[:, rows] for x in run.inputs], [seen(one, keys) for one in run.attention],
                       [seen(one, one.memory.keys.shape[2]) for one in run.cross])


class FeatureParts(NamedTuple):
    """One number of a query or a key taken apart: products of a row of weights and of what it reads, then what is done
    to their sum, in this order."""

    weights: Tensor  # (d_model,), the row of W_q or W_k
    row: Tensor  # (d_model,), what is read: the residual after its norm
    residual: Tensor  # (d_model,), the residual itself
    bias: float | None  # None for a map without one
    projected: float  # weights · row + bias
    clipped: float  # no further from 0 than `clip`
    clip: float | None
    normed: float  # after a norm of queries and keys
    partner: int | None  # the number that it is turned with; None for a number that no position turns
    partner_value: float | None  # that number before it is turned
    cos: float | None
    sin: float | None  # with the sign that it has here: turned = normed · cos + partner_value · sin
    turned: float
    value: float  # as the model has it

    __repr__ = brief

    @property
    def is_changed(self) -> bool:
        """Whether a change made another number of what was computed."""
        return abs(self.value - self.turned) > 1e-4 * (1 + abs(self.turned))


@torch.no_grad()
def feature(source: Source, kind: Kind, layer: int, head: int, position: int, number: int,
            side: Literal["q", "k"] = "q") -> FeatureParts:
    """Takes one number of a head's query ("q") or key ("k") at a position apart. Of grouped heads, a head's key is that
    of its group. Raises ValueError for what is not there, and where hooks changed the attention."""
    _check_unhooked(source)
    model, config = source.ckpt.model, source.ckpt.config
    of_memory = kind == "cross" and side == "k"
    _check_feature(source, kind, side, layer, head, position, number)
    found = source.projections(kind)
    assert found is not None, "what hooks changed is refused above"
    kept = found[0 if side == "q" else 1][layer]
    attention = model.attention(kind, layer)
    heads = attention.n_heads if side == "q" else attention.groups
    at = head * heads // attention.n_heads  # the group's number, of a key
    residual, row = _rows_read(source, kind, layer, position, of_memory=of_memory)
    linear: nn.Linear = attention.q_proj if side == "q" else attention.k_proj
    weights = linear.weight[at * config.width + number].to(row.dtype)
    bias = None if linear.bias is None else float(linear.bias[at * config.width + number])
    projected = linear(row[None])[0]
    clipped = projected if attention.qkv_clip is None else projected.clamp(-attention.qkv_clip, attention.qkv_clip)
    split = clipped.view(1, heads, 1, -1)  # (B, heads, T, D)
    normed = (attention.q_norm if side == "q" else attention.k_norm)(split)[0, at, 0]
    turn = None if kind == "cross" else _turn(source, kind, layer, position, number)
    partner, cos, sin = (None, None, None) if turn is None else turn
    beside = None if partner is None else float(normed[partner])
    turned = float(normed[number])
    if cos is not None and sin is not None and beside is not None:
        turned = turned * cos + beside * sin
    place = at * config.width + number
    return FeatureParts(weights.float().cpu(), row.float().cpu(), residual.float().cpu(), bias, float(projected[place]),
                        float(clipped[place]), attention.qkv_clip, float(normed[number]), partner, beside, cos, sin,
                        turned, float(kept[at, position, number]))


def _check_feature(source: Source, kind: Kind, side: str, *at: int) -> None:
    """Raises ValueError for a kind, a side, or one of layer, head, position and number that is not there."""
    config = source.ckpt.config
    if kind not in source.kinds:
        raise ValueError(f"there is no {kind!r} attention; choose {' or '.join(source.kinds)}")
    if side not in ("q", "k"):
        raise ValueError(f"side is {side!r}; choose q or k")
    tokens = len(source.axes(kind)[side == "k"])
    for name, value, count in zip(("layer", "head", "position", "number"), at,
                                  (config.layers(kind), config.n_heads, tokens, config.width), strict=True):
        if not 0 <= value < count:
            raise ValueError(f"{name} is {value}; choose one from 0 to {count - 1}")


def _rows_read(source: Source, kind: Kind, layer: int, position: int, *, of_memory: bool) -> tuple[Tensor, Tensor]:
    """The residual at a position and the row that an attention reads there, each (d_model,)."""
    model, config = source.ckpt.model, source.ckpt.config
    if kind == "encoder" or of_memory:
        last = config.encoder_layers - 1
        names = ["encoder.final", f"encoder.{last}.resid_post"] if of_memory else [f"encoder.{layer}.resid_pre"]
        taps = Capturing([places(config)[name] for name in names], source.taps)
        _encode(source, taps)
        if of_memory:
            final, residual = (taps.values[name][0, position] for name in names)
            return residual, final
        residual = taps.values[names[0]][0, position]
    else:
        name = f"decoder.{layer}.{'resid_mid' if kind == 'cross' else 'resid_pre'}"
        taps, read = Capturing([places(config)[name]], source.taps), inputs_of(source)
        length = len(read.ids)
        is_kept = isinstance(source, Step) and rotation_state(config, position + 1) == rotation_state(config, length)
        if isinstance(source, Step) and is_kept:
            read_again(source, position, taps)
        else:
            _decode(source, None if read.src is None else _encode(source, source.taps).x, taps)
        residual = taps.values[name][0, 0 if is_kept else position]
    block, part = cast(Layer, model.stack(kind).layers[layer]), "cross" if kind == "cross" else "attention"
    return residual, block.part_input(residual[None, None], part)[0, 0]


def _turn(source: Source, kind: Kind, layer: int, position: int, number: int) -> tuple[int, float, float] | None:
    """How a number is turned at a position: the number it is turned with, the factors of itself and of that one. None
    where positions do not turn it."""
    placed = source.ckpt.model.placed(kind, range(len(source.axes(kind)[0])))[layer]
    if placed.angles is None or number >= 2 * placed.angles.shape[1]:
        return None
    # what becomes of a head in which only this number, or only its partner, is 1
    pairs = placed.angles.shape[1]
    partner = number ^ 1 if placed.rotary.layout == "interleaved" else (number + pairs) % (2 * pairs)
    ones = torch.eye(source.ckpt.config.width, device=placed.angles.device)[[number, partner]]
    turned = placed._replace(angles=placed.angles[position, None]).turn(ones[None, :, None])[0, :, 0, number]
    return partner, float(turned[0]), float(turned[1])

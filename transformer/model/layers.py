"""One layer of the encoder or the decoder, and a stack of them.

B batch, T tokens, S source tokens, H heads.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.basics.formatting import brief
from transformer.model.attention import Attention, AttentionOutput
from transformer.model.cache import Cache, KeysValues
from transformer.model.norms import Linear, build_norm
from transformer.model.positions import NO_EFFECTS, POSITIONS, PositionEffects
from transformer.model.sites import NO_TAP, NO_TAPS, Tap, Taps
from transformer.settings.config import Kind, ModelConfig

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh"), "silu": F.silu}


class Dropout(nn.Dropout):
    """Zeroes numbers at random while training, and scales the rest to the same mean. Srivastava et al. 2014.

    On a CPU one byte is drawn for each number, which is three times as fast as PyTorch's; the share is then the
    nearest 1/256.
    """

    def forward(self, input: Tensor) -> Tensor:
        x, dropped = input, round(256 * self.p)
        if not self.training or x.device.type != "cpu" or dropped in (0, 256):
            return super().forward(x)
        eight = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-2 ** 63, None)
        keep = eight.view(torch.uint8)[:x.numel()].view(x.shape) >= dropped
        return x * keep.to(x.dtype).mul_(256 / (256 - dropped))


class FeedForward(nn.Module):
    """Two linear maps with an activation between them. Vaswani et al. 2017, section 3.3. Gated: the activated rows are
    multiplied by those of a third map (Shazeer 2020, section 2)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.gate = Linear(config.d_model, config.d_ff, bias="up" in config.biases) if config.gated else None
        self.up = Linear(config.d_model, config.d_ff, bias="up" in config.biases)
        self.down = Linear(config.d_ff, config.d_model, bias="down" in config.biases)
        self.dropout = Dropout(config.dropout)
        self.activation = ACTIVATIONS[config.activation]

    def activated(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """The rows that the last linear map reads: x (..., d_model) -> (..., d_ff)."""
        rows = self.activation(tap("mlp_pre", (self.gate or self.up)(x)))
        return tap("mlp_post", rows if self.gate is None else rows * self.up(x))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return self.down(self.dropout(self.activated(x, tap)))


class LayerOutput(NamedTuple):
    x: Tensor  # (B, T, d_model)
    attention: AttentionOutput
    cross: AttentionOutput | None

    __repr__ = brief


class Layer(nn.Module):
    """Self-attention, cross-attention in a decoder that has a memory, and feed-forward unless d_ff is 0: three parts,
    each added to its input.

    norm_position: "pre" normalises what goes into each part (Xiong et al. 2020, section 3), "post" the sum after it
    (Vaswani et al. 2017, section 3.1), "output" what comes out of it (OLMo 2), "both" what goes in and what comes out
    (Gemma 2). parallel: attention and feed-forward read the same rows (Wang and Komatsuzaki 2021, GPT-J).
    """

    def __init__(self, config: ModelConfig, *, cross: bool = False, first: bool = False):
        super().__init__()
        self.is_post, self.parallel = config.norm_position == "post", config.parallel is not None
        self.scale = config.residual_scale
        self.attention, self.cross = Attention(config), Attention(config) if cross else None
        self.feed_forward = FeedForward(config) if config.d_ff else None
        for part in ("attention", "cross", "feed_forward"):
            there = getattr(self, part) is not None
            shared = part == "feed_forward" and config.parallel == "one"
            reads = (there and not shared and config.norm_position != "output"
                     and (config.first_norm or part != "attention" or not first))
            # the norm of the input or of the sum, and the norm of the output
            setattr(self, f"{part}_norm", build_norm(config) if reads else nn.Identity() if there else None)
            if config.norm_position in ("both", "output"):
                setattr(self, f"{part}_out_norm", build_norm(config) if there else None)
        self.shared = config.parallel == "one"
        self.has_output_norm = config.norm_position in ("both", "output")
        self.dropout = Dropout(config.dropout)

    def norm_of(self, part: str) -> nn.Module:
        """The norm of the rows that "attention", "cross" or "feed_forward" reads, or of the sum after it."""
        return getattr(self, "attention_norm" if self.shared and part == "feed_forward" else f"{part}_norm")

    def part_input(self, x: Tensor, part: str) -> Tensor:
        """The rows that a part reads, of the rows x (B, T, d_model)."""
        return x if self.is_post else self.norm_of(part)(x)

    def part_output(self, change: Tensor, part: str) -> Tensor:
        """The rows that a part adds, of what it computed (B, T, d_model)."""
        if self.has_output_norm:
            change = getattr(self, f"{part}_out_norm")(change)
        return change if self.scale == 1 else change * self.scale

    def add(self, x: Tensor, change: Tensor, part: str, tap: Tap = NO_TAP) -> Tensor:
        """The rows x (B, T, d_model) after a part computed a change."""
        added, after = ("mlp_out", "resid_post") if part == "feed_forward" else ("attn_out", "resid_mid")
        x = x + self.dropout(tap(added, self.part_output(change, part)))
        return tap(after, self.norm_of(part)(x) if self.is_post else x)

    def attend(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, mask: Tensor | None = None,
             causal: bool = False, memory_mask: Tensor | None = None, past: KeysValues | Cache | None = None,
             placed: PositionEffects = NO_EFFECTS, tap: Tap = NO_TAP, cross_tap: Tap = NO_TAP,
             readable: bool = False) -> LayerOutput:
        """The layer without its feed-forward part. See `Attention` for the arguments."""
        own = self.attention(self.part_input(x, "attention"), mask=mask, causal=causal, past=past, placed=placed,
                             tap=tap, readable=readable)
        x = self.add(x, own.output, "attention", tap)
        if self.cross is None:
            return LayerOutput(x, own, None)
        other = self.cross(self.part_input(x, "cross"), memory, mask=memory_mask, tap=cross_tap, readable=readable)
        return LayerOutput(self.add(x, other.output, "cross", cross_tap), own, other)

    def forward(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, tap: Tap = NO_TAP,
                **options) -> LayerOutput:
        """x (B, T, d_model) -> the same shape; see `attend` for the options."""
        after, own, other = self.attend(x, memory, tap=tap, **options)
        if self.feed_forward is None:
            return LayerOutput(tap("resid_post", after), own, other)
        change = self.feed_forward(self.part_input(x if self.parallel else after, "feed_forward"), tap)
        return LayerOutput(self.add(after, change, "feed_forward", tap), own, other)


if TYPE_CHECKING:
    class Layers(nn.ModuleList):
        """A list of modules that are layers."""

        def __iter__(self) -> Iterator[Layer]: ...
        @overload
        def __getitem__(self, idx: slice) -> "Layers": ...
        @overload
        def __getitem__(self, idx: int) -> Layer: ...
        def __getitem__(self, idx: int | slice) -> "Layer | Layers": ...
else:
    Layers = nn.ModuleList


class StackOutput(NamedTuple):
    """The result of a stack; one entry for each layer."""

    x: Tensor  # (B, T, d_model), after the final norm where there is one
    inputs: list[Tensor]  # what went into each layer, and what came out of the last, each (B, T, d_model)
    attention: list[AttentionOutput]
    cross: list[AttentionOutput]  # empty without cross-attention

    __repr__ = brief


class Stack(nn.Module):
    """Layers one after the other, and a final norm unless each sum is normalised."""

    def __init__(self, config: ModelConfig, layers: int, *, cross: bool = False):
        super().__init__()
        if config.shared_layers:
            parts = [Layer(config, cross=cross)] * layers
        else:
            parts = [Layer(config, cross=cross, first=i == 0) for i in range(layers)]
        self.layers = Layers(parts)
        self.norm = build_norm(config) if config.final_norm and config.norm_position != "post" else nn.Identity()
        # learned numbers or vectors of distances, shared by all layers (see `positions`)
        bucketed = POSITIONS[config.positions].bucketed
        columns, sides = (config.n_heads, 1) if bucketed == "numbers" else (config.d_model, 2)
        self.buckets = nn.Embedding(sides * config.relative_buckets, columns) if bucketed else None

    def forward(self, x: Tensor, memory: Tensor | list[KeysValues] | None = None, *,
                past: Sequence[KeysValues | Cache] | None = None, placed: Sequence[PositionEffects] | None = None,
                kind: Kind = "decoder", taps: Taps = NO_TAPS, first: int = 0, **options) -> StackOutput:
        """x (B, T, d_model). memory: one tensor, or each layer's keys and values; past and placed: one for each layer;
        kind: of self-attention, by which the taps are found; first: the layer that reads x, with those below left
        out."""
        inputs, attention, cross = [], [], []
        for i, layer in enumerate(self.layers[first:], first):
            tap = taps.of(kind, i)
            x = tap("resid_pre", x)
            inputs.append(x)
            x, own, other = layer(x, memory[i] if isinstance(memory, list) else memory,
                                  past=past[i] if past else None, placed=placed[i] if placed else NO_EFFECTS,
                                  tap=tap, cross_tap=taps.of("cross", i), **options)
            attention.append(own)
            if other is not None:
                cross.append(other)
        inputs.append(x)
        return StackOutput(taps.of(kind)("final", self.norm(x)), inputs, attention, cross)

"""One layer of the encoder or the decoder, and a stack of them.

B batch, T tokens, S source tokens, H heads.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ModelConfig
from transformer.formatting import brief
from transformer.model.attention import Attention, AttentionOutput
from transformer.model.cache import Cache, KeysValues
from transformer.model.norms import Linear, build_norm
from transformer.model.positions import NO_EFFECTS, POSITIONS, PositionEffects
from transformer.model.switches import Switch

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh"), "silu": F.silu}


class Dropout(nn.Dropout):
    """Zeroes numbers at random while training, and scales the rest to the same mean. Srivastava et al. 2014.

    On a CPU one byte is drawn for each number, which is three times as fast as PyTorch's; the share is then the
    nearest 1/256.
    """

    def forward(self, x: Tensor) -> Tensor:
        dropped = round(256 * self.p)
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

    def activated(self, x: Tensor) -> Tensor:
        """The rows that the last linear map reads: x (..., d_model) -> (..., d_ff)."""
        if self.gate is None:
            return self.activation(self.up(x))
        return self.activation(self.gate(x)) * self.up(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.dropout(self.activated(x)))


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

    def add(self, x: Tensor, change: Tensor, part: str) -> Tensor:
        """The rows x (B, T, d_model) after a part computed a change."""
        x = x + self.dropout(self.part_output(change, part))
        return self.norm_of(part)(x) if self.is_post else x

    def attend(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, mask: Tensor | None = None,
             causal: bool = False, memory_mask: Tensor | None = None, past: KeysValues | Cache | None = None,
             placed: PositionEffects = NO_EFFECTS, heads: Switch | None = None, cross_heads: Switch | None = None,
             readable: bool = False) -> LayerOutput:
        """The layer without its feed-forward part. See `Attention` for the arguments."""
        own = self.attention(self.part_input(x, "attention"), mask=mask, causal=causal, past=past, placed=placed,
                             heads=heads, readable=readable)
        x = self.add(x, own.output, "attention")
        if self.cross is None:
            return LayerOutput(x, own, None)
        other = self.cross(self.part_input(x, "cross"), memory, mask=memory_mask, heads=cross_heads, readable=readable)
        return LayerOutput(self.add(x, other.output, "cross"), own, other)

    def forward(self, x: Tensor, memory: Tensor | KeysValues | None = None, **options) -> LayerOutput:
        """x (B, T, d_model) -> the same shape; see `attend` for the options."""
        after, own, other = attended = self.attend(x, memory, **options)
        if self.feed_forward is None:
            return attended
        change = self.feed_forward(self.part_input(x if self.parallel else after, "feed_forward"))
        return LayerOutput(self.add(after, change, "feed_forward"), own, other)


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
            self.layers = nn.ModuleList([Layer(config, cross=cross)] * layers)
        else:
            self.layers = nn.ModuleList(Layer(config, cross=cross, first=i == 0) for i in range(layers))
        self.norm = build_norm(config) if config.final_norm and config.norm_position != "post" else nn.Identity()
        # learned numbers or vectors of distances, shared by all layers (see `positions`)
        bucketed = POSITIONS[config.positions].bucketed
        columns, sides = (config.n_heads, 1) if bucketed == "numbers" else (config.d_model, 2)
        self.buckets = nn.Embedding(sides * config.relative_buckets, columns) if bucketed else None

    def forward(self, x: Tensor, memory: Tensor | list[KeysValues] | None = None, *,
                past: Sequence[KeysValues | Cache] | None = None, placed: Sequence[PositionEffects] | None = None,
                heads: Switch | None = None, cross_heads: Switch | None = None, **options) -> StackOutput:
        """x (B, T, d_model). memory: one tensor, or each layer's keys and values; past and placed: one for each layer;
        heads (layers, H)."""
        inputs, attention, cross = [x], [], []
        for i, layer in enumerate(self.layers):
            x, own, other = layer(x, memory[i] if isinstance(memory, list) else memory,
                                  past=past[i] if past else None, placed=placed[i] if placed else NO_EFFECTS,
                                  heads=None if heads is None else heads[i],
                                  cross_heads=None if cross_heads is None else cross_heads[i], **options)
            inputs.append(x)
            attention.append(own)
            if other is not None:
                cross.append(other)
        return StackOutput(self.norm(x), inputs, attention, cross)

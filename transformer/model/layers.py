"""One layer of the encoder or the decoder, and a stack of them.

B batch, T tokens, S source tokens, H heads.
"""

from functools import partial
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from transformer.brief import brief
from transformer.config import ModelConfig
from transformer.model.attention import Attended, Attention, KeysValues
from transformer.model.positions import NOWHERE, Placed
from transformer.model.switches import Switch

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh"), "silu": F.silu}


def layer_norm(config: ModelConfig) -> nn.LayerNorm:
    """The norm of rows (..., d_model) that every part of a model uses."""
    return nn.LayerNorm(config.d_model, eps=config.norm_eps)


class FeedForward(nn.Module):
    """Two linear maps with an activation between them. Vaswani et al. 2017, section 3.3."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.up = nn.Linear(config.d_model, config.d_ff)
        self.down = nn.Linear(config.d_ff, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.dropout(self.activation(self.up(x))))


class LayerOutput(NamedTuple):
    x: Tensor  # (B, T, d_model)
    attention: Attended
    cross: Attended | None

    __repr__ = brief


class Layer(nn.Module):
    """Self-attention, cross-attention where there is something to cross to, feed-forward; each added to its input.

    norm="post" normalises each sum, as in Vaswani et al. 2017, section 3.1; norm="pre" normalises what goes into each
    part and leaves the sum alone (Xiong et al. 2020, section 3).
    """

    def __init__(self, config: ModelConfig, *, cross: bool = False):
        super().__init__()
        self.pre = config.norm == "pre"
        attention_dropout = config.dropout if config.attention_dropout is None else config.attention_dropout
        attention = partial(Attention, config.d_model, config.n_heads, head_dim=config.width, dropout=attention_dropout)
        self.attention, self.attention_norm = attention(), layer_norm(config)
        self.cross, self.cross_norm = (attention(), layer_norm(config)) if cross else (None, None)
        self.feed_forward, self.feed_forward_norm = FeedForward(config), layer_norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def before(self, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        return norm(x) if self.pre else x

    def add(self, x: Tensor, change: Tensor, norm: nn.LayerNorm) -> Tensor:
        x = x + self.dropout(change)
        return x if self.pre else norm(x)

    def look(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, mask: Tensor | None = None,
             causal: bool = False, memory_mask: Tensor | None = None, past: KeysValues | None = None,
             placed: Placed = NOWHERE, heads: Switch | None = None, cross_heads: Switch | None = None,
             readable: bool = False) -> LayerOutput:
        """The layer without its feed-forward part: all the attention in it. See `Attention` for the arguments."""
        own = self.attention(self.before(x, self.attention_norm), mask=mask, causal=causal, past=past, placed=placed,
                             heads=heads, readable=readable)
        x = self.add(x, own.output, self.attention_norm)
        if self.cross is None:
            return LayerOutput(x, own, None)
        other = self.cross(self.before(x, self.cross_norm), memory, mask=memory_mask, heads=cross_heads,
                           readable=readable)
        return LayerOutput(self.add(x, other.output, self.cross_norm), own, other)

    def forward(self, x: Tensor, memory: Tensor | KeysValues | None = None, **options) -> LayerOutput:
        """x (B, T, d_model) -> the same shape; see `look` for the rest."""
        x, own, other = self.look(x, memory, **options)
        change = self.feed_forward(self.before(x, self.feed_forward_norm))
        return LayerOutput(self.add(x, change, self.feed_forward_norm), own, other)


class StackOutput(NamedTuple):
    """What a stack of layers did; one entry a layer."""

    x: Tensor  # (B, T, d_model), after the final norm where there is one
    inputs: list[Tensor]  # what went into each layer, and what came out of the last, each (B, T, d_model)
    attention: list[Attended]
    cross: list[Attended]  # empty without cross-attention

    __repr__ = brief


class Stack(nn.Module):
    """Layers one after the other; with norm="pre" a final norm, which the last sum would otherwise lack."""

    def __init__(self, config: ModelConfig, layers: int, *, cross: bool = False):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, cross=cross) for _ in range(layers))
        self.norm = layer_norm(config) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, memory: Tensor | list[KeysValues] | None = None, *,
                past: list[KeysValues] | None = None, heads: Switch | None = None, cross_heads: Switch | None = None,
                **options) -> StackOutput:
        """x (B, T, d_model). memory: one tensor, or each layer's rows; past: each layer's rows; heads (layers, H)."""
        inputs, attention, cross = [x], [], []
        for i, layer in enumerate(self.layers):
            x, own, other = layer(x, memory[i] if isinstance(memory, list) else memory,
                                  past=past[i] if past else None,
                                  heads=None if heads is None else heads[i],
                                  cross_heads=None if cross_heads is None else cross_heads[i], **options)
            inputs.append(x)
            attention.append(own)
            if other is not None:
                cross.append(other)
        return StackOutput(self.norm(x), inputs, attention, cross)

"""The transformer: encoder-decoder, decoder-only, or an encoder that classifies or fills in masked pieces.

B batch, S source length, T target length, V vocabulary, H heads.
"""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.model.attention import Attention
from transformer.model.cache import Cache, KeysValues
from transformer.model.layers import ACTIVATIONS, Dropout, Stack, StackOutput
from transformer.model.masks import is_token, padding_mask, target_mask, window_mask
from transformer.model.norms import Linear, build_norm
from transformer.model.positions import POSITIONS, Picture, PositionEffects
from transformer.model.sites import NO_TAP, NO_TAPS, Tap, Taps
from transformer.settings.config import Kind, ModelConfig

POOLERS = {"tanh": torch.tanh, **ACTIVATIONS}


class Embedding(nn.Module):
    """Token ids to vectors, with positions added if they are of that kind. Vaswani et al. 2017, sections 3.4 and
    3.5."""

    added: Tensor | None  # to the rows, by positions that are not learned

    def __init__(self, config: ModelConfig, vocab_size: int):
        super().__init__()
        width = config.embedding_dim or config.d_model
        self.tokens = nn.Embedding(vocab_size, width)
        self.widen = Linear(width, config.d_model) if config.embedding_dim else nn.Identity()
        self.widen_first, self.scale = config.widen_first, config.embedding_factor
        width = config.d_model if config.widen_first else width
        self.types = nn.Embedding(config.type_vocab, width) if config.type_vocab else None
        positions = POSITIONS[config.positions]
        self.positions = nn.Embedding(config.max_len, width) if positions.learned else None
        self.register_buffer("added", positions.added(config), persistent=False)
        self.norm = build_norm(config, width=width) if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.max_len = config.max_len

    def encoding(self, start: int, end: int) -> Tensor | None:
        """The rows added for positions start..end -> (T, d_model); None if nothing is added."""
        if end > self.max_len:
            raise ValueError(f"{end} tokens, but this model reads at most {self.max_len}; shorten the text")
        table = self.added if self.positions is None else self.positions.weight
        return None if table is None else table[start:end]

    def forward(self, ids: Tensor, *, start: int = 0, types: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """ids (B, T), the first of them at position `start` -> (B, T, d_model)."""
        return self.sum(self.tokens(ids), start=start, types=types, tap=tap)

    def sum(self, tokens: Tensor, *, start: int = 0, types: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Embeddings of rows of the token table (B, T, width), the first of them at position `start` -> (B, T,
        d_model)."""
        x = (tokens if tokens.dtype.itemsize > 2 else tokens.float()) * self.scale  # half precision is for storage only
        x = tap("embed", self.widen(x) if self.widen_first else x)
        positions = self.encoding(start, start + tokens.shape[1])
        if positions is not None:
            x = x + tap("pos_embed", positions[None])
        if self.types is not None:
            x = x + (self.types.weight[0] if types is None else self.types(types))
        x = self.norm(x)
        return self.dropout(x if self.widen_first else self.widen(x))


class MaskedHead(nn.Module):
    """One more layer before the pieces of a masked language model are predicted. Devlin et al. 2019, appendix A.2."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        width = config.embedding_dim or config.d_model
        self.dense = Linear(config.d_model, width, bias="head" in config.biases)
        self.activation = ACTIVATIONS[config.head_activation or config.activation]
        self.norm = build_norm(config, width=width)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.activation(self.dense(x)))


class _NoNumbers(TorchFunctionMode):
    """Draws no first weights. For those that have no numbers PyTorch goes through the motions in Python, and for that
    imports its compiler and a computer algebra system, which takes a second."""

    def __torch_function__(self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


class Transformer(nn.Module):
    """All shapes of the transformer; the configuration says which. Vaswani et al. 2017, figure 1.

    >>> config = transformer.ModelConfig(vocab_size=256, encoder_layers=0, decoder_layers=2)
    >>> sum(weight.numel() for weight in transformer.Transformer(config).parameters())
    429568
    """

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None = None):
        super().__init__()
        self.config, self.positions = config, POSITIONS[config.positions]
        translates = config.task == "translation"
        if config.decoder_layers:
            self.tgt_embedding = Embedding(config, config.vocab_size)
            self.decoder = Stack(config, config.decoder_layers, cross=translates)
            width = config.embedding_dim or config.d_model
            self.narrow = Linear(config.d_model, width) if width != config.d_model else nn.Identity()
            self.output = Linear(width, config.vocab_size, bias=config.logits_bias)
        if config.encoder_layers:
            self.src_embedding = Embedding(config, config.src_vocab_size or config.vocab_size)
            self.encoder = Stack(config, config.encoder_layers)
        if config.pooler:
            self.pooler = Linear(config.d_model, config.d_model, bias="head" in config.biases)
            self.pooler_norm = build_norm(config) if config.pooler_norm else nn.Identity()
        if config.head == "masked":
            self.masked_head = MaskedHead(config)
            width = config.embedding_dim or config.d_model
            self.output = Linear(width, config.src_vocab_size or config.vocab_size, bias=config.logits_bias)
        elif config.task == "classes" and config.n_classes:
            self.output = Linear(config.d_model, config.n_classes)
        self.output_dropout = Dropout(config.output_dropout)
        self._initialise(generator)
        if config.tie_embeddings and config.decoder_layers:
            self.output.weight = self.tgt_embedding.tokens.weight
            if translates:
                self.src_embedding.tokens.weight = self.tgt_embedding.tokens.weight
        if config.tie_embeddings and config.head == "masked":
            self.output.weight = self.src_embedding.tokens.weight

    @classmethod
    def laid_out(cls, config: ModelConfig) -> "Transformer":
        """A model whose weights have their shapes and no numbers: it takes no memory and next to no time."""
        with torch.device("meta"), _NoNumbers():
            return cls(config)

    @classmethod
    def holding(cls, config: ModelConfig, weights: Mapping[str, Tensor]) -> "Transformer":
        """A model with these weights, in eval mode and without gradients. The weights are neither copied nor converted;
        of tied ones, one name is enough."""
        model = cls.laid_out(config)
        names: dict[int, list[str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
        for tied in names.values():
            parameter = nn.Parameter(next(weights[name] for name in tied if name in weights), requires_grad=False)
            for name in tied:
                module, _, leaf = name.rpartition(".")
                setattr(model.get_submodule(module), leaf, parameter)
        for module in model.modules():
            if isinstance(module, Embedding):
                module.added = model.positions.added(config)
        return model.eval()

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator | None) -> None:
        config = self.config
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue  # biases and norms, set just below or by torch
            tables = ("tokens.", "positions.", "types.", "buckets.")
            if any(table in name for table in tables) or name == "output.weight":
                # scaled by sqrt(d_model) on the way in, so that it starts with a spread of 1
                std = config.d_model ** -0.5 if config.embedding_scale else 0.02
                nn.init.normal_(parameter, std=std, generator=generator)
            elif config.init == "xavier_uniform":
                nn.init.xavier_uniform_(parameter, generator=generator)
            else:  # Radford et al. 2019, section 2.3: what adds to the residual stream is scaled by its depth
                depth = 2 * max(config.stacks.values())
                residual = "out_proj" in name or "down" in name
                nn.init.normal_(parameter, std=0.02 / sqrt(depth) if residual else 0.02, generator=generator)
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def stack(self, kind: Kind) -> Stack:
        """The stack that has attention of a kind."""
        return self.encoder if kind == "encoder" else self.decoder

    def placed(self, kind: Kind, places: range) -> list[PositionEffects]:
        """The effects of positions on each layer's "encoder" or "decoder" self-attention, for tokens at these places
        that see all tokens up to the last, or those within the layer's window."""
        config, device, keys = self.config, self.device, range(places.stop)
        bias = self.bias(kind, places, keys)
        buckets = self.positions.buckets(places, keys, config, device=device)
        by_window: dict[bool, PositionEffects] = {}
        for layer in range(config.layers(kind)):
            if (has_window := config.has_window(layer)) not in by_window:
                rotary = config.rotary_of(layer)
                by_window[has_window] = PositionEffects(
                    self.positions.angles(places, config, rotary=rotary, device=device), bias, rotary,
                    self.window(kind, places, keys, layer=layer),
                    None if buckets is None else self._learned(kind), buckets)
        return [by_window[config.has_window(layer)] for layer in range(config.layers(kind))]

    def window(self, kind: Kind, queries: range, keys: range, *, layer: int) -> Tensor | None:
        """The keys within the window of a layer's self-attention -> (Tq, Tk); None if all are."""
        window = self.config.window if kind != "cross" and self.config.has_window(layer) else None
        if window is None or window >= len(keys):
            return None
        return window_mask(queries, keys, window, causal=kind == "decoder", device=self.device)

    def bias(self, kind: Kind, queries: range, keys: range) -> Tensor | None:
        """What positions add to the scores of queries and keys at these places -> (H, Tq, Tk). None if they add
        nothing, as always in cross-attention, where places on the two sides cannot be compared."""
        if kind == "cross":
            return None
        return self.positions.bias(queries, keys, self.config, learned=self._learned(kind), causal=kind == "decoder",
                                   device=self.device)

    def distance_bias(self, kind: Kind, layer: int, q: Tensor, k: Tensor, queries: range, keys: range) -> Tensor | None:
        """What learned vectors of distances add to the scores of queries q (H, Tq, D) and keys k (G, Tk, D) at these
        places in a layer -> (H, Tq, Tk); None for a model or a kind that has none."""
        buckets = self.positions.buckets(queries, keys, self.config, device=self.device)
        learned = None if kind == "cross" else self._learned(kind)
        if learned is None or buckets is None:
            return None
        return self.attention(kind, layer).distance_bias(q[None], k[None], learned, buckets)[0]

    def _learned(self, kind: Kind) -> Tensor | None:
        """The weights of a stack's buckets of distances, if it has any."""
        buckets = self.stack(kind).buckets if self.positions.bucketed else None
        return None if buckets is None else buckets.weight

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @torch.no_grad()
    def position_pictures(self, length: int, *, side: str = "tgt") -> list[Picture]:
        """Pictures of what distinguishes positions 0..length; side: "src" or "tgt". Empty if the model has no
        positions."""
        added = getattr(self, f"{side}_embedding").encoding(0, length)
        kind: Kind = "encoder" if side == "src" else "decoder"
        return self.positions.pictures(length, self.config, added, learned=self._learned(kind),
                                       causal=kind == "decoder")

    def encode(self, src: Tensor, *, types: Tensor | None = None, mask: Tensor | None = None,
               taps: Taps = NO_TAPS, readable: bool = False) -> StackOutput:
        """src ids (B, S) -> x (B, S, d_model), the memory that the decoder attends to.

        mask (B, 1, S, S) says which tokens may be attended to; None: all but padding. taps: what stands at its `sites`.
        """
        places = range(src.shape[1])
        mask, taps = padding_mask(src, self.config.pad_id) if mask is None else mask, taps.at(places)
        return self.encoder(self.src_embedding(src, types=types, tap=taps.of("encoder")), mask=mask, kind="encoder",
                            placed=self.placed("encoder", places), taps=taps, readable=readable)

    def attention(self, kind: Kind, layer: int) -> Attention:
        """The "encoder", "decoder" or "cross" attention of a layer."""
        block = self.stack(kind).layers[layer]
        if kind != "cross":
            return block.attention
        assert block.cross is not None
        return block.cross

    def project_memory(self, memory: Tensor, *, taps: Taps = NO_TAPS) -> list[KeysValues]:
        """Each decoder layer's cross-attention keys and values of memory (B, S, d_model), computed once for all
        steps."""
        return [self.attention("cross", i).keys_values(memory, tap=taps.of("cross", i))
                for i in range(len(self.decoder.layers))]

    def decode(self, tgt: Tensor, memory: Tensor | list[KeysValues] | None = None, *, memory_mask: Tensor | None = None,
               mask: Tensor | None = None, causal: bool = False, past: Sequence[KeysValues | Cache] | None = None,
               taps: Taps = NO_TAPS, readable: bool = False) -> StackOutput:
        """tgt ids (B, T) -> x (B, T, d_model).

        memory: the encoder's x, or its projected keys and values. past: each layer's keys and values of earlier tokens.
        mask (B, 1, T, Tk) says which of both may be attended to; None: each token sees itself and all before it, except
        padding. causal: each token sees itself and all before it that the mask allows, and padding in tgt is not
        masked, for callers that ignore the rows of padding on the right. taps: what stands at its `sites`.
        """
        start = past[0].keys.shape[2] if past else 0
        places = range(start, start + tgt.shape[1])
        if mask is None and not causal and (start == 0 or tgt.shape[1] > 1):
            mask = target_mask(tgt, self.config.pad_id, start_id=self.config.start_id)
            if start:
                seen = mask.new_ones(*mask.shape[:3], start)
                mask = torch.cat([seen, mask], dim=-1)
        taps = taps.at(places)
        return self.decoder(self.tgt_embedding(tgt, start=start, tap=taps.of("decoder")), memory, mask=mask,
                            causal=causal, memory_mask=memory_mask, past=past, placed=self.placed("decoder", places),
                            taps=taps, readable=readable)

    def gather(self, x: Tensor, src: Tensor) -> Tensor:
        """Pools the encoder's x (B, S, d_model) -> (B, d_model): the maximum or the mean over all that is not padding,
        or the first row."""
        is_read = is_token(src, self.config.pad_id)[:, :, None]
        if self.config.pooling == "first":
            return x[:, 0]
        if self.config.pooling == "max":
            return x.masked_fill(~is_read, float("-inf")).amax(dim=1)
        return x.masked_fill(~is_read, 0.0).sum(dim=1) / is_read.sum(dim=1)

    def pool(self, x: Tensor, src: Tensor) -> Tensor:
        """Pools as `gather`, then applies the pooler if there is one -> (B, d_model)."""
        pooled = self.gather(x, src)
        if not self.config.pooler:
            return pooled
        return self.pooler_norm(POOLERS[self.config.pooler](self.pooler(pooled)))

    def classify(self, x: Tensor, src: Tensor) -> Tensor:
        """Pools the encoder's x (B, S, d_model) -> log-probabilities (B, classes)."""
        return self.project(self.pool(x, src)).log_softmax(dim=-1)

    def read(self, x: Tensor, src: Tensor) -> Tensor:
        """The output of an encoder alone, of its final rows x (B, S, d_model); see `forward`."""
        if self.config.head == "masked":
            return self.project(x)
        return self.classify(x, src) if self.config.task == "classes" else x

    def project(self, x: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """Final hidden rows (..., d_model) -> logits (..., V)."""
        config = self.config
        x = self.masked_head(x) if config.head == "masked" else self.narrow(x) if config.decoder_layers else x
        logits = self.output(self.output_dropout(x))
        if config.logits_scale != 1:
            logits = logits * config.logits_scale
        if config.logits_cap is not None:
            logits = config.logits_cap * (logits / config.logits_cap).tanh()
        return tap("logits", logits)

    def hidden(self, src: Tensor | None, tgt: Tensor) -> Tensor:
        """The decoder's final rows (B, T, d_model) for tgt (B, T), given src (B, S) if there is an encoder. Rows of
        padding, on the right, are meaningless."""
        if src is None:
            return self.decode(tgt, causal=True).x
        return self.decode(tgt, self.encode(src).x, causal=True,
                           memory_mask=padding_mask(src, self.config.pad_id)).x

    def forward(self, src: Tensor | None = None, tgt: Tensor | None = None) -> Tensor:
        """Logits (B, T, V) of the token after each of tgt (B, T). Of an encoder alone: log-probabilities (B, classes)
        of src (B, S), the logits (B, S, V) of each of its pieces, or, without a head, its final rows (B, S,
        d_model)."""
        if not self.config.decoder_layers:
            assert src is not None
            return self.read(self.encode(src).x, src)
        assert tgt is not None
        return self.project(self.hidden(src, tgt))

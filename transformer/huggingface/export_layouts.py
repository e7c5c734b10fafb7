"""Layouts of a decoder of ours as a GPT-2, a GPT-NeoX or a Llama of the transformers package."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from transformer.huggingface.folder import Refused
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS
from transformer.settings.config import PARTS, ModelConfig

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
ADDED = tuple(name for name, one in POSITIONS.items() if not one.attended)  # positions that are a table of embeddings
# Fields of which any value can be written, or changes nothing that a decoder computes. All others have to be as the
# shape has them: a new field is refused until somebody says how to write it.
WRITTEN = {"d_model", "n_heads", "decoder_layers", "d_ff", "vocab_size", "src_vocab_size", "max_len", "dropout",
           "attention_dropout", "output_dropout", "norm_eps", "sinusoid_layout", "embedding_scale", "tie_embeddings",
           "init", "pad_id", "unk_id", "bos_id", "eos_id", "end_ids", "start_id", "banned_ids", "relative_buckets",
           "relative_distance", "alibi_max", "alibi_scale", "head_activation", "qk_norm_kind", "window_layers"}
# ours in a layer -> theirs
GPT2 = {"attention.out_proj": "attn.c_proj", "feed_forward.up": "mlp.c_fc", "feed_forward.down": "mlp.c_proj",
        "attention_norm": "ln_1", "feed_forward_norm": "ln_2"}
NEOX = {"attention.out_proj": "attention.dense", "feed_forward.up": "mlp.dense_h_to_4h",
        "feed_forward.down": "mlp.dense_4h_to_h", "attention_norm": "input_layernorm",
        "feed_forward_norm": "post_attention_layernorm"}
LLAMA = {**{f"attention.{one}_proj": f"self_attn.{one}_proj" for one in "qkv"},
         "attention.out_proj": "self_attn.o_proj", "feed_forward.gate": "mlp.gate_proj",
         "feed_forward.up": "mlp.up_proj", "feed_forward.down": "mlp.down_proj", "attention_norm": "input_layernorm",
         "feed_forward_norm": "post_attention_layernorm"}


class Layout(ABC):
    """A kind of model of the transformers package."""

    title: str
    model_type: str
    architecture: str
    output: str  # the name of its output matrix
    written: frozenset[str] = frozenset()  # fields with any value, beside those that all layouts allow
    only: ClassVar[Mapping[str, tuple]] = {}  # allowed values of a field, if not only the default

    def check(self, config: ModelConfig) -> None:
        """Raises Refused for the first field whose value this layout cannot express."""
        if not config.d_ff:
            raise Refused(f"d_ff is 0, and {self.title} has a feed-forward part in every layer; this checkpoint cannot "
                          "be written as one")
        for name, field in ModelConfig.model_fields.items():
            needed = self.only.get(name, (field.default,))
            if name == "head_dim":
                needed = None, config.d_model // config.n_heads
            if name not in WRITTEN | self.written and (value := getattr(config, name)) not in needed:
                raise Refused(f"{name} is {value}, and {self.title} can only express {' or '.join(map(str, needed))}; "
                              "this checkpoint cannot be written as one")

    @abstractmethod
    def about(self, config: ModelConfig) -> dict[str, object]:
        """Its config.json, without what all layouts share."""

    @abstractmethod
    def weights(self, model: Transformer) -> dict[str, Tensor]:
        """The weights by its names and in its shapes; the scale of embeddings is multiplied into their table."""

    def _embedded(self, model: Transformer, table: str) -> dict[str, Tensor]:
        """The embeddings, and the output matrix if it differs."""
        scale, tokens = model.config.embedding_factor, model.tgt_embedding.tokens.weight
        untied = scale != 1.0 or not model.config.tie_embeddings
        return {table: tokens * scale} | ({self.output: model.output.weight} if untied else {})


def _layers(model: Transformer, names: Mapping[str, str], block: str) -> dict[str, Tensor]:
    """The weights of a layer that have one name there and one here."""
    return {f"{block}.{i}.{theirs}.{kind}": value for i, layer in enumerate(model.decoder.layers)
            for ours, theirs in names.items() for kind, value in layer.get_submodule(ours).named_parameters()}


class Gpt2(Layout):
    """Radford et al. 2019."""

    title, model_type, architecture, output = "GPT-2", "gpt2", "GPT2LMHeadModel", "lm_head.weight"
    only: ClassVar = {"encoder_layers": (0,), "positions": ADDED, "activation": tuple(ACTIVATIONS)}
    written = frozenset({"rotary", "window_rotary"})  # unused by such positions

    def about(self, config: ModelConfig) -> dict[str, object]:
        return {"n_positions": config.max_len, "n_embd": config.d_model, "n_layer": config.decoder_layers,
                "n_head": config.n_heads, "n_inner": config.d_ff,
                "activation_function": ACTIVATIONS[config.activation], "layer_norm_epsilon": config.norm_eps,
                "resid_pdrop": config.dropout, "embd_pdrop": config.dropout,
                "attn_pdrop": config.dropout if config.attention_dropout is None else config.attention_dropout}

    def weights(self, model: Transformer) -> dict[str, Tensor]:
        config, table = model.config, model.tgt_embedding.encoding(0, model.config.max_len)
        weights = self._embedded(model, "transformer.wte.weight")
        weights["transformer.wpe.weight"] = torch.zeros(config.max_len, config.d_model) if table is None else table
        weights |= {f"transformer.ln_f.{kind}": value for kind, value in model.decoder.norm.named_parameters()}
        linear = {name: value.T if value.dim() == 2 else value  # a weight (out, in) is kept as (in, out)
                  for name, value in _layers(model, GPT2, "transformer.h").items()}
        for i, layer in enumerate(model.decoder.layers):
            for kind in ("weight", "bias"):
                joined = torch.cat([getattr(getattr(layer.attention, f"{one}_proj"), kind) for one in "qkv"])
                linear[f"transformer.h.{i}.attn.c_attn.{kind}"] = joined.T if joined.dim() == 2 else joined
        return weights | linear


class Neox(Layout):
    """Black et al. 2022, with attention and feed-forward part one after the other."""

    title, model_type, architecture = "GPT-NeoX", "gpt_neox", "GPTNeoXForCausalLM"
    output = "embed_out.weight"
    only: ClassVar = {"encoder_layers": (0,), "positions": ("rotary",), "activation": tuple(ACTIVATIONS),
            "norm_kind": ("layer",), "biases": (PARTS,)}
    written = frozenset({"rotary"})

    def check(self, config: ModelConfig) -> None:
        super().check(config)
        _check_rotary(self, config)

    def about(self, config: ModelConfig) -> dict[str, object]:
        return {"hidden_size": config.d_model, "num_hidden_layers": config.decoder_layers,
                "num_attention_heads": config.n_heads, "intermediate_size": config.d_ff,
                "max_position_embeddings": config.max_len, "hidden_act": ACTIVATIONS[config.activation],
                "layer_norm_eps": config.norm_eps, "use_parallel_residual": False, "attention_bias": True,
                "hidden_dropout": config.dropout, "rotary_pct": (config.rotary.dim or config.width) / config.width,
                "rotary_emb_base": config.rotary.base,
                "rope_parameters": {"rope_type": "default", "rope_theta": config.rotary.base,
                                    "partial_rotary_factor": (config.rotary.dim or config.width) / config.width}}

    def weights(self, model: Transformer) -> dict[str, Tensor]:
        weights = self._embedded(model, "gpt_neox.embed_in.weight") | _layers(model, NEOX, "gpt_neox.layers")
        weights |= {f"gpt_neox.final_layer_norm.{kind}": value for kind, value in model.decoder.norm.named_parameters()}
        for i, layer in enumerate(model.decoder.layers):
            for kind in ("weight", "bias"):
                parts = [getattr(getattr(layer.attention, f"{one}_proj"), kind).unflatten(0, (model.config.n_heads, -1))
                         for one in "qkv"]  # a head's query, key and value lie side by side there
                joined = torch.cat(parts, dim=1).flatten(0, 1)
                weights[f"gpt_neox.layers.{i}.attention.query_key_value.{kind}"] = joined
        return weights


class Llama(Layout):
    """Touvron et al. 2023."""

    title, model_type, architecture, output = "Llama", "llama", "LlamaForCausalLM", "lm_head.weight"
    only: ClassVar = {"encoder_layers": (0,), "positions": ("rotary",), "activation": tuple(ACTIVATIONS),
                      "norm_kind": ("rms",), "gated": (True,)}
    written = frozenset({"rotary", "kv_heads", "head_dim", "biases"})

    def check(self, config: ModelConfig) -> None:
        super().check(config)
        _check_rotary(self, config)
        if config.rotary.dim not in (None, config.width):
            raise Refused(f"rotary positions turn {config.rotary.dim} of {config.width} features, and Llama can only "
                          "express all; this checkpoint cannot be written as one")
        for parts in (("q", "k", "v", "out"), ("up", "down")):
            if len({part in config.biases for part in parts}) > 1:
                raise Refused(f"biases are {', '.join(config.biases)}, and Llama can only express all or none of "
                              f"{', '.join(parts)}; this checkpoint cannot be written as one")

    def about(self, config: ModelConfig) -> dict[str, object]:
        return {"hidden_size": config.d_model, "num_hidden_layers": config.decoder_layers, "head_dim": config.width,
                "num_attention_heads": config.n_heads, "num_key_value_heads": config.groups,
                "intermediate_size": config.d_ff, "max_position_embeddings": config.max_len,
                "hidden_act": ACTIVATIONS[config.activation], "rms_norm_eps": config.norm_eps,
                "attention_bias": "q" in config.biases, "mlp_bias": "up" in config.biases,
                "attention_dropout": config.dropout if config.attention_dropout is None else config.attention_dropout,
                "rope_theta": config.rotary.base,
                "rope_parameters": {"rope_type": "default", "rope_theta": config.rotary.base}}

    def weights(self, model: Transformer) -> dict[str, Tensor]:
        return (self._embedded(model, "model.embed_tokens.weight") | _layers(model, LLAMA, "model.layers")
                | {"model.norm.weight": model.decoder.norm.get_parameter("weight")})


def _check_rotary(shape: Layout, config: ModelConfig) -> None:
    if config.rotary.scaling or config.rotary.layout != "halves":
        raise Refused(f"rotary positions are {config.rotary.scaling or config.rotary.layout}, and {shape.title} is "
                      "written with plain ones; this checkpoint cannot be written as one")


def layout_of(config: ModelConfig) -> Layout:
    """The layout in which a decoder can be written. Raises Refused if there is none, naming what does not fit."""
    if config.positions != "rotary":
        shape: Layout = Gpt2()
    else:
        shape = Llama() if config.norm_kind == "rms" or config.gated else Neox()
    shape.check(config)
    return shape

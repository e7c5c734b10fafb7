"""The config.json of a GGUF file, with Hugging Face's fields, by family.

llama.cpp's names are Keys of the gguf package's constants; values that a family has without saying so are as in
llama.cpp and convert_hf_to_gguf.py (https://github.com/ggml-org/llama.cpp).
"""

from collections.abc import Callable, Mapping
from math import isfinite, pi
from typing import Any

import numpy as np

from transformer.checkpoints.weights import Refused, clean
from transformer.huggingface.gguf_header import Entry, Value

MOST = 2**31  # the largest count of anything
LLAMA3 = [2**power for power in (13, *range(4, 20))]  # lengths that scaling may start from, the usual one first
ENDS = ("eos", "eot", "eom", "fim_pad", "fim_rep", "fim_sep")
GLOBAL = {"gemma2": 2, "gemma3": 6}  # every so many layers, one looks back further than the window
# Layers of the Gemmas with 27 billion weights, the only ones that scale by another width than a head's.
BY_MODEL_WIDTH = {"gemma2": 46, "gemma3": 62}


class GgufMetadata:
    """The metadata of a file. Raises Refused for values that no model has."""

    def __init__(self, file: str, notes: Mapping[str, Value], tensors: Mapping[str, Entry]) -> None:
        self.file, self.notes, self.tensors = file, notes, tensors
        self.architecture = str(notes.get("general.architecture"))

    def value(self, key: str) -> Value | None:
        """The value of a key of the model; one value, if it is the same for all layers."""
        value = self.notes.get(f"{self.architecture}.{key}")
        if isinstance(value, list) and value and all(one == value[0] for one in value):
            return value[0]
        return value

    def whole(self, key: str, default: int | None = None) -> int:
        value = self.value(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or not 1 <= value < MOST:
            raise self.wrong(key, value, "a whole number above 0 for all layers")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self.value(key)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
            raise self.wrong(key, value, "a number from 0")
        return shortest(float(value))

    def token(self, name: str) -> int | None:
        value = self.notes.get(f"tokenizer.ggml.{name}_token_id")
        return value if type(value) is int and 0 <= value < self.rows("token_embd.weight") else None

    def ends(self) -> int | list[int] | None:
        """The tokens that end a text, as llama.cpp takes them: those of the text, of a turn, of a message to a tool,
        and those that end what is filled in. One alone is a number, as in Hugging Face's files."""
        ids = [*dict.fromkeys(id for name in ENDS if (id := self.token(name)) is not None)]
        return ids if len(ids) > 1 else next(iter(ids), None)

    def rows(self, name: str) -> int:
        if name not in self.tensors:
            raise Refused(f"{clean(self.file)} has no weights {name}; copy it again")
        return self.tensors[name].shape[0]

    def wrong(self, key: str, value: object, wanted: str) -> Refused:
        stated = "missing" if value is None else clean(value, longest=40)
        return Refused(f"{clean(self.file)}: {clean(self.architecture, longest=20)}.{key} is {stated}, and should be "
                       f"{wanted}; copy it again")


def shortest(value: float) -> float:
    """The shortest decimal number that is this one in float32: 1e-05, where a file has 9.999999747378752e-06."""
    single = np.float32(value)
    return float(str(single)) if np.isfinite(single) and float(single) == value else value


def config_of(meta: GgufMetadata, model_type: str, factors: Callable[[str], list[float]]) -> dict[str, Any]:
    """A config.json for transformers 5.

    factors: reads a tensor of scaling factors of rotary positions, by its name.
    """
    heads, width = meta.whole("attention.head_count"), meta.whole("embedding_length")
    head_dim = meta.whole("attention.key_length", max(1, width // heads))
    layers = meta.whole("block_count")
    blocks = {name.split(".")[1] for name in meta.tensors if name.startswith("blk.")}
    if len(blocks) != layers:
        raise Refused(f"{clean(meta.file)} has weights of {len(blocks):,} layers, and by its header it should have "
                      f"{layers:,}; copy it again")
    if meta.whole("attention.value_length", head_dim) != head_dim:
        raise Refused(f"{clean(meta.file)} has values of another width than its keys, which Heads Up's models do not")
    common = {
        "model_type": model_type, "vocab_size": meta.rows("token_embd.weight"), "num_attention_heads": heads,
        "hidden_size": width, "num_hidden_layers": layers, "head_dim": head_dim,
        "num_key_value_heads": meta.whole("attention.head_count_kv", heads),
        "intermediate_size": meta.whole("feed_forward_length", 4 * width),
        "max_position_embeddings": meta.whole("context_length"),
        "tie_word_embeddings": "output.weight" not in meta.tensors, "bos_token_id": meta.token("bos"),
        "eos_token_id": meta.ends(), "pad_token_id": meta.token("padding")}
    return OWN.get(meta.architecture, _gated)(meta, common, factors)


def _epsilon(meta: GgufMetadata) -> dict[str, object]:
    return {"layer_norm_eps": meta.number("attention.layer_norm_epsilon", 1e-5)}


def _bias(meta: GgufMetadata, leaf: str) -> bool:
    return f"blk.0.{leaf}.bias" in meta.tensors


def _rope(meta: GgufMetadata, common: Mapping[str, Any], factors: Callable[[str], list[float]], *,
          base: float = 10_000.0) -> dict[str, Any]:
    """Rotary positions: their base, the rotated part of a head, and their scaling."""
    rope: dict[str, Any] = {"rope_theta": meta.number("rope.freq_base", base), "rope_type": "default"}
    turned = meta.whole("rope.dimension_count", common["head_dim"])
    if turned > common["head_dim"]:
        raise meta.wrong("rope.dimension_count", turned, f"at most {common['head_dim']}")
    if turned < common["head_dim"]:
        rope["partial_rotary_factor"] = turned / common["head_dim"]
    kind = meta.value("rope.scaling.type")
    original = meta.value("rope.scaling.original_context_length")
    if "rope_freqs.weight" in meta.tensors:
        rope |= _llama3(meta, factors("rope_freqs.weight"), rope["rope_theta"])
    elif "rope_factors_long.weight" in meta.tensors:
        rope |= {"rope_type": "longrope", "long_factor": factors("rope_factors_long.weight"),
                 "short_factor": factors("rope_factors_short.weight"),
                 "original_max_position_embeddings": meta.whole("rope.scaling.original_context_length")}
        if meta.value("rope.scaling.attn_factor") is not None:
            rope["attention_factor"] = meta.number("rope.scaling.attn_factor")
    elif kind in ("linear", "yarn"):
        rope |= {"rope_type": kind, "factor": meta.number("rope.scaling.factor")}
        if original is not None:
            rope["original_max_position_embeddings"] = meta.whole("rope.scaling.original_context_length")
        for ours, theirs in (("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow"),
                             ("attention_factor", "attn_factor")):
            if meta.value(f"rope.scaling.{theirs}") is not None:
                rope[ours] = meta.number(f"rope.scaling.{theirs}")
    elif kind not in (None, "none", ""):
        raise meta.wrong("rope.scaling.type", kind, "none, linear, yarn or longrope")
    about = {"rope_theta": rope["rope_theta"], "rope_parameters": rope}
    if rope["rope_type"] == "longrope":  # Phi 3 says it outside, too
        about["original_max_position_embeddings"] = rope["original_max_position_embeddings"]
    return about


def _llama3(meta: GgufMetadata, found: list[float], base: float) -> dict[str, object]:
    """The scaling of Llama 3.1, from the divisors of each frequency, which is all that a file has."""
    waves = 2 * pi * base ** (np.arange(len(found)) / len(found))
    factor = shortest(max(found))
    for original in LLAMA3:
        smooth = np.clip((original / waves - 1) / 3, 0, 1)
        if np.allclose(1 / ((1 - smooth) / factor + smooth), found, rtol=1e-4):
            return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                    "original_max_position_embeddings": original}
    raise Refused(f"{clean(meta.file)} scales its rotary positions in a way that is not known (rope_freqs.weight)")


def _gated(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    """Llama and its relatives."""
    window = meta.value("attention.sliding_window")
    about = common | _rope(meta, common, factors) | {
        "rms_norm_eps": meta.number("attention.layer_norm_rms_epsilon"), "hidden_act": "silu",
        "attention_bias": _bias(meta, "attn_q"), "mlp_bias": _bias(meta, "ffn_up"),
        "sliding_window": meta.whole("attention.sliding_window") if window else None}
    if meta.architecture == "llama" and window:
        about["model_type"] = "mistral"
    if meta.architecture.startswith("qwen"):
        about["use_sliding_window"] = bool(window)
    return about


def _gemma(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    about = _gated(meta, common, factors) | {"hidden_activation": "gelu_pytorch_tanh", "attention_bias": False}
    del about["hidden_act"], about["mlp_bias"]
    if meta.architecture == "gemma":
        return about
    caps = {f"{where}_logit_softcapping": meta.number(f"{where}_logit_softcapping")
            if meta.value(f"{where}_logit_softcapping") else None for where in ("attn", "final")}
    every, layers = GLOBAL[meta.architecture], common["num_hidden_layers"]
    pattern = meta.notes.get(f"{meta.architecture}.attention.sliding_window_pattern", every)
    if type(pattern) is int and pattern >= 1:
        pattern = [(layer + 1) % pattern != 0 for layer in range(layers)]
    if not isinstance(pattern, list) or len(pattern) != layers:
        raise meta.wrong("attention.sliding_window_pattern", pattern, "one for each layer")
    scaled = meta.architecture in BY_MODEL_WIDTH and layers == BY_MODEL_WIDTH[meta.architecture]
    about |= caps | {
        "sliding_window": meta.whole("attention.sliding_window", 4096),
        "layer_types": ["sliding_attention" if slides else "full_attention" for slides in pattern],
        "query_pre_attn_scalar": common["hidden_size"] // common["num_attention_heads"] if scaled
        else common["head_dim"]}
    if meta.architecture == "gemma3":
        rope = _rope(meta, common, factors, base=1_000_000.0)["rope_parameters"]
        about["rope_parameters"] = {"full_attention": rope, "sliding_attention": {
            "rope_type": "default", "rope_theta": meta.number("rope.freq_base_swa", 10_000.0)}}
        del about["rope_theta"]
    return about


def _granite(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    keys = {"attention_multiplier": "attention.scale", "embedding_multiplier": "embedding_scale",
            "residual_multiplier": "residual_scale", "logits_scaling": "logit_scale"}
    return _gated(meta, common, factors) | {ours: meta.number(theirs, 1.0) for ours, theirs in keys.items()}


def _stablelm(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    return common | _epsilon(meta) | _rope(meta, common, factors) | {
        "hidden_act": "silu", "use_qkv_bias": _bias(meta, "attn_q"),
        "use_parallel_residual": "blk.0.ffn_norm.weight" not in meta.tensors,
        "qk_layernorm": "blk.0.attn_q_norm.weight" in meta.tensors}


def _olmo(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    clip = meta.value("attention.clamp_kqv")
    return common | _rope(meta, common, factors) | {
        "hidden_act": "silu", "attention_bias": False, "clip_qkv": meta.number("attention.clamp_kqv") if clip else None}


def _phi2(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    return common | _epsilon(meta) | _rope(meta, common, factors) | {"hidden_act": "gelu_new", "qk_layernorm": False}


def _neox(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    return common | _epsilon(meta) | _rope(meta, common, factors) | {
        "hidden_act": "gelu", "attention_bias": _bias(meta, "attn_qkv"),
        "use_parallel_residual": meta.value("use_parallel_residual") is not False}


def _falcon(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    heads, served, two = common["num_attention_heads"], common["num_key_value_heads"], (
        "blk.0.attn_norm_2.weight" in meta.tensors)
    theirs = {key: value for key, value in common.items()
              if key not in ("head_dim", "num_key_value_heads", "intermediate_size")}
    return theirs | _rope(meta, common, factors) | {
        "layer_norm_epsilon": meta.number("attention.layer_norm_epsilon", 1e-5), "activation": "gelu", "alibi": False,
        "num_kv_heads": served, "multi_query": served == 1, "new_decoder_architecture": two or 1 < served < heads,
        "num_ln_in_parallel_attn": 2 if two else 1, "parallel_attn": True, "bias": _bias(meta, "attn_output"),
        "ffn_hidden_size": common["intermediate_size"]}


def _bloom(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    if common["intermediate_size"] != 4 * common["hidden_size"]:
        raise meta.wrong("feed_forward_length", common["intermediate_size"], f"{4 * common['hidden_size']}")
    return common | {"n_layer": common["num_hidden_layers"], "n_head": common["num_attention_heads"],
                     "layer_norm_epsilon": meta.number("attention.layer_norm_epsilon", 1e-5)}


def _gpt2(meta: GgufMetadata, common: dict, factors: Callable) -> dict[str, object]:
    return {key: common[key] for key in ("model_type", "vocab_size", "tie_word_embeddings", "bos_token_id",
                                         "eos_token_id", "pad_token_id")} | {
        "n_embd": common["hidden_size"], "n_layer": common["num_hidden_layers"],
        "n_head": common["num_attention_heads"], "n_inner": common["intermediate_size"],
        "n_positions": meta.rows("position_embd.weight"), "activation_function": "gelu_new",
        "layer_norm_epsilon": meta.number("attention.layer_norm_epsilon", 1e-5)}


OWN = {**dict.fromkeys(("gemma", "gemma2", "gemma3"), _gemma), "granite": _granite, "stablelm": _stablelm,
       "olmo": _olmo, "phi2": _phi2, "gptneox": _neox, "falcon": _falcon, "bloom": _bloom, "gpt2": _gpt2}

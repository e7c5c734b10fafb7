"""What other people's models need and ours lack, all at once, from config.json alone."""

import re
from collections.abc import Callable, Mapping, Sequence

from transformer.basics.formatting import enumerated
from transformer.huggingface.folder import IN_PYTHON, Refused

Config = Mapping[str, object]
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh",
               "gelu_pytorch_tanh": "gelu_tanh", "gelu_python_tanh": "gelu_tanh", "gelu_accurate": "gelu_tanh",
               "gelu_fast": "gelu_tanh", "silu": "silu", "swish": "silu"}
EXPERTS, STATES, PICTURES, SOUND = ("experts to choose among", "layers that keep a state in place of attention",
                                    "pictures to read", "sound to read")
WITHOUT_ATTENTION = ("mamba", "mamba2", "falcon_mamba", "rwkv")
KEEP_STATES = re.compile("mamba|linear|recurrent|conv|delta")  # names of such layers in layer_types
LATENT, SPARSE = "keys and values kept as one narrow row", "attention in blocks and to chosen tokens"

# What types of models need that no field of their config.json says; those that are imported need no entry.
OF_TYPE = {
    **dict.fromkeys(("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "phimoe", "granitemoe", "gpt_oss", "dbrx",
                     "switch_transformers", "nllb-moe", "llama4_text", "arctic"), (EXPERTS,)),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3"), (EXPERTS, LATENT)),
    **dict.fromkeys(WITHOUT_ATTENTION, (STATES,)),
    **dict.fromkeys(("jamba", "bamba", "zamba", "zamba2", "recurrent_gemma", "granitemoehybrid", "nemotron_h",
                     "qwen3_next", "qwen3_5_text", "lfm2", "falcon_h1"), (STATES,)),
    **dict.fromkeys(("longformer", "led", "big_bird", "bigbird_pegasus", "longt5", "reformer"), (SPARSE,)),
    **dict.fromkeys(("whisper", "wav2vec2", "hubert", "seamless_m4t", "speech_to_text"), (SOUND,)),
    **dict.fromkeys(("vit", "clip", "llava", "qwen2_vl", "qwen2_5_vl", "paligemma", "mllama", "gemma3", "siglip"),
                    (PICTURES,)),
    **dict.fromkeys(("xlnet", "transfo-xl"), ("attention to an earlier piece of the text",)),
    "umt5": ("positions relative by each layer's own table",),
    "mpnet": ("positions relative and learned at once",), "deberta": ("positions relative to each head's own table",)}


def _set(*harmless: object) -> Callable[[object], bool]:
    return lambda value: value is not None and value not in harmless


# (key of config.json, what it asks for, the test of its value, the types it is for: None for all)
FIELDS: Sequence[tuple[str, str, Callable[[object], bool], tuple[str, ...] | None]] = (
    ("num_local_experts", EXPERTS, _set(0, 1), None), ("num_experts", EXPERTS, _set(0, 1), None),
    ("n_routed_experts", EXPERTS, _set(0, 1), None), ("kv_lora_rank", LATENT, _set(0), None),
    ("vision_config", PICTURES, _set({}), None), ("num_mel_bins", SOUND, _set(0), None),
    ("quantization_config", "quantised weights", _set({}), None),
    ("pruned_heads", "layers with different heads", _set({}, []), None),
    ("auto_map", "code that comes with it, which is never run", _set({}), None),
    ("apply_residual_connection_post_layernorm", "sums with the normalised rows", _set(False), ("bloom", "falcon")),
    ("slow_but_exact", "weights in slices", _set(False), ("bloom",)),
    ("attn_config.alibi", "positions in place of ALiBi", _set(True), ("mpt",)),
    ("attn_config.rope", "rotary positions beside ALiBi", _set(False), ("mpt",)),
    ("attn_config.attn_type", "{}", _set("multihead_attention"), ("mpt",)),
    ("attn_config.prefix_lm", "a first part of the text that is read both ways", _set(False), ("mpt",)),
    ("attn_config.qk_ln", "all heads' queries and keys normalised as one row", _set(False), ("mpt",)),
    ("no_bias", "biases in an MPT model", _set(True), ("mpt",)),
    ("norm_type", "a {}", _set("low_precision_layernorm", "layernorm"), ("mpt",)),
    ("logit_scale", "scaled logits in an MPT model", _set(1), ("mpt",)),
    ("add_cross_attention", "cross-attention to another model", _set(False), None),
    ("use_bidirectional_attention", "a decoder that sees what comes later", _set(False), None),
    ("is_decoder", "an encoder used as a decoder", _set(False),
     ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "albert", "deberta-v2", "modernbert")),
    ("position_embedding_type", "{} positions", _set("absolute"),
     ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "albert")),
    ("num_hidden_groups", "several groups of shared layers", _set(1), ("albert",)),
    ("inner_group_num", "several layers in each group of shared ones", _set(1), ("albert",)),
    ("conv_kernel_size", "a convolution beside its first layer", _set(0), ("deberta-v2",)),
    ("scale_attn_by_inverse_layer_idx", "attention scaled by its layer's number", _set(False), ("gpt2",)),
    ("pretraining_tp", "weights in slices", _set(1, 0), ("llama",)),
    ("is_decoder", "a decoder used alone", _set(False), ("bart", "mbart", "marian", "t5", "mt5")),
    ("normalize_before", "pre-norm layers", _set(False), ("marian", "bart")),
    ("normalize_before", "post-norm layers", _set(True), ("mbart",)),
    ("normalize_embedding", "normalised embeddings", _set(False), ("marian",)),
    ("normalize_embedding", "embeddings that are not normalised", _set(True), ("bart", "mbart")),
    ("add_final_layer_norm", "a final norm", _set(False), ("marian", "bart")),
    ("add_final_layer_norm", "layers without a final norm", _set(True), ("mbart",)),
    ("static_position_embeddings", "learned positions in a Marian model", _set(True), ("marian",)),
    ("static_position_embeddings", "sinusoidal positions", _set(False), ("bart", "mbart")),
    ("extra_pos_embeddings", "positions that begin elsewhere in their table", _set(2), ("bart", "mbart")))


# Types whose published files name code that transformers has had as its own since; without it they are the same.
ADOPTED = ("falcon", "mpt", "phi")


def _value(config: object, key: str) -> object:
    """The value of a key, or of one inside another's object: "attn_config.alibi"."""
    for name in key.split("."):
        config = config.get(name) if isinstance(config, Mapping) else None
    return config


def needs(config: Config) -> list[str]:
    """What a model of that config.json needs and ours lack, each with the key that says so."""
    kind = str(config.get("model_type"))
    lacks = dict.fromkeys(OF_TYPE.get(kind, ()), "")
    if isinstance(layers := config.get("layer_types"), list) and layers:  # what is there counts, not what may be
        lacks.pop(STATES, None)
        if any(KEEP_STATES.search(str(one)) for one in layers):
            lacks[STATES] = "layer_types"
    for key, what, asks, types in FIELDS:
        value = _value(config, key)
        if kind in ADOPTED if key == "auto_map" else key == "add_cross_attention" and config.get("is_encoder_decoder"):
            continue
        if (types is None or kind in types) and value is not None and asks(value):
            lacks.setdefault(what.format(str(value)[:40]), key)
    for key in ("hidden_act", "activation_function", "hidden_activation", "activation", "dense_act_fn",
                "feed_forward_proj"):
        value = config.get(key)
        if value is not None and (not isinstance(value, str) or value.removeprefix("gated-") not in ACTIVATIONS):
            lacks.setdefault(f"the activation {str(value)[:40]}", key)
    return [f"{what} ({key})" if key else what for what, key in lacks.items()]


def check_needs(config: Config, imported: Sequence[str]) -> None:
    """Raises Refused for a model that needs what ours lack, naming all of it, and for a type that cannot be
    imported."""
    kind, lacked = str(config.get("model_type"))[:40], needs(config)
    others = any(one.startswith((PICTURES, SOUND, SPARSE)) for one in lacked)
    hint = "" if others or kind in ("None", *WITHOUT_ATTENTION) else f"; {IN_PYTHON}"
    hint = hint if lacked else hint.replace("shows it", "may show it")  # of a type that nobody here knows
    if lacked:
        raise Refused(f"the model is of type {kind} and needs {enumerated(lacked)}, which Heads Up's models do not "
                      f"have{hint}")
    if kind not in imported:
        raise Refused(f"the model is of type {kind}, which cannot be imported; these can: "
                      f"{', '.join(imported)}{hint}")

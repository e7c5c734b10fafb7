"""What somebody else's model needs that ours lack, all of it at once, by its config.json alone."""

from collections.abc import Callable, Mapping, Sequence

from transformer.huggingface.folder import Refused

Config = Mapping[str, object]
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh",
               "gelu_pytorch_tanh": "gelu_tanh", "gelu_python_tanh": "gelu_tanh", "gelu_accurate": "gelu_tanh",
               "gelu_fast": "gelu_tanh", "silu": "silu", "swish": "silu"}
RELATIVE, ALIBI, GATED, RMS = "relative position bias", "ALiBi", "gated feed-forward layers", "RMS norm"
WINDOW, PARALLEL, GROUPED = "a sliding attention window", "attention beside the feed-forward layer", "grouped queries"
UNSCALED, QK_NORM, AROUND = "attention without the scale 1 / sqrt(head_dim)", "normalised queries and keys", (
    "norms before and after each layer")
PART, EXPERTS = "rotary positions over a part of each head", "experts to choose among"

# What a model type needs that no field of its config.json says.
OF_TYPE = {
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5"), (RELATIVE, RMS, UNSCALED)),
    **dict.fromkeys(("deberta", "deberta-v2", "mpnet", "xlnet"), (RELATIVE,)),
    **dict.fromkeys(("bloom", "mpt"), (ALIBI,)),
    **dict.fromkeys(("llama", "mistral", "qwen2", "phi3", "smollm3", "granite", "stablelm"), (GATED, RMS)),
    **dict.fromkeys(("mixtral", "qwen2_moe"), (GATED, RMS, EXPERTS)),
    **dict.fromkeys(("qwen3", "gemma3", "gemma3_text", "olmo2"), (GATED, RMS, QK_NORM)),
    "qwen3_moe": (GATED, RMS, QK_NORM, EXPERTS), "gemma": (GATED, RMS), "gemma2": (GATED, RMS, AROUND),
    "gptj": (PARALLEL, PART), "codegen": (PARALLEL, PART), "phi": (PARALLEL,), "cohere": (PARALLEL, GATED),
    "gpt_neo": (WINDOW, UNSCALED), "longformer": (WINDOW,), "led": (WINDOW,), "modernbert": (GATED, WINDOW),
    "albert": ("one set of weights for all layers",), "mamba": ("layers without attention",),
    "whisper": ("sound to read",), "vit": ("pictures to read",), "clip": ("pictures to read",)}
# Types of which ours have every part, while nobody has written down where each of their weights goes.
UNWRITTEN = ("opt", "bart", "mbart", "electra")
ENCODERS = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert")


def _set(*harmless: object) -> Callable[[object], bool]:
    return lambda value: value is not None and value not in harmless


# (key of config.json, what it asks for where its value is such, when that is, of which types alone)
FIELDS: Sequence[tuple[str, str, Callable[[object], bool], tuple[str, ...] | None]] = (
    ("relative_attention_num_buckets", RELATIVE, _set(0), None), ("relative_attention", RELATIVE, _set(False), None),
    ("pos_att_type", RELATIVE, _set([]), None), ("alibi", ALIBI, _set(False), None),
    ("use_alibi", ALIBI, _set(False), None),
    ("position_embedding_type", "{} positions", _set("absolute"), ENCODERS),
    ("attention_window", WINDOW, _set(0), None), ("window_size", WINDOW, _set(0), None),
    ("local_attention", WINDOW, _set(0), None),
    ("rms_norm_eps", RMS, _set(), None),
    ("feed_forward_proj", GATED, lambda value: str(value).startswith("gated"), None),
    ("use_parallel_residual", PARALLEL, _set(False), None), ("parallel_attn", PARALLEL, _set(False), None),
    ("multi_query", GROUPED, _set(False), None),
    ("rotary_pct", PART, _set(1, 1.0), None), ("partial_rotary_factor", PART, _set(1, 1.0), None),
    ("attn_logit_softcapping", "capped scores", _set(), None),
    ("final_logit_softcapping", "capped logits", _set(), None),
    ("num_local_experts", EXPERTS, _set(0, 1), None), ("num_experts", EXPERTS, _set(0, 1), None),
    ("vision_config", "pictures to read", _set({}), None), ("num_mel_bins", "sound to read", _set(0), None),
    ("quantization_config", "quantized weights", _set(), None),
    ("pruned_heads", "layers with different heads", _set({}, []), None),
    ("auto_map", "code that comes with it, which is never run", _set({}), None),
    ("is_decoder", "an encoder used as a decoder", _set(False), ENCODERS),
    ("add_cross_attention", "cross-attention to another model", _set(False), None),
    ("scale_attn_by_inverse_layer_idx", "attention scaled by its layer's number", _set(False), None),
    ("scale_attn_weights", UNSCALED, _set(True), None),
    ("normalize_before", "pre-norm layers", _set(False), ("marian",)),
    ("normalize_embedding", "normalised embeddings", _set(False), ("marian",)),
    ("add_final_layer_norm", "a final norm", _set(False), ("marian",)),
    ("static_position_embeddings", "learned positions in a Marian model", _set(True), ("marian",)))


def needs(config: Config) -> list[str]:
    """What a model of that config.json needs and ours lack, each with the key that says so."""
    kind = str(config.get("model_type"))
    found = dict.fromkeys(OF_TYPE.get(kind, ()), "")
    for key, what, asks, types in FIELDS:
        value = config.get(key)
        if (types is None or kind in types) and value is not None and asks(value):
            found.setdefault(what.format(str(value)[:40]), key)
    heads, groups = config.get("num_attention_heads"), config.get("num_key_value_heads")
    if groups is not None and groups != heads:
        found.setdefault(GROUPED, f"num_key_value_heads {str(groups)[:20]} of {str(heads)[:20]}")
    if _slides(config):
        found.setdefault(WINDOW, "sliding_window")
    activations = [key for key in ("hidden_act", "activation_function", "hidden_activation", "activation")
                   if config.get(key) is not None]
    for key in activations:
        if not isinstance(config[key], str) or config[key] not in ACTIVATIONS:
            found.setdefault(f"the activation {str(config[key])[:40]}", key)
    if RMS in found and any(config[key] in ("silu", "swish") for key in activations):  # nobody has but both
        found.setdefault(GATED, "")
    wide = config.get("hidden_size")
    for key in ("embedding_size", "word_embed_proj_dim"):
        if config.get(key) not in (None, wide):
            found.setdefault("embeddings of another width than the layers", key)
    found |= _turned(config)
    return [f"{what} ({key})" if key else what for what, key in found.items()]


def _slides(config: Config) -> bool:
    """Whether a layer of the model looks no further back than a window."""
    layers = config.get("layer_types")
    if isinstance(layers, list):
        return "sliding_attention" in layers
    return bool(config.get("sliding_window")) and config.get("use_sliding_window") is not False


def _turned(config: Config) -> dict[str, str]:
    """What of its rotary positions ours lack."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = rope if isinstance(rope, dict) else {}
    found = {}
    if rope.get("rope_type", rope.get("type", "default")) not in ("default", None):
        found["scaled rotary positions"] = "rope_scaling"
    if rope.get("partial_rotary_factor") not in (None, 1, 1.0):
        found[PART] = "partial_rotary_factor"
    base = rope.get("rope_theta", config.get("rope_theta", config.get("rotary_emb_base", 10_000)))
    if base not in (None, 10_000):
        found[f"rotary positions of base {base:,.0f}" if isinstance(base, int | float) else "another rotary base"] = (
            "rope_theta")
    return found


def check_needs(config: Config, imported: Sequence[str]) -> None:
    """Raises Refused with all that a model needs and ours lack, or because its type is not one of those imported."""
    kind, lacked = str(config.get("model_type"))[:40], needs(config)
    if lacked:
        listed = lacked[0] if len(lacked) == 1 else f"{', '.join(lacked[:-1])} and {lacked[-1]}"
        raise Refused(f"the model is of type {kind} and needs {listed}, which Heads Up's models do not have")
    if kind in UNWRITTEN:
        raise Refused(f"the model is of type {kind}, which is not imported yet, although ours have all that it needs; "
                      f"{', '.join(imported)} are imported")
    if kind not in imported:
        raise Refused(f"the model is of type {kind}, and {', '.join(imported)} are imported")

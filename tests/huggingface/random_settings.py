"""Random configurations of every family, all of which transformers can run."""

from random import Random

ACTIVATIONS = ["silu", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh"]
SPECIAL = {"bos_token_id": 1, "eos_token_id": 2}
LLAMAS = ["Llama", "Mistral", "Qwen2", "Qwen3", "Phi3", "Gemma", "Gemma2", "Gemma3Text", "Olmo", "Olmo2", "StableLm",
          "Granite", "Phi", "GPTNeoX"]
PARTIAL = ["Phi", "Phi3", "StableLm", "GPTNeoX"]  # which may turn a part of a head's features
OWN_WIDTH = ["Llama", "Mistral", "Qwen3", "Gemma", "Gemma2", "Gemma3Text", "Granite"]  # of heads
BIASED = ["Llama", "Qwen3", "Gemma", "Gemma2", "Gemma3Text", "Olmo", "Olmo2", "Granite", "GPTNeoX"]  # where asked to
GPTS = ["Falcon", "Bloom", "Mpt", "OPT", "GPTNeo", "GPTJ", "GPT2"]
SEQUENCES = ["T5", "MT5", "Bart", "MBart", "M2M100"]
ENCODERS = ["Bert", "Roberta", "XLMRoberta", "Camembert", "Electra", "Albert", "DebertaV2", "ModernBert", "DistilBert"]
FAMILIES = [*LLAMAS, *GPTS, *SEQUENCES, *ENCODERS]
SCALINGS = ["default", "linear", "dynamic", "yarn", "llama3", "longrope"]
HEADS = ["Model", "ForMaskedLM", "ForSequenceClassification"]

Drawn = tuple[str, str, dict[str, object]]  # the class of transformers, that of its configuration, what it is given


def draw(family: str, seed: int) -> Drawn:
    """A configuration of a family."""
    dice = Random(f"{family} {seed}")
    if family in LLAMAS:
        name = {"Gemma3Text": "Gemma3"}.get(family, family)
        return f"{name}ForCausalLM", f"{family}Config", _llama(family, dice)
    if family in GPTS:
        name = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
        return name, f"{family}Config", _gpt(family, dice)
    if family in SEQUENCES:
        return f"{family}ForConditionalGeneration", f"{family}Config", _sequences(family, dice)
    return f"{family}{dice.choice(HEADS)}", f"{family}Config", _encoder(family, dice)


def _maybe(dice: Random) -> bool:
    return dice.random() < 0.5


def _some_layers(dice: Random, count: int) -> list[str]:
    return [dice.choice(["full_attention", "sliding_attention"]) for _ in range(count)]


def _rope(dice: Random, kinds: list[str], dim: int, part: float | None) -> dict[str, object]:
    """Rotary positions of one of these scalings; dim: how many features of a head are turned."""
    kind = dice.choice(kinds)
    rope = {"rope_type": kind, "rope_theta": dice.choice([50.0, 500.0, 1e4, 5e5])}
    if part is not None:
        rope["partial_rotary_factor"] = part
    if kind in ("linear", "dynamic", "yarn", "llama3") or (kind == "longrope" and _maybe(dice)):
        rope["factor"] = dice.choice([1.5, 2.0, 4.0, 7.3])
    if kind in ("yarn", "llama3", "longrope"):
        rope["original_max_position_embeddings"] = dice.choice([8, 16, 24, 40])
    if kind == "llama3":
        rope |= {"low_freq_factor": dice.choice([0.5, 1.0]), "high_freq_factor": dice.choice([2.0, 4.0])}
    if kind == "longrope":
        rope |= {f"{name}_factor": [round(dice.uniform(1, most), 2) for _ in range(dim // 2)]
                 for name, most in (("short", 2), ("long", 6))}
    if kind == "yarn":
        rope |= dice.choice([{}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"mscale": 0.7, "mscale_all_dim": 0.5}])
        rope |= dice.choice([{}, {"truncate": False}])
    if kind in ("yarn", "longrope"):
        rope |= dice.choice([{}, {"attention_factor": 1.2}])
    return rope


def _llama(family: str, dice: Random) -> dict[str, object]:
    heads, layers, width = dice.choice([1, 2, 3, 4, 6]), dice.choice([1, 2, 3]), dice.choice([4, 8, 12])
    found = {
        **SPECIAL, "pad_token_id": 0, "vocab_size": dice.choice([99, 131]), "num_hidden_layers": layers,
        "num_attention_heads": heads, "hidden_size": heads * width, "intermediate_size": dice.choice([17, 40]),
        "max_position_embeddings": dice.choice([16, 64, 128]), "tie_word_embeddings": _maybe(dice),
        "hidden_activation" if family in ("Gemma2", "Gemma3Text") else "hidden_act": dice.choice(ACTIVATIONS),
        "layer_norm_eps" if family in ("StableLm", "Phi", "GPTNeoX") else "rms_norm_eps": dice.choice([1e-6, 1e-3])}
    if family != "GPTNeoX":
        found["num_key_value_heads"] = dice.choice([each for each in (1, 2, 3, 4, 6) if heads % each == 0])
    if family in OWN_WIDTH:
        found |= {"head_dim": width, "hidden_size": heads * dice.choice([5, 8, width])}
    if family in BIASED:
        found["attention_bias"] = _maybe(dice)
    if family != "Gemma3Text":
        part = dice.choice([0.5, 1.0] if width > 4 else [1.0]) if family in PARTIAL else None
        kinds = ["default", "longrope"] if family == "Phi3" else SCALINGS
        found["rope_parameters"] = _rope(dice, kinds, int(width * (part or 1.0)), part)
        if family == "Phi3" and found["rope_parameters"]["rope_type"] == "longrope":  # where it looks for it
            found["original_max_position_embeddings"] = found["rope_parameters"]["original_max_position_embeddings"]
    return found | _changed(family, dice, layers)


def _changed(family: str, dice: Random, layers: int) -> dict[str, object]:
    """The settings that only a family has."""
    if family == "Llama":
        return {"mlp_bias": _maybe(dice)}
    if family in ("Mistral", "Phi3"):
        return {"sliding_window": dice.choice([None, 1, 3, 9, 100])}
    if family in ("Qwen2", "Qwen3") and _maybe(dice):
        return {"use_sliding_window": True, "sliding_window": dice.choice([2, 7]), **dice.choice(
            [{"max_window_layers": dice.choice([0, 1])}, {"layer_types": _some_layers(dice, layers)}])}
    if family in ("Gemma2", "Gemma3Text"):
        return {"sliding_window": dice.choice([2, 5, 8]), "query_pre_attn_scalar": dice.choice([8, 20, 144]),
                "attn_logit_softcapping": dice.choice([None, 0.7, 3.0]),
                "final_logit_softcapping": dice.choice([None, 1.0, 5.0]),
                **dice.choice([{}, {"layer_types": _some_layers(dice, layers)}])}
    if family == "Olmo":
        return {"clip_qkv": dice.choice([None, 0.3, 1.0])}
    if family == "StableLm":
        return {name: _maybe(dice) for name in ("use_parallel_residual", "qk_layernorm", "use_qkv_bias")}
    if family == "Granite":
        return {"embedding_multiplier": dice.choice([1.0, 3.0]), "logits_scaling": dice.choice([1.0, 4.0]),
                "residual_multiplier": dice.choice([0.2, 1.0]), "attention_multiplier": dice.choice([0.1, 0.5])}
    return {"Phi": {"qk_layernorm": _maybe(dice)}, "GPTNeoX": {"use_parallel_residual": _maybe(dice)}}.get(family, {})


def _gpt(family: str, dice: Random) -> dict[str, object]:
    heads, each, layers = dice.choice([1, 2, 3, 5, 8]), dice.choice([4, 6, 12]), dice.choice([1, 2, 3])
    width, activation, inner = heads * each, dice.choice(ACTIVATIONS), dice.choice([None, 19])
    shared = {**SPECIAL, "vocab_size": dice.choice([99, 131]), "tie_word_embeddings": _maybe(dice)}
    if family == "Falcon":
        new = _maybe(dice)
        grouped = {"num_kv_heads": dice.choice([one for one in (1, 2, 3, 4, 8) if heads % one == 0]),
                   "num_ln_in_parallel_attn": dice.choice([None, 1, 2])} if new else {
            "multi_query": _maybe(dice), "parallel_attn": _maybe(dice)}
        return shared | grouped | {
            "new_decoder_architecture": new, "hidden_size": width, "num_hidden_layers": layers, "bias": _maybe(dice),
            "num_attention_heads": heads, "alibi": _maybe(dice), "activation": activation,
            "max_position_embeddings": 64}
    if family == "Bloom":
        return shared | {"hidden_size": width, "n_layer": layers, "n_head": heads,
                         "layer_norm_epsilon": dice.choice([1e-5, 1e-3])}
    if family == "Mpt":
        return shared | {"d_model": width, "n_layers": layers, "n_heads": heads, "max_seq_len": 64,
                         "expansion_ratio": dice.choice([2, 3]), "attn_config": dice.choice(
                             [{}, {"alibi_bias_max": 4}, {"softmax_scale": 0.2}, {"clip_qkv": 0.4}])}
    if family == "OPT":
        return shared | {
            "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "ffn_dim": 17,
            "max_position_embeddings": 64, "pad_token_id": dice.choice([0, 1]), "activation_function": activation,
            "do_layer_norm_before": _maybe(dice), "word_embed_proj_dim": dice.choice([width, 10]),
            "enable_bias": _maybe(dice), "layer_norm_elementwise_affine": _maybe(dice)}
    if family == "GPTNeo":
        return shared | {
            "hidden_size": width, "num_layers": 3, "num_heads": heads, "max_position_embeddings": 64,
            "window_size": dice.choice([1, 3, 8]), "activation_function": activation, "intermediate_size": inner,
            "attention_types": [dice.choice([[["global"], 3], [["local"], 3], [["local", "global", "local"], 1]])]}
    shared |= {"n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": 64, "n_inner": inner,
               "activation_function": activation}
    return shared | ({"rotary_dim": dice.choice([2, 4, each])} if family == "GPTJ" else {
        "scale_attn_weights": _maybe(dice)})


def _sequences(family: str, dice: Random) -> dict[str, object]:
    heads, width = dice.choice([1, 2, 3, 4]), dice.choice([4, 8, 12])
    shared = {"vocab_size": dice.choice([99, 131]), "tie_word_embeddings": _maybe(dice)}
    if "T5" in family:
        return shared | {
            "d_model": dice.choice([15, 32]), "d_kv": dice.choice([7, width]), "d_ff": 19, "num_heads": heads,
            "num_layers": dice.choice([1, 2]), "num_decoder_layers": dice.choice([1, 3]), "decoder_start_token_id": 0,
            "initializer_factor": 0.3, "feed_forward_proj": dice.choice(["relu", "gelu", "gated-gelu", "gated-silu"]),
            "relative_attention_num_buckets": dice.choice([8, 12, 32]),
            "relative_attention_max_distance": dice.choice([20, 128])}
    return shared | {
        "d_model": heads * width, "encoder_layers": dice.choice([1, 2]), "decoder_layers": dice.choice([1, 3]),
        "encoder_attention_heads": heads, "decoder_attention_heads": heads, "encoder_ffn_dim": 19,
        "decoder_ffn_dim": 19, "max_position_embeddings": 64, "scale_embedding": _maybe(dice),
        "activation_function": dice.choice(ACTIVATIONS), "decoder_start_token_id": 2}


def _encoder(family: str, dice: Random) -> dict[str, object]:
    heads, layers, classes = dice.choice([1, 2, 3, 5]), dice.choice([1, 2, 3]), dice.choice([2, 3])
    width, activation = heads * dice.choice([4, 6, 12]), dice.choice(ACTIVATIONS[:4])
    shared = {"vocab_size": dice.choice([99, 131]), "tie_word_embeddings": _maybe(dice), "num_labels": classes,
              "max_position_embeddings": 80}
    if family == "DistilBert":
        return shared | {"dim": width, "n_layers": layers, "n_heads": heads, "hidden_dim": 19, "pad_token_id": 0,
                         "activation": dice.choice(["gelu", "relu"]), "sinusoidal_pos_embds": _maybe(dice)}
    shared |= {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
               "intermediate_size": 19}
    if family == "ModernBert":
        return shared | {
            **SPECIAL, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "hidden_activation": activation,
            "local_attention": dice.choice([2, 5, 8]), "global_attn_every_n_layers": dice.choice([1, 2, 3]),
            "classifier_pooling": dice.choice(["cls", "mean"]),
            **{name: _maybe(dice) for name in ("attention_bias", "mlp_bias", "norm_bias")}}
    shared |= {"hidden_act": activation, "pad_token_id": dice.choice([0, 1]), "type_vocab_size": dice.choice([1, 2]),
               "layer_norm_eps": dice.choice([1e-12, 1e-5])}
    if family in ("Electra", "Albert"):
        return shared | {"embedding_size": dice.choice([20, width])}
    if family != "DebertaV2":
        return shared
    relative = _maybe(dice)
    return shared | {
        "relative_attention": relative, "share_att_key": True, "position_biased_input": not relative and _maybe(dice),
        "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": dice.choice(["layer_norm", "none"]),
        "position_buckets": dice.choice([-1, 4, 16]), "max_relative_positions": dice.choice([-1, 20, 40])}

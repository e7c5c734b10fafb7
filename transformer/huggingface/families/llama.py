"""Llama and its relatives: decoders with rotary positions, gated feed-forward parts and, mostly, RMS norm.

Touvron et al. 2023 (Llama), Jiang et al. 2023 (Mistral), Yang et al. 2024 and 2025 (Qwen), Abdin et al. 2024 (Phi-3),
Gemma Team 2024 and 2025, Groeneveld et al. 2024 (OLMo), OLMo Team 2025 (OLMo 2), Bellagente et al. 2024 (StableLM),
Granite Team 2024.
"""

from dataclasses import replace

import torch
from torch import Tensor

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.decoder import QKV, decoder_config, decoder_plan
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Modules, Names, Part, Plan, in_layers, inside, parts_of, shapes_of
from transformer.huggingface.rotary_settings import reach, rope_settings, rotary_of
from transformer.settings.config import ModelConfig, Rotary

CLASSES = {  # model_type -> how its classes begin
    "llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "phi3": "Phi3", "gemma": "Gemma",
    "gemma2": "Gemma2", "gemma3_text": "Gemma3", "olmo": "Olmo", "olmo2": "Olmo2", "stablelm": "StableLm",
    "granite": "Granite"}
GEMMAS = ("gemma", "gemma2", "gemma3_text")
LAYER = {
    **{one: f"self_attn.{one.removeprefix('attention.')}" for one in QKV}, "attention.out_proj": "self_attn.o_proj",
    "attention.q_norm": "self_attn.q_norm", "attention.k_norm": "self_attn.k_norm",
    "feed_forward.gate": "mlp.gate_proj", "feed_forward.up": "mlp.up_proj", "feed_forward.down": "mlp.down_proj"}
FUSED: Modules = {QKV: "self_attn.qkv_proj", ("feed_forward.gate", "feed_forward.up"): "mlp.gate_up_proj",
                  "attention.out_proj": "self_attn.o_proj", "feed_forward.down": "mlp.down_proj"}  # Phi-3's
NORMS = {
    "pre": {"attention_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm"},
    "output": {"attention_out_norm": "post_attention_layernorm", "feed_forward_out_norm": "post_feedforward_layernorm"},
    "both": {"attention_norm": "input_layernorm", "attention_out_norm": "post_attention_layernorm",
             "feed_forward_norm": "pre_feedforward_layernorm", "feed_forward_out_norm": "post_feedforward_layernorm"}}


def llama(config: ConfigJson, names: Names) -> Plan:
    """Touvron et al. 2023, section 2.2, and the changes of other families."""
    kind = str(config["model_type"])
    config.architecture({f"{CLASSES[kind]}{end}": "" for end in ("ForCausalLM", "Model", "TextModel")})
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    vocab, layers = config.number("vocab_size"), config.number("num_hidden_layers")
    is_gemma = kind in GEMMAS
    head = config.number("head_dim", default=256 if is_gemma else max(1, width // heads))
    longest = config.number("max_position_embeddings", default=2048)
    rotary, near = _rotary(config, kind, head, longest)
    ours = decoder_config(config, {}, vocab, **{
        "d_model": width, "n_heads": heads, "head_dim": head, "decoder_layers": layers,
        "kv_heads": config.number("num_key_value_heads", default=heads), "d_ff": config.number("intermediate_size"),
        "max_len": reach(rotary, longest), "norm_kind": "rms",
        "norm_eps": config.real("rms_norm_eps", 1e-6, least=-1.0), "positions": "rotary", "rotary": rotary,
        "window_rotary": near, "gated": True, "activation": _activation(config, kind), "embedding_scale": is_gemma,
        "dropout": 0.0, **_changes(config, kind, layers)})
    at = inside(names, "model.")
    block, shapes, constants = f"{at}layers.{{}}", shapes_of(ours), {}
    norms = {"decoder.norm": f"{at}norm", **in_layers("decoder", block, NORMS[ours.norm_position])}
    parts: dict[str, Part] = {}
    if kind == "olmo":  # its norms have no weights
        constants = {name: torch.ones(shape) for name, shape in shapes.items() if "norm." in name}
    else:
        parts = parts_of(ours, norms)
    parts |= parts_of(ours, in_layers("decoder", block, FUSED if kind == "phi3" else LAYER))
    if is_gemma:
        parts |= {name: replace(part, take=_plus_one) for name, part in parts.items() if "norm." in name}
    if kind in ("olmo2", "stablelm"):
        parts |= _head_norms(ours, shapes, block, kind)
        constants |= {name: torch.zeros(shape) for name, shape in shapes.items() if name.endswith(
            ("q_norm.bias", "k_norm.bias"))}
        parts = {name: part for name, part in parts.items() if name not in constants}
    return decoder_plan(
        config, names, ours, {}, tokens=f"{at}embed_tokens", is_tied=is_gemma, parts=parts, constants=constants,
        spare=r"(model\.)?layers\.\d+\.self_attn\.rotary_emb\.inv_freq|(score|lm_head)\..*")


def _plus_one(tensor: Tensor) -> Tensor:
    """The weights of a norm, of how much they differ from 1."""
    return 1.0 + tensor.float()


def _head_norms(ours: ModelConfig, shapes: dict[str, tuple[int, ...]], block: str, kind: str) -> dict[str, Part]:
    """Norms of queries and keys with weights for each head: one vector (OLMo 2), or a tensor a head (StableLM)."""
    parts = {}
    for layer in range(ours.decoder_layers if ours.qk_norm else 0):
        for one in "qk":
            name = f"decoder.layers.{layer}.attention.{one}_norm.weight"
            theirs, shape = f"{block.format(layer)}.self_attn.{one}_", shapes[name]
            heads, _, width = shape
            if kind == "olmo2":
                parts[name] = Part(f"{theirs}norm.weight", (heads * width,), lambda one, shape=shape: one.view(shape))
            else:
                parts[name] = Part(tuple(f"{theirs}layernorm.norms.{head}.weight" for head in range(heads)), (width,),
                                   lambda *tensors: torch.stack(tensors)[:, None])
    return parts


def _activation(config: ConfigJson, kind: str) -> str:
    """The activation inside the gate. Gemmas use the tanh approximation of GELU if they name none; the first Gemma also
    if it says "gelu"."""
    if kind == "gemma" and config.get("hidden_act") == "gelu":
        return "gelu_tanh"
    return config.activation("hidden_activation" if kind in ("gemma2", "gemma3_text") else "hidden_act",
                             "gelu_pytorch_tanh" if kind in GEMMAS else "silu")


def _rotary(config: ConfigJson, kind: str, head: int, longest: int) -> tuple[Rotary, Rotary | None]:
    """Rotary positions, and those of the layers with a window if they differ."""
    if kind != "gemma3_text":
        return rotary_of(config, width=head, longest=longest, part={"stablelm": 0.25, "phi3": 1.0}.get(kind),
                         odd=kind == "phi3"), None
    rope = rope_settings(config)
    if "full_attention" in rope:
        far, near = rope["full_attention"], rope.get("sliding_attention") or {}
    else:
        far, near = {"rope_theta": config.get("rope_theta") or 1_000_000.0, **rope}, {
            "rope_theta": config.get("rope_local_base_freq") or 10_000.0}
    if not isinstance(far, dict) or not isinstance(near, dict):
        raise Refused("config.json: rope_parameters should be objects; copy the folder again")
    return (rotary_of(config, width=head, longest=longest, rope=far, base=1_000_000.0),
            rotary_of(config, width=head, longest=longest, rope=near))


def _changes(config: ConfigJson, kind: str, layers: int) -> dict[str, object]:
    """The settings that a family changed."""
    projections = [part for part in "qkv" if kind == "qwen2" or config.flag("attention_bias", False)
                   or (kind == "stablelm" and config.flag("use_qkv_bias", False))]
    settings: dict[str, object] = {}
    if kind not in ("qwen2", "stablelm") and config.flag("attention_bias", False):
        projections.append("out")
    if kind in ("llama", "granite") and config.flag("mlp_bias", False):
        projections += ["up", "down"]
    if kind in ("mistral", "qwen2", "qwen3", "phi3", "gemma2", "gemma3_text"):
        settings |= window_of(config, kind, layers)
    if kind in ("gemma2", "gemma3_text"):
        settings |= {"norm_position": "both", "attention_scale": config.real("query_pre_attn_scalar", 256.0) ** -0.5,
                  "score_cap": config.real("attn_logit_softcapping") if kind == "gemma2" else None,
                  "logits_cap": config.real("final_logit_softcapping")}
    if kind in ("qwen3", "gemma3_text"):
        settings["qk_norm"] = "head"
    elif kind == "olmo":
        settings |= {"norm_kind": "layer", "norm_eps": 1e-5, "qkv_clip": config.real("clip_qkv")}
    elif kind == "olmo2":
        settings |= {"norm_position": "output", "qk_norm": "row",
                  "norm_eps": config.real("rms_norm_eps", 1e-5, least=-1.0)}
    elif kind == "stablelm":
        settings |= {"norm_kind": "layer", "norm_eps": config.real("layer_norm_eps", 1e-5, least=-1.0),
                  "parallel": "one" if config.flag("use_parallel_residual", False) else None,
                  "qk_norm": "heads" if config.flag("qk_layernorm", False) else None, "qk_norm_kind": "layer"}
        projections.append("norm")
    elif kind == "granite":
        settings |= {"embedding_scale": config.real("embedding_multiplier", 1.0),
                  "attention_scale": config.real("attention_multiplier", 1.0),
                  "residual_scale": config.real("residual_multiplier", 1.0),
                  "logits_scale": 1.0 / config.real("logits_scaling", 1.0)}
    return settings | {"biases": tuple(dict.fromkeys(projections))}


def window_of(config: ConfigJson, kind: str, layers: int) -> dict[str, object]:
    """The window of a model, and the layers that have it."""
    window = config.get("sliding_window")
    if window is None or (kind in ("qwen2", "qwen3") and not config.flag("use_sliding_window", False)):
        return {}
    listed = config.get("layer_types")
    if isinstance(listed, list):
        if len(listed) != layers or any(one not in ("sliding_attention", "full_attention") for one in listed):
            raise Refused(f"config.json: layer_types should name sliding_attention or full_attention for {layers} "
                          "layers; copy the folder again")
        near = [i for i, one in enumerate(listed) if one == "sliding_attention"]
    elif kind in ("qwen2", "qwen3"):
        near = list(range(config.number("max_window_layers", default=28), layers))
    elif kind == "gemma2":
        near = list(range(0, layers, 2))
    elif kind == "gemma3_text":
        every = config.number("sliding_window_pattern", default=6)
        near = [i for i in range(layers) if (i + 1) % every]
    else:
        return {"window": config.number("sliding_window")}
    return {"window": config.number("sliding_window"), "window_layers": tuple(near)} if near else {}

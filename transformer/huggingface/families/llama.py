"""Llama and those built like it: a decoder with rotary positions, gated feed-forward parts and, mostly, RMS norm.

Touvron et al. 2023 (Llama), Jiang et al. 2023 (Mistral), Yang et al. 2024 and 2025 (Qwen), Abdin et al. 2024 (Phi-3),
Gemma Team 2024 and 2025, Groeneveld et al. 2024 (OLMo), OLMo Team 2025 (OLMo 2), Bellagente et al. 2024 (StableLM),
Granite Team 2024.
"""

import re

import torch

from transformer.config import ModelConfig, Rotary
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    checked,
    flag,
    fused,
    inside,
    linear,
    norm,
    number,
    present,
    real,
    rows,
    special,
)
from transformer.huggingface.rotary_settings import reach, rotary_of, spelled
from transformer.huggingface.unsupported import Config

CLASSES = {  # model_type -> how its classes begin
    "llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "phi3": "Phi3", "gemma": "Gemma",
    "gemma2": "Gemma2", "gemma3_text": "Gemma3", "olmo": "Olmo", "olmo2": "Olmo2", "stablelm": "StableLm",
    "granite": "Granite"}
GEMMAS = ("gemma", "gemma2", "gemma3_text")
OUR_NORMS = {"pre": ("attention_norm", "feed_forward_norm"), "output": ("attention_out_norm", "feed_forward_out_norm"),
             "both": ("attention_norm", "attention_out_norm", "feed_forward_norm", "feed_forward_out_norm")}
NORMS = {  # theirs, in the order of ours
    "pre": ("input_layernorm", "post_attention_layernorm"),
    "output": ("post_attention_layernorm", "post_feedforward_layernorm"),
    "both": ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")}


def llama(config: Config, names: Names) -> Plan:
    """Touvron et al. 2023, section 2.2, and what others changed of it."""
    kind = str(config["model_type"])
    family = CLASSES[kind]
    architecture(config, {f"{family}{end}": "" for end in ("ForCausalLM", "Model", "TextModel")}, "")
    width, heads = number(config, "hidden_size"), number(config, "num_attention_heads")
    vocab, layers = number(config, "vocab_size"), number(config, "num_hidden_layers")
    head = number(config, "head_dim", default=256 if kind in GEMMAS else max(1, width // heads))
    longest = number(config, "max_position_embeddings", default=2048)
    rotary, near = _rotary(config, kind, head, longest)
    settings = _changes(config, kind, layers)
    gemma = kind in GEMMAS
    ours = checked(**{
        "d_model": width, "n_heads": heads, "head_dim": head, "encoder_layers": 0, "decoder_layers": layers,
        "kv_heads": number(config, "num_key_value_heads", default=heads), "d_ff": number(config, "intermediate_size"),
        "vocab_size": vocab, "max_len": reach(rotary, longest), "norm_position": "pre", "norm_kind": "rms",
        "norm_eps": real(config, "rms_norm_eps", 1e-6, least=-1.0), "positions": "rotary", "rotary": rotary,
        "window_rotary": near, "gated": True,
        "activation": _activation(config, kind),
        "embedding_scale": gemma, "init": "normal", "dropout": 0.0, **special(config, vocab), **settings})
    at = inside(names, "model.")
    parts = {"tgt_embedding.tokens.weight": Part(f"{at}embed_tokens.weight", (vocab, width)),
             "output.weight": Part(present(names, "lm_head.weight", *[f"{at}embed_tokens.weight"] * flag(
                 config, "tie_word_embeddings", gemma)), (vocab, width))}
    norms, made = {"decoder.norm": f"{at}norm"}, {}
    for i in range(layers):
        to, block = f"decoder.layers.{i}", f"{at}layers.{i}"
        norms |= {f"{to}.{mine}": f"{block}.{theirs}" for mine, theirs in zip(
            OUR_NORMS[ours.norm_position], NORMS[ours.norm_position], strict=True)
            if not (ours.parallel == "one" and mine == "feed_forward_norm")}
        parts |= _layer(to, block, ours, kind)
        if ours.qk_norm and kind == "stablelm":  # which has no biases there
            made |= {f"{to}.attention.{one}_norm.bias": torch.zeros(count, 1, head)
                     for one, count in (("q", heads), ("k", ours.groups))}
    for to, theirs in norms.items():
        if kind == "olmo":  # which learns nothing of its norms
            made[f"{to}.weight"] = torch.ones(width)
        else:
            parts |= norm(to, theirs, width, bias="norm" in ours.biases, plus_one=gemma)
    return Plan(ours, parts, re.compile(r"(model\.)?layers\.\d+\.self_attn\.rotary_emb\.inv_freq|(score|lm_head)\..*"),
                made=made)


def _layer(to: str, block: str, ours: ModelConfig, kind: str) -> dict[str, Part]:
    """The linear maps of a layer, and the norms of its queries and keys."""
    width, inner = ours.d_model, ours.d_ff
    q, k = ours.n_heads * ours.width, ours.groups * ours.width
    parts: dict[str, Part] = {}
    if kind == "phi3":
        parts |= fused({f"{to}.attention.q_proj": rows(0, q), f"{to}.attention.k_proj": rows(q, k),
                        f"{to}.attention.v_proj": rows(q + k, k)}, f"{block}.self_attn.qkv_proj", q + 2 * k, width,
                       bias=False)
        parts |= fused({f"{to}.feed_forward.gate": rows(0, inner), f"{to}.feed_forward.up": rows(inner, inner)},
                       f"{block}.mlp.gate_up_proj", 2 * inner, width, bias=False)
    else:
        for one, outputs in zip("qkv", (q, k, k), strict=True):
            parts |= linear(f"{to}.attention.{one}_proj", f"{block}.self_attn.{one}_proj", outputs, width,
                            bias=one in ours.biases)
        for mine in ("gate", "up"):
            parts |= linear(f"{to}.feed_forward.{mine}", f"{block}.mlp.{mine}_proj", inner, width,
                            bias="up" in ours.biases)
    parts |= linear(f"{to}.attention.out_proj", f"{block}.self_attn.o_proj", width, q, bias="out" in ours.biases)
    parts |= linear(f"{to}.feed_forward.down", f"{block}.mlp.down_proj", width, inner, bias="down" in ours.biases)
    if ours.qk_norm:
        for one, count in (("q", ours.n_heads), ("k", ours.groups)):
            parts |= _head_norm(f"{to}.attention.{one}_norm", f"{block}.self_attn.{one}_", count, ours.width, kind)
    return parts


def _head_norm(to: str, theirs: str, heads: int, width: int, kind: str) -> dict[str, Part]:
    if kind == "olmo2":
        return {f"{to}.weight": Part(f"{theirs}norm.weight", (heads * width,), lambda one: one.view(heads, 1, width))}
    if kind == "stablelm":
        each = tuple(f"{theirs}layernorm.norms.{i}.weight" for i in range(heads))
        return {f"{to}.weight": Part(each, (width,), lambda *ones: torch.stack(ones)[:, None])}
    return norm(to, f"{theirs}norm", width, bias=False, plus_one=kind in GEMMAS)


def _activation(config: Config, kind: str) -> str:
    """The activation inside the gate; Gemmas have the approximation of GELU by tanh where they say nothing, and the
    first of them where they say "gelu" too."""
    if kind == "gemma" and config.get("hidden_act") == "gelu":
        return activation({}, "hidden_act", "gelu_pytorch_tanh")
    return activation(config, "hidden_activation" if kind in ("gemma2", "gemma3_text") else "hidden_act",
                      "gelu_pytorch_tanh" if kind in GEMMAS else "silu")


def _rotary(config: Config, kind: str, head: int, longest: int) -> tuple[Rotary, Rotary | None]:
    """Rotary positions, and those of the layers with a window where they have others."""
    if kind != "gemma3_text":
        return rotary_of(config, width=head, longest=longest, part={"stablelm": 0.25, "phi3": 1.0}.get(kind),
                         odd=kind == "phi3"), None
    rope = spelled(config)
    if "full_attention" in rope:
        far, near = rope["full_attention"], rope.get("sliding_attention") or {}
    else:
        far, near = {"rope_theta": config.get("rope_theta") or 1_000_000.0, **rope}, {
            "rope_theta": config.get("rope_local_base_freq") or 10_000.0}
    if not isinstance(far, dict) or not isinstance(near, dict):
        raise Refused("config.json: rope_parameters should be objects; copy the folder again")
    return (rotary_of(config, width=head, longest=longest, rope=far, base=1_000_000.0),
            rotary_of(config, width=head, longest=longest, rope=near))


def _changes(config: Config, kind: str, layers: int) -> dict[str, object]:
    """What a family changed of Llama."""
    projections = [part for part in "qkv" if kind == "qwen2" or flag(config, "attention_bias", False)
                   or (kind == "stablelm" and flag(config, "use_qkv_bias", False))]
    found: dict[str, object] = {}
    if kind not in ("qwen2", "stablelm") and flag(config, "attention_bias", False):
        projections.append("out")
    if kind in ("llama", "granite") and flag(config, "mlp_bias", False):
        projections += ["up", "down"]
    if kind in ("mistral", "qwen2", "qwen3", "phi3", "gemma2", "gemma3_text"):
        found |= window_of(config, kind, layers)
    if kind in ("gemma2", "gemma3_text"):
        found |= {"norm_position": "both", "attention_scale": real(config, "query_pre_attn_scalar", 256.0) ** -0.5,
                  "score_cap": real(config, "attn_logit_softcapping") if kind == "gemma2" else None,
                  "logits_cap": real(config, "final_logit_softcapping")}
    if kind in ("qwen3", "gemma3_text"):
        found["qk_norm"] = "head"
    elif kind == "olmo":
        found |= {"norm_kind": "layer", "norm_eps": 1e-5, "qkv_clip": real(config, "clip_qkv")}
    elif kind == "olmo2":
        found |= {"norm_position": "output", "qk_norm": "row",
                  "norm_eps": real(config, "rms_norm_eps", 1e-5, least=-1.0)}
    elif kind == "stablelm":
        found |= {"norm_kind": "layer", "norm_eps": real(config, "layer_norm_eps", 1e-5, least=-1.0),
                  "parallel": "one" if flag(config, "use_parallel_residual", False) else None,
                  "qk_norm": "heads" if flag(config, "qk_layernorm", False) else None, "qk_norm_kind": "layer"}
        projections.append("norm")
    elif kind == "granite":
        found |= {"embedding_scale": real(config, "embedding_multiplier", 1.0),
                  "attention_scale": real(config, "attention_multiplier", 1.0),
                  "residual_scale": real(config, "residual_multiplier", 1.0),
                  "logits_scale": 1.0 / real(config, "logits_scaling", 1.0)}
    return found | {"biases": tuple(dict.fromkeys(projections))}


def window_of(config: Config, kind: str, layers: int) -> dict[str, object]:
    """The window of a model, and which layers have it."""
    window = config.get("sliding_window")
    if window is None or (kind in ("qwen2", "qwen3") and not flag(config, "use_sliding_window", False)):
        return {}
    listed = config.get("layer_types")
    if isinstance(listed, list):
        if len(listed) != layers or any(one not in ("sliding_attention", "full_attention") for one in listed):
            raise Refused(f"config.json: layer_types should name sliding_attention or full_attention for {layers} "
                          "layers; copy the folder again")
        near = [i for i, one in enumerate(listed) if one == "sliding_attention"]
    elif kind in ("qwen2", "qwen3"):
        near = list(range(number(config, "max_window_layers", default=28), layers))
    elif kind == "gemma2":
        near = list(range(0, layers, 2))
    elif kind == "gemma3_text":
        every = number(config, "sliding_window_pattern", default=6)
        near = [i for i in range(layers) if (i + 1) % every]
    else:
        return {"window": number(config, "sliding_window")}
    return {"window": number(config, "sliding_window"), "window_layers": tuple(near)} if near else {}

"""A decoder of ours as a Hugging Face GPT-2 folder that `transformers` loads with the same logits."""

from pathlib import Path

import orjson
import torch
from safetensors.torch import save_file
from torch import Tensor

from transformer.checkpoint import Checkpoint, whole_folder
from transformer.config import ModelConfig
from transformer.huggingface.folder import Refused

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}


def check_expressible(config: ModelConfig) -> None:
    """Raises Refused, naming the first field whose value GPT-2 has no way to express."""
    for name, fits, needs in (
        ("encoder_layers", not config.encoder_layers, "0, a decoder alone"),
        ("positions", config.positions in ("learned", "sinusoidal", "none"), "learned, sinusoidal or none"),
        ("norm", config.norm == "pre", "pre"),
        ("embedding_norm", not config.embedding_norm, "false"),
        ("type_vocab", not config.type_vocab, "0"),
        ("logits_bias", not config.logits_bias, "false"),
        ("head_dim", config.width * config.n_heads == config.d_model, "d_model / n_heads"),
    ):
        if not fits:
            raise Refused(f"{name} is {getattr(config, name)}, and GPT-2 can only express {needs}; this checkpoint "
                          "cannot be written as one")


def export_gpt2(ckpt: Checkpoint, out: Path) -> Path:
    """Write a folder that GPT2LMHeadModel.from_pretrained opens. Raises Refused for what GPT-2 cannot express, and
    where `out` holds something else."""
    config = ckpt.config
    check_expressible(config)
    if out.exists() and any(out.iterdir()) and not (out / "heads-up.json").exists():
        raise Refused(f"{out} is there and is not such an export; choose another folder")
    weights = _weights(ckpt)
    tied = "lm_head.weight" not in weights
    special = {"bos_token_id": config.bos_id, "eos_token_id": config.eos_id, "pad_token_id": config.pad_id}
    about = {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": config.vocab_size,
        "n_positions": config.max_len, "n_embd": config.d_model, "n_layer": config.decoder_layers,
        "n_head": config.n_heads, "n_inner": config.d_ff, "activation_function": ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.norm_eps, "resid_pdrop": config.dropout, "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout if config.attention_dropout is None else config.attention_dropout,
        "tie_word_embeddings": tied, "dtype": "float32", **special}
    banned = {"suppress_tokens": list(config.banned_ids)} if config.banned_ids else {}
    with whole_folder(out) as new:
        save_file(weights, str(new / "model.safetensors"), metadata={"format": "pt"})
        (new / "config.json").write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))
        (new / "generation_config.json").write_bytes(orjson.dumps({**special, **banned}, option=orjson.OPT_INDENT_2))
        (new / "heads-up.json").write_bytes(orjson.dumps({"exported_from": ckpt.id}))
        if ckpt.tokenizer is not None and ckpt.tokenizer.kind == "huggingface":
            ckpt.tokenizer.save(new / "tokenizer.json")
            (new / "tokenizer_config.json").write_bytes(orjson.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
        elif ckpt.tokenizer is not None and ckpt.tokenizer.kind != "ids":
            ckpt.tokenizer.save(new / "tokenizer.model")  # sentencepiece's own, which GPT-2's tokenizers do not read
        (new / "README.md").write_text(
            f"# {out.name}\n\n`{ckpt.id}` of Heads Up, step {ckpt.description.step}, as a GPT-2. "
            "`transformers.GPT2LMHeadModel.from_pretrained` opens it.\n", "utf-8")
    return out


def _weights(ckpt: Checkpoint) -> dict[str, Tensor]:
    """GPT-2's names and layouts; what scales or places embeddings here is worked into the tables."""
    config, ours = ckpt.config, {name: value.cpu().float() for name, value in ckpt.model.state_dict().items()}
    table = ckpt.model.tgt_embedding.encoding(0, config.max_len)
    scale = config.d_model ** 0.5 if config.embedding_scale else 1.0
    weights = {"transformer.wte.weight": ours["tgt_embedding.tokens.weight"] * scale,
               "transformer.wpe.weight": torch.zeros(config.max_len, config.d_model) if table is None else table.cpu(),
               "transformer.ln_f.weight": ours["decoder.norm.weight"],
               "transformer.ln_f.bias": ours["decoder.norm.bias"]}
    if scale != 1.0 or not config.tie_embeddings:
        weights["lm_head.weight"] = ours["output.weight"]
    for i in range(config.decoder_layers):
        layer, block = f"decoder.layers.{i}", f"transformer.h.{i}"
        for name in ("weight", "bias"):
            joined = torch.cat([ours[f"{layer}.attention.{one}_proj.{name}"] for one in "qkv"])
            weights[f"{block}.attn.c_attn.{name}"] = _turned(joined)
            for mine, theirs in (("attention.out_proj", "attn.c_proj"), ("feed_forward.up", "mlp.c_fc"),
                                 ("feed_forward.down", "mlp.c_proj")):
                weights[f"{block}.{theirs}.{name}"] = _turned(ours[f"{layer}.{mine}.{name}"])
            for mine, theirs in (("attention_norm", "ln_1"), ("feed_forward_norm", "ln_2")):
                weights[f"{block}.{theirs}.{name}"] = ours[f"{layer}.{mine}.{name}"]
    return {name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in weights.items()}


def _turned(tensor: Tensor) -> Tensor:
    """A weight (out, in) as GPT-2 keeps it, (in, out); a bias as it is."""
    return tensor.T if tensor.dim() == 2 else tensor

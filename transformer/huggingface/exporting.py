"""A decoder of ours as a Hugging Face GPT-2 folder that `transformers` loads with the same logits."""

from pathlib import Path

import orjson
import torch
from safetensors.torch import save_file
from torch import Tensor

from transformer.checkpoint import Checkpoint, whole_folder
from transformer.config import ModelConfig
from transformer.huggingface.folder import ABOUT, SENTENCEPIECE, Refused, read_json
from transformer.huggingface.sentencepieces import tokenizer_json
from transformer.model.positions import POSITIONS

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
# Fields of which any value can be written, or changes nothing that a decoder computes. All others have to be as GPT-2
# has them, which is their default but for these: a new field is refused until somebody says how to write it.
WRITTEN = {"d_model", "n_heads", "decoder_layers", "d_ff", "vocab_size", "src_vocab_size", "max_len", "dropout",
           "attention_dropout", "output_dropout", "norm_eps", "sinusoid_layout", "embedding_scale", "tie_embeddings",
           "init", "pad_id", "unk_id", "bos_id", "eos_id", "start_id", "banned_ids"}
ADDED = tuple(name for name, one in POSITIONS.items() if not one.attended)  # GPT-2 adds a table to its embeddings
ONLY = {"encoder_layers": (0,), "positions": ADDED, "activation": tuple(ACTIVATIONS)}


def check_expressible(config: ModelConfig) -> None:
    """Raises Refused, naming the first field whose value GPT-2 has no way to express: one that is neither written into
    the folder nor as every GPT-2 has it."""
    same_width = (None, config.d_model // config.n_heads)
    for name, field in ModelConfig.model_fields.items():
        needed = same_width if name == "head_dim" else ONLY.get(name, (field.default,))
        if name not in WRITTEN and (value := getattr(config, name)) not in needed:
            raise Refused(f"{name} is {value}, and GPT-2 can only express {' or '.join(map(str, needed))}; this "
                          "checkpoint cannot be written as one")


def export_model(ckpt: Checkpoint, out: Path) -> Path:
    """Write a folder that GPT2LMHeadModel.from_pretrained and AutoTokenizer open; where it has no tokenizer for them,
    `about_export` says why. Raises Refused for what GPT-2 cannot express, and where `out` holds something else."""
    config = ckpt.config
    check_expressible(config)
    if out.exists() and any(out.iterdir()) and not (out / ABOUT).exists():
        raise Refused(f"{out} exists and is not such an export; choose another folder")
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
        why_not = _write_tokenizer(new, ckpt)
        read = ("`transformers.AutoTokenizer` reads text for it as Heads Up does." if why_not is None else
                f"There is no tokenizer for `transformers`: {why_not}. Give the model ids.")
        (new / "README.md").write_text(
            f"# {out.name}\n\n`{ckpt.id}` of Heads Up, step {ckpt.description.step}, as a GPT-2. "
            f"`transformers.GPT2LMHeadModel.from_pretrained` opens it. {read}\n\n"
            "`headsup import` takes it back, tokenizer included.\n", "utf-8")
    return out


def about_export(folder: Path) -> dict[str, object]:
    """What an export says of itself: exported_from, the tokenizer that is ours, and tokenizer_left_out, why
    transformers has none."""
    return read_json(folder / ABOUT)


def _write_tokenizer(folder: Path, ckpt: Checkpoint) -> str | None:
    """What transformers reads text with, where it cuts every text as ours does; else why there is nothing. A
    sentencepiece model goes along under a name of our own, for the way back."""
    tokenizer, about, why_not = ckpt.tokenizer, {"exported_from": ckpt.id}, None
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": ckpt.config.max_len,
                "clean_up_tokenization_spaces": False}
    if not ckpt.reads_text:
        why_not = "the checkpoint has none"
    elif tokenizer.kind == "huggingface":
        tokenizer.save(folder / "tokenizer.json")
    else:
        tokenizer.save(folder / SENTENCEPIECE)
        about["tokenizer"] = {"kind": tokenizer.kind, "standardise": tokenizer.standardise}
        content, why_not = tokenizer_json(tokenizer)
        if content is not None:
            (folder / "tokenizer.json").write_bytes(content)
            named = {one["id"]: one["content"] for one in orjson.loads(content)["added_tokens"]}
            settings |= {"split_special_tokens": True} | {
                f"{name}_token": named[getattr(tokenizer, f"{name}_id")] for name in ("pad", "unk", "bos", "eos")}
    if why_not is not None:  # no class at all: AutoTokenizer would make a GPT-2's without a piece, in silence
        settings = {"tokenizer_class": "NoTokenizer"}
        about["tokenizer_left_out"] = why_not
    (folder / "tokenizer_config.json").write_bytes(orjson.dumps(settings, option=orjson.OPT_INDENT_2))
    (folder / ABOUT).write_bytes(orjson.dumps(about))
    return why_not


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

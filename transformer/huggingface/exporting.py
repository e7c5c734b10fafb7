"""Exports a decoder as a Hugging Face folder that `transformers` loads with the same logits."""

import shutil
from pathlib import Path

import orjson
from safetensors.torch import save_file

from transformer.basics.folders import whole_folder
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.huggingface.export_layouts import layout_of
from transformer.huggingface.folder import ABOUT, CHAT, SENTENCEPIECE, Refused, read_json
from transformer.huggingface.sentencepiece_export import tokenizer_json
from transformer.text.tokenizer import SentencePieceTokenizer


def export_model(ckpt: Checkpoint, out: Path) -> Path:
    """Writes a folder that AutoModelForCausalLM and AutoTokenizer open: as a Llama or a GPT-NeoX if positions are
    rotary, else as a GPT-2. If there is no tokenizer for them, `about_export` says why. Raises Refused for what none of
    them can express, and if `out` holds something else.

    >>> transformer.export_model(transformer.load("checkpoints/write"), tmp / "exported").name
    'exported'
    """
    config = ckpt.config
    shape = layout_of(config)
    if out.exists() and any(out.iterdir()) and not (out / ABOUT).exists():
        raise Refused(f"{out} exists and is not such an export; choose another folder")
    weights = {name: value.detach().cpu().float().contiguous().clone()
               for name, value in shape.weights(ckpt.model).items()}
    special = {"bos_token_id": config.bos_id, "eos_token_id": config.eos_id, "pad_token_id": config.pad_id}
    about = {"architectures": [shape.architecture], "model_type": shape.model_type, "vocab_size": config.vocab_size,
             "tie_word_embeddings": shape.output not in weights, "dtype": "float32", **special, **shape.about(config)}
    banned = {"suppress_tokens": list(config.banned_ids)} if config.banned_ids else {}
    with whole_folder(out) as new:
        save_file(weights, str(new / "model.safetensors"), metadata={"format": "pt"})
        (new / "config.json").write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))
        (new / "generation_config.json").write_bytes(orjson.dumps({**special, **banned}, option=orjson.OPT_INDENT_2))
        why_not = _write_tokenizer(new, ckpt)
        read = ("`transformers.AutoTokenizer` reads text for it as Heads Up does." if why_not is None else
                f"There is no tokenizer for `transformers`: {why_not}. Give the model ids.")
        (new / "README.md").write_text(
            f"# {out.name}\n\n`{ckpt.id}` of Heads Up, step {ckpt.description.step}, as a {shape.title}. "
            f"`transformers.{shape.architecture}.from_pretrained` opens it. {read}\n\n"
            "`headsup import` takes it back, tokenizer included.\n", "utf-8")
    return out


def about_export(folder: Path) -> dict[str, object]:
    """Notes on an export: exported_from, our tokenizer, and tokenizer_left_out, the reason why transformers has
    none."""
    return read_json(folder / ABOUT)


def _write_tokenizer(folder: Path, ckpt: Checkpoint) -> str | None:
    """Writes a tokenizer for transformers if it cuts every text as ours does; else returns the reason. A sentencepiece
    model goes along under a name of our own, for the way back."""
    tokenizer, why_not = ckpt.tokenizer, None
    about: dict[str, object] = {"exported_from": ckpt.id}
    settings: dict[str, object] = {"tokenizer_class": "PreTrainedTokenizerFast",
                                   "model_max_length": ckpt.config.max_len, "clean_up_tokenization_spaces": False}
    template = ckpt.description.folder / CHAT
    if template.is_file():
        shutil.copy(template, folder / CHAT)
    if not ckpt.reads_text:
        why_not = "the checkpoint has none"
    elif tokenizer.kind == "huggingface":
        tokenizer.save(folder / "tokenizer.json")
        named = {one["id"]: one["content"] for one in read_json(folder / "tokenizer.json").get("added_tokens", [])}
        settings |= {f"{name}_token": named[id] for name in ("pad", "unk", "bos", "eos")
                     if (id := getattr(ckpt.config, f"{name}_id")) in named}
    else:
        assert isinstance(tokenizer, SentencePieceTokenizer)
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

"""Reads a Hugging Face folder: JSON, and safetensors files whose header is checked first."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer.basics.folders import is_no_file
from transformer.basics.json_depth import is_shallow
from transformer.checkpoints.weights import BYTES, OTHERS, Refused, StoredTensor, check_size, clean, read_header

LARGEST_JSON = 4_000_000  # bytes
ABOUT, SENTENCEPIECE = "heads-up.json", "heads-up.model"  # in folders that Heads Up exported
CHAT = "chat_template.jinja"
DECIDES = ("eos_token_id", "decoder_start_token_id", "forced_bos_token_id", "bad_words_ids", "suppress_tokens")
# Settings of decoding that Heads Up does not have, with their neutral values.
NEUTRAL = {"min_length": 0, "min_new_tokens": 0, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
           "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "forced_eos_token_id": None,
           "forced_decoder_ids": None, "begin_suppress_tokens": None, "exponential_decay_length_penalty": None,
           "sequence_bias": None}
MOST_SHARED = 8  # names of weights that are stored under another: of an encoder-decoder's tables, four
HEADS = ("lm_head.weight", "embed_out.weight")
IN_PYTHON = "in Python, transformer.show(model, tokenizer, text) shows it"
MERGE = "merge it into its model first: model.merge_and_unload().save_pretrained(folder)"
SHARD = re.compile(r"[\w-]{1,200}\.safetensors", re.ASCII)
# Put before the names of weights by torch.compile, FSDP and checkpointing, at any depth, and by DataParallel.
WRAPPERS, OUTER = re.compile(r"\b(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\."), "module."
PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt", "*.h5", "*.msgpack")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises Refused if there is none."""
    try:
        if is_no_file(path):
            raise Refused(f"{path.name} is not a file; copy the folder again")
        if path.stat().st_size > LARGEST_JSON:
            raise Refused(f"{path.name} has {path.stat().st_size:,} bytes, and at most {LARGEST_JSON:,} are read")
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise Refused(f"{path.parent.name or path.parent} has no {path.name}; name a Hugging Face folder with "
                      "config.json and model.safetensors") from None
    except OSError as error:
        raise Refused(f"{path.name} cannot be read ({error.strerror}); copy the folder again") from None
    except orjson.JSONDecodeError as error:
        raise Refused(f"{path.name} is not readable JSON ({error}); copy the folder again") from None
    if not isinstance(value, dict):
        raise Refused(f"{path.name} should hold a JSON object; copy the folder again")
    if not is_shallow(value):
        raise Refused(f"{path.name} is nested too deeply; copy the folder again")
    return value


def tensors(folder: Path) -> dict[str, StoredTensor]:
    """All tensors of a folder, from one file or several. Raises Refused, above all for pickles."""
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").exists() or not index.exists():
        files = ["model.safetensors"]
    else:
        listed = read_json(index).get("weight_map")
        names = set(listed.values()) if isinstance(listed, dict) and all(
            isinstance(name, str) for name in listed.values()) else set()
        if not names or len(names) > 200 or not all(SHARD.fullmatch(name) for name in names):
            raise Refused(f"{index.name} should name the .safetensors files beside it; copy the folder again")
        files = sorted(names)
    stored: dict[str, StoredTensor] = {}
    kept: dict[str, str] = {}
    for name in files:
        if not (folder / name).is_file():
            pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
            if pickles and name == "model.safetensors":
                raise Refused(f"{folder.name} has its weights only as {pickles[0][:60]}, a format that can run code "
                              "when it is opened; ask for model.safetensors, or save it so with save_pretrained")
            raise Refused(f"{folder.name} has no {name}; copy the whole folder again")
        more, metadata = read_header(folder / name)
        kept |= {one: other for one, other in metadata.items() if other in more}  # a table that two names share
        if twice := stored.keys() & more.keys():
            raise Refused(f"{min(twice)[:60]!r} is in two files of {folder.name}; copy the folder again")
        stored |= more
    kept = {name: other for name, other in kept.items() if name not in stored}
    if len(kept) > MOST_SHARED:
        raise Refused(f"{folder.name} has {len(kept):,} more names for its weights, and at most {MOST_SHARED} are "
                      "read; save it with save_pretrained")
    return stored | {name: stored[other] for name, other in kept.items()}


def fit(found: Mapping[str, StoredTensor], expected: Mapping[str, tuple[int, ...]], *, spare: re.Pattern[str],
        folder: str) -> None:
    """Compares headers with the names and shapes that a configuration needs; spare: names that may be there besides.
    Raises Refused for the first that is missing, differs or is too many."""
    for name, shape in expected.items():
        if name not in found:
            raise Refused(_missing(found, name, folder))
        if found[name].shape != shape:
            raise Refused(f"{name} has the shape {found[name].shape} in {folder}, and by its config.json {shape}; the "
                          "two do not belong together")
        if found[name].dtype in OTHERS:
            raise Refused(f"{name} is stored as {found[name].dtype} in {folder}, and {', '.join(BYTES)} are read; save "
                          "it as one of them")
    there = {found[name] for name in expected}
    for name in sorted(found.keys() - expected.keys()):
        if found[name] not in there and not spare.fullmatch(name):
            raise Refused(f"{folder} has weights {name[:80]!r}, for which the model of its config.json has no place")


def _missing(found: Mapping[str, StoredTensor], name: str, folder: str) -> str:
    """The sentence for weights that are not there."""
    if adapted := next((one for one in sorted(found) if ".lora_" in one or ".base_layer." in one), None):
        return f"{folder} has an adapter's weights, such as {clean(adapted, longest=60)}; {MERGE}"
    if longer := next((one for one in sorted(found) if one.endswith(f".{name}")), None):
        return (f"{folder} has {clean(longer)} where its config.json asks for {name}; save the model itself, without "
                f"what it stands in ({clean(longer.removesuffix(name).rstrip('.'), longest=40)})")
    if name in HEADS:
        return (f"{folder} has no {name}, which predicts tokens, and its embeddings are not tied to one: it writes "
                f"nothing; {IN_PYTHON}")
    return (f"{folder} has no weights {name}, which its config.json asks for, and has "
            f"{clean(min(found, default='none'), longest=60)}; save both again with save_pretrained")


class Folder:
    """A folder for an import: its config.json, its tensors by their headers, and each tensor by name."""

    quantisation: str | None = None  # of its weights: none

    def __init__(self, path: Path):
        """Raises Refused, as its properties do, if the folder is damaged."""
        self.path = path

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json, with the fields of generation_config.json that decide what is written."""
        if (self.path / "adapter_config.json").is_file() and not (self.path / "config.json").exists():
            raise Refused(f"{self.path.name} is an adapter, and the model that it changes is elsewhere; {MERGE}")
        config = read_json(self.path / "config.json")
        if (self.path / "generation_config.json").exists():
            generation = read_json(self.path / "generation_config.json")
            config |= {key: generation[key] for key in (*DECIDES, *NEUTRAL) if generation.get(key) is not None}
        return config

    @cached_property
    def tensors(self) -> dict[str, StoredTensor]:
        """The tensors in the headers, by the names that the model has for them: without those of wrappers, and with
        TensorFlow's gamma and beta as weight and bias."""
        stored: dict[str, StoredTensor] = {}
        for name, one in tensors(self.path).items():
            if stored.setdefault(_today(name), one) is not one:
                raise Refused(f"{self.path.name} has {clean(_today(name))} twice, once as {clean(name)}; save the "
                              "model itself, without what it stands in")
        while stored and all(name.startswith(OUTER) for name in stored):
            stored = {name.removeprefix(OUTER): one for name, one in stored.items()}
        return stored

    @cached_property
    def settings(self) -> dict[str, object]:
        """tokenizer_config.json, if it is there."""
        path = self.path / "tokenizer_config.json"
        return read_json(path) if path.is_file() else {}

    @cached_property
    def chat_template(self) -> str | None:
        """The chat template in Jinja, from a file of its own or the tokenizer's settings."""
        path = self.path / CHAT
        if path.is_file() and path.stat().st_size <= LARGEST_JSON:
            return path.read_text("utf-8", errors="replace")
        template = self.settings.get("chat_template")
        if isinstance(template, list):  # several, by name
            template = next((one.get("template") for one in template if isinstance(one, dict)
                         and one.get("name") == "default"), None)
        return template if isinstance(template, str) else None

    @cached_property
    def special_tokens(self) -> dict[str, str]:
        """The special tokens by the names that chat templates have for them: bos_token, eos_token, …"""
        path = self.path / "special_tokens_map.json"
        named, extra = (read_json(path) if path.is_file() else {}) | self.settings, "extra_special_tokens"
        named |= more if isinstance(more := named.get(extra), dict) else {}
        texts = {name: one.get("content") if isinstance(one, dict) else one for name, one in named.items()
                 if name.endswith("_token")}
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    @cached_property
    def licence(self) -> str | None:
        """The licence at the top of README.md, if there is one."""
        if not (self.path / "README.md").is_file():
            return None
        try:
            with open(self.path / "README.md", encoding="utf-8", errors="replace") as file:
                top = file.read(20_000)
        except OSError:
            return None
        front = re.match(r"---\s*\n(.*?)\n---", top, re.DOTALL)
        named = re.search(r"^license:\s*[\"']?([\w.+ -]{1,60}?)[\"']?\s*$", front[1], re.MULTILINE) if front else None
        return named[1] if named else None

    def read(self, name: str) -> Tensor:
        """A tensor in the precision in which it is stored, memory-mapped if possible. Raises Refused for one with
        numbers that no weight is."""
        stored = self.tensors[name]
        try:
            with safe_open(str(stored.file), "pt") as file:
                tensor = file.get_tensor(stored.name)
        except (SafetensorError, OSError) as error:
            raise Refused(f"{stored.file.name} is damaged ({error}); copy it again") from None
        if tensor.dtype == torch.float64:
            tensor = tensor.float()
        check_size(name, tensor)
        return tensor


def _today(name: str) -> str:
    name = WRAPPERS.sub("", name)
    return re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))

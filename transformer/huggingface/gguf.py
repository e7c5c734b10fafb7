"""GGUF files, which llama.cpp and Ollama run, as the Hugging Face folders that they were made of.

The gguf package unpacks values; what llama.cpp's convert_hf_to_gguf.py did to them before is undone here.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.checkpoints.weights import Refused, StoredTensor, check_size, clean
from transformer.huggingface.gguf_config import GgufMetadata, config_of
from transformer.huggingface.gguf_header import Entry, read_contents
from transformer.huggingface.gguf_tokenizer import split_of, tokenizer_json

Undo = Callable[[np.ndarray], np.ndarray]

# What stands in a block of each family, llama.cpp's name -> Hugging Face's; [n] is each row by itself.
GATED = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
QK_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
AROUND = {"post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
          "post_ffw_norm": "post_feedforward_layernorm"}
FUSED = {"attn_norm": "input_layernorm", "attn_qkv": "self_attention.query_key_value",
         "attn_output": "self_attention.dense", "ffn_norm": "post_attention_layernorm",
         "ffn_up": "mlp.dense_h_to_4h", "ffn_down": "mlp.dense_4h_to_h"}
IN_MODEL = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
IN_TRANSFORMER = {"token_embd": "transformer.word_embeddings", "token_embd_norm":
                  "transformer.word_embeddings_layernorm", "output_norm": "transformer.ln_f", "output": "lm_head"}
# Transformers' names of special tokens and llama.cpp's.
SPECIAL = (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("sep", "seperator"), ("pad", "padding"),
           ("cls", "cls"), ("mask", "mask"))
SPARE = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")  # said by the configuration


@dataclass(frozen=True)
class Family:
    """One architecture of llama.cpp: its names, and what its converter does to values."""

    model_type: str
    block: Mapping[str, str] = field(default_factory=lambda: GATED)
    around: Mapping[str, str] = field(default_factory=lambda: IN_MODEL)
    blocks: str = "model.layers"
    turned: bool = False  # rotary pairs are interleaved; Hugging Face has halves
    raised: bool = False  # norms as 1 + w
    apart: bool = False  # one matrix with all queries first; Hugging Face has them head by head
    flipped: bool = False  # linear layers are (out, in); Hugging Face has Conv1D's (in, out)

    __repr__ = brief


FAMILIES = {
    "llama": Family("llama", turned=True), "granite": Family("granite", turned=True),
    "olmo": Family("olmo", turned=True), "qwen2": Family("qwen2"), "qwen3": Family("qwen3", GATED | QK_NORMS),
    "olmo2": Family("olmo2", GATED | QK_NORMS | AROUND),
    "stablelm": Family("stablelm", GATED | {"attn_q_norm": "self_attn.q_layernorm.norms.[n]",
                                            "attn_k_norm": "self_attn.k_layernorm.norms.[n]"}),
    "phi2": Family("phi", GATED | {"attn_output": "self_attn.dense", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2"},
                   IN_MODEL | {"output_norm": "model.final_layernorm"}),
    "phi3": Family("phi3", GATED | {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"}),
    "gemma": Family("gemma", raised=True), "gemma2": Family("gemma2", GATED | AROUND, raised=True),
    "gemma3": Family("gemma3_text", GATED | QK_NORMS | AROUND, raised=True),
    "gptneox": Family("gpt_neox", FUSED | {"attn_qkv": "attention.query_key_value", "attn_output": "attention.dense"},
                      {"token_embd": "gpt_neox.embed_in", "output_norm": "gpt_neox.final_layer_norm",
                       "output": "embed_out"}, "gpt_neox.layers", apart=True),
    "falcon": Family("falcon", FUSED | {"attn_norm_2": "ln_attn"}, IN_TRANSFORMER, "transformer.h", apart=True),
    "bloom": Family("bloom", FUSED, IN_TRANSFORMER, "transformer.h", apart=True),
    "gpt2": Family("gpt2", {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
                            "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
                   {"token_embd": "transformer.wte", "position_embd": "transformer.wpe",
                    "output_norm": "transformer.ln_f", "output": "lm_head"}, "transformer.h", flipped=True)}


class GgufFile:
    """A GGUF file with a checked header. Raises Refused in one sentence for all that cannot be read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not find_spec("gguf"):
            raise Refused(f"{clean(self.path.name)} is a GGUF file, which needs `pip install gguf` to be read")
        self._contents = read_contents(self.path)
        self._notes = self._contents.notes
        architecture = self._notes.get("general.architecture")
        if (parts := self._notes.get("split.count", 1)) != 1:
            raise Refused(f"{clean(self.path.name)} is one of {clean(parts, longest=9)} parts of a model; join them "
                          "with llama-gguf-split --merge")
        if not isinstance(architecture, str) or architecture not in FAMILIES:
            raise Refused(f"{clean(self.path.name)} holds a model of the architecture "
                          f"{clean(architecture, longest=40)}, and {', '.join(FAMILIES)} are read")
        if self._notes.get(f"{architecture}.expert_count"):
            raise Refused(f"{clean(self.path.name)} holds a model that needs experts to choose among, which Heads Up's "
                          "models do not have")
        self._architecture, self._family = architecture, FAMILIES[architecture]

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The config.json of the model."""
        metadata = GgufMetadata(self.path.name, self._notes, self._contents.tensors)
        return config_of(metadata, self._family.model_type, self._factors)

    @functools.cached_property
    def tensors(self) -> dict[str, StoredTensor]:
        """Each weight's place, by its name and with its shape at Hugging Face; `dtype` is the quantisation's name."""
        stored = {}
        for name, entry in self._contents.tensors.items():
            if name in SPARE:
                continue
            _check_readable(self.path.name, entry)
            theirs = self._named(name)
            if "[n]" not in theirs:
                shape = entry.shape[::-1] if self._flips(entry) else entry.shape
                stored[theirs] = StoredTensor(self.path, name, entry.kind, shape, entry.start)
                continue
            if len(entry.shape) != 2:
                raise Refused(f"{clean(name)} has the shape {entry.shape}, and should have a row for each head; copy "
                              f"{clean(self.path.name)} again")
            for row in range(entry.shape[0]):
                start = entry.start + row * (entry.size // entry.shape[0])
                stored[theirs.replace("[n]", str(row))] = StoredTensor(self.path, name, entry.kind, entry.shape[1:],
                                                                      start)
        return stored

    def read(self, name: str) -> Tensor:
        """One weight, as float32. Raises Refused if it has numbers that no weight is."""
        stored = self.tensors[name]
        entry = self._contents.tensors[stored.name]
        shape = entry.shape if len(stored.shape) == len(entry.shape) else stored.shape  # a row of it
        values = self._undone(stored.name)(self._unpacked(entry.kind, shape, stored.start))
        tensor = torch.from_numpy(np.ascontiguousarray(values, np.float32))
        check_size(name, tensor)
        return tensor

    def tokenizer_json(self) -> bytes | None:
        """Its tokenizer for the tokenizers package; None for a kind that is not supported."""
        return tokenizer_json(self.path.name, self._notes, self._architecture)

    @property
    def tokenizer_kind(self) -> str:
        """Its name of its kind of tokenizer: "gpt2 qwen2" for byte-level BPE that splits as Qwen 2's, "llama" for
        sentencepiece."""
        kind = clean(self._notes.get("tokenizer.ggml.model", "none"), longest=20)
        return f"{kind} {split_of(self._notes)}" if kind == "gpt2" else kind

    settings: Mapping[str, object] = MappingProxyType({})  # of a tokenizer_config.json: there is none

    @property
    def chat_template(self) -> str | None:
        """The chat template in Jinja."""
        return self._text("tokenizer.chat_template", longest=100_000)

    @property
    def special_tokens(self) -> dict[str, str]:
        """The special tokens by the names that chat templates have for them: bos_token, eos_token, …"""
        pieces = self._notes.get("tokenizer.ggml.tokens")
        ids = {f"{theirs}_token": self._notes.get(f"tokenizer.ggml.{ours}_token_id") for theirs, ours in SPECIAL}
        return {name: str(pieces[id]) for name, id in ids.items()
                if isinstance(pieces, list) and type(id) is int and 0 <= id < len(pieces)}

    @property
    def licence(self) -> str | None:
        """The licence that it names."""
        return self._text("general.license")

    @property
    def name(self) -> str | None:
        """Its own name."""
        return self._text("general.name")

    @property
    def quantisation(self) -> str:
        """The quantisation of most of its weights, as it says itself, else as they are: "Q4_1", "Q4_K_M", "F16"."""
        from gguf.constants import LlamaFileType

        file_type = self._notes.get("general.file_type")
        named = {kind.value: kind.name for kind in LlamaFileType}.get(file_type, "") if type(file_type) is int else ""
        sizes: dict[str, int] = {}
        for entry in self._contents.tensors.values():
            sizes[entry.kind] = sizes.get(entry.kind, 0) + prod(entry.shape)
        most = max(sizes, key=lambda kind: sizes[kind], default="F32")
        return named.removeprefix("MOSTLY_").removeprefix("ALL_") or most if named != "GUESSED" else most

    def _text(self, key: str, *, longest: int = 200) -> str | None:
        value = self._notes.get(key)
        return value if isinstance(value, str) and 0 < len(value) <= longest else None

    def _named(self, name: str) -> str:
        """Hugging Face's name of a tensor."""
        stem, _, end = name.rpartition(".")
        first, _, rest = stem.partition(".")
        block, _, leaf = rest.partition(".")
        if end in ("weight", "bias"):
            if not rest and first in self._family.around:
                return f"{self._family.around[first]}.{end}"
            if first == "blk" and block.isdecimal() and block == str(int(block[:9])) and leaf in self._family.block:
                return f"{self._family.blocks}.{block}.{self._leaf(leaf)}.{end}"
        raise Refused(f"{clean(self.path.name)} has weights {clean(name, longest=60)!r}, for which a model of the "
                      f"architecture {self._architecture} has no place")

    def _leaf(self, leaf: str) -> str:
        if self._architecture == "falcon" and "blk.0.attn_norm_2.weight" in self._contents.tensors:  # as from 40B on
            return "ln_mlp" if leaf == "attn_norm" else self._family.block[leaf]
        return self._family.block[leaf]

    def _flips(self, entry: Entry) -> bool:
        return self._family.flipped and entry.name.startswith("blk.") and len(entry.shape) == 2

    def _undone(self, name: str) -> Undo:
        """A function that restores the values that a tensor had before it was written to this file."""
        leaf, heads, served = name.split(".")[-2], *self._heads
        if self._family.turned and leaf in ("attn_q", "attn_k"):
            return functools.partial(_halves, name=name, heads=heads if leaf == "attn_q" else served)
        if self._family.apart and leaf == "attn_qkv":
            return functools.partial(_by_head, name=name, heads=heads, served=served)
        if self._family.raised and leaf.endswith("norm"):
            return lambda values: values - np.float32(1)
        if self._flips(self._contents.tensors[name]):
            return np.transpose
        return lambda values: values

    @property
    def _heads(self) -> tuple[int, int]:
        heads = self.config["num_attention_heads" if "num_attention_heads" in self.config else "n_head"]
        return heads, self.config.get("num_key_value_heads", self.config.get("num_kv_heads", heads))

    def _factors(self, name: str) -> list[float]:
        """The numbers of a small tensor that belongs to the configuration."""
        entry = self._contents.tensors.get(name)
        if entry is None or len(entry.shape) != 1 or entry.shape[0] > 10_000 or entry.kind != "F32":
            raise Refused(f"{clean(self.path.name)} has no numbers {name} that scale its positions; copy it again")
        values = self._unpacked(entry.kind, entry.shape, entry.start)
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise Refused(f"{name} of {clean(self.path.name)} holds numbers that scale nothing; copy it again")
        return [float(str(value)) for value in values]

    def _unpacked(self, kind: str, shape: tuple[int, ...], start: int) -> np.ndarray:
        """Float32 values of that shape, from the bytes that begin there."""
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
        from gguf.quants import dequantize

        block, size = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
        try:
            with open(self.path, "rb") as file:
                file.seek(start)
                packed = np.fromfile(file, np.uint8, prod(shape) // block * size)
        except OSError as error:
            raise Refused(f"{clean(self.path.name)} cannot be read ({error.strerror}); copy it again") from None
        if packed.size < prod(shape) // block * size:
            raise Refused(f"{clean(self.path.name)} ends too early; copy it again")
        with np.errstate(all="ignore"):  # numbers out of range are found by whoever asked
            rows = packed.reshape(-1, shape[-1] // block * size)
            return dequantize(rows, GGMLQuantizationType[kind]).reshape(shape)


def _halves(values: np.ndarray, *, name: str, heads: int) -> np.ndarray:
    """(heads * head_dim, ...) with interleaved pairs -> with all firsts before all seconds."""
    if values.shape[0] % (2 * heads):
        raise _odd(name, values.shape, heads)
    return values.reshape(heads, -1, 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def _by_head(values: np.ndarray, *, name: str, heads: int, served: int) -> np.ndarray:
    """(all queries, all keys, all values) -> for each key-value head its queries, its key, its value; on the first
    axis."""
    if values.shape[0] % (heads + 2 * served) or heads % served:
        raise _odd(name, values.shape, heads)
    width, rest = values.shape[0] // (heads + 2 * served), values.shape[1:]
    cut = np.split(values, [heads * width, (heads + served) * width])
    return np.concatenate([one.reshape(served, -1, width, *rest) for one in cut], axis=1).reshape(values.shape)


def _odd(name: str, shape: tuple[int, ...], heads: int) -> Refused:
    return Refused(f"{name} has the shape {shape}, which {heads:,} heads cannot share; copy the file again")


def _check_readable(file: str, entry: Entry) -> None:
    if not _unpacks(entry.kind):
        raise Refused(f"{clean(file)} stores {clean(entry.name, longest=60)!r} as {entry.kind}, which is not read; ask "
                      "for another quantisation, such as Q8_0")


@functools.cache
def _unpacks(kind: str) -> bool:
    """Whether the gguf package can unpack a quantisation, tried on one block of zeros."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        dequantize(np.zeros((1, GGML_QUANT_SIZES[GGMLQuantizationType[kind]][1]), np.uint8), GGMLQuantizationType[kind])
    except NotImplementedError:
        return False
    return True

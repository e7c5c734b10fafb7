"""The configuration and the plan that all imported decoders share."""

import re
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.plan import Modules, Names, Part, Plan, Take, checked, one_after_another, parts_of, present
from transformer.settings.config import ModelConfig

QKV = ("attention.q_proj", "attention.k_proj", "attention.v_proj")


def decoder_config(config: ConfigJson, ends: Mapping[str, int | None], vocab: int, **settings: object) -> ModelConfig:
    """Our configuration of a decoder; ends: special tokens that config.json may leave out. Raises Refused."""
    known = ConfigJson({**ends, **{key: value for key, value in config.items() if value is not None}})
    bos, eos = (known.token(f"{name}_token_id", vocab) for name in ("bos", "eos"))
    start = next((id for id in (bos, eos) if id is not None), 0)
    return checked(**{
        "encoder_layers": 0, "embedding_scale": False, "init": "normal", "vocab_size": vocab, "pad_id": None,
        "bos_id": bos, "eos_id": eos, "start_id": start, "banned_ids": known.banned_ids(vocab),
        "end_ids": known.end_ids(vocab), **settings})


def decoder_plan(config: ConfigJson, names: Names, ours: ModelConfig, modules: Modules, *,
                 tokens: str, is_tied: bool, spare: str, joined: Callable[[int, Sequence[int]], Take] =
                 one_after_another, parts: Mapping[str, Part] | None = None,
                 constants: Mapping[str, Tensor] | None = None) -> Plan:
    """The plan of a decoder.

    modules: see `parts_of`. tokens: their table of embeddings. The logits are tied to it if config.json says so, or
    says nothing and `is_tied`. parts: weights that are no whole module of theirs; spare and constants: see `Plan`.
    """
    shape = (ours.vocab_size, ours.embedding_dim or ours.d_model)
    head, table = "embed_out.weight" if "embed_out.weight" in names else "lm_head.weight", f"{tokens}.weight"
    every = parts_of(ours, modules, joined=joined)
    if config.flag("tie_word_embeddings", is_tied):  # a file may have either name, or both
        head, table = present(names, head, table), present(names, table, head)
    every |= {"tgt_embedding.tokens.weight": Part(table, shape), "output.weight": Part(head, shape)}
    if ours.logits_bias:
        every["output.bias"] = Part("lm_head.bias", shape[:1])
    return Plan(ours, every | dict(parts or {}), re.compile(spare), constants=dict(constants or {}))

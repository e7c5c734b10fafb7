"""DeBERTa-v2 and v3: He et al. 2021 and He et al. 2023."""

import re
from dataclasses import replace

from torch import Tensor
from torch.nn import functional as F

from transformer.basics.formatting import enumerated
from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families.bert import (
    LAYER,
    PREDICTIONS,
    REPLACED,
    ClassNames,
    Family,
    MaskedNames,
    encoder,
    sizes,
)
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Part, Plan

ATTENTION = {"attention.q_proj": "attention.self.query_proj", "attention.k_proj": "attention.self.key_proj",
             "attention.v_proj": "attention.self.value_proj"}
PREDICTS = "lm_predictions.lm_head"  # of v3, whose matrix is that of the embeddings, tied or not


def deberta(config: ConfigJson, names: Names) -> Plan:
    """BERT with vectors of distances instead of positions; their norm is applied once, here."""
    kind = "tanh" if config.get("pooler_hidden_act") == "tanh" else config.activation("pooler_hidden_act", "gelu")
    relative, types = config.flag("relative_attention", False), config.get("type_vocab_size") or 0
    settings = sizes(ConfigJson({**config, "type_vocab_size": types or 1})) | {
        "norm_eps": config.real("layer_norm_eps", 1e-7, least=-1.0), **_distances(config, relative=relative)}
    if not types:
        settings["type_vocab"] = 0
    today = f"{PREDICTS}.dense.weight" in names or config.get("legacy") is False
    at = "deberta." if any(name.startswith("deberta.") for name in names) else ""
    masked = PREDICTIONS if not today else MaskedNames(
        f"{PREDICTS}.dense", f"{PREDICTS}.LayerNorm", (f"{at}embeddings.word_embeddings.weight",),
        (f"{PREDICTS}.bias",))
    plan = encoder(config, names, Family(
        classes="DebertaV2", prefix="deberta", layer=LAYER | ATTENTION, masked=masked,
        classifier=ClassNames("pooler.dense", kind)), settings)
    if relative:
        plan.parts["encoder.buckets.weight"] = _table(config, plan, f"{at}encoder.")
    else:  # files keep a norm of distances even without distances
        plan = replace(plan, spare=re.compile(rf"{plan.spare.pattern}|{re.escape(at)}encoder\.LayerNorm\..*"))
    discriminates = any(name.startswith("mask_predictions.") for name in names)
    return replace(plan, left_out=plan.left_out or REPLACED) if discriminates else plan


def _distances(config: ConfigJson, *, relative: bool) -> dict[str, object]:
    """Settings of the relative positions. Raises Refused for kinds that ours lack."""
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    kinds_said, learned = config.get("pos_att_type") or [], config.flag("position_biased_input", True)
    kinds = {one.strip() for one in (kinds_said.lower().split("|") if isinstance(kinds_said, str) else kinds_said)
             if isinstance(one, str)} if isinstance(kinds_said, str | list) else set()
    lacks = [what for what, wanted in (
        ("embeddings that are normalised after they are projected (embedding_size)",
         config.number("embedding_size", default=width) != width),
        (f"heads of another width (attention_head_size {config.get('attention_head_size')})",
         config.number("attention_head_size", default=max(1, width // heads)) * heads != width),
        ("positions relative and learned at once (position_biased_input)", relative and learned),
        ("its own queries and keys of distances in each layer (share_att_key)",
         relative and not config.flag("share_att_key", False)),
        (f"distances that meet not both, queries and keys (pos_att_type {kinds_said})"[:90],
         relative and kinds != {"c2p", "p2c"}),
        ("a pooler of another width (pooler_hidden_size)",
         config.number("pooler_hidden_size", default=width) != width)) if wanted]
    if lacks:
        raise Refused(f"the model is of type deberta-v2 and needs {enumerated(lacks)}, which Heads Up's models do not "
                      "have")
    settings: dict[str, object] = {"attention_scale": (width // heads * (1 + len(kinds & {"c2p", "p2c"}))) ** -0.5}
    if not relative:
        return settings | {"positions": "learned" if learned else "none"}
    furthest, buckets = config.get("max_relative_positions", -1), config.get("position_buckets", -1)
    if type(furthest) is not int or type(buckets) is not int:
        raise Refused("config.json: max_relative_positions and position_buckets should be whole numbers")
    furthest = furthest if furthest > 0 else config.number("max_position_embeddings", default=512)
    if buckets > 0 and not 2 <= buckets < furthest:
        raise Refused(f"config.json: position_buckets is {buckets}, and should be from 2 to less than the "
                      f"{furthest} of max_relative_positions")
    return settings | {"positions": "disentangled", "relative_distance": furthest,
                    "relative_buckets": buckets if buckets > 0 else furthest}


def _table(config: ConfigJson, plan: Plan, at: str) -> Part:
    """The vectors of distances, normalised if they have a norm."""
    width, eps = plan.config.d_model, plan.config.norm_eps
    name, shape = f"{at}rel_embeddings.weight", (2 * plan.config.relative_buckets, width)
    how = str(config.get("norm_rel_ebd") or "none").lower()
    if "layer_norm" not in [one.strip() for one in how.split("|")]:
        return Part(name, shape)

    def normed(table: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.layer_norm(table, (width,), weight, bias, eps)

    return Part((name, f"{at}LayerNorm.weight", f"{at}LayerNorm.bias"), (shape, (width,), (width,)), normed)

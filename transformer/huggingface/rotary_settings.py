"""Rotary positions of a config.json, in the spellings of many years, as ours."""

from collections.abc import Mapping
from math import log, sqrt
from typing import Any, Literal

from pydantic import ValidationError

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import wrong
from transformer.settings.config import Rotary

# rope_type of theirs -> ours; "mrope" of texts alone is none
SCALINGS = {"default": None, "linear": "linear", "dynamic": "dynamic", "llama3": "llama3", "yarn": "yarn",
            "longrope": "longrope", "su": "longrope"}


def rotary_of(config: ConfigJson, *, width: int, longest: int, base: float = 10_000.0, part: float | None = None,
              layout: Literal["halves", "interleaved"] = "halves", rope: Mapping[str, object] | None = None,
              odd: bool = False) -> Rotary:
    """Rotary positions of heads of a width. longest: max_position_embeddings; base: the default; part: the default
    share of features that are rotated, None for families that always rotate all; rope: replaces rope_parameters; odd:
    the family rotates one feature more than an odd share, which others cannot run. Raises Refused."""
    above = config if rope is None else {}  # fields beside the object take precedence over those in it
    rope = rope_settings(config) if rope is None else rope
    kind = rope.get("rope_type", rope.get("type")) or "default"
    if not isinstance(kind, str) or kind not in SCALINGS:
        raise Refused(f"the model needs rotary positions scaled by {str(kind)[:40]} (rope_scaling), which Heads Up's "
                      "models do not have")
    dim = width
    if part is not None:
        share = _number(rope, "partial_rotary_factor", _number(config, "partial_rotary_factor", part))
        if share > 1:
            raise Refused(f"config.json: partial_rotary_factor is {share:g}, and should be at most 1")
        dim = int(width * share)
        if dim % 2 and dim < width and not odd:
            raise Refused(f"config.json: {dim} of the {width} features of a head are turned (partial_rotary_factor "
                          f"{share:g}), but rotary positions turn pairs, and {dim} is odd")
    base = _number(rope, "rope_theta", _number(config, "rope_theta", base))
    learned = above.get("original_max_position_embeddings") or rope.get("original_max_position_embeddings")
    learned = learned if type(learned) is int else longest
    settings: dict[str, object] = {"base": base, "dim": None if dim == width else dim, "layout": layout,
                                "scaling": SCALINGS[kind]}
    if SCALINGS[kind]:
        settings |= {"factor": _number(rope, "factor", 1.0), "learned_len": learned}
    if kind == "linear":
        del settings["learned_len"]
    elif kind == "llama3":
        settings |= {name: _number(rope, name, usual)
                  for name, usual in (("low_freq_factor", 1.0), ("high_freq_factor", 4.0))}
    elif kind == "dynamic":
        settings["learned_len"] = longest
    elif kind == "yarn":
        settings |= _yarn(rope, longest, learned)
    elif SCALINGS[kind] == "longrope":
        settings |= _longrope(rope, longest, learned, dim)
    return build_rotary(**settings)


def build_rotary(**settings: Any) -> Rotary:
    """Rotary positions of ours. Raises Refused with the first thing that is wrong."""
    try:
        return Rotary(**settings)
    except ValidationError as error:
        raise Refused(wrong(error)) from None


def rope_settings(config: ConfigJson) -> Mapping[str, Any]:
    """rope_parameters, or rope_scaling as older files spell it; {} if there is neither. Raises Refused."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(rope, dict):
        raise Refused("config.json: rope_scaling should be an object; copy the folder again")
    return rope


def _yarn(rope: Mapping[str, object], longest: int, learned: int) -> dict[str, object]:
    """Peng et al. 2023, section 3.4: scores grow a little with the factor."""
    factor = _number(rope, "factor", longest / learned)

    def grown(scale: float) -> float:
        return 0.1 * scale * log(factor) + 1.0 if factor > 1 else 1.0

    one, all_dims = (_number(rope, name, 0.0, least=-1.0) for name in ("mscale", "mscale_all_dim"))
    usual = grown(one) / grown(all_dims) if one > 0 and all_dims > 0 else grown(1.0)
    return {"factor": factor, "attention_factor": _number(rope, "attention_factor", usual),
            "beta_fast": _number(rope, "beta_fast", 32.0), "beta_slow": _number(rope, "beta_slow", 1.0),
            "truncate": rope.get("truncate", True) is not False}


def _longrope(rope: Mapping[str, object], longest: int, learned: int, dim: int) -> dict[str, object]:
    """Ding et al. 2024, section 3.3."""
    if learned < 2:
        raise Refused(f"config.json: original_max_position_embeddings is {learned}, and should be 2 or more")
    factor = _number(rope, "factor", longest / learned)
    usual = sqrt(1 + log(factor) / log(learned)) if factor > 1 else 1.0
    lists = {}
    for name in ("short_factor", "long_factor"):
        value = rope.get(name)
        if not isinstance(value, list) or len(value) != dim // 2:
            raise Refused(f"config.json: {name} should list {dim // 2} numbers, one for each pair of features")
        lists[f"{name}s"] = tuple(value)
    return {"factor": factor, "attention_factor": _number(rope, "attention_factor", usual), **lists}


def _number(config: Mapping[str, object], name: str, default: float, *, least: float = 0.0) -> float:
    value = ConfigJson(config).real(name, default, least=least)
    return default if value is None else value


def reach(rotary: Rotary, longest: int) -> int:
    """The number of tokens that a model with scaled positions reads; longest: max_position_embeddings, which some raise
    with the factor and some do not."""
    if rotary.scaling in ("linear", "dynamic"):
        return int(longest * max(rotary.factor, 1.0))
    return max(longest, int((rotary.learned_len or 1) * rotary.factor)) if rotary.scaling else longest

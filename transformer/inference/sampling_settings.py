"""The settings of sampling, a row each. `Sampling`, `headsup write`, the pages' widgets and links, lessons and rooms
use this table; what a setting does to the probabilities is in `sampling.py`.

Imports no PyTorch, so that the command line can list its options quickly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True, kw_only=True)
class SamplingSetting:
    """One setting. least, most: what the library accepts; whole numbers where `off` is one. off: the value of widgets
    and links that changes nothing. required: never None in a `Sampling`. offered: least, most and step of the widget.
    sampled: has no effect at temperature 0."""

    name: str
    label: str
    help: str
    off: int | float
    least: float
    most: float
    offered: tuple[float, float, float]
    required: bool = False
    sampled: bool = False

    @property
    def type(self) -> type[int] | type[float]:
        return type(self.off)


SETTINGS = (
    SamplingSetting(
        name="temperature", label="Temperature", off=0.0, least=0.0, most=100.0, offered=(0.0, 2.0, 0.1), required=True,
        help="0 always chooses the likeliest token. Above 0, tokens are sampled; higher is more random."),
    SamplingSetting(
        name="top_k", label="Top-k", off=0, least=1, most=inf, offered=(0, 50, 1), sampled=True,
        help="Sample among the k likeliest tokens only; 0 means all."),
    SamplingSetting(
        name="top_p", label="Top-p", off=1.0, least=1e-6, most=1.0, offered=(0.05, 1.0, 0.05), sampled=True,
        help="Sample among the likeliest tokens that together have this probability; 1 means all."),
    SamplingSetting(
        name="min_p", label="Min-p", off=0.0, least=0.0, most=1.0, offered=(0.0, 1.0, 0.05), sampled=True,
        help="Leave out tokens with less than this share of the likeliest token's probability; 0 means none."),
    SamplingSetting(
        name="seed", label="Seed", off=0, least=0, most=2**31 - 1, offered=(0, 999_999, 1), required=True, sampled=True,
        help="The same seed samples the same tokens."),
)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among values by name that are set: not None, and not a setting's `off`."""
    return {setting.name: values[setting.name] for setting in SETTINGS
            if values.get(setting.name) not in (None, setting.off)}


def idle(values: Mapping[str, Any]) -> list[SamplingSetting]:
    """The settings that are set and change nothing, since at temperature 0 no token is sampled."""
    chosen = given(values)
    return [] if "temperature" in chosen else [
        setting for setting in SETTINGS if setting.sampled and setting.name in chosen]

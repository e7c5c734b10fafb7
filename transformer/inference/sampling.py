"""Sampling: how the next token is chosen from the logits.

V vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import enumerated
from transformer.inference.sampling_settings import SETTINGS, given, idle
from transformer.inference.validation import check_number, check_whole
from transformer.settings.config import ModelConfig

COLDEST = 1e-6  # below this, logits divided by the temperature could overflow; only the likeliest token is left anyway


def choosable(logits: Tensor, config: ModelConfig, *, read: int) -> Tensor:
    """Masks logits or log-probabilities (..., V) after `read` tokens: -inf for tokens that the model's configuration
    bans. After the start token only the forced first token is left, with 0: the language to translate into (Liu et al.
    2020, section 2.2)."""
    if read == 1 and config.forced_bos_id is not None:
        logits = torch.full_like(logits, float("-inf"))
        logits[..., config.forced_bos_id] = 0.0
    elif config.banned_ids:
        logits = logits.index_fill(-1, torch.tensor(config.banned_ids, device=logits.device), float("-inf"))
    return logits


def begun(ids: list[int], config: ModelConfig) -> list[int]:
    """Puts the model's forced first id before the ids of a given target, unless they begin with it, as with tokenizers
    that put the language in front. An empty target stays empty."""
    first = config.forced_bos_id
    return ids if not ids or first in (None, ids[0]) else [first, *ids]


class Candidate(NamedTuple):
    """A token that could come next.

    >>> transformer.start(ckpt, "I am cold.").top(1)[0].piece
    '▁J'
    """

    id: int
    piece: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a token is chosen from logits; `SETTINGS` describes each field. temperature 0 is greedy: the likeliest token.
    Raises ValueError for a value out of range, and for one that has no effect at temperature 0.

    >>> transformer.Sampling(temperature=0.8, top_k=5, seed=1)
    Sampling(temperature=0.8, top_k=5, top_p=None, min_p=None, seed=1)
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            value = getattr(self, setting.name)
            if value is not None or setting.required:
                check = check_whole if setting.type is int else check_number
                check(setting.name, value, setting.least, setting.most)
        if names := [setting.name for setting in idle(vars(self))]:
            has, them = ("has", "it") if len(names) == 1 else ("have", "them")
            raise ValueError(f"{enumerated(names)} {has} no effect at temperature 0, which always chooses the "
                             f"likeliest token; give a temperature above 0, or leave {them} out")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Sampling":
        """Reads the values of widgets or a link by name; missing ones, None and a setting's `off` are left out, and so
        is what has no effect at temperature 0."""
        waiting = {setting.name for setting in idle(values)}
        return cls(**{name: value for name, value in given(values).items() if name not in waiting})

    @property
    def unfiltered(self) -> "Sampling":
        """The same temperature and seed with no token left out."""
        return Sampling(temperature=self.temperature, seed=self.seed)

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits (V,) -> probabilities (V,), 0 for tokens that are left out by top_k, then by top_p (Holtzman et al.
        2020, section 3.1), then by min_p (Nguyen et al. 2024, section 3).

        Greedy decoding shows the model's own distribution, as temperature 1 does.
        """
        logits = logits / max(self.temperature, COLDEST) if self.temperature else logits
        if self.top_k is not None and self.top_k < len(logits):
            least = logits.topk(self.top_k).values[-1]
            above, equal = logits > least, logits == least
            keep = above | equal & (equal.cumsum(dim=-1) <= self.top_k - above.sum())  # of equal ones the first
            logits = logits.masked_fill(~keep, float("-inf"))
        probabilities = logits.softmax(dim=-1)
        if self.top_p is not None:
            ordered, ids = probabilities.sort(descending=True, stable=True)
            outside = ids[ordered.cumsum(dim=-1) - ordered >= self.top_p]
            probabilities = probabilities.index_fill(0, outside, 0.0)
        if self.min_p is not None:
            probabilities = probabilities.where(probabilities >= self.min_p * probabilities.max(), 0.0)
        is_cut = self.top_p is not None or self.min_p is not None
        return probabilities / probabilities.sum() if is_cut else probabilities

    def choose(self, logits: Tensor, index: int) -> int:
        """Chooses the next id. A draw depends on seed and step index alone, so that a path can be drawn again."""
        if not self.temperature:
            return int(logits.argmax())
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        return int(self.probabilities(logits).cpu().multinomial(1, generator=generator))


GREEDY = Sampling()

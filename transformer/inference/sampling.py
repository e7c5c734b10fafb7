"""How the next token is chosen from the logits of all.

V vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.inference.validation import check_number, check_whole

SMALLEST = 1e-6  # of top_p: no share of the probability at all would leave nothing to choose from
COLDEST = 1e-6  # the likeliest token alone is left long before; much less, and logits would overflow


def choosable(logits: Tensor, config: ModelConfig, *, read: int) -> Tensor:
    """The logits or log-probabilities (..., V) after `read` tokens, -inf where the model's configuration bans a token
    from being chosen; after the start token alone all but the one it is made to write first, which gets 0: the language
    to translate into (Liu et al. 2020, section 2.2)."""
    if read == 1 and config.forced_bos_id is not None:
        logits = torch.full_like(logits, float("-inf"))
        logits[..., config.forced_bos_id] = 0.0
    elif config.banned_ids:
        logits = logits.index_fill(-1, torch.tensor(config.banned_ids, device=logits.device), float("-inf"))
    return logits


def begun(ids: list[int], config: ModelConfig) -> list[int]:
    """The ids of a target that is given, behind the one that the model is made to write first; unless they begin with
    it, as those of a tokenizer that puts the language in front do. None stay none."""
    first = config.forced_bos_id
    return ids if not ids or first in (None, ids[0]) else [first, *ids]


class Candidate(NamedTuple):
    """A token that could come next."""

    id: int
    piece: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a token is chosen from logits. temperature 0 is greedy: the likeliest one."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, 0, 100)
        if self.top_k is not None:
            check_whole("top_k", self.top_k, 1)
        if self.top_p is not None:
            check_number("top_p", self.top_p, SMALLEST, 1)
        check_whole("seed", self.seed, 0, 2**31 - 1)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Sampling":
        """What widgets or a link say of each field by its name; nothing, None and 0 leave it as it is by itself."""
        return cls(**{one.name: values[one.name] for one in fields(cls) if values.get(one.name)})

    @property
    def everything(self) -> "Sampling":
        """The same with no token left out."""
        return Sampling(temperature=self.temperature, seed=self.seed)

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits (V,) -> probabilities (V,), 0 for what top_k and top_p leave out (Holtzman et al. 2020, section 3.1).

        Greedy decoding shows the model's own distribution, as temperature 1 does.
        """
        logits = logits / max(self.temperature, COLDEST) if self.temperature else logits
        if self.top_k is not None and self.top_k < len(logits):
            keep = logits.topk(self.top_k).indices  # by place, so that equal logits do not let more in
            logits = torch.full_like(logits, float("-inf")).scatter(0, keep, logits[keep])
        probabilities = logits.softmax(dim=-1)
        if self.top_p is not None:
            ordered, ids = probabilities.sort(descending=True, stable=True)
            outside = ids[ordered.cumsum(dim=-1) - ordered >= self.top_p]
            probabilities = probabilities.index_fill(0, outside, 0.0)
            probabilities = probabilities / probabilities.sum()
        return probabilities

    def choose(self, logits: Tensor, index: int) -> int:
        """The id that comes next. The draw depends on seed and index alone, so a path can be drawn again."""
        if not self.temperature:
            return int(logits.argmax())
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        return int(self.probabilities(logits).cpu().multinomial(1, generator=generator))


GREEDY = Sampling()

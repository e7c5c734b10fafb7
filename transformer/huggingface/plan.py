"""Which of other people's models ours can be, and where each of our weights lies in theirs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError
from torch import Tensor

from transformer.config import ModelConfig
from transformer.formatting import brief
from transformer.huggingface.folder import Refused
from transformer.huggingface.unsupported import ACTIVATIONS, Config

MOST_LISTED = 10_000  # layers, or classes
Names = Mapping[str, object]  # of the weights that a folder has


@dataclass(frozen=True)
class Part:
    """Where one of our weights is: a tensor of theirs, or several of one shape or of a shape each, and what to take of
    it."""

    name: str | tuple[str, ...]
    shape: tuple[int, ...] | tuple[tuple[int, ...], ...]
    take: Callable[..., Tensor] = lambda tensor: tensor

    @property
    def theirs(self) -> tuple[str, ...]:
        return (self.name,) if isinstance(self.name, str) else self.name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of each of their tensors."""
        each = isinstance(self.shape[0], tuple)
        return {name: self.shape[at] if each else self.shape for at, name in enumerate(self.theirs)}

    __repr__ = brief


@dataclass(frozen=True)
class Plan:
    """How a folder becomes a model of ours, with no weight tied: which are equal shows when they are read."""

    config: ModelConfig
    parts: dict[str, Part]  # our parameter -> theirs
    spare: re.Pattern[str]  # names of what may be there and is not needed
    made: dict[str, Tensor] = field(default_factory=dict)  # our parameters that theirs have not: a norm's ones
    positions: dict[str, Part] = field(default_factory=dict)  # tables that are sinusoids unless they turn out not to be
    classes: list[str] | None = None
    left_out: str | None = None  # a part of the model that is not taken over, in words

    __repr__ = brief


def number(config: Config, *names: str, default: int | None = None) -> int:
    """A whole number above 0 under the first name that is there. Raises Refused, also for one of layers or classes that
    is higher than any model's: lists are made of so many."""
    for name in names:
        value = config.get(name)
        if value is not None:
            if type(value) is not int or value < 1:
                raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a whole number above 0")
            if value > MOST_LISTED and name.endswith(("layer", "layers", "labels")):
                raise Refused(f"config.json: {name} is {str(value)[:40]}, and at most {MOST_LISTED:,} are read")
            return value
    if default is None:
        raise Refused(f"config.json has no {names[0]}; copy the folder again")
    return default


def activation(config: Config, name: str, default: str) -> str:
    """Our name of an activation. Raises Refused for one that ours lack."""
    value = config.get(name) or default
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise Refused(f"the model needs the activation {str(value)[:40]} ({name}), which Heads Up's models do not have")
    return ACTIVATIONS[value]


def token(config: Config, name: str, vocab_size: int, *, default: int | None = None) -> int | None:
    """The id of a special token; None where there is none, or the vocabulary does not reach so far."""
    value = config.get(name, default)
    if isinstance(value, list):
        value = value[0] if value else None
    if value is not None and (type(value) is not int or value < 0):
        raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a whole number from 0")
    return value if value is not None and value < vocab_size else None


def other_ends(config: Config, vocab_size: int) -> tuple[int, ...]:
    """Ids that end a text beside the first of eos_token_id. Raises Refused."""
    value = config.get("eos_token_id")
    others = value[1:] if isinstance(value, list) else []
    if not all(type(id) is int and id >= 0 for id in others) or len(others) > 100:
        raise Refused(f"config.json: eos_token_id is {str(value)[:40]}, and should be whole numbers from 0")
    return tuple(dict.fromkeys(id for id in others if id < vocab_size))


def banned(config: Config, vocab_size: int) -> list[int]:
    """Ids that are never to be generated, by bad_words_ids and suppress_tokens. Raises Refused for a banned phrase."""
    words, single = config.get("bad_words_ids") or [], config.get("suppress_tokens") or []
    words = [*words, *([id] for id in single)] if isinstance(words, list) and isinstance(single, list) else [None]
    if not all(isinstance(word, list) and len(word) == 1 and type(word[0]) is int and word[0] >= 0 for word in words):
        raise Refused("the model needs phrases of several tokens banned (bad_words_ids), and Heads Up bans single "
                      "tokens")
    return sorted({word[0] for word in words if word[0] < vocab_size})


def real(config: Config, name: str, default: float | None = None, *, least: float = 0.0) -> float | None:
    """A number above `least`; the default where it is not there. Raises Refused."""
    value = config.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least < value < float("inf"):
        raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a number above {least:g}")
    return float(value)


def flag(config: Config, name: str, default: bool) -> bool:
    """A switch. Raises Refused."""
    value = config.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be true or false")
    return default if value is None else value


def share(config: Config, name: str, default: float = 0.1) -> float:
    """A dropout, which only training would use."""
    value = config.get(name, default)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1 else default


def checked(**settings: object) -> ModelConfig:
    """A configuration of ours. Raises Refused with the first thing that is wrong."""
    try:
        return ModelConfig(tie_embeddings=False, unk_id=None, **settings)
    except ValidationError as error:
        raise Refused(wrong(error)) from None


def wrong(error: ValidationError) -> str:
    """The first thing that ours found wrong with a folder's settings."""
    first = error.errors()[0]
    where = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
    return f"config.json: {where}{first['msg'].removeprefix('Value error, ')}"


def linear(ours: str, theirs: str, outputs: int, inputs: int, *, bias: bool = True) -> dict[str, Part]:
    """A torch.nn.Linear."""
    found = {f"{ours}.weight": Part(f"{theirs}.weight", (outputs, inputs))}
    return found | ({f"{ours}.bias": Part(f"{theirs}.bias", (outputs,))} if bias else {})


def norm(ours: str, theirs: str, width: int, *, bias: bool = True, plus_one: bool = False) -> dict[str, Part]:
    """A norm of rows; plus_one: of which the weights are kept as what they differ from 1 by (Gemma)."""
    weight = Part(f"{theirs}.weight", (width,), _plus_one) if plus_one else Part(f"{theirs}.weight", (width,))
    return {f"{ours}.weight": weight} | ({f"{ours}.bias": Part(f"{theirs}.bias", (width,))} if bias else {})


def _plus_one(tensor: Tensor) -> Tensor:
    return 1.0 + tensor.float()


def rows(start: int, count: int) -> Callable[[Tensor], Tensor]:
    """Some of the outputs of a linear map that is kept as one with others, weight or bias."""
    return lambda tensor: tensor[start:start + count]


def fused(ours: Mapping[str, Callable[[Tensor], Tensor]], theirs: str, outputs: int, inputs: int, *,
          bias: bool = True) -> dict[str, Part]:
    """Several torch.nn.Linear of ours that are one of theirs: our names -> what to take of its outputs."""
    return {f"{name}.{one}": Part(f"{theirs}.{one}", shape, take) for name, take in ours.items()
            for one, shape in (("weight", (outputs, inputs)), ("bias", (outputs,)))[:1 + bias]}


def inside(names: Names, prefix: str) -> str:
    """The prefix of all names, where they have it: a model may be saved without its head."""
    return prefix if not names or any(name.startswith(prefix) for name in names) else ""


def special(config: Config, vocab_size: int) -> dict[str, object]:
    """The special tokens of a decoder, as settings of ours."""
    bos, eos = (token(config, f"{name}_token_id", vocab_size) for name in ("bos", "eos"))
    start = next((id for id in (bos, eos) if id is not None), 0)
    return {"pad_id": None, "bos_id": bos, "eos_id": eos, "start_id": start, "banned_ids": banned(config, vocab_size),
            "end_ids": other_ends(config, vocab_size)}


def present(names: Names, *candidates: str) -> str:
    """The first that is there, or else the first."""
    return next((name for name in candidates if name in names), candidates[0])


def architecture(config: Config, known: Mapping[str, str], guess: str) -> str:
    """What kind of model the folder says it is; where it does not say, a guess. Raises Refused for others."""
    listed = config.get("architectures") or []
    name = str(listed[0]) if isinstance(listed, list) and listed else None
    if name is not None and name not in known:
        raise Refused(f"the model is a {name[:60]}, and of its family {', '.join(known)} are imported")
    return known[name] if name else guess

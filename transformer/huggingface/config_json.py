"""Values of somebody else's config.json, each read by what it should be."""

from collections.abc import Mapping
from typing import Any, overload

from transformer.huggingface.folder import Refused
from transformer.huggingface.unsupported import ACTIVATIONS

MOST_LISTED = 10_000  # layers, or classes


class ConfigJson(dict[str, object]):
    """A config.json. Every method raises Refused for a value that is not what it should be."""

    def number(self, *names: str, default: int | None = None) -> int:
        """A whole number above 0 under the first name that is there; of layers or classes, at most MOST_LISTED."""
        for name in names:
            value = self.get(name)
            if value is not None:
                if type(value) is not int or value < 1:
                    raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a whole number above 0")
                if value > MOST_LISTED and name.endswith(("layer", "layers", "labels")):
                    raise Refused(f"config.json: {name} is {str(value)[:40]}, and at most {MOST_LISTED:,} are read")
                return value
        if default is None:
            raise Refused(f"config.json has no {names[0]}; copy the folder again")
        return default

    @overload
    def real(self, name: str, default: float, *, least: float = 0.0) -> float: ...
    @overload
    def real(self, name: str, default: None = None, *, least: float = 0.0) -> float | None: ...
    def real(self, name: str, default: float | None = None, *, least: float = 0.0) -> float | None:
        """A number above `least`."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not least < value < float("inf"):
            raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a number above {least:g}")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be true or false")
        return default if value is None else value

    def dropout(self, name: str, default: float = 0.1) -> float:
        """A dropout, which only training would use; the default if it is none."""
        value = self.get(name, default)
        return float(value) if isinstance(value, int | float) and 0 <= value < 1 else default

    def activation(self, name: str, default: str) -> str:
        """Our name of an activation."""
        value = self.get(name) or default
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise Refused(f"the model needs the activation {str(value)[:40]} ({name}), which Heads Up's models do not "
                          "have")
        return ACTIVATIONS[value]

    def architecture(self, known: Mapping[str, str], guess: str = "") -> str:
        """The kind of model that `architectures` names, or a guess if it names none."""
        listed = self.get("architectures") or []
        name = str(listed[0]) if isinstance(listed, list) and listed else None
        if name is not None and name not in known:
            raise Refused(f"the model is a {name[:60]}, and of its family {', '.join(known)} are imported")
        return known[name] if name else guess

    def check_architecture(self, *known: str) -> None:
        """Refuses an architecture that is none of these."""
        self.architecture(dict.fromkeys(known, ""))

    def token(self, name: str, vocab_size: int, *, default: int | None = None) -> int | None:
        """The id of a special token; None if there is none, or it lies outside the vocabulary."""
        value = self.get(name, default)
        if isinstance(value, list):
            value = value[0] if value else None
        if value is not None and (type(value) is not int or value < 0):
            raise Refused(f"config.json: {name} is {str(value)[:40]}, and should be a whole number from 0")
        return value if value is not None and value < vocab_size else None

    def needed_tokens(self, ids: Mapping[str, int | None]) -> None:
        """Raises Refused for the first of these ids that is None, which the model needs."""
        for name, id in ids.items():
            if id is None:
                raise Refused(f"config.json gives no {name} inside the vocabulary, and a model of type "
                              f"{self['model_type']} needs one")

    def end_ids(self, vocab_size: int) -> tuple[int, ...]:
        """The ids that end a text beside the first of eos_token_id."""
        value = self.get("eos_token_id")
        others = value[1:] if isinstance(value, list) else []
        if not all(type(id) is int and id >= 0 for id in others) or len(others) > 100:
            raise Refused(f"config.json: eos_token_id is {str(value)[:40]}, and should be whole numbers from 0")
        return tuple(dict.fromkeys(id for id in others if id < vocab_size))

    def banned_ids(self, vocab_size: int) -> list[int]:
        """The ids that are never to be generated, by bad_words_ids and suppress_tokens."""
        words, single = self.get("bad_words_ids") or [], self.get("suppress_tokens") or []
        banned: list[Any] = [None]
        if isinstance(words, list) and isinstance(single, list):
            banned = [*words, *([id] for id in single)]
        if not all(isinstance(word, list) and len(word) == 1 and type(word[0]) is int and word[0] >= 0
                   for word in banned):
            raise Refused("the model needs phrases of several tokens banned (bad_words_ids), and Heads Up bans single "
                          "tokens")
        return sorted({word[0] for word in banned if word[0] < vocab_size})

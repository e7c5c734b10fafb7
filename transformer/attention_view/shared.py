"""What Python and the scripts both go by: js/message/shared.json, which each of them reads, so that it stands once."""

import json
from collections.abc import Mapping
from pathlib import Path

SHARED = json.loads((Path(__file__).parent / "js" / "message" / "shared.json").read_text("utf-8"))
CHOICES: dict[str, tuple[str, ...]] = {name: tuple(words) for name, words in SHARED["choices"].items()}  # first: usual
NEEDS: dict[str, dict[str, dict[str, list[str]]]] = SHARED["needs"]  # field -> choice -> what others may be then
EXACT = "exact"  # of the choice of tokens: pieces with the marks of their tokenizer
ORDERS = CHOICES["order"]  # of many heads: by layer, or by a number of each
FEW_HEADS: int = SHARED["few_heads"]  # that are all drawn; of more there is a map, and some are drawn
MOST_LIT: int = SHARED["most_lit"]  # heads whose lines can be told apart; of more all are drawn if that is asked for
FAINTEST: float = SHARED["faintest"] / 255  # no line is drawn for less


def settled(asked: Mapping[str, object], *, rolls: bool) -> dict[str, str]:
    """Each choice as it is asked for; the usual one in place of what there is not, and of what needs other choices.
    rolls: whether there is a rollout. `settle` in js/attention/selection.js does the same."""
    found = {name: next((word for word in words if word == asked.get(name)), words[0])
             for name, words in CHOICES.items()}
    if not rolls and found["of"] == "rollout":
        found["of"] = CHOICES["of"][0]
    for name, needs in NEEDS.items():
        if any(found[other] not in needed for other, needed in needs.get(found[name], {}).items()):
            found[name] = CHOICES[name][0]
    return found

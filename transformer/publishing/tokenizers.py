"""A tokenizer as a published page has it: all that decides how text is cut, for js/tokenizers.

Of a sentencepiece model that is the pieces, their scores and the rules that bring characters into one form. Those rules
come as a double array of 240 kB; most of them say the same of characters that look alike, so they are published as
classes of characters and what sequences of classes become.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from math import prod

import numpy as np
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # pyright: ignore[reportAttributeAccessIssue]

from transformer.text.tokenizer import KINDS, IdsTokenizer, SentencePieceTokenizer, Tokenizer, standard_forms
from transformer.text.word_pieces import label_mark

RUN = (*KINDS, IdsTokenizer.kind)  # kinds of tokenizers
ALGORITHMS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # as sentencepiece numbers them
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
MOST_NODES, LONGEST_KEY = 1_000_000, 64  # bytes of a key; sentencepiece's own rules have 262,842 nodes and 12 bytes

Run = tuple[str | int, ...]


def published(tokenizer: Tokenizer) -> tuple[dict[str, object], bytes]:
    """What describes a tokenizer, as JSON, and its scores. Raises ValueError for one that the page cannot run."""
    if isinstance(tokenizer, IdsTokenizer):
        return {"algorithm": "ids", **_common(tokenizer)}, b""
    reasons = reasons_against_tokenizer(tokenizer)
    if reasons or not isinstance(tokenizer, SentencePieceTokenizer):
        raise ValueError(f"a published page does not run this tokenizer: {'; '.join(reasons)}. Train one here, or "
                         "publish another checkpoint")
    model = ModelProto.FromString(tokenizer.model)
    spec, trainer = model.normalizer_spec, model.trainer_spec
    types = [piece.type for piece in model.pieces]
    description = {
        "algorithm": ALGORITHMS[trainer.model_type], **_common(tokenizer), "unknownSurface": trainer.unk_surface,
        "dummyPrefix": spec.add_dummy_prefix, "collapseSpaces": spec.remove_extra_whitespaces,
        "standard": _standard() if tokenizer.standardise else [],
        **_forms(spec.precompiled_charsmap),
        "pieces": [piece.piece for piece in model.pieces],
        "control": [id for id, type in enumerate(types) if type == CONTROL],
        "userDefined": [id for id, type in enumerate(types) if type == USER_DEFINED],
    }
    scored = description["algorithm"] in ("unigram", "bpe")
    return description, np.array([piece.score for piece in model.pieces] if scored else [], "<f4").tobytes()


@cache
def _standard() -> list[Run]:
    return runs(standard_forms())


@cache
def _forms(charsmap: bytes) -> dict[str, object]:
    rules = charsmap_rules(charsmap)
    classes, sequences = classed(rules)
    return {"characters": runs({key: form for key, form in rules.items() if len(key) == 1}), "classes": classes,
            "sequences": runs(sequences)}


def charsmap_rules(charsmap: bytes) -> dict[str, str]:
    """Sentencepiece's rules: what each of some sequences of characters becomes. Raises ValueError for damaged ones.

    Aoe 1989, the double array: a node's children lie at its own place, XOR its offset, XOR their byte.
    """
    if not charsmap:
        return {}
    size = int.from_bytes(charsmap[:4], "little")
    units = np.frombuffer(charsmap[4:4 + size], "<u4").tolist()
    forms = charsmap[4 + size:]
    children: dict[int, list[int]] = {}  # by their place without their byte
    for place, unit in enumerate(units):
        if not unit >> 31:  # that bit marks a value
            children.setdefault(place ^ unit & 0xFF, []).append(place)
    rules, below, nodes = {}, [(0, b"")], 0
    while below:
        node, key = below.pop()
        nodes += 1
        if nodes > MOST_NODES or len(key) > LONGEST_KEY:
            raise ValueError("the tokenizer's rules for characters go round in circles, or past "
                             f"{MOST_NODES:,} places; train one here, or publish another checkpoint")
        unit = units[node]
        base = node ^ (unit >> 10 << (unit >> 6 & 8))
        if unit >> 8 & 1:
            try:
                start = units[base] & 0x7FFFFFFF
                rules[key.decode()] = forms[start:forms.index(0, start)].decode()
            except (UnicodeDecodeError, IndexError, ValueError):
                raise ValueError("the tokenizer's rules for characters are of no characters; copy it again from where "
                                 "the checkpoint came from") from None
        below += [(child, key + bytes([units[child] & 0xFF])) for child in children.get(base, ()) if child]
    return rules


def classed(rules: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """The rules of several characters, reduced to one character of each class: those that have the same form.

    False and the rules themselves where they do not treat a class alike.
    """
    longer = {key: form for key, form in rules.items() if len(key) > 1}
    of_class = {key: form for key, form in rules.items() if len(key) == len(form) == 1}
    reduced: dict[str, str] = {}
    for key, form in longer.items():
        if reduced.setdefault("".join(of_class.get(char, char) for char in key), form) != form:
            return False, longer
    members = Counter(of_class.get(char, char) for char in set("".join((*rules, *reduced))))
    alike = sum(prod(members[char] for char in key) for key in reduced) == len(longer)
    return (True, reduced) if alike else (False, longer)


def runs(rules: Mapping[str, str]) -> list[Run]:
    """Rules in order, each (characters, form), or with how many there are like it and in which steps: ("Ａ", "A", 26,
    1, 1) is "Ａ" to "A" and 25 more, the last character of either one further on each time."""
    found: list[Run] = []
    start, steps, count = ("", ""), None, 0
    last = start
    for rule in sorted(rules.items(), key=lambda rule: (rule[0][:-1], rule[0])):
        onward = _steps(last, rule) if count else None
        if onward and steps in (None, onward):
            steps, count = onward, count + 1
        else:
            if count:
                found.append((*start, count, *steps) if steps else start)
            start, steps, count = rule, None, 1
        last = rule
    return [*found, (*start, count, *steps) if steps else start] if count else found


def _steps(one: tuple[str, str], other: tuple[str, str]) -> tuple[int, int] | None:
    """How far the last characters have moved from rule to rule; None where anything else differs."""
    if any(a[:-1] != b[:-1] or len(a) != len(b) for a, b in zip(one, other, strict=True)):
        return None
    return ord(other[0][-1]) - ord(one[0][-1]), ord(other[1][-1]) - ord(one[1][-1]) if one[1] else 0


def _common(tokenizer: Tokenizer) -> dict[str, object]:
    return {"kind": tokenizer.kind, "vocabSize": tokenizer.vocab_size, "padId": tokenizer.pad_id,
            "unkId": tokenizer.unk_id, "bosId": tokenizer.bos_id, "eosId": tokenizer.eos_id,
            "wordMark": tokenizer.word_mark, "labelMark": label_mark(tokenizer),
            "special": sorted(tokenizer.special)}


def of_another_kind(kind: str) -> str:
    """The reason against a tokenizer that is not of a kind in RUN."""
    return f"its tokenizer is of kind {kind}, and {', '.join(RUN)} are run there"


def reasons_against_tokenizer(tokenizer: Tokenizer) -> list[str]:
    """Why a browser does not run a tokenizer: it is of another kind, or has what other makers of sentencepiece models
    use and `train` never does. Empty if it does."""
    if tokenizer.kind not in RUN:
        return [of_another_kind(tokenizer.kind)]
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return []
    model = ModelProto.FromString(tokenizer.model)
    trainer = model.trainer_spec
    others = {piece.type for piece in model.pieces} - {NORMAL, UNKNOWN, CONTROL, USER_DEFINED}
    used = ((trainer.byte_fallback, "spells unknown characters as bytes"),
            (trainer.treat_whitespace_as_suffix, "has the space at the end of its pieces"),
            (not model.normalizer_spec.escape_whitespaces, "does not mark spaces"),
            (model.denormalizer_spec.precompiled_charsmap, "changes the characters that it writes"),
            (others, "has pieces that are not used, or are bytes"))
    return [f"its tokenizer {what}" for is_used, what in used if is_used]

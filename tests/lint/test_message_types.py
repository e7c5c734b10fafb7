"""The types of messages are the same in both languages, and a message with a field too many or too few is seen."""

from copy import deepcopy

import pytest

from transformer.attention_view.message_types import DECLARED, declarations, wrong, wrong_arrays

KIND = {"layers": 2, "heads": 3, "queries": ["a", "b"], "keys": ["a", "b"], "causal": True}
SELECTION = {"kind": "decoder", "layer": 0, "head": 1, "view": "matrix", "of": "head", "stage": "weights",
             "scale": "sqrt", "pair": [1, 0], "lit": None, "tokens": "pieces", "special": "shown", "rows": "made",
             "order": "layers", "start": None, "level": "whole", "feature": None}
ROW = {"label": "Tokens", "name": "tokens", "part": "target", "tokens": ["a"], "unknown": [], "picked": [],
       "adds_to": "", "wraps": False}
STEPS = {"page": "write", "index": 1, "last": None, "decoding": 1, "answered": 0, "farthest": 9, "going": False}
HEADER = {"about": {"checkpoint": None, "step": 3, "text": "a b", "output": None}, "selection": SELECTION,
          "kinds": {"decoder": KIND}, "block": {"decoder": [1, 1]}, "maps": ["layers"],
          "step_view": {"rows": [ROW], "said": "", "branches": [], "brief": False, "hide": False, "steps": STEPS},
          "arrays": {"weights": {"type": "f4", "shape": [2, 2], "at": 0, "lower": False}}}


MAY = {"step_view", "steps", "pair", "lit", "start", "feature"}  # be missing


def test_the_scripts_have_the_types_of_the_messages():
    made = "`python -m transformer.attention_view.message_types` writes them anew"
    assert DECLARED.read_text("utf-8") == declarations(), made


def objects(value, path=()):
    """Every object of a header with its place."""
    if isinstance(value, dict):
        yield path
        for name, item in value.items():
            yield from objects(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from objects(item, (*path, at))


def at(value, path):
    for name in path:
        value = value[name]
    return value


def test_a_field_that_is_missing_unknown_or_of_another_type_is_named():
    assert wrong(HEADER) == []
    seen = 0
    for path in objects(HEADER):
        names = [] if path in (("kinds",), ("block",), ("arrays",)) else [*at(HEADER, path)]
        for name in names:
            header = deepcopy(HEADER)
            del at(header, path)[name]
            said, where = wrong(header), ".".join(map(str, path))
            assert [name in one for one in said] == [True] * (name not in MAY), (where, name, said)
            at(header, path)[name] = object()
            assert len(wrong(header)) == 1, (where, name)
            seen += 1
        if names:
            header = deepcopy(HEADER)
            at(header, path)["more"] = 1
            assert len(wrong(header)) == 1 and "more is no field" in wrong(header)[0]
    assert seen > 45


@pytest.mark.parametrize(("name", "type", "shape", "said"), [
    ("weights", "f4", [2, 2], ""), ("cells/decoder", "u1", [2, 2, 3, 2, 2], ""),
    ("bias/decoder", "f4", [1, 3, 2, 2], ""),
    ("weight", "f4", [2, 2], "the array weight is not known"), ("weights", "u1", [2, 2], "weights is u1, not f4"),
    ("weights", "f4", [2], "weights has the shape [2], not Tq Tk"),
    ("cells/decoder", "u1", [2, 2, 4, 2, 2], "cells/decoder has the shape [2, 2, 4, 2, 2], not 2 L H Tq Tk"),
])
def test_an_array_that_is_not_as_it_should_be_is_named(name, type, shape, said):
    assert wrong_arrays({name: {"type": type, "shape": shape}}, {"decoder": KIND}) == ([said] if said else [])

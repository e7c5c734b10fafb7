"""Reads the binary messages that scripts are sent, as they do, alone and in a page; and has some that none sends."""

import gzip
import json
import re

import numpy as np

from transformer.attention_view.message_types import wrong, wrong_arrays

NEVER_SENT = [
    {"move": 1, "selection": 1, "pick": 1, "choose": 1}, {"move": {}, "selection": {}, "pick": {}, "choose": {}},
    {"move": {"index": "x", "number": [], "choices": 5}, "selection": {"number": None}, "pick": {"kind": 3},
     "choose": {"nth": "x", "branch": -1}},
    {"move": {"index": 10 ** 30, "number": 7, "decoding": 99, "from": 1e308, "choices": [1, {"at": None}]},
     "selection": {"kind": "cross", "layer": -5, "head": 1e99, "number": 1, "pair": [[]], "lit": {"a": 1},
                   "step": "x"},
     "pick": {"kind": "zzz", "layer": -1}, "choose": {"nth": 10 ** 8, "branch": 10 ** 8}}]  # by a component


def unpacked(content: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The header, and the arrays by name."""
    start = 4 + int.from_bytes(content[:4], "little")
    header, arrays = json.loads(content[4:start]), {}
    for name, part in header.get("arrays", {}).items():
        array = arrays[name] = np.zeros(part["shape"], f"<{part['type']}")
        places = (..., np.tri(*array.shape[-2:], dtype=bool)) if part.get("lower") else ...
        if most := part.get("most"):
            high, middle, low = np.frombuffer(content, np.uint8, 3 * array.size, start + part["at"]).reshape(3, -1)
            data = (((high * 256.0 + middle) * 256 + low) - 2**23) * most / (2**23 - 1)
        else:
            data = np.frombuffer(content, array.dtype, array[places].size, start + part["at"])
        array[places] = data.reshape(array[places].shape)
    if {"about", "kinds"} & header.keys():
        assert_of_schema(header)
    return header, arrays


def assert_of_schema(header: dict) -> None:
    """Every field and array of an attention view's message is one that `message_fields` has, and none is missing."""
    found = wrong(header) + wrong_arrays(header["arrays"], header["kinds"])
    assert not found, found


def held(text: str) -> tuple[dict, dict[str, np.ndarray]]:
    """The same of a page that was saved."""
    sevens = [ord(c) % 128 for c in re.search(r'id="message">([^<]*)<', text)[1]]
    bits = "".join(f"{seven:07b}" for seven in sevens)
    return unpacked(gzip.decompress(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))))

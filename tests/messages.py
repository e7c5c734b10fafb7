"""Reads the binary messages that scripts are sent, as they do."""

import json

import numpy as np


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
    return header, arrays

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
        data = np.frombuffer(content, array.dtype, array[places].size, start + part["at"])
        array[places] = data.reshape(array[places].shape)
    return header, arrays

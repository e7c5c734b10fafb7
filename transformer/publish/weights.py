"""A checkpoint as bytes for a browser: what openCheckpoint of js/decoding.js reads.

Four bytes say how long the header is, little-endian; the header is JSON; the weights follow, each from an offset that
divides by the size of its numbers, then the tokenizers' bytes.
"""

import orjson

from transformer.checkpoint import Checkpoint


def pack(ckpt: Checkpoint) -> bytes:
    """The header and the weights of a checkpoint. A weight is in half precision where that holds its numbers exactly,
    as those of a shipped or exported checkpoint are; tied ones come once."""
    tensors, parts, places, size = [], [], {}, 0
    for name, weight in ckpt.model.named_parameters(remove_duplicate=False):
        if id(weight) not in places:
            numbers = weight.detach().float().cpu()
            half = numbers.half()
            is_half = bool((half.float() == numbers).all())
            content = (half if is_half else numbers).contiguous().numpy().tobytes()
            places[id(weight)] = {"type": "float16" if is_half else "float32", "offset": size}
            parts.append(content + bytes(-len(content) % 4))
            size += len(parts[-1])
        tensors.append({"name": name, "shape": list(weight.shape), **places[id(weight)]})
    header = {"id": ckpt.id, "name": ckpt.description.name, "task": ckpt.config.task, "meta": ckpt.meta,
              "classes": ckpt.classes, "end_id": ckpt.end_id, "config": ckpt.config.model_dump(mode="json"),
              "tensors": tensors}
    head = orjson.dumps(header)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])

"""What resuming needs beside the weights: optimizer and random state, in safetensors and JSON."""

from pathlib import Path

import orjson
import torch
from safetensors.torch import load_file, load_model, save
from torch import Tensor

from transformer.model.models import Transformer
from transformer.training.distributed import World

PLAIN = ("step", "factor", "stale", "seconds", "loss", "tokens", "threads")  # what of the Trainer itself
TENSORS, VALUES = "state.safetensors", "state.json"


def tensors(optimizers: list[torch.optim.Optimizer], world: World) -> dict[str, Tensor]:
    """Optimizer state, the same in every process, and the random state of each."""
    found = {f"random.cpu.{rank}": one for rank, one in enumerate(world.gather(torch.get_rng_state()))}
    if world.device.type == "cuda":
        own = torch.cuda.get_rng_state(world.device)
        found |= {f"random.cuda.{rank}": one for rank, one in enumerate(world.gather(own))}
    for i, optimizer in enumerate(optimizers):
        for parameter, values in optimizer.state_dict()["state"].items():
            for key, value in values.items():
                found[f"optimizer.{i}.{parameter}.{key}"] = torch.as_tensor(value).detach().cpu().contiguous()
    return found


def files(tensors: dict[str, Tensor], plain: dict[str, object]) -> dict[str, bytes]:
    return {TENSORS: save(tensors), VALUES: orjson.dumps(plain)}


def restore(folder: Path, model: Transformer, optimizers: list[torch.optim.Optimizer],
            world: World) -> dict[str, object]:
    """Put weights, optimizer and random state back as they were saved -> what belongs to the Trainer itself.

    With another number of processes than before, one that is new keeps the random state it has.
    """
    load_model(model, str(folder / "model.safetensors"))
    plain, tensors = orjson.loads((folder / VALUES).read_bytes()), load_file(str(folder / TENSORS))
    for i, optimizer in enumerate(optimizers):
        held = optimizer.state_dict()
        held["state"] = {}
        for name, value in tensors.items():
            kind, *where = name.split(".")
            if kind == "optimizer" and int(where[0]) == i:
                held["state"].setdefault(int(where[1]), {})[where[2]] = value
        optimizer.load_state_dict(held)
    if (own := tensors.get(f"random.cpu.{world.rank}")) is not None:
        torch.set_rng_state(own)
    if world.device.type == "cuda" and (own := tensors.get(f"random.cuda.{world.rank}")) is not None:
        torch.cuda.set_rng_state(own, world.device)
    return plain

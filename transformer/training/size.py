"""How large a training is: parameters by part, the memory they take with gradients and optimizer, and what there is."""

import ctypes
import os
from pathlib import Path

import torch

from transformer.config import ModelConfig, TrainConfig
from transformer.model.models import Transformer

FLOAT = 4  # bytes; weights, gradients and optimizer state stay in float32 whatever the precision
PARTS = ("embeddings", "encoder", "decoder", "cross attention", "output")
STATES = {"adam": 2, "adamw": 2, "rmsprop": 1, "muon": 1}  # numbers kept a parameter; muon: of the layers' matrices


def skeleton(config: ModelConfig) -> Transformer:
    """The model without memory for its weights: names and shapes."""
    with torch.device("meta"):
        return Transformer(config)


def parameters_by_part(model: Transformer) -> dict[str, int]:
    """Parameters of each part the model has; a matrix that two parts share counts once, as embeddings."""
    counts = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        stack = name.split(".")[0]
        part = "embeddings" if "embedding" in stack else "cross attention" if ".cross" in name else stack
        counts[part] += parameter.numel()
    has = {"embeddings", *(kind if kind != "cross" else "cross attention" for kind in model.config.kinds)}
    return {part: count for part, count in counts.items() if count or part in has}


def kept_memory(model: Transformer, config: TrainConfig) -> dict[str, int]:
    """Bytes that stay from step to step: weights, gradients and the optimizer's state."""
    parameters = dict(model.named_parameters())
    numbers = sum(p.numel() for p in parameters.values())
    state = STATES[config.optimizer] * numbers
    if config.optimizer == "muon":  # AdamW has the rest
        state += sum(p.numel() for name, p in parameters.items() if p.dim() != 2 or "layers" not in name)
    return {"weights": FLOAT * numbers, "gradients": FLOAT * numbers, "optimizer": FLOAT * state}


def estimated_activations(config: ModelConfig, train: TrainConfig, *, length: float) -> int:
    """About how many bytes a batch of rows of `length` tokens leaves for the backward pass, in float32.

    Counted are the inputs of every map and norm, the attention weights of every head, and the logits three times.
    """
    width = config.n_heads * config.width
    attention = 4 * config.d_model + 4 * width + 2 * config.n_heads * length
    layer = attention + 4 * config.d_model + 3 * config.d_ff
    encoder = config.encoder_layers * layer
    decoder = config.decoder_layers * (layer + attention * bool(config.encoder_layers))
    logits = 3 * config.vocab_size if config.decoder_layers else 0
    return int(FLOAT * train.batch_tokens * (encoder + decoder + logits))


def device_memory(device: torch.device) -> int | None:
    """Bytes that can still be had there; None where the device does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    found = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text() for name in ("max", "current"))
        found.append(int(limit) - int(used))
    except (OSError, ValueError):  # no Linux, or no limit ("max")
        pass
    if not found and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return min(found, default=None)


class Peak:
    """The most memory in use from `Peak(device)` until `read()`, beyond what was in use at its start."""

    def __init__(self, device: torch.device):
        self.device, self.before = device, None
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            torch.cuda.reset_peak_memory_stats(device)
            self.before = torch.cuda.memory_allocated(device)
        elif device.type == "cpu":
            try:
                ctypes.CDLL(None).malloc_trim(0)  # or freed memory is used again and seems to cost nothing
                Path("/proc/self/clear_refs").write_text("5")  # the high-water mark falls to what is in use now
                self.before = _status("VmRSS")
            except (OSError, AttributeError):  # no Linux, or no right to
                pass

    def read(self) -> int | None:
        """Bytes; None where the device does not say."""
        if self.before is None:
            return None
        now = torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else _status("VmHWM")
        return max(0, now - self.before)


def _status(name: str) -> int:
    """A figure of this process, in bytes (see proc(5), /proc/pid/status)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {name}")

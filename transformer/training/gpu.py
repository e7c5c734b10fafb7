"""The use of a GPU, and how much of its peak a run reaches."""

import contextlib
from functools import cache

import torch
from torch import nn

from transformer.model.models import Transformer
from transformer.text.batches import Batch

# bf16 tensor cores without sparsity, floating-point operations a second, from NVIDIA's data sheets; longest name first
PEAK = {"H100 PCIe": 756e12, "H100 NVL": 835e12, "H100": 989e12, "H200": 989e12, "B200": 2_250e12, "A100": 312e12,
        "A10G": 70e12, "A10": 125e12, "L40S": 362e12, "L4": 121e12, "RTX 4090": 165e12, "RTX 3090": 71e12}


def peak(name: str) -> float | None:
    """The peak of a GPU of this name, in operations a second in bfloat16; None for one that is not listed here."""
    return next((value for known, value in PEAK.items() if known in name), None)


def operations(model: Transformer, batch: Batch) -> float:
    """Floating-point operations to train on a batch, padding included: 6 for each parameter that a position is
    multiplied with, and 12 for each cell of each attention matrix and each of its head's dimensions.

    Chowdhery et al. 2022 (PaLM), appendix B. Embeddings are looked up, which costs nothing, and causal attention counts
    as if it were whole.
    """
    config, total = model.config, 0.0
    width = config.n_heads * config.width
    if batch.src is not None:
        rows, length = batch.src.shape
        total += 6 * rows * length * _count(model.encoder) + 12 * rows * length**2 * width * config.encoder_layers
    if batch.tgt is not None:
        rows, length = batch.tgt.shape
        looked_up = length + (0 if batch.src is None else batch.src.shape[1])
        total += 6 * rows * length * (_count(model.decoder) + model.output.weight.numel())
        total += 12 * rows * length * looked_up * width * config.decoder_layers
    return total


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def usage(device: torch.device) -> dict[str, float]:
    """`gpu_util` (0 to 1), `gpu_memory` and `gpu_memory_total` in bytes; empty if there is no GPU.

    From NVIDIA's management library; without its driver, memory alone, from torch.
    """
    if device.type != "cuda":
        return {}
    handle = _handle(device.index or 0)
    if handle is None:
        free, total = torch.cuda.mem_get_info(device)
        return {"gpu_memory": float(total - free), "gpu_memory_total": float(total)}
    import pynvml

    with contextlib.suppress(pynvml.NVMLError):
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
        return {"gpu_util": float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100,
                "gpu_memory": float(memory.used), "gpu_memory_total": float(memory.total)}
    return {}


@cache
def _handle(index: int) -> object | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(index).uuid}")
    except pynvml.NVMLError:
        return None

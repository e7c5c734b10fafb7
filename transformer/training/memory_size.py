"""The memory that a training takes, what its device has left, and the pieces of batches that fit."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

from transformer.basics.formatting import size
from transformer.basics.resource_errors import give_back
from transformer.checkpoints import checkpoint
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, RunConfig
from transformer.text.user_corpus import is_user_corpus
from transformer.training import gpu

FLOAT = 4  # bytes; weights, gradients and optimizer state stay in float32 whatever the precision
PARTS: tuple[str, ...] = ("embeddings", "encoder", "decoder", "cross attention", "output")
STATES = {"adam": 2, "adamw": 2, "rmsprop": 1, "muon": 1}  # numbers kept a parameter; muon: of the layers' matrices
LARGEST_PIECE = 2_500_000_000  # bytes of activations on a CPU, where larger pieces are no faster
SHARE = 0.8  # of the memory there is; the rest is for what is not counted, and for others
SPECIAL = {"vocab_size": 4, "pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "start_id": 2, "banned_ids": ()}


class TooLarge(ValueError):
    """A training does not fit into its device's memory; the message says what to change."""


def parameters(config: ModelConfig) -> Iterator[tuple[str, torch.nn.Parameter, int]]:
    """Name of each parameter, the parameter without memory, and how often it occurs: one layer stands for all."""
    model = Transformer.laid_out(config.replace(encoder_layers=min(1, config.encoder_layers),
                                                decoder_layers=min(1, config.decoder_layers)))
    for name, parameter in model.named_parameters():
        stack, _, rest = name.partition(".")
        yield name, parameter, getattr(config, f"{stack}_layers") if rest.startswith("layers.") else 1


def parameters_by_part(config: ModelConfig) -> dict[str, int]:
    """The number of parameters in each part of a model; a matrix that two parts share counts once, as embeddings."""
    counts = dict.fromkeys(PARTS, 0)
    for name, parameter, times in parameters(config):
        stack = name.split(".")[0]
        part = "embeddings" if "embedding" in stack else "cross attention" if ".cross" in name else stack
        counts[part] += times * parameter.numel()
    has = {"embeddings", *(kind if kind != "cross" else "cross attention" for kind in config.kinds)}
    return {part: count for part, count in counts.items() if count or part in has}


def kept_memory(config: RunConfig, *, processes: int = 1) -> dict[str, int]:
    """Bytes that each process keeps from step to step: weights, their average and those of teachers, gradients and the
    optimizer's state."""
    numbers = state = 0
    for name, parameter, times in parameters(config.model):
        count = times * parameter.numel()
        numbers += count
        state += STATES[config.train.optimizer] * count
        if config.train.optimizer == "muon" and (parameter.dim() != 2 or "layers" not in name):  # AdamW has the rest
            state += count
    copies = 1 if processes == 1 else 2  # several processes exchange gradients in buckets of their own
    held = (2 if config.train.ema else 1) * numbers + sum(map(_numbers, config.train.distill))
    return {"weights": FLOAT * held, "gradients": copies * FLOAT * numbers, "optimizer": FLOAT * state}


def _numbers(folder: str) -> int:
    """The parameters of a checkpoint; none of one that is not there, which is said where it is opened."""
    with suppress(checkpoint.CheckpointError):
        return sum(one.numel() * times for _, one, times in parameters(checkpoint.describe(folder).config))
    return 0


def estimated_activations(config: ModelConfig, *, positions: int, length: int, device: torch.device) -> int:
    """About how many bytes a batch of so many positions, in rows of `length`, leaves for the backward pass in float32.

    Counted are the inputs of every map and norm, what dropout drew, the attention weights where the device keeps
    them or positions learn what is added to the scores, and the logits three times.
    """
    width = config.n_heads * config.width
    dropped = config.dropout if config.attention_dropout is None else config.attention_dropout
    weights = 3 * config.n_heads * length if dropped and device.type != "cuda" else 0  # otherwise computed again
    if not weights and config.positions in ("relative", "disentangled"):
        weights = 2 * config.n_heads * length
    attention = 4 * config.d_model + 4 * width + weights
    layer = attention + 4 * config.d_model + (5 if config.gated else 3) * config.d_ff
    encoder = config.encoder_layers * layer
    decoder = config.decoder_layers * (layer + attention * bool(config.encoder_layers))
    logits = 3 * config.vocab_size if config.decoder_layers else 0
    return FLOAT * positions * (encoder + decoder + logits)


def step_activations(config: RunConfig, *, positions: int, length: int, device: torch.device) -> int:
    """`estimated_activations` of a training step, with all its passes and with what teachers predict."""
    read = config.train.passes * positions
    predictions = 2 * len(config.train.distill) + 2 if config.train.distill else 0  # each, stacked; mean, logarithms
    vocabulary = config.model.vocab_size if config.model.decoder_layers else 0
    return FLOAT * predictions * positions * vocabulary + estimated_activations(
        config.model, positions=read, length=length, device=device)


def choose_micro_tokens(config: RunConfig, device: torch.device, *, length: int, processes: int = 1,
                        beside: int = 1) -> int:
    """The most positions to read at once so that a training fits: a whole batch, halved as often as needed.

    length: tokens of the longest row; no row is cut. `processes` share each batch, and `beside` of them the device's
    memory. Raises TooLarge if a single row does not fit, or the micro_tokens that the configuration sets.
    """
    train, available, kept = config.train, device_memory(device), kept_memory(config, processes=processes)
    free = float("inf") if available is None else available / beside
    stays = sum(kept.values())
    saving = 2 * kept["optimizer"] if device.type == "cpu" else 0  # a save is built in memory, without activations

    def needed(positions: int) -> int:
        return max(saving, step_activations(config, positions=max(positions, length), length=length, device=device))

    if stays + needed(1) > free:
        raise TooLarge(_refusal(kept, saving, needed(1), length=length, device=device, free=free))
    room = min(SHARE * free - stays, LARGEST_PIECE / beside if device.type == "cpu" else float("inf"))
    whole = positions = -(-train.batch_tokens // processes)
    while positions > length and needed(positions) > room:
        positions = -(-positions // 2)
    if (micro := train.micro_tokens) is None:
        return train.batch_tokens if positions == whole else positions
    if stays + needed(min(micro, whole)) > free:
        raise TooLarge(f"{min(micro, whole):,} positions at once take {size(needed(min(micro, whole)))} beside "
                       f"{size(stays)} of weights, gradients and optimizer, and {device} has {size(free)} left; set "
                       f"micro_tokens to {positions:,} or less")
    return micro


def _refusal(kept: dict[str, int], saving: int, row: int, *, length: int, device: torch.device, free: float) -> str:
    stays = sum(kept.values())
    more = f"saving them {size(saving)}" if row == saving else f"reading a row of {length:,} tokens {size(row)}"
    change = "d_model, d_ff or the number of layers" if stays + saving > free else "max_len, or the number of layers"
    return (f"weights, gradients and optimizer take {size(stays)}, {more} more, and {device} has {size(free)} left; "
            f"lower {change}")


def check_least(config: RunConfig, device: torch.device, *, processes: int = 1) -> None:
    """Raises TooLarge for a training that cannot fit whatever its corpus holds: only the special pieces count as its
    vocabulary, and rows have one token if the corpus decides their length."""
    vocabulary = SPECIAL | ({"src_vocab_size": SPECIAL["vocab_size"]} if config.model.src_vocab_size else {})
    windows = config.train.task == "language-model" and not is_user_corpus(config.train.corpus)
    choose_micro_tokens(config.set(vocabulary), device, length=config.model.max_len if windows else 1,
                        processes=processes, beside=1 if device.type == "cuda" else processes)


def device_memory(device: torch.device) -> int | None:
    """Bytes that are free on a device; None if it does not say."""
    if device.type == "cuda":
        usage = gpu.usage(device)
        return int(usage["gpu_memory_total"] - usage["gpu_memory"]) if usage else torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    amounts = []
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        amounts += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text("utf-8") for name in ("max", "current"))
        amounts.append(int(limit) - int(used))
    except (OSError, ValueError):  # no Linux, or no limit ("max")
        pass
    if not amounts and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        amounts = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return min(amounts, default=None)


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
                give_back()  # otherwise freed memory is reused and seems to cost nothing
                Path("/proc/self/clear_refs").write_text("5", "utf-8")  # the high-water mark falls to what is used now
                self.before = _status("VmRSS")
            except OSError:  # no Linux, or no right to
                pass

    def read(self) -> int | None:
        """Bytes; None if the device does not say."""
        if self.before is None:
            return None
        now = torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else _status("VmHWM")
        return max(0, now - self.before)


def _status(name: str) -> int:
    """A figure of this process, in bytes (see proc(5), /proc/pid/status)."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {name}")

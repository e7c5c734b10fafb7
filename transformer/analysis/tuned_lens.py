"""The tuned lens: the logit lens with a linear map for each depth, fitted so that it says what the model will say.

Belrose et al. 2023, section 3. N rows, d_model width of a row, V vocabulary (or classes).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer.analysis.sample import Sentence, batches, pad_sentences
from transformer.basics.folders import TUNED_LENS
from transformer.basics.formatting import brief
from transformer.basics.resource_errors import os_errors
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.masks import padding_mask

FORMAT = "1"
ROWS = 20_000  # that it is fitted on, at most
STEPS, AT_ONCE, RATE = 500, 256, 1e-3  # of Adam, rows in each, and its step size
HELD_OUT = 0.1  # of the rows, to say how well it fits
EXPLAINED = (  # what it shows and what it does not
    "As the logit lens, but each depth's rows first go through a linear map, which was fitted on training text so that "
    "the reading comes as close as it can to what the model says in the end (Belrose et al. 2023). It shows what is "
    "there to be read at a depth, where the logit lens shows what is already written in the output's terms. The map is "
    "trained, so it may also know what usually comes next, which this depth does not say.")
Watch = Callable[[int, int], None]  # done, of


@dataclass(frozen=True, eq=False)
class TunedLens:
    """A map for each depth but the last: rows x become x + x A + b."""

    matrices: Tensor  # (depths, d_model, d_model)
    biases: Tensor  # (depths, d_model)
    divergence: tuple[tuple[float, float], ...] = ()  # of each depth, nats on rows left out: plain lens, tuned

    __repr__ = brief

    def at(self, depth: int, rows: Tensor) -> Tensor:
        """The rows (..., d_model) of a depth, mapped; those of the last stay."""
        if depth >= len(self.matrices):
            return rows
        return rows + rows @ self.matrices[depth].to(rows) + self.biases[depth].to(rows)


@torch.no_grad()
def _rows(ckpt: Checkpoint, sentences: Sequence[Sentence], most: int) -> list[Tensor]:
    """The rows of each depth (N, d_model) at predictions of some sentences."""
    config, model, found, count = ckpt.config, ckpt.model, [], 0
    for chosen in batches(config, sentences):
        batch = pad_sentences(config, [sentences[at] for at in chosen], device=ckpt.device)
        memory = None if batch.src is None else model.encode(batch.src).x
        mask = None if batch.src is None else padding_mask(batch.src, config.pad_id)
        tgt, real = batch.target
        inputs = model.decode(tgt, memory, memory_mask=mask, causal=True).inputs
        found.append([layer[real] for layer in inputs])
        count += int(real.sum())
        if count >= most:
            break
    return [torch.cat(parts)[:most] for parts in zip(*found, strict=True)]


def fit_tuned_lens(ckpt: Checkpoint, sentences: Sequence[Sentence], *, rows: int = ROWS, steps: int = STEPS,
                   seed: int = 0, watch: Watch = lambda done, of: None) -> TunedLens:
    """Fits the maps of a decoder by Adam on the divergence of each reading from the model's own distribution. watch is
    called at every step, and may raise to end it. Raises ValueError for a model without a decoder."""
    config, model = ckpt.config, ckpt.model
    if not config.decoder_layers:
        raise ValueError(f"{ckpt.id} has no decoder, and a tuned lens is of one; choose a model that writes or "
                         "translates")
    generator = torch.Generator().manual_seed(seed)
    depths = _rows(ckpt, sentences, rows)
    order = torch.randperm(len(depths[0]), generator=generator)
    left_out, fitted = order[: max(1, int(HELD_OUT * len(order)))], order[max(1, int(HELD_OUT * len(order))):]
    if not len(fitted):
        raise ValueError("the texts have no more than one prediction; give more of them")
    norm, final = model.decoder.norm, depths[-1]
    width, count = config.d_model, len(depths) - 1

    def logs(x: Tensor) -> Tensor:
        return model.project(norm(x)).float().log_softmax(-1)

    def apart(own: Tensor, other: Tensor) -> Tensor:
        return (own.exp() * (own - other)).sum(-1).mean()

    matrices = torch.zeros(count, width, width, device=ckpt.device)
    biases = torch.zeros(count, width, device=ckpt.device)
    divergence = []
    for depth in range(count):
        with torch.enable_grad():
            matrix = torch.zeros(width, width, device=ckpt.device, requires_grad=True)
            bias = torch.zeros(width, device=ckpt.device, requires_grad=True)
            optimizer = torch.optim.Adam([matrix, bias], lr=RATE)
            schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=steps)
            for step in range(steps):
                some = fitted[torch.randint(len(fitted), (min(AT_ONCE, len(fitted)),), generator=generator)]
                with torch.no_grad():
                    own = logs(final[some])
                x = depths[depth][some]
                loss = apart(own, logs(x + x @ matrix + bias))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                watch(depth * steps + step + 1, count * steps)
        matrices[depth], biases[depth] = matrix.detach(), bias.detach()
        with torch.no_grad():
            parts = [(logs(final[one]), logs(depths[depth][one]), logs(
                depths[depth][one] + depths[depth][one] @ matrix + bias)) for one in left_out[:2_000].split(AT_ONCE)]
            divergence.append((float(np.mean([float(apart(own, plain)) for own, plain, _ in parts])),
                               float(np.mean([float(apart(own, tuned)) for own, _, tuned in parts]))))
    return TunedLens(matrices, biases, tuple(divergence))


def write_tuned_lens(ckpt: Checkpoint, lens: TunedLens) -> Path:
    """Keeps it in half precision in the checkpoint's folder, outside of the manifest."""
    path = ckpt.description.folder / TUNED_LENS
    said = ";".join(f"{plain:.4f},{tuned:.4f}" for plain, tuned in lens.divergence)
    with os_errors():
        save_file({"matrices": lens.matrices.half().cpu(), "biases": lens.biases.half().cpu()}, str(path),
                  metadata={"format": FORMAT, "checkpoint": ckpt.id, "divergence": said})
    return path


def read_lens_file(path: Path, ckpt: Checkpoint) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What a file of a lens says of itself, and its tensors. Raises OSError or SafetensorError for one that is damaged,
    and ValueError for one of other weights, or with numbers that are none."""
    with safe_open(path, "pt") as file:
        about = file.metadata() or {}
    if (about.get("format"), about.get("checkpoint")) != (FORMAT, ckpt.id):
        raise ValueError(f"{path.name} is of other weights than {ckpt.id}")
    tensors = load_file(str(path))
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise ValueError(f"{path.name} has numbers that are not finite")
    return about, tensors


def read_tuned_lens(ckpt: Checkpoint) -> TunedLens | None:
    """The lens that is kept for these weights; None if there is none, or it is of others or damaged."""
    path = ckpt.description.folder / TUNED_LENS if ckpt.description.folder else None
    if path is None or not path.is_file():
        return None
    try:
        about, tensors = read_lens_file(path, ckpt)
        pairs = [(float(plain), float(tuned)) for plain, tuned in (
            pair.split(",") for pair in about["divergence"].split(";"))]
        lens = TunedLens(tensors["matrices"].float(), tensors["biases"].float(), tuple(pairs))
    except (OSError, SafetensorError, KeyError, ValueError):
        return None
    wanted = (ckpt.config.decoder_layers, ckpt.config.d_model, ckpt.config.d_model)
    return lens if tuple(lens.matrices.shape) == wanted and len(pairs) == wanted[0] else None

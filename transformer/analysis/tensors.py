"""The weights of a model without running it: every tensor in numbers, and what each head can do.

d_model width of a row, H heads, D width of a head, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.basics import data_frames
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.checkpoints.weights import expected_tensors, read_header
from transformer.model.attention import repeat_for_queries
from transformer.model.models import Transformer

BLOCKS = {"attention": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}  # the rest: norms
STACKS = ("embeddings", "encoder", "decoder", "output")
MOST_BARS = 80  # of a histogram


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a checkpoint's file."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # as safetensors names it: F32, F16, BF16, ...
    shared: tuple[str, ...]  # the other names under which the model uses the same numbers

    @property
    def count(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Summary:
    """A tensor in a few numbers."""

    mean: float
    spread: float  # the standard deviation of its elements
    norm: float  # Frobenius: the root of the sum of squares
    least: float
    most: float


def stored_tensors(about: Description) -> list[StoredTensor]:
    """The tensors of a checkpoint's file in the model's order, from its header. Raises ValueError as `describe`
    does."""
    stored = read_header(about.folder / "model.safetensors").tensors
    return [StoredTensor(name, stored[name].shape, stored[name].dtype, tuple(sorted(names - {name})))
            for names, _ in expected_tensors(about.config) for name in names & stored.keys()]


def block_of(tensor: StoredTensor) -> tuple[str, int | None, str]:
    """The place of a tensor: ("encoder", 2, "feed-forward"), ("embeddings", None, "target tokens"), ("output", None,
    "output"). One that is both embedding and output is an embedding."""
    name = next((name for name in (tensor.name, *tensor.shared) if "embedding" in name), tensor.name)
    first, *rest = name.split(".")
    if first.endswith("_embedding"):
        side = "" if tensor.shared else {"src": "source ", "tgt": "target "}[first[:3]]
        return "embeddings", None, f"{side}{rest[0]}"
    if rest and rest[0] == "layers":
        return first, int(rest[1]), BLOCKS.get(rest[2], "norms")
    if first in ("encoder", "decoder"):
        return first, None, "final norm" if rest[0] == "norm" else "distances"
    return "output", None, first.replace("_", " ")


def parameters_by_block(kept: Sequence[StoredTensor]) -> dict[tuple[str, int | None, str], int]:
    """Parameters of each block, in the model's order; a matrix with several uses counts once."""
    counts: dict[tuple[str, int | None, str], int] = {}
    for tensor in kept:
        block = block_of(tensor)
        counts[block] = counts.get(block, 0) + tensor.count
    return dict(sorted(counts.items(), key=lambda item: STACKS.index(item[0][0])))


@torch.no_grad()
def summarise(tensor: Tensor) -> Summary:
    """A tensor in a few numbers, summed in double precision."""
    values = tensor.detach().double()
    return Summary(float(values.mean()), float(values.std(unbiased=False)), float(values.norm()), float(values.min()),
                   float(values.max()))


def frame(ckpt: Checkpoint) -> "data_frames.DataFrame":
    """Every tensor of a checkpoint as a tidy pandas table, in the model's order.

    Columns: `name`; `stack`, `layer` (missing where it belongs to none) and `part`, where in the model it is; `shape`,
    `parameters` and `dtype`, as its file holds it; `mean`, `spread` (the standard deviation), `norm` (Frobenius),
    `least` and `most` of its elements. Raises ValueError as `stored_tensors` does.
    """
    weights, rows = ckpt.model.state_dict(), []
    for tensor in stored_tensors(ckpt.description):
        stack, layer, part = block_of(tensor)
        rows.append({"name": tensor.name, "stack": stack, "layer": layer, "part": part, "shape": tensor.shape,
                     "parameters": tensor.count, "dtype": tensor.dtype, **asdict(summarise(weights[tensor.name]))})
    return data_frames.pandas().DataFrame(rows).astype({"layer": "Int64"})


@torch.no_grad()
def histogram(tensor: Tensor, *, bars: int = 60) -> tuple[NDArray, NDArray]:
    """Counts (bars,) and edges (bars + 1,) of the elements, from the least to the most.

    Raises ValueError for a number of bars below 1 or above 80.
    """
    if not 1 <= bars <= MOST_BARS:
        raise ValueError(f"bars is {bars}; choose 1 to {MOST_BARS}")
    return np.histogram(tensor.detach().float().cpu().numpy(), bins=bars)


@dataclass(frozen=True, eq=False)
class Circuits:
    """Singular values of what each head computes, from the largest, each (layers, H, D)."""

    query_key: NDArray  # of W_q W_k^T (d_model, d_model): which differences between rows the scores can see
    value_output: NDArray  # of W_v W_o (d_model, d_model): what the head can move from one row to another

    __repr__ = brief


@torch.no_grad()
def circuits(model: Transformer, kind: str, *,
             watch: Callable[[int, int], None] = lambda done, of: None) -> Circuits:
    """Takes every head of a kind apart into its two products. Elhage et al. 2021, "QK and OV circuits".

    A product has at most rank D, so the D values here are all that are not 0. They are of the matrices alone, without
    the biases, the scale 1/sqrt(D) of the scores, the norms before them and rotary positions (which rotate query and
    key by their distance). watch is called before each layer, and may raise to end it. Raises ValueError for a kind the
    model does not have.
    """
    if kind not in model.config.kinds:
        raise ValueError(f"there is no {kind} attention; this model has {', '.join(model.config.kinds)}")
    found = []
    for layer in range(model.config.layers(kind)):
        watch(layer, model.config.layers(kind))
        part = model.attention(kind, layer)
        q, k, v = (repeat_for_queries(one.weight.double().unflatten(0, (heads, -1)), part.n_heads).transpose(1, 2)
                   for one, heads in ((part.q_proj, part.n_heads), (part.k_proj, part.groups),
                                      (part.v_proj, part.groups)))  # (H, d_model, D)
        o = part.out_proj.weight.double().unflatten(1, (part.n_heads, -1)).transpose(0, 1)  # (H, d_model, D)
        found.append((_values(q, k), _values(v, o)))
    return Circuits(*(torch.stack(values).float().cpu().numpy() for values in zip(*found, strict=True)))


def _values(left: Tensor, right: Tensor) -> Tensor:
    """Singular values of left @ right^T (H, d_model, d_model), each factor (H, d_model, D) -> (H, D).

    An orthonormal basis changes none of them, so they are those of the product of the two small triangles.
    """
    return torch.linalg.svdvals(torch.linalg.qr(left).R @ torch.linalg.qr(right).R.mT)


@torch.no_grad()
def neighbours(table: Tensor, id: int, *, count: int = 12) -> list[tuple[int, float]]:
    """The ids whose rows of an embedding table (V, d_model) point most in the direction of one's: (id, cosine), nearest
    first.

    A row of zeros has no direction and is left out. Raises ValueError for an id outside the table.
    """
    if not 0 <= id < len(table):
        raise ValueError(f"there is no id {id}; choose from 0 to {len(table) - 1:,}")
    table = table.float()
    lengths = table.norm(dim=1)
    cosines = (table @ table[id]) / (lengths * lengths[id])
    cosines[(lengths == 0) | (torch.arange(len(table), device=table.device) == id)] = float("-inf")
    values, ids = cosines.nan_to_num(nan=float("-inf"), neginf=float("-inf")).topk(min(count, len(table)))
    return [(at, value) for at, value in zip(ids.tolist(), values.tolist(), strict=True) if value > float("-inf")]


@dataclass(frozen=True)
class Change:
    """How a tensor differs between two models."""

    name: str
    relative: float  # ||other - one|| / ||one||; NaN if one is all zeros and the other is not
    cosine: float  # of the two as vectors; NaN if either is all zeros


@torch.no_grad()
def compare_weights(one: Checkpoint, other: Checkpoint, *,
                    watch: Callable[[int, int], None] = lambda done, of: None
                    ) -> tuple[list[Change], list[str]]:
    """The change of each tensor that both models have in the same shape, and a sentence for each one that they do not.

    watch is called before each tensor, and may raise to end it.
    """
    first, second = (_named(ckpt.model) for ckpt in (one, other))
    changes, unlike = [], []
    for done, (name, tensor) in enumerate(first.items()):
        watch(done, len(first))
        if name not in second:
            unlike.append(f"{name} is only in {one.id}")
        elif tensor.shape != second[name].shape:
            unlike.append(f"{name} is {_shape(tensor)} in {one.id} and {_shape(second[name])} in {other.id}")
        else:
            a, b = tensor.double(), second[name].double()
            size, dot = float(a.norm()), float((a * b).sum())
            far, both = float((b - a).norm()), size * float(b.norm())
            changes.append(Change(name, far / size if size else 0.0 if not far else float("nan"),
                                  dot / both if both else float("nan")))
    unlike += [f"{name} is only in {other.id}" for name in second if name not in first]
    return changes, unlike


def _named(model: Transformer) -> dict[str, Tensor]:
    """Every tensor once, under its first name."""
    return dict(model.named_parameters())


def _shape(tensor: Tensor) -> str:
    return " × ".join(f"{size:,}" for size in tensor.shape)

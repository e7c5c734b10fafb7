"""Results as tidy pandas tables: a row for each measurement, a column for each variable. pandas is imported only when a
table is made."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor

    from transformer.checkpoints.checkpoint import Checkpoint
    from transformer.settings.config import Kind

MOST = 10_000_000  # rows of a table, each of at most 28 bytes where it is of attention


class HasAttention(Protocol):
    """A `Step` or a `Reading`, or anything else whose attention can become a table."""

    @property
    def ckpt(self) -> "Checkpoint": ...
    @property
    def kinds(self) -> "tuple[Kind, ...]": ...
    def axes(self, kind: str) -> tuple[list[str], list[str]]: ...
    def mask(self, kind: "Kind") -> "Tensor": ...
    def attended(self, kind: "Kind", layers: slice, heads: slice) -> "tuple[Tensor | None, Tensor]": ...


def pandas() -> ModuleType:
    """The pandas package. Raises ValueError if it is not installed."""
    try:
        import pandas
    except ImportError:
        raise ValueError("tables need the package pandas: pip install pandas") from None
    return pandas


def attention(of: HasAttention, kind: str, *, layer: int | None = None, head: int | None = None) -> "DataFrame":
    """The attention of one kind: a row for each head and each pair of tokens that the mask allows.

    Columns: `layer`, `head`, and the places `query` and `key`, all counted from 0; `query_token` and `key_token`, their
    text; `weight`, which sums to 1 over the keys of one head and query; `score` (no unit), the input of the softmax:
    q·k / √d_k, and a bias if positions add one. Words have no scores, so they have no such column. Rows are ordered by
    layer, head, query and key. Raises ValueError for a kind, a layer or a head that is not there, and for more than
    10,000,000 rows: layer and head choose one of each.
    """
    if kind not in of.kinds:
        raise ValueError(f"there is no {kind} attention here; choose from {', '.join(of.kinds)}")
    layers = _chosen("layer", layer, of.ckpt.config.layers(kind))
    heads = _chosen("head", head, of.ckpt.config.n_heads)
    axes, pairs = of.axes(kind), np.nonzero(of.mask(kind).cpu().numpy())
    each = len(pairs[0])
    if (rows := len(layers) * len(heads) * each) > MOST:
        raise ValueError(f"{len(layers)} layers of {len(heads)} heads with {each:,} pairs of tokens make {rows:,} "
                         f"rows, and a table has at most {MOST:,}; choose one with layer= or head=")
    scores, weights = (numbers if numbers is None else numbers.float().cpu().numpy()[..., *pairs].ravel()
                       for numbers in of.attended(kind, slice(layers.start, layers.stop),
                                                  slice(heads.start, heads.stop)))
    pd = pandas()
    columns = {"layer": np.repeat(np.asarray(layers, np.int32), len(heads) * each),
               "head": np.tile(np.repeat(np.asarray(heads, np.int32), each), len(layers))}
    for name, tokens, places in zip(("query", "key"), axes, pairs, strict=True):
        at = np.tile(places.astype(np.int32), len(layers) * len(heads))
        codes, texts = pd.factorize(np.array(tokens, dtype=object))
        columns |= {name: at, f"{name}_token": pd.Categorical.from_codes(codes[at], texts)}
    columns |= {"weight": weights} | ({} if scores is None else {"score": scores})
    return pd.DataFrame(columns, copy=False)


def site(parts: "Sequence[tuple[Tensor, tuple[str, ...], Mapping[str, list[str]]]]") -> "DataFrame":
    """What is at a site: a row for each number. parts: of each text the values, the names of their axes, and by axis
    the tokens along it.

    Columns: `text` where there are several, a column for each axis, counted from 0, "position_token" and the like where
    it has tokens, and `value`. Raises ValueError for more than 10,000,000 rows.
    """
    if (rows := sum(values.numel() for values, _, _ in parts)) > MOST:
        raise ValueError(f"this site has {rows:,} numbers, and a table has at most {MOST:,} rows; take a part of "
                         "run[...]")
    pd, frames = pandas(), []
    for at, (values, axes, tokens) in enumerate(parts):
        columns: dict[str, object] = {"text": at} if len(parts) > 1 else {}
        for axis, places in zip(axes, np.indices(values.shape, np.int32), strict=True):
            columns[axis] = places.ravel()
            if axis in tokens:
                codes, texts = pd.factorize(np.array(tokens[axis], dtype=object))
                columns[f"{axis}_token"] = pd.Categorical.from_codes(codes[places.ravel()], texts)
        columns["value"] = values.detach().float().cpu().numpy().ravel()
        frames.append(pd.DataFrame(columns, copy=False))
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _chosen(name: str, number: int | None, count: int) -> range:
    if number is None:
        return range(count)
    if not isinstance(number, int | np.integer) or not 0 <= number < count:
        raise ValueError(f"{name} is {number!r}; choose from 0 to {count - 1}, or leave it out for all {count}")
    return range(int(number), int(number) + 1)

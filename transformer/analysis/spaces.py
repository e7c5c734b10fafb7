"""Spaces: the vectors of a model and their places in text, pictures of them in two dimensions, and their neighbours.

N vectors of D numbers, H heads, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.analysis.sample import Sentence, batches
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.run import run_ids
from transformer.model.attention import Scoring, repeat_for_queries, score
from transformer.model.sites import ROWS, Place, find_place
from transformer.settings.config import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

Side = Literal["src", "tgt"]
Watch = Callable[[int, int], None]  # done, of
MOST = 2_000     # vectors read of many texts
AROUND = 6       # tokens of a context on each side
FEWEST = 10      # vectors of which UMAP makes a picture
AT_ONCE = 20_000  # vectors compared with one
NEAR = 15        # neighbours that UMAP keeps close: its default
EXPLAINED = (
    "Every token is a point: its vector of hundreds of numbers, flattened to two. No flat picture keeps all distances, "
    "so the list of neighbours is computed from all numbers, and may name points that look far apart here. PCA turns "
    "the cloud so that the two axes hold as much of its variance as two can; the rest is not seen. UMAP (McInnes et "
    "al. 2018) tries to keep close points close: how large its groups are, and how far from one another, means nothing "
    "(Coenen and Pearce, Understanding UMAP).")
OF_HEADS = (
    "A query and a key meet as q·k/√d. In one picture both lie on the same axes, but near is not the same as a high "
    "score: length and direction count, and two axes show only part of both (compare Yeh et al. 2023, AttentionViz).")


@dataclass(frozen=True, eq=False)
class Space:
    """Vectors, and the place in a text that each of them belongs to."""

    values: Tensor  # (N, D)
    places: Tensor  # (N, 2): the number of its text, and its position there
    texts: tuple[tuple[str, ...], ...]  # the tokens of each text

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.values)

    def token(self, at: int) -> str:
        """The token of a vector."""
        text, position = self.places[at].tolist()
        return self.texts[text][position]

    def context(self, at: int, around: int = AROUND) -> tuple[tuple[str, ...], int]:
        """The tokens around that of a vector, and its place among them."""
        text, position = self.places[at].tolist()
        first = max(0, position - around)
        return self.texts[text][first:position + around + 1], position - first


def embeddings(ckpt: Checkpoint, side: Side) -> Tensor:
    """The table of token embeddings (V, D) of what the encoder ("src") or the decoder ("tgt") reads, as it is stored:
    before factors, positions and norms. Raises ValueError for a side that the model has not."""
    if not (ckpt.config.encoder_layers if side == "src" else ckpt.config.decoder_layers):
        raise ValueError(f"{ckpt.id} has no {'encoder' if side == 'src' else 'decoder'}; choose the other side")
    return getattr(ckpt.model, f"{side}_embedding").tokens.weight.detach()


def states(ckpt: Checkpoint, sentences: Sequence[Sentence], place: str, *, most: int = MOST,
           watch: Watch = lambda done, of: None) -> Space:
    """What is at a place, such as decoder.1.resid_post, at every token of some texts: of the first text, and of as many
    more as have `most` tokens together. watch is called after each batch, and may raise to end it. Raises ValueError
    for a place that is not there, or has no vector for each token."""
    found = find_place(ckpt.config, place)
    if found.axes != ROWS:
        raise ValueError(f"{found.name} is not one vector for each token; choose one such as "
                         f"{[*ckpt.config.stacks][-1]}.0.resid_post")
    return _read(ckpt, sentences, [(found, "src" if found.kind == "encoder" else "tgt")], most, watch)[0]


def queries_and_keys(ckpt: Checkpoint, sentences: Sequence[Sentence], kind: Kind, layer: int, head: int, *,
                     most: int = MOST, watch: Watch = lambda done, of: None) -> tuple[Space, Space]:
    """The queries and the keys of one head over some texts, as they meet in its scores: normed and turned by rotary
    positions, if the model does that. Of grouped heads the keys are those that this head shares. most, watch: as for
    `states`. Raises ValueError for a head that is not there."""
    config = ckpt.config
    q, k = (find_place(config, f"{kind}.{layer}.{site}") for site in ("q", "k"))
    if not 0 <= head < config.n_heads:
        raise ValueError(f"there is no head {head}; choose one from 0 to {config.n_heads - 1}")
    q, k = (place._replace(head=head) for place in (q, k))
    sides = ("tgt" if kind != "encoder" else "src"), ("tgt" if kind == "decoder" else "src")
    queries, keys = _read(ckpt, sentences, [(q, sides[0]), (k, sides[1])], most, watch)
    return queries, keys


def _read(ckpt: Checkpoint, sentences: Sequence[Sentence], wanted: Sequence[tuple[Place, Side]], most: int,
          watch: Watch) -> list[Space]:
    """A space for each place, all of the same texts."""
    if not sentences:
        raise ValueError("there are no texts to read; give at least one")
    chosen = _first(sentences, [side for _, side in wanted], most)
    rows: list[dict[int, Tensor]] = [{} for _ in wanted]
    done = 0
    for places in batches(ckpt.config, chosen):
        ids = [(_row(ckpt, chosen[at].src), _row(ckpt, chosen[at].tgt), None) for at in places]
        passed = run_ids(ckpt, ids, texts=[chosen[at].text for at in places],
                         targets=[None for _ in places], capture=[place.name for place, _ in wanted], alone=False)
        for number, at in enumerate(places):
            one = passed.of(number)
            for kept, (place, _) in zip(rows, wanted, strict=True):
                value = one[place.name]
                if place.head is not None:
                    value = repeat_for_queries(value, ckpt.config.n_heads)[place.head]
                kept[at] = value.float().cpu()  # (T, D)
        done += len(places)
        watch(done, len(chosen))
    spaces = []
    for kept, (_, side) in zip(rows, wanted, strict=True):
        tokenizer = ckpt.source_tokenizer if side == "src" else ckpt.tokenizer
        spaces.append(Space(
            torch.cat([kept[at] for at in range(len(chosen))]),
            torch.tensor([(at, position) for at in range(len(chosen)) for position in range(len(kept[at]))]),
            tuple(tuple(tokenizer.piece(id) if tokenizer else str(id) for id in getattr(one, side))
                  for one in chosen)))
    return spaces


def _row(ckpt: Checkpoint, ids: tuple[int, ...] | None) -> Tensor | None:
    return None if ids is None else torch.tensor([ids], device=ckpt.device)


def _first(sentences: Sequence[Sentence], sides: Sequence[Side], most: int) -> list[Sentence]:
    """The first sentence, and those after it as long as all have no more than `most` tokens on any side."""
    chosen, tokens = [], 0
    for one in sentences:
        tokens += max(len(getattr(one, side)) for side in sides)
        if chosen and tokens > most:
            break
        chosen.append(one)
    return chosen


@dataclass(frozen=True, eq=False)
class Projection:
    """Vectors as points on two axes."""

    points: Tensor  # (N, 2)
    variance: tuple[float, float]  # the share of the variance that each axis holds
    mean: Tensor  # (D,)
    axes: Tensor  # (2, D)

    __repr__ = brief

    def of(self, vectors: Tensor) -> Tensor:
        """Other vectors (M, D) on the same axes -> (M, 2)."""
        return (vectors.float() - self.mean) @ self.axes.T


def pca(vectors: Tensor) -> Projection:
    """Vectors (N, D) on the two axes that hold most of their variance: the first right singular vectors of what is
    left without the mean, each turned so that its largest component is positive. Pearson 1901. Raises ValueError for
    none."""
    if not len(vectors):
        raise ValueError("there are no vectors to draw; give at least one")
    vectors = vectors.float()
    mean = vectors.mean(0)
    _, sizes, rows = torch.linalg.svd(vectors - mean, full_matrices=False)
    axes = F.pad(rows[:2], (0, 0, 0, 2 - len(rows[:2])))  # a single vector, or a single number, has one axis
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    axes = axes * torch.where(largest < 0, -1.0, 1.0)
    shares = F.pad(sizes[:2], (0, 2 - len(sizes[:2]))).double() ** 2
    total = float((sizes.double() ** 2).sum())
    first, second = (shares / total if total else shares * 0).tolist()
    return Projection((vectors - mean) @ axes.T, (first, second), mean, axes)


_ONE_AT_A_TIME = Lock()  # numba's own threads end the process if two threads use them at once


class _Untyped(Protocol):
    """What is used of a UMAP: to infer what its untyped methods return takes Pyright half a minute."""

    def fit_transform(self, vectors: "NDArray", /) -> "NDArray": ...


def umap(vectors: Tensor, seed: int) -> Tensor:
    """The points (N, 2) at which UMAP places vectors (N, D), by the cosine of what is left without the mean and 15
    neighbours of each. McInnes et al. 2018. The same seed gives the same points. Raises ValueError where umap-learn is
    not installed, and for fewer than 10 vectors."""
    try:
        from umap import UMAP  # pyright: ignore[reportMissingImports]: an extra, and it takes seconds
    except ImportError:
        raise ValueError('UMAP needs the package umap-learn: pip install "headsup-attention[spaces]"') from None
    if len(vectors) < FEWEST:
        raise ValueError(f"{len(vectors)} vectors are too few for UMAP; give at least {FEWEST}, or use PCA")
    import numba  # pyright: ignore[reportMissingImports]: it comes with umap-learn

    # OpenMP's, the other, gives PyTorch in this thread every core
    numba.config.THREADING_LAYER = "workqueue"  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]
    vectors = vectors.float()
    with _ONE_AT_A_TIME:
        found = cast("_Untyped", UMAP(n_neighbors=min(NEAR, len(vectors) - 1), metric="cosine", random_state=seed,
                                      n_jobs=1))
        points = found.fit_transform((vectors - vectors.mean(0)).numpy())
    return torch.from_numpy(points).float()


class Neighbour(NamedTuple):
    """A vector near another."""

    at: int  # its place among the vectors
    similarity: float


@torch.no_grad()
def neighbours(states: Tensor, vector: Tensor, count: int) -> list[Neighbour]:
    """The vectors among `states` (N, D) nearest to one (D,) by the cosine, the nearest first. The mean of `states` is
    subtracted from all: what every state has in common would make any two look alike. Mu and Viswanath 2018."""
    mean = states.mean(0, dtype=torch.float32)
    one = (vector.float() - mean)[None]
    cosines = torch.cat([F.cosine_similarity(part.float() - mean, one) for part in states.split(AT_ONCE)])
    best = cosines.topk(min(count, len(cosines)))
    return [Neighbour(*pair) for pair in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


@torch.no_grad()
def scores(ckpt: Checkpoint, queries: Tensor, keys: Tensor) -> Tensor:
    """What a head's queries (Nq, D) and keys (Nk, D) of any texts score -> (Nq, Nk): q·k/√d, or as this model scales
    and caps it, without what positions add and before the mask."""
    return score(queries, keys, scoring=Scoring(ckpt.config.attention_scale, ckpt.config.score_cap))

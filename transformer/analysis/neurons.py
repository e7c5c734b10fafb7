"""Neurons: what fires where in a text, the strongest contexts of a neuron in other texts, and what it writes.

A neuron is a column of the feed-forward part: one number of `mlp_post` at each position. Geva et al. 2021, section 2.
L layers, T positions, N neurons of a layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from transformer.analysis.sample import Sentence, batches
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.forward import Batch, captured
from transformer.inference.run import Run
from transformer.inference.sampling import Candidate
from transformer.model.norms import Norm
from transformer.model.sites import find_place

Stack = Literal["encoder", "decoder"]
Watch = Callable[[int, int], None]  # done, of
AROUND = 12  # tokens of a context on each side
EXPLAINED = (
    "A neuron is one number of the feed-forward part at each position. Where it is large it has found what it looks "
    "for; what that is can only be guessed from its strongest contexts, and most answer to several things. What it "
    "writes is the direction that it adds to the rows, read through the final norm's weights and the output matrix: "
    "the tokens that it makes likelier or less likely if nothing later takes it up (Geva et al. 2021 and 2022).")


class Context(NamedTuple):
    """A place in a text at which a neuron fires."""

    value: float
    sentence: int  # its number among those that were read
    position: int
    tokens: tuple[str, ...]  # around it
    at: int  # the place of the position among them


@dataclass(frozen=True, eq=False)
class StrongestContexts:
    """The largest values of each neuron of a layer over some texts, the largest first, and where they are."""

    values: Tensor  # (N, k)
    places: Tensor  # (N, k, 2): sentence and position
    sentences: Sequence[Sentence]
    mean: Tensor  # (N,), over all positions
    share: Tensor  # (N,), of the positions at which it is above 0

    __repr__ = brief


def activations(run: Run, stack: Stack) -> Tensor:
    """The neurons of every layer in a text, (L, T, N), of a run that captured `mlp_post`. Raises KeyError otherwise."""
    return torch.stack([run[f"{stack}.{layer}.mlp_post"] for layer in range(run.ckpt.config.layers(stack))])


@torch.no_grad()
def strongest_contexts(ckpt: Checkpoint, stack: Stack, layer: int, sentences: Sequence[Sentence], *,
                       count: int = 10, watch: Watch = lambda done, of: None) -> StrongestContexts:
    """Reads some texts and keeps, of each neuron of a layer, the positions at which it is largest. watch is called
    after each batch, and may raise to end it. Raises ValueError for a layer without neurons."""
    place = find_place(ckpt.config, f"{stack}.{layer}.mlp_post")
    neurons = ckpt.config.d_ff
    values = torch.full((neurons, count), float("-inf"), device=ckpt.device)
    places = torch.zeros(neurons, count, 2, dtype=torch.long, device=ckpt.device)
    total = above = torch.zeros(neurons, device=ckpt.device)
    seen = done = 0
    for chosen in batches(ckpt.config, sentences):
        src, tgt = ([None if ids is None else torch.tensor([ids], device=ckpt.device) for ids in side] for side in zip(
            *((sentences[at].src, sentences[at].tgt) for at in chosen), strict=True))
        batch = Batch.padded([(*ids, None) for ids in zip(src, tgt, strict=True)], ckpt.config.pad_id)
        found = captured(ckpt, batch, [place])[1][place.name]  # (B, T, N)
        lengths = batch.src_lengths if stack == "encoder" else batch.tgt_lengths
        real = torch.arange(found.shape[1], device=ckpt.device) < torch.tensor(lengths, device=ckpt.device)[:, None]
        rows = found[real]  # (positions, N)
        where = real.nonzero()
        where[:, 0] = torch.tensor(chosen, device=ckpt.device)[where[:, 0]]
        total, above, seen = total + rows.sum(0), above + (rows > 0).sum(0), seen + len(rows)
        best, at = rows.topk(min(count, len(rows)), dim=0)
        both, order = torch.cat([values, best.T], 1).topk(count, dim=1)
        every = torch.cat([places, where[at.T]], 1)
        values, places = both, every.gather(1, order[..., None].expand(-1, -1, 2))
        done += len(chosen)
        watch(done, len(sentences))
    return StrongestContexts(values.cpu(), places.cpu(), sentences, (total / max(1, seen)).cpu(),
                             (above / max(1, seen)).cpu())


def contexts(found: StrongestContexts, ckpt: Checkpoint, stack: Stack, neuron: int) -> list[Context]:
    """The strongest contexts of a neuron, with the tokens around each. Raises ValueError for one that is not there."""
    if not 0 <= neuron < len(found.values):
        raise ValueError(f"there is no neuron {neuron}; choose one from 0 to {len(found.values) - 1}")
    out, tokenizer = [], ckpt.source_tokenizer if stack == "encoder" else ckpt.tokenizer
    for value, (sentence, position) in zip(found.values[neuron].tolist(), found.places[neuron].tolist(), strict=True):
        if value == float("-inf"):
            continue
        ids = (found.sentences[sentence].src if stack == "encoder" else found.sentences[sentence].tgt) or ()
        first = max(0, position - AROUND)
        pieces = tuple(tokenizer.piece(id) if tokenizer else str(id) for id in ids[first:position + AROUND + 1])
        out.append(Context(value, sentence, position, pieces, position - first))
    return out


class Written(NamedTuple):
    """What a neuron of a decoder makes likelier and less likely, by how much a unit of it moves each logit."""

    promoted: list[Candidate]
    suppressed: list[Candidate]


@torch.no_grad()
def writes(ckpt: Checkpoint, layer: int, neuron: int, *, count: int = 8) -> Written:
    """The direction that a neuron of a decoder adds, through the final norm's weights and the output matrix. Geva et
    al. 2022, section 3. `probability` of each is the change of its logit by a unit of the neuron, at a norm of scale 1.

    Raises ValueError for a neuron that is not there.
    """
    config, model = ckpt.config, ckpt.model
    find_place(config, f"decoder.{layer}.mlp_post")
    if not 0 <= neuron < config.d_ff:
        raise ValueError(f"there is no neuron {neuron}; choose one from 0 to {config.d_ff - 1}")
    feed_forward = model.decoder.layers[layer].feed_forward
    assert feed_forward is not None
    direction = feed_forward.down.weight[:, neuron].float()
    norm = model.decoder.norm
    if isinstance(norm, Norm) and norm.is_centred:
        direction = direction - direction.mean()
    if (weight := getattr(norm, "weight", None)) is not None:
        direction = direction * weight.float()
    if not isinstance(model.narrow, nn.Identity):
        direction = model.narrow.weight.float() @ direction
    moved = model.output.weight.float() @ direction * config.logits_scale
    ends = [moved.topk(min(count, len(moved)), largest=largest) for largest in (True, False)]
    return Written(*([Candidate(id, ckpt.tokenizer.piece(id) if ckpt.tokenizer else str(id), value)
                      for value, id in zip(values.tolist(), ids.tolist(), strict=True)] for values, ids in ends))

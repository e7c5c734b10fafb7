"""The logit lens: what the model would predict if it stopped at each layer.

L layers, T positions, V vocabulary (or classes, of a model that classifies).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor

from transformer.analysis.jacobian_lens import JacobianLens
from transformer.analysis.token_inputs import TokenInputs, check_choice, check_classes
from transformer.analysis.tuned_lens import TunedLens
from transformer.basics.formatting import brief
from transformer.inference.decoding import Candidate
from transformer.model.models import Transformer

ROWS = 4_000_000  # logits at once: 16 MB
EXPLAINED = (  # what it shows and what it does not
    "What the model would predict if the layers above were left out: each layer's output goes through the final norm "
    "and the output matrix (nostalgebraist 2020). Lower layers were never trained to be read like this, "
    "so an odd prediction there need not mean that the information is missing, only that it is not yet "
    "written in the output's terms (Belrose et al. 2023).")
EXPLAINED_OF_CLASSES = (  # the same of a model whose texts have a class
    "What the model would decide if the layers above were left out: each layer's rows go through the final "
    "norm, are pooled, and go through the output matrix (nostalgebraist 2020). Lower layers were never trained "
    "to be read like this, so an odd class there need not mean that the information is missing, only that it "
    "is not yet written in the output's terms (Belrose et al. 2023).")
PLAIN_SOURCE = (  # of the encoder's states, which the output matrix does not read
    "The encoder's rows as they are, through the decoder's final norm and output matrix: the baseline of the Jacobian "
    "lens. No encoder is trained to be read like this. Where source and target share their embeddings, it mostly gives "
    "the source token itself.")


@dataclass(frozen=True, eq=False)
class Lens:
    """The distribution at each depth: 0 is what goes into the first layer, L what comes out of the last."""

    positions: list[int]  # of the target, one for each column; [0] for a text that is classified as a whole
    ids: Tensor  # (L + 1, T, k), the likeliest tokens or classes
    probabilities: Tensor  # (L + 1, T, k), theirs
    final: Tensor  # (T,), the token that is followed: the likeliest one at the end, or the one that was chosen
    rank: Tensor  # (L + 1, T), its place among all, 1 for the likeliest
    probability: Tensor  # (L + 1, T), its probability
    divergence: Tensor  # (L + 1, T), KL(the model's own distribution || this one), in nats; 0 at the end
    entropy: Tensor  # (L + 1, T), in nats
    labels: dict[int, str]  # of all ids above

    __repr__ = brief

    def top(self, depth: int, column: int = -1) -> list[Candidate]:
        """The likeliest tokens at a depth."""
        return [Candidate(id, self.labels[id], p) for id, p in zip(
            self.ids[depth, column].tolist(), self.probabilities[depth, column].tolist(), strict=True)]

    def columns(self, first: int, end: int) -> "Lens":
        """Some of the positions."""
        by_depth = ("ids", "probabilities", "rank", "probability", "divergence", "entropy")
        return replace(self, positions=self.positions[first:end], final=self.final[first:end],
                       **{name: getattr(self, name)[:, first:end] for name in by_depth})


@torch.no_grad()
def read_layers(read: TokenInputs, *, count: int = 5, positions: list[int] | None = None,
                follow: int | Sequence[int] | None = None,
                through: TunedLens | JacobianLens | None = None) -> Lens:
    """Reads the next token's distribution at every depth. nostalgebraist 2020, "interpreting GPT: the logit lens".

    Each depth's rows go through the final norm and the output matrix, as the last ones do. A post-norm model has no
    final norm, so its rows go to the output matrix as they are; at depth 0 they are the embeddings, which only
    `embedding_norm` normalises. A classifier's rows are pooled as well. A masked language model is read at every
    position of its text.

    positions: of the target; None: the last one. follow: the token whose rank and probability are followed, or one for
    each position; None: the token that a step chose, else the likeliest at the end. through: maps that a decoder's
    rows go through first (Belrose et al. 2023, section 3; Gurnee et al. 2026). Raises ValueError for a position or a
    token that is not there. Lower layers were never trained to be read like this (Belrose et al. 2023, section 1).
    """
    config, model = read.ckpt.config, read.ckpt.model
    if read.tgt is None and config.head != "masked":
        check_classes(read.ckpt)
        chosen, size = [0], config.n_classes or config.vocab_size
        norm, rows = model.encoder.norm, read.output().inputs
    else:
        size, length = config.vocab_size, len(read.ids)
        chosen = range(length) if read.tgt is None else [length - 1]
        chosen = list(chosen if positions is None else positions)
        for position in chosen:
            if not 0 <= position < length:
                raise ValueError(f"position is {position}; choose from 0 to {length - 1}")
        norm = (model.encoder if read.tgt is None else model.decoder).norm
        rows = [layer[:, chosen] for layer in read.output().inputs]
        if through is not None and read.tgt is not None:
            rows = [through.at(depth, layer) for depth, layer in enumerate(rows)]
    if follow is None and read.tgt is not None and chosen == [len(read.ids) - 1]:
        follow = read.next_id
    follows = [follow] * len(chosen) if follow is None or isinstance(follow, int) else list(follow)
    if len(follows) != len(chosen):
        raise ValueError(f"{len(follows)} tokens to follow at {len(chosen)} positions; give one for each")
    check_choice(size, *follows)
    return _lens(read, norm, rows, chosen, follows, min(count, size))


@torch.no_grad()
def read_source(read: TokenInputs, *, count: int = 5, follow: int | None = None,
                through: JacobianLens | None = None) -> Lens:
    """Reads the encoder's rows of every depth and source token as the decoder's last are read: through its final norm
    and the output matrix. through: carries them to the decoder's last layer first (see `JacobianLens`); None: the logit
    lens, in whose terms no encoder was trained to write.

    follow: the target's token whose rank and probability are followed; None: for each source token the likeliest at the
    last depth. The divergence is that from the last depth's reading. Raises ValueError for a model without both stacks,
    and for a token that is not there.
    """
    config = read.ckpt.config
    stack = read.encode()
    if read.tgt is None or stack is None:
        raise ValueError(f"{read.ckpt.id} has no encoder that a decoder reads; choose a model that translates")
    check_choice(config.vocab_size, follow)
    rows = [layer if through is None else through.from_source(depth, layer) for depth, layer in enumerate(stack.inputs)]
    length = rows[0].shape[1]
    return _lens(read, read.ckpt.model.decoder.norm, rows, [*range(length)], [follow] * length,
                 min(count, config.vocab_size))


def _lens(read: TokenInputs, norm: torch.nn.Module, rows: list[Tensor], chosen: list[int],
          follows: Sequence[int | None], count: int) -> Lens:
    """The readings of some positions' rows (1, T, d_model) at every depth, some of them at once."""
    config, model = read.ckpt.config, read.ckpt.model
    once = max(1, ROWS // (config.n_classes or config.vocab_size))
    parts = [_depths(model, norm, read.src, [layer[:, at:at + once] for layer in rows], follows[at:at + once], count)
             for at in range(0, len(chosen), once)]
    ids, probabilities, final, rank, probability, divergence, entropy = (
        torch.cat(found, dim=0 if at == 2 else 1).cpu() for at, found in enumerate(zip(*parts, strict=True)))
    seen = sorted({*ids.flatten().tolist(), *final.tolist()})
    names = read.ckpt.classes if config.n_classes else None
    tokenizer = read.ckpt.tokenizer
    labels = {id: names[id] if names else tokenizer.piece(id) if tokenizer else str(id) for id in seen}
    return Lens(chosen, ids, probabilities, final, rank, probability, divergence, entropy, labels)


def _depths(model: Transformer, norm: torch.nn.Module, src: Tensor | None, rows: list[Tensor],
            follow: Sequence[int | None], count: int) -> tuple[Tensor, ...]:
    """The distributions of some positions at every depth, the last depth first because all are compared with it."""
    def distribution(layer: Tensor) -> Tensor:
        x = norm(layer)
        logits = (model.project(model.pool(x, src)) if model.config.n_classes and src is not None
                  else model.project(x)[0])
        return logits.float().log_softmax(-1)  # (T, V)

    depths, own = [], distribution(rows[-1])
    final = torch.tensor([likeliest if id is None else id for id, likeliest in zip(
        follow, own.argmax(-1).tolist(), strict=True)], device=own.device)
    for logs in chain([own], map(distribution, rows[-2::-1])):
        best, ids = logs.topk(count, dim=-1)
        of_final = logs.gather(1, final[:, None])
        depths.append((ids, best.exp(), (logs > of_final).sum(-1) + 1, of_final[:, 0].exp(),
                      (own.exp() * (own - logs)).sum(-1), -(logs.exp() * logs).sum(-1)))
    ids, best, rank, probability, divergence, entropy = (torch.stack(part[::-1]) for part in zip(*depths, strict=True))
    return ids, best, final, rank, probability, divergence, entropy

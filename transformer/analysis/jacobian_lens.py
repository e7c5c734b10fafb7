"""The Jacobian lens: the logit lens of a state that has been carried to the last layer by a mean Jacobian.

Gurnee et al. 2026, "Verbalizable Representations Form a Global Workspace in Language Models". There it is of a decoder;
here also of an encoder, whose states are carried to the last layer of the decoder that attends to them.

B texts, S source length, T target length, L decoder layers, N encoder layers, d width of a row.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from transformer.analysis.sample import Padded, Sentence, batches, pad_sentences
from transformer.analysis.tuned_lens import FORMAT, Watch, read_lens_file
from transformer.basics.formatting import brief, how_many
from transformer.basics.resource_errors import os_errors
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.masks import padding_mask
from transformer.model.sites import Tap, Taps
from transformer.settings.config import Kind, ModelConfig

PREDICTIONS = 500  # of the texts that it is a mean over; twice as many change no share by more than a hundredth
HELD = 50_000_000  # numbers of a forward pass that are held at once: 200 MB
EXPLAINED = (  # what it shows and what it does not
    "As the logit lens, but each depth's rows first go through a mean Jacobian: what a small change there does to the "
    "last layer's rows, at that position and at all later ones, on average over training text (Gurnee et al. 2026). "
    "Nothing is fitted to the output. It shows what a state disposes the model to say now or later, so its likeliest "
    "token need not be the next one. The map is linear and the same for every text, so what a layer does only in this "
    "text is not in it, and its probabilities are no forecast.")
EXPLAINED_OF_SOURCE = (  # the same of the encoder's states
    "What the decoder is disposed to say because of each source token: the encoder's rows go through a mean Jacobian, "
    "what a small change there does to the last rows of the decoder, over all positions of the translation, on average "
    "over training text; then through the decoder's final norm and output matrix. The map is one for all tokens and "
    "texts, so it does not say where the decoder looked here, and its probabilities are no forecast.")


@dataclass(frozen=True, eq=False)
class JacobianLens:
    """Mean Jacobians [output, input] of the rows that leave the last decoder layer, before the final norm.

    J_l is the mean over all positions p of all texts of the sum over t of ∂h_L[t] / ∂h_l[p]: t are the target's
    positions, and those before p add nothing in a decoder. p are the target's positions for the decoder's depths, and
    the source's, its end token included, for the encoder's. Rows are carried as they are, none is centred. The size
    of a carried row grows with the length of the texts; the final norm takes that out, and in a post-norm model, which
    has none, probabilities keep it, but no rank.
    """

    decoder: Tensor  # (L, d, d), of each depth but the last, whose own is the identity
    encoder: Tensor  # (N + 1, d, d), the last before the encoder's final norm; (0, d, d) of a decoder alone
    predictions: int = 0  # positions of the target that were read
    corpus: str = ""  # that the texts come from

    __repr__ = brief

    @property
    def about(self) -> str:
        """A line on what it is a mean over."""
        return f"mean over {how_many(self.predictions, 'prediction')}" + f" of {self.corpus}" * bool(self.corpus)

    def at(self, depth: int, rows: Tensor) -> Tensor:
        """The decoder's rows (..., d) of a depth, carried to the last; those of the last stay."""
        return rows if depth >= len(self.decoder) else rows @ self.decoder[depth].to(rows).T

    def from_source(self, depth: int, rows: Tensor) -> Tensor:
        """The encoder's rows (..., d) of a depth, carried to the decoder's last."""
        return rows @ self.encoder[depth].to(rows).T


class _Rooted(Taps, Tap):
    """Taps that let gradients end at the rows that go into the first layer of a stack."""

    def of(self, kind: Kind | None, layer: int | None = None) -> Tap:
        return self

    def __call__(self, site: str, x: Tensor, scores: Tensor | None = None) -> Tensor:
        return x if site != "resid_pre" or x.requires_grad else x.detach().requires_grad_()


def fit_jacobian_lens(ckpt: Checkpoint, sentences: Sequence[Sentence], *, predictions: int = PREDICTIONS,
                      corpus: str = "", watch: Watch = lambda done, of: None) -> JacobianLens:
    """The mean Jacobians over the first texts that have so many predictions together, targets forced: one backward pass
    for each of the d features of the last rows, for every batch. watch is called after each, and may raise to end it.
    Raises ValueError for a model without a decoder, and without texts."""
    config = ckpt.config
    if not config.decoder_layers:
        raise ValueError(f"{ckpt.id} has no decoder, and a Jacobian lens ends in one; choose a model that writes or "
                         "translates")
    if not sentences:
        raise ValueError("there are no texts; give at least one")
    before = accumulate((sentence.tokens for sentence in sentences), initial=0)
    read = [sentence for sentence, count in zip(sentences, before, strict=False) if count < predictions]
    groups, width = [*_groups(config, read)], config.d_model
    sums = [torch.zeros(depths, width, width, device=ckpt.device) for depths in (
        config.encoder_layers + 1 if config.encoder_layers else 0, config.decoder_layers)]
    for at, group in enumerate(groups):
        batch = pad_sentences(config, [read[one] for one in group], device=ckpt.device)
        with torch.enable_grad():
            encoder, decoder = _states(ckpt, batch)
            _, real = batch.target
            asked, last = [*encoder, *decoder[:-1]], decoder[-1]
            for feature in range(width):
                of = torch.zeros_like(last)
                of[..., feature] = real.to(of)
                slopes = torch.autograd.grad(last, asked, of, retain_graph=feature < width - 1)
                for depth, slope in enumerate(slopes):  # (B, T, d), 0 on padding, which nothing real attends to
                    into = sums[0][depth] if depth < len(encoder) else sums[1][depth - len(encoder)]
                    into[feature] += slope.sum((0, 1))
                watch(at * width + feature + 1, len(groups) * width)
    sources, targets = (sum(len(getattr(sentence, side) or ()) for sentence in read) for side in ("src", "tgt"))
    return JacobianLens(sums[1] / targets, sums[0] / max(1, sources), targets, corpus)


def _groups(config: ModelConfig, sentences: Sequence[Sentence]) -> Iterator[list[int]]:
    """The places of texts that are read together: `batches`, with at most HELD numbers of a pass at once."""
    each = sum(config.stacks.values()) * (8 * config.d_model + 2 * config.d_ff)
    for chosen in batches(config, sentences):
        longest = max(len(ids or ()) for at in chosen for ids in (sentences[at].src, sentences[at].tgt))
        once = max(1, HELD // (each * longest))
        for first in range(0, len(chosen), once):
            yield chosen[first:first + once]


def _states(ckpt: Checkpoint, batch: Padded) -> tuple[list[Tensor], list[Tensor]]:
    """The rows of all depths of the encoder (B, S, d), none for a decoder alone, and of the decoder (B, T, d)."""
    taps, memory, mask, encoder = _Rooted(), None, None, []
    if batch.src is not None:
        mask = padding_mask(batch.src, ckpt.config.pad_id)
        memory, encoder = ckpt.model.encode(batch.src, mask=mask, taps=taps)[:2]
    return encoder, ckpt.model.decode(batch.target[0], memory, memory_mask=mask, causal=True, taps=taps).inputs


class DepthFigures(NamedTuple):
    """How a depth reads through the logit lens and through the Jacobian lens, on other texts.

    Of the decoder: the share of positions whose likeliest token is the output's, and the mean KL(output || reading) in
    nats. Of the encoder: the share of source tokens, the end token apart, with a piece of the translation among the
    five likeliest; and as `chance` the same of another text's translation."""

    stack: Kind
    depth: int
    share: tuple[float, float]  # logit lens, Jacobian lens
    divergence: tuple[float, float] | None = None
    chance: float | None = None  # of the Jacobian lens


@torch.no_grad()
def measure_jacobian_lens(ckpt: Checkpoint, lens: JacobianLens, sentences: Sequence[Sentence], *,
                          watch: Watch = lambda done, of: None) -> list[DepthFigures]:
    """Both lenses at every depth, over texts that it was not made of; those of the encoder first. watch: called after
    each batch. Raises ValueError without texts."""
    if not sentences:
        raise ValueError("there are no texts; give at least one")
    model, config = ckpt.model, ckpt.config
    groups, sums, counts = [*_groups(config, sentences)], {}, {}

    def logs(rows: Tensor) -> Tensor:
        return model.project(model.decoder.norm(rows)).float().log_softmax(-1)

    def add(key: tuple[Kind, int], values: Sequence[Tensor]) -> None:
        sums[key] = sums.get(key, 0) + torch.stack([one.double().sum() for one in values])
        counts[key] = counts.get(key, 0) + len(values[0])

    for done, group in enumerate(groups, 1):
        batch = pad_sentences(config, [sentences[at] for at in group], device=ckpt.device)
        encoder, decoder = _states(ckpt, batch)
        _, real = batch.target
        for at, place in enumerate(group):
            length = len(sentences[place].src or ()) - 1
            said = torch.tensor((sentences[place].tgt or ())[1:], device=ckpt.device)
            other = torch.tensor((sentences[place - 1].tgt or ())[1:], device=ckpt.device)
            for depth, rows in enumerate(encoder):
                row = rows[at, :length]
                plain, carried = (logs(one).topk(min(5, config.vocab_size)).indices
                                  for one in (row, lens.from_source(depth, row)))
                add(("encoder", depth), [torch.isin(ids, of).any(-1) for ids, of in (
                    (plain, said), (carried, said), (carried, other))])
        for part in torch.arange(int(real.sum()), device=ckpt.device).split(256):
            own = logs(decoder[-1][real][part])
            for depth, rows in enumerate(decoder):
                row = rows[real][part]
                read = [logs(row), logs(lens.at(depth, row))]
                add(("decoder", depth), [
                    *(one.argmax(-1) == own.argmax(-1) for one in read),
                    *((own.exp() * (own - one)).sum(-1) for one in read)])
        watch(done, len(groups))
    figures = []
    for (stack, depth), values in sorted(sums.items(), key=lambda item: (item[0][0] == "decoder", item[0][1])):
        one, two, *rest = (values / counts[stack, depth]).tolist()
        figures.append(DepthFigures(stack, depth, (one, two), *(
            ((rest[0], rest[1]), None) if stack == "decoder" else (None, rest[0] if len(sentences) > 1 else None))))
    return figures


def jacobian_lens_path(ckpt: Checkpoint, folder: Path) -> Path:
    """The file in a folder in which the lens of a checkpoint is kept."""
    return folder / f"jacobian-lens-{ckpt.id}.safetensors"


def write_jacobian_lens(ckpt: Checkpoint, lens: JacobianLens, folder: Path) -> Path:
    """Keeps it in a folder, the file there at once or not at all. Raises OSError."""
    path = jacobian_lens_path(ckpt, folder)
    folder.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os_errors():
            save_file({"decoder": lens.decoder.cpu(), "encoder": lens.encoder.cpu()}, str(new), metadata={
                "format": FORMAT, "checkpoint": ckpt.id, "predictions": str(lens.predictions), "corpus": lens.corpus})
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return path


def read_jacobian_lens(ckpt: Checkpoint, folder: Path) -> JacobianLens | None:
    """The lens that is kept for these weights; None if there is none, or it is of others or damaged."""
    path, config = jacobian_lens_path(ckpt, folder), ckpt.config
    if not path.is_file():
        return None
    try:
        about, tensors = read_lens_file(path, ckpt)
        lens = JacobianLens(tensors["decoder"], tensors["encoder"], int(about["predictions"]), about["corpus"])
    except (OSError, SafetensorError, KeyError, ValueError):
        return None
    depths = config.encoder_layers + 1 if config.encoder_layers else 0
    found = [tuple(one.shape) for one in (lens.decoder, lens.encoder)]
    return lens if found == [(count, config.d_model, config.d_model) for count in (
        config.decoder_layers, depths)] else None

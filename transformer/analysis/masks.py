"""The masks of a batch, what a softmax makes of them as numbers, and what leaks where they are switched off.

B batch, S source length, T target length, H heads, V vocabulary.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.basics.formatting import brief
from transformer.model.attention import repeat_for_queries, score
from transformer.model.masks import additive, causal_mask, padding_mask, target_mask
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig


class BatchMasks(NamedTuple):
    """Every mask a batch of pairs needs, True where a query may attend to a key. Vaswani et al. 2017, section 3.2.3."""

    source: Tensor  # (B, S, S): the encoder attends to all but padding
    target: Tensor  # (B, T, T): the same on the target side
    causal: Tensor  # (B, T, T): a token sees itself and what came before
    decoder: Tensor  # (B, T, T): the two above together, which the decoder uses
    cross: Tensor  # (B, T, S): the decoder looks at the source tokens that are not padding

    __repr__ = brief


def batch_masks(src: Tensor, tgt: Tensor, config: ModelConfig, *, causal: bool = True,
                padding: bool = True) -> BatchMasks:
    """The masks of src (B, S) and tgt (B, T); causal and padding say which of the two rules hold."""
    (batch, queries), keys = tgt.shape, src.shape[1]
    real = padding_mask(src, config.pad_id)
    # the last query of the target's mask sees everything but padding, its start token included
    target = target_mask(tgt, config.pad_id, start_id=config.start_id, queries=1)
    before = causal_mask(queries, queries, device=tgt.device)
    if not padding:
        real, target = torch.ones_like(real), torch.ones_like(target)
    if not causal:
        before = torch.ones_like(before)
    shapes = (keys, keys), (queries, queries), (queries, queries), (queries, queries), (queries, keys)
    found = real, target, before, target & before, real
    return BatchMasks(*(mask.expand(batch, 1, *shape)[:, 0] for mask, shape in zip(found, shapes, strict=True)))


class ForcedReading(NamedTuple):
    """A batch read with its targets given."""

    attentions: dict[str, Tensor]  # kind -> (layers, B, H, Tq, Tk)
    products: dict[str, Tensor]  # the same, the scores before any mask
    nats: Tensor  # (B, T), -log p of each label; nan for labels that do not count

    __repr__ = brief

    @property
    def loss(self) -> float:
        """Nats a token over the whole batch."""
        return float(self.nats.nanmean())


@torch.no_grad()
def read_forced(model: Transformer, src: Tensor, tgt: Tensor, labels: Tensor, *, causal: bool = True,
                padding: bool = True) -> ForcedReading:
    """Read src (B, S) and tgt (B, T) at once, with both masks or without one of them, and score labels (B, T)."""
    masks = batch_masks(src, tgt, model.config, causal=causal, padding=padding)
    encoded = model.encode(src, mask=masks.source[:, None], readable=True)
    decoded = model.decode(tgt, encoded.x, mask=masks.decoder[:, None], memory_mask=masks.cross[:, None], readable=True)
    nats = F.cross_entropy(model.project(decoded.x).float().transpose(1, 2), labels, reduction="none")  # (B, T)
    kinds = {"encoder": encoded.attention, "decoder": decoded.attention, "cross": decoded.cross}
    products = {kind: torch.stack([
        score(layer.queries, repeat_for_queries(layer.memory.keys, model.config.n_heads), bias=layer.bias,
              scoring=layer.scoring)
        for layer in layers]) for kind, layers in kinds.items()}
    return ForcedReading({kind: torch.stack([layer.seen[1] for layer in layers]) for kind, layers in kinds.items()},
                         products,
                  nats.masked_fill(labels == model.config.pad_id, float("nan")))


@torch.no_grad()
def masked_softmax(scores: Tensor, allowed: Tensor, *, blocked: float | None, dtype: torch.dtype) -> Tensor:
    """The weights (Tk,) of one query from scores (Tk,) and what it may attend to (Tk,), computed in `dtype`.

    blocked is the number that is added where attending is not allowed, made in float32 and then brought to dtype, as a
    cast model does; None passes the boolean mask to the function that models call on the fast path, because
    `dot_product_attention` itself refuses a query that may attend to nothing.
    """
    scores = scores.to(dtype)
    if blocked is not None:
        return (scores + additive(allowed, blocked=blocked).to(dtype)).softmax(dim=-1)
    count = len(scores)  # one query of 1, keys that are the scores, and values that give the weights back
    values = torch.eye(count, dtype=dtype)[None, None]
    weights = F.scaled_dot_product_attention(torch.ones(1, 1, 1, 1, dtype=dtype), scores[None, None, :, None], values,
                                             attn_mask=allowed[None, None, None])
    return weights[0, 0, 0]


class LearnedDigits(NamedTuple):
    """A tiny decoder that was trained to predict random digits."""

    losses: list[float]  # nats per token at each step, on digits never seen before
    digits: list[str]  # what the decoder read, of a row it was not trained on
    weights: Tensor  # (T, T), its attention there

    __repr__ = brief


DIGITS, LENGTH = 10, 12


def learn_digits(*, causal: bool, steps: int = 200, seed: int = 0) -> LearnedDigits:
    """Train a decoder of one layer and one head on random digits, with or without the causal mask.

    Nothing in random digits says which comes next, so no honest loss is under log(10) = 2.303 nats. A decoder that sees
    the next digit copies it; only the last of a row, whose answer nobody reads, is left to guess: log(10) / 12.
    """
    generator = torch.Generator().manual_seed(seed)
    config = ModelConfig(encoder_layers=0, decoder_layers=1, d_model=32, n_heads=1, d_ff=64, vocab_size=DIGITS + 1,
                         max_len=LENGTH, dropout=0.0, pad_id=0, unk_id=None, bos_id=0, eos_id=None, start_id=0)
    model = Transformer(config, generator=generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    mask = causal_mask(LENGTH, LENGTH) if causal else torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool)

    def rows(count: int) -> tuple[Tensor, Tensor]:
        labels = torch.randint(1, DIGITS + 1, (count, LENGTH), generator=generator)
        return F.pad(labels[:, :-1], (1, 0), value=config.start_id), labels

    losses = []
    with torch.enable_grad():
        for _ in range(steps):
            tgt, labels = rows(32)
            logits = model.project(model.decode(tgt, mask=mask).x)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    tgt, _ = rows(1)
    with torch.no_grad():
        weights = model.eval().decode(tgt, mask=mask, readable=True).attention[0].seen[1][0, 0]
    return LearnedDigits(losses, ["start", *(str(id - 1) for id in tgt[0, 1:].tolist())], weights)

"""What a model says, computed the long way: every step a whole forward pass, nothing kept from the one before."""

from contextlib import suppress
from functools import cache

import torch

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes
from transformer.lessons.opened_link import Opened
from transformer.model.changes import Change
from transformer.rooms.questions import make
from transformer.rooms.questions.kind import QuestionRecord


def opened(ckpt: Checkpoint | None, what: str = "step", /, **values: object) -> Opened:
    return Opened(what, {"text": "We can go home.", "choices": {}, **values}, ckpt)


@cache
@torch.no_grad()
def passes(ckpt: Checkpoint, text: str, step: int,
           change: tuple[Change, ...] = ()) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Probabilities (V,) after `step` greedy tokens, and kind -> weights (layers, H, Tq, Tk), of a model that writes;
    changes are made in the last pass alone."""
    model, config = ckpt.model, ckpt.config
    ids = ckpt.source_tokenizer.encode(text)
    src = torch.tensor([[*ids, config.eos_id]]) if config.encoder_layers else None
    tgt = [config.start_id] if config.encoder_layers else ids or [config.start_id]
    for at in range(step + 1):
        taps = Changes.of(ckpt, change if at == step else None).taps(src, torch.tensor([tgt]))
        encoded = None if src is None else model.encode(src, taps=taps, readable=True)
        decoded = model.decode(torch.tensor([tgt]), None if encoded is None else encoded.x, causal=True, taps=taps,
                               readable=True)
        logits = model.project(decoded.x[0, -1])
        logits[list(config.banned_ids)] = -torch.inf
        tgt = [*tgt, int(logits.argmax())]
    weights = {"decoder": torch.cat([layer.weights for layer in decoded.attention])}
    if encoded is not None:
        weights["encoder"] = torch.cat([layer.weights for layer in encoded.attention])
        weights["cross"] = torch.cat([layer.weights for layer in decoded.cross])
    return logits.softmax(-1), weights


def first_asked(about: str, ckpt: Checkpoint, **values: object) -> tuple[int, Opened, QuestionRecord]:
    """The first step at which the model has a clear answer, and the question there."""
    for step in range(12):
        at = opened(ckpt, step=step, kind=ckpt.config.kinds[-1], **values)
        with suppress(ValueError):
            return step, at, make(about, at)
    raise AssertionError("no step has a clear answer")


def agrees(asked: QuestionRecord, opened: Opened) -> bool:
    """Whether the key, computed again from a moment, is the one that was given."""
    made = asked.key["proof"]["made"]
    sentences = [one["text"] for one in asked.spec.get("each", ())] or None
    try:
        again = make(asked.spec["about"], opened, **made, **({"sentences": sentences} if sentences else {}))
    except ValueError:
        return False
    if any(asked.spec.get(name) != again.spec.get(name) for name in ("choices", "labels")):
        return False
    pairs = [(asked.key, again.key), *zip(asked.key.get("each", ()), again.key.get("each", ()), strict=False)]
    return len(asked.key.get("each", ())) == len(again.key.get("each", ())) and all(map(_same, pairs))


def _same(pair: tuple[dict, dict]) -> bool:
    one, other = pair
    values = [*zip(one["values"], other["values"], strict=False), (one["right"] or 0, other["right"] or 0)]
    return len(one["values"]) == len(other["values"]) and all(abs(a - b) <= 1e-4 * max(1, abs(a)) for a, b in values)

"""“12 of you said head 5”: the head that most chose switched off, beside the right one and one drawn by chance.

V vocabulary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.ablation import Head, all_heads, switch_heads
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.inference.changed import Changes
from transformer.inference.decoding import Step, steps
from transformer.inference.reading import Reading, attend
from transformer.inference.sampling import choosable
from transformer.lessons.opened_link import Opened, source_of
from transformer.model.changes import Change
from transformer.rooms.questions.kind import QuestionRecord
from transformer.rooms.questions.wording import mixed

FURTHER = 40  # tokens that are written after the step, to see what becomes of the text


def ablate(question: QuestionRecord, opened: Opened, votes: Sequence[int]) -> list[dict[str, Any]]:
    """What becomes of the model's prediction at this step without a head, one row a head: the one that most chose, the
    right one, and another of its kind drawn with the question's seed.

    votes: how many chose each head offered. kind, layer, head; who: "most chosen", "right", "most chosen and right"
    or "random"; votes; token: what the model predicts as it is; before and after: its probability; nats: the change of
    its logarithm; instead: what is likeliest without the head; as_it_is and output: the text that is written then.
    All that was read before stays as it was. Raises ValueError for a question that is not about heads.
    """
    if "heads" not in question.spec:
        raise ValueError("heads are switched off after a question about heads; ask which head it is")
    heads = question.spec["heads"]
    if len(votes) != len(heads):
        raise ValueError(f"there are {len(votes)} counts for {len(heads)} heads; give one for each")
    source = source_of(opened)
    before, label = _probabilities(source, None), _label(source)
    token = int(before.argmax())
    as_it_is, rows = _output(source, None), []
    for who, head in _who(question, source, heads, votes):
        off = switch_heads(source.ckpt.config, head)
        after = _probabilities(source, off)
        instead = int(after.argmax())
        rows.append({
            "kind": head.kind, "layer": head.layer,
            "head": head.head, "who": who, "votes": votes[heads.index(head.head)] if who != "random" else None,
            "token": label(token), "before": float(before[token]), "after": float(after[token]),
            "nats": _log(after[token]) - _log(before[token]), "instead": label(instead), "same": instead == token,
            "as_it_is": as_it_is, "output": _output(source, off)})
    return rows


def _who(question: QuestionRecord, source: Step | Reading, heads: Sequence[int],
         votes: Sequence[int]) -> list[tuple[str, Head]]:
    place: Mapping[str, Any] = question.spec["row"]
    right = question.key["right"]
    chosen = {"right": Head(place["kind"], place["layer"], heads[right])}
    if any(votes):
        most = max(range(len(votes)), key=votes.__getitem__)
        chosen = {"most chosen and right": chosen["right"]} if votes[right] == votes[most] else \
            {"most chosen": Head(place["kind"], place["layer"], heads[most]), **chosen}
    others = [head for head in all_heads(source.ckpt.config)
              if head.kind == place["kind"] and head not in chosen.values()]
    if others:
        chosen["random"] = mixed(others, "random", question.key["proof"]["seed"], source.text)[0]
    return [*chosen.items()]


@torch.no_grad()
def _probabilities(source: Step | Reading, change: Sequence[Change] | None) -> Tensor:
    """Of the next token (V,), or of the classes, when the same ids are read with heads switched."""
    ckpt = source.ckpt
    if isinstance(source, Reading) and not ckpt.config.decoder_layers:
        logits = attend(ckpt, source.text, change=change).logits if ckpt.config.n_classes else None
        if logits is None:
            raise ValueError(f"{ckpt.id} predicts nothing, so there is nothing to see without a head; take a model "
                             "that writes or classifies")
        return logits.exp().double()
    read = inputs_of_step(source) if isinstance(source, Step) else inputs_of_text(ckpt, source.text)
    read = replace(read, changes=Changes.of(ckpt, change))
    rows = read.decode(read.encode()).x[0]
    return choosable(ckpt.model.project(rows[-1]).double(), ckpt.config, read=len(rows)).softmax(-1)


def _output(source: Step | Reading, change: Sequence[Change] | None) -> str | None:
    """What is written from here on, after the tokens that were read before; None where a model writes nothing."""
    if not isinstance(source, Step):
        return None
    read = {at: step.id for at, step in enumerate(source.path()[:-1])}
    *_, last = steps(source.ckpt, source.text, forced=read, change=change, max_steps=source.index + 1 + FURTHER)
    return last.output


def _label(source: Step | Reading) -> Callable[[int], str]:
    return source.label if isinstance(source, Step) else lambda at: source.ckpt.classes[at]


def _log(probability: Tensor) -> float:
    return log(max(float(probability), 1e-12))

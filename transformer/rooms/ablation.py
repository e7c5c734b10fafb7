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
from transformer.inference.decoding import Step, steps
from transformer.inference.reading import Reading, attend
from transformer.inference.sampling import choosable
from transformer.lessons.opened_link import Opened, source_of
from transformer.model.switches import Heads, Switches
from transformer.rooms.questions.kind import QuestionRecord
from transformer.rooms.questions.wording import mixed

FURTHER = 40  # tokens that are written after the step, to see what becomes of the text


def ablate(asked: QuestionRecord, opened: Opened, votes: Sequence[int]) -> list[dict[str, Any]]:
    """What becomes of the model's prediction at this step without a head, one row a head: the one that most chose, the
    right one, and another of its kind drawn with the question's seed.

    votes: how many chose each head offered. kind, layer, head; who: "most chosen", "right", "most chosen and right"
    or "random"; votes; token: what the model predicts as it is; before and after: its probability; nats: the change of
    its logarithm; instead: what is likeliest without the head; as_it_is and output: the text that is written then.
    All that was read before stays as it was. Raises ValueError for a question that is not about heads.
    """
    if "heads" not in asked.spec:
        raise ValueError("heads are switched off after a question about heads; ask which head it is")
    heads = asked.spec["heads"]
    if len(votes) != len(heads):
        raise ValueError(f"there are {len(votes)} counts for {len(heads)} heads; give one for each")
    shown = source_of(opened)
    before, label = _probabilities(shown, None), _label(shown)
    token = int(before.argmax())
    as_it_is, rows = _output(shown, None), []
    for who, head in _who(asked, shown, heads, votes):
        off = switch_heads(shown.ckpt.config, head)
        after = _probabilities(shown, off)
        instead = int(after.argmax())
        rows.append({
            "kind": head.kind, "layer": head.layer,
            "head": head.head, "who": who, "votes": votes[heads.index(head.head)] if who != "random" else None,
            "token": label(token), "before": float(before[token]), "after": float(after[token]),
            "nats": _log(after[token]) - _log(before[token]), "instead": label(instead), "same": instead == token,
            "as_it_is": as_it_is, "output": _output(shown, off)})
    return rows


def _who(asked: QuestionRecord, shown: Step | Reading, heads: Sequence[int],
         votes: Sequence[int]) -> list[tuple[str, Head]]:
    place: Mapping[str, Any] = asked.spec["row"]
    right = asked.key["right"]
    found = {"right": Head(place["kind"], place["layer"], heads[right])}
    if any(votes):
        most = max(range(len(votes)), key=votes.__getitem__)
        found = {"most chosen and right": found["right"]} if votes[right] == votes[most] else \
            {"most chosen": Head(place["kind"], place["layer"], heads[most]), **found}
    others = [head for head in all_heads(shown.ckpt.config)
              if head.kind == place["kind"] and head not in found.values()]
    if others:
        found["random"] = mixed(others, "random", asked.key["proof"]["seed"], shown.text)[0]
    return [*found.items()]


@torch.no_grad()
def _probabilities(shown: Step | Reading, heads: Switches | None) -> Tensor:
    """Of the next token (V,), or of the classes, when the same ids are read with heads switched."""
    ckpt = shown.ckpt
    if isinstance(shown, Reading) and not ckpt.config.decoder_layers:
        if not ckpt.config.n_classes:
            raise ValueError(f"{ckpt.id} predicts nothing, so there is nothing to see without a head; take a model "
                             "that writes or classifies")
        return attend(ckpt, shown.text, heads=heads).logits.exp().double()
    read = inputs_of_step(shown) if isinstance(shown, Step) else inputs_of_text(ckpt, shown.text)
    read = replace(read, heads=Switches.of(heads, ckpt.config, ckpt.device))
    logits = ckpt.model.project(read.decode(read.encode()).x[0, -1]).double()
    return choosable(logits, ckpt.config, read=read.tgt.shape[1]).softmax(-1)


def _output(shown: Step | Reading, heads: Heads | None) -> str | None:
    """What is written from here on, after the tokens that were read before; None where a model writes nothing."""
    if not isinstance(shown, Step):
        return None
    read = {at: step.id for at, step in enumerate(shown.path()[:-1])}
    *_, last = steps(shown.ckpt, shown.text, forced=read, heads=heads, max_steps=shown.index + 1 + FURTHER)
    return last.output


def _label(shown: Step | Reading) -> Callable[[int], str]:
    return shown.label if isinstance(shown, Step) else lambda at: shown.ckpt.classes[at]


def _log(probability: Tensor) -> float:
    return log(max(float(probability), 1e-12))

"""“12 of you said head 5”: what becomes of a prediction without the heads that were chosen."""

from math import log

import pytest
import torch

from tests.rooms.plain import first_asked, opened, passes
from transformer.analysis.ablation import Head, switch_heads
from transformer.inference.decoding import steps
from transformer.inference.reading import attend
from transformer.rooms.ablation import ablate
from transformer.rooms.questions import make

TEXT = "We can go home."
MODELS = ({}, {"encoder_layers": 0, "positions": "rotary"})  # a translator and a writer


def test_a_row_is_what_a_plain_pass_without_that_head_says(ckpt):
    step, at, asked = first_asked("head", ckpt, layer="1")
    votes = [3, 12] if asked.key["right"] == 0 else [12, 3]
    rows = ablate(asked, at, votes)
    assert [row["who"] for row in rows] == ["most chosen", "right", "random"]
    assert [row["votes"] for row in rows] == [12, 3, None]
    before, _ = passes(ckpt, TEXT, step)
    for row in rows:
        off = switch_heads(ckpt.config, Head(row["kind"], row["layer"], row["head"]))
        after, _ = passes(ckpt, TEXT, step, change=tuple(off))
        token = int(before.argmax())
        assert row["token"] == ckpt.tokenizer.piece(token)
        assert row["before"] == pytest.approx(float(before[token]), abs=1e-5)
        assert row["after"] == pytest.approx(float(after[token]), abs=1e-5)
        assert row["nats"] == pytest.approx(log(row["after"] / row["before"]), abs=1e-6)
        assert row["instead"] == ckpt.tokenizer.piece(int(after.argmax()))
        assert row["same"] == (int(after.argmax()) == token)
        forced = {place: one.id for place, one in enumerate(steps(ckpt, TEXT, max_steps=step))}
        *_, last = steps(ckpt, TEXT, forced=forced, change=off, max_steps=step + 41)
        assert row["output"] == last.output


@pytest.mark.slow
def test_the_heads_named_are_three_different_ones_and_stay_the_same(ckpt):
    _, at, asked = first_asked("head", ckpt, layer="1")
    right = asked.key["right"]
    both = ablate(asked, at, [5 if place == right else 1 for place in range(2)])
    assert [row["who"] for row in both] == ["most chosen and right", "random"]
    assert both == ablate(asked, at, [5 if place == right else 1 for place in range(2)])
    assert [row["who"] for row in ablate(asked, at, [0, 0])] == ["right", "random"]
    heads = [(row["layer"], row["head"]) for row in ablate(asked, at, [2, 1] if right else [1, 2])]
    assert len({*heads}) == 3


def test_a_class_is_looked_at_without_a_head(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, n_classes=3, pooling="mean")
    at = opened(ckpt, "reading", kind="encoder", layer="0")
    asked = make("head", at)
    for row in ablate(asked, at, [1, 0]):
        off = switch_heads(ckpt.config, Head(row["kind"], row["layer"], row["head"]))
        before, after = (attend(ckpt, TEXT, change=change).logits.exp() for change in (None, off))
        token = int(torch.as_tensor(before).argmax())
        assert (row["before"], row["after"]) == pytest.approx((float(before[token]), float(after[token])), abs=1e-6)
        assert row["output"] is None


def test_votes_on_something_else_are_refused(translator):
    _, at, asked = first_asked("head", translator, layer="1")
    with pytest.raises(ValueError, match="3 counts for 2 heads"):
        ablate(asked, at, [1, 2, 3])
    with pytest.raises(ValueError, match="question about heads"):
        ablate(make("number", at), at, [1, 2])

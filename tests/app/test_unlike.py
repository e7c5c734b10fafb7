"""What is said under a box of a text that the model was not made for."""

import pytest

from transformer.unfamiliar_text import describe_unfamiliar, read_familiar

ORDINARY = {"translate": "I like red wine.", "write": "ROMEO:\nO, she doth teach", "classify": "What say you, my lord?"}


@pytest.mark.parametrize("page", ORDINARY)
def test_an_unlike_text_is_said_to_be_and_an_ordinary_one_is_left_alone(visit, shipped, page):
    line = describe_unfamiliar(read_familiar(shipped(page)), "asdf qwer")
    shown = [one.proto.body for one in visit(page, text="asdf qwer").get("html")]
    assert sum(line in part for part in shown) == 1
    shown = [one.proto.body for one in visit(page, text=ORDINARY[page]).get("html")]
    assert not any("training" in part for part in shown)


def test_a_model_without_counts_says_nothing(visit, shipped, monkeypatch):
    monkeypatch.setattr("ui.choices.text_box.usual", lambda ckpt: None)
    assert not any("training sentences" in one.proto.body for one in visit("translate", text="asdf qwer").get("html"))

"""What is said under a box of a text that the model was not made for."""

import pytest

from transformer.evaluation.unfamiliar_text import describe_unfamiliar, read_familiar
from transformer.inference.reading import attend

ORDINARY = {"translate": "I like red wine.", "write": "ROMEO:\nO, she doth teach", "classify": "What say you, my lord?"}


@pytest.mark.parametrize("page", ORDINARY)
def test_an_unlike_text_is_said_to_be_and_an_ordinary_one_is_left_alone(visit, shipped, page):
    line = describe_unfamiliar(read_familiar(shipped(page)), "asdf qwer")
    shown = [one.proto.body for one in visit(page, text="asdf qwer").get("html")]
    assert sum(line in part for part in shown) == 1
    shown = [one.proto.body for one in visit(page, text=ORDINARY[page]).get("html")]
    assert '<p title=""></p>' in shown


def test_a_model_without_counts_says_nothing(visit, shipped, monkeypatch):
    monkeypatch.setattr("ui.choices.text_box.usual", lambda ckpt: None)
    shown = [one.proto.body for one in visit("translate", text="asdf qwer").get("html")]
    assert '<p title=""></p>' in shown


READ = {"translate": ("My neighbour’s house is grey.", "My neighbor's house is gray.", "Read as “neighbor” and “gray”"),
        "write": ("ROMEO:\nMy honor — ", "ROMEO:\nMy honour--", "Read as “honour”, with double hyphens."),
        "classify": ("What color is “it”?", "What colour is 'it'?", "Read as “colour”, with straight quotes.")}


@pytest.mark.parametrize("page", READ)
def test_a_text_is_read_as_the_model_spells_it_while_box_and_link_keep_what_was_typed(visit, page, monkeypatch):
    typed, read, said = READ[page]
    attended = []
    monkeypatch.setattr("ui.views.classify.classifier.attend",
                        lambda ckpt, text, **change: attended.append(text) or attend(ckpt, text, **change))
    here = visit(page, text=typed)
    assert here.session_state[f"{page}_text"] == here.query_params["text"] == typed
    assert any(said in one.proto.body for one in here.get("html"))
    assert attended == [read] if page == "classify" else here.session_state[f"{page}_decoding"].step.text == read

"""The diagram of the model and presenting, without a browser."""

import json

import pytest

import transformer
from ui.figures import plain_label

from .page import chips, components, move, picture, press, step_view_of

TEXTS = {"translate": "I like red wine.", "write": "ROMEO:\nO, she doth teach"}


@pytest.fixture
def diagram():
    def diagram(at):
        found = components(at, "model_diagram")
        return json.loads(found[0].json)["diagram"] if found else None

    return diagram


@pytest.mark.parametrize("page", TEXTS)
def test_the_model_is_drawn_only_when_it_is_open_and_the_link_says_so(visit, diagram, page):
    at = visit(page, text=TEXTS[page])
    assert diagram(at) is None
    assert "model" not in at.query_params
    at = visit(page, text=TEXTS[page], model="open")
    assert diagram(at)
    assert at.query_params["model"] == "open"
    assert diagram(visit(page, text=TEXTS[page], model="<b>")) is None


@pytest.mark.parametrize("page", TEXTS)
def test_its_shapes_are_those_of_the_step(visit, diagram, shipped, page):
    ckpt = shipped(page)
    *_, step = transformer.steps(ckpt, TEXTS[page], max_steps=4)
    found = diagram(visit(page, text=TEXTS[page], step="3", temperature="0", layer="1", model="open"))
    attentions = [block for block in found["blocks"] if block["role"] == "attention"]
    reached = {(block["kind"], block["layer"]) for block in attentions}
    assert reached == {(kind, layer) for kind in step.kinds for layer in range(step.attentions[kind].shape[0])}
    for block in attentions:
        shape = (1, *step.attentions[block["kind"]].shape[1:])
        assert block["lines"][2] == f"weights {shape}"
    assert [(block["kind"], block["layer"]) for block in attentions if block["shown"]] == [(step.kinds[-1], 1)]
    shapes = [arrow["shape"] for arrow in found["arrows"]]
    assert f"(1, {len(step.tokens)}, {len(step.logits)})" in shapes
    assert f"(1, {len(step.tokens)}, {ckpt.config.d_model})" in shapes


def test_an_empty_text_and_one_too_long_have_no_diagram(visit, diagram):
    for text in ("", "dog " * 2_500):
        at = visit("translate", text=text, model="open", present="1")
        assert diagram(at) is None
        assert at.button(key="translate_leave").label == "Leave"


@pytest.mark.parametrize("page", TEXTS)
def test_presenting_leaves_what_is_needed_and_leaving_brings_the_rest_back(visit, diagram, page):
    at = visit(page, text=TEXTS[page], temperature="0.7", step="2", head="1", present="1")
    assert at.query_params["present"] == "1"
    assert not at.title
    assert not at.tabs
    assert not at.get("download_button")
    assert not [pills for pills in at.get("button_group") if pills.key == f"{page}_example"]
    assert picture(at)[0]["large"] is True
    press(at, f"{page}_leave")
    assert at.title[0].value == page.title()
    assert len(step_view_of(at)["bars"]["rows"]) == 10
    assert picture(at)[0]["large"] is False
    assert {"temperature": "0.7", "step": "2", "head": "1"}.items() <= at.query_params.items()
    assert "present" not in at.query_params
    assert at.slider(key=f"{page}_temperature").value == 0.7
    press(at, f"{page}_present")
    at.run()
    assert {"temperature": "0.7", "present": "1"}.items() <= at.query_params.items()


def test_moves_are_made_while_presenting(visit, shipped):
    at = move(visit("translate", text=TEXTS["translate"], step="0", present="1"), "translate", 3, number=1)
    *_, step = transformer.steps(shipped("translate"), TEXTS["translate"], max_steps=4)
    assert at.query_params["step"] == "3"
    read = [plain_label(step.label(id), longest=None) for id in step.tokens]
    assert chips(at, "target tokens")[: len(read)] == read


def test_the_classifier_is_drawn_up_to_its_class(visit, diagram, shipped):
    text, ckpt = "Is she a Capulet?", shipped("classify")
    assert diagram(visit("classify", text=text)) is None
    at = visit("classify", text=text, model="open")
    found = diagram(at)
    assert at.query_params["model"] == "open"
    reading = transformer.attend(ckpt, text)
    (weights,) = {block["lines"][2] for block in found["blocks"] if block["role"] == "attention"}
    assert weights == f"weights {(1, *reading.attentions['encoder'].shape[1:])}"
    assert f"(1, {len(ckpt.classes)})" in [arrow["shape"] for arrow in found["arrows"]]

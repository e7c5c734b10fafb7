"""What if: two gestures change the model, both texts stand beside each other, and the link has the change."""

import json
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit
from streamlit.testing.v1 import AppTest

import transformer
from tests.labels import labels
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.selected import in_range
from transformer.inference.changed import Changes, parsed
from ui.components import attention_view
from ui.figures import markdown_text, some_percent
from ui.views.stepper import what_if
from ui.views.stepper.what_if import say

from .page import chips, picture, press, table_of, words

PAGE = "translate"
TEXT = "I like red wine."
LOOK = {"text": TEXT, "step": "5", "kind": "cross", "layer": "1", "head": "0", "pair": "5:2"}


def opens(at: AppTest, page: str = PAGE) -> None:
    at.session_state[f"{page}_whatif"] = True
    at.run()


def does(at: AppTest, name: str, page: str = PAGE) -> AppTest:
    """Opens the menu and presses a button of it."""
    opens(at, page)
    return press(at, f"{page}_do_{name}")


def changes(at: AppTest) -> list[dict]:
    """Those of the link."""
    return json.loads(at.query_params.get("change", "[]"))


def path_under(ckpt, change) -> list[str]:
    return labels((step.piece for step in transformer.steps(ckpt, TEXT, change=change)), ckpt.tokenizer)


def shown(at: AppTest, label: str) -> list[str]:
    return [*chips(at, label)]


@pytest.mark.parametrize(("name", "change"), [
    ("cut", transformer.cut("X1H0", edges=(5, 2))), ("only", transformer.force("X1H0", 2, rows=5)),
    ("cut_all", transformer.cut("cross.*", edges=(5, 2))), ("there", transformer.force("X1H0", 0, rows=5)),
    ("uniform", transformer.uniform("X1H0")), ("off", transformer.scale("X1H0", 0)),
    ("layer", transformer.scale("cross.1.z", 0)),
    ("vector", transformer.replace("encoder.0.resid_pre", {"rows": [0]}, rows=2)),
])
def test_each_button_of_the_menu_makes_its_change(open_page, shipped, name, change):
    at, ckpt = open_page(**LOOK), shipped("translate")
    assert not at.error and not shown_labels(at)
    does(at, name)
    assert not at.error
    assert changes(at) == [change.to_json()]
    expected = path_under(ckpt, change)
    assert shown(at, "tokens changed") == expected
    assert shown(at, "tokens as it is") == path_under(ckpt, None)
    _, arrays = picture(at)
    *_, last = [step for step in transformer.steps(ckpt, TEXT, change=change) if step.index <= 5]
    weights = last.attentions["cross"][1, 0].numpy()
    np.testing.assert_allclose(np.reshape(arrays["weights"], weights.shape), weights, atol=1e-4)
    press(at, f"{PAGE}_undo_0")
    assert "change" not in at.query_params and not shown_labels(at)


ASKED = {"does": "cut", "kind": "cross", "layer": 1, "head": 0, "query": 5, "key": 2}


@pytest.mark.parametrize("name", list(what_if.DOES))
def test_what_is_asked_at_a_cell_or_a_head_is_what_the_button_does(open_page, monkeypatch, name):
    at = open_page(**LOOK)
    does(at, name)
    assert changes(at) == asks(monkeypatch, ASKED | {"does": name})


@pytest.mark.parametrize("wrong", [
    None, 7, [], {"does": "nothing"}, {"does": ["cut"]}, {"kind": "none"}, {"kind": None}, {"layer": -1},
    {"layer": 1.5}, {"head": "0"}, {"query": 10 ** 12}, {"key": float("nan")}])
def test_what_no_menu_asks_changes_nothing(monkeypatch, wrong):
    assert asks(monkeypatch, ASKED | wrong if isinstance(wrong, dict) else wrong) == []


def asks(monkeypatch, asked: object) -> list[dict]:
    """What the menu at a cell or a head sends -> the changes that come of it."""
    state = {f"{PAGE}_screen": SimpleNamespace(what_if=asked)}
    monkeypatch.setattr(streamlit, "session_state", state)
    attention_view._take_change(f"{PAGE}_screen", partial(what_if.take, PAGE))
    return what_if.changes_of(PAGE)


def shown_labels(at: AppTest) -> bool:
    return "**Changed**" in words(at)


def test_a_knob_is_one_change_however_often_it_is_turned(open_page):
    at = open_page(**LOOK)
    opens(at)
    for value in (0.0, 0.5):
        at.slider(key=f"{PAGE}_strength_X1H0").set_value(value).run()
    assert changes(at) == [{"how": "scale", "site": "X1H0", "factor": 0.5}]
    at.slider(key=f"{PAGE}_strength_X1H0").set_value(1.0).run()
    assert "change" not in at.query_params


def test_a_link_opens_changed_and_the_first_difference_is_marked(open_page, shipped):
    change = transformer.scale("X1H1", 0)
    at = open_page(text="I am cold.", change=json.dumps([change.to_json()]))
    assert shown(at, "tokens changed")[:2] == ["Je", "suis"] and shown(at, "tokens as it is")[0] == "J"
    assert "cross, layer 1, head 1 off" in [button.label for button in at.button]
    assert 'class="predicted" data-position="0"' in table_of(at, "tokens changed")
    assert changes(at) == [change.to_json()]


def test_while_what_comes_next_is_to_be_guessed_neither_text_gives_it_away(open_page, shipped):
    change = transformer.scale("X1H2", 0)
    at = open_page(**LOOK | {"step": "2"}, change=json.dumps([change.to_json()]))
    assert len(shown(at, "tokens changed")) > 2 and "token 2:" in words(at, "markdown")
    at.session_state[f"{PAGE}_hide"] = True
    at.run()
    for label, path in (("tokens changed", path_under(shipped(PAGE), change)),
                        ("tokens as it is", path_under(shipped(PAGE), None))):
        assert shown(at, label) == path[:2]
    assert not any(word in words(at, "markdown") for word in ("token 1:", "token 2:"))


def test_changes_add_up_another_text_keeps_those_of_heads_alone_and_all_are_undone_together(open_page):
    at = open_page(**LOOK)
    does(at, "cut")
    does(at, "layer")
    assert len(changes(at)) == 2
    at.text_input(key=f"{PAGE}_text").set_value("I am cold.").run()
    assert not at.error
    assert changes(at) == [{"how": "scale", "site": "cross.1.z", "factor": 0}]
    does(at, "uniform")
    assert len(changes(at)) == 2
    press(at, f"{PAGE}_undo_all")
    assert "change" not in at.query_params


@pytest.mark.parametrize("change", ["x", "[]", "{}", "[3]", '[{"how": "scale", "site": 3}]',
                                    '[{"how": "melt", "site": "cross.0.z"}]', "[[[[[[", "null"])
def test_what_is_no_change_is_none(open_page, change):
    at = open_page(**LOOK, change=change)
    assert not at.error and "change" not in at.query_params


def test_a_change_that_does_not_fit_the_model_is_taken_off_with_a_sentence(open_page):
    wrong = [{"how": "scale", "site": "cross.9.z", "factor": 0}, {"how": "scale", "site": "cross.1.z", "factor": 0}]
    at = open_page(**LOOK, change=json.dumps(wrong))
    assert "this model has no site" in at.error[0].value
    assert changes(at) == wrong[1:]


@pytest.mark.parametrize("change", [
    {"how": "scale", "site": "*.mlp_out", "factor": 1e38},
    {"how": "cut", "site": "decoder.0", "edges": [[4, at] for at in range(5)]},
    {"how": "add", "site": "decoder.0.resid_pre", "source": [1e38] * 256, "factor": 1e30},
    {"how": "replace", "site": "cross.0.pattern", "source": {"text": "We have to go home before it gets dark."}},
], ids=str)
def test_what_cannot_be_computed_is_said_and_there_is_a_way_back(open_page, change):
    at = open_page(**LOOK, change=json.dumps([change]))
    assert len(at.error) == 1
    press(at, f"{PAGE}_undo_all")
    assert not at.error and "change" not in at.query_params and not shown_labels(at)


@pytest.mark.parametrize(("page", "change", "why"), [
    ("translate", {"how": "scale", "site": "encoder.0.mlp_out", "rows": [50], "factor": 0},
     "there is no row 50, as the source has 6 tokens; name rows from 0 to 5"),
    ("translate", {"how": "cut", "site": "decoder.0", "edges": [[0, 3]]},
     "row 0 may look at key 0 and not at key 3; name what it may look at"),
    ("translate", {"how": "force", "site": "X0H1", "keys": [70]},
     "there is no key 70, as the source has 6 tokens; name keys from 0 to 5"),
    ("write", {"how": "force", "site": "D0H0", "keys": [7], "rows": [2]},
     "row 2 may look at keys 0 to 2 and not at key 7; name what it may look at"),
    ("classify", {"how": "replace", "site": "encoder.0.resid_pre", "rows": [0], "source": {"rows": [90]}},
     "there is no row 90, as the text has 4 tokens; name rows from 0 to 3"),
], ids=lambda value: value if isinstance(value, str) and " " not in value else "")
def test_a_change_that_acts_on_nothing_is_taken_off_with_a_sentence_and_the_text_is_there(visit, page, change, why):
    kind, text = {"translate": ("cross", TEXT), "write": ("decoder", "KING "),
                  "classify": ("encoder", "Is she a Capulet?")}[page]
    right = {"how": "uniform", "site": f"{kind}.0"}
    at = visit(page, text=text, change=json.dumps([change, right]))
    assert len(at.error) == 1 and at.error[0].value.endswith(markdown_text(f" changes nothing: {why}"))
    assert changes(at) == [right]
    assert f"{page}_undo_0" in [button.key for button in at.button] and picture(at)


def test_a_row_that_the_text_has_not_come_to_is_said_and_waited_for(visit, open_page):
    change = {"how": "scale", "site": "decoder.0.resid_pre", "rows": [100], "factor": 0}
    said = "“what goes into decoder layer 0 off” changes nothing so far: there is no row 100, as the text has "
    at = visit("write", text="KING ", temperature="0", change=json.dumps([change]))
    captions = [one.value.replace("\\", "") for one in at.caption]
    assert not at.error and any(one.startswith(said) for one in captions), captions
    assert changes(at) == [change]
    at = visit("write", text="KING ", temperature="0", step="110", change=json.dumps([change]))
    assert not at.error and not any("changes nothing" in one.value for one in at.caption)
    at = open_page(text=TEXT, change=json.dumps([change]))
    assert any(one.value.replace("\\", "").endswith("changes nothing: there is no row 100, as the target has 8 tokens.")
               for one in at.caption)


def test_a_source_is_looked_up_once_and_not_at_every_step(open_page, monkeypatch, reopen):
    looked = []
    found = Changes._of_sample
    monkeypatch.setattr(Changes, "_of_sample", lambda *given: looked.append(1) or found(*given))
    change = [{"how": "replace", "site": "decoder.0.mlp_out", "source": {"texts": ["Go on.", "I am cold."]}}]
    at = open_page(**LOOK, change=json.dumps(change))
    before = len(looked)
    reopen()
    for _ in range(3):
        at.run()
    assert len(looked) == before <= 2 and not at.error


def test_a_text_that_is_gone_on_with_is_changed_too(visit, shipped):
    change = transformer.scale("decoder.2.z", 0)
    at = visit("write", text="KING ", temperature="0", step="9", change=json.dumps([change.to_json()]))
    path = [step.piece for step in transformer.steps(shipped("write"), "KING ", max_steps=10, change=change)]
    assert [piece.replace("↵", "\n").replace("␣", "▁") for piece in shown(at, "tokens changed")][:10] == path
    assert not at.error


@pytest.mark.slow
def test_a_text_that_is_read_is_changed_too(visit, shipped):
    ckpt = shipped("punctuate")
    at = visit("classify", checkpoint=ckpt.id, kind="encoder", layer="0", head="1")
    text = at.text_area(key="classify_text").value
    does(at, "layer", "classify")
    change = transformer.scale("encoder.0.z", 0)
    assert changes(at) == [change.to_json()]
    for said, under in (("As it is", None), ("Changed", change)):
        probabilities = transformer.attend(ckpt, text, change=under).logits.exp()
        best = ckpt.classes[int(probabilities.argmax())]
        assert f"**{said}**: {best} {some_percent(float(probabilities.max()))}" in words(at)
    at.text_area(key="classify_text").set_value("Is it you?").run()
    assert changes(at) == [change.to_json()]
    press(at, "classify_undo_0")
    assert "change" not in at.query_params


def test_an_encoder_without_classes_is_changed_too(visit, place):
    ckpt = place(decoder_layers=0, head="masked")
    change = transformer.cut("encoder.1", edges=(2, 0))
    at = visit("classify", checkpoint=ckpt.id, text="I am cold.", change=json.dumps([change.to_json()]))
    assert not at.error and changes(at) == [change.to_json()]


def test_every_change_is_said_in_one_line(shipped, accepted):
    *_, step = transformer.steps(shipped("translate"), TEXT)
    assert in_range(Selection("cross", layer=1), step, newest=True)[0].kind == "cross"
    told = [{"how": "cut", "site": "X1H0", "edges": [[5, 2]]}, {"how": "uniform", "site": "X1H0"},
            {"how": "force", "site": "X1H0", "rows": [5], "keys": [3]},
            {"how": "scale", "site": "cross.1.z", "factor": 0}, {"how": "scale", "site": "X1H0", "factor": 1.5},
            {"how": "replace", "site": "encoder.0.resid_pre", "rows": [2], "source": {"rows": [3]}},
            {"how": "replace", "site": "decoder.0.resid_pre", "rows": [5], "source": {"text": "xyz", "rows": [1]}},
            {"how": "replace", "site": "decoder.0.resid_pre", "source": "zero"},
            {"how": "add", "site": "decoder.0.mlp_out", "source": "mean"}, {"how": "cut", "site": "*", "keys": [0]},
            {"how": "cut", "site": "decoder.0", "edges": [[99, 0]]}]
    accepted("what_if.changes", "\n".join(
        f"{json.dumps(one)}: {say(parsed(one)[0].to_json() if one['how'] != 'add' else one, step)}" for one in told))


@pytest.mark.usefixtures("lasting")
@pytest.mark.parametrize(("source", "turns"), [
    ("mean", 1), ({"texts": ["a dog"]}, 1), ("zero", 0), ({"rows": [0]}, 0)])
def test_what_reads_other_texts_waits_for_its_turn(open_page, made, monkeypatch, source, turns):
    """Others on the server compute too: a link alone may not keep a core busy beside the queue."""
    taken = []
    monkeypatch.setattr(what_if, "heavy", lambda text: taken.append(text) or nullcontext())
    change = {"how": "replace", "site": "encoder.0.resid_pre", "rows": [2], "source": source}
    at = open_page(checkpoint=made("translator").id, text="a dog is cold.", step="2", change=json.dumps([change]))
    assert not at.error and len(taken) == turns
    at.run()
    assert len(taken) == turns  # it is known now

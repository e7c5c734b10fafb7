"""What was chosen in one view of the Heads page is there again after another."""

import json
import re

import pytest

from tests.app.heads_checkpoints import make
from ui.choices.head import plain_name

from .conftest import run

PAGE = "heads"
pytestmark = pytest.mark.usefixtures("few_corpora")


def selection(at, view):
    next(one for one in at.button_group if one.key == f"{PAGE}_view").set_value(view)
    return run(at)


def test_texts_of_one_s_own_are_there_after_another_view(home, visit):
    ckpt = make(home, "writer")
    at = visit(PAGE, checkpoint=ckpt.id)
    next(one for one in at.button_group if one.key == f"{PAGE}_role_on").set_value("own")
    run(at)
    next(area for area in at.text_area if area.key == f"{PAGE}_role_texts").input("a dog is cold.\nit sees a dog")
    run(at)
    for other in ("lens", "switch", "attribution"):
        selection(at, other)
        run(at)
        selection(at, "roles")
        (area,) = [area for area in at.text_area if area.key == f"{PAGE}_role_texts"]
        assert area.value == "a dog is cold.\nit sees a dog", other
        assert at.query_params["role_on"] == "own"


def widget(at, key):
    (found,) = [one for kind in ("button_group", "number_input", "selectbox", "text_input") for one in getattr(at, kind)
                if one.key == f"{PAGE}_{key}"]
    return found


@pytest.mark.parametrize(("view", "key", "value"), [
    ("roles", "role_sample", 50), ("switch", "limit", 50), ("switch", "what", "uniform"), ("lens", "colour", "rank"),
    ("lens", "more", 5), ("direct", "against", -1), ("attribution", "steps", 8), ("attribution", "baseline", "zero")])
def test_what_a_view_was_set_to_is_there_after_another(view, key, value, home, visit):
    at = visit(PAGE, checkpoint=make(home, "writer").id, view=view, text="a dog", each="open")
    widget(at, key).set_value(value)
    run(at)
    selection(at, "switch" if view == "roles" else "roles")
    run(at)
    selection(at, view)
    assert widget(at, key).value == value
    run(at)
    assert widget(at, key).value == value


def said(at):
    return " ".join(element.value for kind in ("caption", "info", "warning", "error") for element in getattr(at, kind))


@pytest.mark.parametrize("view", ["lens", "switch"])
def test_a_translation_that_did_not_end_is_said_to_be_cut(view, home, visit, monkeypatch):
    ckpt = make(home, "translator")
    monkeypatch.setattr("ui.views.heads.prediction.LONGEST_ANSWER", 3)
    monkeypatch.setattr("ui.views.heads.switched_heads.STEPS", {ckpt.config.task: 3})
    at = visit(PAGE, checkpoint=ckpt.id, view=view, text="a dog is cold.", heads="cross:1:0")
    assert "cut off after 3 tokens" in said(at).lower()


def test_a_typed_translation_is_not_said_to_be_cut(home, visit):
    at = visit(PAGE, checkpoint=make(home, "translator").id, view="lens", text="a dog is cold.", target="a dog")
    assert "cut off" not in said(at)


@pytest.mark.parametrize(("line", "cut"), [("a dog is cold.", True), ("a dog is cold. | a cat is cold.", False)])
def test_a_translation_made_for_the_roles_is_said_to_be_cut(line, cut, home, visit, monkeypatch):
    ckpt = make(home, "translator")
    monkeypatch.setattr("ui.views.heads.sample.LONGEST_TRANSLATION", 8)
    at = visit(PAGE, checkpoint=ckpt.id, view="roles", role_on="own", role_texts=line)
    assert not at.error
    assert ("cut off after about 8 tokens" in said(at)) == cut


@pytest.mark.parametrize("view", ["roles", "switch", "lens", "direct", "attribution"])
def test_the_first_screen_fetches_no_plotly_and_shows_no_hash(view, visit):
    at = visit(PAGE, view=view)
    assert not at.error and not at.get("plotly_chart")
    shown = [element.value for kind in ("markdown", "caption", "text", "title") for element in getattr(at, kind)]
    shown += [re.sub(r'title="[^"]*"', "", element.value) for element in at.get("html")]
    assert not [text for text in shown if re.search(r"translate@[0-9a-f]{8}", text)]
    maps = [json.loads(one.proto.json)["source"] for one in at.get("bidi_component")
            if one.proto.component_name == "head_maps"]
    assert any("our English–French model" in text for text in [*shown, *maps]) or view == "switch"


@pytest.mark.parametrize(("name", "called"), [
    ("translate", "our English–French model"), ("write", "our Shakespeare model"),
    ("classify", "our model of who speaks")])
def test_what_comes_with_the_app_has_a_plain_name(name, called, shipped):
    assert plain_name(shipped(name)) == called


def test_another_checkpoint_is_called_by_its_folder(home):
    assert plain_name(make(home, "writer")) == "writer"

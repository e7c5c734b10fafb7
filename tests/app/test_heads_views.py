"""What was chosen in one view of the Heads page is there again after another."""

import pytest

from .page import TOLD, put, words

PAGE = "heads"
pytestmark = pytest.mark.usefixtures("few_corpora", "lasting")


def test_texts_of_one_s_own_are_there_after_another_view(made, visit):
    at = visit(PAGE, checkpoint=made("writer").id)
    put(at, "heads_role_on", "own")
    put(at, "heads_role_texts", "a dog is cold.\nit sees a dog")
    for other in ("lens", "switch", "attribution"):
        put(at, "heads_view", other)
        at.run()
        put(at, "heads_view", "roles")
        assert at.text_area(key="heads_role_texts").value == "a dog is cold.\nit sees a dog", other
        assert at.query_params["role_on"] == "own"


@pytest.mark.parametrize(("view", "key", "value"), [
    ("roles", "role_sample", 50), ("contexts", "queries_by", "peak"), ("switch", "limit", 50),
    ("switch", "what", "uniform"), ("lens", "colour", "rank"), ("lens", "more", 5),
    ("direct", "against", -1), ("attribution", "steps", 8), ("attribution", "baseline", "zero")])
def test_what_a_view_was_set_to_is_there_after_another(view, key, value, made, visit):
    at = visit(PAGE, checkpoint=made("writer").id, view=view, text="a dog", each="open")
    put(at, f"heads_{key}", value)
    put(at, "heads_view", "switch" if view == "roles" else "roles")
    at.run()
    put(at, "heads_view", view)
    assert at.get_by_key(f"heads_{key}").value == value
    at.run()
    assert at.get_by_key(f"heads_{key}").value == value


@pytest.mark.parametrize("view", ["lens", "switch"])
def test_a_translation_that_did_not_end_is_said_to_be_cut(view, made, visit, monkeypatch):
    ckpt = made("translator")
    monkeypatch.setattr("ui.views.heads.prediction.LONGEST_ANSWER", 3)
    monkeypatch.setattr("ui.views.heads.switched_heads.STEPS", {ckpt.config.task: 3})
    at = visit(PAGE, checkpoint=ckpt.id, view=view, text="a dog is cold.", heads="cross:1:0")
    assert "cut off after 3 tokens" in words(at, *TOLD).lower()
    if view == "lens":
        assert "cut off" not in words(put(at, "heads_target", "a dog"), *TOLD)  # which somebody has typed


@pytest.mark.parametrize(("line", "cut"), [("a dog is cold.", True), ("a dog is cold. | a cat is cold.", False)])
def test_a_translation_made_for_the_roles_is_said_to_be_cut(line, cut, made, visit, monkeypatch):
    monkeypatch.setattr("ui.views.heads.sample.LONGEST_TRANSLATION", 8)
    at = visit(PAGE, checkpoint=made("translator").id, view="roles", role_on="own", role_texts=line)
    assert not at.error
    assert ("cut off after about 8 tokens" in words(at, *TOLD)) == cut

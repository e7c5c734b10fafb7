"""The direct effect of heads and parts on a logit, without a browser; tests/browser clicks a head."""

import re
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from tests.markup import Markup
from transformer.analysis.direct import direct_effect
from transformer.analysis.token_inputs import inputs_of_step
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Step
from ui.figures.labels import markdown_text, plain_label

from .page import bars, numbers_table, put, table_of

PAGE, OPENING = "heads", {"view": "direct"}
TEXT = "I like red wine."


def stated(at: AppTest) -> list[float]:
    """The numbers in the sentence on the logit: as the model computes it, and the sum, last."""
    (text,) = [text.value for text in at.markdown if "as the model computes it" in text.value]
    return [float(number) for number in re.findall(r"-?\d+\.\d{4}", text)]


def said_at(ckpt: Checkpoint, text: str, index: int) -> Step:
    return list(transformer.steps(ckpt, text, max_steps=index + 1))[index]


def test_the_parts_add_up_to_the_difference_of_two_logits_or_to_the_logit_itself(open_page, shipped):
    for name, text, position, index in (("translate", TEXT, 4, 4), ("write", "ROMEO:\nO", 9, 2)):
        at = open_page(checkpoint=shipped(name).id, text=text, position=str(position))
        step = said_at(shipped(name), text, index)
        against = int(at.query_params["against"])
        assert against == step.top(2)[1].id  # the second likeliest
        logit, other = float(step.logits[step.id]), float(step.logits[against])
        assert stated(at) == pytest.approx([logit, other, logit - other, logit - other], abs=2e-3)
        assert sum(bars(at, "All parts")["adds"]) == pytest.approx(logit - other, abs=2e-3)
        put(at, "heads_against", -1)
        assert at.query_params["against"] == "nothing"
        assert stated(at) == pytest.approx([logit, logit], abs=2e-3)
        assert sum(bars(at, "All parts")["adds"]) == pytest.approx(logit, abs=2e-3)
    at = open_page(position="4")
    put(at, "heads_position", 2)
    assert at.query_params["against"] == str(said_at(shipped("translate"), TEXT, 2).top(2)[1].id)


@pytest.mark.parametrize("settings", [
    {}, {"norm_position": "post", "embedding_norm": True}, {"decoder_layers": 1, "encoder_layers": 1},
    {"encoder_layers": 0, "positions": "rotary", "pad_id": None}])
def test_every_sort_of_decoder_adds_up(open_page, place, settings):
    ckpt = place(**settings)
    at = open_page(checkpoint=ckpt.id, text="I am cold.", against="5", more="3")
    step = next(iter(transformer.steps(ckpt, "I am cold.")))
    expected = float(step.logits[step.id] - step.logits[5])
    assert stated(at)[-2:] == pytest.approx([expected, expected], abs=2e-3)
    assert sum(bars(at, "All parts")["adds"]) == pytest.approx(expected, abs=2e-3)


def test_the_maps_say_what_each_head_adds(open_page, shipped, monkeypatch):
    at = open_page(position="4", against="nothing")
    effects = direct_effect(inputs_of_step(said_at(shipped("translate"), TEXT, 4))).heads
    cells = Markup(table_of(at, "direct effects")).all("//td[@data-head]")
    assert len(cells) == sum(effect.numel() for effect in effects.values())
    for data, text in cells:
        expected = effects[data["data-kind"]][int(data["data-layer"]), int(data["data-head"])]
        assert float(text) == pytest.approx(float(expected), abs=1e-3)
    for name in ("direct_effect", "last_query"):  # another head computes nothing again
        monkeypatch.setattr(f"ui.views.heads.direct.{name}", None)
    put(at, "heads_effect", ("decoder", 0, 0))


@pytest.mark.parametrize(("name", "text", "position", "index"), [
    ("translate", TEXT, 3, 3), ("write", "ROMEO:\nO", 9, 2)])
def test_the_head_chosen_shows_where_the_predictions_query_looks(open_page, shipped, name, text, position, index):
    ckpt = shipped(name)
    kind = ckpt.config.kinds[-1]
    at = open_page(checkpoint=ckpt.id, text=text, position=str(position), effect=f"{kind}-1-2")
    for layer, head in ((1, 2), (0, 1)):
        put(at, "heads_effect", (kind, layer, head))
        expected = said_at(ckpt, text, index).attentions[kind][layer, head, -1].tolist()
        assert bars(at, f"Where {kind}, layer {layer}, head {head}")["weight"] == pytest.approx(expected, abs=1e-5)
    assert at.query_params["effect"] == f"{kind}-0-1"


@pytest.mark.parametrize(("name", "params", "index"), [
    ("translate", {"text": TEXT, "position": "4"}, 4),
    ("translate", {"text": TEXT, "position": "2", "target": "J'adore le vin."}, 2),
    ("write", {"text": "ROMEO:\nO", "position": "9"}, 2), ("write", {"text": "ROMEO:\nO", "position": "3"}, 0)])
def test_the_link_opens_the_same_prediction_and_head(open_page, shipped, visit, name, params, index):
    ckpt = shipped(name)
    kind = ckpt.config.kinds[-1]
    at = open_page(checkpoint=ckpt.id, effect=f"{kind}-1-2", **params)
    (link,) = [link.proto for link in at.get("page_link")]
    assert link.page.endswith(name)
    there = visit(name, **dict(parse_qsl(link.query_string)))
    assert not there.error
    decoding = there.session_state[f"{name}_decoding"]
    pill = at.button_group(key="heads_position").options[int(params["position"])]
    assert decoding.step.index == index
    assert len(decoding.step.tokens) == int(params["position"]) + 1
    assert markdown_text(plain_label(decoding.step.piece)) in pill
    assert numbers_table(there, name)[0] == (kind, 1, 2)


def test_a_classifier_says_which_head_speaks_for_a_class(open_page, shipped, visit):
    ckpt, text = shipped("classify"), "My life is my foe's debt."
    at = open_page(checkpoint=ckpt.id, text=text, effect="encoder-1-2", **{"class": "JULIET"})
    logits = transformer.attend(ckpt, text).logits
    best = int(logits.argmax())
    assert at.query_params["against"] == str(best)
    expected = float(logits[ckpt.classes.index("JULIET")] - logits[best])
    assert stated(at)[-1] == pytest.approx(expected, abs=2e-3)
    assert sum(bars(at, "All parts")["adds"]) == pytest.approx(expected, abs=2e-3)
    assert sum(bars(at, "Where encoder, layer 1, head 2")["weight"]) == pytest.approx(1, abs=1e-4)
    (link,) = [link.proto for link in at.get("page_link")]
    there = visit("classify", **dict(parse_qsl(link.query_string)))
    assert there.query_params["class"] == "JULIET"
    assert (there.query_params["layer"], there.query_params["head"]) == ("1", "2")

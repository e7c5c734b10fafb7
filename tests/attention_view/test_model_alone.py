"""The picture of the whole model in a page of its own, and in a notebook: `transformer.show(ckpt)`."""

import re

import numpy as np
import pytest

import transformer
from tests.messages import held, unpacked
from tests.rows import each_row
from transformer.analysis.carried import carried, effects
from transformer.attention_view import notebook
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.offline_page import page
from transformer.attention_view.shared import CHOICES

LEVELS = CHOICES["level"]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
TEXT = "I am cold."


@pytest.fixture
def step(translator):
    return list(transformer.steps(translator, TEXT, max_steps=5))[-1]


@pytest.fixture(params=["translator", "writer", "classifier"])
def any_ckpt(request):
    return request.getfixturevalue(request.param)


def selection(level, **more):
    return Selection("cross", layer=1, head=1, view="model", level=level, **more)


@each_row("level", LEVELS)
def test_a_page_has_the_numbers_of_all_its_steps_at_every_level(step, level):
    header, arrays = held(page(step, selection(level, pair=(2, 1), feature=3)))
    found = carried(step, newest=False)
    assert header["selection"]["level"] == level
    for stack, one in found.items():
        np.testing.assert_allclose(arrays[f"norms/{stack}"], one.norms, **CLOSE)
        np.testing.assert_allclose(arrays[f"added/{stack}"], one.added, **CLOSE)
        for kind, heads in one.heads.items():
            np.testing.assert_allclose(arrays[f"headNorms/{kind}"], heads, **CLOSE)
    path = step.path()
    assert len(header["model"]["steps"]) == len(path)
    for at, one in enumerate(path):
        expected = effects(one)
        for kind, heads in expected.heads.items():
            np.testing.assert_allclose(arrays[f"effects/{kind}"][at], heads, **CLOSE)
        np.testing.assert_allclose(arrays["effects/feed_forward"][at], expected.feed_forward, **CLOSE)
        assert header["model"]["steps"][at]["logit"] == pytest.approx(expected.logit, abs=1e-4)
    assert not [name for name in arrays if name.startswith(("seen/", "small/"))]  # which its weights give
    number = header["model"].get("number")
    assert bool(number) == (level == "number")
    if number:
        assert (number["kind"], number["layer"], number["head"], number["position"]) == ("cross", 1, 1, 2)
        assert number["value"] == pytest.approx(float(step.projections("cross")[0][1, 1, 2, 3]), abs=1e-5)


def test_only_a_page_that_opens_in_the_model_brings_it_along(step):
    plain, whole = page(step, Selection("cross")), page(step, selection("whole"))
    scripts = [re.sub(r'id="message">[^<]*<', "<", text) for text in (plain, whole)]
    assert ["function paintModel" in text for text in scripts] == [False, True]
    assert "model" not in held(plain)[0]
    assert len(scripts[1]) - len(scripts[0]) < 150_000
    header, arrays = held(page(step, selection("head"), exact=False))  # pooled: with small heads, and the newest row
    assert header["model"]["stack"] == "decoder"
    assert arrays.keys() >= {f"small/{kind}" for kind in step.kinds} | {"seen/decoder", "seen/cross"}


def test_a_page_of_a_reading_has_its_classes(classifier):
    reading = transformer.attend(classifier, "Go on.")
    header, arrays = held(page(reading, Selection("encoder", view="model")))
    likeliest = int(reading.logits.argmax())
    assert header["model"]["bars"][0] == {"label": classifier.classes[likeliest], "chosen": True, "excluded": False,
                                          "probability": pytest.approx(float(reading.logits.max().exp()))}
    np.testing.assert_allclose(arrays["effects/encoder"], effects(reading).heads["encoder"], **CLOSE)


def test_weights_without_a_model_are_drawn_as_a_matrix(step):
    given = step.attentions["encoder"][None, 0], step.axes("encoder")[0]
    assert held(page(ExternalWeights(*given).tensors(), selection("whole")))[0]["selection"]["view"] == "matrix"
    with pytest.raises(ValueError, match="leave out the level"):
        notebook.show(*given, level="whole", live=False)
    pytest.importorskip("anywidget", reason="pip install anywidget")
    with pytest.raises(ValueError, match="choose matrix or lines"):
        notebook.show(*given).selection = {"view": "model"}


@pytest.mark.slow
@each_row("level", ["whole", "layer", "cell", "number"])
def test_a_checkpoint_is_shown_at_any_level(any_ckpt, level):
    header, arrays = held(notebook.show(any_ckpt, text="Go on.", level=level, live=False).page)
    assert header["about"]["checkpoint"] == any_ckpt.id
    assert (header["selection"]["view"], header["selection"]["level"]) == ("model", level)
    assert header["model"]["tree"]
    assert ("number/weights" in arrays) == (level == "number")
    if level in ("cell", "number"):
        info = header["kinds"][header["selection"]["kind"]]
        query, key = header["selection"]["pair"]
        assert query == len(info["queries"]) - 1
        assert key < len(info["keys"])


def test_a_checkpoint_opens_with_its_own_example_where_the_page_of_it_does(shipped):
    for name, text, at in (("translate", "I like red wine.", ("cross", 1, 0)), ("punctuate", None, ("encoder", 0, 0))):
        header, _ = held(notebook.show(shipped(name), live=False).page)
        assert text is None or header["about"]["text"] == text
        assert (header["selection"]["kind"], header["selection"]["layer"], header["selection"]["head"]) == at
    header, _ = held(notebook.show(shipped("translate"), text=TEXT, kind="encoder", layer=3, head=2, live=False).page)
    assert (header["about"]["text"], header["selection"]["layer"], header["selection"]["head"]) == (TEXT, 3, 2)


def test_a_model_without_a_tokenizer_is_given_ids(tmp_path):
    config = transformer.ModelConfig(vocab_size=12, d_model=8, n_heads=2, encoder_layers=0, decoder_layers=2, d_ff=16)
    transformer.save(tmp_path, transformer.Transformer(config), tokenizer=None)
    ckpt = transformer.load(tmp_path)
    with pytest.raises(ValueError, match=r'reads ids.*show\(ckpt, text="1 2 3"\)'):
        notebook.show(ckpt)
    header, _ = held(notebook.show(ckpt, text="1 2 3", live=False).page)
    assert header["kinds"]["decoder"]["queries"][:3] == ["1", "2", "3"]
    assert header["model"]["steps"][0]["effectOf"].isdigit()


def test_what_cannot_be_shown_of_a_checkpoint_is_said(translator):
    for wrong, match in (({"level": "bit"}, "choose from whole, stack, layer"), ({"kind": "crossed"}, "choose from"),
                         ({"layer": 9}, "there are 2 layers"), ({"text": ""}, "type a sentence"),
                         ({"tokens": ["a"]}, "reads a text")):
        with pytest.raises(ValueError, match=match):
            notebook.show(translator, **{"text": TEXT} | wrong, live=False)


def test_a_live_view_of_a_checkpoint_has_the_model_and_follows_python(any_ckpt):
    pytest.importorskip("anywidget", reason="pip install anywidget")
    view = notebook.show(any_ckpt, text="Go on.", live=True)
    header, arrays = unpacked(view.message)
    stack = header["model"]["stack"]
    assert header["selection"]["level"] == "whole"
    assert f"norms/{stack}" in arrays
    view.selection = {"level": "number", "pair": (0, 0), "feature": 2}
    header, arrays = unpacked(view.message)
    assert (header["model"]["number"]["position"], header["model"]["number"]["number"]) == (0, 2)
    assert "number/weights" in arrays
    assert ("bars" in header["model"]) == bool(any_ckpt.config.n_classes)
    assert held(view.page)[0]["selection"]["level"] == "number"
    view.selection = {"view": "matrix"}
    assert "model" not in unpacked(view.message)[0]

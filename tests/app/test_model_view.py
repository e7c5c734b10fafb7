"""The picture of the whole model on its three pages: what is sent at each level, its table, its link, and changes."""

import json

import numpy as np
import pytest

import transformer
from transformer.analysis.carried import carried, effects
from transformer.attention_view import model_numbers
from transformer.attention_view.shared import CHOICES

from .page import components, html_of, picture, table_cells, words

TEXTS = {"translate": "I like red wine.", "write": "ROMEO:\nO, she doth teach", "classify": "Is she a Capulet?"}
LEVELS = CHOICES["level"]
LOOK = {"view": "model", "layer": "1", "head": "2"}


def source_of(page, ckpt):
    if page == "classify":
        return transformer.attend(ckpt, TEXTS[page])
    *_, step = transformer.steps(ckpt, TEXTS[page], max_steps=4)
    return step


def table(at, page):
    at.session_state[f"{page}_details"] = "Numbers"
    at.run()
    return at, table_cells(html_of(at, 'aria-label="the numbers of the model"'))


@pytest.mark.parametrize("page", TEXTS)
@pytest.mark.parametrize("level", LEVELS)
def test_each_level_is_an_address_and_is_written_back(visit, page, level):
    kind = "encoder" if page == "classify" else "decoder"
    look = {**LOOK, "level": level, "kind": kind, "pair": "2:1", "feature": "3"}
    at = visit(page, text=TEXTS[page], step="3", temperature="0", **look)
    header, arrays = picture(at)
    assert look.items() <= {**at.query_params, "level": at.query_params.get("level", "whole")}.items()
    assert header["model"]["tree"]["blocks"]
    assert header["selection"]["level"] == level
    assert ("number" in header["model"]) == (level == "number")
    if level == "number":
        assert header["model"]["number"] | {"number": 3, "position": 2} == header["model"]["number"]
        assert len(arrays["number/weights"]) == len(arrays["number/row"])
        header, _ = picture(visit(page, text=TEXTS[page], step="3", view="model", level=level))  # no token is named
        last = len(header["kinds"][header["selection"]["kind"]]["queries"]) - 1
        assert header["model"]["number"] | {"number": 0, "position": last} == header["model"]["number"]


@pytest.mark.parametrize(("asked", "has"), [
    ({"level": "../x", "kind": "../x", "layer": "1e9", "head": "99"},
     {"level": "whole", "feature": None, "kind": "cross", "layer": 1, "head": 3}),
    ({"level": "number", "feature": "-5"}, {"level": "number", "feature": 0}),
    ({"level": "number", "feature": "1e9"}, {"level": "number"}), ({"level": "number", "feature": "nan"}, {}),
    ({"level": "cell", "pair": "999:999"}, {"level": "cell", "pair": None}),
    ({"level": "cell", "pair": "-1:x"}, {"level": "cell", "pair": [0, 0]})])
def test_hostile_values_are_clamped(visit, asked, has):
    header, _ = picture(visit("translate", text=TEXTS["translate"], step="3", view="model", **asked))
    assert has.items() <= header["selection"].items()
    if header["selection"]["level"] == "number":
        assert 0 <= header["model"]["number"]["number"] < 64


@pytest.mark.parametrize("page", TEXTS)
def test_the_table_has_the_numbers_of_the_pass(visit, shipped, page):
    ckpt = shipped(page)
    source = source_of(page, ckpt)
    _, cells = table(visit(page, text=TEXTS[page], step="3", temperature="0", **LOOK), page)
    followed = "encoder" if page == "classify" else "decoder"
    found, of_logit = carried(source), effects(source)
    by_part = {(cell["kind"], cell.get("layer"), cell.get("head"), cell["part"], cell["column"]): cell["text"]
               for cell in cells}
    one = found[followed]
    for at_part, name in enumerate(one.parts):
        layer, _, part = name.rpartition(".")
        kind = "cross" if part == "cross" else followed
        for column, values in (("length after it", one.norms), ("length added", one.added)):
            assert np.float32(by_part[kind, layer or None, None, part, column]) == values[-1, at_part].numpy()
    heads = [cell for cell in cells if cell["part"] == "head" and cell["column"] == "length added"]
    assert len(heads) == sum(stack.shape[0] * stack.shape[2] for each in found.values()
                             for stack in each.heads.values())
    for kind, values in of_logit.heads.items():
        weights = source.attentions[kind]
        for layer in range(values.shape[0]):
            for head in range(values.shape[1]):
                at_head = (kind, str(layer), str(head), "head")
                assert float(by_part[*at_head, "direct effect"]) == pytest.approx(float(values[layer, head]), abs=1e-5)
                largest = float(weights[layer, head, -1].max())
                assert float(by_part[*at_head, "largest weight"]) == pytest.approx(largest, abs=1e-6)
    added = [float(text) for (*_, part, column), text in by_part.items()
             if column == "direct effect" and part != "head" and text]
    assert sum(added) + of_logit.positions + of_logit.biases == pytest.approx(of_logit.logit, abs=1e-3)


@pytest.mark.parametrize(("level", "label"), [("cell", "what a score is made of"),
                                              ("number", "what one number is made of")])
def test_a_score_and_a_number_are_taken_apart_in_a_table(visit, shipped, level, label):
    source = source_of("translate", shipped("translate"))
    at = visit("translate", text=TEXTS["translate"], step="3", kind="cross", layer="1", head="2", view="model",
               level=level, pair="2:1", feature="5")
    at, _ = table(at, "translate")
    cells = table_cells(html_of(at, f'aria-label="{label}"'))
    products = np.array([float(cell["text"]) for cell in cells if cell["column"] == "product"])
    queries, keys, _ = source.projections("cross")
    if level == "cell":
        np.testing.assert_allclose(products, (queries[1, 2, 2] * keys[1, 2, 1]).numpy(), rtol=1e-5, atol=1e-6)
    else:
        bias = shipped("translate").model.attention("cross", 1).q_proj.bias
        rest = 0 if bias is None else float(bias[2 * 64 + 5])
        assert products.sum() + rest == pytest.approx(float(queries[1, 2, 2, 5]), abs=1e-4)


def test_of_many_heads_the_table_has_those_of_a_layer_and_says_what_is_left_out(visit, monkeypatch):
    monkeypatch.setattr(model_numbers, "MOST_HEADS", 8)
    at, cells = table(visit("translate", text=TEXTS["translate"], step="3", kind="cross", **LOOK), "translate")
    assert {(cell["kind"], cell["layer"]) for cell in cells if cell["part"] == "head"} == {("cross", "1")}
    assert "28 others are left out" in words(at, "html")


def test_a_changed_pass_is_the_one_drawn_and_what_was_changed_is_named(visit, shipped):
    change = [{"how": "scale", "site": "X1H2", "factor": 0}, {"how": "uniform", "site": "cross.0"},
              {"how": "replace", "site": "encoder.0.resid_pre", "rows": [2], "source": {"rows": [0]}}]
    at = visit("translate", text=TEXTS["translate"], step="3", change=json.dumps(change), kind="cross", **LOOK)
    assert not at.error
    header, arrays = picture(at)
    assert header["model"]["changes"] == [
        {"number": 0, "words": "switched off", "off": True, "kind": "cross", "layer": 1, "heads": [2]},
        {"number": 1, "words": "made to look equally at all tokens", "off": False, "kind": "cross", "layer": 0,
         "heads": [0, 1, 2, 3]},
        {"number": 2, "words": "given other numbers", "off": False, "kind": "encoder", "layer": 0}]
    assert arrays["headNorms/cross"][1, 0, 2] == 0
    *_, step = transformer.steps(shipped("translate"), TEXTS["translate"], max_steps=4, change=change)
    np.testing.assert_allclose(arrays["norms/decoder"], carried(step)["decoder"].norms, rtol=1e-4)
    plain, _ = picture(visit("translate", text=TEXTS["translate"], step="3", kind="cross", **LOOK))
    assert "changes" not in plain["model"]


def test_of_words_which_have_no_vectors_and_elsewhere_nothing_of_it_is_sent(visit):
    for look in ({**LOOK, "tokens": "words"}, {"view": "matrix"}):
        header, arrays = picture(visit("translate", text=TEXTS["translate"], step="3", **look))
        assert header["selection"]["view"] == "matrix" and "model" not in header
        assert header["selection"]["tokens"] == look.get("tokens", "pieces")
        assert not [name for name in arrays if name.startswith(("norms/", "seen/", "effects/"))]
    assert components(visit("translate", text="", view="model"), "step_view") == []

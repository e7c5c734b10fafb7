"""Compare on Translate, without a browser."""

from dataclasses import replace

import numpy as np
import pytest

import transformer
from tests.markup import Markup
from transformer.analysis.difference import overlap
from transformer.analysis.roles import measure_roles
from transformer.analysis.sample import sentence_with_target
from transformer.checkpoints.openings import OPENINGS
from transformer.measures.matrices import measure_heads
from ui.views.translate.two_steps import measures

from .page import matrix, move, plot, put, table_of, words

PAGE, TEXT, OTHER = "translate", "I am cold.", "I am tall."
LONG = "She is not as tall as her brother."


def at_step(ckpt, text, index, **options):
    *_, step = transformer.steps(ckpt, text, max_steps=index + 1, **options)
    return step


def measured(at) -> dict[tuple[str, str, int], float]:
    html = table_of(at, "measures of the heads")
    return {(data["data-of"], data["data-measure"], int(data["data-head"])): float(text.replace("–", "nan"))
            for data, text in Markup(html).all("//td[@data-of]")}


def charts(at) -> set[str]:
    return {chart.key for chart in at.get("plotly_chart") if (chart.key or "").startswith("translate_compare")}


@pytest.mark.parametrize(("kind", "layer", "head", "index"), [
    ("cross", 0, 0, 3), ("encoder", 1, 2, 0), ("decoder", 1, 1, 3)])
def test_two_sentences_are_drawn_as_the_library_has_them_with_their_difference(visit, ckpt, kind, layer, head, index):
    at = visit(PAGE, text=TEXT, kind=kind, layer=str(layer), head=str(head), step=str(index), compare="sentence",
               compare_text=OTHER)
    both = [at_step(ckpt, text, index) for text in (TEXT, OTHER)]
    weights = [step.attentions[kind][layer, head].numpy() for step in both]
    mask = both[0].masks[kind].numpy()
    pictures = [plot(at, f"translate_compare_{name}")["data"][0] for name in ("this", "other")]
    for picture, expected in zip(pictures, weights, strict=True):
        assert np.allclose(picture["z"], np.where(mask, expected, np.nan), atol=1e-6, rtol=0, equal_nan=True)
    assert pictures[0]["colorscale"] == pictures[1]["colorscale"]
    assert (pictures[0]["zmin"], pictures[0]["zmax"]) == (pictures[1]["zmin"], pictures[1]["zmax"])
    difference = plot(at, "translate_compare_difference")["data"][0]
    expected = np.where(mask, weights[0] - weights[1], np.nan)
    assert np.allclose(difference["z"], expected, atol=1e-6, rtol=0, equal_nan=True)
    assert difference["zmin"] == -difference["zmax"]


def test_the_second_sentence_is_not_decoded_again_with_another_copy_of_the_model(visit, monkeypatch, reopen):
    at = visit(PAGE, text=TEXT, step="3", compare="sentence", compare_text=OTHER)
    before = measured(at)
    monkeypatch.setattr("ui.views.translate.two_steps.begin", None)
    reopen()
    assert measured(at.run()) == before


def test_sentences_of_different_lengths_have_no_difference_but_measures(visit, ckpt):
    at = visit(PAGE, text=TEXT, layer="1", step="2", compare="sentence", compare_text=LONG)
    assert charts(at) == {"translate_compare_this", "translate_compare_other"}
    assert any(info.value.startswith("One has 5 source tokens and the other 10") for info in at.info)
    found = measured(at)
    for of, text in (("this", TEXT), ("other", LONG)):
        expected = measures(at_step(ckpt, text, 2), "cross", 1)
        assert list(expected) == ["entropy", "evenness", "diagonal", "end"]
        for name, heads in zip(("Entropy", "Evenness", "Diagonal", "End of sentence"), expected.values(), strict=True):
            assert [found[of, name, head] for head in range(4)] == pytest.approx(heads, abs=1e-3)


def test_a_sentence_that_ends_before_shows_its_last_step_and_the_difference_of_what_both_have(visit, ckpt):
    last = len(list(transformer.steps(ckpt, "Go on."))) - 1
    at = visit(PAGE, text=LONG, kind="decoder", step=str(last + 3), compare="sentence", compare_text="Go on.")
    assert any(caption.value == f"The other ends at step {last}: that step is shown." for caption in at.caption)
    assert f"Only the first {last + 1} queries" in words(at, "caption")
    difference = matrix(at, "translate_compare_difference")
    place = OPENINGS["translation"].layer, OPENINGS["translation"].head
    weights = [at_step(ckpt, text, index).attentions["decoder"][place].numpy()[: last + 1, : last + 1]
               for text, index in ((LONG, last + 3), ("Go on.", last))]
    assert np.allclose(np.nan_to_num(difference), weights[0] - weights[1], atol=1e-6, rtol=0)


def test_two_branches_are_compared_at_the_same_step_and_share_their_encoder(visit, ckpt):
    other = transformer.start(ckpt, TEXT).top(3)[2].id
    branch = {"compare": "branch", "compare_choices": f"0:{other}"}
    at = visit(PAGE, text=TEXT, step="2", **branch)
    steps = [at_step(ckpt, TEXT, 2), at_step(ckpt, TEXT, 2, forced={0: other})]
    opening = OPENINGS["translation"]
    expected = np.subtract(*[step.attentions["cross"][opening.layer, opening.head].numpy() for step in steps])
    assert np.allclose(matrix(at, "translate_compare_difference"), expected, atol=1e-6, rtol=0)
    assert branch.items() <= at.query_params.items()
    assert visit(PAGE, **at.query_params).query_params == at.query_params
    move(at, PAGE, 3, number=1)
    assert matrix(at, "translate_compare_other").shape[0] == 4
    decoding = at.session_state["translate_decoding"]
    at.session_state["translate_decoding"] = decoding.switch(decoding.others[0])  # as a click on the branch does
    at.run()
    assert at.query_params["choices"] == f"0:{other}"
    assert at.query_params["compare_choices"] == ""
    at = visit(PAGE, text=TEXT, kind="encoder", step="1", **branch)
    assert not np.any(matrix(at, "translate_compare_difference"))
    assert "which both branches share" in words(at, "caption")


def test_it_is_closed_until_asked_for_and_says_what_a_second_branch_or_sentence_has_to_be(visit):
    at = visit(PAGE, text=TEXT)
    assert not [name for name in at.query_params if name.startswith("compare")]
    assert not charts(at)
    at = visit(PAGE, text=TEXT, compare="branch")
    assert at.info[-1].value.startswith("Only one branch so far.")
    put(at, "translate_compare_with", "sentence")
    assert at.info[-1].value.startswith("Type a second sentence")
    assert not charts(at)
    put(at, "translate_compare_text", OTHER)
    assert len(charts(at)) == 3
    assert at.query_params["compare_text"] == OTHER
    put(at, "translate_compare_text", "dog " * 2_500)
    assert "the model reads at most 256" in at.error[0].value
    assert not charts(at)


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)> $x$", ":red[hot] \u202eevil 😀"])
def test_any_second_sentence_is_read_and_never_markup(visit, text):
    at = visit(PAGE, text=TEXT, compare="sentence", compare_text=text)
    assert not at.error
    assert {"translate_compare_this", "translate_compare_other"} <= charts(at)
    assert not [found for found in at.markdown if text in found.value]
    assert "<img" not in "".join(element.value for element in at.get("html"))


@pytest.mark.parametrize(("kind", "first", "second", "common"), [
    ("decoder", (3, 3), (5, 5), (3, 3)), ("cross", (3, 6), (5, 6), (3, 6)), ("cross", (3, 6), (3, 7), None),
    ("encoder", (6, 6), (6, 6), (6, 6)), ("encoder", (6, 6), (7, 7), None)])
def test_what_two_pictures_have_in_common(kind, first, second, common):
    assert overlap(kind, first, second) == common


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_compare_says_of_a_head_what_its_roles_and_its_training_say(make_checkpoint, kind):
    ckpt = make_checkpoint()
    step = at_step(ckpt, "I am cold.", 4)
    sentence = sentence_with_target(ckpt, step.text, "")
    sentence = replace(sentence, tgt=step.tokens)  # what was read so far
    roles = measure_roles(ckpt, [sentence]).values[kind]
    recorded = measure_heads(step.attentions[kind], kind=kind)
    for layer in range(2):
        values = measures(step, kind, layer)
        assert list(values) == ["entropy", "evenness", "diagonal", "first" if kind == "decoder" else "end"]
        for name, heads in values.items():
            np.testing.assert_allclose(heads, roles[name][layer], rtol=1e-5)
            if name in recorded:
                np.testing.assert_allclose(heads, recorded[name][layer], rtol=1e-5)

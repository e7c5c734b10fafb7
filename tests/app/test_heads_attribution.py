"""Integrated gradients beside attention and rollout, without a browser."""

from dataclasses import replace

import numpy as np
import pytest

import transformer
from transformer.analysis.attribution import attribute
from transformer.analysis.rollout import rollout
from transformer.analysis.token_inputs import inputs_of_step
from ui.views.heads.attribution import most_apart, places

from .page import bars, figure_of, matrix, press, put, table_of, words

PAGE, MODEL, OPENING = "heads", "translate", {"view": "attribution"}
TEXT, SHORT = "I like red wine.", {"text": "Go on.", "position": "0"}
INTEGRATED, CROSS, ROLLOUT = "integrated gradients, nats", "cross-attention, share", "rollout, share"


@pytest.mark.parametrize("baseline", ["padding", "zero", "mean"])
@pytest.mark.parametrize("settings", [{}, {"norm_position": "post"}])
def test_integrated_gradients_are_the_librarys(open_page, place, baseline, settings, monkeypatch):
    monkeypatch.setattr("transformer.analysis.attribution.WRONG", np.inf)  # eight steps are few, and drawn here
    monkeypatch.setattr("transformer.analysis.attribution.SCATTERED", np.inf)
    ckpt = place(**settings)
    at = open_page(checkpoint=ckpt.id, text="Go on.", position="2", baseline=baseline, steps="8")
    *_, step = transformer.steps(ckpt, "Go on.", max_steps=3)
    expected = attribute(inputs_of_step(step), baseline=baseline, steps=8).integrated
    assert bars(at, "Where")[INTEGRATED] == pytest.approx(expected.tolist(), abs=1e-5, rel=1e-4)
    assert {"baseline": baseline, "steps": "8"}.items() <= at.query_params.items()


def test_attention_and_rollout_stand_beside_it_with_ranks_and_correlations(read_page, shipped):
    at, step = read_page(position="4"), list(transformer.steps(shipped("translate"), TEXT))[4]
    found, html = bars(at, "Where “vin” comes from"), figure_of(at, "bar-table", "Where")
    looked = step.attentions["cross"][:, :, -1].mean((0, 1))
    assert found[CROSS] == pytest.approx(looked.tolist(), abs=1e-5)
    assert found[ROLLOUT] == pytest.approx((looked @ rollout(step.attentions["encoder"])[-1]).tolist(), abs=1e-5)
    said = words(at, "markdown")
    assert f"to {float(step.logits.log_softmax(-1)[step.id]):.4f}".replace("-", "−") in said
    assert f"add up to {sum(found[INTEGRATED]):+.3f}" in said
    sizes = [np.abs(found[name]) for name in (INTEGRATED, CROSS, ROLLOUT)]
    ranks = [len(values) - np.argsort(np.argsort(values)) for values in sizes]
    for row in range(6):
        for name, column in zip((INTEGRATED, CROSS, ROLLOUT), ranks, strict=True):
            cell = html.split(f'data-row="{row}" data-column="{name}"')[1].split("</td>")[0]
            assert f'<span class="rank">{column[row]}.</span>' in cell
    table = table_of(at, "rank correlations")
    for one, other in ((0, 1), (0, 2), (1, 2)):
        rho = float(np.corrcoef(ranks[one], ranks[other])[0, 1])
        assert f"{rho:+.2f}".replace("-", "−") in table
    most = int(np.ptp(np.stack(ranks), axis=0).argmax())
    (said,) = [text.value for text in at.markdown if "They disagree most about" in text.value]
    assert f"position {most}: rank {ranks[0][most]} by integrated gradients" in said


def test_a_decoder_is_attributed_to_all_that_it_read(open_page, shipped):
    at = open_page(checkpoint=shipped("write").id, text="ROMEO:\nO", position="7", baseline="mean")
    found, step = bars(at, "Where"), next(iter(transformer.steps(shipped("write"), "ROMEO:\nO")))
    assert found["attention, share"] == pytest.approx(
        step.attentions["decoder"][:, :, -1].mean((0, 1)).tolist(), abs=1e-5)
    assert len(found[INTEGRATED]) == 8
    assert min(found[INTEGRATED]) < 0 < max(found[INTEGRATED])
    assert "From the mean embedding" in words(at, "markdown")


def test_a_classifier_is_attributed_to_its_whole_text(open_page, shipped):
    ckpt, text = shipped("classify"), "My life is my foe's debt."
    at = open_page(checkpoint=ckpt.id, text=text, **{"class": "JULIET"})
    chance = float(transformer.attend(ckpt, text).logits[ckpt.classes.index("JULIET")])
    (said,) = [text.value for text in at.markdown if "The attributions add up to" in text.value]
    assert "**JULIET**" in said
    assert f"to {chance:.4f}".replace("-", "−") in said
    assert len(bars(at, "Where")[INTEGRATED]) == len(ckpt.tokenizer.encode(text))


def test_a_model_without_padding_does_not_offer_it(open_page, place):
    ckpt = place(encoder_layers=0, pad_id=None)
    at = open_page(checkpoint=ckpt.id, text="Go on.", baseline="padding")
    assert not at.error
    assert list(at.button_group(key="heads_baseline").options) == ["zero", "mean"]
    assert at.query_params["baseline"] == "zero"


def test_a_long_one_waits_for_the_button_and_is_kept(open_page, monkeypatch):
    monkeypatch.setattr("ui.views.heads.attribution.QUICK", 1.0)
    at = open_page(**SHORT)
    assert "press the button to start" in at.info[0].value
    press(at, "heads_attribute")
    assert len(bars(at, "Where")[INTEGRATED]) == 4
    monkeypatch.setattr("ui.views.heads.attribution.attribute", None)
    at.run()
    assert len(bars(at, "Where")[INTEGRATED]) == 4
    put(at, "heads_position", 2)
    assert "press the button to start" in at.info[0].value


def test_all_tokens_at_once_are_three_matrices(open_page, shipped):
    at = open_page(**SHORT)
    assert not at.get("plotly_chart")
    press(at, "heads_overview")
    path = list(transformer.steps(shipped("translate"), SHORT["text"]))
    found = {name: matrix(at, f"heads_overview_{name}") for name in ("integrated", "attention", "rollout")}
    assert {values.shape for values in found.values()} == {(len(path), 4)} == {(3, 4)}
    for row, step in enumerate(path):
        assert np.allclose(found["attention"][row], step.attentions["cross"][:, :, -1].mean((0, 1)), atol=1e-5)
    columns = bars(at, "Where")
    for name, column in (("integrated", INTEGRATED), ("attention", CROSS), ("rollout", ROLLOUT)):
        assert found[name][0].tolist() == pytest.approx(columns[column], abs=1e-4)
    assert all(chart.proto.alt for chart in at.get("plotly_chart"))
    assert at.query_params["all"] == "open"
    assert matrix(open_page(**SHORT, all="open"), "heads_overview_rollout").tolist() == found["rollout"].tolist()


def test_only_tokens_that_lead_somewhere_count_as_disagreed_about():
    one, other = np.array([1, 2, 3, 4, 5, 6, 20, 8]), np.array([2, 1, 3, 7, 5, 6, 6, 4])
    assert most_apart(one, other, one) == [7, 3]  # 8 and 4, then 4 and 7; 20 and 6 lead in neither, 1 and 2 are close
    assert places(np.array([0.1, 0.9, 0.1])).tolist() == [2, 1, 3]


def test_gradients_that_do_not_add_up_are_not_drawn(open_page, monkeypatch):
    def off(read, token=None, **options):
        found = attribute(read, token, **options)
        return replace(found, integrated=found.integrated + 3)

    monkeypatch.setattr("ui.views.heads.attribution.attribute", off)
    at = open_page(**SHORT)
    assert list(bars(at, "Where")) == [CROSS, ROLLOUT]
    assert "cannot be trusted" in at.warning[0].value and "more steps or another baseline" in at.warning[0].value
    assert "The attributions add up to" not in words(at, "markdown")
    put(at, "heads_steps", 256)
    assert "try another baseline" in at.warning[0].value
    put(at, "heads_steps", 8)
    press(at, "heads_overview")
    assert np.isnan(matrix(at, "heads_overview_integrated")).all()
    assert "3 of 3" in words(at, "caption")

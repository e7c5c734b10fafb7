"""Integrated gradients beside attention and rollout, without a browser."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer
from transformer.analysis.attribution import attribute
from transformer.analysis.rollout import rollout
from transformer.checkpoint import Checkpoint
from ui.views.heads.attribution import most_apart, places

TEXT = "I like red wine."
INTEGRATED, CROSS, ROLLOUT = "integrated gradients, nats", "cross-attention, share", "rollout, share"


@pytest.fixture
def open_attribution(visit) -> Callable[..., AppTest]:
    return lambda **params: visit("heads", view="attribution", **params)


def finite_differences(ckpt: Checkpoint, text: str, tgt: list[int], said: int, baseline: str,
                       steps: int) -> list[float]:
    """The integral of the slope of log p(said) along each source token's own part of the way, without a gradient."""
    model = deepcopy(ckpt.model).double()
    embedding = model.src_embedding
    src = torch.tensor([*ckpt.tokenizer.encode(text), ckpt.config.eos_id])
    end = embedding.tokens(src)
    begin = {"padding": embedding.tokens.weight[ckpt.config.pad_id], "zero": torch.zeros_like(end[0]),
             "mean": embedding.tokens.weight.mean(0)}[baseline].expand_as(end)

    def value(tokens: torch.Tensor) -> float:
        x = tokens * embedding.scale + embedding.encoding(0, len(src))
        memory = model.encoder(embedding.norm(x)[None]).x
        return float(model.project(model.decode(torch.tensor([tgt]), memory).x[0, -1]).log_softmax(-1)[said])

    found, h = [], 1e-6  # so little that no ReLU bends within it
    for token in range(len(src)):
        way = torch.zeros_like(end)
        way[token] = end[token] - begin[token]
        total = 0.0
        for at in range(steps):
            point = begin + (at + 0.5) / steps * (end - begin)
            total += (value(point + h * way) - value(point - h * way)) / (2 * h)
        found.append(total / steps)
    return found


@pytest.mark.parametrize("baseline", ["padding", "zero", "mean"])
@pytest.mark.parametrize("settings", [{}, {"norm_position": "post"}])
def test_integrated_gradients_are_the_slopes_along_the_way(open_attribution, place, bars, baseline, settings,
                                                           monkeypatch):
    monkeypatch.setattr("transformer.analysis.attribution.WRONG", np.inf)  # eight steps are few, and drawn here
    monkeypatch.setattr("transformer.analysis.attribution.SCATTERED", np.inf)
    ckpt = place(**settings)
    at = open_attribution(checkpoint=ckpt.id, text="Go on.", position="2", baseline=baseline, steps="8")
    step = list(transformer.steps(ckpt, "Go on.", max_steps=3))[2]
    with torch.no_grad():
        expected = finite_differences(ckpt, "Go on.", list(step.tokens), step.id, baseline, 8)
    assert bars(at, "Where")[INTEGRATED] == pytest.approx(expected, abs=2e-4, rel=1e-3)
    assert {"baseline": baseline, "steps": "8"}.items() <= at.query_params.items()


def test_attention_and_rollout_stand_beside_it(open_attribution, shipped, bars):
    ckpt = shipped("translate")
    at = open_attribution(position="4")
    step = list(transformer.steps(ckpt, TEXT))[4]
    found = bars(at, "Where “␣vin” comes from")
    looked = step.attentions["cross"][:, :, -1].mean((0, 1))
    assert found[CROSS] == pytest.approx(looked.tolist(), abs=1e-5)
    assert found[ROLLOUT] == pytest.approx((looked @ rollout(step.attentions["encoder"])[-1]).tolist(), abs=1e-5)
    change = float(step.logits.log_softmax(-1)[step.id])
    (said,) = [text.value for text in at.markdown if "The attributions add up to" in text.value]
    assert f"to {change:.4f}".replace("-", "−") in said
    total = f"{sum(found[INTEGRATED]):+.3f}"
    assert f"add up to {total}" in said
    assert any("attention is not explanation" in text.value for text in at.markdown)


def test_ranks_and_correlations_are_those_of_the_columns(open_attribution, bars, figure):
    at = open_attribution(position="4")
    found = bars(at, "Where")
    sizes = [np.abs(found[name]) for name in (INTEGRATED, CROSS, ROLLOUT)]
    ranks = [len(values) - np.argsort(np.argsort(values)) for values in sizes]
    html = figure(at, "bar-table", "Where")
    for row in range(6):
        for name, column in zip((INTEGRATED, CROSS, ROLLOUT), ranks, strict=True):
            cell = html.split(f'data-row="{row}" data-column="{name}"')[1].split("</td>")[0]
            assert f'<span class="rank">{column[row]}.</span>' in cell
    table = next(element.value for element in at.get("html") if "rank correlations" in element.value)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        rho = float(np.corrcoef(ranks[one], ranks[other])[0, 1])
        assert f"{rho:+.2f}".replace("-", "−") in table
    apart = np.ptp(np.stack(ranks), axis=0)
    (said,) = [text.value for text in at.markdown if "They disagree most about" in text.value]
    assert f"position {int(apart.argmax())}: rank {ranks[0][apart.argmax()]} by integrated gradients" in said


def test_a_decoder_is_attributed_to_all_that_it_read(open_attribution, shipped, bars):
    ckpt = shipped("write")
    at = open_attribution(checkpoint=ckpt.id, text="ROMEO:\nO", position="7")
    found = bars(at, "Where")
    step = next(iter(transformer.steps(ckpt, "ROMEO:\nO")))
    assert found["attention, share"] == pytest.approx(
        step.attentions["decoder"][:, :, -1].mean((0, 1)).tolist(), abs=1e-5)
    assert len(found[INTEGRATED]) == 8
    assert min(found[INTEGRATED]) < 0 < max(found[INTEGRATED])


def test_a_classifier_is_attributed_to_its_whole_text(open_attribution, shipped, bars):
    ckpt, text = shipped("classify"), "My life is my foe's debt."
    at = open_attribution(checkpoint=ckpt.id, text=text, **{"class": "JULIET"})
    chance = float(transformer.attend(ckpt, text).logits[ckpt.classes.index("JULIET")])
    (said,) = [text.value for text in at.markdown if "The attributions add up to" in text.value]
    assert "**JULIET**" in said
    assert f"to {chance:.4f}".replace("-", "−") in said
    assert len(bars(at, "Where")[INTEGRATED]) == len(ckpt.tokenizer.encode(text))


def test_a_model_without_padding_does_not_offer_it(open_attribution, place):
    ckpt = place(encoder_layers=0, pad_id=None)
    at = open_attribution(checkpoint=ckpt.id, text="Go on.", baseline="padding")
    assert not at.error
    assert list(at.button_group(key="heads_baseline").options) == ["zero", "mean"]
    assert at.query_params["baseline"] == "zero"


def test_a_long_one_waits_for_the_button(open_attribution, monkeypatch, bars):
    monkeypatch.setattr("ui.views.heads.attribution.QUICK", 1.0)
    at = open_attribution(position="4")
    assert "press the button to start" in at.info[0].value
    at.button(key="heads_attribute").click().run()
    assert not at.exception
    assert len(bars(at, "Where")[INTEGRATED]) == 6
    at.run()
    assert len(bars(at, "Where")[INTEGRATED]) == 6  # and is kept
    at.button_group(key="heads_position").set_value(2).run()
    assert "press the button to start" in at.info[0].value


def test_all_tokens_at_once_are_three_matrices(open_attribution, shipped, drawn, bars):
    at = open_attribution(position="4")
    assert not at.get("plotly_chart")
    at.button(key="heads_overview").click().run()
    assert not at.exception
    path = list(transformer.steps(shipped("translate"), TEXT))
    found = {name: drawn(at, f"heads_overview_{name}")["data"][0]["z"]
             for name in ("integrated", "attention", "rollout")}
    assert {values.shape for values in found.values()} == {(8, 6)}
    for row, step in enumerate(path):
        assert np.allclose(found["attention"][row], step.attentions["cross"][:, :, -1].mean((0, 1)), atol=1e-5)
    columns = bars(at, "Where")
    for name, column in (("integrated", INTEGRATED), ("attention", CROSS), ("rollout", ROLLOUT)):
        assert found[name][4].tolist() == pytest.approx(columns[column], abs=1e-4)
    assert all(chart.proto.alt for chart in at.get("plotly_chart"))
    assert at.query_params["all"] == "open"
    again = open_attribution(position="4", all="open")
    assert drawn(again, "heads_overview_rollout")["data"][0]["z"].tolist() == found["rollout"].tolist()


def test_only_tokens_that_lead_somewhere_count_as_disagreed_about():
    one, other = np.array([1, 2, 3, 4, 5, 6, 20, 8]), np.array([2, 1, 3, 7, 5, 6, 6, 4])
    assert most_apart(one, other, one) == [7, 3]  # 8 and 4, then 4 and 7; 20 and 6 lead in neither, 1 and 2 are close
    assert places(np.array([0.1, 0.9, 0.1])).tolist() == [2, 1, 3]


def test_an_unrelated_rerun_integrates_nothing_again(open_attribution, monkeypatch):
    at = open_attribution(position="4")
    done = []
    monkeypatch.setattr("ui.views.heads.attribution.attribute", lambda *given, **options: done.append(given))
    at.run()
    assert not at.exception
    assert not done


def off(read, token=None, **options):
    found = attribute(read, token, **options)
    return replace(found, integrated=found.integrated + 3)


def test_gradients_that_do_not_add_up_are_not_drawn(open_attribution, bars, drawn, monkeypatch):
    monkeypatch.setattr("ui.views.heads.attribution.attribute", off)
    at = open_attribution(position="4")
    assert list(bars(at, "Where")) == [CROSS, ROLLOUT]
    assert "cannot be trusted" in at.warning[0].value and "more steps or another baseline" in at.warning[0].value
    assert not any("The attributions add up to" in text.value for text in at.markdown)
    at.button_group(key="heads_steps").set_value(256).run()
    assert "try another baseline" in at.warning[0].value
    at.button(key="heads_overview").click().run()
    assert not at.exception
    assert np.isnan(drawn(at, "heads_overview_integrated")["data"][0]["z"]).all()
    assert any("8 of 8" in text.value for text in at.caption)


def test_the_baseline_is_named(open_attribution):
    at = open_attribution(position="4", baseline="mean")
    assert any("From the mean embedding" in text.value for text in at.markdown)

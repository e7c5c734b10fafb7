"""Masks, without a browser."""

import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from tests.markup import Markup
from tests.rows import each_row
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.reading import attend
from ui.lessons.catalogue import shipped

from .page import matrix, plot, put, table_of, words

PAGE, MODEL = "masks", "translate"
PAIRS = [("I am cold.", "J'ai froid."), ("Go on.", "Continue."),
         ("Do you know where he lives?", "Sais-tu où il habite ?")]
# The page opens on three pairs of different lengths, the first of them chosen.
OPENING = {f"{side}{row}": text for row, pair in enumerate(PAIRS, start=1)
           for side, text in zip(("source", "target"), pair, strict=True)} | {"pair": "1"}
NONE = {f"{language}{row}": "" for language in ("source", "target") for row in range(1, 5)}


def cells(at: AppTest, label: str) -> np.ndarray:
    """The table of that label, as an array of texts."""
    return Markup(table_of(at, label)).grid()


def masks_drawn(at: AppTest) -> list[str]:
    return [chart.key for chart in at.get("plotly_chart") if chart.key.endswith("_mask")]


def alone(ckpt: Checkpoint, english: str, french: str) -> list[float]:
    """Nats of each token of one pair by itself, by the model's own forward pass."""
    config = ckpt.config
    src = [*ckpt.source_tokenizer.encode(english), config.eos_id]
    tgt = ckpt.tokenizer.encode(french)
    logits = ckpt.model(torch.tensor([src]), torch.tensor([[config.start_id, *tgt]]))[0]
    return F.cross_entropy(logits, torch.tensor([*tgt, config.eos_id]), reduction="none").tolist()


def test_it_opens_with_two_short_sentences_one_mask_and_labelled_boxes(visit, ckpt):
    at = visit(PAGE)
    assert not at.error
    pairs = [("I am cold.", "J'ai froid."), ("Look.", "Regarde.")]
    for label, side, tokenizer in (("the source batch", 0, ckpt.source_tokenizer),
                                   ("the target batch", 1, ckpt.tokenizer)):
        batch = table_of(at, label)
        lengths = [len(tokenizer.encode(pair[side])) + 1 for pair in pairs]
        assert batch.count('class="token"') == sum(lengths)
        assert batch.count('class="pad"') == 2 * max(lengths) - sum(lengths) > 0
    assert masks_drawn(at) == ["masks_decoder_mask"]
    wanted = {"checkpoint": ckpt.id, "source1": "I am cold.", "causal": "off", "mask": "decoder", "pair": "2"}
    assert wanted.items() <= at.query_params.items()
    labels = [box.label for box in at.text_input if box.key.startswith(("masks_source", "masks_target"))]
    assert labels == [f"{language} {row}" for row in range(1, 5) for language in ("English", "French")]


@pytest.mark.parametrize("pair", [1, 2, 3])
def test_every_mask_is_one_choice_away_and_follows_from_the_lengths(open_page, ckpt, pair):
    sizes = [[len(ckpt.source_tokenizer.encode(english)) + 1, len(ckpt.tokenizer.encode(french)) + 1]
             for english, french in PAIRS]
    (read, written), (most_read, most_written) = sizes[pair - 1], np.max(sizes, axis=0)
    sees_source, sees_target = np.arange(most_read) < read, np.arange(most_written) < written
    before = np.tri(most_written, dtype=bool)
    expected = {"source": np.tile(sees_source, (most_read, 1)), "target": np.tile(sees_target, (most_written, 1)),
                "causal": before, "decoder": before & sees_target, "cross": np.tile(sees_source, (most_written, 1))}
    at = open_page(pair=str(pair))
    for name, mask in expected.items():
        put(at, "masks_mask", name)
        assert masks_drawn(at) == [f"masks_{name}_mask"]
        assert at.query_params["mask"] == name
        assert np.array_equal(matrix(at, f"masks_{name}_mask") == 1, mask), name
    labels = plot(at, "masks_cross_mask")["layout"]  # the last of them
    assert labels["xaxis"]["ticktext"][-1].endswith("pad&#62;") == (pair != 3)
    assert len(labels["yaxis"]["ticktext"]) == most_written


def test_the_losses_are_those_of_each_pair_alone(open_page, ckpt):
    table = cells(open_page(), "loss with and without masks")
    by_pair = [alone(ckpt, *pair) for pair in PAIRS]
    expected = [np.mean(nats) for nats in by_pair] + [np.mean(np.concatenate(by_pair))]
    assert np.allclose(table[:, 0].astype(float), expected, atol=2e-4)
    assert table[2, 0] == table[2, 2]  # the longest pair has no padding to unmask
    assert float(table[3, 1]) != pytest.approx(float(table[3, 0]), abs=0.1)
    each = cells(open_page(pair="3"), "loss of each token")
    assert np.allclose(each[0].astype(float), by_pair[2], atol=2e-3)


def test_switching_a_mask_off_shows_attention_to_later_tokens_or_to_padding(open_page, ckpt):
    at = open_page(pair="3", layer="1", head="2")
    trained, changed = (matrix(at, f"masks_{name}") for name in ("trained", "changed"))
    expected = attend(ckpt, *PAIRS[2]).attentions["decoder"][1, 2].numpy()
    assert np.allclose(np.nan_to_num(trained), expected, atol=1e-5)
    assert np.isnan(trained[np.triu_indices(len(trained), 1)]).all()
    ahead = np.triu(changed, 1).sum() / len(changed)
    assert ahead > 0.01
    assert f"**{ahead:.1%}** of this head's attention goes to tokens" in words(at, "markdown")
    put(at, "masks_causal", True)
    assert at.query_params["causal"] == "on"
    assert np.allclose(np.nan_to_num(matrix(at, "masks_changed")), expected, atol=1e-5)
    at = open_page(kind="encoder", padding="off", causal="on", pair="2")
    assert not np.isnan(matrix(at, "masks_changed")).any()
    assert any("of this head's attention goes to padding" in text.value and "**0.0%" not in text.value
               for text in at.markdown)


def column(form: str, dtype: str) -> int:
    return 2 + 2 * ["bool", "inf", "1e9", "1e4"].index(form) + ["float32", "float16"].index(dtype)


def test_the_numbers_are_the_softmax_of_each_form_and_a_row_all_masked_is_nan_uniform_or_zero(open_page):
    table = cells(open_page(), "the softmax of each form of mask")
    assert table[0, 2:].tolist() == ["", "", "-inf", "-inf", "-1e+09", "-inf", "-10000", "-10000"]
    weights = np.exp([2.0, 1.0]) / np.exp([2.0, 1.0]).sum()
    for at in range(2, 10):
        assert np.allclose(table[1:5, at].astype(float), [*weights, 0, 0], atol=1e-3)
    assert table[1:5, 1].tolist() == ["yes", "yes", "no", "no"]
    at = open_page(all="on")
    table = cells(at, "the softmax of each form of mask")
    for form, dtype, expected in (("bool", "float32", "0.0"), ("inf", "float32", "nan"), ("1e9", "float16", "nan"),
                                  ("1e9", "float32", "0.25")):
        assert set(table[1:5, column(form, dtype)]) == {expected}
    assert any("−1e9 in float16" in text.value and "0 by 0" in text.value for text in at.markdown)


@each_row("settings", [{}, {"all": "on"}, {"scale": "5000"}, {"typed": "0 40000 40000", "blocked": "1,2"}])
def test_what_is_no_number_and_attention_to_a_masked_key_is_outlined(open_page, settings):
    table = Markup(table_of(open_page(**settings), "the softmax of each form of mask"))
    for row in table.root.xpath("//tbody/tr")[1:-2]:
        _, looks, *weights = row.xpath("td")
        for cell in weights:
            value = float("".join(cell.itertext()))
            is_wrong = np.isnan(value) or ("".join(looks.itertext()) == "no" and value > 0)
            assert ("marked" in cell.get("class", "").split()) == is_wrong, ["".join(row.itertext()), value]


def test_large_scores_leak_past_ten_thousand(open_page):
    at = open_page(scale="3000")
    assert "Here every form gives masked keys exactly 0" in words(at, "markdown")
    put(at, "masks_scale", 5_000)
    table = cells(at, "the softmax of each form of mask")
    assert table[4, column("1e4", "float32")] == "1.0"
    assert table[4, column("1e9", "float32")] == "0.0"
    assert "−1e4 in float32 100.0%" in words(at, "markdown")
    at = open_page(scale="1", typed="0 40000 40000", blocked="1,2")  # each masked key gets half, the two all of it
    assert "−1e4 in float32 100.0%" in words(at, "markdown")
    at = open_page(typed="70000 1", blocked="")
    assert any("65,504" in text.value and "−inf in float16" in text.value for text in at.markdown)


def test_scores_from_the_model_are_those_of_the_chosen_query(open_page, ckpt):
    at = open_page(scores="from the model", pair="3", query="4", layer="1", head="2")
    table = cells(at, "the softmax of each form of mask")
    reading = attend(ckpt, *PAIRS[2])
    expected = reading.attentions["decoder"][1, 2, 4].numpy()
    assert np.allclose(table[1:-2, column("bool", "float32")].astype(float), expected, atol=1e-5)
    assert np.allclose(table[1:6, 0].astype(float), reading.scores["decoder"][1, 2, 4, :5].numpy(), atol=1e-4)


def test_training_without_the_mask_is_shown_on_request(open_page):
    at = open_page()
    assert not at.get("vega_lite_chart")
    put(at, "masks_train", True)
    assert at.query_params["train"] == "on"
    (chart,) = at.get("vega_lite_chart")
    assert "without it from" in chart.proto.alt
    assert np.diagonal(matrix(at, "masks_cheat"), 1).mean() > 0.8


def test_without_sentences_the_page_says_what_to_do_and_half_a_pair_is_left_out(open_page):
    at = open_page(**NONE)
    assert "Type a sentence in English and its translation" in at.info[0].value
    assert not at.get("plotly_chart")
    at = open_page(**NONE | {"source1": "Go on.", "source2": "I am cold.", "target2": "J'ai froid."}, pair="4",
                    mask="source")
    assert not at.error
    assert "an empty side are left out" in words(at, "caption")
    assert (matrix(at, "masks_source_mask") == 1).all()
    assert at.query_params["pair"] == "1"


@each_row("typed", ["one two", "nan 1", "1e99", " ".join(["1"] * 17), "1 inf"])
def test_scores_that_are_none_are_refused_with_the_remedy(open_page, typed):
    at = open_page(typed=typed)
    assert "up to 16 numbers" in at.error[0].value
    assert at.query_params["typed"] == typed
    put(at, "masks_typed", " ")
    assert not at.error
    assert "Type some numbers" in at.info[0].value


def test_sentences_too_long_for_a_link_are_left_out_and_that_is_said(open_page):
    long = dict.fromkeys(NONE, "a b " * 50)
    at = open_page(**long)
    assert "too long for a link" in words(at, "caption")
    assert "source1" not in at.query_params
    assert at.query_params["pair"] == "1"
    at.run()
    assert at.text_input(key="masks_source1").value == long["source1"]
    at = open_page()
    put(at, "masks_source1", "a" * 301)
    assert "301 characters; at most 300" in at.error[0].value


def test_all_masks_at_once_have_their_source_and_their_words(open_page, ckpt):
    charts = open_page(mask="all").get("plotly_chart")
    assert len(charts) == 3 and charts[0].key == "masks_batch"
    assert all(ckpt.id in chart.proto.spec and chart.proto.alt for chart in charts)


STOPS = [pytest.param(stop.params, id=f"{name}-{at}") for name, lesson in shipped().items()
         for at, stop in enumerate(lesson.stops, 1) if stop.page == PAGE]


@pytest.mark.parametrize("params", STOPS)
def test_a_stop_of_a_lesson_opens_the_pair_that_it_names_and_shows_what_a_mask_hides(visit, params):
    at = visit(PAGE, **params)
    assert at.query_params["pair"] == params.get("pair", "2")
    if "off" in (params.get("causal"), params.get("padding")):
        (share,) = re.findall(r"\*\*([\d.]+)%\*\* of this head's attention", words(at))
        assert float(share) > 10

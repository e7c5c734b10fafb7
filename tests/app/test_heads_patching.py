"""Patching: the maps against the library, the text that one cell changes, and what is said where nothing can be."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from transformer.analysis.ablation import all_heads
from transformer.analysis.patching import METRICS, estimate, patch_heads, patch_path, patch_positions, read_pair
from transformer.analysis.token_inputs import inputs_of_text
from transformer.checkpoint import Checkpoint
from transformer.model.sites import label
from transformer.openings import PAIRS, pairs_of
from ui.figures import signed_number
from ui.views.heads.patching import SHOWN

from .page import bars, components, put, words

PAGE, OPENING = "heads", {"view": "patching"}
CLEAN, OTHER = "I like red wine.", "I like white wine."


def cards(at: AppTest) -> dict[str, dict]:
    """The maps that are drawn, by kind."""
    (maps,) = [json.loads(one.json) for one in components(at, "head_maps")]
    return {card["kind"]: card for card in maps["cards"]}


def shades(values: np.ndarray) -> np.ndarray:
    limit = max(1.0, float(np.abs(values).max()))
    return ((values + limit) / (2 * limit) * 64).round()


def texts(at: AppTest) -> list[str]:
    return [text.value for text in at.text]


def pair_of(ckpt: Checkpoint, clean: str, other: str, target: str | None = None, **options):
    return read_pair(*(inputs_of_text(ckpt, text, target) for text in (clean, other)), **options)


def test_it_opens_on_a_pair_that_the_model_tells_apart(open_page, shipped):
    at, ckpt = open_page(), shipped("translate")
    assert not at.error
    assert (at.text_input(key="heads_text").value, at.text_input(key="heads_other").value) == (CLEAN, OTHER)
    pair = pair_of(ckpt, CLEAN, OTHER, "J'aime le vin")
    for kind in ("encoder", "decoder"):
        card = cards(at)[kind]
        exact = patch_positions(pair, kind).numpy()
        assert np.abs(np.array(card["maps"][0]["shades"]) - shades(exact)).max() <= 1
        assert len(card["tokens"]) == exact.shape[1]
    assert cards(at)["encoder"]["tokens"][2] == "␣red/white"
    assert texts(at) == ["J'aime le vin blanc.", "J'aime le vin rouge."]
    assert "␣rouge" in words(at) and "9.45" in words(at)
    probabilities = bars(at, "Probability of what comes next")
    assert probabilities["first text"][0] > 0.9 > 0.1 > probabilities["second text"][0]


@pytest.mark.parametrize("part", SHOWN)
def test_every_part_is_that_of_the_library(open_page, shipped, part):
    at = open_page(part=part)
    pair = pair_of(shipped("translate"), CLEAN, OTHER, "J'aime le vin")
    stacks = {"encoder", "decoder"}
    assert not at.error and set(cards(at)) == (stacks if part in ("resid_pre", "mlp_out") else stacks | {"cross"})
    for kind, card in cards(at).items():
        exact = (patch_heads(pair, kind) if part == "heads" else patch_positions(pair, kind, part)).numpy()
        assert np.abs(np.array(card["maps"][0]["shades"]) - shades(exact)).max() <= 1


@pytest.mark.parametrize("metric", METRICS)
def test_a_cell_of_the_address_is_the_one_looked_at(open_page, shipped, metric):
    at = open_page(cell="encoder-1-3", metric=metric)
    assert not at.error and at.query_params["cell"] == "encoder-1-3"
    assert "encoder, layer 1, position 3" in words(at)
    assert texts(at) == ["J'aime le vin blanc."]  # the noun does not carry it
    ckpt = shipped("translate")
    change = transformer.replace("encoder.1.resid_pre", {"text": CLEAN, "rows": [3]}, rows=[3])
    *_, last = transformer.steps(ckpt, OTHER, change=change)
    assert last.output == texts(at)[0]
    exact = patch_positions(pair_of(ckpt, CLEAN, OTHER, "J'aime le vin", metric=metric), "encoder").numpy()
    assert np.abs(np.array(cards(at)["encoder"]["maps"][0]["shades"]) - shades(exact)).max() <= 1


@pytest.mark.parametrize("cell", ["encoder-9-9", "cross-0-0", "decoder-0", "x", "-1--1--1"])
def test_a_cell_that_is_not_there_is_the_strongest(open_page, cell):
    at = open_page(cell=cell)
    assert not at.error and not at.exception and "layer 0, position 2" in words(at)


@pytest.mark.parametrize("name", ["translate", "write", "classify", "punctuate"])
def test_pairs_are_of_equal_length_and_lead_to_different_results(open_page, shipped, name):
    ckpt = shipped(name)
    pairs = pairs_of(ckpt)
    assert pairs
    for clean, other in pairs:
        at = open_page(checkpoint=ckpt.id, text=clean, other=other)
        assert not at.error and cards(at)
        assert max(max(map(max, card["maps"][0]["shades"])) for card in cards(at).values()) > 40  # a place carries it
    for at in range(len(pairs) - 1):
        page = open_page(checkpoint=ckpt.id)
        page.button(key=f"heads_pair_{at}").click().run()
        assert not page.error and page.query_params["other"] in {other for _, other in pairs}


def test_every_pair_is_for_a_model_that_there_is():
    assert set(PAIRS) == {"translation", "text", "char", "endings", "speakers"}


def test_the_same_text_and_texts_of_another_length_are_said(open_page):
    at = open_page(text="Go on.", other="Go on.")
    assert "Change a word of the second text" in at.info[0].value and not components(at, "head_maps")
    put(at, "heads_other", "Go on and on.")
    assert "patching puts a token's vector in the place of another's" in at.error[0].value
    put(at, "heads_other", " ")
    assert "Change a word" in at.info[0].value and not at.error


def test_the_estimate_stands_beside_the_exact_map_and_says_its_error(open_page):
    at = open_page()
    at.session_state["heads_estimate"] = True
    assert any("The quick estimate beside the exact map" in box.label for box in at.expander)


def test_a_large_model_shows_the_estimate_until_the_exact_map_is_asked_for(open_page, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1_000)
    at = open_page()
    assert "*Estimated.*" in words(at) and not at.error
    at.button(key="heads_patch").click().run()
    assert "*Estimated.*" not in words(at)


@pytest.mark.parametrize("settings", [
    {"encoder_layers": 0, "positions": "rotary", "kv_heads": 1}, {"decoder_layers": 0, "head": "masked"},
    {"encoder_layers": 0, "d_ff": 0}, {"norm_position": "post"},
])
def test_other_models_are_patched_too(open_page, place, settings):
    ckpt = place(**settings)
    for part in SHOWN:
        at = open_page(checkpoint=ckpt.id, text="I am cold.", other="I am tall.", part=part)
        assert not at.exception
        assert cards(at) and (at.query_params["part"] == part or not ckpt.config.d_ff)  # attention alone has no other


@pytest.mark.parametrize(("senders", "receivers", "through"), [
    ("E1H0,E2H3", "X1H0", "on"), ("X1H0", "", "off"), ("E9H9,nonsense,E0H0", "<b>", "on")])
def test_paths_are_those_of_the_library(open_page, shipped, senders, receivers, through):
    at = open_page(along="open", senders=senders, receivers=receivers, through=through)
    at.session_state["heads_along"] = True
    ckpt = shipped("translate")
    there = {label(*head) for head in all_heads(ckpt.config)}
    from_, to = ([one for one in text.split(",") if one in there] for text in (senders, receivers))
    pair = pair_of(ckpt, CLEAN, OTHER, "J'aime le vin")
    value = patch_path(pair, from_, to, feed_forward=through == "on")
    assert f"**{signed_number(value)}** comes back" in words(at)
    put(at, "heads_senders", [])
    assert "Choose a head from which paths begin" in at.info[0].value


def test_paths_begin_at_the_head_that_carries_most(open_page, shipped):
    at = open_page(along="open")
    pair = pair_of(shipped("translate"), CLEAN, OTHER, "J'aime le vin")
    heads = estimate(pair).heads
    kind = max(heads, key=lambda kind: float(heads[kind].max()))
    assert at.multiselect(key="heads_senders").value == [label(kind, *divmod(int(heads[kind].argmax()), 4))]
    assert at.multiselect(key="heads_receivers").value == []

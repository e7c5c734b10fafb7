"""Patching: the maps against the library, the text that one cell changes, and what is said where nothing can be."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from transformer.analysis.ablation import all_heads
from transformer.analysis.patching import METRICS, estimate, patch_heads, patch_path, patch_positions, read_pair
from transformer.analysis.token_inputs import inputs_of_text
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import PAIRS, pairs_of
from transformer.model.sites import label
from ui.figures import signed_number
from ui.views.heads.patching import SHOWN

from .page import bars, components, options, put, words

PAGE, OPENING = "heads", {"view": "patching"}
TEXT, OTHER, TARGET = "a dog is cold.", "a dog is tall.", "o dog"
pytestmark = pytest.mark.usefixtures("lasting")


@pytest.fixture
def open_pair(open_page, made):
    """A pair of texts that a tiny translator reads, with a translation of the first."""
    return lambda **params: open_page(**{"checkpoint": made("translator").id, "text": TEXT, "other": OTHER,
                                         "target": TARGET, "position": "4"} | params)


def cards(at: AppTest) -> dict[str, dict]:
    """The maps that are drawn, by kind."""
    (maps,) = [json.loads(one.json) for one in components(at, "head_maps")]
    return {card["kind"]: card for card in maps["cards"]}


def assert_drawn(at: AppTest, exact: dict[str, np.ndarray]) -> None:
    """The maps have these values, in shades up to the largest of all of them."""
    assert not at.error and set(cards(at)) == set(exact)
    limit = max(1.0, *(float(np.abs(values).max()) for values in exact.values()))
    for kind, values in exact.items():
        shades = ((values + limit) / (2 * limit) * 64).round()
        assert np.abs(np.array(cards(at)[kind]["maps"][0]["shades"]) - shades).max() <= 1, kind


def texts(at: AppTest) -> list[str]:
    return [text.value for text in at.text]


def pair_of(ckpt: Checkpoint, clean: str, other: str, target: str | None = None, **options):
    return read_pair(*(inputs_of_text(ckpt, text, target) for text in (clean, other)), **options)


def tiny_pair(made, **options):
    """That of `open_pair`, of its token at position 4."""
    ckpt = made("translator")
    return pair_of(ckpt, TEXT, OTHER, TARGET[:4], token=ckpt.tokenizer.encode(TARGET)[4], **options)


def states_of(pair) -> dict[str, np.ndarray]:
    """What comes back with the state of each layer and position of each stack."""
    return {kind: patch_positions(pair, kind).numpy() for kind in ("encoder", "decoder")}


def test_it_opens_on_a_pair_that_the_model_tells_apart(open_page, shipped):
    at, ckpt = open_page(), shipped("translate")
    clean, other = pairs_of(ckpt)[0]
    assert not at.error
    assert (at.text_input(key="heads_text").value, at.text_input(key="heads_other").value) == (clean, other)
    exact = states_of(pair_of(ckpt, clean, other, "J'aime le vin"))
    assert_drawn(at, exact)
    assert all(len(cards(at)[kind]["tokens"]) == values.shape[1] for kind, values in exact.items())
    assert cards(at)["encoder"]["tokens"][2] == "red/white"
    assert texts(at) == ["J'aime le vin blanc.", "J'aime le vin rouge."]
    assert "rouge" in words(at) and "9.45" in words(at)
    probabilities = bars(at, "Probability of what comes next")
    assert probabilities["first text"][0] > 0.9 > 0.1 > probabilities["second text"][0]


@pytest.mark.parametrize("part", SHOWN)
def test_every_part_is_that_of_the_library(open_pair, made, part):
    pair, kinds = tiny_pair(made), ["encoder", "decoder"] + ["cross"] * (part not in ("resid_pre", "mlp_out"))
    assert_drawn(open_pair(part=part), {
        kind: (patch_heads(pair, kind) if part == "heads" else patch_positions(pair, kind, part)).numpy()
        for kind in kinds})


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_that_of_the_library(open_pair, made, metric):
    assert_drawn(open_pair(metric=metric), states_of(tiny_pair(made, metric=metric)))


def test_a_cell_of_the_address_is_the_one_looked_at(open_page, shipped):
    clean, other = pairs_of(shipped("translate"))[0]
    at = open_page(cell="encoder-1-3")
    assert not at.error and at.query_params["cell"] == "encoder-1-3"
    assert "encoder, layer 1, position 3" in words(at)
    change = transformer.replace("encoder.1.resid_pre", {"text": clean, "rows": [3]}, rows=[3])
    *_, last = transformer.steps(shipped("translate"), other, change=change)
    assert texts(at) == [last.output] == ["J'aime le vin blanc."]  # the noun does not carry it


@pytest.mark.parametrize("cell", ["encoder-9-9", "cross-0-0", "decoder-0", "x", "-1--1--1"])
def test_a_cell_that_is_not_there_is_the_strongest(open_pair, made, cell):
    at = open_pair(cell=cell)
    found = {(kind, *place): value for kind, values in states_of(tiny_pair(made)).items()
             for place, value in np.ndenumerate(values)}
    kind, layer, position = max(found, key=found.get)
    assert not at.error and f"{kind}, layer {layer}, position {position}" in words(at)


@pytest.mark.parametrize("name", ["translate", "punctuate", *(pytest.param(name, marks=pytest.mark.rare(
    "two more models; that each has pairs is tested below")) for name in ("write", "classify"))])
def test_pairs_are_of_equal_length_and_lead_to_different_results(open_page, shipped, name):
    ckpt = shipped(name)
    pairs = pairs_of(ckpt)
    assert pairs
    first = open_page(checkpoint=ckpt.id)
    for page in (first, *(open_page(checkpoint=ckpt.id, text=clean, other=other) for clean, other in pairs[1:])):
        assert not page.error
        assert max(max(map(max, card["maps"][0]["shades"])) for card in cards(page).values()) > 40  # a place carries it
    if len(pairs) > 1:
        first.button(key="heads_pair_0").click().run()
        assert not first.error and first.query_params["other"] in {other for _, other in pairs}


def test_every_pair_is_for_a_model_that_there_is_and_is_as_long_in_tokens(shipped):
    assert set(PAIRS) == {"translation", "text", "char", "endings", "speakers"}
    for name, task in (("translate", "translation"), ("write", "char"), ("classify", "speakers"),
                       ("punctuate", "endings")):
        assert pairs_of(shipped(name)) == list(PAIRS[task])


def test_the_same_text_and_texts_of_another_length_are_said(open_pair):
    at = open_pair(other=TEXT)
    assert "Change a word of the second text" in at.info[0].value and not components(at, "head_maps")
    put(at, "heads_other", "a dog is cold, too.")
    assert "patching puts a token's vector in the place of another's" in at.error[0].value
    put(at, "heads_other", " ")
    assert "Change a word" in at.info[0].value and not at.error


def test_a_large_model_shows_the_estimate_until_the_exact_map_is_asked_for(open_pair, monkeypatch):
    at = open_pair()
    assert any("The quick estimate beside the exact map" in box.label for box in at.expander)
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1_000)
    at = open_pair()
    assert "*Estimated.*" in words(at) and not at.error
    at.button(key="heads_patch").click().run()
    assert "*Estimated.*" not in words(at)


@pytest.mark.parametrize(("kind", "settings"), [
    ("writer", {"positions": "rotary", "kv_heads": 1}), ("writer", {"d_ff": 0}), ("translator", {
        "norm_position": "post"}), ("classifier", {"corpus": False, "head": "masked", "n_classes": None,
                                                   "pooling": None})], ids=str)
def test_other_models_are_patched_too(open_page, made, kind, settings):
    """Of attention alone no other part is offered."""
    at = open_page(checkpoint=made(kind, **settings).id, text="a dog is cold.", other="a dog is tall.", part="heads")
    names = [name for name in SHOWN if SHOWN[name] in options(at, "heads_part")]
    assert len(names) == len(SHOWN) - (settings.get("d_ff") == 0)
    for part in names[::2]:
        put(at, "heads_part", part)
        assert cards(at) and at.query_params["part"] == part, part


@pytest.mark.parametrize(("senders", "receivers", "through"), [
    ("E0H0,D0H1", "X1H0", "on"), ("X1H0", "", "off"), ("E9H9,nonsense,E0H0", "<b>", "on")])
def test_paths_are_those_of_the_library(open_pair, made, senders, receivers, through):
    at = open_pair(along="open", senders=senders, receivers=receivers, through=through)
    there = {label(*head) for head in all_heads(made("translator").config)}
    from_, to = ([one for one in text.split(",") if one in there] for text in (senders, receivers))
    value = patch_path(tiny_pair(made), from_, to, feed_forward=through == "on")
    assert f"**{signed_number(value)}** comes back" in words(at)
    put(at, "heads_senders", [])
    assert "Choose a head from which paths begin" in at.info[0].value


def test_paths_begin_at_the_head_that_carries_most(open_pair, made):
    at, heads = open_pair(along="open"), estimate(tiny_pair(made)).heads
    kind = max(heads, key=lambda kind: float(heads[kind].max()))
    strongest = np.unravel_index(int(heads[kind].argmax()), heads[kind].shape)
    assert at.multiselect(key="heads_senders").value == [label(kind, *strongest)]
    assert at.multiselect(key="heads_receivers").value == []

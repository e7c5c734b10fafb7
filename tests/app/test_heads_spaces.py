"""Spaces: the picture against the library, what is nearest to a point, links, and models with less to show."""

import json
import sys
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

import transformer
from tests.app.heads_checkpoints import WITHOUT_TOKENIZER, make, make_without_tokenizer
from transformer.analysis.spaces import embeddings, neighbours, pca, queries_and_keys, scores, states
from transformer.analysis.tensors import neighbours as neighbours_as_stored
from transformer.checkpoint import Checkpoint
from transformer.held_out import held_out_sentences
from ui.figures.labels import plain_label
from ui.views.heads.spaces import SAMPLE
from ui.views.stepper.address import read_choices

from .page import bars, options, put, rows_of, step_view_of, table_of, words

PAGE, OPENING = "heads", {"view": "spaces"}
TEXT = "I like red wine."


def drawn(at) -> list[dict]:
    """The points of the picture, in order."""
    (picture,) = at.get("vega_lite_chart")
    return rows_of(picture)


def title(at) -> str:
    (picture,) = at.get("vega_lite_chart")
    return json.loads(picture.proto.spec)["title"]["text"]


def places(rows: list[dict], own: bool) -> np.ndarray:
    return np.array([(row["x"], row["y"]) for row in rows if row["of"].startswith("your") == own])


def held(ckpt: Checkpoint):
    return held_out_sentences(ckpt, limit=SAMPLE)


def listed(at) -> list[str]:
    """The values beside the contexts that are listed."""
    return [element.value for element in at.markdown if element.value.replace("-", "").replace(".", "").isdigit()]


def links(at) -> list[tuple[str, dict[str, str]]]:
    """The pages and the addresses to which the listed contexts lead."""
    return [(one.proto.page, dict(parse_qsl(one.proto.query_string))) for one in at.get("page_link")]


@pytest.mark.parametrize(("stack", "site"), [("encoder", "encoder.1.resid_post"), ("decoder", "decoder.1.resid_post")])
def test_states_lie_on_the_axes_of_held_out_text_and_neighbours_are_those_of_all_numbers(
        open_page, shipped, stack, site):
    ckpt = shipped("translate")
    at = open_page(text=TEXT, stack=stack, depth="2", point="own-2")
    assert not at.error
    others = states(ckpt, held(ckpt), site)
    run = transformer.run(ckpt, TEXT, "J'aime le vin rouge.", capture=site)
    axes = pca(others.values)
    rows = drawn(at)
    np.testing.assert_allclose(places(rows, False), axes.points, atol=1e-4)
    np.testing.assert_allclose(places(rows, True), axes.of(run[site]), atol=1e-4)
    tokens = [token.replace("▁", "␣") for token in run.tokens("src" if stack == "encoder" else "tgt")]
    assert [row["token"] for row in rows if row["of"] == "your text"] == tokens
    assert f"two axes with {sum(axes.variance):.1%} of the variance" in words(at)
    assert title(at) == f"{stack.capitalize()}, after layer 1"
    near = neighbours(others.values, run[site][2], 6)
    assert listed(at) == [f"{one.similarity:.2f}" for one in near]
    context, _ = others.context(near[0].at, 4)
    shown = [table_of(at, f"context at {near[0].similarity:.2f}")] if listed(at).count(listed(at)[0]) == 1 else []
    assert all(token.replace("▁", "␣") in html for html in shown for token in context if token.isalpha())
    assert f"{tokens[2]}** (your text, position 2)" in words(at) and "not seen in training" in words(at)


def test_embeddings_are_seen_among_those_of_the_vocabulary(open_page, shipped):
    ckpt = shipped("translate")
    at = open_page(text=TEXT, space="tokens", point="own-2")
    table = embeddings(ckpt, "src").float()
    id = ckpt.source_tokenizer.encode(TEXT)[2]
    rows = drawn(at)
    assert sum(row["of"] == "2,000 of 8,000 tokens" for row in rows) == 2_000
    other = next(row for row in rows if row["of"] == "2,000 of 8,000 tokens")
    ids = [int(row["where"].removeprefix("id ")) for row in rows if row["of"] == "2,000 of 8,000 tokens"]
    axes = pca(table[ids])
    np.testing.assert_allclose((other["x"], other["y"]), axes.points[0], atol=1e-4)
    np.testing.assert_allclose(places(rows, True)[2], axes.of(table[id]), atol=1e-4)
    near = [one for one in neighbours(table, table[id], 7) if one.at != id]
    assert bars(at, "Nearest embeddings")["cosine"] == pytest.approx([one.similarity for one in near], abs=1e-4)
    assert f"(id {id}): its nearest among all 8,000 tokens" in words(at)
    assert len({at for at, _ in neighbours_as_stored(table, id, count=6)} & {one.at for one in near}) >= 3


@pytest.mark.parametrize(("kind", "point"), [("encoder", 1), ("decoder", 2), ("cross", 3), ("cross", 9)])
def test_a_query_is_held_against_the_keys_that_score_highest_and_a_key_against_queries(
        open_page, shipped, kind, point):
    ckpt = shipped("translate")
    at = open_page(text=TEXT, space="heads", kind=kind, layer="1", head="2", point=f"own-{point}")
    assert not at.error
    queries, keys = queries_and_keys(ckpt, held(ckpt), kind, 1, 2)
    run = transformer.run(ckpt, TEXT, "J'aime le vin rouge.", capture=[f"{kind}.1.q", f"{kind}.1.k"])
    q, k = run[f"{kind}.1.q"][2], run[f"{kind}.1.k"][2]
    axes, rows = pca(torch.cat([queries.values, keys.values])), drawn(at)
    np.testing.assert_allclose(places(rows, False), axes.points, atol=1e-4)
    np.testing.assert_allclose(places(rows, True), axes.of(torch.cat([q, k])), atol=1e-4)
    assert dict.fromkeys(row["of"] for row in rows) == dict.fromkeys(["queries", "keys", "your queries", "your keys"])
    found = scores(ckpt, q[point][None], keys.values)[0] if point < len(q) else (
        scores(ckpt, queries.values, k[point - len(q)][None])[:, 0])
    assert listed(at) == [f"{value:.2f}" for value in found.topk(6).values.tolist()]
    assert f"The {'query' if point < len(q) else 'key'} of" in words(at)
    assert "Nothing turns these queries and keys by position." in words(at)
    (picture,) = at.get("vega_lite_chart")
    shapes = json.loads(picture.proto.spec)["layer"][0]["encoding"]["shape"]["scale"]["range"]
    assert shapes == ["circle", "square", "circle", "square"]


def test_what_rotary_positions_turn_is_said(open_page, place):
    at = open_page(checkpoint=place(encoder_layers=0, positions="rotary").id, text="Go on.", space="heads")
    assert "Queries and keys are those after the rotary turn" in words(at)


def test_scores_to_which_positions_add_are_said_to_lack_that(open_page, place):
    at = open_page(checkpoint=place(encoder_layers=0, positions="alibi").id, text="Go on.", space="heads")
    assert "What positions add to the scores is not in the picture." in words(at)


def test_what_is_chosen_is_in_the_link(open_page):
    at = open_page(text=TEXT)
    assert {name: at.query_params[name] for name in ("space", "stack", "depth", "projection")} == {
        "space": "states", "stack": "encoder", "depth": "2", "projection": "pca"}
    assert "point" not in at.query_params
    put(at, "heads_space_token", 3)
    assert at.query_params["point"] == "own-3" and "␣wine** (your text, position 3)" in words(at)
    put(at, "heads_depth", 0)
    assert at.query_params["depth"] == "0" and title(at) == "Encoder, before layer 0"
    assert "␣wine** (your text, position 3)" in words(at)  # the same token at another depth
    put(at, "heads_space", "heads")
    assert "point" not in at.query_params
    at = open_page(text=TEXT, point="held-40", points="open")
    row = drawn(at)[40]
    assert f"{row['token']}** (held-out text, {row['where']})" in words(at)
    table = table_of(at, "points")
    assert f"{row['x']:.4f}" in table and table.count("<tr>") == len(drawn(at)) + 1


@pytest.mark.parametrize("point", ["own-99", "held-99999", "own-x", "held", "their-1", "own--3"])
@pytest.mark.parametrize("space", ["states", "tokens", "heads"])
def test_a_point_that_is_not_there_is_the_longest_token(open_page, point, space):
    at = open_page(text=TEXT, space=space, stack="encoder", kind="encoder", point=point, depth="99", layer="99")
    assert not at.error and "␣like**" in words(at)


@pytest.mark.parametrize("name", ["write", "classify", "punctuate"])
@pytest.mark.parametrize("space", ["states", "tokens", "heads"])
def test_other_models_have_spaces_too(open_page, shipped, name, space):
    at = open_page(checkpoint=shipped(name).id, space=space)
    assert not at.error and len(drawn(at)) > 20
    if space != "tokens":
        assert "not seen in training" in words(at) and len(listed(at)) == 6


@pytest.mark.parametrize("space", ["states", "tokens", "heads"])
@pytest.mark.parametrize("name", WITHOUT_TOKENIZER)
def test_without_a_tokenizer_the_visitor_s_own_ids_are_drawn_alone(home, open_page, name, space):
    make_without_tokenizer(home, **WITHOUT_TOKENIZER[name])
    at = open_page(checkpoint=transformer.load(home / "imports" / "theirs").id, space=space, text="5 6 7 8 5")
    assert not at.error
    rows = drawn(at)
    if space == "tokens":
        assert sum(row["of"] == "all 30 tokens" for row in rows) == 30
    else:
        assert {row["of"] for row in rows} <= {"your text", "your queries", "your keys"}
        assert len(rows) == 5 * (1 + (space == "heads"))
        assert "only your own is drawn" in words(at) and "in your text" in words(at)
        assert len(listed(at)) == (4 if space == "states" else 5)


@pytest.mark.usefixtures("few_corpora")
@pytest.mark.parametrize("head", ["none", "masked"])
def test_an_encoder_without_classes_is_offered_this_view(home, visit, head):
    ckpt = make(home, "classifier", corpus=False, head=head, n_classes=None, pooling=None)
    at = visit("heads", view="spaces", checkpoint=ckpt.id, text="a dog is tall")
    assert "Spaces" in options(at, "heads_view") and not at.error
    assert len(drawn(at)) == len("a dog is tall") and "only your own is drawn" in words(at)


def test_one_token_alone_has_no_neighbours_and_an_empty_text_asks_for_one(home, open_page):
    ckpt = make_without_tokenizer(home, encoder_layers=0, decoder_layers=1)
    at = open_page(checkpoint=ckpt.id, text="5")
    assert not at.error and len(drawn(at)) == 1 and "There is no other token." in words(at)
    at = open_page(text=" ")
    assert "Type a text above" in at.info[0].value and not at.get("vega_lite_chart")
    at = open_page(checkpoint=ckpt.id, text="5 " * 21)
    assert "this text has 21 tokens" in at.error[0].value or "the text has 21 tokens" in at.error[0].value


def test_without_umap_its_installation_is_said_and_pca_drawn(open_page, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    at = open_page(text=TEXT, projection="umap")
    assert 'pip install "headsup-attention[spaces]". The picture below is PCA' in words(at, "info")
    assert not at.error and "of the variance" in words(at) and at.query_params["projection"] == "umap"


def test_umap_places_all_points_at_once(open_page, monkeypatch):
    given = []

    def umap(vectors, seed):
        given.append((len(vectors), seed))
        return vectors[:, :2]

    monkeypatch.setattr("ui.views.heads.spaces.umap", umap)
    at = open_page(text=TEXT, projection="umap", depth="1")
    assert given == [(len(drawn(at)), 0)] and "of the variance" not in words(at)
    at.run()
    assert len(given) == 1


@pytest.mark.parametrize(("name", "params"), [
    ("translate", {"stack": "encoder"}), ("translate", {"stack": "decoder"}), ("write", {}), ("classify", {}),
    ("translate", {"space": "heads", "kind": "cross"})])
def test_a_neighbour_leads_to_its_text(open_page, visit, shipped, name, params):
    ckpt = shipped(name)
    at = open_page(checkpoint=ckpt.id, **params)
    found = links(at)
    assert found and all(address["checkpoint"] == ckpt.id for _, address in found)
    html = next(element.value for element in at.get("html") if 'aria-label="context at' in element.value)
    marked = html.split("--weight:1.000")[1].split("<bdi>")[1].split("</bdi>")[0]
    page, address = found[0]
    there = visit(page.strip("/").removesuffix(".py").split("/")[-1], **address)
    assert not there.error
    rows = step_view_of(there)["rows"]
    assert any(marked == plain_label(token, longest=None) for row in rows for token in row["tokens"])
    if ckpt.config.decoder_layers and params.get("stack") != "encoder" and "kind" not in params:  # its newest token
        step = int(address["step"])
        *_, last = transformer.steps(ckpt, address["text"], max_steps=step + 1,
                                     forced=read_choices(address.get("choices", "")))
        assert plain_label(ckpt.tokenizer.piece(last.tokens[-1]), longest=None) == marked

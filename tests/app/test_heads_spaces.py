"""Spaces: the picture against the library, what is nearest to a point, links, and models with less to show."""

import json
import sys
from html import unescape
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

import transformer
from tests.app.heads_checkpoints import WITHOUT_TOKENIZER
from tests.rows import each_row
from transformer.analysis.spaces import embeddings, neighbours, pca, queries_and_keys, scores, states
from transformer.analysis.tensors import neighbours as neighbours_as_stored
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import held_out_sentences
from ui.figures.labels import plain_label
from ui.views.heads.spaces import FIELDS, SAMPLE, SPACES
from ui.views.stepper.address import read_choices

from .page import bars, put, rows_of, step_view_of, table_of, words

PAGE, OPENING = "heads", {"view": "spaces"}
TEXT, TARGET = "a dog is tall.", "o dog is toll."
pytestmark = pytest.mark.usefixtures("lasting")


def drawn(at) -> list[dict]:
    """The points of the picture, in order."""
    (picture,) = at.get("vega_lite_chart")
    return rows_of(picture)


def spec(at) -> dict:
    (picture,) = at.get("vega_lite_chart")
    return json.loads(picture.proto.spec)


def title(at) -> str:
    return spec(at)["title"]["text"]


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


@pytest.mark.parametrize(("stack", "depth"), [("encoder", 1), ("decoder", 2)])
def test_states_lie_on_the_axes_of_held_out_text_and_neighbours_are_those_of_all_numbers(open_page, made, stack, depth):
    ckpt, site = made("translator"), f"{stack}.{depth - 1}.resid_post"
    at = open_page(checkpoint=ckpt.id, text=TEXT, target=TARGET, stack=stack, depth=str(depth), point="own-2")
    others = states(ckpt, held(ckpt), site)
    run = transformer.run(ckpt, TEXT, TARGET, capture=site)
    axes = pca(others.values)
    rows = drawn(at)
    np.testing.assert_allclose(places(rows, False), axes.points, atol=1e-4)
    np.testing.assert_allclose(places(rows, True), axes.of(run[site]), atol=1e-4)
    tokens = [plain_label(token) for token in run.tokens("src" if stack == "encoder" else "tgt")]
    assert [row["token"] for row in rows if row["of"] == "your text"] == tokens
    assert f"{sum(axes.variance):.1%} of the variance" in words(at)
    assert title(at) == f"{stack.capitalize()}, after layer {depth - 1}"
    near = neighbours(others.values, run[site][2], 6)
    assert listed(at) == [f"{one.similarity:.2f}" for one in near]
    shown = [element.value for element in at.get("html") if 'aria-label="context at' in element.value]
    for one, html in zip(near, shown, strict=True):
        context, _ = others.context(one.at, 4)
        assert all(f"<bdi>{token}</bdi>" in html for token in context if token.isalpha())
    assert f"{tokens[2]}** (your text, position 2)" in words(at)


def test_embeddings_are_seen_among_those_of_the_vocabulary(open_page, shipped):
    """Of a large one, 2,000 are drawn."""
    ckpt, text = shipped("translate"), "I like red wine."
    at = open_page(checkpoint=ckpt.id, text=text, space="tokens", point="own-2")
    table = embeddings(ckpt, "src").float()
    id = ckpt.source_tokenizer.encode(text)[2]
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


@pytest.mark.parametrize(("kind", "point"), [("encoder", 1), ("decoder", 2), ("cross", 3), ("cross", 20)])
def test_a_query_is_held_against_the_keys_that_score_highest_and_a_key_against_queries(open_page, made, kind, point):
    ckpt, layer = made("translator"), made("translator").config.layers(kind) - 1
    at = open_page(checkpoint=ckpt.id, text=TEXT, target=TARGET, space="heads", kind=kind, layer=str(layer), head="1",
                   point=f"own-{point}")
    queries, keys = queries_and_keys(ckpt, held(ckpt), kind, layer, 1)
    run = transformer.run(ckpt, TEXT, TARGET, capture=[f"{kind}.{layer}.q", f"{kind}.{layer}.k"])
    q, k = run[f"{kind}.{layer}.q"][1], run[f"{kind}.{layer}.k"][1]
    axes, rows = pca(torch.cat([queries.values, keys.values])), drawn(at)
    np.testing.assert_allclose(places(rows, False), axes.points, atol=1e-4)
    np.testing.assert_allclose(places(rows, True), axes.of(torch.cat([q, k])), atol=1e-4)
    assert dict.fromkeys(row["of"] for row in rows) == dict.fromkeys(["queries", "keys", "your queries", "your keys"])
    found = scores(ckpt, q[point][None], keys.values)[0] if point < len(q) else (
        scores(ckpt, queries.values, k[point - len(q)][None])[:, 0])
    assert listed(at) == [f"{value:.2f}" for value in found.topk(6).values.tolist()]
    assert f"The {'query' if point < len(q) else 'key'} of" in words(at)
    assert spec(at)["layer"][0]["encoding"]["shape"]["scale"]["range"] == ["circle", "square", "circle", "square"]


@each_row(("positions", "told"), [
    ("sinusoidal", "Nothing turns these queries and keys by position."),
    ("rotary", "Queries and keys are those after the rotary turn"),
    ("alibi", "What positions add to the scores is not in the picture.")])
def test_what_positions_do_to_queries_and_keys_is_said(open_page, made, positions, told):
    at = open_page(checkpoint=made("writer", positions=positions).id, text="a dog", space="heads")
    assert told in words(at)


def test_what_is_chosen_is_in_the_link(open_page, made):
    id = made("translator").id
    at = open_page(checkpoint=id, text=TEXT, target=TARGET)
    assert {name: at.query_params[name] for name in ("space", "stack", "depth", "projection")} == {
        "space": "states", "stack": "encoder", "depth": "1", "projection": "pca"}
    assert "point" not in at.query_params
    put(at, "heads_space_token", 3)
    assert at.query_params["point"] == "own-3" and "o** (your text, position 3)" in words(at)
    put(at, "heads_depth", 0)
    assert at.query_params["depth"] == "0" and title(at) == "Encoder, before layer 0"
    assert "o** (your text, position 3)" in words(at)  # the same token at another depth
    put(at, "heads_space", "heads")
    assert "point" not in at.query_params
    at = open_page(checkpoint=id, text=TEXT, target=TARGET, point="held-40", points="open")
    row = drawn(at)[40]
    assert f"{row['token']}** (held-out text, {row['where']})" in words(at)
    table = table_of(at, "points")
    assert f"{row['x']:.4f}" in table and table.count("<tr>") == len(drawn(at)) + 1


@pytest.mark.parametrize("point", ["own-x", "held", "their-1", "own--3", "own-3-3", "-1"])
def test_what_names_no_point_is_none(point):
    with pytest.raises(ValueError, match="point|int|unpack"):
        FIELDS["point"].read(point)


@pytest.mark.parametrize(("space", "point"), [("states", "own-99"), ("states", "held-99999"), ("tokens", "own-99"),
                                              ("heads", "own-99")])
def test_a_point_that_is_not_there_is_the_longest_token(open_page, made, space, point):
    at = open_page(checkpoint=made("translator").id, text=TEXT, target=TARGET, stack="encoder", kind="encoder",
                   depth="99", layer="99", space=space, point=point)
    assert not at.error
    assert f"**</s>** ({'id 3' if space == 'tokens' else 'your text, position 14'})" in words(at)


@pytest.mark.parametrize(("kind", "space"), [("classifier", "states"), *(("writer", space) for space in SPACES)])
def test_other_models_have_spaces_too(open_page, made, kind, space):
    at = open_page(checkpoint=made(kind).id, space=space, text=TEXT)
    assert not at.error and len(drawn(at)) > 20
    if space != "tokens":
        assert "split, " in words(at, "caption") and len(listed(at)) == 6


@pytest.mark.parametrize(("name", "space"), [*((name, "states") for name in WITHOUT_TOKENIZER), ("one head", "tokens"),
                                             ("one head", "heads"), ("masked", "heads")])
def test_without_a_tokenizer_the_visitor_s_own_ids_are_drawn_alone(made_without_tokenizer, open_page, name, space):
    at = open_page(checkpoint=made_without_tokenizer(name).id, space=space, text="5 6 7 8 5")
    rows = drawn(at)
    if space == "tokens":
        assert sum(row["of"] == "all 30 tokens" for row in rows) == 30
        return
    assert not at.error and {row["of"] for row in rows} <= {"your text", "your queries", "your keys"}
    assert len(rows) == 5 * (1 + (space == "heads"))
    assert "only your own is drawn" in words(at) and "in your text" in words(at)
    assert len(listed(at)) == (4 if space == "states" else 5)


def test_one_token_alone_has_no_neighbours_and_an_empty_text_asks_for_one(made, made_without_tokenizer, open_page):
    alone = made_without_tokenizer("one head").id
    at = open_page(checkpoint=alone, text="5")
    assert not at.error and len(drawn(at)) == 1 and "There is no other token." in words(at)
    at = open_page(checkpoint=made("translator").id, text=" ")
    assert "Type a text above" in at.info[0].value and not at.get("vega_lite_chart")
    assert "text has 21 tokens" in open_page(checkpoint=alone, text="5 " * 21).error[0].value


def test_umap_places_all_points_at_once_and_where_it_is_missing_pca_is_drawn(open_page, made, monkeypatch):
    look = {"checkpoint": made("translator").id, "text": TEXT, "target": TARGET, "projection": "umap", "depth": "1"}
    monkeypatch.setitem(sys.modules, "umap", None)
    at = open_page(**look)
    assert 'pip install "headsup-attention[spaces]". The picture below is PCA' in words(at, "info")
    assert not at.error and "of the variance" in words(at) and at.query_params["projection"] == "umap"
    given = []
    monkeypatch.setattr("ui.views.heads.spaces.umap",
                        lambda vectors, seed: given.append((len(vectors), seed)) or vectors[:, :2])
    at = open_page(**look)
    at.run()
    assert given == [(len(drawn(at)), 0)] and "of the variance" not in words(at)


@pytest.mark.parametrize(("kind", "params"), [
    ("translator", {"stack": "encoder"}), ("translator", {"stack": "decoder"}), ("writer", {}), ("classifier", {}),
    ("translator", {"space": "heads", "kind": "cross"})])
def test_a_neighbour_leads_to_its_text(open_page, visit, made, kind, params):
    ckpt = made(kind)
    at = open_page(checkpoint=ckpt.id, text=TEXT, **params)
    found = links(at)
    assert found and all(address["checkpoint"] == ckpt.id for _, address in found)
    html = next(element.value for element in at.get("html") if 'aria-label="context at' in element.value)
    marked = unescape(html.split("--weight:1.000")[1].split("<bdi>")[1].split("</bdi>")[0])
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

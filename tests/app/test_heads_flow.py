"""Flow: the picture and what it says against the library, what is chosen in it, and models of every kind."""

import json

import pytest

from transformer.analysis.flow import Node, flow, update_writes
from transformer.analysis.token_inputs import inputs_of_text
from transformer.basics.formatting import in_percent
from ui.figures import plain_label
from ui.views.heads.flow import ALL, FEW, STEPS

from .page import components, html_of, put, words

PAGE, OPENING = "heads", {"view": "flow"}
TEXT, SO_FAR = "I like red wine.", "J'aime le vin"


def picture(at) -> dict:
    (one,) = components(at, "flow")
    return json.loads(one.json)


def pick(at, id: str) -> None:
    """What a click sends, after the component's own callback, which AppTest does not run."""
    kind, *rest = id.split("-")
    is_edge = len(rest) == 4
    at.session_state["heads_edge"] = (kind, *map(int, rest)) if is_edge else None
    at.session_state["heads_node"] = None if is_edge else Node(kind, int(rest[0]), rest[1], int(rest[2]))
    at.run()


@pytest.mark.parametrize("threshold", ["0.1", "2", "10"])
def test_the_picture_is_the_cut_of_the_library(open_page, shipped, threshold):
    at = open_page(text=TEXT, position="5", threshold=threshold)
    assert not at.error
    cut = flow(inputs_of_text(shipped("translate"), TEXT, SO_FAR)).cut(float(threshold) / 100)
    drawn = picture(at)
    assert [thread["worth"] for thread in drawn["threads"]] == pytest.approx(
        [edge.importance for edge in cut.edges], abs=1e-5)
    assert {dot["id"]: dot["worth"] for dot in drawn["dots"]} == pytest.approx(
        {"-".join(map(str, node)) if node.kind else "logits": worth for node, worth in cut.nodes.items()}, abs=1e-5)
    assert f"**{in_percent(cut.hidden)}** of the flow is hidden" in words(at)
    heads = [thread for thread in drawn["threads"] if thread["label"]]
    assert all(thread["label"][0] == {"encoder": "E", "decoder": "D", "cross": "X"}[thread["kind"]] for thread in heads)
    assert {thread["id"] == "" for thread in drawn["threads"] if not thread["label"]} == {True}
    assert drawn["answer"] == "rouge" and "“rouge”" in drawn["alt"]
    assert [stack["name"] for stack in drawn["stacks"]] == ["encoder", "decoder"]


def test_it_opens_with_no_more_than_can_be_read_and_a_threshold_of_one_s_own_stays(open_page):
    at = open_page(text=TEXT, position="5")
    assert "threshold" not in at.query_params
    assert sum(bool(thread["label"]) for thread in picture(at)["threads"]) <= FEW
    at.select_slider(key="heads_threshold_slider").set_value(5).run()
    assert at.query_params["threshold"] == "5"
    assert min(thread["worth"] for thread in picture(at)["threads"]) >= 0.05
    put(at, "heads_text", "He is tall.")
    assert at.select_slider(key="heads_threshold_slider").value == 5


def test_a_node_says_what_was_added_there(open_page, shipped):
    ckpt = shipped("translate")
    at = open_page(text=TEXT, position="5", node="decoder-1-mlp_out-5")
    read = inputs_of_text(ckpt, TEXT, SO_FAR)
    found = update_writes(read, Node("decoder", 1, "mlp_out", 5), count=6)
    said = words(at)
    assert "Decoder layer 1 feed-forward, “vin” (5)" in said
    for one in (*found.promoted, *found.suppressed):
        assert plain_label(ckpt.tokenizer.piece(one.id)) in said
    assert f"+{found.promoted[0].probability:.2f}" in said
    pick(at, "encoder-1-resid_mid-2")
    assert at.query_params["node"] == "encoder-1-resid_mid-2"
    assert "An encoder's row has no direct reading" in words(at)
    assert picture(at)["chosen"] == "encoder-1-resid_mid-2"


def test_an_edge_names_its_head_and_leads_to_it_and_all_are_in_a_table(open_page):
    at = open_page(text=TEXT, position="5")
    strongest = next(thread for thread in picture(at)["threads"] if thread["label"])
    pick(at, strongest["id"])
    assert at.query_params["edge"] == strongest["id"] and "node" not in at.query_params
    assert f"### {strongest['label']}" in words(at)
    kind, layer, head = strongest["id"].split("-")[:3]
    link = at.get("page_link")[0].proto
    assert f"kind={kind}&layer={layer}&head={head}" in link.query_string
    at.session_state["heads_flow_table"] = True
    at.run()
    assert html_of(at, "edges of the flow").count("<tr") == len(picture(at)["threads"]) + 1


@pytest.mark.parametrize("params", [
    {"node": "decoder-9-mlp_out-1"}, {"node": "decoder-0-mlp_out-99"}, {"node": "cross-0-pattern-1"}, {"node": "x"},
    {"edge": "decoder-0-99-1-1"}, {"edge": "x-0-0-0-0"}, {"edge": "decoder-0"}, {"threshold": "nan"},
    {"threshold": "-4"}, {"threshold": "4000"}])
def test_what_is_not_there_is_not_chosen(open_page, made, lasting, params):
    at = open_page(checkpoint=made("translator").id, text="a dog is cold.", target="o dog is", position="5", **params)
    assert not at.error and picture(at)["chosen"] == "decoder-1-resid_post-5"


@pytest.mark.parametrize("settings", [
    {"decoder_layers": 0, "head": "masked"}, {"encoder_layers": 0, "d_ff": 0}, {"encoder_layers": 0, "parallel": "one"},
    {"norm_position": "post"}, {"decoder_layers": 0, "n_classes": 3, "pooling": "first", "pooler": "tanh"}])
def test_every_kind_of_model_is_drawn(open_page, place, settings):
    ckpt = place(**settings)
    at = open_page(checkpoint=ckpt.id, text="I am cold.", threshold=str(STEPS[0]))
    assert not at.error
    ids = {dot["id"] for dot in picture(at)["dots"]}
    assert {end for thread in picture(at)["threads"] for end in (thread["source"], thread["target"])} <= ids
    for node in sorted(ids)[::12]:
        if node != "logits":
            pick(at, node)
            assert not at.error and picture(at)["chosen"] == node


def test_the_tokens_that_nothing_comes_from_are_left_out_of_a_long_text(open_page, shipped):
    id = shipped("write").id
    at = open_page(checkpoint=id, text="To be, or not to be, that is the question:", threshold="3")
    (stack,) = picture(at)["stacks"]
    columns = {column["position"] for column in stack["columns"]}
    assert columns == {dot["position"] for dot in picture(at)["dots"]} != set()
    assert "tokens are left out: nothing that is drawn comes from them." in words(at)
    at = open_page(checkpoint=id, text="To be", more="1", threshold="3")
    assert len(picture(at)["stacks"][0]["columns"]) <= ALL and "left out" not in words(at)


def test_a_text_too_long_to_be_followed_is_said(open_page, monkeypatch):
    monkeypatch.setattr("transformer.analysis.flow.MOST", 10)
    at = open_page(text=TEXT, position="5")
    assert "ways through the heads of this model" in at.error[0].value

"""Query and keys on By hand, without a browser: what the script is sent is the model's own, and a link brings back what
was dragged."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from ui.views.by_hand.dragged import moved_places, written
from ui.views.by_hand.vectors import DRAWN

from .page import components, put

TEXT = "The house is white."
HEAD = {"kind": "decoder", "layer": "1", "head": "1", "row": "3"}
ROWS = [("translate", "encoder", 1, 0, 2), ("translate", "decoder", 1, 1, 3), ("translate", "cross", 1, 3, 0),
        ("write", "decoder", 2, 1, 9)]


@pytest.fixture
def open_vectors(visit):
    return lambda **params: visit("by_hand", **{"text": TEXT, "part": "vectors", **params})


def drawn(at: AppTest) -> dict:
    """What the script is sent."""
    (one,) = components(at, "by_hand_vectors")
    return json.loads(one.json)


def weights_of(message: dict, temperature: float = 1.0) -> np.ndarray:
    """As the script computes them, from what it is sent."""
    query = np.array(message["query"]["place"])
    scores = np.array([query @ key["place"] / message["divisor"] + key["bias"] for key in message["keys"]])
    if cap := message["cap"]:
        scores = cap * np.tanh(scores / cap)
    powers = np.exp((scores - scores.max()) / temperature)
    return powers / powers.sum()


@pytest.mark.parametrize(("name", "kind", "layer", "head", "row"), ROWS)
def test_untouched_at_temperature_1_the_weights_are_the_models_own(open_vectors, shipped, name, kind, layer, head, row):
    ckpt = shipped(name)
    at = open_vectors(checkpoint=ckpt.id, kind=kind, layer=str(layer), head=str(head), row=str(row))
    assert not at.error
    message = drawn(at)
    step = transformer.start(ckpt, TEXT) if name == "write" else list(transformer.steps(ckpt, TEXT))[-1]
    own = step.attentions[kind][layer, head, row].numpy()
    seen = [int(key["id"]) for key in message["keys"]]
    assert sorted(seen) == [*range(row + 1 if kind == "decoder" else len(own))]
    assert [own[place] for place in seen] == sorted((own[place] for place in seen), reverse=True)
    np.testing.assert_allclose(weights_of(message), own[seen], atol=2e-5)
    np.testing.assert_allclose([key["weight"] for key in message["keys"]], own[seen], atol=1e-6)
    q, k, v = (rows[layer][head].numpy() for rows in step.projections(kind))
    assert message["query"]["place"][1] == 0
    for key in message["keys"]:
        product = np.dot(message["query"]["place"], key["place"])
        assert product == pytest.approx(float(q[row] @ k[int(key["id"])]), rel=1e-4, abs=1e-3)
        np.testing.assert_allclose(key["value"], v[int(key["id"])], rtol=1e-5, atol=1e-6)
    assert message["drawn"] == DRAWN and (message["temperature"], message["moved"]) == (1, {})


def test_positions_that_add_to_scores_and_a_cap_are_sent(open_vectors, place):
    ckpt = place(encoder_layers=0, positions="alibi", window=3, attention_scale=0.3, score_cap=2.0)
    at = open_vectors(checkpoint=ckpt.id, text="I am cold.", kind="decoder", layer="1", head="1", row="5")
    message = drawn(at)
    own = transformer.start(ckpt, "I am cold.").attentions["decoder"][1, 1, 5].numpy()
    np.testing.assert_allclose(weights_of(message), [own[int(key["id"])] for key in message["keys"]], atol=2e-5)
    assert message["cap"] == 2 and len(message["keys"]) == 3 and any(key["bias"] for key in message["keys"])


def test_a_link_brings_back_what_was_dragged_and_turned_and_has_nothing_of_it_untouched(open_vectors, visit):
    assert not {"moved", "temperature"} & {*open_vectors(**HEAD).query_params}
    at = open_vectors(**HEAD, moved="q:7.5:1.25,2:-3:4", temperature="2.5")
    message = drawn(at)
    assert message["moved"] == {"q": [7.5, 1.25], "2": [-3, 4]}
    assert message["temperature"] == 2.5
    assert {"moved": "q:7.5:1.25,2:-3:4", "temperature": "2.5", **HEAD}.items() <= at.query_params.items()
    assert "column" not in at.query_params and "d_k" in at.query_params
    assert drawn(visit("by_hand", **at.query_params)) == message
    put(at, "by_hand_part", "steps")
    assert not {"moved", "temperature", "kind", "row", "checkpoint"} & {*at.query_params}


def test_what_was_dragged_does_not_go_over_to_another_head(open_vectors):
    at = open_vectors(**HEAD, moved="2:-3:4", temperature="2")
    put(at, "by_hand_row", 2)
    assert drawn(at)["moved"] == {} and drawn(at)["temperature"] == 2
    assert "moved" not in at.query_params


@pytest.mark.parametrize("link", ["x", "q:1", "q:1:2:3", "q:a:b", "q:nan:1", "q:inf:0", "-1:0:0", "99999:0:0", "q:1:1;",
                                  "²:1:1"])
def test_what_cannot_be_read_leaves_everything_where_it_was(open_vectors, link):
    with pytest.raises(ValueError, match="is (no place|neither)|could not convert"):
        moved_places(link)
    at = open_vectors(**HEAD, moved=link, temperature="nan")
    assert not at.error and drawn(at)["moved"] == {} and drawn(at)["temperature"] == 1


def test_places_are_written_as_they_are_read_and_kept_within_bounds():
    text = "q:7.5:-0.1235,12:1e+04:-1e+04"
    assert written(moved_places(text)) == text
    assert moved_places("q:1e9:-1e9") == {"q": (1e4, -1e4)}
    assert len(moved_places(",".join(f"{at}:1:1" for at in range(50)))) == DRAWN + 1
    assert written({}) is None


def test_the_lesson_s_head_looks_at_the_article_and_carries_less_when_it_is_turned_round(open_vectors):
    """What the stops about this picture say."""
    message = drawn(open_vectors(**HEAD))
    assert [key["label"] for key in message["keys"]] == ["La", "maison", "<s>", "est"]
    assert [f"{weights_of(message, at)[0]:.0%}" for at in (0.1, 1, 2, 10)] == ["100%", "92%", "68%", "33%"]
    lengths = {key["label"]: np.linalg.norm(key["value"]) for key in message["keys"]}
    assert [f"{lengths[label]:.1f}" for label in ("La", "est", "<s>")] == ["16.4", "10.1", "7.3"]
    values = np.array([key["value"] for key in message["keys"]])
    assert f"{np.linalg.norm(weights_of(message) @ values):.1f}" == "15.5"
    message["query"]["place"] = [-message["query"]["place"][0], 0]
    assert np.linalg.norm(weights_of(message) @ values) == pytest.approx(8, abs=0.6)

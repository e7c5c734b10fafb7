"""The diagram says what the model does, in its order, and nothing lies on anything else."""

from itertools import combinations

import pytest

from ui.figures import describe_diagram, model_diagram
from ui.figures.diagram import MOST_DRAWN, drawn_layers

BASE = {"d_model": 160, "n_heads": 4, "width": 40, "d_ff": 640, "encoder_layers": 3, "decoder_layers": 2,
        "vocab_size": 4000, "norm_position": "pre", "norm": "norm",
        "embedded": "+ sines of the positions", "attended": "", "embedding_scale": True,
        "tie_embeddings": True, "pooling": "max", "n_classes": 5}
ENCODER, DECODER = {"source": 7, "target": None}, {"source": None, "target": 12}
BOTH = {"source": 7, "target": 12}
SELF, CROSS, FORWARD = "masked self-attention", "cross-attention", "feed-forward"


def drawn(tokens=BOTH, shown=None, **changes):
    sides = {"source": "encoder_layers", "target": "decoder_layers"}
    missing = {sides[side]: 0 for side, length in tokens.items() if length is None}
    return model_diagram(BASE | missing | changes, **tokens, outlined=shown)


def names(diagram):
    return [block["lines"][0] for block in diagram["blocks"] if block["role"] != "number"]


def way(diagram, start):
    """The blocks from `start` along the flow, and the shapes on the way."""
    blocks = {block["id"]: block for block in diagram["blocks"] if "id" in block}
    after = {arrow["from"]: arrow for arrow in diagram["arrows"] if arrow["role"] == "flow"}
    (at,) = [block["id"] for block in blocks.values() if block["lines"][0] == start]
    found, shapes = [start], []
    while at in after:
        shapes.append(after[at]["shape"])
        at = after[at]["to"]
        found.append(blocks[at]["lines"][0])
    return found, shapes


def test_an_encoder_decoder_is_drawn_from_ids_to_the_next_token():
    diagram = drawn()
    blocks, shapes = way(diagram, "source token ids")
    layer = ["norm", "self-attention", "+", "norm", FORWARD, "+"]
    embedding = ["embedding × √160", "+ sines of the positions"]
    assert blocks == ["source token ids", *embedding, *layer * 3, "final norm", "memory"]
    assert shapes == ["(1, 7)", *["(1, 7, 160)"] * (len(blocks) - 2)]
    blocks, shapes = way(diagram, "target token ids")
    layer = ["norm", SELF, "+", "norm", CROSS, "+", "norm", FORWARD, "+"]
    assert blocks == ["target token ids", *embedding, *layer * 2, "final norm", "logits", "softmax of the last row",
                      "next token"]
    assert shapes == ["(1, 12)", *["(1, 12, 160)"] * (len(blocks) - 4), "(1, 12, 4000)", "(4000,)"]


@pytest.mark.parametrize(("norm", "layer"), [
    ("pre", ["norm", SELF, "+", "norm", FORWARD, "+"]), ("post", [SELF, "+", "norm", FORWARD, "+", "norm"]),
    ("both", ["norm", SELF, "norm", "+", "norm", FORWARD, "norm", "+"]),
    ("output", [SELF, "norm", "+", FORWARD, "norm", "+"])])
def test_norms_stand_where_the_model_has_them(norm, layer):
    blocks, _ = way(drawn(DECODER, norm_position=norm), "token ids")
    assert blocks[3:3 + 2 * len(layer)] == layer * 2
    assert ("final norm" in blocks) == (norm != "post")
    blocks, _ = way(drawn(DECODER, norm_position=norm, first_norm=False), "token ids")
    assert (blocks[3] == "norm") is False and ("norm" in blocks[3 + len(layer):])


@pytest.mark.parametrize("norm", ["pre", "post", "both", "output"])
def test_each_part_is_added_to_what_went_in(norm):
    diagram = drawn(norm_position=norm)
    adds = {block["id"] for block in diagram["blocks"] if block["role"] == "add"}
    residual = [arrow["to"] for arrow in diagram["arrows"] if arrow["role"] == "residual"]
    assert sorted(residual) == sorted(adds)
    assert len(adds) == 3 * 2 + 2 * 3


def test_the_memory_goes_into_every_cross_attention():
    diagram = drawn()
    blocks = {block["id"]: block["lines"][0] for block in diagram["blocks"] if "id" in block}
    arrows = [arrow for arrow in diagram["arrows"] if arrow["role"] == "memory"]
    assert [(blocks[arrow["from"]], blocks[arrow["to"]], arrow["shape"]) for arrow in arrows] == [
        ("memory", CROSS, "(1, 7, 160)")] * 2
    assert not [arrow for arrow in drawn(DECODER)["arrows"] if arrow["role"] == "memory"]


def test_an_encoder_alone_ends_in_a_class():
    blocks, shapes = way(drawn(ENCODER), "token ids")
    assert blocks[-4:] == ["final norm", "max over tokens", "linear", "class"]
    assert shapes[-3:] == ["(1, 7, 160)", "(1, 160)", "(1, 5)"]


@pytest.mark.parametrize(("changes", "blocks", "shapes"), [
    ({"pooling": "first", "pooler": "tanh"}, ["first token", "linear, tanh", "linear", "class"],
     ["(1, 7, 160)", "(1, 160)", "(1, 160)", "(1, 5)"]),
    ({"n_classes": None, "pooling": None, "head": "masked", "activation": "gelu"},
     ["linear, gelu, norm", "logits", "each token"], ["(1, 7, 160)", "(1, 7, 160)", "(1, 7, 4000)"]),
    ({"n_classes": None, "pooling": None, "head": "none"}, ["final rows"], ["(1, 7, 160)"]),
])
def test_an_encoder_alone_ends_in_its_head(changes, blocks, shapes):
    found, between = way(drawn(ENCODER, norm_position="post", **changes), "token ids")
    assert found[-len(blocks) - 1:] == ["norm", *blocks]
    assert between[-len(shapes):] == shapes


@pytest.mark.parametrize(("positions", "heads"), [
    ({"embedded": "+ learned positions"}, "4 heads, each 40 wide"), ({"embedded": ""}, "4 heads, each 40 wide"),
    ({"embedded": "", "attended": "rotary"}, "4 heads, each 40 wide, rotary")])
def test_positions_come_in_where_they_do(positions, heads):
    diagram = drawn(DECODER, **positions, embedding_scale=False)
    assert way(diagram, "token ids")[0][1:3] == ["embedding", positions["embedded"] or "norm"]
    assert {block["lines"][1] for block in diagram["blocks"] if block["role"] == "attention"} == {heads}


@pytest.mark.parametrize("layers", [1, MOST_DRAWN, MOST_DRAWN + 1, 12, 96])
def test_every_layer_can_be_reached_once_and_the_shown_one_is_marked(layers):
    diagram = drawn(encoder_layers=layers, decoder_layers=layers, shown=("cross", layers // 2))
    reached = [(block["kind"], block["layer"]) for block in diagram["blocks"] if block.get("name")]
    assert sorted(reached) == [(kind, at) for kind in ("cross", "decoder", "encoder") for at in range(layers)]
    (shown,) = [block for block in diagram["blocks"] if block.get("shown")]
    assert (shown["kind"], shown["layer"]) == ("cross", layers // 2)
    assert len(diagram["frames"]) == 2 * min(layers, 3 if layers > MOST_DRAWN else layers)


def test_layers_drawn_as_one_are_all_but_the_first_and_the_last():
    assert [list(part) for part in drawn_layers(8)] == [[0], [1, 2, 3, 4, 5, 6], [7]]
    assert [frame["title"] for frame in drawn(DECODER, decoder_layers=8)["frames"]] == [
        "decoder layer 0", "decoder layers 1 … 6 (× 6)", "decoder layer 7"]


@pytest.mark.parametrize("changes", [{}, {"norm_position": "post"}, {"norm_position": "both"},
                                     {"encoder_layers": 96, "decoder_layers": 12},
                                     {"embedding_norm": True, "type_vocab": 2}])
@pytest.mark.parametrize("tokens", [BOTH, ENCODER, DECODER])
def test_blocks_lie_inside_and_never_on_each_other(tokens, changes):
    if tokens["source"] is None or tokens["target"] is None:
        changes = {name: value for name, value in changes.items() if not name.endswith("_layers")}
    diagram = drawn(tokens, **changes)

    def apart(a, b):
        return (a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
                or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"])

    for part in [*diagram["blocks"], *diagram["frames"]]:
        assert 0 <= part["x"] <= part["x"] + part["width"] <= diagram["width"]
        assert 0 <= part["y"] <= part["y"] + part["height"] <= diagram["height"]
    solid = [block for block in diagram["blocks"] if block["role"] != "number"]
    assert all(apart(a, b) for a, b in combinations(solid, 2))
    numbers = [block for block in diagram["blocks"] if block["role"] == "number"]
    assert all(apart(a, b) for a, b in combinations(numbers, 2))
    many = [block for block in diagram["blocks"] if block["role"] == "many"]
    for number in numbers:
        assert any(box["kind"] == number["kind"] and box["x"] <= number["x"] and box["y"] <= number["y"]
                   and number["x"] + number["width"] <= box["x"] + box["width"]
                   and number["y"] + number["height"] <= box["y"] + box["height"] for box in many)


def test_arrows_end_at_their_blocks():
    diagram = drawn()
    blocks = {block["id"]: block for block in diagram["blocks"] if "id" in block}
    for arrow in diagram["arrows"]:
        (x, y), block = arrow["points"][-1], blocks[arrow["to"]]
        assert block["x"] <= x <= block["x"] + block["width"]
        assert block["y"] <= y <= block["y"] + block["height"]


def test_it_is_described_in_a_sentence():
    assert describe_diagram(drawn()) == (
        "The model from token ids to next token: 5 layers drawn, 7 attention blocks to choose from.")
    assert "to class" in describe_diagram(drawn(ENCODER))


def test_a_modern_decoder_is_drawn_as_what_it_is():
    diagram = drawn(DECODER, norm="RMS norm", gated=True, kv_heads=2, attended="rotary", embedded="")
    blocks, _ = way(diagram, "token ids")
    assert blocks[2:8] == ["RMS norm", SELF, "+", "RMS norm", "gated feed-forward", "+"]
    assert "final RMS norm" in blocks
    assert {block["lines"][1] for block in diagram["blocks"] if block["role"] == "attention"} == {
        "4 heads (2 kv) × 40, rotary"}

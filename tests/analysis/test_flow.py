"""The flow of information against sums by hand, and what a threshold leaves of it."""

import pytest
import torch

import transformer
from tests.analysis.test_direct import blurred
from tests.choices import choices
from transformer.analysis.direct import direct_effect
from transformer.analysis.flow import TOP, Node, _shares, attention_parts, flow, update_writes
from transformer.analysis.token_inputs import inputs_of_text
from transformer.model.changes import scale
from transformer.settings.config import ModelConfig

TEXT, TARGET = "I am cold.", "He is tall"
SHAPES = [
    {}, {"norm_position": "post"}, {"encoder_layers": 0}, {"encoder_layers": 0, "d_ff": 0},
    {"encoder_layers": 0, "norm_kind": "rms", "kv_heads": 1, "positions": "rotary", "gated": True},
    {"encoder_layers": 0, "parallel": "two"}, {"encoder_layers": 0, "parallel": "one", "norm_kind": "scale"},
    {"encoder_layers": 0, "norm_position": "both", "norm_kind": "rms", "residual_scale": 0.5},
    {"norm_position": "output"}, {"positions": "relative", "qkv_clip": 0.5},
    {"encoder_layers": 0, "decoder_layers": 1, "n_heads": 1},
    {"decoder_layers": 0, "n_classes": 3, "pooling": "mean"}, {"decoder_layers": 0, "n_classes": 3, "pooling": "max"},
    {"decoder_layers": 0, "n_classes": 3, "pooling": "first", "pooler": "tanh", "norm_position": "post"},
    {"decoder_layers": 0, "head": "masked", "norm_position": "post", "embedding_norm": True}]


@pytest.fixture(params=SHAPES, ids=str, scope="module")
def ckpt(request, make_checkpoint):
    return blurred(make_checkpoint(**request.param))


@pytest.fixture(scope="module")
def read(ckpt, target_for):
    return inputs_of_text(ckpt, TEXT, target_for(ckpt, TARGET))


def shares(parts: list[torch.Tensor], total: torch.Tensor) -> list[float]:
    """Proximities as the paper has them, one part at a time."""
    near = [max(0.0, float(total.abs().sum() - (total - part).abs().sum())) for part in parts]
    assert sum(near) > 0
    return [one / sum(near) for one in near]


def test_the_parts_of_every_attention_block_add_up_to_its_rows(ckpt, read):
    run = transformer.run(ckpt, TEXT, None if read.tgt is None or read.src is None else TARGET,
                          capture=[f"{kind}.*.resid_mid" for kind in ckpt.config.kinds])
    for kind in ckpt.config.kinds:
        for layer in range(ckpt.config.layers(kind)):
            parts = attention_parts(read, kind, layer)
            total = parts.residual + parts.heads.sum((1, 2)) + parts.constant
            torch.testing.assert_close(total, parts.total, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(total, run[f"{kind}.{layer}.resid_mid"], atol=1e-5, rtol=1e-5)


def value(found, node: Node) -> float:
    return float(found.importance[node.name][node.position])


def test_all_that_comes_into_a_node_is_its_importance_and_what_a_threshold_cuts_off_is_hidden(read):
    found = flow(read)
    into, out = {}, {}
    for edge in found.edges():
        into[edge.target] = into.get(edge.target, 0.0) + edge.importance
        out[edge.source] = out.get(edge.source, 0.0) + edge.importance
        assert edge.importance == pytest.approx(edge.share * value(found, edge.target), abs=1e-6)
    for node, worth in into.items():
        assert worth == pytest.approx(value(found, node), abs=1e-5)
    for node, worth in out.items():
        assert worth == pytest.approx(value(found, node), abs=1e-5)
    assert value(found, TOP) == 1
    bottoms = [node for node in out if node not in into]
    assert {(node.layer, node.site) for node in bottoms} == {(0, "resid_pre")}
    assert sum(out[node] for node in bottoms) == pytest.approx(1, abs=1e-5)
    whole = found.cut(0)
    assert whole.hidden == pytest.approx(0, abs=1e-5)
    assert len(whole.edges) == len(set(whole.edges)) == len([*found.edges()])
    assert set(whole.nodes) == {node for edge in whole.edges for node in (edge.source, edge.target)}
    for threshold in 0.02, 0.1, 0.3, 1:
        cut = found.cut(threshold)
        assert cut.hidden == pytest.approx(1 - paths(cut.edges, TOP), abs=1e-5)
        assert all(edge.importance >= threshold and edge.source in cut.nodes and edge.target in cut.nodes
                   for edge in cut.edges)
        reached = {TOP}
        for edge in found.edges(threshold):  # from the top down
            if edge.target in reached:
                reached.add(edge.source)
        assert set(cut.nodes) == reached
    with pytest.raises(ValueError, match="the threshold is 4; give a share from 0 to 1"):
        found.cut(4)


def paths(edges, node: Node) -> float:
    """The worth of all ways from a node down to tokens, each the product of its shares."""
    if (node.layer, node.site) == (0, "resid_pre"):
        return 1.0
    return sum(edge.share * paths(edges, edge.source) for edge in edges if edge.target == node)


def test_a_layer_by_hand(make_checkpoint):
    """A decoder of one layer and two heads: every share one by one."""
    ckpt = blurred(make_checkpoint(encoder_layers=0, decoder_layers=1))
    read = inputs_of_text(ckpt, TEXT)
    run = transformer.run(ckpt, TEXT, capture="decoder.0.*")
    x, pattern, v, mid, out, end = (run[f"decoder.0.{site}"] for site in (
        "resid_pre", "pattern", "v", "resid_mid", "mlp_out", "resid_post"))
    weight = ckpt.model.decoder.layers[0].attention.out_proj.weight
    found, last = flow(read), len(x) - 1
    kept, added = shares([mid[last], out[last]], end[last])
    assert value(found, Node("decoder", 0, "mlp_out", last)) == pytest.approx(added, abs=1e-5)
    parts = [x[last]] + [pattern[head, last, at] * (weight[:, head * 8:head * 8 + 8] @ v[head, at])
                         for head in range(2) for at in range(last + 1)]
    expected = shares(parts, mid[last])
    assert value(found, Node("decoder", 0, "resid_mid", last)) == pytest.approx(kept + added, abs=1e-5)
    edges = {(edge.head, edge.source.position): edge for edge in found.edges() if edge.target.site == "resid_mid"}
    for number, share in enumerate(expected):
        key = (None, last) if number == 0 else divmod(number - 1, last + 1)
        assert (edges[key].importance if key in edges else 0.0) == pytest.approx(share, abs=1e-5)
    for at in range(last):
        assert value(found, Node("decoder", 0, "resid_pre", at)) == pytest.approx(
            expected[1 + at] + expected[2 + last + at], abs=1e-5)


def test_cross_attention_leads_into_the_encoder_and_down_to_the_source(make_checkpoint):
    ckpt = blurred(make_checkpoint(decoder_layers=1))
    read = inputs_of_text(ckpt, TEXT, TARGET)
    found = flow(read)
    parts = attention_parts(read, "cross", 0)
    heads, keys = parts.heads.shape[1:3]
    expected = shares([parts.residual[-1], *parts.heads[-1].flatten(0, 1)], parts.total[-1])
    worth = found.importance["encoder.1.resid_post"]
    torch.testing.assert_close(worth, torch.tensor(expected[1:]).view(heads, keys).sum(0), atol=1e-5, rtol=1e-4)
    crossing = [edge for edge in found.edges() if edge.kind == "cross"]
    assert {edge.source.name for edge in crossing} == {"encoder.1.resid_post"}
    assert {edge.target.name for edge in crossing} == {"cross.0.resid_mid"}
    assert float(found.importance["encoder.0.resid_pre"].sum()) == pytest.approx(float(worth.sum()), abs=1e-5)


@pytest.mark.parametrize("pooling", choices(ModelConfig, "pooling"))
def test_a_class_begins_at_what_is_pooled(make_checkpoint, pooling):
    ckpt = blurred(make_checkpoint(decoder_layers=0, n_classes=3, pooling=pooling))
    read = inputs_of_text(ckpt, TEXT)
    x = transformer.run(ckpt, TEXT, capture="encoder.final")["encoder.final"]
    won = {"mean": torch.full_like(x, 1 / len(x)), "first": torch.zeros_like(x).index_fill(0, torch.tensor([0]), 1),
           "max": torch.zeros_like(x).scatter(0, x.argmax(0)[None], 1)}[pooling]
    expected = shares([*(x * won)], (x * won).sum(0))
    torch.testing.assert_close(flow(read).importance["encoder.1.resid_post"], torch.tensor(expected), atol=1e-5,
                               rtol=1e-4)


def test_a_masked_language_model_is_followed_from_a_position(make_checkpoint):
    read = inputs_of_text(make_checkpoint(decoder_layers=0, head="masked"), TEXT)
    last = flow(read, 3).importance["encoder.1.resid_post"]
    assert last.tolist() == [float(at == 3) for at in range(len(read.ids))]
    with pytest.raises(ValueError, match="position is 99; choose one from 0 to"):
        flow(read, 99)


def test_no_part_that_leads_away_has_a_share():
    """Where all parts cancel out, they are shared out by their size."""
    parts = torch.tensor([[[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]]])
    assert _shares(lambda by: by(parts, torch.zeros(1, 2))).tolist() == [[0.5, 0.5, 0]]
    assert _shares(lambda by: by(parts, torch.tensor([[3.0, 3.0]]))).tolist() == [[1, 0, 0]]


def test_what_updates_write_adds_up_to_the_direct_effects(make_checkpoint):
    """At the prediction's own position the update of the feed-forward part is worth its direct effect, biases apart."""
    ckpt = make_checkpoint(encoder_layers=0, logits_bias=False)  # its biases are 0
    read = inputs_of_text(ckpt, TEXT)
    size, last = ckpt.config.vocab_size, len(read.ids) - 1
    for layer in 0, 1:
        written = update_writes(read, Node("decoder", layer, "mlp_out", last), count=size).promoted
        effects = torch.tensor([float(direct_effect(read, id).feed_forward[layer]) for id in range(size)])
        for one in written:
            assert one.probability == pytest.approx(float(effects[one.id] - effects.mean()), abs=1e-4)
    heads = torch.tensor([float(direct_effect(read, id).heads["decoder"][0].sum()) for id in range(size)])
    mid = update_writes(read, Node("decoder", 0, "resid_mid", last), count=size).promoted
    assert mid[0].probability == pytest.approx(float((heads - heads.mean()).max()), abs=1e-4)


@pytest.mark.parametrize("pooling", choices(ModelConfig, "pooling"))
def test_the_updates_of_a_classifier_add_up_to_its_logits(make_checkpoint, pooling):
    """All that any position was given, over all positions, is the whole prediction, but for biases after it."""
    ckpt, sums = blurred(make_checkpoint(decoder_layers=0, n_classes=3, pooling=pooling)), torch.zeros(3)
    read = inputs_of_text(ckpt, TEXT)
    for site in "0.resid_pre", "0.resid_mid", "0.mlp_out", "1.resid_mid", "1.mlp_out":
        layer, name = site.split(".")
        for at in range(len(read.ids)):
            for one in update_writes(read, Node("encoder", int(layer), name, at), count=3).promoted:
                sums[one.id] += one.probability
    model = ckpt.model
    features = model.pool(model.encode(read.src).x, read.src)[0] - model.encoder.norm.bias
    logits = model.output.weight @ features
    torch.testing.assert_close(sums, logits - logits.mean(), atol=1e-4, rtol=1e-4)


def test_every_node_has_a_reading_or_says_why_not(ckpt, read):
    for node in flow(read).cut(0.01).nodes:
        if node == TOP:
            continue
        if node.kind == "encoder" and read.tgt is not None:
            with pytest.raises(ValueError, match="an encoder's row has no direct reading"):
                update_writes(read, node)
        else:
            written = update_writes(read, node, count=2)
            assert written.promoted[0].probability >= 0 >= written.suppressed[0].probability
    with pytest.raises(ValueError, match="there is no node"):
        update_writes(read, Node("decoder" if read.tgt is not None else "encoder", 9, "mlp_out", 0))


def test_what_cannot_be_followed_is_refused_and_watch_called_after_every_part_of_the_rest(make_checkpoint, writer,
                                                                                        monkeypatch):
    called = []
    flow(inputs_of_text(writer, TEXT), watch=lambda done, of: called.append((done, of)))
    assert called == [(number, 4) for number in range(1, 5)]
    with pytest.raises(ValueError, match="the flow is that of the model as it is"):
        flow(inputs_of_text(writer, TEXT, change=[scale("D0H0", 0.0)]))
    with pytest.raises(ValueError, match="followed from the last position"):
        flow(inputs_of_text(writer, TEXT), 0)
    with pytest.raises(ValueError, match="needs a classifier or a decoder"):
        flow(inputs_of_text(make_checkpoint(decoder_layers=0, head="none"), TEXT))
    monkeypatch.setattr("transformer.analysis.flow.MOST", 10)
    with pytest.raises(ValueError, match="ways through the heads of this model, and at most 10"):
        flow(inputs_of_text(writer, TEXT))

"""Maps of patching against one changed run for each cell; estimates against a small step in their direction."""

import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.analysis.patching import (
    METRICS,
    PARTS,
    EstimateError,
    TextPair,
    estimate,
    patch_heads,
    patch_path,
    patch_positions,
    patched,
    read_pair,
)
from transformer.analysis.token_inputs import inputs_of_text
from transformer.checkpoints.checkpoint import Checkpoint

CLEAN, OTHER, TARGET = "I am cold.", "I am tall.", "Go on"
CLOSE = {"atol": 2e-4, "rtol": 2e-4}
SHAPES = {
    "translates": {}, "writes": {"encoder_layers": 0}, "post-norm": {"norm_position": "post"},
    "classifies": {"decoder_layers": 0, "n_classes": 3, "pooling": "mean"},
    "masked": {"decoder_layers": 0, "head": "masked"}, "relative": {"positions": "relative"},
    "rotary, grouped, gated": {"encoder_layers": 0, "positions": "rotary", "kv_heads": 1, "gated": True},
    "attention alone": {"encoder_layers": 0, "d_ff": 0}, "parallel": {"encoder_layers": 0, "parallel": "one"},
}


@pytest.fixture(params=SHAPES)
def ckpt(request, make_checkpoint) -> Checkpoint:
    return make_checkpoint(**SHAPES[request.param])


def pair_of(ckpt: Checkpoint, **options: object) -> TextPair:
    target = TARGET if ckpt.config.task == "translation" else None
    return read_pair(*(inputs_of_text(ckpt, text, target) for text in (CLEAN, OTHER)), **options)


def target_of(pair: TextPair) -> str | None:
    return TARGET if pair.ckpt.config.task == "translation" else None


def one_cell(pair: TextPair, site: str, **where: object) -> float:
    """What one run of the library under one change says."""
    found = transformer.run(pair.ckpt, OTHER, target_of(pair), change=patched(pair, site, **where))
    return float(pair.recovered(pair.metric.of(pair.logits(found), pair.logits(pair.clean))))


@each_row("metric", METRICS)
def test_a_map_is_what_each_cell_is_alone(ckpt, metric):
    pair = pair_of(ckpt, metric=metric)
    for kind in ckpt.config.kinds:
        for part in PARTS:
            if (kind == "cross" and part != "attn_out") or (part == "mlp_out" and not ckpt.config.d_ff):
                with pytest.raises(ValueError, match="no site"):
                    patch_positions(pair, kind, part)
                continue
            found = patch_positions(pair, kind, part)
            for layer, position in ((0, 3), (1, 4), (1, found.shape[1] - 1)):
                expected = one_cell(pair, f"{kind}.{layer}.{part}", rows=[position])
                assert float(found[layer, position]) == pytest.approx(expected, abs=2e-4), (kind, part)
        heads = patch_heads(pair, kind)
        for layer, head in ((0, 1), (1, 0)):
            assert float(heads[layer, head]) == pytest.approx(
                one_cell(pair, f"{kind}.{layer}.z", heads=[head]), abs=2e-4)


def test_all_of_it_comes_back_at_the_words_that_differ(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0)
    pair = pair_of(ckpt)
    found = patch_positions(pair, "decoder")
    differ = [at for at, (one, other) in enumerate(zip(*pair.tokens("decoder"), strict=True)) if one != other]
    assert differ and not found[0, : differ[0]].abs().max() > 1e-5  # nothing differs before
    everything = transformer.run(ckpt, OTHER, change=[patched(pair, "decoder.0.resid_pre", rows=differ)])
    assert float(pair.recovered(pair.metric.of(everything.logits[-1], pair.logits(pair.clean)))) == pytest.approx(1)
    assert float(found[-1, -1]) == pytest.approx(one_cell(pair, "decoder.1.resid_pre", rows=[9]), abs=1e-4)


def test_large_maps_are_made_in_parts_and_watched(make_checkpoint, monkeypatch):
    pair = pair_of(make_checkpoint())
    whole = patch_positions(pair, "encoder")
    monkeypatch.setattr("transformer.analysis.patching.TOKENS_AT_ONCE", 50)
    seen = []
    again = patch_positions(pair, "encoder", watch=lambda *counts: seen.append(counts))
    torch.testing.assert_close(again, whole, **CLOSE)
    assert seen[-1] == (whole.numel(), whole.numel()) and len(seen) > 4

    def stop(done, of):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        patch_heads(pair, "cross", watch=stop)


@each_row("metric", METRICS)
def test_an_estimate_is_the_first_order_of_the_change(ckpt, metric):
    """Attribution patching: the slope of the metric along the way from one activation to the other."""
    if metric == "kl" and ckpt.config.task != "translation":
        return
    pair, step = pair_of(ckpt, metric=metric), 1e-3
    found = estimate(pair)
    for (kind, part), values in found.positions.items():
        name, at = f"{kind}.1.{part}", -1 if kind != "encoder" else 5
        here, there = pair.other[name], pair.clean[name]
        slopes = []
        for by in (step, -step):
            moved = here.clone()
            moved[at] += by * (there[at] - here[at])
            read = transformer.run(pair.ckpt, OTHER, target_of(pair), change=transformer.replace(name, moved))
            slopes.append(float(pair.metric.of(pair.logits(read), pair.logits(pair.clean))))
        slope = (slopes[0] - slopes[1]) / (2 * step) / (pair.from_to[1] - pair.from_to[0])
        assert float(values[1, at]) == pytest.approx(slope, rel=0.1, abs=0.02), (kind, part)
    assert set(found.heads) == set(ckpt.config.kinds)


def test_the_error_of_an_estimate_is_said(make_checkpoint):
    pair = pair_of(make_checkpoint())
    exact = patch_heads(pair, "cross")
    error = EstimateError.of(estimate(pair).heads["cross"], exact)
    assert error.largest >= error.mean > 0 and -1 <= error.correlation <= 1
    perfect = EstimateError.of(exact, exact)
    assert perfect.largest == perfect.mean == 0 and perfect.correlation == pytest.approx(1)
    assert EstimateError.of(torch.zeros(2, 2), exact).correlation != EstimateError.of(exact, exact).correlation


def test_paths_from_all_heads_are_the_whole_way(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0, d_ff=0)
    pair = pair_of(ckpt)
    heads = [f"D{layer}H{head}" for layer in range(2) for head in range(2)]
    direct = transformer.run(ckpt, OTHER, change=[transformer.replace("decoder.*.z", pair.clean)])
    expected = float(pair.recovered(pair.metric.of(direct.logits[-1], pair.logits(pair.clean))))
    assert patch_path(pair, heads) == pytest.approx(expected, abs=1e-4)
    assert patch_path(pair, ["D1H0"]) == pytest.approx(one_cell(pair, "decoder.1.z", heads=[0]), abs=1e-4)
    assert patch_path(pair, ["D1H0"], ["D0H0"]) == pytest.approx(0, abs=1e-5)  # nothing goes back
    through = patch_path(pair, ["D0H1"], ["D1H0", "D1H1"], inputs=("v",))
    assert abs(through) > 1e-4
    assert patch_path(pair, ["D0H1"], ["D1H0"], feed_forward=False) == pytest.approx(
        patch_path(pair, ["D0H1"], ["D1H0"]), abs=1e-6)  # there is none


def test_a_path_is_that_of_three_runs(make_checkpoint):
    """By hand: the sender of the clean text, everything else frozen; the receiver's query; and that query alone."""
    ckpt = make_checkpoint()
    pair = pair_of(ckpt)
    first = transformer.run(ckpt, OTHER, TARGET, capture="cross.1.q", change=[
        transformer.freeze("*.z"), transformer.freeze("*.mlp_out"), transformer.replace("D0H1.z", pair.clean)])
    last = transformer.run(ckpt, OTHER, TARGET, change=transformer.replace("cross.1.q", first, heads=[0]))
    expected = float(pair.recovered(pair.metric.of(last.logits[-1], pair.logits(pair.clean))))
    assert patch_path(pair, ["D0H1"], ["X1H0"], inputs=("q",), feed_forward=False) == pytest.approx(expected)


@each_row(("texts", "options", "message"), [
    ((CLEAN, "Go."), {}, "the texts have 11 and 4 tokens; patching puts"), ((CLEAN, CLEAN), {}, "the same result"),
    ((CLEAN, OTHER), {"metric": "loss"}, "no metric 'loss'; choose difference, probability, kl"),
    ((CLEAN, OTHER), {"token": 99}, "token 99 is not one of"),
    ((CLEAN, OTHER), {"position": 12}, "position is 12; choose"),
    (("", OTHER), {}, "nothing to read"),
])
def test_pairs_that_cannot_be_compared_are_refused(translator, texts, options, message):
    with pytest.raises(ValueError, match=message):
        read_pair(*(inputs_of_text(translator, text, TARGET) for text in texts), **options)


def test_what_cannot_be_patched_is_refused(make_checkpoint, translator):
    with pytest.raises(ValueError, match="predicts nothing, so there is no result to bring back"):
        pair_of(make_checkpoint(decoder_layers=0, head="none"))
    pair = pair_of(translator)
    with pytest.raises(ValueError, match="no part 'z'; choose resid_pre, attn_out, mlp_out"):
        patch_positions(pair, "encoder", "z")
    with pytest.raises(ValueError, match="cross.1.z is no head; give labels such as X0H0"):
        patch_path(pair, ["cross.1"])
    with pytest.raises(ValueError, match="no head sends"):
        patch_path(pair, [])

"""What vectors carry, beside a whole pass with every site captured; and every number of a query beside the model's."""

from dataclasses import replace
from typing import get_args

import pytest
import torch
from torch import Tensor

import transformer
from tests.analysis.test_direct import blurred
from tests.huggingface.cases import its_family, rows
from tests.rows import each_row
from transformer.analysis.carried import (
    CAPPED,
    CHANGED,
    HOOKED,
    MASKED,
    NO_HEAD,
    carried,
    effects,
    feature,
    inputs_of,
    read_again,
)
from transformer.analysis.direct import direct_effect
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text, inputs_up_to
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Step
from transformer.inference.run import Run, run_ids
from transformer.model.norms import NORMS
from transformer.model.positions import POSITIONS
from transformer.settings.config import ModelConfig, Rotary

TEXT, TARGET = "We can go.", "He is."
CLOSE = {"atol": 2e-5, "rtol": 2e-5}
WRITES, CLASSIFIES = {"encoder_layers": 0}, {"decoder_layers": 0, "n_classes": 3, "pooling": "max"}
PLACES = get_args(ModelConfig.model_fields["norm_position"].annotation)
SHAPES: list[dict[str, object]] = [
    *({**task, "norm_position": place} for place in PLACES for task in ({}, WRITES, CLASSIFIES)),
    *({**WRITES, "positions": positions} for positions in POSITIONS),
    {"positions": "relative"}, {"positions": "rotary", "kv_heads": 1},
    *({"norm_position": "both", "norm_kind": kind} for kind in NORMS),
    *({**WRITES, "parallel": how, "norm_position": place} for how in ("one", "two") for place in ("pre", "both")),
    {"shared_layers": True, "norm_position": "post"}, {**WRITES, "shared_layers": True},
    {"d_ff": 0}, {**WRITES, "d_ff": 0, "norm_position": "output"},
    {**WRITES, "gated": True, "kv_heads": 1, "qk_norm": "row", "residual_scale": 0.3, "norm_kind": "rms"},
    {**WRITES, "window": 3, "window_layers": (0,), "qkv_clip": 0.5}, {"residual_scale": 0.5, "norm_position": "output"},
    {**WRITES, "embedding_dim": 12, "embedding_norm": True, "type_vocab": 2, "positions": "learned"},
    {**WRITES, "embedding_dim": 12, "widen_first": True, "positions": "learned", "first_norm": False},
    {**WRITES, "positions": "rotary", "rotary": Rotary(scaling="dynamic", learned_len=8, layout="interleaved")},
    {"decoder_layers": 0, "head": "masked"}, {"decoder_layers": 0, "head": "none", "final_norm": False},
]
CHANGES = {
    "a head is off": [transformer.scale("{kind}.0.z", 0, heads=[1])],
    "a key is cut": [transformer.cut("{kind}.1", keys=[1])],
    "what attention adds is doubled": [transformer.scale("{kind}.0.attn_out", 2)],
    "a head's result is halved": [transformer.scale("{kind}.1.result", 0.5, heads=[0])],
    "rows go in as they were before": [transformer.replace("{stack}.1.resid_pre", {"text": "I am cold."}, rows=[2]),
                                       transformer.scale("{kind}.1.q", 0.5)],
    "one is kept as it was": [transformer.scale("{stack}.embed", 1.5), transformer.freeze("{stack}.0.mlp_out")],
}


@pytest.fixture(params=SHAPES, ids=str, scope="module")
def ckpt(request, make_checkpoint) -> Checkpoint:
    return blurred(make_checkpoint(**request.param))


def some_step(ckpt: Checkpoint, count: int = 4, change: object = None) -> Step:
    """The step after some tokens, none of them the end."""
    step = transformer.start(ckpt, TEXT, change=change)
    for id in range(4, 4 + count):
        step = transformer.next_step(ckpt, step, id)
    return step


def a_source(ckpt: Checkpoint, change: object = None):
    """A step of a decoder, a reading of an encoder."""
    return some_step(ckpt, change=change) if ckpt.config.decoder_layers else transformer.attend(
        ckpt, TEXT, change=change)


def run_of(source, change: object = None) -> Run:
    """A whole pass over what the source read, with every site captured."""
    read = inputs_of(source)
    return run_ids(source.ckpt, [(read.src, read.tgt, read.types)], texts=[TEXT], targets=[None], change=change,
                   capture=("*", "*.result"))


def expected_heads(ckpt: Checkpoint, run: Run, kind: str, layer: int) -> Tensor:
    """The norms (T, H) of what heads add, by hand: with the factor that the norm of the output has for their sum."""
    result, config = run[f"{kind}.{layer}.result"], ckpt.config  # (T, H, d_model)
    block, part = ckpt.model.stack(kind).layers[layer], "cross" if kind == "cross" else "attention"
    if config.norm_position in ("both", "output"):
        norm = getattr(block, f"{part}_out_norm")
        bias = getattr(block, part).out_proj.bias
        total = result.sum(1) + (0 if bias is None else bias)
        if config.norm_kind == "layer":
            total, result = total - total.mean(-1, keepdim=True), result - result.mean(-1, keepdim=True)
        size = total.norm(dim=-1) if config.norm_kind == "scale" else total.square().mean(-1).add(norm.eps).sqrt()
        result = result / size[:, None, None] * norm.weight
    return (result * config.residual_scale).norm(dim=-1)


def check(found, run: Run, ckpt: Checkpoint) -> None:
    """What a stack carries is what is at the sites of a whole pass."""
    stack, rows = found.stack, slice(found.positions.start, found.positions.stop)
    assert found.parts[0] == "embedding"
    assert found.norms.shape == found.added.shape == (len(found.positions), len(found.parts))
    torch.testing.assert_close(found.norms[:, 0], run[f"{stack}.0.resid_pre"][rows].norm(dim=-1), **CLOSE)
    torch.testing.assert_close(found.added[:, 0], run[f"{stack}.embed"][rows].norm(dim=-1), **CLOSE)
    parts = ["attention", *["cross"] * (stack == "decoder" and "cross" in ckpt.config.kinds),
             *["feed_forward"] * bool(ckpt.config.d_ff)]
    assert found.parts[1:] == tuple(
        f"{layer}.{part}" for layer in range(ckpt.config.layers(stack)) for part in parts)
    for at, name in enumerate(found.parts[1:], 1):
        layer, part = name.split(".")
        kind = "cross" if part == "cross" else stack
        site, after = ("mlp_out", "resid_post") if part == "feed_forward" else ("attn_out", "resid_mid")
        torch.testing.assert_close(found.added[:, at], run[f"{kind}.{layer}.{site}"][rows].norm(dim=-1), **CLOSE)
        torch.testing.assert_close(found.norms[:, at], run[f"{kind}.{layer}.{after}"][rows].norm(dim=-1), **CLOSE)
    assert set(found.heads) == {kind for kind in ckpt.config.kinds if (kind == "encoder") == (stack == "encoder")}
    for kind, heads in found.heads.items():
        for layer, norms in enumerate(heads):
            torch.testing.assert_close(norms, expected_heads(ckpt, run, kind, layer)[rows], **CLOSE)
    has_positions = f"{stack}.pos_embed" in run
    assert (found.position is not None) == has_positions == (ckpt.config.positions in ("sinusoidal", "learned"))
    if has_positions:
        torch.testing.assert_close(found.position, run[f"{stack}.pos_embed"][rows].norm(dim=-1), **CLOSE)


def test_every_norm_is_that_of_a_whole_pass(ckpt):
    source = a_source(ckpt)
    run = run_of(source)
    for newest in (True, False):
        found = carried(source, newest=newest)
        assert list(found) == list(ckpt.config.stacks)
        for one in found.values():
            check(one, run, ckpt)
        if "decoder" in found:
            length = len(source.tokens)
            assert found["decoder"].positions == (range(length - 1, length) if newest else range(length))


@pytest.mark.slow
@each_row("name", CHANGES)
@each_row("settings", [{}, WRITES, CLASSIFIES, {"norm_position": "both"}])
def test_under_changes_it_is_the_changed_pass(make_checkpoint, settings, name):
    ckpt = blurred(make_checkpoint(**settings))
    kind, stack = ckpt.config.kinds[-1], list(ckpt.config.stacks)[-1]
    change = [replace(one, site=one.site.format(kind=kind, stack=stack)) for one in CHANGES[name]]
    source, plain = a_source(ckpt, change), a_source(ckpt)
    run = run_of(source, change)
    assert not torch.equal(carried(source)[stack].norms, carried(plain)[stack].norms)
    for newest in (True, False):
        for one in carried(source, newest=newest).values():
            check(one, run, ckpt)


def test_a_reading_with_a_target_is_followed_at_every_position(make_checkpoint):
    ckpt = blurred(make_checkpoint())
    read = transformer.attend(ckpt, TEXT, TARGET)
    found = carried(read)
    assert [len(one.positions) for one in found.values()] == [len(read.tokens[side]) for side in ("src", "tgt")]
    run = transformer.run(ckpt, TEXT, TARGET, capture=("*", "*.result"))
    for one in found.values():
        check(one, run, ckpt)


def test_the_segments_of_a_pair_are_read(make_checkpoint):
    ckpt = blurred(make_checkpoint(**CLASSIFIES, type_vocab=2))
    read = transformer.attend(ckpt, TEXT)
    types = [0] * 4 + [1] * (len(read.ids["src"]) - 4)
    src = torch.tensor([read.ids["src"]])
    seen = ckpt.model.encode(src, types=torch.tensor([types]), readable=True)
    read = replace(read, types=types, seen={"encoder": seen.attention}, hidden=seen.x[0])
    torch.testing.assert_close(carried(read)["encoder"].run.x, seen.x)
    found = effects(read)
    assert found.logit == pytest.approx(float(ckpt.model.project(ckpt.model.pool(seen.x, src)).max()), abs=1e-4)
    assert sum_of(found) == pytest.approx(found.logit, abs=1e-3)


def test_the_encoder_is_not_read_again_for_another_step_of_the_same_start(translator):
    step = some_step(translator)
    before = carried(step)
    later = carried(transformer.next_step(translator, step), before=before)
    assert later["encoder"] is before["encoder"]
    assert later["decoder"].positions != before["decoder"].positions
    assert carried(some_step(translator), before=before)["encoder"] is not before["encoder"]


def test_hooks_that_came_or_went_are_refused(writer):
    step = some_step(writer)
    hook = writer.model.decoder.layers[0].register_forward_hook(
        lambda module, given, made: made._replace(x=made.x * torch.arange(made.x.shape[-1])))
    try:
        with pytest.raises(ValueError, match="Hooks changed"):
            carried(step)
        assert effects(step).why == HOOKED
    finally:
        hook.remove()
    carried(step)


# not where kept rows are turned anew as a text grows
@pytest.mark.slow
@each_row("settings", [
    one for one in SHAPES if "decoder_layers" not in one and "rotary" not in one])
def test_what_is_kept_of_a_step_reads_one_token_as_the_whole_pass_does(make_checkpoint, settings):
    step = some_step(blurred(make_checkpoint(**settings)))
    run = run_of(step)
    for position in range(len(step.tokens)):
        found = read_again(step, position)
        torch.testing.assert_close(found.x[0, 0], run["decoder.final"][position], **CLOSE)


def sum_of(found) -> float:
    return found.embedding + found.positions + found.biases + float(found.feed_forward.sum()) + sum(
        float(heads.sum()) for heads in found.heads.values())


def test_effects_are_direct_effects_on_what_was_chosen(ckpt):
    if ckpt.config.task == "reads":
        assert effects(a_source(ckpt)).why == (MASKED if ckpt.config.head == "masked" else NO_HEAD)
        return
    source = a_source(ckpt)
    found = effects(source)
    expected = direct_effect(inputs_of(source))
    assert found.why is None
    assert found.token == expected.token == (source.id if isinstance(source, Step) else int(source.logits.argmax()))
    assert sum_of(found) == pytest.approx(found.logit, abs=1e-3)
    assert found.logit == pytest.approx(expected.logit, abs=1e-4)
    assert set(found.heads) == set(expected.heads)
    for kind, heads in expected.heads.items():
        torch.testing.assert_close(found.heads[kind], heads, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found.feed_forward, expected.feed_forward, atol=1e-4, rtol=1e-4)
    assert [found.embedding, found.positions, found.biases] == pytest.approx(
        [expected.embedding, expected.positions or 0.0, expected.biases], abs=1e-3)
    assert effects(source, 2).token == 2
    assert effects(source, of=carried(source)).logit == pytest.approx(found.logit, abs=1e-4)


def test_effects_at_an_earlier_position_are_of_the_token_that_came_next(make_checkpoint):
    for settings in ({}, {**WRITES, "positions": "alibi", "window": 4}, {**WRITES, "positions": "relative"}):
        ckpt = blurred(make_checkpoint(**settings))
        target = TARGET if "cross" in ckpt.config.kinds else None
        read = transformer.attend(ckpt, TEXT, target)
        for position in (0, 3):
            found = effects(read, position=position)
            expected = direct_effect(inputs_up_to(inputs_of_text(ckpt, TEXT, target), position))
            assert found.token == read.ids["tgt"][position + 1] == expected.token
            assert found.logit == pytest.approx(float(read.logits[position, found.token]), abs=1e-4)
            for kind, heads in expected.heads.items():
                torch.testing.assert_close(found.heads[kind], heads, atol=1e-4, rtol=1e-4)
        step = some_step(ckpt)
        found = effects(step, position=2)
        assert found.token == step.tokens[3]
        assert sum_of(found) == pytest.approx(found.logit, abs=1e-3)
        with pytest.raises(ValueError, match="position is 99"):
            effects(step, position=99)


def test_where_there_are_no_effects_a_sentence_says_why(make_checkpoint, writer):
    assert effects(some_step(make_checkpoint(**WRITES, logits_cap=2.0))).why == CAPPED
    change = transformer.scale("decoder.0.attn_out", 3)  # after what the head writes: the parts do not add up to it
    assert effects(some_step(writer, change=change)).why == CHANGED
    off = effects(some_step(writer, change=transformer.scale("decoder.0.z", 0, heads=[1])))
    assert off.why is None
    assert float(off.heads["decoder"][0, 1]) == 0
    assert sum_of(off) == pytest.approx(off.logit, abs=1e-3)
    for sentence in (CAPPED, CHANGED, HOOKED, MASKED, NO_HEAD):
        assert sentence[0].isupper()
        assert sentence.endswith(".")


def check_feature(source, kind: str, layer: int, head: int, position: int, number: int, side: str) -> None:
    """Every step from a row to a number is what it says, and the last is what the model has."""
    config = source.ckpt.config
    found = feature(source, kind, layer, head, position, number, side)
    q, k, _ = source.projections(kind)
    expected = q[layer, head, position, number] if side == "q" else k[
        layer, head * config.groups // config.n_heads, position, number]
    assert found.value == float(expected)
    size = 1 + abs(found.value)
    assert found.turned == pytest.approx(found.value, abs=1e-5 * size)
    assert not found.is_changed
    products = float((found.weights.double() * found.row.double()).sum()) + (found.bias or 0.0)
    assert found.projected == pytest.approx(products, abs=1e-5 * (1 + float((found.weights * found.row).abs().sum())))
    assert found.clipped == (found.projected if found.clip is None else max(-found.clip, min(found.clip,
                                                                                            found.projected)))
    if config.qk_norm is None:
        assert found.normed == found.clipped
    if found.partner is None:
        assert found.turned == found.normed
        assert found.cos is found.sin is found.partner_value is None
    else:
        other = feature(source, kind, layer, head, position, found.partner, side)
        assert (other.partner, other.normed) == (number, found.partner_value)
        assert other.cos == pytest.approx(found.cos)
        assert other.sin == pytest.approx(-found.sin)
    block = source.ckpt.model.stack(kind).layers[layer]
    if kind == "cross" and side == "k":
        read = found.row  # the encoder's last rows, whose norm is the encoder's own
    else:
        read = block.part_input(found.residual[None, None], "cross" if kind == "cross" else "attention")[0, 0]
    torch.testing.assert_close(found.row, read.float(), atol=1e-5, rtol=1e-5)


def check_features(source) -> None:
    config = source.ckpt.config
    for kind in source.kinds:
        queries, keys = map(len, source.axes(kind))
        for layer in range(config.layers(kind)):
            for at, (side, tokens) in enumerate((("q", queries), ("k", keys))):
                head, number = (layer + 1) % config.n_heads, (3 * layer + 1) % config.width
                check_feature(source, kind, layer, head, 1 if (layer + at) % 2 else tokens - 1, number, side)
        for side in ("q", "k"):  # the last number too, which not every model turns
            check_feature(source, kind, 0, config.n_heads - 1, 1, config.width - 1, side)


def test_every_number_of_queries_and_keys_is_taken_apart(ckpt):
    check_features(a_source(ckpt))
    if ckpt.config.task == "translation":
        check_features(transformer.attend(ckpt, TEXT, TARGET))


@pytest.mark.slow
@pytest.mark.parametrize("case", rows(its_family))
def test_every_number_of_imported_families_is_taken_apart(case, tmp_path):
    from tests.huggingface.random_models import save_random
    from transformer.huggingface.importing import import_model

    _, name, config, settings = case
    save_random(tmp_path / "theirs", name, config, settings)
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    text = " ".join(map(str, range(7, 27)))  # longer than what some have learned
    if not ckpt.config.decoder_layers:
        source = transformer.attend(ckpt, text)
    else:
        source = transformer.next_step(ckpt, transformer.start(ckpt, text), 9)
    check_features(source)
    run = run_of(source)
    for one in carried(source).values():
        check(one, run, ckpt)
    found = effects(source)
    assert found.why is not None or sum_of(found) == pytest.approx(found.logit, abs=2e-3 * (1 + abs(found.logit)))


def test_a_changed_query_says_so(writer):
    step = some_step(writer, change=transformer.scale("decoder.1.q", 3))
    found = feature(step, "decoder", 1, 0, 2, 1)
    assert found.is_changed
    assert found.value == pytest.approx(3 * found.turned, rel=1e-4)
    assert not feature(step, "decoder", 0, 0, 2, 1).is_changed


def test_a_number_that_is_not_there_is_refused(writer, translator):
    step = some_step(writer)
    for at, what in ((("decoder", 2, 0, 0, 0), "layer is 2; choose one from 0 to 1"),
                     (("decoder", 0, 2, 0, 0), "head is 2"), (("decoder", 0, 0, 99, 0), "position is 99"),
                     (("decoder", 0, 0, 0, 8), "number is 8; choose one from 0 to 7"),
                     (("cross", 0, 0, 0, 0), "no 'cross' attention"),
                     (("decoder", 0, 0, 0, 0, "v"), "side is 'v'")):
        with pytest.raises(ValueError, match=what):
            feature(step, *at)
    assert inputs_of_step(step).ids == inputs_of(step).ids
    feature(some_step(translator), "cross", 0, 0, len(TEXT), 0, "k")  # a place of the source

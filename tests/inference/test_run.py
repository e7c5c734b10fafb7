"""One pass with every site captured, beside hooks that were written by hand; and many texts beside one at a time."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import transformer
from tests.conftest import SENTENCES
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.sites import SITES, classic_name, find_place, find_places, lines, places
from transformer.settings.config import Rotary

TEXT, TARGET, LONGER = "I am cold.", "Go on.", "We can go home. Who is it? I see a dog."
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
SHAPES = {
    "translates": {}, "post-norm": {"norm_position": "post"}, "both norms": {"norm_position": "both"},
    "writes": {"encoder_layers": 0}, "classifies": {"decoder_layers": 0, "n_classes": 3, "pooling": "mean"},
    "masked": {"decoder_layers": 0, "head": "masked"}, "reads": {"decoder_layers": 0, "head": "none"},
    "rotary, grouped, gated": {"encoder_layers": 0, "positions": "rotary", "kv_heads": 1, "gated": True,
                               "norm_kind": "rms"},
    "parallel": {"encoder_layers": 0, "parallel": "one"}, "alibi": {"encoder_layers": 0, "positions": "alibi"},
    "relative": {"positions": "relative"}, "attention alone": {"encoder_layers": 0, "d_ff": 0},
    "window": {"encoder_layers": 0, "window": 3}, "capped": {"encoder_layers": 0, "score_cap": 2.0},
    "lengths": {"encoder_layers": 0, "positions": "rotary", "rotary": Rotary(scaling="dynamic", learned_len=12)},
    "no padding": {"decoder_layers": 0, "n_classes": 3, "pooling": "first", "pad_id": None},
}


FAST = ("translates", "classifies", "rotary, grouped, gated", "reads")


@pytest.fixture(params=SHAPES)
def ckpt(request, make_checkpoint) -> Checkpoint:
    return make_checkpoint(**SHAPES[request.param])


def target_of(ckpt: Checkpoint) -> str | None:
    return TARGET if ckpt.config.task == "translation" else None


def hooked(ckpt: Checkpoint, text: str, target: str | None) -> dict[str, Tensor]:
    """What hooks on the modules see, by our names: nothing of ours but the modules is used."""
    found: dict[str, Tensor] = {}
    handles = []

    def on(module, name, *, before=False, pick=lambda value: value):
        def hook(module, given, made=None):
            found[name] = pick(given[0] if before else made)
        handles.append(module.register_forward_pre_hook(hook) if before else module.register_forward_hook(hook))

    for stack in ckpt.config.stacks:
        for at, layer in enumerate(ckpt.model.stack(stack).layers):
            on(layer, f"{stack}.{at}.resid_pre", before=True)
            on(layer, f"{stack}.{at}.resid_post", pick=lambda value: value.x)
            parts = [(stack, layer.attention), *([("cross", layer.cross)] if layer.cross is not None else [])]
            for kind, attention in parts:
                width = ckpt.config.width
                on(attention, f"{kind}.{at}.q", pick=lambda value: value.queries)
                on(attention, f"{kind}.{at}.k", pick=lambda value: value.memory.keys)
                on(attention, f"{kind}.{at}.v", pick=lambda value: value.memory.values)
                on(attention, f"{kind}.{at}.scores", pick=lambda value: value.scores)
                on(attention, f"{kind}.{at}.pattern", pick=lambda value: value.weights)
                on(attention.out_proj, f"{kind}.{at}.z", before=True,
                   pick=lambda value, width=width: value.unflatten(-1, (-1, width)).transpose(1, 2))
                if ckpt.config.norm_position in ("pre", "post"):
                    on(attention, f"{kind}.{at}.attn_out", pick=lambda value: value.output)
            if layer.feed_forward is not None:
                on(layer.feed_forward.gate or layer.feed_forward.up, f"{stack}.{at}.mlp_pre")
                on(layer.feed_forward.down, f"{stack}.{at}.mlp_post", before=True)
                if ckpt.config.norm_position in ("pre", "post"):
                    on(layer.feed_forward, f"{stack}.{at}.mlp_out")
        on(ckpt.model.stack(stack), f"{stack}.final", pick=lambda value: value.x)
    try:
        transformer.attend(ckpt, text, target)
    finally:
        for handle in handles:
            handle.remove()
    return found


def test_every_site_is_what_a_hook_on_the_module_sees(ckpt):
    run = transformer.run(ckpt, TEXT, target_of(ckpt), capture=("*", "*.result"))
    seen = hooked(ckpt, TEXT, target_of(ckpt))
    assert set(seen) <= set(run.names) == set(places(ckpt.config))
    for name, expected in seen.items():
        torch.testing.assert_close(run[name], expected[0], **CLOSE, msg=lambda said, name=name: f"{name}: {said}")
        assert len(run.axes(name)) == run[name].dim()
    for place in places(ckpt.config).values():
        if place.site == "attn_out" and ckpt.config.norm_position in ("pre", "post"):
            attention = ckpt.model.attention(place.kind, place.layer)
            summed = run[f"{place.kind}.{place.layer}.result"].sum(1)
            bias = 0 if attention.out_proj.bias is None else attention.out_proj.bias
            torch.testing.assert_close(summed + bias, run[place.name], **CLOSE)
    reading = transformer.attend(ckpt, TEXT, target_of(ckpt))
    if reading.logits is None:
        assert run.logits is None
    else:
        torch.testing.assert_close(run.logits, reading.logits, **CLOSE)


def test_the_stream_adds_up(make_checkpoint):
    ckpt = make_checkpoint()
    run = transformer.run(ckpt, TEXT, TARGET, capture="*")
    for stack in ckpt.config.stacks:
        torch.testing.assert_close(run[f"{stack}.0.resid_pre"], run[f"{stack}.embed"] + run[f"{stack}.pos_embed"])
        for layer in range(2):
            parts = [f"{stack}.{layer}.attn_out", *([f"cross.{layer}.attn_out"] if stack == "decoder" else []),
                     f"{stack}.{layer}.mlp_out"]
            torch.testing.assert_close(run[f"{stack}.{layer}.resid_post"],
                                       run[f"{stack}.{layer}.resid_pre"] + sum(run[part] for part in parts), **CLOSE)


def test_a_hundred_texts_at_once_are_what_each_is_alone(ckpt, make_checkpoint):
    words = " ".join(SENTENCES).split()
    texts = [" ".join(words[at % 7: at % 7 + 1 + at % 5])[: 1 + at % 30] for at in range(100)]
    targets = [texts[-1 - at] for at in range(100)] if target_of(ckpt) else None
    many = transformer.run(ckpt, texts, targets, capture=("*", "*.result"))
    for at in range(0, 100, 7):
        one = transformer.run(ckpt, texts[at], targets and targets[at], capture=("*", "*.result"))
        part = many.of(at)
        assert part.texts == one.texts and part.tokens() == one.tokens()
        for name in one.names:
            found, expected = (run[name].masked_fill(run[name].isneginf(), -1e9) for run in (part, one))
            torch.testing.assert_close(found, expected, **CLOSE, msg=lambda said, name=name: f"{name}: {said}")
        if one.logits is not None:
            torch.testing.assert_close(part.logits, one.logits, **CLOSE)


def test_what_cannot_be_read_at_once_or_is_not_there_or_was_not_captured_is_refused(make_checkpoint):
    ckpt = make_checkpoint()
    with pytest.raises(ValueError, match="no text is given"):
        transformer.run(ckpt, [])
    with pytest.raises(ValueError, match="2 texts and 1 targets; give one for each"):
        transformer.run(ckpt, [TEXT, LONGER], "Go.")
    for texts, why in ((3, "the texts are of type int"), ([TEXT, 3], "text 1 of the list is of type int"),
                       ([TEXT, ""], "nothing to read")):
        with pytest.raises(ValueError, match=why):
            transformer.run(ckpt, texts)
    with pytest.raises(IndexError, match="no text 2 among 2"):
        transformer.run(ckpt, [TEXT, LONGER]).of(2)
    with pytest.raises(ValueError, match="there is no side 'encoder'; choose src or tgt"):
        transformer.run(ckpt, TEXT).tokens("encoder")
    assert transformer.run(ckpt, [TEXT]).logits.dim() == 3 and len(transformer.run(ckpt, [TEXT])) == 1
    run = transformer.run(make_checkpoint(), TEXT, capture="decoder.*.pattern")
    assert run.names == ["decoder.0.pattern", "decoder.1.pattern"]
    with pytest.raises(KeyError, match=r"cross.0.z was not captured; run again with capture=\['cross.0.z'\]"):
        run["cross.0.z"]
    with pytest.raises(KeyError, match="no site 'decoder.0.patern'; the nearest are decoder.0.pattern"):
        run["decoder.0.patern"]
    assert "D1H0.pattern" in run and "cross.0.z" not in run and "nonsense" not in run


def test_every_place_has_a_line_that_computes_it_and_one_name(ckpt):
    found = places(ckpt.config)
    assert {place.site for place in found.values()} <= set(SITES) == set(lines())
    for where in lines().values():
        file, _, number = where.partition(":")
        assert "tap" in "".join((ROOT / file).read_text().splitlines()[int(number) - 1: int(number) + 2])
    for name, place in found.items():
        assert find_place(ckpt.config, name) == place == find_place(ckpt.config, place)
        if (classic := classic_name(place, ckpt.config)) is not None:
            assert find_place(ckpt.config, classic) == place


def test_classic_names_are_those_that_transformer_lens_has(make_checkpoint):
    decoder, both = make_checkpoint(encoder_layers=0).config, make_checkpoint().config
    rotary = make_checkpoint(encoder_layers=0, positions="rotary").config
    post = make_checkpoint(decoder_layers=0, head="masked", norm_position="post").config
    expected = {
        (decoder, "hook_embed"): "decoder.embed", (decoder, "hook_pos_embed"): "decoder.pos_embed",
        (decoder, "blocks.1.hook_resid_pre"): "decoder.1.resid_pre",
        (decoder, "blocks.1.attn.hook_pattern"): "decoder.1.pattern",
        (decoder, "blocks.1.attn.hook_result"): "decoder.1.result",
        (decoder, "blocks.1.mlp.hook_post"): "decoder.1.mlp_post",
        (decoder, "ln_final.hook_normalized"): "decoder.final",
        (rotary, "blocks.0.attn.hook_rot_q"): "decoder.0.q", (rotary, "blocks.0.attn.hook_v"): "decoder.0.v",
        (both, "encoder_blocks.0.attn.hook_q"): "encoder.0.q",
        (both, "decoder_blocks.1.cross_attn.hook_attn_scores"): "cross.1.scores",
        (both, "decoder_blocks.1.cross_attn.hook_q"): "cross.1.q",
        (both, "decoder_blocks.1.hook_cross_attn_out"): "cross.1.attn_out",
        (both, "decoder_blocks.1.hook_resid_mid_cross"): "cross.1.resid_mid",
        (both, "encoder_final_ln.hook_normalized"): "encoder.final",
        (post, "blocks.1.hook_normalized_resid_post"): "encoder.1.resid_post",
    }
    for (config, classic), name in expected.items():
        assert find_place(config, classic).name == name, classic
    for config, wrong in ((rotary, "blocks.0.attn.hook_q"), (post, "blocks.0.hook_resid_mid")):
        with pytest.raises(ValueError, match="this model has no site"):  # it means something else there
            find_place(config, wrong)


def test_labels_of_heads_are_heads(make_checkpoint):
    config = make_checkpoint().config
    assert str(find_place(config, "X1H0")) == "X1H0.z" and find_place(config, "E0H1.pattern").head == 1
    assert find_place(config, "cross.1", site="pattern").name == "cross.1.pattern"
    assert [place.name for place in find_places(config, "decoder.*", site="pattern")] == [
        "decoder.0.pattern", "decoder.1.pattern"]
    assert [place.name for place in find_places(config, ("cross.0.z", "decoder.0.q"))] == ["decoder.0.q", "cross.0.z"]
    run = transformer.run(make_checkpoint(), TEXT, TARGET, capture="cross.1.pattern")
    assert torch.equal(run["X1H1.pattern"], run["cross.1.pattern"][1])
    assert run.axes("X1H1.pattern") == ("query", "key")
    for wrong in ("X1H2", "X2H0", "D0H0.resid_pre", "Z0H0", "decoder.0.", "", 3, None):
        with pytest.raises(ValueError, match="site"):
            find_place(config, wrong)


def test_a_table_has_a_row_for_each_number(make_checkpoint):
    run = transformer.run(make_checkpoint(), [TEXT, LONGER], [TARGET, "Go."],
                          capture=("cross.1.pattern", "decoder.final"))
    table = run.frame("cross.1.pattern")
    assert list(table.columns) == ["text", "head", "query", "query_token", "key", "key_token", "value"]
    row = table.query("text == 1 and head == 1 and query == 2 and key == 3").iloc[0]
    assert row.value == pytest.approx(float(run.of(1)["cross.1.pattern"][1, 2, 3]))
    assert (row.query_token, row.key_token) == (run.tokens("tgt", 1)[2], run.tokens("src", 1)[3])
    alone = run.of(0).frame("decoder.final")
    assert list(alone.columns) == ["position", "position_token", "feature", "value"]
    assert len(alone) == run.of(0)["decoder.final"].numel()
    assert list(run.frame("X1H0.pattern").columns) == ["text", "query", "query_token", "key", "key_token", "value"]


def with_one_number(ckpt: Checkpoint, run: transformer.Run, name: str, index: tuple[int, ...], by: float) -> Tensor:
    value = run[name].clone()
    value[index] += by
    return transformer.run(ckpt, TEXT, target_of(ckpt), change=transformer.replace(name, value)).logits


@pytest.mark.parametrize("ckpt", [pytest.param(one, marks=() if one in FAST else pytest.mark.slow) for one in SHAPES],
                         indirect=True)
def test_a_gradient_is_the_slope_of_the_metric(ckpt):
    if ckpt.config.head == "none":
        with pytest.raises(ValueError, match="does not depend on anything that was captured"):
            transformer.run(ckpt, TEXT, capture="*").grad(lambda run: torch.zeros(1))
        return
    ckpt = replace(ckpt, model=deepcopy(ckpt.model).double())
    run = transformer.run(ckpt, TEXT, target_of(ckpt), capture=("*", "*.result"))
    slopes = run.grad(lambda run: run.logits.flatten()[3:5].sum())
    assert slopes.names == run.names and slopes.logits is None
    for name in run.names:
        if name == "logits" or name.endswith("scores") or not slopes[name].any():
            continue
        index = tuple(int(at) for at in torch.unravel_index(slopes[name].abs().argmax(), slopes[name].shape))
        step = 1e-6
        up, down = (with_one_number(ckpt, run, name, index, by).flatten()[3:5].sum() for by in (step, -step))
        assert float(slopes[name][index]) == pytest.approx(float(up - down) / (2 * step), rel=1e-3, abs=1e-6), name
    with pytest.raises(ValueError, match="give a function from a run to a tensor of one number"):
        run.grad(lambda run: run.logits)


def test_a_run_leaves_the_model_as_it_was(make_checkpoint):
    ckpt = make_checkpoint()
    before: Mapping[str, Tensor] = {name: value.clone() for name, value in ckpt.model.state_dict().items()}
    run = transformer.run(ckpt, TEXT, TARGET, capture="*", change=transformer.scale("*.z", 0))
    run.grad(lambda run: run.logits[0, 0])
    assert all(torch.equal(value, before[name]) for name, value in ckpt.model.state_dict().items())
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in ckpt.model.parameters())
    assert not run.logits.requires_grad

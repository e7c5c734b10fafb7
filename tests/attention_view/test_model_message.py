"""The message of the whole model's picture: its arrays are the numbers of the pass, in shapes that the header says."""

import copy
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import orjson
import pytest
import torch

import transformer
from transformer.analysis.carried import HOOKED, carried, effects, feature
from transformer.attention_view import model_message
from transformer.attention_view.external_weights import Scale, Tensors
from transformer.attention_view.heads import Pooled, quantise
from transformer.attention_view.message import FINEST
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.model_message import FROM_ELSEWHERE, IN_WORDS, model_arrays
from transformer.attention_view.window import Window

TEXT, TARGET = "We can go home.", "He is tall."
CLOSE = {"atol": 2e-5, "rtol": 2e-5}
WRITES, CLASSIFIES = {"encoder_layers": 0}, {"decoder_layers": 0, "n_classes": 3, "pooling": "max"}
SHAPES = [{}, {"norm_position": "post"}, {"norm_position": "both", "kv_heads": 1, "positions": "relative"},
          {**WRITES, "positions": "rotary", "parallel": "one"}, {**WRITES, "d_ff": 0, "positions": "alibi"},
          {"shared_layers": True, "norm_position": "output", "positions": "learned"}, CLASSIFIES,
          {"decoder_layers": 0, "head": "masked"}]


@dataclass(frozen=True)
class Zoomed(Selection):
    """A selection as far in as one number."""

    level: str = "number"
    feature: int | None = 3


@pytest.fixture(params=SHAPES, ids=str)
def ckpt(request, make_checkpoint):
    ckpt = make_checkpoint(**request.param)
    ckpt = replace(ckpt, model=copy.deepcopy(ckpt.model))
    for parameter in ckpt.model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
    return ckpt


def some_step(ckpt, count=6, change=None):
    step = transformer.start(ckpt, TEXT, change=change)
    for id in range(4, 4 + count):
        step = transformer.next_step(ckpt, step, id)
    return step


def a_source(ckpt):
    return some_step(ckpt) if ckpt.config.decoder_layers else transformer.attend(ckpt, TEXT)


def followed(source):
    """The stack that is followed, and its number of tokens."""
    stack = "decoder" if "decoder" in source.kinds else "encoder"
    return stack, len(source.axes(stack)[0])


def test_every_array_is_a_number_of_the_pass(ckpt):
    source, config = a_source(ckpt), ckpt.config
    header, arrays = model_arrays(source, Selection(source.kinds[0]))
    orjson.dumps(header)
    stack, count = followed(source)
    assert (header["stack"], header["position"]) == (stack, count - 1)
    assert header["token"] == source.axes(stack)[0][-1]
    found = carried(source)
    assert header["parts"] == {name: list(one.parts) for name, one in found.items()}
    for name, one in found.items():
        np.testing.assert_allclose(arrays[f"norms/{name}"], one.norms, **CLOSE)
        np.testing.assert_allclose(arrays[f"added/{name}"], one.added, **CLOSE)
        assert (f"position/{name}" in arrays) == (one.position is not None)
        if one.position is not None:
            np.testing.assert_allclose(arrays[f"position/{name}"], one.position, **CLOSE)
        for kind, norms in one.heads.items():
            np.testing.assert_allclose(arrays[f"headNorms/{kind}"], norms, **CLOSE)
    for kind in source.kinds:
        weights = source.attentions[kind].numpy()
        assert header["blocks"][kind] == [1, 1]
        np.testing.assert_array_equal(arrays[f"small/{kind}"], quantise(weights))
        if (kind == "encoder") == (stack == "encoder"):
            np.testing.assert_array_equal(arrays[f"seen/{kind}"], quantise(weights[:, :, -1], FINEST))
        else:
            assert f"seen/{kind}" not in arrays
    worth = effects(source)
    if worth.token is None:
        assert header["why"] == worth.why
        assert not {name for name in arrays if name.startswith("effects")} | ({"effectOf", "logit"} & header.keys())
    else:
        assert "why" not in header
        assert header["effectOf"] == (ckpt.tokenizer.piece(source.id) if config.decoder_layers else
                                      ckpt.classes[worth.token] if ckpt.classes else str(worth.token))
        total = sum(array.sum() for name, array in arrays.items() if name.startswith("effects"))
        assert total == pytest.approx(header["logit"], abs=1e-3)
        assert arrays["effects/feed_forward"].shape == (config.layers(stack),)
        assert arrays["effects/rest"].shape == (3,)
        for kind, heads in worth.heads.items():
            np.testing.assert_allclose(arrays[f"effects/{kind}"], heads, atol=1e-4)
    for name, array in arrays.items():
        kinds = {"seen": np.uint16, "small": np.uint8}
        assert array.dtype == kinds.get(name.split("/")[0], np.float32), name
        assert np.isfinite(array).all(), name
    assert not [name for name in arrays if name.startswith("number")]
    every = model_arrays(source, Selection(source.kinds[0]), newest=False)[1]  # of all positions
    assert len(every[f"norms/{stack}"]) == count
    for name in arrays.keys() & {f"{what}/{stack}" for what in ("norms", "added", "position")}:
        np.testing.assert_allclose(arrays[name][-1], every[name][-1], **CLOSE)


def test_a_step_costs_only_what_is_new_and_says_the_same(ckpt):
    if not ckpt.config.decoder_layers:
        return
    pooled, before, selection = {}, {}, Selection("decoder")
    step = transformer.start(ckpt, TEXT)
    for id in (4, 5, 6, 7):
        header, arrays = model_arrays(step, selection, pooled=pooled, before=before)
        alone = model_arrays(step, selection)
        assert header == alone[0]
        assert arrays.keys() == alone[1].keys()
        for name, array in arrays.items():
            np.testing.assert_allclose(array, alone[1][name], **CLOSE, err_msg=name)
        assert pooled.keys() == set(step.kinds)
        assert isinstance(pooled["decoder"], Pooled)
        assert pooled["decoder"].source is step
        assert before.keys() == set(ckpt.config.stacks)
        step = transformer.next_step(ckpt, step, id)


def test_one_number_goes_along_at_its_level(ckpt):
    source, kind = a_source(ckpt), ckpt.config.kinds[-1]
    header, arrays = model_arrays(source, Zoomed(kind, 1, 1, pair=(2, 0)))
    expected = feature(source, kind, 1, 1, 2, 3)
    for name in ("weights", "row", "residual"):
        np.testing.assert_allclose(arrays[f"number/{name}"], getattr(expected, name), **CLOSE)
    assert header["number"]["number"] == 3
    assert header["number"]["value"] == float(source.projections(kind)[0][1, 1, 2, 3])
    products = float((arrays["number/weights"] * arrays["number/row"]).sum()) + header["number"].get("bias", 0.0)
    assert header["number"]["projected"] == pytest.approx(products, abs=1e-4)
    if ckpt.config.positions == "rotary":
        said = header["number"]
        assert said["turned"] == pytest.approx(said["normed"] * said["cos"] + said["partnerValue"] * said["sin"])
    else:
        assert "partner" not in header["number"]
    without = model_arrays(source, Zoomed(kind, pair=None, feature=None))[0]
    assert (without["number"]["number"], without["number"]["position"]) == (0, len(source.axes(kind)[0]) - 1)
    assert "number" not in model_arrays(source, Zoomed(kind, pair=(0, 0), level="cell"))[0]
    assert model_arrays(source, Zoomed(kind, pair=(0, 0), feature=999))[0]["number"]["number"] == (
        ckpt.config.width - 1)


def test_of_a_reading_the_query_of_the_pair_is_followed(translator):
    read = transformer.attend(translator, TEXT, TARGET)
    last, third, of_encoder = (model_arrays(read, selection) for selection in (
        Selection("cross"), Selection("cross", pair=(3, 1)), Selection("encoder", pair=(3, 1))))
    assert last[0]["position"] == of_encoder[0]["position"] == len(read.tokens["tgt"]) - 1
    assert (third[0]["position"], third[0]["token"]) == (3, read.tokens["tgt"][3])
    assert third[0]["effectOf"] == read.tokens["tgt"][4]  # what came next
    for kind in ("decoder", "cross"):
        weights = read.attentions[kind][:, :, 3].numpy()
        np.testing.assert_array_equal(third[1][f"seen/{kind}"], quantise(weights, FINEST))


def test_all_heads_together_have_at_most_so_many_cells(translator, monkeypatch):
    step = some_step(translator, 12)
    for most in (4_000, 500, 30, 1):
        monkeypatch.setattr(model_message, "MOST_CELLS", most)
        header, arrays = model_arrays(step, Selection("cross"))
        small = {kind: arrays[f"small/{kind}"] for kind in step.kinds}
        heads = sum(prod(one.shape[:2]) for one in small.values())
        assert sum(one.size for one in small.values()) <= max(most, heads)
        for kind, cells in small.items():
            down, across = header["blocks"][kind]
            full = quantise(step.attentions[kind].numpy())
            assert cells.shape == (*full.shape[:2], -(-full.shape[2] // down), -(-full.shape[3] // across))
            np.testing.assert_array_equal(cells[..., 0, 0], full[:, :, :down, :across].max((2, 3)))
    monkeypatch.setattr(model_message, "MOST_SEEN", 10)
    assert not [name for name in model_arrays(step, Selection("cross"))[1] if name.startswith("seen")]


def test_a_part_of_a_long_text_has_the_numbers_of_the_whole(translator):
    step = some_step(translator, 12)
    sides = {"encoder": (slice(2, 9), slice(2, 9)), "decoder": (slice(1, 6), slice(0, 5)),
             "cross": (slice(1, 6), slice(2, 9))}
    drawn, selection = Window(step, sides), Zoomed("cross", 1, 0, pair=(2, 3))
    for newest in (True, False):
        header, arrays = model_arrays(drawn, selection, newest=newest)
        whole_header, whole = model_arrays(step, replace(selection, pair=(3, 5)), newest=newest)
        same = ("stack", "position", "token", "effectOf", "logit", "parts", "number")
        assert {name: header[name] for name in same} == {name: whole_header[name] for name in same}
        assert header["first"] == {"encoder": [2, 2], "decoder": [1, 0], "cross": [1, 2]}
        for kind, (rows, columns) in sides.items():
            np.testing.assert_array_equal(arrays[f"small/{kind}"], whole[f"small/{kind}"][:, :, rows, columns])
            if kind != "encoder":
                np.testing.assert_array_equal(arrays[f"seen/{kind}"], whole[f"seen/{kind}"])  # of all keys
        np.testing.assert_array_equal(arrays["norms/encoder"], whole["norms/encoder"][2:9])
        np.testing.assert_array_equal(arrays["headNorms/encoder"], whole["headNorms/encoder"][:, 2:9])
        rows = slice(None) if newest else slice(1, 6)
        np.testing.assert_array_equal(arrays["norms/decoder"], whole["norms/decoder"][rows])


def test_words_weights_from_elsewhere_and_a_model_with_hooks_say_why_there_is_no_more(translator):
    step = some_step(translator)
    words = step.words()
    header, arrays = model_arrays(words, Zoomed("cross", pair=(0, 0)))
    assert header["why"] == IN_WORDS
    assert header["token"] == words.axes("decoder")[0][-1]
    np.testing.assert_array_equal(arrays["seen/cross"], quantise(words.attentions["cross"][:, :, -1].numpy(), FINEST))
    foreign = Tensors({"cross": step.attentions["cross"]}, {"cross": step.axes("cross")})
    header, arrays = model_arrays(foreign, Selection("cross"))
    assert (header["why"], header["stack"]) == (FROM_ELSEWHERE, "decoder")
    assert arrays.keys() == {"seen/cross", "small/cross"}
    no_weights = Tensors({"decoder": step.attentions["decoder"] - 0.5}, {"decoder": step.axes("decoder")},
                         scales={"decoder": Scale(signed=True, most=0.5)})
    header, arrays = model_arrays(no_weights, Selection("decoder"))
    assert (arrays, header["blocks"], header["why"]) == ({}, {}, FROM_ELSEWHERE)
    hook = step.ckpt.model.decoder.layers[0].register_forward_hook(
        lambda module, given, made: made._replace(x=made.x * torch.arange(made.x.shape[-1])))
    try:
        header, arrays = model_arrays(step, Selection("decoder"))
    finally:
        hook.remove()
    assert header["why"] == HOOKED
    assert arrays.keys() == {f"{what}/{kind}" for what in ("seen", "small") for kind in step.kinds} - {"seen/encoder"}


def test_a_changed_pass_is_what_is_sent(translator):
    step = some_step(translator, change=transformer.scale("cross.0.z", 0, heads=[1]))
    header, arrays = model_arrays(step, Selection("cross"))
    assert (arrays["headNorms/cross"][0, :, 1] == 0).all()
    assert arrays["effects/cross"][0, 1] == 0
    assert (arrays["headNorms/cross"][0, :, 0] > 0).all()
    assert "why" not in header

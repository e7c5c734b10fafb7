"""A published page draws what the app draws: the same message for the same place in the same text."""

import json
from dataclasses import asdict, replace

import numpy as np
import orjson
import pytest

import transformer
from tests.messages import unpacked
from tests.node import answering, needs_node
from tests.publishing.drawn_models import every
from tests.switched import switched
from transformer.analysis.pooling import pool
from transformer.attention_view.decoding_parts import bars_of, source_row, target_row
from transformer.attention_view.heads import Pooled
from transformer.attention_view.message import MODEL, head_of, live
from transformer.attention_view.message_fields import Selection, StepView
from transformer.attention_view.message_types import wrong
from transformer.attention_view.model_message import model_message
from transformer.attention_view.selected import at_end, in_words
from transformer.attention_view.shared import CHOICES
from transformer.attention_view.window import LONGEST, SIDE, window
from transformer.inference.decoding import GREEDY, Sampling
from transformer.inference.decoding_tree import begin
from transformer.inference.reading import attend
from transformer.model.changes import scale
from transformer.publishing.page import about
from transformer.publishing.weights import pack
from ui.views.stepper.controller import _describe

WINDOW = {"encoder_layers": 0, "n_heads": 4, "kv_heads": 2, "window": 5, "window_layers": (1,), "attention_scale": 0.22,
          "score_cap": 3.0}
MODELS = [{}, {"encoder_layers": 0, "positions": "rotary"}, {"decoder_layers": 0, "pooling": "max", "n_classes": 3},
          WINDOW, {"positions": "alibi"}]
TEXT = "I am cold. We can go home."
LOOKS = [{}, {"view": "lines"}, {"of": "mean_heads"}, {"of": "mean_all"}, {"of": "rollout"}, {"tokens": "words"},
         {"special": "hidden"}, {"tokens": "words", "special": "hidden", "view": "lines"}, {"stage": "scores"}]
BOLD = Sampling(temperature=1.3, top_k=9, seed=4)
UNPACKED = {"arrays", "shapes", "made"}
pytestmark = needs_node


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """drawn(ckpt, cases): what the page's scripts make of each."""
    packed = tmp_path_factory.mktemp("packed") / "packed"
    with answering("published_pictures.js") as ask:

        def drawn(ckpt, cases):
            packed.write_bytes(pack(ckpt))
            pictures = ask({"packed": str(packed), "page": about(ckpt, 0), "cases": cases})
            for message in (picture["message"] for picture in pictures):
                header = {name: value for name, value in message.items() if name not in UNPACKED}
                assert wrong(header | {"arrays": {}}) == []
            return pictures

        yield drawn


def case(selection, *, step=3, sampling=GREEDY, text=TEXT, **more):
    return {"text": text, "sampling": asdict(sampling), "heads": None, "choices": {}, "step": step,
            "selection": asdict(selection), **more}


def expected(source, selection, *, newest, **header):
    """The message that the served app sends, as header and arrays."""
    merged, selection = in_words(source, selection)
    part = window(merged, selection.start, last=newest)
    of_model, more = model_message(part, selection)
    return unpacked(live(part, selection, Pooled.of(merged, selection.kind), head=head_of(part, selection),
                         newest=newest and at_end(part, selection.kind), answered=0, more=more, **of_model, **header))


def assert_same(picture, header, arrays):
    message = picture["message"]
    assert message["kinds"] == header["kinds"]
    for name in ("about", "selection", "window", "block", "every", "maps", "modelled", "newest", "answered"):
        assert message[name] == header[name], name
    assert message.get("model") == approximately(header.get("model"))
    assert message["arrays"].keys() == arrays.keys()
    assert_same_arrays(message, arrays)


def assert_same_arrays(message, arrays, where=""):
    for name, array in arrays.items():
        assert tuple(message["shapes"][name]) == array.shape, (name, where)
        ours = np.reshape(message["arrays"][name], array.shape)
        steps = {np.dtype(np.uint8): 1, np.dtype(np.uint16): 6}  # of 255, and of 65,535: 1e-4
        np.testing.assert_allclose(ours, array, atol=steps.get(array.dtype, 1e-4), err_msg=f"{name} {where}")


def approximately(value):
    """The same value, its numbers to 1e-4."""
    if isinstance(value, dict):
        return {name: approximately(one) for name, one in value.items()}
    return pytest.approx(value, abs=1e-4) if isinstance(value, float) else value


def looks(ckpt):
    for kind in ckpt.config.kinds:
        for look in LOOKS:
            if kind != "cross" or look.get("of") != "rollout":
                yield Selection(kind, layer=1, head=1, **look)


def levels(ckpt):
    """Every level of the view of the whole model, of every kind."""
    for kind in ckpt.config.kinds:
        for number, level in enumerate(CHOICES["level"]):
            yield Selection(kind, layer=1, head=1, view=MODEL, level=level, pair=(2, 1), feature=number)
    yield Selection(ckpt.config.kinds[0], view=MODEL, level="number", pair=(0, 0), feature=999)
    yield Selection(ckpt.config.kinds[-1], view=MODEL, level="number")


@pytest.mark.slow
def test_every_look_at_a_text_is_the_same_message(ckpt, drawn):
    selections = [*looks(ckpt), *levels(ckpt)]
    pictures = drawn(ckpt, [case(selection) for selection in selections])
    decoding, reading = None, None
    if ckpt.config.decoder_layers:
        decoding = begin(ckpt, TEXT, index=3)
        if about(ckpt, 0)["opening"] is None:
            decoding = decoding.foreseen(seconds=600)
    else:
        reading = attend(ckpt, TEXT)
    for selection, picture in zip(selections, pictures, strict=True):
        if decoding:
            plain = selection.tokens == "pieces" and selection.special == "shown"
            coming = list(zip(decoding.coming, decoding.after, strict=True)) if plain else ()
            assert_same(picture, *expected(decoding.step, selection, newest=True, coming=coming))
        else:
            assert_same(picture, *expected(reading, selection, newest=False))


@pytest.mark.parametrize("sampling", [GREEDY, BOLD], ids=str)
def test_what_stands_around_the_attention_is_the_same_after_a_choice(ckpt, drawn, sampling):
    if not ckpt.config.decoder_layers:
        return
    selection, page = Selection(ckpt.config.kinds[-1], layer=1), about(ckpt, 0)
    [picture] = drawn(ckpt, [case(selection, step=4, sampling=sampling, picks=[[1, 3], [2, 1]])])
    decoding = begin(ckpt, TEXT, index=4, sampling=sampling)
    for at, nth in ((1, 3), (2, 1)):
        decoding = decoding.to(at, sampling)
        decoding = decoding.pick(decoding.step.candidates(sampling=sampling)[0][nth].id, sampling)
        if page["opening"] is None:
            decoding = decoding.foreseen(sampling, seconds=600)
    has_source = decoding.step.src is not None
    names = ("Source", "Target") if has_source else (None, "Tokens")
    rows = [*([source_row(decoding, label=names[0])] if has_source else []),
            target_row(decoding, label=names[1], name="target tokens" if has_source else "tokens")]
    sent = orjson.loads(orjson.dumps(StepView(rows=rows, bars=bars_of(decoding, sampling)).sent()))
    ours = picture["message"]["step_view"]
    assert ours["rows"] == sent["rows"]
    for name, value in sent["bars"].items():
        if name not in ("rows", "rest"):
            assert ours["bars"][name] == value, name
    assert ours["bars"]["rest"] == pytest.approx(sent["bars"]["rest"], abs=1e-4)
    for one, other in zip(ours["bars"]["rows"], sent["bars"]["rows"], strict=True):
        assert one == {**other, "probability": pytest.approx(other["probability"], abs=1e-4)}
    assert ours["said"] == _describe(decoding, sampling, selection, head_of(decoding.step, selection), hidden=False)
    assert ours["steps"]["index"] == picture["place"]["step"] == decoding.index
    assert ours["steps"]["last"] == decoding.last
    assert len(ours["branches"]) == 1 + len(decoding.others)
    assert {int(at): id for at, id in picture["place"]["choices"].items()} == decoding.branch.departures(sampling)


def test_effects_are_those_on_the_token_that_was_chosen(translator, drawn):
    selection = Selection("cross", view=MODEL)
    decoding = begin(translator, TEXT, index=1)
    decoding = decoding.pick(decoding.step.candidates()[0][3].id).to(1)
    step = decoding.step
    [picture] = drawn(translator, [case(selection, step=1, choices={"1": step.id})])
    header, arrays = model_message(step, selection)
    assert step.id != step.top(1)[0].id
    assert picture["message"]["model"]["effectOf"] == header["model"]["effectOf"]
    assert_same_arrays(picture["message"], arrays)


def test_a_step_asked_for_while_the_text_still_opens_is_reached(make_checkpoint, drawn):
    ckpt = make_checkpoint()
    [picture] = drawn(ckpt, [case(Selection("cross"), step=2, early=1_000_000)])
    steps = picture["message"]["step_view"]["steps"]
    assert steps["last"] == begin(ckpt, TEXT, index=10_000).index > 2
    assert (steps["index"], steps["answered"]) == (steps["last"], 1)


@pytest.mark.parametrize("pooling", ["max", "mean", "first"])
def test_tokens_of_a_class_are_coloured_by_what_they_add(make_checkpoint, drawn, pooling):
    ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, n_classes=3)
    reading = attend(ckpt, TEXT)
    [picture] = drawn(ckpt, [case(Selection("encoder"))])
    [row], best = picture["message"]["step_view"]["rows"], int(reading.logits.argmax())
    assert row["adds_to"] == ckpt.classes[best]
    np.testing.assert_allclose(row["added"], pool(ckpt, reading).contributions[:, best], atol=1e-4)
    bars = picture["message"]["step_view"]["bars"]["rows"]
    assert [bar["probability"] for bar in bars] == pytest.approx(sorted(reading.logits.exp().tolist())[::-1], abs=1e-4)


def test_an_encoder_without_classes_has_its_attention_and_no_bars(make_checkpoint, drawn):
    ckpt = make_checkpoint(decoder_layers=0, head="masked")
    [picture] = drawn(ckpt, [case(Selection("encoder"))])
    assert picture["message"]["step_view"]["bars"] is None
    assert_same(picture, *expected(attend(ckpt, TEXT), Selection("encoder"), newest=False))


def test_a_head_that_is_off_is_off_in_what_is_drawn(translator, drawn):
    off = {"cross": [[1.0] * translator.config.n_heads for _ in range(translator.config.layers("cross"))]}
    off["cross"][1][0] = 0.0
    selection = Selection("decoder", layer=1)
    [picture] = drawn(translator, [case(selection, heads={"scale": off})])
    path = list(transformer.steps(translator, TEXT, change=switched(off), max_steps=4))
    arrays = picture["message"]["arrays"]
    weights = path[-1].attentions["decoder"][1, 0].numpy()
    np.testing.assert_allclose(np.reshape(arrays["weights"], weights.shape), weights, atol=1e-4)


@pytest.mark.slow
def test_a_long_text_is_drawn_through_the_same_window(make_checkpoint, drawn):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=3, max_len=600)
    text = "We can go home. " * 30
    reading = attend(ckpt, text)
    assert len(text) > LONGEST > SIDE + 100
    looks = {}, {"of": "rollout"}, {"view": MODEL}, {"view": MODEL, "level": "number", "pair": (7, 3)}
    selections = [replace(Selection("encoder", **look), start=start) for start in (None, (30, 100)) for look in looks]
    for selection, picture in zip(selections, drawn(ckpt, [case(one, text=text) for one in selections]), strict=True):
        assert_same(picture, *expected(reading, selection, newest=False))


def some_off(ckpt):
    """Every third head of each layer off."""
    heads = range(ckpt.config.n_heads)
    return {kind: [[float(bool((head + layer) % 3)) for head in heads] for layer in range(ckpt.config.layers(kind))]
            for kind in ckpt.config.kinds}


@pytest.mark.slow
def test_the_whole_model_has_the_same_numbers_at_every_level_whatever_its_shape(tiny_tokenizer, drawn):
    text, said = "I am cold. We ", set()
    for seed, ckpt in enumerate(every(tiny_tokenizer, half=False)):
        off = some_off(ckpt) if seed % 3 == 0 else None
        change = off and [scale(f"{kind}.{layer}.z", 0.0, heads=head) for kind, table in off.items()
                          for layer, row in enumerate(table) for head, factor in enumerate(row) if not factor]
        if ckpt.config.decoder_layers:
            source = list(transformer.steps(ckpt, text, max_steps=4, change=change))[-1]
        else:
            source = attend(ckpt, text, change=change)
        least = min(len(source.axes(kind)[0]) for kind in source.kinds) - 1
        selections = [replace(one, pair=one.pair and (min(one.pair[0], least), 0)) for one in levels(ckpt)
                      if one.level in ("whole", "number")]  # the message is the same at those between
        pictures, before = drawn(ckpt, [case(one, text=text, heads=off and {"scale": off}) for one in selections]), {}
        for selection, picture in zip(selections, pictures, strict=True):
            header, arrays = model_message(source, selection, before=before)
            assert picture["message"]["model"] == approximately(json.loads(json.dumps(header["model"]))), ckpt.config
            assert_same_arrays(picture["message"], arrays, ckpt.config)
            said |= {*header["model"], *header["model"].get("number", ()), *(one.split("/")[0] for one in arrays)}
    assert {"changes", "effectOf", "why", "bias", "clip", "partner"} <= said
    assert {"effects", "position", "headNorms", "seen", "small"} <= said


def test_a_long_text_that_goes_on_is_followed_through_the_same_window(make_checkpoint, drawn):
    ckpt = make_checkpoint(encoder_layers=0, positions="rotary", max_len=2_000)
    text = "We can go home. " * 30
    selections = [Selection("decoder", view=MODEL, level="number", pair=(4, 2), feature=3, start=start)
                  for start in (None, (20, 10))]
    for selection, picture in zip(selections, drawn(ckpt, [case(one, text=text, step=2) for one in selections]),
                                  strict=True):
        assert_same(picture, *expected(begin(ckpt, text, index=2).step, selection, newest=True))

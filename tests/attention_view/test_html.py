"""The offline page holds what it shows, needs nothing else, and takes BertViz's arguments."""

import html
import re
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import transformer
from tests.messages import held, unpacked
from tests.rows import each_row
from transformer.attention_view import notebook
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.message import pack
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.offline_page import page
from transformer.inference.decoding import Sampling

show = partial(notebook.show, live=False)
TEXT = 'I am </script><b onclick="x">cold'


def exact(arrays, kind):
    """The weights of a whole page: the square roots in 0..65,535, high bytes before low ones."""
    high, low = arrays[f"cells/{kind}"].astype(np.float64)
    return ((high * 256 + low) / 65_535) ** 2


@pytest.fixture
def step(translator):
    return list(transformer.steps(translator, TEXT, max_steps=6))[-1]


def test_arrays_come_back_as_they_went_and_what_the_mask_hides_is_not_sent():
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.arange(5, dtype=np.uint8),
              "c": np.array([[65_535]], np.uint16), "none": np.zeros((0, 4), np.float32)}
    header, found = unpacked(pack({"text": "é"}, arrays))
    assert header["text"] == "é"
    for name, array in arrays.items():
        assert np.array_equal(found[name], array)
    assert all(part["at"] % 4 == 0 for part in header["arrays"].values())
    array = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    header, found = unpacked(pack({}, {"a": array, "b": np.ones(2, np.uint8)}, short={"a"}))
    np.testing.assert_allclose(found["a"], array, atol=1e-7 * np.abs(array).max())
    assert header["arrays"]["b"]["at"] == 48
    _, found = unpacked(pack({}, {"a": 0 * array}, short={"a"}))
    assert not found["a"].any()
    array = np.tril(np.arange(1, 19, dtype=np.float32).reshape(2, 3, 3))
    message = pack({}, {"a": array, "b": np.ones(2, np.uint8)}, lower={"a"})
    header, found = unpacked(message)
    np.testing.assert_array_equal(found["a"], array)
    assert header["arrays"]["b"]["at"] == 2 * 6 * 4


def test_a_page_holds_every_head_of_every_kind_and_a_pooled_one_a_single_head_in_full(step):
    header, arrays = held(page(step))
    for kind in step.kinds:
        np.testing.assert_allclose(exact(arrays, kind), step.attentions[kind].numpy(), atol=2e-5)
        q, k, _ = step.projections(kind)
        np.testing.assert_allclose(arrays[f"q/{kind}"], q, atol=1e-7 * float(q.abs().max()))
        np.testing.assert_allclose(arrays[f"k/{kind}"], k, atol=1e-7 * float(k.abs().max()))
        assert header["kinds"][kind]["queries"] == step.axes(kind)[0]
    assert header["about"] == {"checkpoint": step.ckpt.id, "step": 7, "text": TEXT, "output": step.output}
    assert header["standalone"]
    header, arrays = held(page(step, Selection("cross", layer=1, head=1), exact=False))
    np.testing.assert_allclose(arrays["weights"], step.attentions["cross"][1, 1], atol=1e-6)
    assert not any(name.startswith("cells/") for name in arrays)
    assert header["selection"]["layer"] == header["selection"]["head"] == 1


@pytest.mark.parametrize("sampling", [Sampling(temperature=1.5, top_k=3), Sampling(temperature=1.5, top_p=0.3)])
def test_candidates_that_sampling_leaves_out_keep_the_probability_they_would_have(translator, sampling):
    first, *_ = transformer.steps(translator, "I am cold.", sampling=sampling)
    found, excluded = first.candidates(sampling=sampling)
    plain = {one.id: one.probability for one in first.top(len(found), Sampling(temperature=1.5))}
    assert 0 < len(excluded) < len(found)
    assert [one.id for one in found] == [*plain]
    for id in excluded:
        assert [one.probability for one in found if one.id == id] == [pytest.approx(plain[id])]
        assert replace(first, id=id).probability(sampling) == pytest.approx(plain[id])


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.5, top_k=3, seed=2)], ids=["greedy", "hot"])
def test_a_page_has_the_candidates_and_the_text_that_the_step_view_has(writer, sampling):
    *_, step = transformer.steps(writer, "we Ω", sampling=sampling, max_steps=3)
    path = held(page(step, sampling=sampling))[0]["path"]
    assert path["unknown"]
    assert all(path["target"][at] == step.source[at].text for at in path["unknown"])
    assert path["outputs"] == [one.whole for one in step.path()]
    for one, sent in zip(step.path(), path["bars"], strict=True):
        found, excluded = one.candidates(sampling=sampling)
        assert [bar["probability"] for bar in sent] == pytest.approx([c.probability for c in found], abs=1e-6)
        assert [bar["excluded"] for bar in sent] == [c.id in excluded for c in found]
        chosen = [bar["probability"] for bar in sent if bar["chosen"]]
        assert chosen in ([], [pytest.approx(one.probability(sampling), abs=1e-6)])


def test_a_page_of_words_holds_words_and_says_so(translator):
    words = transformer.attend(translator, "Go on.", "He is").words(leave_out="special")
    header, arrays = held(show(words).page)
    for kind in words.kinds:
        np.testing.assert_allclose(exact(arrays, kind), words.attentions[kind].numpy(), atol=2e-5)
        assert f"q/{kind}" not in arrays
        assert (header["kinds"][kind]["queries"], header["kinds"][kind]["keys"]) == words.axes(kind)
        assert header["kinds"][kind]["merged"] == words.changes(kind) == header["about"]["merged"][kind]
    assert header["kinds"]["decoder"]["sees"] == [0, 1, 2]  # the start token is read, and looked at by nobody shown
    assert header["kinds"]["cross"]["makes"] == words.predicted("cross")
    assert "makes" not in header["kinds"]["encoder"]
    header, _ = held(show(transformer.attend(translator, "Go on.", "He is").words(leave_out=())).page)
    assert "sees" not in header["kinds"]["decoder"]  # where nothing is left out


def test_a_page_needs_no_network_runs_nothing_that_was_typed_and_stands_in_a_frame_of_a_notebook(step, translator):
    text = re.sub(r'id="message">[^<]*<', "<", page(step))
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")  # the name of a namespace
    assert "default-src 'none'" in text
    assert "<b onclick" not in text
    assert text.count("</script>") == 2
    frame = show(step, kind="encoder", layer=1)._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert held(inner)[0]["selection"] | {"kind": "encoder", "layer": 1} == held(inner)[0]["selection"]
    assert "allow-same-origin" not in frame
    header, _ = held(show(transformer.attend(translator, "Go on.", "He is")).page)
    assert set(header["kinds"]) == {"encoder", "decoder", "cross"}


def layers(queries, keys, *, causal=False, count=3):
    scores = torch.rand(count, 1, 2, queries, keys, generator=torch.Generator().manual_seed(3))
    if causal:
        scores = scores.masked_fill(~torch.ones(queries, keys).tril().bool(), float("-inf"))
    return list(scores.softmax(dim=-1))


def test_weights_from_elsewhere_are_shown_as_bertviz_takes_them():
    source, target = ["I", "am", "cold"], ["J'", "ai"]
    encoder, decoder, cross = layers(3, 3), layers(2, 2, causal=True), layers(2, 3)
    header, arrays = held(show(encoder_attention=encoder, decoder_attention=decoder, cross_attention=cross,
                               encoder_tokens=source, decoder_tokens=target).page)
    for kind, given in (("encoder", encoder), ("decoder", decoder), ("cross", cross)):
        np.testing.assert_allclose(exact(arrays, kind), torch.cat(given), atol=2e-5)
    assert header["kinds"]["cross"] == {"layers": 3, "heads": 2, "queries": target, "keys": source, "causal": False}
    assert header["kinds"]["decoder"]["causal"]
    assert header["about"]["checkpoint"] is None


@each_row(("causal", "kind"), [(True, "decoder"), (False, "encoder")])
def test_one_list_of_weights_is_named_by_whether_it_looks_ahead(causal, kind):
    header, _ = held(show(layers(4, 4, causal=causal), list("abcd")).page)
    assert list(header["kinds"]) == [kind]
    assert header["kinds"][kind]["causal"] == causal


FOUR = {"source": layers(4, 4), "tokens": list("abcd")}
EAGER = 'attn_implementation="eager"'


@each_row(("arguments", "message"), [
    ({}, "nothing to show"),
    ({"source": layers(4, 4), "tokens": list("abc")}, r"\(1, H, 3, 3\)"),
    ({"decoder_attention": layers(2, 2)}, "decoder_tokens is missing"),
    ({"source": layers(4, 4), "tokens": "abcd"}, "tokens is one text"),
    ({"source": ()}, EAGER), (FOUR | {"source": [None, None]}, EAGER),
    ({"decoder_attention": [*layers(2, 2), None], "decoder_tokens": ["a", "b"]}, EAGER),
    (FOUR | {"source": [[], []]}, EAGER), (FOUR | {"source": [*layers(4, 4), layers(4, 4)]}, "return_dict=False"),
    (FOUR | {"source": [[layer[0, 0] for layer in layers(4, 4)]]}, "must be a list with a tensor"),
    (FOUR | {"source": [None, *layers(4, 4)], "include_layers": [0]}, r"layers is \[0\], and there are 1, 2, 3;"),
    *((FOUR | {"source": SimpleNamespace(attentions=none)}, EAGER) for none in (None, ())),
    ({"source": SimpleNamespace(encoder_attentions=(), decoder_attentions=(), cross_attentions=()),
      "encoder_tokens": ["a"], "decoder_tokens": ["b"]}, EAGER),
    ({"source": "logits"}, "must be a list with a tensor"), ({"source": 5}, "must be a list with a tensor"),
    ({"source": [layers(4, 4)[0], layers(3, 3)[0]], "tokens": list("abcd")}, r"one is \(2, 3, 3\)"),
    (FOUR | {"cross_attention": layers(4, 4)}, "leave it out"), (FOUR | {"include_heads": []}, "include_heads"),
    (FOUR | {"include_layers": [0, 3]}, r"include_layers is \[0, 3\]"), (FOUR | {"heads": [2]}, "head 2 asked for"),
    (FOUR | {"include_layers": [1], "layer": 0}, "1 layers of 2 heads, 1"),
    (FOUR | {"sentence_b_start": 4}, "begins at 1 to 3"),
    ({"cross_attention": layers(2, 3), "decoder_tokens": ["a", "b"], "encoder_tokens": list("cde"),
      "sentence_b_start": 1}, "of one text"),
    (FOUR | {"html_action": "print"}, "choose view or return")])
def test_weights_that_do_not_fit_their_tokens_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        show(**arguments)


def test_layers_heads_and_marks_are_shown_as_they_are_asked_for(step):
    found = layers(4, 4)
    header, arrays = held(show(found, list("abcd"), include_layers=[2, 0], include_heads=[1], layer=2, heads=[1]).page)
    shown = header["kinds"]["encoder"]
    assert (shown["layers"], shown["heads"], shown["numbers"]) == (2, 1, {"layers": [2, 0], "heads": [1]})
    np.testing.assert_allclose(exact(arrays, "encoder"), torch.cat([found[2], found[0]])[:, 1:], atol=2e-5)
    assert (header["selection"]["layer"], header["selection"]["head"], header["selection"]["view"]) == (0, 0, "matrix")
    selection = held(show(layers(4, 4), list("abcd"), heads=[1, 0], layer=1).page)[0]["selection"]
    assert (selection["view"], selection["lit"], selection["layer"], selection["head"]) == ("lines", [0, 1], 1, 1)
    assert held(show(step, heads=[1]).page)[0]["selection"]["head"] == 1
    tokens = ["▁I", "Ġam", "cold</w>", "Ġ"]
    assert held(show(layers(4, 4), tokens).page)[0]["kinds"]["encoder"]["queries"] == ["I", "am", "cold", "Ġ"]
    assert held(show(layers(4, 4), tokens, prettify_tokens=False).page)[0]["kinds"]["encoder"]["keys"] == tokens


@each_row(("tokens", "drawn"), [
    (["ZoÃ«", "ĠÃ©tait", "ĠÃł", "ĠÅģÃ³dÅº"], ["Zoë", "était", "à", "Łódź"]), (["ZoÃ«"], ["Zoë"]),
    (["æĹ¥", "æľ¬"], ["日", "本"]),
    (["<｜begin▁of▁sentence｜>", "caf", "Ã©", "Ġau", "Ġ"], ["<｜beginofsentence｜>", "caf", "é", "au", "▁"]),
    (["<|endoftext|>", "ĠðŁ", "ĺ", "Ģ", "Ċ", "##"], ["<|endoftext|>", "<20><F0><9F>", "<98>", "<80>", "\n", "##"]),
    (["ðŁ", "ĺĢ"], ["<F0><9F>", "<98><80>"]), (["naÃ¯ve", "Ċ", "ĉ"], ["naïve", "\n", "\t"]),
    (["Ġthe", "Ã"], ["the", "<C3>"]),
    *((plain, plain) for plain in (
        ["Ã", "été"], ["Ã"], ["Ã", "©"], ["naïve", "café"], ["kuća", "čuđenje"], ["ĉu", "vi"], ["Łona", "mała"],
        ["Spaß", "»"], ["the", "Ċ"], ["ā", "ē"], ["##ing", "Ã©"], ["«", "à", "»"], ["Zoë", "était"], ["日", "本"])),
    (["Ã", "été", "##ing", "▁the"], ["Ã", "été", "##ing", "the"]), (["▁cafÃ©", "▁x"], ["cafÃ©", "x"]),
    (["caf", "Ã©</w>"], ["caf", "Ã©"])])
def test_tokens_that_are_evidently_of_bytes_are_drawn_as_text_and_no_others(tokens, drawn):
    count = len(tokens)
    given = {"encoder_tokens": tokens, "decoder_tokens": tokens}
    for found in (ExternalWeights(layers(count, count), tokens).tensors(),
                  ExternalWeights(cross_attention=layers(count, count), **given).tensors()):
        for axes in found.tokens.values():
            assert axes == (drawn, drawn)
    plain = ExternalWeights(layers(count, count), tokens, prettify_tokens=False).tensors()
    assert plain.tokens["encoder" if count > 1 else "decoder"][0] == tokens


def test_layers_without_attention_are_left_out_and_the_others_keep_their_numbers():
    found = layers(4, 4)
    given = [None, found[0], None, found[1], found[2]]
    header, arrays = held(show(SimpleNamespace(attentions=given), list("abcd"), layer=3).page)
    assert header["kinds"]["encoder"]["numbers"] == {"layers": [1, 3, 4], "heads": [0, 1]}
    assert header["selection"]["layer"] == 1
    np.testing.assert_allclose(exact(arrays, "encoder"), torch.cat(found), atol=2e-5)
    header, arrays = held(show(given, list("abcd"), include_layers=[4, 1], include_heads=[1]).page)
    assert header["kinds"]["encoder"]["numbers"] == {"layers": [4, 1], "heads": [1]}
    np.testing.assert_allclose(exact(arrays, "encoder"), torch.cat([found[2], found[0]])[:, 1:], atol=2e-5)


def test_two_sentences_are_shown_together_and_between_each_other():
    found = layers(5, 5)
    header, arrays = held(show(found, list("abcde"), sentence_b_start=2).page)
    assert list(header["kinds"]) == ["encoder", "A → A", "B → B", "A → B", "B → A"]
    assert header["selection"]["kind"] == "encoder"
    assert (header["kinds"]["A → B"]["queries"], header["kinds"]["A → B"]["keys"]) == (["a", "b"], ["c", "d", "e"])
    np.testing.assert_allclose(exact(arrays, "A → B"), torch.cat(found)[..., :2, 2:], atol=2e-5)
    np.testing.assert_allclose(exact(arrays, "B → A"), torch.cat(found)[..., 2:, :2], atol=2e-5)
    header, _ = held(show([layer - 0.3 for layer in found], list("abcde"), sentence_b_start=2).page)
    scales = [info["open"] for info in header["kinds"].values()]
    assert scales == scales[:1] * 5  # of values that are no weights, one scale for all


def test_what_a_model_of_transformers_or_of_ours_returns_can_be_shown(translator, writer):
    found = layers(3, 3, causal=True)
    header, arrays = held(show(SimpleNamespace(attentions=tuple(found), cross_attentions=None), list("abc")).page)
    np.testing.assert_allclose(exact(arrays, "decoder"), torch.cat(found), atol=2e-5)
    both = SimpleNamespace(encoder_attentions=layers(4, 4), decoder_attentions=found, cross_attentions=layers(3, 4))
    header, _ = held(show(both, encoder_tokens=list("wxyz"), decoder_tokens=list("abc")).page)
    assert list(header["kinds"]) == ["encoder", "decoder", "cross"]
    ids = torch.tensor([writer.tokenizer.encode("I am")])
    tokens = [writer.tokenizer.piece(one) for one in ids[0].tolist()]
    found = writer.model.decode(ids, readable=True)
    _, arrays = held(show(found, tokens).page)
    np.testing.assert_allclose(exact(arrays, "decoder"), torch.cat([one.weights for one in found.attention]).detach(),
                               atol=2e-5)
    with pytest.raises(ValueError, match="readable=True"):
        show(writer.model.decode(ids), tokens)
    memory = translator.model.encode(ids, readable=True)
    both = translator.model.decode(ids, memory.x, readable=True)
    assert list(held(show(memory, tokens).page)[0]["kinds"]) == ["encoder"]
    header, _ = held(show(both, decoder_tokens=tokens, encoder_tokens=tokens).page)
    assert list(header["kinds"]) == ["decoder", "cross"]


def test_a_picture_is_saved_displayed_and_told_in_one_line(step, tmp_path, monkeypatch):
    picture = show(step, kind="cross")
    path = tmp_path / "cross.html"
    path.write_text("something else")
    assert picture.save(str(path)) == path
    assert path.read_text("utf-8") == picture.page == picture.data
    assert repr(picture).startswith("Picture of cross attention: 0.")
    assert "\n" not in repr(picture)
    shown = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=shown.append))
    assert show(step, html_action="view") is None
    assert [type(one).__name__ for one in shown] == ["Picture"]
    assert show(step, html_action="return").page == show(step).page


def test_a_head_or_a_part_of_the_layers_that_is_not_there_is_refused(step):
    for wrong, why in (({"include_layers": [0]}, "for weights from elsewhere"), ({"layer": 7}, "2 layers of 2 heads"),
                       ({"kind": "middle"}, "no middle attention")):
        with pytest.raises(ValueError, match=why):
            show(step, **wrong)


@each_row("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_cannot_be_drawn_is_refused_with_where_it_is(bad):
    found = layers(4, 4)
    found[2][0, 1, 3, 2] = bad
    with pytest.raises(ValueError, match=r"1 of 96 numbers .* layer 2, head 1.*nan_to_num"):
        show(found, list("abcd"))


@each_row("change", [lambda a: a - 0.3, lambda a: a * 50, lambda a: a * 0.5, lambda a: a * 1e-6])
@each_row("exact", [True, False])
def test_values_that_are_no_weights_are_sent_as_they_are_with_their_scale(change, exact):
    found = [change(layer) for layer in layers(4, 4, causal=True)]
    header, arrays = held(show(found, list("abcd"), layer=1, head=1, exact=exact).page)
    (kind,) = header["kinds"]
    scale = header["kinds"][kind]["open"]
    values = torch.cat(found).numpy()
    assert scale == {"signed": bool(values.min() < 0), "most": pytest.approx(abs(values).max())}
    np.testing.assert_array_equal(arrays[f"values/{kind}"] if exact else arrays["weights"], values if exact else
                                  values[1, 1])


@each_row("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_weights_are_weights_in_every_precision(dtype):
    header, _ = held(show([layer.to(dtype) for layer in layers(40, 40, causal=True)], list(40 * "a")).page)
    assert "open" not in header["kinds"]["decoder"]


def test_forty_steps_of_translate_are_less_than_a_megabyte(shipped):
    text = ("The old man who lives next door gave my little brother a beautiful red bicycle for his birthday, and now "
            "he rides it to school every morning with his friends from the village, and they sing on the way.")
    *_, step = transformer.steps(shipped("translate"), text, max_steps=40)
    assert step.index == 39
    assert len(page(step, Selection("cross", 1, 3)).encode()) < 1_000_000


def test_a_page_of_queries_that_are_no_numbers_keeps_them_as_they_are(step, monkeypatch):
    q, k, v = step.projections("cross")
    broken = torch.full_like(q, float("nan"))
    whole_of = type(step).projections
    monkeypatch.setattr(type(step), "projections",
                        lambda self, kind: (broken, k, v) if kind == "cross" else whole_of(self, kind))
    _, arrays = held(page(step, Selection("decoder")))
    assert np.isnan(arrays["q/cross"]).all()

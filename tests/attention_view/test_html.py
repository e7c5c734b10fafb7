"""The offline page holds what it shows, needs nothing else, and takes BertViz's arguments."""

import gzip
import html
import json
import re

import numpy as np
import pytest
import torch

import transformer
from transformer.attention_view.html import page, show
from transformer.attention_view.message import Look, pack

TEXT = 'I am </script><b onclick="x">cold'
NUMPY = {"f4": "<f4", "u1": "u1", "u2": "<u2"}


def unpack(message):
    start = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:start])
    found = {}
    for name, part in header["arrays"].items():
        array = np.zeros(part["shape"], NUMPY[part["type"]])
        sent = (..., np.tri(*array.shape[-2:], dtype=bool)) if part["lower"] else ...
        count = array[sent].size
        array[sent] = np.frombuffer(message, array.dtype, count, start + part["at"]).reshape(array[sent].shape)
        found[name] = array
    return header, found


def held(text):
    """What a page holds."""
    sevens = [ord(c) % 128 for c in re.search(r'id="message">([^<]*)<', text)[1]]
    bits = "".join(f"{seven:07b}" for seven in sevens)
    return unpack(gzip.decompress(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))))


def exact(arrays, kind):
    """The weights of a whole page: the square roots in 0..65,535, high bytes before low ones."""
    high, low = arrays[f"cells/{kind}"].astype(np.float64)
    return ((high * 256 + low) / 65_535) ** 2


@pytest.fixture
def step(translator):
    return list(transformer.steps(translator, TEXT, max_steps=6))[-1]


def test_arrays_come_back_as_they_went():
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.arange(5, dtype=np.uint8),
              "c": np.array([[65_535]], np.uint16), "none": np.zeros((0, 4), np.float32)}
    header, found = unpack(pack({"text": "é"}, arrays))
    assert header["text"] == "é"
    for name, array in arrays.items():
        assert np.array_equal(found[name], array)
    assert all(part["at"] % 4 == 0 for part in header["arrays"].values())


def test_what_the_mask_hides_is_not_sent():
    array = np.tril(np.arange(1, 19, dtype=np.float32).reshape(2, 3, 3))
    message = pack({}, {"a": array, "b": np.ones(2, np.uint8)}, lower={"a"})
    header, found = unpack(message)
    np.testing.assert_array_equal(found["a"], array)
    assert header["arrays"]["b"]["at"] == 2 * 6 * 4


def test_a_page_holds_every_head_of_every_kind(step):
    header, arrays = held(page(step))
    for kind in step.kinds:
        np.testing.assert_allclose(exact(arrays, kind), step.attentions[kind].numpy(), atol=2e-5)
        q, k, _ = step.looked(kind)
        np.testing.assert_array_equal(arrays[f"q/{kind}"], q)
        np.testing.assert_array_equal(arrays[f"k/{kind}"], k)
        assert header["kinds"][kind]["queries"] == step.axes(kind)[0]
    assert header["about"] == {"checkpoint": step.ckpt.id, "step": 7, "text": TEXT, "output": step.output}
    assert header["standalone"]


def test_a_pooled_page_holds_one_head_in_full(step):
    header, arrays = held(page(step, Look("cross", layer=1, head=1), exact=False))
    np.testing.assert_array_equal(arrays["weights"], step.attentions["cross"][1, 1])
    assert not any(name.startswith("cells/") for name in arrays)
    assert header["look"]["layer"] == header["look"]["head"] == 1


def test_a_page_needs_no_network_and_runs_nothing_that_was_typed(step):
    text = re.sub(r'id="message">[^<]*<', "<", page(step))
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")  # the name of a namespace
    assert "default-src 'none'" in text
    assert "<b onclick" not in text
    assert text.count("</script>") == 2


def test_a_notebook_gets_a_frame(step):
    frame = show(step, kind="encoder", layer=1)._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert held(inner)[0]["look"] | {"kind": "encoder", "layer": 1} == held(inner)[0]["look"]
    assert "allow-same-origin" not in frame


def test_a_whole_reading_can_be_shown(translator):
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


@pytest.mark.parametrize(("causal", "kind"), [(True, "decoder"), (False, "encoder")])
def test_one_list_of_weights_is_named_by_whether_it_looks_ahead(causal, kind):
    header, _ = held(show(layers(4, 4, causal=causal), list("abcd")).page)
    assert list(header["kinds"]) == [kind]
    assert header["kinds"][kind]["causal"] == causal


@pytest.mark.parametrize(("arguments", "message"), [
    ({}, "nothing to show"),
    ({"shown": layers(4, 4), "tokens": list("abc")}, r"\(1, H, 3, 3\)"),
    ({"decoder_attention": layers(2, 2)}, r"\(1, H, 0, 0\)")])
def test_weights_that_do_not_fit_their_tokens_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        show(**arguments)


def test_a_head_that_is_not_there_is_refused(step):
    with pytest.raises(ValueError, match="2 layers of 2 heads"):
        show(step, layer=7)
    with pytest.raises(ValueError, match="no middle attention"):
        show(step, kind="middle")

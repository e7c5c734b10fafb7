"""Neurons against one text at a time: their values, their largest places, and what their columns write."""

import pytest
import torch

import transformer
from tests.analysis.texts import sentences
from transformer.analysis.neurons import activations, contexts, strongest_contexts, writes


@pytest.mark.parametrize(("name", "stack"), [
    ("translator", "encoder"), ("translator", "decoder"), ("writer", "decoder"), ("classifier", "encoder")])
def test_the_strongest_contexts_are_those_of_each_text_read_alone(request, name, stack):
    ckpt = request.getfixturevalue(name)
    found = strongest_contexts(ckpt, stack, 1, sentences(ckpt), count=5)
    rows, places = [], []
    for number, sentence in enumerate(sentences(ckpt)):
        run = transformer.run(ckpt, sentence.text, sentence.target, capture=f"{stack}.*.mlp_post")
        values = activations(run, stack)[1]
        rows.append(values)
        places += [(number, position) for position in range(len(values))]
    every = torch.cat(rows)
    expected = every.topk(5, dim=0).values.T
    torch.testing.assert_close(found.values, expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.mean, every.mean(0), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.share, (every > 0).float().mean(0))
    for neuron in range(0, len(found.values), 7):
        for value, one in zip(found.values[neuron].tolist(), contexts(found, ckpt, stack, neuron), strict=True):
            assert float(every[places.index((one.sentence, one.position)), neuron]) == pytest.approx(value, abs=1e-5)
            assert len(one.tokens) > one.at
    with pytest.raises(ValueError, match="there is no neuron 32; choose one from 0 to 31"):
        contexts(found, ckpt, stack, 32)


@pytest.mark.parametrize("settings", [{"encoder_layers": 0}, {"encoder_layers": 0, "norm_kind": "rms", "gated": True},
                                      {}, {"final_norm": False}])
def test_what_a_neuron_writes_is_its_column_through_the_last_norm_and_the_output(make_checkpoint, settings):
    ckpt = make_checkpoint(**settings)
    model = ckpt.model
    column = model.decoder.layers[1].feed_forward.down.weight[:, 3]
    norm = model.decoder.norm
    if getattr(norm, "is_centred", False):
        column = column - column.mean()
    column = column * getattr(norm, "weight", torch.ones(16))
    moved = model.output.weight @ column
    found = writes(ckpt, 1, 3, count=4)
    assert [one.id for one in found.promoted] == moved.topk(4).indices.tolist()
    assert [one.id for one in found.suppressed] == moved.topk(4, largest=False).indices.tolist()
    assert found.promoted[0].probability == pytest.approx(float(moved.max()), rel=1e-4)


def test_what_has_no_neurons_is_refused(make_checkpoint, writer):
    with pytest.raises(ValueError, match="no site 'decoder.0.mlp_post'"):
        strongest_contexts(make_checkpoint(encoder_layers=0, d_ff=0), "decoder", 0, [])
    with pytest.raises(ValueError, match="no site 'decoder.7.mlp_post'"):
        writes(writer, 7, 0)
    with pytest.raises(ValueError, match="there is no neuron -1"):
        writes(writer, 0, -1)

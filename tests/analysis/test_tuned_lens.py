"""The tuned lens: it fits what it was made to fit, on rows left out too, and is read back for its own weights alone."""

from dataclasses import replace
from shutil import copy

import pytest
import torch

import transformer
from tests.analysis.texts import TEXTS, sentences
from transformer.analysis.lens import read_layers
from transformer.analysis.sample import read_texts
from transformer.analysis.token_inputs import inputs_of_step
from transformer.analysis.tuned_lens import TunedLens, fit_tuned_lens, read_tuned_lens, write_tuned_lens
from transformer.basics.folders import TUNED_LENS

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
@pytest.fixture(params=["translator", "writer"])
def ckpt(request):
    return request.getfixturevalue(request.param)


def test_each_depth_goes_through_its_own_map_and_the_last_through_none(ckpt):
    step = transformer.start(ckpt, TEXTS[0])
    read, generator = inputs_of_step(step), torch.Generator().manual_seed(0)
    lens = TunedLens(torch.randn(2, 16, 16, generator=generator) / 4, torch.randn(2, 16, generator=generator))
    found = read_layers(read, through=lens)
    run = transformer.run(ckpt, TEXTS[0], capture="*")
    for depth in range(2):
        row = run[f"decoder.{depth}.resid_pre"][-1]
        logits = ckpt.model.project(ckpt.model.decoder.norm(row + row @ lens.matrices[depth] + lens.biases[depth]))
        torch.testing.assert_close(found.probabilities[depth, 0], logits.softmax(-1).topk(5).values, **CLOSE)
    torch.testing.assert_close(found.probabilities[-1, 0], step.logits.softmax(-1).topk(5).values, **CLOSE)


@pytest.mark.slow
def test_it_comes_closer_to_the_output_than_the_plain_lens(ckpt):
    seen = []
    lens = fit_tuned_lens(ckpt, sentences(ckpt) * 4, steps=150, watch=lambda *counts: seen.append(counts))
    assert lens.matrices.shape == (2, 16, 16) and seen[-1] == (300, 300)
    for plain, tuned in lens.divergence:
        assert tuned < 0.8 * plain
    one, again = (fit_tuned_lens(ckpt, sentences(ckpt), steps=10) for _ in range(2))
    assert torch.equal(one.matrices, again.matrices)
    assert not any(parameter.grad is not None for parameter in ckpt.model.parameters())


def test_it_is_kept_beside_the_weights_and_read_for_these_alone(make_checkpoint):
    ckpt = make_checkpoint(dropout=0.123)
    assert read_tuned_lens(ckpt) is None
    lens = fit_tuned_lens(ckpt, sentences(ckpt), steps=3)
    path = write_tuned_lens(ckpt, lens)
    found = read_tuned_lens(ckpt)
    torch.testing.assert_close(found.matrices, lens.matrices, atol=1e-3, rtol=1e-2)
    assert found.divergence == tuple((round(one, 4), round(two, 4)) for one, two in lens.divergence)
    assert transformer.load(ckpt.description.folder).id == ckpt.id  # the file is no part of the checkpoint
    other = make_checkpoint(dropout=0.123, d_ff=24)
    copy(path, other.description.folder)
    assert read_tuned_lens(other) is None
    write_tuned_lens(ckpt, replace(lens, biases=lens.biases * float("nan")))
    assert read_tuned_lens(ckpt) is None
    write_tuned_lens(ckpt, lens)
    path.write_bytes(path.read_bytes()[:-100])
    assert read_tuned_lens(ckpt) is None
    path.unlink()


def test_what_has_no_decoder_or_no_text_is_refused(classifier, writer):
    with pytest.raises(ValueError, match="has no decoder, and a tuned lens is of one"):
        fit_tuned_lens(classifier, [])
    with pytest.raises(ValueError, match="give more of them"):
        fit_tuned_lens(writer, [replace(read_texts(writer, ["Go."])[0], tgt=(5,), labels=(6,))])


@pytest.mark.parametrize("name", ["translate", "write"])
def test_the_shipped_ones_are_of_the_shipped_weights_and_fit(shipped, name):
    lens = read_tuned_lens(shipped(name))
    assert lens is not None, f"headsup lens checkpoints/{name} --write"
    assert (shipped(name).description.folder / TUNED_LENS).stat().st_size < 1_000_000
    assert all(tuned < plain for plain, tuned in lens.divergence)

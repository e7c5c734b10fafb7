"""Attention as it forms on a text of the reader's: every step of a checkpoint reads it."""

import shutil

import numpy as np
import pytest
import torch

import transformer
from transformer.checkpoints.checkpoint import save
from transformer.measures.matrices import measure_heads
from transformer.training import forming
from transformer.training.forming import reread

SHAPES = {"translation": {}, "text": {"encoder_layers": 0}, "reads": {"decoder_layers": 0, "head": "none"}}


@pytest.fixture
def with_steps(make_checkpoint, tmp_path):
    """with_steps(...): a checkpoint of step 7 that kept steps 0 and 3, each with weights of its own."""
    def with_steps(**changes):
        ckpt = make_checkpoint(**changes)
        folder = shutil.copytree(ckpt.description.folder, tmp_path / "published")
        for step in (0, 3):
            model = transformer.Transformer(ckpt.config, generator=torch.Generator().manual_seed(step))
            save(folder / "snapshots" / str(step), model, tokenizer=ckpt.tokenizer, meta={"step": step})
        return folder

    return with_steps


@pytest.mark.parametrize("task", SHAPES)
def test_every_step_reads_the_text_with_its_own_weights(with_steps, task):
    folder, progress = with_steps(**SHAPES[task]), []
    found = reread(folder, "I am cold.", watch=lambda *now: progress.append(now))
    ckpt = transformer.load(folder)
    assert found.steps == (0, 3, 7) and not found.training and found.called[1] == "loss on this text"
    assert found.name == ckpt.id and not found.live and not found.notes
    assert tuple(found.heads) == ckpt.config.kinds and progress[-1] == (2, 3)
    target = transformer.translate(ckpt, ["I am cold."], max_steps=128)[0] if task == "translation" else None
    for step, place in ((0, folder / "snapshots" / "0"), (3, folder / "snapshots" / "3"), (7, folder)):
        reading = transformer.attend(transformer.load(place), "I am cold.", target)
        at, ids = found.steps.index(step), reading.ids["tgt"]
        likely = reading.logits.log_softmax(-1)[range(len(ids) - 1), ids[1:]] if task == "text" else None
        assert found.losses[at] == (None, likely if likely is None else pytest.approx(-likely.mean().item()))
        for kind in found.heads:
            assert found.sentences[0].axes(kind) == tuple(map(tuple, reading.axes(kind)))
            weights = reading.attentions[kind].numpy()
            np.testing.assert_allclose(found.weights(0, kind, step), weights, atol=0.01)
            names = list(found.rows[0, kind])
            ends = ckpt.config.eos_id in reading.ids["tgt" if kind == "decoder" else "src"]
            assert ("end" in names) == ends and len(names) == found.measures[0, kind].shape[1]
            for name, expected in measure_heads(found.weights(0, kind, step), kind=kind).items():
                np.testing.assert_allclose(found.measures[0, kind][at][names.index(name)], expected, atol=1e-5)
    assert found.validation == tuple((step, loss) for step, (_, loss) in zip(found.steps, found.losses, strict=True)
                                     if loss is not None)
    assert any(abs(found.weights(0, kind, 0) - found.weights(0, kind, 7)).max() > 0.05 for kind in found.heads)


def test_the_last_step_is_left_out_where_nobody_knows_which_it_is(with_steps, make_checkpoint):
    folder = with_steps(encoder_layers=0)
    ckpt = transformer.load(folder)
    save(folder.parent / "other", ckpt.model, tokenizer=ckpt.tokenizer)
    shutil.copytree(folder / "snapshots", folder.parent / "other" / "snapshots")
    assert reread(folder.parent / "other", "Go on.").steps == (0, 3)


def test_a_text_that_takes_too_much_is_refused_and_of_many_steps_some_are_left_out(with_steps, monkeypatch):
    folder = with_steps(encoder_layers=0)
    with pytest.raises(ValueError, match="at most"):
        reread(folder, "I am cold. " * 20)
    size = sum(one[0].size for one in reread(folder, "Go on.").cells.values())
    monkeypatch.setattr(forming, "MOST_BYTES", 2 * size)
    found = reread(folder, "Go on.")
    assert found.steps == (0, 7) and found.notes[0].startswith("3 snapshots of")
    with pytest.raises(ValueError, match="this text has 10 tokens, .* shorten it"):
        reread(folder, "I am cold.")


def test_a_checkpoint_without_steps_is_refused(writer):
    with pytest.raises(ValueError, match="tiny has no steps of its training; import several"):
        reread(writer.description.folder, "Go on.")

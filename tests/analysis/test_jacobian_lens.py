"""The Jacobian lens: its maps are the mean of Jacobians taken one by one, and it is read back for its own weights."""

from functools import partial
from shutil import copy

import pytest
import torch
from torch.autograd.functional import jacobian

import transformer
from tests.analysis import texts
from transformer.analysis.jacobian_lens import (
    JacobianLens,
    fit_jacobian_lens,
    jacobian_lens_path,
    measure_jacobian_lens,
    read_jacobian_lens,
    write_jacobian_lens,
)
from transformer.analysis.lens import read_layers, read_source
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.evaluation.held_out import held_out_sentences

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
TEXTS = ["I am", "Go on", "We "]  # of several lengths, so that the shorter ones are padded
SHAPES = [{}, {"norm_position": "post"}, {"norm_position": "post", "encoder_layers": 0},
          {"encoder_layers": 0, "positions": "rotary", "norm_kind": "rms"}, {"encoder_layers": 0, "pad_id": None},
          {"encoder_layers": 1, "decoder_layers": 1, "positions": "relative"},
          {"encoder_layers": 0, "decoder_layers": 3, "shared_layers": True}]
sentences = partial(texts.sentences, texts=TEXTS)


def by_hand(ckpt, read):
    """The mean Jacobians of each depth of the encoder and the decoder, one text after the other, without padding."""
    model, config = ckpt.model, ckpt.config
    depths = {"encoder": config.encoder_layers + 1 if config.encoder_layers else 0, "decoder": config.decoder_layers}
    sums = {stack: torch.zeros(count, config.d_model, config.d_model) for stack, count in depths.items()}
    counts = dict.fromkeys(depths, 0)
    for sentence in read:
        tgt = torch.tensor([sentence.tgt])
        placed = model.placed("decoder", range(tgt.shape[1]))

        def end(rows, memory, first, placed=placed):
            return model.decoder(rows, memory, causal=True, placed=placed, first=first).inputs[-1][0]

        encoded = None if sentence.src is None else model.encode(torch.tensor([sentence.src]))
        memory = None if encoded is None else encoded.x
        decoded = model.decode(tgt, memory, causal=True).inputs
        for depth in range(depths["decoder"]):
            slopes = jacobian(lambda rows, depth=depth, memory=memory: end(rows, memory, depth), decoded[depth])
            sums["decoder"][depth] += slopes[:, :, 0].sum((0, 2))  # (T, d, T, d) -> (d, d)
        counts["decoder"] += tgt.shape[1]
        if encoded is not None:
            places = model.placed("encoder", range(len(sentence.src)))
            for depth, rows in enumerate(encoded.inputs):
                def through(rows, depth=depth, places=places, first=decoded[0], end=end):
                    return end(first, model.encoder(rows, kind="encoder", placed=places, first=depth).x, 0)

                sums["encoder"][depth] += jacobian(through, rows)[:, :, 0].sum((0, 2))
            counts["encoder"] += len(sentence.src)
    return {stack: total / max(1, counts[stack]) for stack, total in sums.items()}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_its_maps_are_the_mean_of_all_jacobians(make_checkpoint, shape):
    ckpt, seen = make_checkpoint(**shape), []
    lens = fit_jacobian_lens(ckpt, sentences(ckpt), corpus="mine", watch=lambda *counts: seen.append(counts))
    expected = by_hand(ckpt, sentences(ckpt))
    torch.testing.assert_close(lens.decoder, expected["decoder"], **CLOSE)
    torch.testing.assert_close(lens.encoder, expected["encoder"], **CLOSE)
    assert lens.about == f"mean over {sum(len(one.tgt) for one in sentences(ckpt))} predictions of mine"
    assert seen[-1] == (len(seen), len(seen)) and len(seen) % 16 == 0
    assert not any(parameter.grad is not None or parameter.requires_grad for parameter in ckpt.model.parameters())


def test_it_stops_reading_once_it_has_enough_and_is_the_same_in_any_batches(translator, monkeypatch):
    read = sentences(translator)
    first = fit_jacobian_lens(translator, read, predictions=len(read[0].labels))
    assert torch.equal(first.encoder, fit_jacobian_lens(translator, read[:1]).encoder)
    together = fit_jacobian_lens(translator, read)
    monkeypatch.setattr("transformer.analysis.jacobian_lens.HELD", 1)
    alone = fit_jacobian_lens(translator, read)
    torch.testing.assert_close(alone.encoder, together.encoder, **CLOSE)
    torch.testing.assert_close(alone.decoder, together.decoder, **CLOSE)


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_a_depth_is_read_through_its_map_and_the_last_of_the_decoder_through_none(make_checkpoint, norm_position):
    ckpt = make_checkpoint(norm_position=norm_position)
    lens, step = fit_jacobian_lens(ckpt, sentences(ckpt)), transformer.start(ckpt, TEXTS[0])
    read, run = inputs_of_step(step), transformer.run(ckpt, TEXTS[0], capture="*")
    model, found, source = ckpt.model, read_layers(read, through=lens), read_source(read, through=lens, follow=7)
    for depth in range(3):
        name = f"decoder.{depth}.resid_pre" if depth < 2 else "decoder.1.resid_post"
        row = run[name][-1]
        logits = model.project(model.decoder.norm(lens.decoder[depth] @ row if depth < 2 else row))
        torch.testing.assert_close(found.probabilities[depth, 0], logits.softmax(-1).topk(5).values, **CLOSE)
        rows = run[f"encoder.{depth}.resid_pre" if depth < 2 else "encoder.1.resid_post"]
        p = model.project(model.decoder.norm(torch.stack([lens.encoder[depth] @ row for row in rows]))).softmax(-1)
        torch.testing.assert_close(source.probabilities[depth], p.topk(5).values, **CLOSE)
        torch.testing.assert_close(source.probability[depth], p[:, 7], **CLOSE)
        plain = model.project(model.decoder.norm(rows)).softmax(-1)
        torch.testing.assert_close(read_source(read).probabilities[depth], plain.topk(5).values, **CLOSE)
    torch.testing.assert_close(found.probabilities[-1, 0], step.logits.softmax(-1).topk(5).values, **CLOSE)
    assert source.positions == [*range(len(read.src[0]))] and source.columns(2, 4).positions == [2, 3]
    assert torch.equal(source.columns(2, 4).ids, source.ids[:, 2:4])


def test_figures_are_counted_on_every_token(translator):
    lens, read = fit_jacobian_lens(translator, sentences(translator)), sentences(translator)
    figures = measure_jacobian_lens(translator, lens, read)
    assert [(one.stack, one.depth) for one in figures] == [
        *(("encoder", depth) for depth in range(3)), *(("decoder", depth) for depth in range(3))]
    last = figures[-1]
    assert last.share == (1, 1) and last.divergence == pytest.approx((0, 0), abs=1e-6)
    hits = same = total = 0
    for one, other in zip(read, [read[-1], *read], strict=False):
        rows = translator.model.encode(torch.tensor([one.src])).inputs[1][0, :-1] @ lens.encoder[1].T
        top = translator.model.project(translator.model.decoder.norm(rows)).topk(5).indices.tolist()
        hits += sum(bool({*ids} & {*one.tgt[1:]}) for ids in top)
        same += sum(bool({*ids} & {*other.tgt[1:]}) for ids in top)
        total += len(top)
    assert figures[1].share[1] == pytest.approx(hits / total) and figures[1].chance == pytest.approx(same / total)


def test_it_is_kept_in_a_folder_and_read_for_its_own_weights_alone(make_checkpoint, tmp_path):
    ckpt, other = make_checkpoint(dropout=0.123), make_checkpoint(dropout=0.123, d_ff=24)
    assert read_jacobian_lens(ckpt, tmp_path) is None
    lens = fit_jacobian_lens(ckpt, sentences(ckpt), corpus="mine")
    path = write_jacobian_lens(ckpt, lens, tmp_path / "analysis")
    found = read_jacobian_lens(ckpt, tmp_path / "analysis")
    assert torch.equal(found.decoder, lens.decoder) and torch.equal(found.encoder, lens.encoder)
    assert found.about == lens.about and [*path.parent.iterdir()] == [path]
    copy(path, jacobian_lens_path(other, path.parent))
    assert read_jacobian_lens(other, path.parent) is None
    for wrong in (JacobianLens(lens.decoder[:1], lens.encoder), JacobianLens(lens.decoder, lens.encoder[:1])):
        write_jacobian_lens(ckpt, wrong, path.parent)
        assert read_jacobian_lens(ckpt, path.parent) is None
    for damaged in (path.read_bytes()[:-100], b""):
        path.write_bytes(damaged)
        assert read_jacobian_lens(ckpt, path.parent) is None


def test_what_has_no_decoder_no_encoder_or_no_text_is_refused(classifier, writer, translator):
    with pytest.raises(ValueError, match="has no decoder, and a Jacobian lens ends in one"):
        fit_jacobian_lens(classifier, [])
    with pytest.raises(ValueError, match="there are no texts"):
        fit_jacobian_lens(writer, [])
    with pytest.raises(ValueError, match="there are no texts"):
        measure_jacobian_lens(writer, JacobianLens(torch.zeros(2, 16, 16), torch.zeros(0, 16, 16)), [])
    with pytest.raises(ValueError, match="has no encoder that a decoder reads"):
        read_source(inputs_of_step(transformer.start(writer, "Go on.")))
    with pytest.raises(ValueError, match="token 99 is not one of"):
        read_source(inputs_of_step(transformer.start(translator, "Go on.")), follow=99)


@pytest.mark.rare("reads the large weights that come with the app; each number is checked on tiny ones")
def test_the_shipped_translator_reads_a_word_as_its_translation_in_its_sentence(shipped):
    ckpt = shipped("translate")
    lens = fit_jacobian_lens(ckpt, held_out_sentences(ckpt, limit=10, split="train"), predictions=60)

    def said(text, depth, token=1):
        read = inputs_of_text(ckpt, text)
        return read_source(read, through=lens).top(depth, token)[0].piece

    assert said("The dog is cold.", 4) == "▁chien"
    assert [said("I left my bag.", depth) for depth in (0, 4)] == ["▁gauche", "▁laissa"]
    assert [said("Turn left here.", depth) for depth in (0, 4)] == ["▁gauche", "▁gauche"]


def test_it_ends_when_watch_raises(writer):
    def watch(done, of):
        if done == 3:
            raise InterruptedError  # whoever asked has gone

    with pytest.raises(InterruptedError):
        fit_jacobian_lens(writer, sentences(writer), watch=watch)

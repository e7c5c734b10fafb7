"""The logit lens at each depth, compared with the model without its upper layers."""

import copy

import pytest
import torch

from tests.switched import switched
from transformer.analysis.lens import read_layers
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text, inputs_up_to
from transformer.inference.decoding import start, steps
from transformer.inference.reading import attend

MODELS = [{}, {"norm_position": "post"}, {"encoder_layers": 0, "positions": "rotary"},
          {"encoder_layers": 0, "norm_position": "post", "embedding_norm": True}]


def cut(ckpt, depth):
    """The model without the decoder layers (or the encoder's, if there are no others) from a depth on."""
    model = copy.deepcopy(ckpt.model)
    stack = model.decoder if ckpt.config.decoder_layers else model.encoder
    stack.layers = stack.layers[:depth]
    return model


def test_each_depth_is_the_model_without_the_layers_above_also_for_a_token_of_each_positions_own(ckpt, target_for):
    read = inputs_of_text(ckpt, "I am cold.", target_for(ckpt, "He is"))
    found = read_layers(read, count=3, positions=[0, 2])
    final = ckpt.model(read.src, read.tgt)[0].softmax(-1)
    for depth in range(3):
        model = cut(ckpt, depth)
        p = model(read.src, read.tgt)[0].softmax(-1)
        for column, position in enumerate([0, 2]):
            best = int(final[position].argmax())
            assert found.final[column] == best
            assert found.probability[depth, column] == pytest.approx(float(p[position, best]), rel=1e-4)
            assert found.rank[depth, column] == 1 + int((p[position] > p[position, best]).sum())
            divergence = (final[position] * (final[position] / p[position]).log()).sum()
            assert found.divergence[depth, column] == pytest.approx(float(divergence), abs=1e-5)
            entropy = -(p[position] * p[position].log()).sum()
            assert found.entropy[depth, column] == pytest.approx(float(entropy), rel=1e-4)
            values, ids = p[position].topk(3)
            top = found.top(depth, column)
            assert [one.id for one in top] == ids.tolist()
            assert [one.probability for one in top] == pytest.approx(values.tolist(), rel=1e-4)
            assert top[0].piece == ckpt.tokenizer.piece(top[0].id)
    assert found.divergence[-1].tolist() == [0, 0] and found.rank[-1].tolist() == [1, 1]
    found = read_layers(read, positions=[0, 2], follow=[5, 9])
    assert found.final.tolist() == [5, 9]
    assert found.probability[-1].tolist() == pytest.approx([float(final[0, 5]), float(final[2, 9])], rel=1e-4)
    with pytest.raises(ValueError, match="1 tokens to follow at 2 positions"):
        read_layers(read, positions=[0, 2], follow=[5])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_masked_model_is_read_at_every_position_of_its_text(make_checkpoint, norm):
    ckpt = make_checkpoint(decoder_layers=0, head="masked", norm_position=norm)
    read = inputs_of_text(ckpt, "I am cold.")
    found, logits = read_layers(read), ckpt.model(read.src)[0]
    assert found.positions == list(range(len(read.ids)))
    assert found.final.tolist() == logits.argmax(-1).tolist()
    for depth in range(3):
        p = cut(ckpt, depth)(read.src)[0].softmax(-1)
        torch.testing.assert_close(found.probability[depth], p.gather(1, found.final[:, None])[:, 0])
    assert read_layers(read, positions=[1], follow=5).final.tolist() == [5]
    with pytest.raises(ValueError, match="choose from 0 to"):
        read_layers(read, positions=[len(read.ids)])


def test_a_step_is_read_where_it_stands_with_its_heads(ckpt):
    change = switched({"decoder": [[0, 1], [1, 2]]})  # off, and doubled
    *_, step = steps(ckpt, "I am cold.", max_steps=4, change=change, forced={3: 9})
    found = read_layers(inputs_of_step(step))
    torch.testing.assert_close(found.probabilities[-1, 0], step.logits.softmax(-1).topk(5).values, rtol=1e-4, atol=1e-6)
    assert found.final.tolist() == [9]
    assert found.rank[-1, 0] == 1 + int((step.logits > step.logits[9]).sum())
    assert read_layers(inputs_of_step(step), follow=4).final.tolist() == [4]


def test_classes_are_read_at_every_depth(make_checkpoint):
    for pooling in "max", "mean":
        ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, n_classes=3)
        read = inputs_of_text(ckpt, "I am cold.")
        found = read_layers(read)
        for depth in range(3):
            logs = cut(ckpt, depth)(read.src)[0]
            assert found.probabilities[depth, 0].tolist() == pytest.approx(sorted(logs.exp().tolist(), reverse=True),
                                                                           rel=1e-4)
        assert found.top(2)[0].piece == ckpt.classes[int(attend(ckpt, "I am cold.").logits.argmax())]
        with pytest.raises(ValueError, match="predicts no token at a position"):
            inputs_up_to(read, 0)


def test_what_is_not_there_is_refused(translator):
    read = inputs_of_step(start(translator, "Go on."))
    for options, message in (({"positions": [1]}, "position is 1"), ({"follow": 999}, "token 999"),
                             ({"follow": -1}, "token -1")):
        with pytest.raises(ValueError, match=message):
            read_layers(read, **options)
    with pytest.raises(ValueError, match="position is 3; choose one from 0 to 0"):
        inputs_up_to(read, 3)
    with pytest.raises(ValueError, match="nothing to read"):
        inputs_of_text(translator, "")
    forced = inputs_of_text(translator, "Go on.", "He is")
    assert inputs_up_to(forced, 1).next_id == forced.tgt[0, 2] and inputs_up_to(forced, 5).next_id is None

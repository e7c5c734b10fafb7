"""Positions: products along diagonals, and copies of models without positions."""

import pytest
import torch

from tests.choices import choices
from transformer.analysis.positions import along_diagonals, moved_share, rotary_products, similarity, without_positions
from transformer.inference.decoding import start
from transformer.inference.reading import attend
from transformer.model.positions import sinusoids
from transformer.settings.config import ModelConfig

TEXT = "I see a dog and a cat."


@pytest.mark.parametrize("positions", choices(ModelConfig, "positions"))
def test_without_positions_a_checkpoint_reads_as_one_that_never_had_any(make_checkpoint, positions):
    ckpt = make_checkpoint(positions=positions)
    bare = without_positions(ckpt)
    assert bare.model.position_pictures(4) == []
    assert bare.config.positions == "none"
    assert bare.id == ckpt.id
    # an encoder without positions reads a set: the two a's of the sentence get the same rows in every layer
    places = [at for at, piece in enumerate(start(ckpt, TEXT).source) if piece.text == "a"]
    for weights, same in ((attend(ckpt, TEXT).attentions["encoder"], positions == "none"),
                          (attend(bare, TEXT).attentions["encoder"], True)):
        first, second = (weights[:, :, place] for place in places[:2])
        assert torch.allclose(first, second, atol=1e-6) == same


def test_the_weights_are_shared_and_stay_as_they_were(make_checkpoint):
    ckpt = make_checkpoint(positions="learned")
    before = {name: weight.clone() for name, weight in ckpt.model.state_dict().items()}
    reading = attend(ckpt, TEXT, "Go on.")
    bare = without_positions(ckpt)
    attend(bare, TEXT, "Go on.")
    shared = dict(bare.model.named_parameters())
    for name, parameter in ckpt.model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert name.endswith("positions.weight") or parameter.data_ptr() == shared[name].data_ptr()
    assert not any(parameter.requires_grad or parameter.is_meta for parameter in shared.values())
    assert torch.equal(attend(ckpt, TEXT, "Go on.").logits, reading.logits)


def test_a_decoder_alone_loses_its_rotation(writer):
    text = "a" * 6
    weights = attend(without_positions(writer), text).attentions["decoder"]
    even = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]  # equal tokens without positions are all alike
    torch.testing.assert_close(weights, even.expand_as(weights), atol=1e-6, rtol=0)
    assert not torch.allclose(attend(writer, text).attentions["decoder"], even, atol=1e-3)


def test_an_encoder_that_classifies_loses_its_positions_too(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, pooling="mean", n_classes=3)
    bare = without_positions(ckpt)
    read = [attend(which, text).logits for which in (bare, ckpt) for text in ("I cat", "I tac")]
    torch.testing.assert_close(read[0], read[1], atol=1e-5, rtol=0)
    assert not torch.allclose(read[2], read[3], atol=1e-3)


@pytest.mark.parametrize("base", [10.0, 10_000.0])
def test_rotary_products_are_constant_along_diagonals_and_differ_across(base):
    products = rotary_products(40, 16, base=base, seed=3)
    assert along_diagonals(products) < 1e-5
    assert products[0].std() > 0.1
    assert not torch.equal(products, rotary_products(40, 16, base=base, seed=4))


def test_diagonals_similarity_and_moved_share_of_tables_with_known_answers():
    assert along_diagonals(torch.tensor([[1.0, 5.0], [9.0, 1.5]])) == 0.5
    assert along_diagonals(torch.tensor([[1.0, 5.0], [9.0, 1.0]])) == 0
    table = sinusoids(20, 8)
    found, cosines = similarity(table), similarity(table, cosine=True)
    assert found[3, 7] == pytest.approx(float((table[3] * table[7]).sum()), rel=1e-6)
    torch.testing.assert_close(found, cosines * 4)  # each pair of sine and cosine adds 1 to a squared length
    torch.testing.assert_close(cosines.diagonal(), torch.ones(20))
    assert similarity(torch.zeros(2, 4), cosine=True).tolist() == [[0, 0], [0, 0]]
    one = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert moved_share(one, one) == 0
    assert moved_share(one, torch.tensor([[0.0, 1.0], [0.5, 0.5]])) == 0.5
    assert moved_share(one.expand(2, 3, 2, 2), one.flip(-1)).tolist() == [[0.5] * 3] * 2

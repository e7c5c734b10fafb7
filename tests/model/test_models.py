"""All shapes of the transformer, with every field of their configuration."""

import subprocess
import sys
from itertools import pairwise, product

import pytest
import torch
from pydantic import ValidationError
from torch.nn import functional as F

from tests.choices import choices
from tests.rows import each_row
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS
from transformer.settings.config import ModelConfig

VOCAB, PAD, MAX_LEN = 30, 0, 12
TINY = {"d_model": 16, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 2, "d_ff": 24, "vocab_size": VOCAB,
        "max_len": MAX_LEN, "dropout": 0.1}
SHAPES = {
    "translates": {},
    "writes": {"encoder_layers": 0},
    "classifies by max": {"decoder_layers": 0, "pooling": "max", "n_classes": 3},
    "classifies by mean": {"decoder_layers": 0, "pooling": "mean", "n_classes": 3},
}
NORMS, ACTIVATIONS = (choices(ModelConfig, field) for field in ("norm_position", "activation"))
PLACES = [(positions, layout) for positions in POSITIONS
          for layout in choices(ModelConfig, "sinusoid_layout")[:None if positions == "sinusoidal" else 1]]
IN_EMBEDDING = {name for name, positions in POSITIONS.items() if positions.embedded}
# Two-valued fields, in 8 combinations in which every two of them meet in all four ways.
BITS = [(a, b, c, (a + b) % 2, (a + c) % 2, (b + c) % 2) for a, b, c in product((0, 1), repeat=3)]
SRC = torch.tensor([[5, 6, 7, 8, 9, 3], [9, 8, 3, 0, 0, 0]])
TGT = torch.tensor([[2, 5, 6, 7, 8], [2, 9, 8, 0, 0]])
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def build(*, seed=1, **changes):
    model = Transformer(ModelConfig(**{**TINY, **changes}), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # no bias of 0, no norm of 1 for a mistake to hide behind
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)), alpha=0.1)
    return model.eval()


def read(model, src, tgt):
    """The output of a model for a batch: logits, or log-probabilities of classes."""
    return model(src if model.config.encoder_layers else None, tgt if model.config.decoder_layers else None)


def test_a_model_is_laid_out_with_the_shapes_that_it_is_made_with():
    def shapes(model: Transformer) -> dict[str, tuple]:
        first = {}
        return {name: (one.shape, one.dtype, first.setdefault(id(one), name))
                for name, one in (*model.named_parameters(remove_duplicate=False), *model.named_buffers())}

    for shape, (positions, layout) in product(SHAPES, [*PLACES, ("sinusoidal", "fairseq"), ("relative", "halves")]):
        for heads, width in ((2, 16), (3, 15)) if positions == "sinusoidal" else ((2, 16),):
            config = ModelConfig(**{**TINY, **SHAPES[shape], "n_heads": heads, "d_model": width,
                                    "positions": positions, "sinusoid_layout": layout})
            laid_out = Transformer.laid_out(config)
            assert shapes(laid_out) == shapes(Transformer(config)), (shape, positions, layout, width)
            assert all(one.is_meta for one in (*laid_out.parameters(), *laid_out.buffers()))


LAYS_OUT = """
import sys
from tests.diagram.configurations import ODD, PRESETS
from transformer.model.models import Transformer
for config in [*ODD.values(), *(preset.model for preset in PRESETS.values())]:
    Transformer.laid_out(config)
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""


@pytest.mark.slow
def test_laying_models_out_imports_no_compiler():
    result = subprocess.run([sys.executable, "-c", LAYS_OUT], capture_output=True, text=True, timeout=300)
    assert result.stdout == "[]\n", result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("some", [
    pytest.param(slice(0, None, 7), id="each two values"),
    *(pytest.param(slice(at, None, 7), marks=pytest.mark.rare("more combinations; each two values are in make test"))
      for at in range(1, 7))])
def test_fields_work_in_every_combination(some):
    combinations = [*product(SHAPES, NORMS, PLACES, enumerate(BITS))]
    for shape, norm, (positions, layout), (i, bits) in combinations[some]:
        embedding_norm, type_vocab, logits_bias, tie, normal, own_source = bits
        settings = {**TINY, **SHAPES[shape], "norm_position": norm, "positions": positions, "sinusoid_layout": layout,
                    "activation": ACTIVATIONS[i % len(ACTIVATIONS)], "embedding_norm": bool(embedding_norm),
                    "type_vocab": 2 * type_vocab, "logits_bias": bool(logits_bias), "tie_embeddings": bool(tie),
                    "init": "normal" if normal else "xavier_uniform",
                    "src_vocab_size": 12 if own_source and not tie else None}
        model = Transformer(ModelConfig(**settings)).train()
        found = read(model, SRC, TGT)
        classes = model.config.n_classes
        assert found.shape == ((2, classes) if classes else (*TGT.shape, VOCAB))
        assert found.isfinite().all()
        F.cross_entropy(found.flatten(0, -2), torch.ones(found.shape[:-1], dtype=torch.long).flatten()).backward()
        without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
        assert not without, settings


def test_classes_are_log_probabilities():
    found = read(build(**SHAPES["classifies by mean"]), SRC, None)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(2))


@pytest.mark.parametrize("shape", ["translates", "writes"])
def test_tied_weights_are_one_tensor(shape):
    model = build(**SHAPES[shape])
    assert model.output.weight is model.tgt_embedding.tokens.weight
    if shape == "translates":
        assert model.src_embedding.tokens.weight is model.output.weight
    loose = build(**SHAPES[shape], tie_embeddings=False)
    matrices = [p for p in loose.parameters() if p.shape == (VOCAB, 16)]
    assert len(matrices) == (3 if shape == "translates" else 2)
    assert not any(torch.equal(a, b) for a, b in pairwise(matrices))


@pytest.mark.slow
@each_row(("positions", "layout"), PLACES)
@each_row("norm", NORMS)
@each_row("shape", SHAPES)
def test_a_padded_batch_says_what_each_of_its_rows_says_alone(shape, norm, positions, layout):
    model = build(**SHAPES[shape], norm_position=norm, positions=positions, sinusoid_layout=layout)
    together = read(model, SRC, TGT)
    for row, (src, tgt) in enumerate(zip(SRC, TGT, strict=True)):
        real = tgt[tgt != PAD]
        alone = read(model, src[src != PAD][None], real[None])[0]
        expected = together[row] if model.config.n_classes else together[row, : len(real)]
        torch.testing.assert_close(alone, expected, **CLOSE)


@each_row(("positions", "layout"), PLACES)
@each_row("shape", ["translates", "writes"])
def test_a_later_token_changes_no_earlier_logits(shape, positions, layout):
    model = build(**SHAPES[shape], positions=positions, sinusoid_layout=layout)
    before = read(model, SRC[:1], TGT[:1])
    for place in range(1, TGT.shape[1]):
        changed = TGT[:1].clone()
        changed[0, place] = 20
        after = read(model, SRC[:1], changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.allclose(after[:, place:], before[:, place:])


@each_row("positions", POSITIONS)
def test_the_order_of_a_source_matters_where_there_are_positions(positions):
    model = build(**SHAPES["classifies by mean"], positions=positions)
    there, swapped = read(model, SRC[:1], None), read(model, SRC[:1, [1, 0, 2, 3, 4, 5]], None)
    assert torch.allclose(there, swapped, atol=1e-6) == (positions == "none")


@each_row("init", ["xavier_uniform", "normal"])
@each_row("shape", SHAPES)
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(shape, init):
    config = ModelConfig(**{**TINY, **SHAPES[shape], "init": init, "type_vocab": 2, "positions": "learned"})

    def weights(seed):
        return Transformer(config, generator=torch.Generator().manual_seed(seed)).state_dict()

    first, other = weights(1), weights(2)
    for name, weight in weights(1).items():
        assert torch.equal(weight, first[name])
        assert weight.dim() == 1 or not torch.equal(weight, other[name]), name


def test_weights_start_as_wide_as_their_field_says():
    larger = {**TINY, "d_model": 64, "d_ff": 128, "embedding_scale": False}
    normal, xavier = (Transformer(ModelConfig(**larger, init=init), generator=torch.Generator().manual_seed(1))
                      for init in ("normal", "xavier_uniform"))
    layer = normal.encoder.layers[0]
    assert layer.feed_forward.up.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert layer.feed_forward.down.weight.std().item() == pytest.approx(0.02 / 4**0.5, rel=0.1)  # 2 layers of 2 parts
    assert normal.src_embedding.tokens.weight.std().item() == pytest.approx(0.02, rel=0.1)
    up = xavier.encoder.layers[0].feed_forward.up.weight
    assert up.abs().max().item() == pytest.approx((6 / (64 + 128)) ** 0.5, rel=0.01)


def test_embeddings_are_tokens_times_the_square_root_of_d_model_and_places_and_types_normalised_together():
    model = build(positions="none")
    torch.testing.assert_close(model.src_embedding(SRC), 4 * model.src_embedding.tokens.weight[SRC])
    plain = build(positions="none", embedding_scale=False)
    assert torch.equal(plain.src_embedding(SRC), plain.src_embedding.tokens.weight[SRC])
    model = build(positions="learned", type_vocab=2, embedding_norm=True, embedding_scale=False)
    embedding, types = model.src_embedding, torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]])
    added = embedding.tokens.weight[SRC] + embedding.positions.weight[:6] + embedding.types.weight[types]
    expected = embedding.norm(added)
    torch.testing.assert_close(embedding(SRC, types=types), expected)
    assert torch.equal(embedding(SRC), embedding(SRC, types=torch.zeros_like(SRC)))
    assert not torch.allclose(model.encode(SRC, types=types).x, model.encode(SRC).x)


@each_row("positions", POSITIONS)
def test_each_place_gets_its_own_row_of_the_table_where_places_are_in_the_embedding(positions):
    embedding = build(positions=positions).tgt_embedding
    if positions not in IN_EMBEDDING:
        assert embedding.encoding(0, 5) is None
        return
    assert torch.equal(embedding(TGT[:, 2:4], start=2), embedding(TGT)[:, 2:4])
    assert embedding.encoding(2, 5).shape == (3, 16)
    assert torch.equal(embedding.encoding(2, 5), embedding.encoding(0, MAX_LEN)[2:5])


def test_dropout_before_the_output_acts_in_training_only():
    model = build(dropout=0.0, output_dropout=0.5)
    assert torch.equal(read(model, SRC, TGT), read(model, SRC, TGT))
    model.train()
    assert not torch.equal(read(model, SRC, TGT), read(model, SRC, TGT))


@each_row("positions", POSITIONS)
@each_row("shape", SHAPES)
def test_too_long_an_input_is_refused_with_both_numbers(shape, positions):
    model = build(**SHAPES[shape], positions=positions)
    fits, long = torch.full((1, MAX_LEN), 5), torch.full((1, MAX_LEN + 1), 5)
    assert read(model, fits, fits).isfinite().all()
    for src, tgt in ((long, fits), (fits, long)):
        if (src is long and model.config.encoder_layers) or (tgt is long and model.config.decoder_layers):
            with pytest.raises(ValueError, match=r"13 tokens, but this model reads at most 12; shorten"):
                read(model, src, tgt)


@pytest.mark.slow
@each_row("positions", POSITIONS)
@each_row("norm", NORMS)
@each_row("shape", ["translates", "writes"])
def test_decoding_on_from_kept_rows_equals_decoding_the_whole(shape, norm, positions):
    model = build(**SHAPES[shape], norm_position=norm, positions=positions)
    memory = model.project_memory(model.encode(SRC[:1]).x) if model.config.encoder_layers else None
    whole = model.decode(TGT[:1], memory)
    first = model.decode(TGT[:1, :2], memory)
    middle = model.decode(TGT[:1, 2:4], memory, past=[a.memory for a in first.attention])
    last = model.decode(TGT[:1, 4:], memory, past=[a.memory for a in middle.attention])
    torch.testing.assert_close(torch.cat([first.x, middle.x, last.x], 1), whole.x, **CLOSE)


@each_row(("changes", "message"), [
    ({"n_heads": 3}, "d_model 16 does not divide by n_heads 3"),
    ({"encoder_layers": 0, "decoder_layers": 0}, "both 0"),
    ({"decoder_layers": 0}, "needs pooling"),
    ({"positions": "rotary", "head_dim": 3}, "a head has 3;"),
    ({"src_vocab_size": 12}, "one vocabulary, not 12 and 30"),
    ({"eos_id": 30}, "eos_id 30 is outside the vocabulary of 30"),
    ({"colour": "red"}, "colour"),
    ({"dropout": 1.0}, "dropout"),
])
def test_a_configuration_that_cannot_be_built_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        ModelConfig(**{**TINY, **changes})


def test_an_encoder_reads_under_the_mask_it_is_given():
    model = build()
    real = SRC != PAD
    as_usual = model.encode(SRC, readable=True)
    the_same = model.encode(SRC, mask=real[:, None, None, :], readable=True)
    without = model.encode(SRC, mask=torch.ones(1, 1, 1, SRC.shape[1], dtype=torch.bool), readable=True)
    torch.testing.assert_close(the_same.x, as_usual.x)
    assert as_usual.attention[0].weights[1, :, :, 3:].sum() == 0
    assert (without.attention[0].weights[1, :, :, 3:] > 0).all()
    torch.testing.assert_close(without.x[0], as_usual.x[0], **CLOSE)  # a row without padding
    assert not torch.allclose(without.x[1], as_usual.x[1], atol=1e-3)


@each_row("positions", POSITIONS)
@each_row("shape", ["translates", "writes"])
def test_causal_without_a_mask_says_of_what_is_not_padding_what_the_mask_says(shape, positions):
    model = Transformer(ModelConfig(**{**TINY, **SHAPES[shape]}, positions=positions)).eval()
    memory = None if shape == "writes" else model.encode(SRC).x
    real = TGT != PAD
    expected = model.decode(TGT, memory, readable=True)
    for readable in (False, True):
        found = model.decode(TGT, memory, causal=True, readable=readable)
        torch.testing.assert_close(found.x[real], expected.x[real], **CLOSE)
    for one, other in zip(found.attention, expected.attention, strict=True):
        torch.testing.assert_close(one.weights.transpose(1, 2)[real], other.weights.transpose(1, 2)[real], **CLOSE)
        assert one.weights.triu(1).abs().max() == 0

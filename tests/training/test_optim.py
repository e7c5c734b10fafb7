"""Optimizers and learning rates: the curves that their names promise, and state that finds its parameter again."""

from math import cos, pi

import pytest
import torch

from tests.choices import choices
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.training.optim import Muon, WeightAverage, learning_rate, make_optimizers, orthogonalise


@pytest.fixture
def model():
    return Transformer(ModelConfig(d_model=16, n_heads=2, d_ff=24, vocab_size=30, encoder_layers=2, decoder_layers=2))


@pytest.mark.parametrize("schedule", choices(TrainConfig, "schedule"))
def test_every_rate_warms_up_in_a_straight_line_or_begins_near_its_peak(schedule):
    config = TrainConfig(lr=0.1, warmup=10, steps=100, schedule=schedule)
    assert [learning_rate(step, config) for step in range(10)] == pytest.approx([0.01 * n for n in range(1, 11)])
    assert max(learning_rate(step, config) for step in range(100)) == pytest.approx(0.1)
    assert learning_rate(0, config.replace(warmup=0)) == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize(("schedule", "expected"), [
    ("cosine", lambda done: 0.01 + 0.09 * (1 + cos(pi * done)) / 2),
    ("linear", lambda done: 0.1 - 0.09 * done),
    ("plateau", lambda done: 0.1),
    ("constant", lambda done: 0.1),
])
def test_the_rate_goes_from_its_peak_to_its_end(schedule, expected):
    config = TrainConfig(lr=0.1, warmup=10, steps=110, schedule=schedule, final_lr=0.1)
    for step in range(9, 110):
        assert learning_rate(step, config) == pytest.approx(expected((step - 9) / 100))
    assert learning_rate(500, config) == pytest.approx(expected(1))  # a run made longer does not climb again


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_rate_that_is_held_falls_over_the_rest(schedule):
    held = TrainConfig(lr=0.1, warmup=10, steps=210, schedule=schedule, hold=0.5)
    whole = TrainConfig(lr=0.1, warmup=10, steps=110, schedule=schedule)
    assert {learning_rate(step, held) for step in range(9, 110)} == {0.1}
    assert [learning_rate(step + 100, held) for step in range(9, 110)] == pytest.approx(
        [learning_rate(step, whole) for step in range(9, 110)])


def test_the_inverse_square_root_is_the_papers():
    d_model, warmup = 512, 4000
    config = TrainConfig(lr=(d_model * warmup) ** -0.5, warmup=warmup, steps=100_000, schedule="inverse_sqrt")
    for step in (0, 100, 3999, 4000, 50_000):
        n = step + 1
        assert learning_rate(step, config) == pytest.approx(d_model**-0.5 * min(n**-0.5, n * warmup**-1.5))


MADE = {"adam": [torch.optim.Adam], "adamw": [torch.optim.AdamW], "rmsprop": [torch.optim.RMSprop],
        "muon": [torch.optim.AdamW, Muon]}


@pytest.mark.parametrize("name", choices(TrainConfig, "optimizer"))
def test_an_optimizer_is_the_one_it_names_with_every_parameter_once_in_order_and_decays_matrices_alone(model, name):
    config = TrainConfig(optimizer=name, lr=0.02, betas=(0.8, 0.9), eps=1e-5, weight_decay=0.3)
    optimizers = make_optimizers(model, config)
    assert [type(optimizer) for optimizer in optimizers] == MADE[name]
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    place = {id(p): at for at, p in enumerate(model.parameters())}
    places = [[place[id(p)] for p in group["params"]] for group in groups]
    assert sorted(at for group in places for at in group) == [*range(len(place))]
    assert all(group == sorted(group) for group in places)  # by which saved state finds its parameter again
    for group in groups:
        assert group["lr"] == 0.02
        assert all((group["weight_decay"] == 0.3) == (p.dim() >= 2) for p in group["params"])
    adam = optimizers[0].param_groups[0]
    assert adam["eps"] == 1e-5
    assert name == "rmsprop" or adam["betas"] == (0.8, 0.9)


def test_muon_takes_the_matrices_of_the_layers_and_leaves_embeddings_alone(model):
    muon = make_optimizers(model, TrainConfig(optimizer="muon"))[1]
    taken = {id(p) for group in muon.param_groups for p in group["params"]}
    names = {name for name, p in model.named_parameters() if id(p) in taken}
    assert names == {name for name, p in model.named_parameters() if p.dim() == 2 and ".layers." in name}
    assert len(names) == 2 * 6 + 2 * 10


@pytest.mark.parametrize("shape", [(3, 12, 12), (2, 8, 20), (2, 20, 8)])
def test_orthogonalised_matrices_keep_their_singular_vectors_and_have_singular_values_near_one(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    for matrix, found in zip(matrices, orthogonalise(matrices), strict=True):
        u, _, vt = torch.linalg.svd(matrix, full_matrices=False)
        turned = u.T @ found @ vt.T
        assert turned.diagonal().min() > 0.6
        assert turned.diagonal().max() < 1.3
        torch.testing.assert_close(turned, turned.diagonal().diag(), atol=1e-4, rtol=0)


def test_muon_steps_as_the_one_of_pytorch_does():
    ours, theirs = ([torch.nn.Parameter(torch.randn(rows, columns, generator=torch.Generator().manual_seed(3)))
                     for rows, columns in ((12, 12), (12, 30), (12, 12), (30, 12))] for _ in range(2))
    settings = {"lr": 0.1, "weight_decay": 0.2}
    pair = [(ours, Muon(ours, **settings)),
            (theirs, torch.optim.Muon(theirs, adjust_lr_fn="match_rms_adamw", **settings))]
    for step in range(3):
        for matrices, optimizer in pair:
            for at, matrix in enumerate(matrices):
                matrix.grad = torch.randn(matrix.shape, generator=torch.Generator().manual_seed(10 * step + at))
            optimizer.step()
    for one, other in zip(ours, theirs, strict=True):  # theirs is rounded to bfloat16 on the way
        torch.testing.assert_close(one, other, atol=5e-3, rtol=2e-2)


def test_an_average_of_weights_begins_with_the_first_steps_and_then_follows_slowly(model):
    average, parameter = WeightAverage(model, 0.9), next(model.parameters())
    followed = next(average.model.parameters())
    assert followed is not parameter
    expected = parameter.detach().clone()
    for step in range(1, 200):
        with torch.no_grad():
            parameter.add_(1.0)
        average.update(step)
        decay = min(0.9, step / (step + 9))
        expected = decay * expected + (1 - decay) * parameter.detach()
    torch.testing.assert_close(followed, expected)
    assert (parameter - followed).mean().item() == pytest.approx(9, rel=0.01)  # so many steps behind

"""Numbers drawn as a notebook draws them: the lines that the page shows are run, and a tutorial's own are met."""

import pytest
import torch

from transformer.by_hand.notebook import lines
from transformer.by_hand.stages import SCALES, ByHand, Settings

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
CASES = [
    Settings(numbers="torch"),
    Settings(numbers="torch-once", seed=42),
    Settings("Life is short, eat dessert first", numbers="torch", d=16, d_k=24, d_v=28),
    Settings("the cat sees the dog's 'hat'", numbers="torch-once", heads=3, causal=True, scale="sqrt(d_model)"),
    Settings("one, two , two", numbers="torch", d=5, d_k=2, d_v=7, heads=2, positions=True, scale="d_k"),
    *(Settings("a few words more", numbers="torch", d=6, d_k=12, heads=2, scale=scale) for scale in SCALES),
    Settings("wide and deep", numbers="torch", d=512, d_k=512, d_v=512, heads=8, scale="split", causal=True),
    Settings("x", numbers="torch", d=2, d_k=1, d_v=1, scale="1", causal=True),
]


@pytest.fixture(params=CASES, ids=str)
def settings(request) -> Settings:
    return request.param


def ran(settings: Settings) -> dict:
    names: dict = {}
    with torch.random.fork_rng():
        exec(lines(settings), names)
    return names


def test_the_lines_on_the_page_give_the_same_numbers(settings):
    hand, names = ByHand(settings), ran(settings)
    head = hand.heads[-1]
    assert names["words"] == settings.words
    assert names["ids"].tolist() == hand.ids
    assert torch.equal(names["embed"].weight.detach(), hand.table)
    for name, tensor in {"x": hand.x, "q": head.q, "k": head.k, "v": head.v, "scores": head.scores,
                         "weights": head.weights, "attended": hand.block.attended}.items():
        torch.testing.assert_close(names[name], tensor, **CLOSE)
    torch.testing.assert_close(torch.cat(names["contexts"], dim=-1), hand.block.concatenated, **CLOSE)
    torch.testing.assert_close(names["output"], hand.block.output, atol=1e-4, rtol=1e-4)


def test_a_tutorial_s_own_numbers_come_out():
    """Raschka 2023, "Understanding and coding the self-attention mechanism": the second word's scores and weights."""
    settings = Settings("Life is short, eat dessert first", numbers="torch", seed=123, d=16, d_k=24, d_v=28)
    head = ByHand(settings).heads[0]
    torch.testing.assert_close(head.products[1], torch.tensor([8.5808, -7.6597, 3.2558, 1.0395, 11.1466, -0.4800]),
                               atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(head.weights[1], torch.tensor([0.2912, 0.0106, 0.0982, 0.0625, 0.4917, 0.0458]),
                               atol=1e-4, rtol=1e-3)


def test_the_numbers_of_everybody_else_are_left_as_they_are_and_only_torchs_have_such_lines():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    assert ByHand(Settings(numbers="torch")).block.output.isfinite().all()
    assert torch.equal(torch.random.get_rng_state(), before)
    with pytest.raises(ValueError, match="choose torch's"):
        lines(Settings())

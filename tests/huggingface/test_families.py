"""Models of other families are what the transformers package computes: logits and every head's weights."""

import pytest
import torch

from tests.huggingface.cases import CASES
from transformer import checkpoint
from transformer.huggingface.comparing import both, open_theirs
from transformer.huggingface.importing import import_model

transformers = pytest.importorskip("transformers")
LENGTHS = (1, 2, 7, 17, 30, 60)


@pytest.fixture(scope="module", params=CASES, ids=[case[0] for case in CASES])
def imported(request, tmp_path_factory):
    """A folder of theirs, and the checkpoint that is made of it."""
    _, name, config, settings = request.param
    folder = tmp_path_factory.mktemp("theirs")
    torch.manual_seed(7)
    model = getattr(transformers, name)(getattr(transformers, config)(**settings)).eval()
    for parameter in model.parameters():  # norms and biases too, none of them 0 or 1 as they begin
        parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    ckpt = checkpoint.load(import_model(folder, tmp_path_factory.mktemp("ours") / "model"))
    return ckpt, open_theirs(ckpt, folder)


@pytest.mark.parametrize("length", LENGTHS)
def test_logits_and_every_heads_weights_are_theirs(imported, length):
    ours, theirs = both(*imported, seed=length, length=length)
    for name, found in ours.items():
        assert found.shape == theirs[name].shape, name
        assert (found - theirs[name]).abs().max() < 1e-4, name

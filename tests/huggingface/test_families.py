"""Models of other families give the logits and weights of the transformers package."""

import json
import os

import pytest
import torch

from tests.huggingface.cases import CASES, SMALL, its_family, its_settings, rows
from tests.huggingface.random_models import save_random
from tests.huggingface.random_settings import FAMILIES, draw
from transformer.checkpoints import checkpoint
from transformer.huggingface.comparison import both, open_theirs
from transformer.huggingface.importing import import_model
from transformer.inference.decoding import steps
from transformer.inference.reading import attend
from transformer.model.rotary import SCALINGS, rotation_state

LENGTHS = (1, 2, 7, 17, 30, 60)
DRAWS = int(os.environ.get("HEADSUP_DRAWS", "2"))  # of each family, in a random configuration
DRAWN = [pytest.param((name, *draw(family, seed)), id=name,
                      marks=pytest.mark.rare("another draw of each family") if seed else ())
         for family in FAMILIES for seed in range(DRAWS) for name in [f"{family} {seed}"]]
WRITERS = [case for case in CASES if case[1].endswith("ForCausalLM")]


@pytest.fixture(scope="module")
def imported(request, tmp_path_factory):
    """A folder of transformers, and the checkpoint imported from it."""
    _, name, config, settings = request.param
    folder = tmp_path_factory.mktemp("theirs")
    save_random(folder, name, config, settings)
    ckpt = checkpoint.load(import_model(folder, tmp_path_factory.mktemp("ours") / "model"))
    return ckpt, open_theirs(ckpt, folder)


@pytest.mark.parametrize("imported", [*rows(its_settings), *DRAWN], indirect=True, scope="module")
def test_logits_and_every_heads_weights_are_theirs(imported):
    for length in LENGTHS:
        ours, theirs = both(*imported, seed=length, length=length)
        for name, found in ours.items():
            assert found.shape == theirs[name].shape, (name, length)
            assert (found - theirs[name]).abs().max() < 1e-4, (name, length)


@pytest.mark.parametrize("imported", rows(its_family, WRITERS), indirect=True, scope="module")
def test_greedy_decoding_writes_what_theirs_writes(imported):
    ckpt, theirs = imported
    ids = torch.randint(3, ckpt.config.vocab_size, (1, 7), generator=torch.Generator().manual_seed(1))
    # their kept keys stay turned as in the shorter text; without them every token is read in one whole pass, as here
    alike = rotation_state(ckpt.config, 7) == rotation_state(ckpt.config, 36)
    written = theirs.generate(ids, max_new_tokens=30, do_sample=False, num_beams=1, use_cache=alike,
                              attention_mask=torch.ones_like(ids))
    text = " ".join(map(str, ids[0].tolist()))
    found = [*steps(ckpt, text, max_steps=30)]
    assert [*found[-1].tokens, found[-1].id] == written[0].tolist()
    read = attend(ckpt, " ".join(map(str, found[-1].tokens)))
    assert (read.logits[-1] - found[-1].logits).abs().max() < 1e-4
    for layer in range(ckpt.config.decoder_layers):  # of rows that were kept, under each layer's window
        once, again = read.attentions["decoder"][layer], found[-1].attentions["decoder"][layer]
        assert (once - again).abs().max() < 1e-4


def test_every_scaling_of_rotary_positions_is_compared_across_its_limit():
    crossed = {case[3].get("rope_parameters", {}).get("rope_type"): case for case in CASES if 7 < min(
        case[3].get("max_position_embeddings", 64), case[3].get("rope_parameters", {}).get(
            "original_max_position_embeddings", 64)) < 37}
    assert {*SCALINGS} <= {*crossed}


def test_gelu_of_the_first_gemmas_is_its_approximation(tmp_path):
    import transformers

    config = transformers.GemmaConfig(**SMALL, num_key_value_heads=2, head_dim=8)
    transformers.GemmaForCausalLM(config).save_pretrained(tmp_path / "theirs")
    path = tmp_path / "theirs" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_act": "gelu"}))
    ckpt = checkpoint.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    ours, theirs = both(ckpt, open_theirs(ckpt, tmp_path / "theirs"), seed=1, length=7)
    assert (ours["logits"] - theirs["logits"]).abs().max() < 1e-4
    assert ckpt.config.activation == "gelu_tanh"

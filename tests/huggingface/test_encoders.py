"""Published encoders: older spellings of a config.json, weights beside the head, and refusals."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import transformer
from tests.huggingface.cases import NEAR, SMALL
from tests.huggingface.random_models import save_random
from transformer.huggingface.comparison import both, open_theirs
from transformer.huggingface.importing import import_model


def saved(folder, family, head="Model", drop=(), **settings):
    """A transformers folder with a minimal config.json, and the model."""
    model = save_random(folder, f"{family}{head}", f"{family}Config", SMALL | settings)
    change(folder, dict.fromkeys(drop))
    return model


def change(folder, values):
    """Sets fields of config.json; None removes one."""
    path = folder / "config.json"
    about = json.loads(path.read_text()) | values
    path.write_text(json.dumps({name: value for name, value in about.items() if value is not None}))


def imported(folder):
    return transformer.load(import_model(folder, folder.parent / "ours"))


def same(ckpt, theirs, *, length=60):
    ours, other = both(ckpt, theirs, seed=1, length=length)
    return all((ours[name] - other[name]).abs().max() < 1e-4 for name in ours)


@pytest.mark.parametrize("older", [
    {"global_rope_theta": 300.0, "local_rope_theta": 20.0, "global_attn_every_n_layers": 2}, {},
    {"global_rope_theta": 300.0, "rope_scaling": {"rope_type": "linear", "factor": 3.0}}], ids=str)
def test_modernbert_in_its_older_spelling(tmp_path, older):
    saved(tmp_path / "theirs", "ModernBert", num_hidden_layers=4, local_attention=6)
    change(tmp_path / "theirs", {"rope_parameters": None, "layer_types": None, **older})
    ckpt = imported(tmp_path / "theirs")
    assert same(ckpt, open_theirs(ckpt, tmp_path / "theirs"))
    assert ckpt.config.window == 4  # three to each side, and itself
    assert ckpt.config.window_layers == ((1, 3) if "global_attn_every_n_layers" in older else (1, 2))


def test_deberta_v3_as_it_is_published(tmp_path):
    model = saved(tmp_path / "theirs", "DebertaV2", "ForMaskedLM", drop=("architectures", "legacy"), legacy=False,
                  **NEAR | {"pos_att_type": "p2c|c2p"})
    path = tmp_path / "theirs" / "model.safetensors"
    extra = {"mask_predictions.dense.weight": torch.ones(32, 32), "deberta.embeddings.position_embeddings.weight":
             torch.ones(64, 32)}
    save_file(load_file(path) | extra, path, metadata={"format": "pt"})
    ckpt = imported(tmp_path / "theirs")
    assert ckpt.config.head == "masked"
    assert ckpt.meta["left_out"] == "which tokens were replaced"
    model.set_attn_implementation("eager")
    assert same(ckpt, model)


@pytest.mark.parametrize("family", ["Electra", "Albert", "DebertaV2", "ModernBert"])
@pytest.mark.parametrize(("head", "found"), [("ForMaskedLM", "masked"), ("ForSequenceClassification", None)])
def test_without_architectures_the_weights_say_what_the_head_is(tmp_path, family, head, found):
    saved(tmp_path / "theirs", family, head, drop=("architectures",), embedding_size=32, num_labels=3)
    config = imported(tmp_path / "theirs").config
    assert (config.head, config.n_classes) == (found, 3 if found is None else None)


def test_a_roberta_of_another_activation_keeps_gelu_in_its_head(tmp_path):
    saved(tmp_path / "theirs", "Roberta", "ForMaskedLM", hidden_act="relu")
    ckpt = imported(tmp_path / "theirs")
    assert ckpt.config.head_activation == "gelu"
    assert same(ckpt, open_theirs(ckpt, tmp_path / "theirs"))


def test_a_layer_that_all_share_is_stored_once(tmp_path):
    saved(tmp_path / "theirs", "Albert", embedding_size=20)
    folders = tmp_path / "theirs", import_model(tmp_path / "theirs", tmp_path / "ours")
    theirs, ours = (sum(weight.numel() for weight in load_file(folder / "model.safetensors").values())
                    for folder in folders)
    assert ours <= theirs

"""GPT-NeoX, GPT-J, GPT-Neo, Phi, BLOOM, Falcon, MPT and OPT in the spellings of many years, beyond the table of
families."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.huggingface.cases import BLOOM, FALCON, GPTJ, MPT, NEO, OPT, PYTHIA, RW
from tests.huggingface.random_models import save_random
from tests.rows import each_row
from transformer.checkpoints import checkpoint
from transformer.huggingface.comparison import both, open_theirs
from transformer.huggingface.importing import examine, import_model, open_model, plan_of
from transformer.model.models import Transformer

LINEAR = {"type": "linear", "factor": 2.0}
BASE = {"gpt_neox": PYTHIA, "gptj": GPTJ, "gpt_neo": NEO, "phi": PYTHIA, "bloom": BLOOM, "falcon": FALCON, "mpt": MPT,
        "opt": OPT}


def config_of(kind, **settings):
    return plan_of({"model_type": kind, **BASE[kind], **settings}, {}).config


@each_row(("kind", "old", "new"), [
    ("gpt_neox", {"rotary_pct": 0.5, "rotary_emb_base": 500}, {"rope_parameters": {
        "rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}}),
    ("gpt_neox", {"rope_theta": 700.0, "rotary_pct": 0.25}, {}),  # of which transformers takes no notice here
    ("gpt_neox", {"rope_scaling": LINEAR}, {"rope_parameters": {
        "rope_type": "linear", "factor": 2.0, "rope_theta": 1e4, "partial_rotary_factor": 0.25}}),
    ("phi", {"partial_rotary_factor": 0.25, "rope_theta": 500.0, "rope_scaling": None}, {"rope_parameters": {
        "rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.25}}),
    ("phi", {"rope_scaling": LINEAR, "num_key_value_heads": None}, {"rope_parameters": {
        "rope_type": "linear", "factor": 2.0, "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    ("gpt_neo", {"attention_layers": ["global", "local", "local"]}, {}),
    ("bloom", {"hidden_size": None, "n_embed": 32, "n_layer": None, "num_hidden_layers": 3}, {"hidden_size": 32}),
    ("falcon", {"rope_theta": 500.0, "auto_map": {"AutoConfig": "configuration_falcon.FalconConfig"}},
     {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}),
    ("mpt", {"attn_config": {"attn_impl": "torch", "alibi": True, "prefix_lm": False}, "learned_pos_emb": True}, {}),
    ("opt", {"prefix": "</s>", "word_embed_proj_dim": 32}, {})])
def test_older_spellings_say_the_same(kind, old, new):
    assert config_of(kind, **old) == config_of(kind, **new)


def saved(folder, name, **settings):
    """A transformers folder with weights that are neither 0 nor 1."""
    save_random(folder, f"{name}ForCausalLM", f"{name}Config", settings)
    return folder


def of(folder, **changes):
    """The checkpoint of a folder with a changed configuration."""
    ckpt = checkpoint.load(import_model(folder, folder / "ours"))
    if not changes:
        return ckpt
    config = ckpt.config.replace(**changes)
    model = Transformer(config).eval()
    model.load_state_dict(ckpt.model.state_dict())
    return replace(ckpt, model=model)


@pytest.mark.parametrize(("name", "base", "prefix"), [("Bloom", BLOOM, "transformer."), ("OPT", OPT, "model.")])
def test_names_without_the_models_own_are_found_too(tmp_path, name, base, prefix):
    folder = saved(tmp_path, name, **base)
    config, whole = open_model(folder).config, examine(open_model(folder))
    weights = load_file(folder / "model.safetensors")
    save_file({one.removeprefix(prefix): tensor for one, tensor in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({**config, "architectures": [f"{name}Model"]}))
    bare = examine(open_model(folder))
    assert bare.config == whole.config
    assert {one.theirs for one in bare.parts.values()} == {
        tuple(each.removeprefix(prefix) for each in one.theirs) for one in whole.parts.values()}


def test_pythia_of_2023_names_its_logits_and_masks_in_its_own_way(tmp_path):
    folder = saved(tmp_path, "GPTNeoX", **PYTHIA)
    ours = of(folder).model.state_dict()
    weights = load_file(folder / "model.safetensors")
    assert any("embed_out" in one or "lm_head" in one for one in weights)
    weights = {one.replace("lm_head", "embed_out"): tensor for one, tensor in weights.items()}
    weights |= {f"gpt_neox.layers.{i}.attention.{one}": torch.ones(1) for i in range(3)
                for one in ("bias", "masked_bias", "rotary_emb.inv_freq")}
    save_file(weights, folder / "model.safetensors")
    for name, tensor in of(folder).model.state_dict().items():
        assert torch.equal(tensor, ours[name]), name


def test_weights_of_falcon_are_theirs_where_theirs_adds_alibi_twice(tmp_path):
    import transformers

    folder = saved(tmp_path, "Falcon", **{**FALCON, **RW, "num_attention_heads": 3, "hidden_size": 30})
    once = of(folder)
    twice = of(folder, alibi_scale=2 * once.config.alibi_scale)
    eager = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    found, expected = both(twice, eager, seed=1, length=40)
    assert all((found[name] - expected[name]).abs().max() < 1e-4 for name in ("logits", "decoder"))


def test_falcons_alibi_is_rounded_as_far_as_its_texts_go(tmp_path):
    folder = saved(tmp_path, "Falcon", **{**FALCON, **RW, "num_attention_heads": 6, "hidden_size": 36,
                                          "max_position_embeddings": 400})
    ckpt = of(folder)
    theirs = open_theirs(ckpt, folder)
    found, expected = both(ckpt, theirs, seed=1, length=390)
    assert (found["logits"] - expected["logits"]).abs().max() < 1e-4
    exact, _ = both(of(folder, alibi_rounded=False), theirs, seed=1, length=390)
    assert (exact["logits"] - expected["logits"]).abs().max() > 1e-2

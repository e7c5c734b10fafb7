"""Things in a Hugging Face folder that are not files, or cannot be, are refused before they are opened."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file, save_model

import transformer
from tests.huggingface.cases import CASES
from tests.huggingface.random_models import random_model
from tests.rows import each_row
from transformer.huggingface.families import FAMILIES
from transformer.huggingface.folder import Folder, Refused, tensors
from transformer.huggingface.importing import examine, import_model


def put(kind, path):
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero") if kind == "device" else path.mkdir()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_not_a_file_is_refused(tmp_path, kind, name):
    if name != "config.json":
        (tmp_path / "config.json").write_text("{}")
    put(kind, tmp_path / name)
    with pytest.raises(Refused, match=f"^{name} is not a file; copy the folder again$"):
        _ = Folder(tmp_path).config


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_readme_that_is_not_a_file_names_no_licence(tmp_path, kind):
    put(kind, tmp_path / "README.md")
    assert Folder(tmp_path).licence is None


@pytest.mark.parametrize("name", ["m" * 300, "漢" * 90], ids=["ASCII", "others"])
def test_a_part_with_a_name_that_no_file_has_is_refused(tmp_path, name):
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": f"{name}.safetensors"}}))
    with pytest.raises(Refused, match="should name the .safetensors files beside it; copy the folder again"):
        tensors(tmp_path)


LLAMA = ("LlamaForCausalLM", "LlamaConfig", {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64,
                                             "num_hidden_layers": 2, "num_attention_heads": 4})


def saved(folder, change=dict, what=LLAMA, **settings):
    """Saves a model whose weights, by name, are what `change` makes of them."""
    name, config, own = what
    random_model(name, config, {**own, **settings}).save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors", {"format": "pt"})
    return weights


def first_of_each_family():
    seen: set = {None}
    for name, *what in CASES:
        if what[1] not in seen and "untied" not in name:
            yield tuple(what)
        seen.add(what[1])


@pytest.mark.rare("a model of every family; one stands below")
@each_row("what", first_of_each_family())
def test_a_tied_table_is_read_under_any_of_its_names(tmp_path, what):
    name, config, settings = what
    model = random_model(name, config, {**settings, "tie_word_embeddings": True})
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    for copy, kept in (model._tied_weights_keys or {}).items():
        if kept in weights:
            save_file({copy if name == kept else name: one for name, one in weights.items()},
                      tmp_path / "model.safetensors")
            examine(Folder(tmp_path))


def test_a_model_that_safetensors_saved_is_what_transformers_opens(tmp_path):
    model = random_model(*LLAMA[:2], {**LLAMA[2], "tie_word_embeddings": True})
    model.save_pretrained(tmp_path / "theirs")
    save_model(model, str(tmp_path / "theirs" / "model.safetensors"))
    assert "model.embed_tokens.weight" not in load_file(tmp_path / "theirs" / "model.safetensors")
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    torch.testing.assert_close(transformer.run(ckpt, "1 2 3 4").logits, model(torch.tensor([[1, 2, 3, 4]])).logits[0],
                               rtol=1e-5, atol=1e-5)


@each_row("wrapped", [
    lambda name: f"_orig_mod.{name}", lambda name: f"module.{name}", lambda name: f"module._orig_mod.{name}",
    lambda name: f"_orig_mod.module.module.{name}", lambda name: name.replace("model.", "model._orig_mod."),
    lambda name: name.replace("self_attn.", "_fsdp_wrapped_module.self_attn."),
    lambda name: name.replace("mlp.", "_checkpoint_wrapped_module.mlp.")])
def test_names_that_wrappers_put_before_weights_are_taken_off(tmp_path, wrapped):
    weights = saved(tmp_path, lambda found: {wrapped(name): one for name, one in found.items()})
    assert Folder(tmp_path).tensors.keys() == weights.keys()
    examine(Folder(tmp_path))


@each_row(("change", "why"), [
    (lambda found: {f"net.{name}": one for name, one in found.items()},
     r"has net\.model\.embed_tokens\.weight where .* asks for embed_tokens\.weight; save the model itself, without "
     r"what it stands in \(net\.model\)"),
    (lambda found: {f"model.{name}": one for name, one in found.items()},
     r"has model\.model\.embed_tokens\.weight where .* asks for model\.embed_tokens\.weight; .* \(model\)"),
    (lambda found: {name.replace("q_proj.", "q_proj.base_layer."): one for name, one in found.items()},
     r"an adapter's weights, such as model\.layers\.0\.self_attn\.q_proj\.base_layer\.weight; merge it"),
    (lambda found: {name: one for name, one in found.items() if "lm_head" not in name},
     r"has no lm_head\.weight, which predicts tokens, .* it writes nothing; in Python, transformer\.show"),
    (lambda found: {name: one for name, one in found.items() if "k_proj" not in name},
     r"has no weights model\.layers\.0\.self_attn\.k_proj\.weight, .* has lm_head\.weight; save both again"),
    *((lambda found, kind=kind: {name: one.to(kind) if one.dim() == 2 else one for name, one in found.items()},
       f"is stored as {said} in .*, and F32, F16, BF16, F64 are read; save it as one of them") for kind, said in (
        (torch.float8_e4m3fn, "F8_E4M3"), (torch.float8_e5m2, "F8_E5M2"), (torch.int8, "I8"), (torch.uint16, "U16")))])
def test_whole_weights_that_do_not_fit_are_refused_for_the_reason(tmp_path, change, why):
    saved(tmp_path, change, tie_word_embeddings=False)
    with pytest.raises(Refused, match=why) as error:
        examine(Folder(tmp_path))
    assert "copy" not in str(error.value)


def test_numbers_of_a_kind_that_nobody_knows_are_named(tmp_path):
    saved(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"dtype":"F32"', b'"dtype":"X32"', 1))
    with pytest.raises(Refused, match=r"as X32, and F32, F16, BF16, F64 are read"):
        examine(Folder(tmp_path))


def test_an_adapter_is_told_from_a_model(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(Refused, match="is an adapter, .* model.merge_and_unload"):
        _ = Folder(tmp_path).config


@pytest.mark.rare("makes a model of every decoder; one stands among the reasons above")
def test_a_bare_class_of_every_decoder_is_read_or_told_that_it_writes_nothing(tmp_path):
    kinds = set()
    for name, config, settings in first_of_each_family():
        if not name.endswith(("ForCausalLM", "LMHeadModel")):
            continue
        saved(tmp_path / name, what=(f"{config.removesuffix('Config')}Model", config, settings),
              tie_word_embeddings=False)
        opened = Folder(tmp_path / name)
        kinds.add(opened.config["model_type"])
        with pytest.raises(Refused, match="which predicts tokens, .* it writes nothing") as error:
            examine(opened)
        assert "copy" not in str(error.value)
    assert kinds <= FAMILIES.keys() and len(kinds) > 15


def test_a_weight_that_is_there_twice_is_refused_and_so_are_many_names_for_one(tmp_path):
    saved(tmp_path / "twice", lambda found: {**found, "_orig_mod.lm_head.weight": found["lm_head.weight"].clone()})
    with pytest.raises(Refused, match=r"has lm_head\.weight twice, once as"):
        _ = Folder(tmp_path / "twice").tensors
    weights = saved(tmp_path / "many")
    save_file(weights, tmp_path / "many" / "model.safetensors", {f"layer.{i}": "lm_head.weight" for i in range(9)})
    with pytest.raises(Refused, match="has 9 more names for its weights, and at most 8 are read"):
        _ = Folder(tmp_path / "many").tensors

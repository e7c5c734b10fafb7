"""Imported encoder-decoders write what the transformers package writes; older folders open."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import transformer
from tests.huggingface.cases import TRANSLATORS, its_family, rows
from tests.huggingface.random_models import random_model
from transformer.huggingface.comparison import both, open_theirs
from transformer.huggingface.importing import import_model
from transformer.inference.beam_search import search

CASES = {case[0]: case for case in TRANSLATORS}


def make(folder, name):
    """Saves a model with random weights. Layers are louder than the embeddings, or each token would repeat itself."""
    _, *what = CASES[name]
    model = random_model(*what, seed=3, spread=lambda parameter: (
        0.2 if parameter.dim() == 1 or len(parameter) > 90 else 0.5))
    if "final_logits_bias" in dict(model.named_buffers()):
        model.final_logits_bias.normal_(std=0.2)
    if "forced_bos_token_id" in what[-1]:  # which the newest configurations no longer take
        model.generation_config.forced_bos_token_id = what[-1]["forced_bos_token_id"]
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def imported(import_once):
    """imported(name): their folder, and our checkpoint of it."""
    return lambda name: import_once(make, name)


def source_of(ckpt, *ids):
    return torch.tensor([[*ids, ckpt.config.eos_id]])


def theirs_writes(theirs, source, **options):
    # uncached: version 5.23 makes too few caches for a T5 that has more decoder layers than encoder layers
    settings = {"use_cache": False, "max_new_tokens": 20, "do_sample": False, "num_beams": 1,
                "forced_eos_token_id": None, **options}
    return theirs.generate(source, attention_mask=torch.ones_like(source), **settings)[0].tolist()[1:]


def whole(ids, config):
    return [id for id in ids if not config.ends(id)]


def equal(ckpt, folder):
    ours, theirs = both(ckpt, open_theirs(ckpt, folder), seed=5, length=17)
    assert set(ours) == {"logits", "encoder", "decoder", "cross"}
    for what in ours:
        torch.testing.assert_close(ours[what], theirs[what], rtol=0, atol=1e-4)


@pytest.mark.parametrize("case", rows(its_family, TRANSLATORS))
def test_greedy_decoding_writes_what_theirs_writes(imported, case):
    folder, ckpt = imported(case[0])
    theirs, source = open_theirs(ckpt, folder), source_of(ckpt, 7, 3, 59, 12)
    written = theirs_writes(theirs, source)
    assert [step.id for step in transformer.steps(ckpt, "7 3 59 12", max_steps=20)] == written
    assert search(ckpt, source, max_steps=20) == [whole(written, ckpt.config)]
    # Random weights like to say one token again and again, so once more with none said twice, and no padding, which an
    # M2M-100 counts no position for.
    pad, unlike = ckpt.config.pad_id, []
    written = theirs_writes(theirs, source, no_repeat_ngram_size=1, bad_words_ids=[[pad]])
    step = transformer.start(ckpt, "7 3 59 12")
    while len(unlike) < len(written):
        step = transformer.next_step(ckpt, step, unlike[-1]) if unlike else step
        unlike.append(int(step.allowed.index_fill(0, torch.tensor([pad, *step.tokens]), float("-inf")).argmax()))
    assert unlike == written
    assert len(unlike) > 5


def test_the_language_to_translate_into_comes_first_wherever_something_is_written(imported):
    _, ckpt = imported("mbart")
    first = transformer.start(ckpt, "7 3")
    assert first.id == first.likeliest == 77 != int(first.logits.argmax())
    assert first.top(2)[0] == (77, "77", 1.0)
    assert transformer.attend(ckpt, "7 3").next_id == 77
    assert transformer.next_step(ckpt, first).id == int(transformer.next_step(ckpt, first).logits.argmax())
    sampled = transformer.start(ckpt, "7 3", sampling=transformer.Sampling(temperature=2.0, top_k=3, seed=1))
    assert sampled.id == 77
    tree = transformer.beam_tree(ckpt, "7 3", width=2, max_steps=4)
    assert [node.id for node in tree.nodes if node.depth == 1] == [77]
    assert transformer.translate(ckpt, ["7 3", "5"], max_steps=3)[1].split()[0] == "77"


def test_a_target_that_is_given_stands_behind_the_language_to_translate_into(imported):
    _, ckpt = imported("mbart")
    read = transformer.attend(ckpt, "7 3", target="40 41")
    assert read.ids["tgt"] == [2, 77, 40, 41]
    assert transformer.attend(ckpt, "7 3", target="77 40 41").ids["tgt"] == [2, 77, 40, 41]
    assert transformer.attend(ckpt, "7 3", target="").ids["tgt"] == [2]
    assert transformer.attend(imported("bart")[1], "7 3", target="40 41").ids["tgt"] == [2, 40, 41]
    step = next(step for step in transformer.steps(ckpt, "7 3", forced={1: 40, 2: 41}) if step.index == 3)
    torch.testing.assert_close(step.logits, read.logits[-1], rtol=0, atol=1e-5)  # as they are where it is written


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_any_of_several_ends_ends_what_is_written(imported, tmp_path, name):
    folder, ckpt = imported(name)
    theirs, source = open_theirs(ckpt, folder), source_of(ckpt, 7, 3, 59, 12)
    written = theirs_writes(theirs, source)
    ends = [ckpt.config.eos_id, next(id for id in written[2:] if id != written[0])]
    theirs.generation_config.eos_token_id = ends
    theirs.generation_config.forced_eos_token_id = None
    theirs.save_pretrained(tmp_path / "theirs")
    again = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    expected = theirs_writes(theirs, source)
    assert expected == written[:written.index(ends[1]) + 1]
    assert len(expected) > 1
    assert [step.id for step in transformer.steps(again, "7 3 59 12", max_steps=20)] == expected
    assert search(again, source, max_steps=20) == [expected[:-1]]


# What older files say


def respelled(folder, new, *, config=None, tensors=None, without=()):
    """The folder with other keys in its config.json and other tensors, and no generation_config.json."""
    new.mkdir()
    about = json.loads((folder / "config.json").read_text())
    for key in without:
        about.pop(key, None)
    (new / "config.json").write_text(json.dumps({**about, **(config or {})}))
    weights = load_file(folder / "model.safetensors")
    save_file(tensors(weights) if tensors else weights, new / "model.safetensors", metadata={"format": "pt"})
    return new


NEW_T5 = ("dense_act_fn", "is_gated_act", "scale_decoder_outputs", "decoder_start_token_id")


HEAD = torch.randn(99, 32, generator=torch.Generator().manual_seed(1))
OLDER = {  # name: (which model, how its folder is spelled, what our configuration then says)
    # tie_word_embeddings says whether logits are scaled, and an lm_head is there
    "google/flan-t5-small": ("t5, v1.1", {"without": NEW_T5, "config": {
        "tie_word_embeddings": False, "n_positions": 512, "output_past": True, "decoder_start_token_id": 0},
        "tensors": lambda weights: {**weights, "lm_head.weight": HEAD,
                                    "encoder.embed_tokens.weight": weights["shared.weight"].clone(),
                                    "decoder.embed_tokens.weight": weights["shared.weight"].clone()}},
        {"tie_embeddings": False, "logits_scale": 1.0, "gated": True}),
    "google-t5/t5-small": ("t5", {
        "without": (*NEW_T5, "tie_word_embeddings", "feed_forward_proj"),
        "config": {"architectures": ["T5WithLMHeadModel"], "n_positions": 512, "decoder_start_token_id": 0},
        "tensors": lambda weights: {**weights, "decoder.block.0.layer.1.EncDecAttention."
                                    "relative_attention_bias.weight": torch.zeros(32, 4)}},
        {"tie_embeddings": True, "logits_scale": pytest.approx(32 ** -0.5), "activation": "relu", "start_id": 0,
         "eos_id": 1}),
    "google/mt5-small": ("mt5", {
        "without": NEW_T5, "config": {"tie_word_embeddings": False, "decoder_start_token_id": 0},
        "tensors": lambda weights: {**weights, "lm_head.weight": HEAD}},
        {"tie_embeddings": False, "activation": "gelu_tanh"}),
    # which may bring its sinusoids; NLLB names no language to begin with
    "facebook/m2m100_418M": ("m2m_100", {"tensors": lambda weights: weights | {
        f"model.{side}.embed_positions.weights": torch.zeros(66, 32) for side in ("encoder", "decoder")}},
        {"positions": "sinusoidal", "sinusoid_layout": "fairseq", "forced_bos_id": None})}


@pytest.mark.parametrize("older", OLDER)
def test_older_folders_are_read_as_they_were_meant(imported, tmp_path, older):
    name, spelled, expected = OLDER[older]
    old = respelled(imported(name)[0], tmp_path / "old", **spelled)
    ckpt = transformer.load(import_model(old, tmp_path / "ours"))
    assert {field: getattr(ckpt.config, field) for field in expected} == expected
    assert expected.get("tie_embeddings", True) or torch.equal(ckpt.model.output.weight, HEAD)
    equal(ckpt, old)


CNN = {"_num_labels": 3, "add_bias_logits": False, "add_final_layer_norm": False, "classif_dropout": 0.0,
       "early_stopping": True, "forced_eos_token_id": 2, "force_bos_token_to_be_generated": True, "length_penalty": 2.0,
       "max_length": 142, "min_length": 56, "no_repeat_ngram_size": 3, "normalize_before": False, "num_beams": 4,
       "normalize_embedding": True, "num_hidden_layers": 2, "output_past": True, "prefix": " ",
       "static_position_embeddings": False, "extra_pos_embeddings": 2}


def test_a_bart_that_summarises_says_which_of_its_settings_are_not_used(imported, tmp_path):
    """facebook/bart-large-cnn."""
    old = respelled(imported("bart")[0], tmp_path / "old", config=CNN, tensors=lambda weights: {
        **weights, "model.encoder.version": torch.ones(1), "model.decoder.version": torch.ones(1)})
    ckpt = transformer.load(import_model(old, tmp_path / "ours"))
    assert ckpt.config.forced_bos_id == 0
    card = (tmp_path / "ours" / "README.md").read_text()
    assert ("Settings for decoding in its folder that are not used here: min_length 56, no_repeat_ngram_size 3, "
            "forced_eos_token_id 2.") in card
    equal(ckpt, old)
    written = theirs_writes(open_theirs(ckpt, old), source_of(ckpt, 7, 3), min_length=0, no_repeat_ngram_size=0)
    assert written[0] == 0
    assert [step.id for step in transformer.steps(ckpt, "7 3", max_steps=20)] == written


def test_what_generation_config_says_goes_before_config(imported, tmp_path):
    old = respelled(imported("bart")[0], tmp_path / "old", config={"forced_bos_token_id": 0, "min_length": 5})
    (old / "generation_config.json").write_text(json.dumps({"forced_bos_token_id": 42, "min_length": 0}))
    assert transformer.load(import_model(old, tmp_path / "ours")).config.forced_bos_id == 42
    assert "not used here: forced_eos_token_id 2." in (tmp_path / "ours" / "README.md").read_text()


@pytest.mark.parametrize("name", ["m2m_100", "t5, v1.1"])
def test_half_precision_is_computed_in_float32_on_both_sides(imported, tmp_path, name):
    folder = respelled(imported(name)[0], tmp_path / "half", tensors=lambda weights: {
        key: weight.bfloat16() for key, weight in weights.items()}, config={"dtype": "bfloat16"})
    equal(transformer.load(import_model(folder, tmp_path / "ours")), folder)

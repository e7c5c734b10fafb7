"""Other people's models run as ours: the same logits, the same attention, the same tokens; and what is refused."""

import json
import shutil
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import transformer
from transformer import checkpoint
from transformer import tokenizer as sentencepieces
from transformer.config import ModelConfig
from transformer.huggingface.comparing import both, compare, open_theirs
from transformer.huggingface.exporting import export_gpt2
from transformer.huggingface.importing import import_model
from transformer.model.models import Transformer

hf = pytest.importorskip("transformers", reason="pip install -r requirements/huggingface.txt")
hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()

CLOSE = {"rtol": 0, "atol": 1e-4}
GPT2 = {"vocab_size": 61, "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 40, "bos_token_id": 60,
        "eos_token_id": 60}
BERT = {"vocab_size": 61, "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 20,
        "max_position_embeddings": 40}
DISTILBERT = {"vocab_size": 61, "dim": 24, "n_heads": 3, "n_layers": 2, "hidden_dim": 20, "max_position_embeddings": 40}
MARIAN = {"vocab_size": 61, "d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3,
          "decoder_attention_heads": 3, "encoder_ffn_dim": 20, "decoder_ffn_dim": 20, "max_position_embeddings": 40,
          "pad_token_id": 60, "decoder_start_token_id": 60, "eos_token_id": 0, "scale_embedding": True,
          "activation_function": "swish"}
CASES = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "gpt2 untied, one head of odd width": ("GPT2LMHeadModel", "GPT2Config", {
        **GPT2, "n_head": 1, "n_embd": 15, "n_inner": 7, "tie_word_embeddings": False, "layer_norm_epsilon": 1e-3}),
    "gpt2 relu, padding token 0": ("GPT2LMHeadModel", "GPT2Config", {
        **GPT2, "activation_function": "relu", "pad_token_id": 0, "n_layer": 1, "bos_token_id": 50256,
        "eos_token_id": 50256}),
    "gpt2 without its head": ("GPT2Model", "GPT2Config", GPT2),
    "bert": ("BertModel", "BertConfig", BERT),
    "bert gelu_new, one type": ("BertModel", "BertConfig", {**BERT, "hidden_act": "gelu_new", "type_vocab_size": 1,
                                                            "num_attention_heads": 4, "layer_norm_eps": 1e-3}),
    "bert masked": ("BertForMaskedLM", "BertConfig", BERT),
    "bert masked, untied": ("BertForMaskedLM", "BertConfig", {**BERT, "tie_word_embeddings": False}),
    "bert pretraining": ("BertForPreTraining", "BertConfig", BERT),
    "bert classes": ("BertForSequenceClassification", "BertConfig", {
        **BERT, "id2label": {0: "no", 1: "perhaps", 2: "yes"}, "hidden_act": "relu"}),
    "bert question answering": ("BertForQuestionAnswering", "BertConfig", BERT),
    "roberta masked": ("RobertaForMaskedLM", "RobertaConfig", {**BERT, "type_vocab_size": 1}),
    "roberta classes": ("RobertaForSequenceClassification", "RobertaConfig", {**BERT, "num_labels": 4}),
    "distilbert masked": ("DistilBertForMaskedLM", "DistilBertConfig", DISTILBERT),
    "distilbert classes": ("DistilBertForSequenceClassification", "DistilBertConfig", DISTILBERT),
    "marian": ("MarianMTModel", "MarianConfig", MARIAN),
    "marian odd width, relu, unscaled": ("MarianMTModel", "MarianConfig", {
        **MARIAN, "d_model": 21, "activation_function": "relu", "scale_embedding": False, "encoder_layers": 1}),
    "marian two vocabularies": ("MarianMTModel", "MarianConfig", {
        **MARIAN, "decoder_vocab_size": 70, "share_encoder_decoder_embeddings": False}),
    "marian shared and untied": ("MarianMTModel", "MarianConfig", {**MARIAN, "tie_word_embeddings": False}),
}


def make(name, folder):
    """That model of theirs with random weights, sharp enough that every one matters, in a folder."""
    kind, config, settings = CASES[name]
    torch.manual_seed(3)
    model = getattr(hf, kind)(getattr(hf, config)(**settings)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_((0.4 if parameter.dim() == 2 else 0.1) * torch.randn(parameter.shape))
    if "marian" in name:
        model.final_logits_bias.normal_(std=0.2)
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.copy_(side.embed_positions.create_weight())
    model.save_pretrained(folder)
    return model


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """imported(name): their folder, and our checkpoint of it; made once."""
    made = {}

    def get(name):
        if name not in made:
            place = tmp_path_factory.mktemp("huggingface")
            make(name, place / "theirs")
            made[name] = place / "theirs", transformer.load(import_model(place / "theirs", place / "ours"))
        return made[name]

    return get


# The same numbers


@pytest.mark.parametrize("name", CASES)
def test_logits_and_every_attention_matrix_are_theirs(imported, name):
    folder, ckpt = imported(name)
    ours, theirs = both(ckpt, open_theirs(ckpt, folder), seed=5)
    assert ours.keys() == theirs.keys() == {"logits", *ckpt.config.kinds}
    for what in ours:
        assert ours[what].shape == theirs[what].shape
        torch.testing.assert_close(ours[what], theirs[what], **CLOSE)
        assert theirs[what].std() > 1e-2  # what is compared differs from place to place


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("gpt2", "marian"))])
def test_generation_is_theirs_token_for_token(imported, name):
    folder, ckpt = imported(name)
    theirs, ids = open_theirs(ckpt, folder), [7, 3, 60, 0, 12]
    source = torch.tensor([ids if not ckpt.config.encoder_layers else [*ids, ckpt.config.eos_id]])
    expected = theirs.generate(source, attention_mask=torch.ones_like(source), do_sample=False, num_beams=1,
                               max_new_tokens=20, use_cache=True, forced_eos_token_id=None)[0].tolist()
    made = list(transformer.steps(ckpt, " ".join(map(str, ids)), max_steps=20))
    assert [step.id for step in made] == expected[1 if ckpt.config.encoder_layers else len(ids):]
    assert len({step.id for step in made}) > 1


def test_a_translation_in_batches_is_theirs(imported):
    folder, ckpt = imported("marian")
    theirs, texts = open_theirs(ckpt, folder), ["7 3 12", "5", "9 9 4 2 31 8"]
    for text, out in zip(texts, transformer.translate(ckpt, texts, max_steps=20), strict=True):
        source = torch.tensor([[*map(int, text.split()), 0]])
        expected = theirs.generate(source, do_sample=False, num_beams=1, max_new_tokens=20, forced_eos_token_id=None)
        assert out.split() == [str(id) for id in expected[0].tolist()[1:] if id != 0]


def test_banned_tokens_are_never_chosen(tmp_path):
    model = make("marian", tmp_path / "theirs")
    model.final_logits_bias[0, 60] = 50.0  # without the ban nothing but padding would be written
    model.generation_config.bad_words_ids = [[60]]
    model.save_pretrained(tmp_path / "theirs")
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    assert ckpt.config.banned_ids == (60,)
    made = list(transformer.steps(ckpt, "7 3", max_steps=8))
    source = torch.tensor([[7, 3, 0]])
    expected = model.generate(source, do_sample=False, num_beams=1, max_new_tokens=8, forced_eos_token_id=None)
    assert [step.id for step in made] == expected[0].tolist()[1:]
    assert made[0].logits.argmax() == 60
    assert 60 not in [candidate.id for candidate in made[0].top(10)]
    assert "60" not in transformer.translate(ckpt, ["7 3"], beam=3, max_steps=8)[0].split()


def test_a_whole_reading_and_the_steps_agree(imported):
    _, ckpt = imported("gpt2 relu, padding token 0")
    step = transformer.start(ckpt, "4 0 9 0")
    reading = transformer.attend(ckpt, "4 0 9 0")
    torch.testing.assert_close(step.logits, reading.logits[-1], **CLOSE)
    torch.testing.assert_close(step.attentions["decoder"], reading.attentions["decoder"], **CLOSE)
    assert (reading.attentions["decoder"][:, :, 3, 1] > 0).all()  # id 0 is no padding to a GPT-2


def test_an_encoder_reads_and_writes_nothing(imported):
    _, ckpt = imported("bert")
    reading = transformer.attend(ckpt, "5 6 7")
    assert reading.logits is None
    assert reading.hidden.shape == (3, 24)
    assert reading.attentions["encoder"].shape == (2, 3, 3, 3)
    assert imported("bert masked")[1].config.head == "masked"
    assert transformer.attend(imported("bert masked")[1], "5 6 7").logits.shape == (3, 61)
    with pytest.raises(ValueError, match="writes no tokens"):
        transformer.start(ckpt, "5")


def test_classes_keep_their_names_and_a_head_left_out_is_said(imported):
    _, ckpt = imported("bert classes")
    assert ckpt.classes == ("no", "perhaps", "yes")
    assert transformer.attend(ckpt, "5 6 7").logits.exp().sum().item() == pytest.approx(1, abs=1e-5)
    card = (imported("bert question answering")[1].description.folder / "README.md").read_text()
    assert "Left out: the head that says where an answer starts and ends." in card


def test_old_names_shards_and_half_precision_are_read(imported, tmp_path):
    folder, _ = imported("bert masked")
    shutil.copytree(folder, tmp_path / "old")
    weights = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): w.half()
               for name, w in load_file(folder / "model.safetensors").items()}
    (tmp_path / "old" / "model.safetensors").unlink()
    names = sorted(weights)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, chosen in parts.items():
        save_file({name: weights[name] for name in chosen}, tmp_path / "old" / file)
    listed = {name: file for file, chosen in parts.items() for name in chosen}
    (tmp_path / "old" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": listed}))
    ckpt = transformer.load(import_model(tmp_path / "old", tmp_path / "ours"))
    ours = ckpt.model.state_dict()["encoder.layers.1.attention_norm.bias"]
    assert torch.equal(ours, weights["bert.encoder.layer.1.attention.output.LayerNorm.beta"].float())
    assert (tmp_path / "ours" / "model.safetensors").stat().st_size < 0.75 * 4 * sum(w.numel() for w in weights.values())


def test_check_says_how_far_ours_is_from_theirs(imported):
    folder, ckpt = imported("marian")
    found = compare(ckpt.description.folder, folder)["largest_difference"]
    assert set(found) == {"logits", "encoder", "decoder", "cross"}
    assert max(found.values()) < 1e-4


def test_an_import_goes_where_the_pages_look_and_says_where_it_is_from(imported, tmp_path, monkeypatch):
    folder, _ = imported("gpt2")
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    shutil.copytree(folder, tmp_path / "my model")
    (tmp_path / "my model" / "README.md").write_text("---\nlicense: mit\n---\n# x\n")
    out = import_model(tmp_path / "my model")
    assert out == tmp_path / "imports" / "my-model"
    about = checkpoint.describe(out)
    assert (about.meta["imported_from"], about.meta["license"], about.meta["family"]) == ("my model", "mit", "gpt2")
    assert import_model(tmp_path / "my model") == out  # again, in its place
    with pytest.raises(ValueError, match="was not imported; choose another place"):
        import_model(tmp_path / "my model", tmp_path / "my model")

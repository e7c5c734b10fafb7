"""Imported models give the same logits, attention and tokens as theirs; and refusals."""

import json
import shutil
from pathlib import Path

import pytest
import tokenizers
import torch
from safetensors.torch import load_file, save_file

import transformer
from tests.huggingface.random_models import random_model
from transformer.analysis.roles import measure_roles
from transformer.analysis.sample import read_texts
from transformer.checkpoints import checkpoint
from transformer.huggingface.comparison import both, compare, open_theirs
from transformer.huggingface.exporting import export_model
from transformer.huggingface.importing import import_model
from transformer.model.models import Transformer
from transformer.text import tokenizer as sentencepieces

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
    "xlm-roberta masked": ("XLMRobertaForMaskedLM", "XLMRobertaConfig", {**BERT, "type_vocab_size": 1}),
    "camembert classes": ("CamembertForSequenceClassification", "CamembertConfig", {**BERT, "num_labels": 3}),
    "distilbert masked": ("DistilBertForMaskedLM", "DistilBertConfig", DISTILBERT),
    "distilbert classes": ("DistilBertForSequenceClassification", "DistilBertConfig", DISTILBERT),
    "marian": ("MarianMTModel", "MarianConfig", MARIAN),
    "marian odd width, relu, unscaled": ("MarianMTModel", "MarianConfig", {
        **MARIAN, "d_model": 21, "activation_function": "relu", "scale_embedding": False, "encoder_layers": 1}),
    "marian two vocabularies": ("MarianMTModel", "MarianConfig", {
        **MARIAN, "decoder_vocab_size": 70, "share_encoder_decoder_embeddings": False}),
    "marian shared and untied": ("MarianMTModel", "MarianConfig", {**MARIAN, "tie_word_embeddings": False}),
}


def make(folder, name):
    """Saves a model with random weights, sharp enough that every one matters: layers are louder than the embeddings,
    or each token would repeat itself."""
    model = random_model(*CASES[name], seed=5, spread=lambda parameter: (
        0.1 if parameter.dim() == 1 else 0.2 if len(parameter) > 30 else 0.4))
    if "marian" in name:
        model.final_logits_bias.normal_(std=0.2)
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.copy_(side.embed_positions.create_weight())
    model.save_pretrained(folder)
    return model


@pytest.fixture(scope="module")
def imported(import_once):
    """imported(name): their folder, and our checkpoint of it."""
    return lambda name: import_once(make, name)


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
    theirs, ids = open_theirs(ckpt, folder), [7, 3, 59, 0, 12]
    source = torch.tensor([ids if not ckpt.config.encoder_layers else [*ids, ckpt.config.eos_id]])
    expected = theirs.generate(source, attention_mask=torch.ones_like(source), do_sample=False, num_beams=1,
                               max_new_tokens=20, use_cache=True, forced_eos_token_id=None)[0].tolist()
    made = list(transformer.steps(ckpt, " ".join(map(str, ids)), max_steps=20))
    prompt = 1 if ckpt.config.encoder_layers else len(ids)
    assert [step.id for step in made] == expected[prompt:]
    # Random weights like to say one token again and again, so once more with none said twice.
    expected = theirs.generate(source, attention_mask=torch.ones_like(source), do_sample=False, num_beams=1,
                               max_new_tokens=20, no_repeat_ngram_size=1, forced_eos_token_id=None)[0].tolist()
    step, unlike = transformer.start(ckpt, " ".join(map(str, ids))), []
    while len(unlike) < 20 and ckpt.config.eos_id not in unlike:
        seen = torch.tensor([*step.tokens, *unlike[-1:]])
        step = transformer.next_step(ckpt, step, unlike[-1]) if unlike else step
        unlike.append(int(step.logits.index_fill(0, seen, float("-inf")).argmax()))
    assert unlike == expected[prompt:]
    assert len(unlike) > 5


def test_a_translation_in_batches_is_theirs(imported):
    folder, ckpt = imported("marian")
    theirs, texts = open_theirs(ckpt, folder), ["7 3 12", "5", "9 9 4 2 31 8"]
    for text, out in zip(texts, transformer.translate(ckpt, texts, max_steps=20), strict=True):
        source = torch.tensor([[*map(int, text.split()), 0]])
        expected = theirs.generate(source, do_sample=False, num_beams=1, max_new_tokens=20, forced_eos_token_id=None)
        assert out.split() == [str(id) for id in expected[0].tolist()[1:] if id != 0]


def test_banned_tokens_are_never_chosen(tmp_path):
    model = make(tmp_path / "theirs", "marian")
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


def test_an_encoder_reads_and_writes_nothing_but_classes_with_their_names_and_a_head_left_out_is_said(imported):
    _, ckpt = imported("bert")
    reading = transformer.attend(ckpt, "5 6 7")
    assert reading.logits is None
    assert reading.hidden.shape == (3, 24)
    assert reading.attentions["encoder"].shape == (2, 3, 3, 3)
    assert imported("bert masked")[1].config.head == "masked"
    assert transformer.attend(imported("bert masked")[1], "5 6 7").logits.shape == (3, 61)
    with pytest.raises(ValueError, match="writes no tokens"):
        transformer.start(ckpt, "5")
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
    size = (tmp_path / "ours" / "model.safetensors").stat().st_size
    assert size < 3 * sum(weight.numel() for weight in weights.values())  # bytes, the names included


def test_check_says_how_far_ours_is_from_theirs(imported, tmp_path):
    folder, ckpt = imported("marian")
    report = compare(ckpt.description.folder, folder)
    assert set(report["largest_difference"]) == {"logits", "encoder", "decoder", "cross"}
    assert max(report["largest_difference"].values()) < 1e-4
    assert report["agrees"] and report["verdict"].startswith("agrees")
    moved = Transformer.holding(ckpt.config, {
        name: weight + (name == "decoder.layers.1.attention.v_proj.bias") for name, weight
        in ckpt.model.state_dict().items()})
    checkpoint.save(tmp_path / "moved", moved, tokenizer=None, meta=ckpt.meta)
    report = compare(tmp_path / "moved", folder)
    assert not report["agrees"] and report["verdict"].startswith("does not agree: logits differ by")


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


# Tokenizers


TEXTS = ["I am cold.", " Go  on, then! ", "Ça va ? 🙂", "a\nb", "[MASK] it </s>", "x\ud800y"]


def bpe(folder):
    """GPT-2's kind of tokenizer, in its own two files."""
    import transformers as hf

    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(["I am cold. I am here.", "Go on, go home!"] * 4, vocab_size=290, min_frequency=1,
                                special_tokens=["<|endoftext|>"])
    folder.mkdir(exist_ok=True)
    trained.save_model(str(folder))
    return hf.GPT2Tokenizer.from_pretrained(str(folder))


def word_pieces(folder):
    """BERT's kind of tokenizer, in its own file."""
    import transformers as hf

    folder.mkdir(exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "i", "am", "co", "##ld", ".", "go", "on", ",", "then", "!"]
    (folder / "vocab.txt").write_text("\n".join(words))
    return hf.BertTokenizer.from_pretrained(str(folder))


def gpt2_with(folder, tokenizer, **changes):
    import transformers as hf

    torch.manual_seed(1)
    settings = {**GPT2, "vocab_size": len(tokenizer), "bos_token_id": tokenizer.bos_token_id,
                "eos_token_id": tokenizer.eos_token_id, **changes}
    hf.GPT2LMHeadModel(hf.GPT2Config(**settings)).save_pretrained(folder)


@pytest.mark.parametrize("fast", [True, False], ids=["tokenizer.json", "vocab.json and merges.txt"])
def test_gpt2_reads_text_as_theirs_does(tmp_path, fast):
    import transformers as hf

    theirs = bpe(tmp_path / "theirs")
    gpt2_with(tmp_path / "theirs", theirs)
    if fast:
        theirs.save_pretrained(tmp_path / "theirs")
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    for text in TEXTS[:-1]:
        pieces = ckpt.tokenizer.pieces(text)
        assert [piece.id for piece in pieces] == ckpt.tokenizer.encode(text) == theirs(text).input_ids
        assert ckpt.tokenizer.decode(theirs(text).input_ids) == text
        assert {place for piece in pieces for place in range(piece.start, piece.end)} >= {
            place for place, char in enumerate(text) if not char.isspace()}
    assert ckpt.tokenizer.encode_batch(TEXTS) == [ckpt.tokenizer.encode(text) for text in TEXTS]
    labels = [ckpt.tokenizer.piece(id) for id in ckpt.tokenizer.encode("I am 🙂")]
    assert labels[:2] == ["I", "▁am"]
    assert labels[-1] == "<82>"  # the last of the four bytes of the face
    assert ckpt.tokenizer.piece(10**6) == "<1000000>"
    assert ckpt.tokenizer.decode([ckpt.config.eos_id, 10**6]) == ""
    step = transformer.start(ckpt, "I am")
    assert step.axes("decoder")[0] == ["I", "▁am"]
    assert isinstance(step.output, str)
    back = hf.AutoTokenizer.from_pretrained(str(export_model(ckpt, tmp_path / "back")))
    assert [back(text).input_ids for text in TEXTS[:-1]] == [theirs(text).input_ids for text in TEXTS[:-1]]


def test_bert_reads_text_as_theirs_does_with_what_it_puts_around(tmp_path):
    import transformers as hf

    theirs = word_pieces(tmp_path / "theirs")
    hf.BertForMaskedLM(hf.BertConfig(**{**BERT, "vocab_size": 20})).save_pretrained(tmp_path / "theirs")
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    for text in TEXTS[:-1]:
        assert ckpt.tokenizer.encode(text) == theirs(text).input_ids
    pieces = ckpt.tokenizer.pieces("I am cold, Ana")
    assert [piece.text for piece in pieces] == ["[CLS]", "i", "am", "co", "##ld", ",", "[UNK]", "[SEP]"]
    assert [piece.unknown for piece in pieces] == [False] * 6 + [True, False]
    assert ckpt.tokenizer.decode([piece.id for piece in pieces][1:6]) == "i am cold,"
    assert ckpt.config.eos_id == 3  # [SEP], which its configuration does not call an end
    ends = measure_roles(ckpt, read_texts(ckpt, ["I am cold.", "go on"])).values["encoder"]["end"]
    torch.testing.assert_close(torch.from_numpy(ends), torch.stack([
        transformer.attend(ckpt, text).attentions["encoder"][..., -1].mean(-1) * weight
        for text, weight in (("I am cold.", 7 / 11), ("go on", 4 / 11))]).sum(0))
    reading = transformer.attend(ckpt, "I am [MASK].")
    assert reading.tokens["src"] == ["[CLS]", "i", "am", "[MASK]", ".", "[SEP]"]
    with pytest.raises(ValueError, match="nothing to read"):
        transformer.attend(ckpt, "  ")


def marian_folder(folder, **changes):
    """A tiny opus-mt folder: two sentencepiece models, and a vocabulary of its own."""
    import transformers as hf

    folder.mkdir()
    pieces = []
    for name, lines in (("source.spm", ["I am cold.", "Go on.", "He is tall."]),
                        ("target.spm", ["J'ai froid.", "Va !"])):
        side = sentencepieces.train(lines, kind="char", vocab_size=60)
        side.save(folder / name)
        pieces += [side.piece(id) for id in range(4, side.vocab_size)]
    names = ["</s>", "<unk>", ">>fra<<", *dict.fromkeys(pieces), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(names)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "fr"}))
    settings = {**MARIAN, "vocab_size": len(names), "pad_token_id": len(names) - 1,
                "decoder_start_token_id": len(names) - 1, **changes}
    torch.manual_seed(1)
    model = hf.MarianMTModel(hf.MarianConfig(**settings)).eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_marian_translates_text_as_theirs_does(tmp_path):
    import transformers as hf

    model = marian_folder(tmp_path / "theirs")
    theirs = hf.MarianTokenizer.from_pretrained(str(tmp_path / "theirs"))
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    assert ckpt.tokenizer.decode(theirs(text_target="J'ai froid.").input_ids) == "J'ai froid."
    for text in ("I am cold.", ">>fra<< Go on.", "Go on? €"):
        ids = theirs(text).input_ids
        assert [*ckpt.source_tokenizer.encode(text), ckpt.config.eos_id] == ids
        pieces = ckpt.source_tokenizer.pieces(text)
        assert "".join(text[piece.start:piece.end] for piece in pieces).replace(" ", "") == text.replace(" ", "")
        expected = model.generate(torch.tensor([ids]), do_sample=False, num_beams=1, max_new_tokens=15,
                                  forced_eos_token_id=None)
        text_of_theirs = theirs.decode(expected[0], skip_special_tokens=True)
        assert transformer.translate(ckpt, [text], max_steps=15) == [text_of_theirs]
    assert [piece.unknown for piece in ckpt.source_tokenizer.pieces("I €")] == [False, False, False, True][-len(
        ckpt.source_tokenizer.pieces("I €")):]


def test_without_a_tokenizer_or_the_tokenizers_package_ids_are_shown(imported, tmp_path, monkeypatch):
    def shows_ids(ckpt):
        step = transformer.start(ckpt, "5 6 7")
        assert ckpt.tokenizer.kind == "ids"
        return step.axes("decoder")[0] == ["5", "6", "7"] and step.piece == str(step.id)

    _, ckpt = imported("gpt2")
    assert shows_ids(ckpt)
    assert "Without its tokenizer: there is none in the folder." in (
        ckpt.description.folder / "README.md").read_text()
    theirs = bpe(tmp_path / "theirs")
    gpt2_with(tmp_path / "theirs", theirs)
    theirs.save_pretrained(tmp_path / "theirs")
    for module in ("transformer.text.tokenizer_files", "transformer.huggingface.tokenizer_choice"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    out = import_model(tmp_path / "theirs", tmp_path / "ours")
    assert shows_ids(transformer.load(out))
    monkeypatch.undo()
    assert transformer.load(out).tokenizer.encode("I am") == theirs("I am").input_ids


# What is refused


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rewrite(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def refused(folder, out):
    """The sentence with which an import is refused; nothing is left of the import."""
    with pytest.raises(ValueError) as error:  # noqa: PT011
        import_model(folder, out)
    assert not out.exists()
    assert not list(out.parent.glob(f".{out.name}*"))
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(("name", "changes", "message"), [
    ("gpt2", {"activation_function": ["relu"]}, "activation"),
    ("gpt2", {"eos_token_id": [1, "2"]}, "eos_token_id is [1, '2']"),
    ("gpt2", {"eos_token_id": [1, -2]}, "eos_token_id is [1, -2]"),
    ("gpt2", {"bad_words_ids": [[1, 2]]}, "phrases of several tokens"),
    ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "GPT2ForSequenceClassification"),
    ("gpt2", {"model_type": "t5"}, "GPT2LMHeadModel, and of its family T5ForConditionalGeneration"),
    ("gpt2", {"model_type": "bloom"}, "GPT2LMHeadModel, and of its family BloomForCausalLM"),
    ("gpt2", {"model_type": "deberta-v2"}, "config.json has no hidden_size"),
    ("gpt2", {"model_type": None}, "of type None"),
    ("gpt2", {"architectures": [{}]}, "the model is a {}"),
    ("gpt2", {"suppress_tokens": 5}, "phrases of several tokens"),
    ("gpt2", {"n_embd": -3}, "n_embd is -3"),
    ("gpt2", {"n_embd": True}, "n_embd is True"),
    ("gpt2", {"n_embd": 25}, "does not divide by n_heads"),
    ("gpt2", {"n_layer": 10**9}, "n_layer is 1000000000, and at most 10,000 are read"),
    ("gpt2", {"vocab_size": 10**15}, "vocab_size"),
    ("gpt2", {"vocab_size": 62}, "transformer.wte.weight has the shape (61, 24)"),
    ("gpt2", {"n_layer": 3}, "has no weights transformer.h.2"),
    ("gpt2", {"n_layer": 1}, "transformer.h.1"),
    ("gpt2", {"layer_norm_epsilon": "x"}, "norm_eps"),
    ("bert", {"pruned_heads": {"0": [1]}}, "different heads"),
    ("bert classes", {"problem_type": "multi_label_classification"}, "multi_label_classification"),
    ("bert classes", {"id2label": {"0": "score"}}, "regression"),
    ("bert classes", {"architectures": ["BertForMultipleChoice"]}, "BertForMultipleChoice"),
    ("marian", {"decoder_attention_heads": 4}, "decoder_attention_heads 4"),
    ("marian", {"decoder_ffn_dim": 30}, "decoder_ffn_dim 30"),
    ("marian", {"normalize_embedding": True}, "normalised embeddings"),
    ("marian", {"pad_token_id": 61}, "pad_token_id"),
], ids=lambda value: str(value)[:60])
def test_what_our_models_lack_is_named(imported, tmp_path, name, changes, message):
    shutil.copytree(imported(name)[0], tmp_path / "theirs")
    edit(tmp_path / "theirs", **changes)
    (tmp_path / "theirs" / "generation_config.json").unlink(missing_ok=True)  # it would be heard first
    assert message in refused(tmp_path / "theirs", tmp_path / "ours")


@pytest.mark.parametrize(("damage", "message"), [
    (lambda f: (f / "config.json").unlink(), "no config.json"),
    (lambda f: (f / "config.json").write_text("{"), "config.json is not readable JSON"),
    (lambda f: (f / "config.json").write_text("[]"), "should hold a JSON object"),
    (lambda f: (f / "config.json").write_text(" " * 5_000_000), "5,000,000 bytes"),
    (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "can run code when it is opened"),
    (lambda f: torch.save({"a": torch.ones(1)}, f / "model.safetensors"), "damaged or not a safetensors file"),
    (lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-4]), "header describes"),
    (lambda f: rewrite(f, lambda w: w.pop("transformer.h.1.ln_2.bias")), "no weights transformer.h.1.ln_2.bias"),
    (lambda f: rewrite(f, lambda w: w.update({"../../etc/x<script>": torch.ones(1)})), "has no place"),
    (lambda f: rewrite(f, lambda w: w["transformer.ln_f.bias"].fill_(float("nan"))), "not finite"),
    (lambda f: rewrite(f, lambda w: w.update({"transformer.ln_f.bias": torch.ones(24, dtype=torch.int32)})), "I32"),
    (lambda f: ((f / "model.safetensors").rename(f / "x"), (f / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "../x.safetensors"}}))), "should name the .safetensors files"),
    (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer.json has no vocabulary"),
    (lambda f: (f / "tokenizer.json").write_text("not json"), "tokenizer.json is not readable JSON"),
], ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.slow
def test_a_damaged_or_hostile_folder_is_refused_in_one_sentence(imported, tmp_path, damage, message):
    shutil.copytree(imported("gpt2")[0], tmp_path / "theirs")
    damage(tmp_path / "theirs")
    assert message in refused(tmp_path / "theirs", tmp_path / "ours")


def test_a_tokenizer_with_more_pieces_than_the_model_is_refused(tmp_path):
    theirs = bpe(tmp_path / "theirs")
    gpt2_with(tmp_path / "theirs", theirs, vocab_size=len(theirs) - 1)
    message = refused(tmp_path / "theirs", tmp_path / "o")
    assert f"has {len(theirs):,} pieces and the model {len(theirs) - 1:,}" in message
    assert transformer.load(import_model(tmp_path / "theirs", tmp_path / "o", ids=True)).tokenizer.kind == "ids"


# And back


def test_an_export_takes_the_place_of_nothing_else_and_one_that_is_refused_leaves_nothing(imported, tmp_path):
    ckpt = imported("gpt2")[1]
    export_model(ckpt, export_model(ckpt, tmp_path / "out"))
    with pytest.raises(ValueError, match="is not such an export"):
        export_model(ckpt, Path(ckpt.description.folder))
    with pytest.raises(ValueError, match="encoder_layers is 2"):
        export_model(imported("bert")[1], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_command_line_imports_checks_and_exports(imported, tmp_path, monkeypatch, headsup):
    folder, _ = imported("gpt2")
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    code, out, _ = headsup("import", folder, "--check", "--json")
    found = json.loads(out.splitlines()[-1])
    assert (code, found["folder"]) == (0, str(tmp_path / "imports" / "theirs"))
    assert max(found["largest_difference"].values()) < 1e-4
    assert headsup("import", folder, "--out", tmp_path / "half", "--precision", "float16")[0] == 0
    assert torch.float16 in {one.dtype for one in load_file(tmp_path / "half" / "model.safetensors").values()}
    assert headsup("export", found["folder"], "--huggingface", tmp_path / "back", "--json")[0] == 0
    assert load_file(tmp_path / "back" / "model.safetensors").keys() == load_file(folder / "model.safetensors").keys()
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    for arguments, message in ((["export", found["folder"]], "give either --out for a checkpoint or --huggingface"),
                               (["import", "smollm2", "--check"], "this is a GGUF file"),
                               (["import", tmp_path / "model.gguf", "--check"], "this is a GGUF file"),
                               (["import", tmp_path / "gone"], "there is no folder")):
        code, _, err = headsup(*arguments)
        assert code == 2 and message in " ".join(err.split())

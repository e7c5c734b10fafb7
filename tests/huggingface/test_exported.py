"""Decoders exported as GPT-2 and others: transformers reads the same ids, and what cannot be expressed is refused."""

import json
import random
import re

import pytest
import torch
from pydantic import create_model

import transformer
from tests.rows import each_row
from transformer.checkpoints import checkpoint
from transformer.huggingface import export_layouts
from transformer.huggingface.comparison import both
from transformer.huggingface.exporting import about_export, export_model
from transformer.huggingface.importing import import_model
from transformer.huggingface.sentencepiece_export import TEXTS, tokenizer_json
from transformer.intake.receiving import take_in
from transformer.model.models import Transformer
from transformer.settings.config import PARTS, ModelConfig
from transformer.text import tokenizer as tokenizers

PLAY = ["ROMEO:\n", "O, she doth teach the torches to burn bright!\n", "It seems she hangs upon the cheek of night\n",
        "Like a rich jewel in an Ethiope's ear;\n", "\n", "JULIET:\n", "Good night, good night! parting is such\n"] * 3
MIXED = "".join(PLAY) + "\n\n  \t\r é ꙮ 🙂 ▁ <s></s> ﬁ 0"


def decoder(tmp_path, kind, *, standardise=False, verbatim=True):
    tokenizer = tokenizers.train(PLAY, kind=kind, vocab_size=90, verbatim=verbatim, standardise=standardise)
    model = Transformer(ModelConfig(d_model=16, n_heads=2, encoder_layers=0, decoder_layers=2, d_ff=24, max_len=60,
                                    positions="learned", vocab_size=tokenizer.vocab_size, activation="gelu_tanh"))
    checkpoint.save(tmp_path / "mine", model, tokenizer=tokenizer)
    return transformer.load(tmp_path / "mine")


def drawn(count, *, seed=1):
    """Pieces of the play, and its characters in random order with others between them."""
    chance = random.Random(seed)
    for _ in range(count):
        at, length = chance.randrange(len(MIXED)), chance.randrange(60)
        yield MIXED[at:at + length]
        yield "".join(chance.choice(MIXED) for _ in range(length))


@pytest.mark.parametrize("kind", ["char", "unigram", "bpe"])
def test_transformers_reads_an_exported_folder_with_the_same_ids(tmp_path, kind):
    import transformers as hf

    ckpt = decoder(tmp_path, kind)
    theirs = hf.AutoTokenizer.from_pretrained(str(export_model(ckpt, tmp_path / "out")))
    for text in (*TEXTS, *drawn(300)):
        assert theirs(text).input_ids == ckpt.tokenizer.encode(text), text
    text = "O, she  doth\n teach "
    assert theirs.decode(theirs(text).input_ids) == text
    assert (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id) == (0, 2, 3)
    assert theirs.decode([2, *theirs("O").input_ids, 3], skip_special_tokens=True) == "O"


@pytest.mark.parametrize("kind", tokenizers.KINDS)
def test_an_exported_folder_comes_back_with_its_tokenizer_and_the_same_logits(tmp_path, kind):
    ckpt = decoder(tmp_path, kind)
    back = transformer.load(import_model(export_model(ckpt, tmp_path / "out"), tmp_path / "back"))
    assert back.tokenizer.kind == kind
    assert [back.tokenizer.encode(text) for text in TEXTS] == [ckpt.tokenizer.encode(text) for text in TEXTS]
    ours, again = (transformer.attend(one, "O, she\ndoth") for one in (ckpt, back))
    torch.testing.assert_close(again.logits, ours.logits, rtol=0, atol=1e-5)
    assert again.tokens == ours.tokens


CHAT = ("{{ bos_token }}{% for one in messages %}{{ one.role }}: {{ one.content }}{{ eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}me:{% endif %}")


@pytest.mark.parametrize("place", ["a file", "settings", "several"])
def test_the_chat_template_goes_along_and_transformers_applies_it(tmp_path, place):
    import transformers as hf

    theirs = export_model(decoder(tmp_path, "unigram"), tmp_path / "theirs")
    (theirs / "heads-up.model").unlink()
    if place == "a file":
        (theirs / "chat_template.jinja").write_text(CHAT)
    else:
        path, template = theirs / "tokenizer_config.json", CHAT
        if place == "several":
            template = [{"name": "tools", "template": "x"}, {"name": "default", "template": CHAT}]
        path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": template}))
    ckpt = transformer.load(import_model(theirs, tmp_path / "ours"))
    out = export_model(ckpt, tmp_path / "out")
    again = export_model(transformer.load(import_model(out, tmp_path / "back")), tmp_path / "again")
    messages = [{"role": "you", "content": "O, she"}]
    spelled = [hf.AutoTokenizer.from_pretrained(str(folder)).apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True) for folder in (theirs, out, again)]
    assert re.fullmatch(r"<.*>you: O, she<.*>me:", spelled[0])
    assert spelled == [spelled[0]] * 3
    checkpoint.verify(ckpt.description.folder)


def test_it_comes_back_from_its_tokenizer_json_alone_and_from_a_zip(tmp_path):
    ckpt = decoder(tmp_path, "unigram")
    out = export_model(ckpt, tmp_path / "out")
    sent = [(path.name, path) for path in out.iterdir() if path.name != "manifest.json"]
    assert transformer.load(take_in(sent, tmp_path / "taken", name="sent")).tokenizer.kind == "unigram"
    (out / "heads-up.model").unlink()
    alone = transformer.load(import_model(out, tmp_path / "alone"))
    assert alone.tokenizer.kind == "huggingface"
    assert [alone.tokenizer.encode(text) for text in TEXTS] == [ckpt.tokenizer.encode(text) for text in TEXTS]


@pytest.mark.parametrize(("settings", "why"), [
    ({"kind": "word"}, "several unknown words as one piece"),
    ({"kind": "char", "standardise": True}, "takes away capitals and punctuation"),
    ({"kind": "unigram", "verbatim": False}, "cut some texts differently")], ids=str)
def test_a_tokenizer_that_cannot_be_expressed_is_left_out_with_the_reason(tmp_path, settings, why, headsup):
    import transformers as hf

    decoder(tmp_path, **settings)
    code, out, _ = headsup("export", tmp_path / "mine", "--huggingface", tmp_path / "out")
    assert not code
    assert why in " ".join(out.split())
    assert why in about_export(tmp_path / "out")["tokenizer_left_out"]
    assert why in (tmp_path / "out" / "README.md").read_text()
    assert not (tmp_path / "out" / "tokenizer.json").exists()
    with pytest.raises(ValueError, match="Couldn't instantiate"):  # rather than a GPT-2's that knows no piece
        hf.AutoTokenizer.from_pretrained(str(tmp_path / "out"))


def test_without_the_package_that_would_check_it_no_tokenizer_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("transformer.huggingface.sentencepiece_export.find_spec", lambda name: None)
    content, why_not = tokenizer_json(decoder(tmp_path, "char").tokenizer)
    assert content is None
    assert "pip install transformers" in why_not


def test_a_damaged_way_back_is_refused(tmp_path):
    out = export_model(decoder(tmp_path, "char"), tmp_path / "out")
    (out / "heads-up.json").write_text(json.dumps({"tokenizer": "char"}))
    with pytest.raises(ValueError, match="does not say which tokenizer"):
        import_model(out, tmp_path / "back")
    (out / "heads-up.json").write_text(json.dumps({"tokenizer": {"kind": "rune"}}))
    with pytest.raises(ValueError, match="no tokenizer of kind 'rune'"):
        import_model(out, tmp_path / "back")


GPT2 = {"positions": "learned", "activation": "gelu_tanh", "init": "normal", "embedding_scale": False, "pad_id": None}
ROTARY = {"positions": "rotary", "tie_embeddings": False, "pad_id": None}
MODERN = {**ROTARY, "norm_kind": "rms", "gated": True, "biases": (), "activation": "silu"}


@pytest.mark.parametrize(("settings", "architecture"), [
    (GPT2, "GPT2LMHeadModel"), ({**GPT2, "tie_embeddings": False}, "GPT2LMHeadModel"),
    ({**GPT2, "positions": "sinusoidal", "embedding_scale": True}, "GPT2LMHeadModel"),
    ({**GPT2, "positions": "none", "activation": "relu", "d_ff": 10}, "GPT2LMHeadModel"),
    (ROTARY, "GPTNeoXForCausalLM"), ({**ROTARY, "rotary": {"dim": 4, "base": 500.0}}, "GPTNeoXForCausalLM"),
    (MODERN, "LlamaForCausalLM"), ({**MODERN, "kv_heads": 1, "head_dim": 6, "tie_embeddings": True,
                                    "embedding_scale": False}, "LlamaForCausalLM"),
    ({**MODERN, "biases": PARTS, "embedding_scale": 3.0, "rotary": {"base": 500.0}}, "LlamaForCausalLM")], ids=str)
def test_decoders_are_written_as_what_they_are_and_compute_the_same_there_and_back(tmp_path, settings, architecture):
    import transformers as hf

    config = ModelConfig(**{"d_model": 16, "n_heads": 2, "encoder_layers": 0, "decoder_layers": 2, "d_ff": 24,
                            "max_len": 60, "vocab_size": 50, **settings})
    model = Transformer(config, generator=torch.Generator().manual_seed(1))
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    checkpoint.save(tmp_path / "mine", model, tokenizer=None)
    ckpt = transformer.load(tmp_path / "mine")
    out = export_model(ckpt, tmp_path / "out")
    theirs = hf.AutoModelForCausalLM.from_pretrained(str(out), use_safetensors=True, attn_implementation="eager")
    assert type(theirs).__name__ == architecture
    found, expected = both(ckpt, theirs.eval(), seed=4, length=30)
    back = both(transformer.load(import_model(out, tmp_path / "back")), theirs, seed=4, length=30)[0]
    for what in ("logits", "decoder"):
        torch.testing.assert_close(found[what], expected[what], rtol=0, atol=1e-5)
        torch.testing.assert_close(back[what], found[what], rtol=0, atol=1e-5)


@each_row(("settings", "why"), [
    ({"positions": "rotary", "rotary": {"layout": "interleaved"}}, "interleaved, and GPT-NeoX"),
    ({"positions": "rotary", "kv_heads": 1}, "kv_heads is 1, and GPT-NeoX"),
    ({**MODERN, "biases": ("q",)}, "all or none of q, k, v, out"),
    ({**MODERN, "norm_position": "post"}, "norm_position is post"),
    ({**MODERN, "rotary": {"dim": 4}}, "4 of 8 features"), ({"positions": "relative"}, "positions is relative"),
    ({"positions": "alibi"}, "positions is alibi"), ({**GPT2, "norm_position": "post"}, "norm_position is post"),
    ({**GPT2, "logits_bias": True}, "logits_bias is True"), ({**GPT2, "head_dim": 5}, "head_dim is 5"),
    ({**GPT2, "embedding_norm": True}, "embedding_norm is True"),
    ({**GPT2, "encoder_layers": 1, "pad_id": 0}, "encoder_layers is 1")])
def test_what_no_shape_can_express_is_refused_by_its_field(settings, why):
    config = ModelConfig(**{"d_model": 16, "n_heads": 2, "encoder_layers": 0, **settings})
    with pytest.raises(ValueError, match=why):
        export_layouts.layout_of(config)


def test_a_field_that_nobody_has_written_for_gpt2_is_refused(monkeypatch):
    newer = create_model("ModelConfig", __base__=ModelConfig, gates=(int, 0))
    monkeypatch.setattr(export_layouts, "ModelConfig", newer)
    decoder_only = {"encoder_layers": 0, "positions": "learned"}
    export_layouts.layout_of(newer(**decoder_only))
    with pytest.raises(ValueError, match="gates is 2, and GPT-2 can only express 0"):
        export_layouts.layout_of(newer(**decoder_only, gates=2))

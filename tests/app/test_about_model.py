"""What the pages say of a checkpoint, beside what its files hold."""

import pytest

from transformer.checkpoints.checkpoint import describe, load, save
from ui.choices.about_model import about_model
from ui.figures import markdown_text


@pytest.mark.parametrize(("name", "of"), [("translate", "English and French"), ("write", "Tiny Shakespeare")])
def test_size_corpus_and_quality_are_those_of_the_files(shipped, visit, name, of):
    ckpt = shipped(name)
    said = about_model(ckpt)
    count = sum({id(weight): weight.numel() for weight in ckpt.model.parameters()}.values())
    assert f"{count / 1e6:.1f} million parameters" in said
    assert of in said
    measured = ckpt.meta["metrics"]
    figure = f"BLEU {measured['bleu']:.1f}" if name == "translate" else f"{measured['bits_per_char']:.2f} bits"
    assert figure in said
    assert any(caption.value == markdown_text(said) for caption in visit(name).caption)


def test_people_are_named_beside_a_translator_whose_files_know_their_score(make_checkpoint, home):
    ckpt = make_checkpoint()
    for people, beside in ((48.296, "; a second human translation scores 48.3"), (None, "")):
        save(home / "uploads" / "measured", ckpt.model, tokenizer=ckpt.tokenizer, meta={
            "metrics": {"bleu": 45.61, "bleu_human": people, "n": 2000, "split": "test"}})
        said = about_model(load(home / "uploads" / "measured"))
        assert f"BLEU 45.6 on 2,000 test sentences{beside}." in said


def test_what_a_checkpoint_says_is_text(make_checkpoint, visit, home):
    ckpt = make_checkpoint()
    save(home / "uploads" / "theirs", ckpt.model, tokenizer=ckpt.tokenizer, meta={
        "corpus": "![x](http://example.org/x.png) :red[a]", "metrics": {"bleu": 1.5, "n": 3, "split": "<b>*t*</b>"}})
    at = visit("translate", checkpoint=describe(home / "uploads" / "theirs").id)
    (said,) = [caption.value for caption in at.caption if "example" in caption.value]
    assert "!\\[x\\]\\(http" in said.replace("\\!", "!") and "\\<b\\>\\*t\\*" in said

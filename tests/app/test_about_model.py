"""What the pages say of a checkpoint, beside what its files hold."""

import pytest

from ui.about_model import about_model


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
    assert any(caption.value == said for caption in visit(name).caption)

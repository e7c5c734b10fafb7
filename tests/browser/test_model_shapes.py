"""The picture of the whole model is drawn at every level for every preset and for a model of every other family."""

import pytest
import torch

import transformer
from tests.huggingface.cases import CASES
from transformer.attention_view.notebook import show
from transformer.attention_view.shared import CHOICES
from transformer.checkpoint import save
from transformer.huggingface.folder import Folder
from transformer.huggingface.importing import plan_of
from transformer.model.models import Transformer
from transformer.presets import PRESETS

pytest.importorskip("transformers")
from tests.huggingface.random_models import random_model

LEVELS = CHOICES["level"]
FAMILIES = {case[1]: case for case in reversed(CASES)}  # the first of each class
SMALL = {"d_model": 24, "d_ff": 20, "vocab_size": 30, "src_vocab_size": None, "max_len": 16, "embedding_dim": None}
IDS = "5 6 7 8 9 6"


def preset_config(name):
    config = PRESETS[name].model
    heads = 4 if config.n_heads % 4 == 0 else config.n_heads
    return config.replace(**SMALL, n_heads=heads, kv_heads=None, head_dim=6, n_classes=config.n_classes and 3)


def family_config(name, folder):
    random_model(*FAMILIES[name][1:]).save_pretrained(folder)
    theirs = Folder(folder)
    return plan_of(theirs.config, theirs.tensors).config


@pytest.mark.parametrize(("name", "of"), [*((name, "preset") for name in PRESETS),
                                          *((name, "family") for name in FAMILIES)])
def test_every_shape_is_drawn_from_the_whole_down_to_a_number(page, tmp_path, complaints, name, of):
    config = preset_config(name) if of == "preset" else family_config(name, tmp_path / "theirs")
    save(tmp_path / "model", Transformer(config, generator=torch.Generator().manual_seed(2)), tokenizer=None)
    ckpt = transformer.load(tmp_path / "model")
    file = tmp_path / "page.html"
    file.write_text(show(ckpt, text=IDS, live=False).page, "utf-8")
    page.emulate_media(reduced_motion="reduce")
    page.goto(file.as_uri())
    view = page.locator(".attention-view")
    view.and_(page.locator("[data-level=whole]")).wait_for()
    page.locator("canvas.model").focus()
    seen = {}
    for key, levels in (("+", LEVELS[1:]), ("-", LEVELS[-2::-1])):
        for level in levels:
            page.keyboard.press(key)
            view.and_(page.locator(f"[data-level={level}]")).wait_for()
            colours = page.locator("canvas.model").evaluate("""(canvas) => new Set(new Uint32Array(
              canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size""")
            assert colours > 10, level  # more than a page without anything
            seen.setdefault(level, page.locator(".model-words").inner_text())
    assert len(set(seen.values())) == len(LEVELS) and "undefined" not in str(seen) and "NaN" not in str(seen)
    drawn = view.evaluate("({ view }) => Object.keys(view.message.arrays).filter((name) => name.startsWith('small/'))")
    assert {*drawn} | {f"small/{kind}" for kind in ckpt.config.kinds if not drawn} >= {
        f"small/{kind}" for kind in ckpt.config.kinds}
    assert [one for one in complaints if not one.startswith("request: file:")] == []

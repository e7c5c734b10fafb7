"""The picture of the whole model is drawn by a browser at every level, of a preset and of another family; that of all
others is accepted as text (tests/attention_view/test_pictures_as_text.py)."""

import pytest

from tests.attention_view.shapes import IDS, shaped
from transformer.attention_view.notebook import show
from transformer.attention_view.shared import CHOICES

LEVELS = CHOICES["level"]


@pytest.mark.parametrize("name", ["paper-base", "Gemma2ForCausalLM"])
def test_a_shape_is_drawn_from_the_whole_down_to_a_number(page, tmp_path, complaints, name):
    ckpt = shaped(name, tmp_path)
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
    assert complaints == []

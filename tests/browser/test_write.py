"""Write, as somebody with a keyboard meets it."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import transformer

from .conftest import reached, shows

PAGE = "write"
WARM = {"temperature": 1.2, "top_k": 8, "seed": 7}


BRIGHTNESS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) sum += data[i] * data[i + 3];
  return sum / 255 / 255 / (data.length / 4);
}"""


def test_lines_typed_go_on_with_the_same_seed_as_in_the_library_and_no_press_is_lost(visit, ckpt):
    page, text = visit(f"/{PAGE}?{urlencode(WARM)}"), "KING HENRY:\nMy lord,\n"
    path = list(transformer.steps(ckpt, text, max_steps=41, **WARM))
    page.get_by_role("textbox", name="How the text begins").fill(text)
    page.keyboard.press("Control+Enter")
    shows(page, path[40])  # a text opens with some of it written
    page.keyboard.press("Home")
    shows(page, path[0])
    page.keyboard.press("ArrowRight")
    shows(page, path[1])
    assert path[20].output != list(transformer.steps(ckpt, text, max_steps=21))[20].output
    for _ in range(19):
        page.keyboard.press("ArrowRight")
    shows(page, path[20])
    for _ in range(13):
        page.keyboard.press("ArrowLeft")
    shows(page, path[7])


@pytest.mark.rare("scrolling of a long text, and the second theme")
def test_of_a_long_text_the_newest_is_in_sight_and_every_weight_is_said_in_light_and_dark(visit, ckpt):
    page = visit("/write?text=ROMEO%3A&step=200&layer=1&head=2&temperature=0")
    seen = """token => {
      const box = token.parentElement.getBoundingClientRect(), own = token.getBoundingClientRect();
      return own.left >= box.left && own.right <= box.right + 1 && own.top >= box.top && own.bottom <= box.bottom + 1;
    }"""
    end = """box => box.scrollHeight > box.clientHeight + 1
      && box.scrollTop + box.clientHeight >= box.scrollHeight - 2"""
    for step in (200, 199):
        reached(page, step=step)
        assert page.locator(".tokens .predicted").evaluate(seen)
        assert page.locator(".step-view .output").evaluate(end)
        page.keyboard.press("ArrowLeft")
    reached(page, step=198)
    *_, step = transformer.steps(ckpt, "ROMEO:", max_steps=199)
    weights = step.attentions["decoder"][1, 2]
    page.locator("canvas.matrix").focus()
    page.keyboard.press("ArrowUp")  # the newest query, the first key
    readout = page.locator(f'.readout[data-query="{len(weights) - 1}"][data-key="0"]')
    expect(readout).to_have_count(1)
    assert float(readout.get_attribute("data-weight")) == pytest.approx(weights[-1, 0].item(), abs=1e-6)
    canvas = page.locator(".step-view canvas").first
    canvas.evaluate("canvas => (window.drawing = canvas)")
    light = canvas.evaluate(BRIGHTNESS)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => ({BRIGHTNESS})(window.drawing) < light / 2", arg=light)

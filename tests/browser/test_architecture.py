"""The drawing of an architecture as Chromium renders it: no letter lies on another, whatever its font measures."""

import pytest

from tests.diagram.configurations import CONFIGS
from transformer.diagram.drawing import architecture

FAULTS = """() => {
  const { x, y, width, height } = document.querySelector("svg").viewBox.baseVal;
  const texts = [...document.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
  const boxes = [...document.querySelectorAll("rect")].filter((rect) => rect.firstChild).map((rect) => rect.getBBox());
  const across = (a, b) => Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  // a line's box is higher than its letters by what stands above capitals and below commas
  const down = (a, b) => Math.min(a.y + 0.82 * a.height, b.y + 0.82 * b.height)
    - Math.max(a.y + 0.2 * a.height, b.y + 0.2 * b.height);
  const found = [];
  for (const [said, a] of texts) {
    if (a.x < x || a.y < y || a.x + a.width > x + width || a.y + a.height > y + height) found.push(`${said} leaves`);
    for (const [other, b] of texts)
      if (a !== b && across(a, b) > 0 && down(a, b) > 0) found.push(`${said} lies on ${other}`);
    const middle = a.y + a.height / 2;
    for (const b of boxes)
      if (b.y < middle && middle < b.y + b.height && across(a, b) > 0.1 && across(a, b) < a.width - 0.1)
        found.push(`${said} crosses an edge`);
  }
  return [texts.length, found];
}"""


@pytest.mark.parametrize("names", [[*CONFIGS][::6], pytest.param([*CONFIGS], marks=pytest.mark.rare(
    "seconds: the letters of every configuration"))], ids=["some", "all"])
def test_no_text_lies_on_another_or_leaves_its_box_as_it_is_rendered(names, page):
    for name in names:
        page.set_content(architecture(CONFIGS[name]).svg)
        texts, faults = page.evaluate(FAULTS)
        assert texts > 10 and faults == [], name

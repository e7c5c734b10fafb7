"""A published file in browsers other than Chromium, opened from a disk."""

from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

import transformer
from transformer.publishing.page import publish

pytestmark = pytest.mark.rare("other browsers: what breaks in one and not in Chromium seldom does")
TEXT = "I am cold."
STEP = "one('.controls > output').textContent"


@pytest.fixture(scope="module")
def file(shipped, tmp_path_factory) -> Path:
    return publish([shipped("translate"), shipped("classify")], tmp_path_factory.mktemp("published") / "heads-up.html")


def test_a_file_opens_steps_branches_is_linked_to_and_reads_what_is_typed_with_another_model_too(tab, file, shipped):
    path = list(transformer.steps(shipped("translate"), TEXT))
    tab.go(f"{file.as_uri()}#{urlencode({'text': TEXT, 'kind': 'cross', 'layer': 1, 'head': 3})}")
    tab.until(f"{STEP} === 'step {len(path) - 1} of {len(path) - 1}'")
    tab.press("Home", "ArrowRight", "ArrowRight")
    tab.until(f"{STEP}.startsWith('step 2')")
    tab.until("JSON.stringify(one('.attention-view').view.message.shapes.weights) === '[3,5]'")
    weights = tab.look("[...one('.attention-view').view.message.arrays.weights]")
    np.testing.assert_allclose(np.reshape(weights, (3, 5)), path[2].attentions["cross"][1, 3], atol=1e-4)
    tab.press("2")
    tab.until("one('.branches button:enabled') !== undefined")
    other = path[2].top(2)[1].id
    tab.until(f"new URLSearchParams(location.hash.slice(1)).get('choices') === '2:{other}'")
    tab.until("document.querySelector('canvas').getContext('2d') !== null")
    tab.go(f"{file.as_uri()}?{urlencode({'checkpoint': 'translate', 'text': 'Go on.'})}")
    tab.until("one('.asked .text').value === 'Go on.' && one('[data-drawn]') !== undefined")
    tab.click(".asked .text")
    tab.press("a", held="Control")
    tab.press(*TEXT, "Enter")
    tab.until(f"new URLSearchParams(location.hash.slice(1)).get('text') === '{TEXT}'")
    tab.click("[role=radio]", "Classify")
    tab.until("all('.next-tokens bdi').length === 10")
    assert not getattr(tab, "errors", [])
    assert all(url.startswith(("file:", "blob:", "about:", "data:")) for url in getattr(tab, "asked", []))

"""What is taken away from a page that steps: one file that steps without a server."""

import numpy as np
from playwright.sync_api import expect

import transformer
from tests.labels import labels_of
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.offline_page import page as offline_page

from .conftest import at_step, bars

TEXT = "I like red wine."


def test_a_file_steps_without_a_server_as_the_library_did_and_shows_every_head(alone, shipped, tmp_path):
    path = list(transformer.steps(shipped("translate"), TEXT))
    last = len(path) - 1
    (file := tmp_path / "steps.html").write_text(offline_page(path[-1], Selection("cross", 1, 3)), "utf-8")
    offline = at_step(alone(file), last, last)
    offline.keyboard.press("Home")
    for step in path:
        at_step(offline, step.index, last)
        assert offline.locator(".output .written").text_content() == step.output
        weights = offline.locator(".attention-view").evaluate(
            "root => [...root.view.message.made.values()].map((one) => one.weights && [...one.weights]).find(Boolean)")
        assert np.allclose(np.reshape(weights, (len(step.tokens), -1)), step.attentions["cross"][1, 3], atol=2e-4)
        assert bars(offline)[0][0] == labels_of(step)[-1]
        offline.keyboard.press("ArrowRight" if step.index % 2 else "PageDown")  # as a presenter's remote does
    at_step(offline, last, last)
    offline.get_by_role("radio", name="Decoder").click()
    offline.get_by_label("Head", exact=True).select_option("2")
    expect(offline.locator(".attention-view h2")).to_contain_text("Decoder attention, layer 1, head 2")
    offline.get_by_role("radio", name="Lines").click()
    offline.keyboard.press("ArrowLeft")
    at_step(offline, last - 1, last)
    for key, index in (("Home", 0), ("3", 0), ("1", 1)):  # another token leads nowhere
        offline.keyboard.press(key)
        at_step(offline, index, last)

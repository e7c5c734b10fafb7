"""What is taken away from a page that steps: one file that steps without a server."""

import numpy as np
import pytest
from playwright.sync_api import expect

import transformer
from transformer.attention_view.message import Selection
from transformer.attention_view.offline_page import page as offline_page

TEXT = "I like red wine."


@pytest.fixture(scope="session")
def path(shipped):
    return list(transformer.steps(shipped("translate"), TEXT))


@pytest.fixture
def offline(page, context, path, tmp_path):
    """The file of a decoding, opened where there is no network."""
    file = tmp_path / "steps.html"
    file.write_text(offline_page(path[-1], Selection("cross", 1, 3)), "utf-8")
    requests = []
    page.on("request", lambda request: requests.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(file.as_uri())
    page.locator(".controls > output").wait_for()
    yield page
    assert requests == []


def test_a_file_steps_without_a_server_as_the_library_did_and_shows_every_head(offline, path, chips, bars):
    expect(offline.locator(".controls > output")).to_have_text(f"step {len(path) - 1} of {len(path) - 1}")
    offline.keyboard.press("Home")
    for step in path:
        expect(offline.locator(".controls > output")).to_have_text(f"step {step.index} of {len(path) - 1}")
        assert offline.locator(".output .written").text_content() == step.output
        weights = offline.locator(".attention-view").evaluate(
            "root => [...root.view.message.made.values()].map((one) => one.weights && [...one.weights]).find(Boolean)")
        assert np.allclose(np.reshape(weights, (len(step.tokens), -1)), step.attentions["cross"][1, 3], atol=2e-4)
        assert bars(offline)[0][0].replace("␣", "▁") == step.top(1)[0].piece
        offline.keyboard.press("ArrowRight" if step.index % 2 else "PageDown")  # as a presenter's remote does
    assert offline.locator(".controls > output").text_content() == f"step {len(path) - 1} of {len(path) - 1}"
    offline.get_by_role("radio", name="Decoder").click()
    offline.get_by_label("Head", exact=True).select_option("2")
    expect(offline.locator(".attention-view h2")).to_contain_text("Decoder attention, layer 1 · head 2")
    offline.get_by_role("radio", name="Lines").click()
    offline.keyboard.press("ArrowLeft")
    expect(offline.locator(".controls > output")).to_have_text(f"step {len(path) - 2} of {len(path) - 1}")
    for key, index in (("Home", 0), ("3", 0), ("1", 1)):  # another token leads nowhere
        offline.keyboard.press(key)
        expect(offline.locator(".controls > output")).to_have_text(f"step {index} of {len(path) - 1}")

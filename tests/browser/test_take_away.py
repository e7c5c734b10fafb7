"""What is taken away from a page that steps: a film, and one file that steps without a server."""

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import transformer
from transformer.attention_view.html import page as offline_page
from transformer.attention_view.message import Look

TEXT = "I like red wine."


@pytest.fixture(scope="session")
def path(shipped):
    return list(transformer.steps(shipped("translate"), TEXT))


@pytest.fixture
def offline(page, context, path, tmp_path):
    """The file of a decoding, opened where there is no network."""
    file = tmp_path / "steps.html"
    file.write_text(offline_page(path[-1], Look("cross", 1, 3)), "utf-8")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(file.as_uri())
    page.locator(".controls > output").wait_for()
    yield page
    assert asked == []


def test_a_film_has_a_frame_for_every_step(visit, settle, path):
    page = visit(f"/translate?text={TEXT.replace(' ', '+')}&kind=cross&layer=1&head=3")
    page.get_by_role("button", name="Options").click()
    save = page.get_by_label("Save")
    expect(save.locator("option", has_text="film, GIF")).to_have_count(1)
    for _ in range(2):  # of the same view, once more
        with page.expect_download() as download:
            save.select_option("gif")
    film = Image.open(io.BytesIO(download.value.path().read_bytes()))
    assert film.n_frames == len(path)
    frames = []
    for at in (0, film.n_frames - 1):
        film.seek(at)
        frames.append(np.asarray(film.convert("L"), np.int16))
    assert (np.abs(frames[0] - frames[1]) > 40).mean() > 0.02
    assert settle(page).locator(".controls > output").text_content() == f"step {len(path) - 1} of {len(path) - 1}"


def test_a_file_steps_without_a_server_as_the_library_did(offline, path, chips, bars):
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


def test_a_file_shows_every_head_of_every_kind(offline, path):
    offline.get_by_role("radio", name="Decoder").click()
    offline.get_by_label("Head", exact=True).select_option("2")
    expect(offline.locator(".attention-view h2")).to_contain_text("Decoder attention, layer 1 · head 2")
    offline.get_by_role("radio", name="Lines").click()
    offline.keyboard.press("ArrowLeft")
    expect(offline.locator(".controls > output")).to_have_text(f"step {len(path) - 2} of {len(path) - 1}")


def test_another_token_leads_nowhere_in_a_file(offline, path):
    offline.keyboard.press("Home")
    offline.keyboard.press("3")
    expect(offline.locator(".controls > output")).to_have_text(f"step 0 of {len(path) - 1}")
    offline.keyboard.press("1")
    expect(offline.locator(".controls > output")).to_have_text(f"step 1 of {len(path) - 1}")


def test_forty_steps_of_translate_are_less_than_a_megabyte(shipped):
    text = ("The old man who lives next door gave my little brother a beautiful red bicycle for his birthday, and now "
            "he rides it to school every morning with his friends from the village.")
    *_, step = transformer.steps(shipped("translate"), text, max_steps=40)
    assert step.index == 39
    assert len(offline_page(step, Look("cross", 1, 3)).encode()) < 1_000_000

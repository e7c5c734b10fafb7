"""Write, as somebody with a keyboard meets it."""

from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import expect

import transformer
from transformer.checkpoint import Checkpoint
from ui.figures import plain_label

PAGE, TEXT = "write", "ROMEO:\nO, she doth teach"
WARM = {"temperature": 1.2, "top_k": 8, "seed": 7}


@pytest.fixture(scope="session")
def ckpt(shipped) -> Checkpoint:
    return shipped(PAGE)


@pytest.fixture
def open_write(visit):
    """Opens the page at the first step, or at the one given."""
    return lambda **params: visit(f"/{PAGE}?{urlencode({'text': TEXT, 'step': 0} | params)}")


@pytest.fixture
def shows(chips, reached):
    """Waits for a step of the library: its characters and the text so far."""

    def shows(page, step):
        reached(page, text=step.text, step=step.index)
        expect(page.locator(".controls > output")).to_have_text(f"step {step.index}")  # of how many, nobody knows
        written = [plain_label(step.label(id), longest=None) for id in (*step.tokens, step.id)]
        assert chips(page, "tokens")[: len(written)] == written
        assert page.locator(".stage .output .written").text_content() == step.text + step.output

    return shows


def box(page):
    return page.get_by_role("textbox", name="How the text begins")


def test_lines_typed_go_on_with_the_same_seed_as_in_the_library(visit, ckpt, shows, reached):
    page, text = visit(f"/{PAGE}?{urlencode(WARM)}"), "KING HENRY:\nMy lord,\n"
    path = list(transformer.steps(ckpt, text, max_steps=41, **WARM))
    box(page).fill(text)
    box(page).press("Control+Enter")
    shows(page, path[40])  # a text opens with some of it written
    page.keyboard.press("Home")
    shows(page, path[0])
    for step in path[1:4]:
        page.keyboard.press("ArrowRight")
        shows(page, step)
    assert path[20].output != list(transformer.steps(ckpt, text, max_steps=21))[20].output
    for _ in range(17):
        page.keyboard.press("ArrowRight")
    shows(page, path[20])


def test_of_twenty_presses_at_once_none_is_lost(open_write, ckpt, shows):
    page, path = open_write(temperature=0), list(transformer.steps(ckpt, TEXT, max_steps=21))
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    shows(page, path[20])
    for _ in range(13):
        page.keyboard.press("ArrowLeft")
    shows(page, path[7])


def test_a_link_at_a_temperature_brings_back_the_picture_and_its_branch(open_write, visit_anew, reached, picture, ckpt,
                                                                        click_bar):
    page = open_write(step=6, layer=1, head=2, **WARM)
    drawn = list(transformer.steps(ckpt, TEXT, max_steps=7, **WARM))[6]
    click_bar(page, 3 if drawn.id != drawn.top(4)[3].id else 2)
    reached(page, step=7)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    before = picture(reached(page, step=10))
    again = visit_anew(page.url)
    assert picture(again) == before
    assert "choices=6%3A" in page.url
    table = np.array(before["table"])
    assert table.shape == (len(TEXT) + 10,) * 2
    assert np.allclose(table.sum(axis=1), 1, atol=1e-5)


def test_keys_in_the_text_box_type(open_write, reached):
    page = open_write(step=2)
    box(page).click()
    for key in ("Control+End", "ArrowLeft", "2", "Enter", "p", "Home", "ArrowRight"):
        page.keyboard.press(key)
    expect(box(page)).to_have_value(TEXT[:-1] + "2\np" + TEXT[-1])
    box(page).press("Control+Enter")
    reached(page, text=TEXT[:-1] + "2\np" + TEXT[-1], step=40)


def test_an_example_clicked_is_gone_on_with(open_write, ckpt, shows):
    page = open_write(text="Nay", temperature=0)
    page.get_by_role("radio", name="To be, or not to be").click()
    shows(page, list(transformer.steps(ckpt, "To be, or not to be", max_steps=41))[40])
    expect(box(page)).to_have_value("To be, or not to be")


def test_hostile_text_is_shown_as_it_is(open_write, complaints, ckpt, reached, settle, chips):
    page, text = open_write(temperature=0), "<img src=x onerror=alert(1)>\n$x$ :red[hi] ![](http://x) 👩‍👩‍👧 שלום"
    box(page).fill(text)
    box(page).press("Control+Enter")
    page.wait_for_url("**onerror**")
    settle(page).keyboard.press("Home")
    start = transformer.start(ckpt, text)
    reached(page, text=text, step=0)
    expect(page.locator(".stage .output .written")).to_have_text(text + start.output, use_inner_text=True)
    assert chips(page, "tokens")[: len(start.source)] == [
        plain_label(piece.text, longest=None).strip("\u2068\u2069") for piece in start.source]
    assert page.locator("img[src=x], img[src^='http://x']").count() == 0
    assert complaints == []


def test_a_text_too_long_is_one_sentence_and_nothing_is_a_beginning(open_write, complaints, ckpt, shows):
    page = open_write(temperature=0)
    box(page).fill("to be or n" * 1_000)
    box(page).press("Control+Enter")
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_have_text("the text is 10,000 tokens long and this model reads at most 256; shorten it")
    expect(page.locator(".stage")).to_have_count(0)
    box(page).fill("")
    box(page).press("Control+Enter")
    path = list(transformer.steps(ckpt, "", max_steps=42))
    shows(page, path[40])
    expect(alert).to_have_count(0)
    page.keyboard.press("ArrowRight")
    shows(page, path[41])
    assert complaints == []


def test_long_output_keeps_the_newest_token_and_the_end_of_the_text_in_sight(visit, reached):
    page = visit("/write?text=ROMEO%3A&step=200")
    seen = """token => {
      const box = token.parentElement.getBoundingClientRect(), own = token.getBoundingClientRect();
      return own.left >= box.left && own.right <= box.right + 1 && own.top >= box.top && own.bottom <= box.bottom + 1;
    }"""
    end = """box => box.scrollHeight > box.clientHeight + 1
      && box.scrollTop + box.clientHeight >= box.scrollHeight - 2"""
    for step in (200, 199):
        reached(page, step=step)
        assert page.locator(".tokens .predicted").evaluate(seen)
        assert page.locator(".stage .output").evaluate(end)
        page.keyboard.press("ArrowLeft")


BRIGHTNESS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) sum += data[i] * data[i + 3];
  return sum / 255 / 255 / (data.length / 4);
}"""


def test_the_picture_follows_when_light_turns_to_dark(open_write, reached):
    page = open_write()
    reached(page, text=TEXT, step=0)
    matrix = page.locator(".stage canvas").first
    light = matrix.evaluate(BRIGHTNESS)
    page.emulate_media(color_scheme="dark")
    for _ in range(60):
        if matrix.evaluate(BRIGHTNESS) < light / 2:
            return
        page.wait_for_timeout(250)
    pytest.fail(f"drawn as bright as before: {matrix.evaluate(BRIGHTNESS):.2f}, {light:.2f}")


@pytest.mark.parametrize("stop", ["button", "ArrowLeft", "ArrowRight"])
def test_on_a_long_way_every_press_stops_at_what_is_seen(open_write, reached, stop):
    page = open_write(text="KING ", step=3)
    reached(page, step=3)
    page.locator(".stage").evaluate("""(root) => {
      const { stage } = root;
      Object.assign(stage.controls, { sent: stage.controls.sent + 1, target: 1e6 });
      stage.data.steps = { ...stage.data.steps, last: null, going: true }; // as Python says it between two portions
      stage.send.move = (move) => (root.moved = move);
      root.redraw();
    }""")
    last = page.locator(".controls [data-action=last]")
    expect(last).to_have_attribute("title", "Stop here (left arrow)")
    expect(page.locator(".controls > output")).to_have_text("step 3 …")
    if stop == "button":
        last.click()
    else:
        page.keyboard.press(stop)
    assert page.locator(".stage").evaluate("(root) => root.moved.index") == 3
    expect(page.locator(".controls > output")).to_have_text("step 3")

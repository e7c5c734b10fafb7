"""Translate, as somebody with a keyboard and a mouse meets it."""

import io
from urllib.parse import quote_plus, urlencode

import numpy as np
import orjson
import pytest
from playwright.sync_api import expect

import transformer
from tests.labels import labels
from transformer.inference.decoding import Step
from transformer.settings.config import KINDS
from ui.figures import head_label, plain_label
from ui.page.plain_text import end_of

from .conftest import at_step, bars, chips, choose, numbers, on_tile, picture, reached, saved, settle, shows, wait_until

PAGE, TEXT = "translate", "She is not as tall as her brother."


@pytest.fixture(scope="module")
def path(ckpt) -> list[Step]:
    """What the library does with TEXT."""
    return list(transformer.steps(ckpt, TEXT))


@pytest.fixture
def open_translate(visit):
    """Opens the page at the first step, or at the one given."""
    return lambda **params: visit(f"/{PAGE}?{urlencode({'text': TEXT, 'step': 0} | params)}")


def box(page):
    return page.get_by_label("A sentence in English")


def write(page, text):
    box(page).fill(text)
    box(page).press("Enter")


def click_head(page, layer, head):
    """On the small picture of that head."""
    view = page.locator(".attention-view")
    view.locator("canvas.grid").click(position=on_tile(view, layer, head))


def control(page, action):
    return page.locator(f'[data-action="{action}"]')


def test_a_sentence_typed_is_stepped_by_keys_and_buttons_as_the_library_does(visit, ckpt, path):
    page, last = visit(f"/{PAGE}"), len(path) - 1
    write(page, TEXT)
    shows(page, path[last])  # a text opens finished
    height = page.locator(".controls").bounding_box()["height"]
    page.keyboard.press("Home")
    shows(page, path[0])
    source = labels((piece.text for piece in path[0].source), path[0].ckpt.source_tokenizer)
    assert chips(page, "source tokens") == [*source, ckpt.tokenizer.piece(ckpt.config.eos_id)]
    for step in path[1:]:
        page.keyboard.press("ArrowRight")
        shows(page, step)
    page.keyboard.press("ArrowRight")  # there is no further
    shows(page, path[last])
    at_step(page, last, last)
    assert page.locator(".controls").bounding_box()["height"] == height  # however many digits
    for name, index in (("back", last - 1), ("first", 0), ("step", 1), ("last", last)):
        control(page, name).click()
        shows(page, path[index])


def test_presses_are_merged_and_never_lost(open_translate, ckpt, path, complaints):
    page, index = open_translate(step=4), 4
    for way in "<>><<>><><<>>><<<>><><>><<><>><>":
        page.keyboard.press({"<": "ArrowLeft", ">": "ArrowRight"}[way])
        index += {"<": -1, ">": 1}[way]
        at_step(page, index)
    shows(page, path[index])
    page.keyboard.press("Home")
    step = transformer.next_step(ckpt, path[2], path[2].top(2)[1].id)
    step = transformer.next_step(ckpt, step, step.top(3)[2].id)
    for key in ("ArrowRight", "ArrowRight", "2", "3", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    shows(page, transformer.next_step(ckpt, step))
    other = list(transformer.steps(ckpt, "Do you know where he lives?"))
    write(page, other[0].text)
    for _ in range(3):
        page.keyboard.press("ArrowLeft")  # of the sentence that is on its way
    shows(page, other[-4])
    assert complaints == []


def test_keys_are_the_boxs_while_one_types_and_step_after_a_click_elsewhere(open_translate, path, ckpt):
    page = open_translate(step=3)
    box(page).click()
    for key in ("End", "ArrowLeft", "Home", "ArrowRight", "2", "p", "ArrowLeft", "0"):
        page.keyboard.press(key)
    expect(box(page)).to_have_value(TEXT[0] + "20p" + TEXT[1:])
    assert box(page).evaluate("box => box.selectionStart") == 3
    box(page).fill(TEXT)
    box(page).press("Enter")
    shows(page, path[3])
    example = list(transformer.steps(ckpt, "I am cold."))
    box(page).focus()  # which offers the examples
    page.get_by_role("radio", name=example[0].text).click()
    shows(page, example[-1])
    expect(box(page)).to_have_value(example[0].text)
    last = len(example) - 1
    page.keyboard.press("ArrowLeft")
    reached(page, step=last - 1)
    click_head(page, 1, 2)
    reached(page, layer=1, head=2)
    page.keyboard.press("ArrowLeft")
    reached(page, step=last - 2)
    page.get_by_role("radio", name="Encoder").click()
    reached(page, kind="encoder")
    page.keyboard.press("ArrowLeft")
    reached(page, step=last - 3)
    page.get_by_role("radio", name="All numbers").click()
    page.locator("td[data-kind]").first.wait_for()
    page.keyboard.press("ArrowRight")
    reached(page, step=last - 2, head=2, layer=1)
    expect(page.locator("td[data-kind]").first).to_be_attached()  # an arrow has chosen no other


def test_a_bar_clicked_makes_a_branch_that_one_goes_back_from_and_a_link_brings_back(
        open_translate, visit_anew, ckpt, path):
    page = open_translate(step=0, kind="decoder", layer=1, head=2)
    candidate = path[0].top(10)[3]
    assert bars(page)[3][0] == plain_label(candidate.piece)
    page.locator('.step-view [data-nth="3"]').click()
    step = transformer.next_step(ckpt, path[0], candidate.id)
    shows(page, step)
    for _ in range(2):
        step = transformer.next_step(ckpt, step)
        page.keyboard.press("ArrowRight")
        shows(page, step)
    ways = [list(transformer.steps(ckpt, TEXT, forced=forced))[-1] for forced in ({0: candidate.id}, {})]
    expect(page.get_by_text("Branches · 2")).to_be_visible()
    expect(page.get_by_role("button", name="● ")).to_have_text(f"● {end_of(ways[0].output)}")
    before = picture(page)
    assert before["head"] == ("decoder", 1, 2)
    again = visit_anew(page.url)
    assert picture(again) == before
    again.reload()
    assert picture(reached(again, step=step.index)) == before
    page.get_by_role("button", name="○ ").click()
    shows(page, path[3])
    expect(page.get_by_role("button", name="○ ")).to_have_text(f"○ {end_of(ways[0].output)}")
    expect(page.get_by_role("button", name="● ")).to_have_text(f"● {end_of(ways[1].output)}")
    page.get_by_role("button", name="○ ").click()
    shows(page, step)
    page.get_by_role("button", name="all others").click()  # digits choose what is listed
    for digit in "240":
        step = transformer.next_step(ckpt, step, step.top(10)[int(digit) - 1].id)
        page.keyboard.press(digit)
        shows(page, step)


def test_the_head_clicked_is_the_large_one_with_the_numbers_of_the_library(open_translate, path):
    page, step = open_translate(step=4), path[4]
    for kind, layer, head in zip(KINDS, (2, 0, 1), (3, 2, 1), strict=True):
        page.get_by_role("radio", name=kind.capitalize()).click()
        reached(page, kind=kind)
        click_head(page, layer, head)
        which, table = numbers(reached(page, layer=layer, head=head, step=4))
        expect(page.locator(".attention-view .main h2").first).to_contain_text(head_label(layer, head))
        expected = step.attentions[kind][layer, head].numpy()
        assert which == (kind, layer, head)
        assert table.shape == expected.shape
        assert np.abs(table - expected).max() <= 1e-6
    page.get_by_test_id("stPopover").get_by_role("button", name="Model").click()
    page.get_by_role("slider", name="Temperature").press("End")
    reached(page, temperature=2, step=4)


@pytest.mark.rare("tests/browser/test_plain_http.py has it without a clipboard")
def test_a_link_is_copied_and_where_that_fails_to_be_copied_by_hand(open_translate):
    page = open_translate(step=3)
    copy = page.get_by_role("button", name="Copy link")
    copy.evaluate("""button => {
      window.said = [];
      const heard = new MutationObserver(() => said.push(button.innerText.trim()));
      heard.observe(button, { childList: true, characterData: true, subtree: true });
    }""")
    copy.click()
    page.wait_for_function("said.length === 2")
    assert page.evaluate("said") == ["Copied", "Copy link"]
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.evaluate("""() => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      document.execCommand = () => false;
    }""")
    copy.click()
    field = page.get_by_label("To copy by hand")
    expect(field).to_have_value(page.url)
    expect(field).to_be_focused()
    assert field.evaluate("field => field.selectionEnd - field.selectionStart") == len(page.url)
    field.blur()
    expect(field).to_have_count(0)


def test_a_file_is_of_the_step_on_the_screen_and_a_box_opens_and_closes_below_it(page, open_translate, path):
    """Closed, what is below the picture is not drawn again with a step."""
    open_translate()
    page.keyboard.press("ArrowRight")
    shows(page, path[1])
    with np.load(io.BytesIO(saved(page, page.get_by_role("button", name="Save the numbers").click)[1])) as numbers:
        assert orjson.loads(str(numbers["about"]))["output"] == path[1].output
        assert numbers["decoder_weights"].shape[-1] == 2
    for name, there in (("Positions", page.get_by_label("to draw")), ("All numbers", page.locator("table").last)):
        page.get_by_role("radio", name=name).click()
        expect(there).to_be_visible()
    page.get_by_role("radio", name="All numbers").click()  # once more closes it
    expect(page.locator("table")).to_have_count(0)
    expect(page.get_by_role("button", name="Save the numbers")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    shows(page, path[2])


@pytest.mark.own_visitor  # whose browser has no scripts yet
def test_a_script_that_does_not_arrive_is_asked_for_again(page, visit):
    asked = []

    def lost_at_first(route):
        asked.append(route.request.url)
        route.abort() if len(asked) < 3 else route.continue_()

    page.route("**/scripts/step_view-*", lost_at_first)
    visit("/translate")
    expect(page.locator(".attention-view canvas.grid")).to_be_visible()
    assert len(asked) == len(set(asked)) == 3, asked  # a browser may keep the failure of an address


@pytest.mark.own_visitor  # whose browser has no scripts yet
def test_the_browsers_back_button_goes_back(page, visit, path):
    late = []  # the step view's script, on a busy machine
    page.route("**/scripts/step_view-*", lambda route: late.append(route))
    visit("/masks")
    choose(page, "translate")
    page.wait_for_url("**/translate?*step=*")
    write(page, TEXT)
    page.wait_for_url(f"**/translate?*{quote_plus(TEXT)}*")
    wait_until(page, lambda: late)  # the page may not have asked for it yet
    late.pop().continue_()
    shows(page, path[-1])
    for step in path[-2:-4:-1]:
        page.keyboard.press("ArrowLeft")
        shows(page, step)
    page.go_back()
    shows(page, path[-2])
    page.go_back()
    shows(page, path[-1])
    page.go_forward()
    shows(page, path[-2])
    page.keyboard.press("ArrowLeft")
    shows(page, path[-3])


@pytest.mark.own_visitor
@pytest.mark.parametrize(("leave", "heading"), [
    (lambda page: page.evaluate("history.back()"), "Masks"),
    pytest.param(lambda page: choose(page, "masks"), "Masks", marks=pytest.mark.rare("the same by a link")),
    pytest.param(lambda page: choose(page, "home"), "See where a transformer looks",
                 marks=pytest.mark.rare("the same by a link"))], ids=["back", "menu", "mark"])
def test_a_page_that_was_left_says_no_more(visit, page, leave, heading):
    """It is still to be seen until Python answers, and Streamlit would send what it says as said there, and go back."""
    held = None

    def between(socket):
        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(lambda message: socket.send(message) if held is None else held.append((socket, message)))

    page.route_web_socket("**/_stcore/stream", between)
    visit("/masks?view=Overview")
    choose(page, "positions")
    page.wait_for_url("**/positions?*")
    settle(page)
    held = []
    leave(page)
    page.emulate_media(color_scheme="dark")  # which is told to Python
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    page.wait_for_timeout(1000)  # within which it is, and answered
    for socket, message in held:
        socket.send(message)
    held = None
    page.wait_for_url(lambda url: "/positions" not in url)
    settle(page)
    assert "/positions" not in page.url
    expect(page.locator("h1")).to_have_text(heading)

"""Translate, as somebody with a keyboard and a mouse meets it."""

import re
from urllib.parse import quote_plus, urlencode

import numpy as np
import pytest
from playwright.sync_api import expect

import transformer
from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Sampling, Step
from ui.figures import head_label, plain_label
from ui.say import end_of

PAGE, TEXT = "translate", "She is not as tall as her brother."
HOSTILE = ["<img src=x onerror=alert(1)>", "$x$ :red[hi] ![](http://x)", "👩‍👩‍👧 🇫🇷", "שלום עולם"]
KINDS = ["encoder", "decoder", "cross"]


@pytest.fixture(scope="session")
def ckpt(shipped) -> Checkpoint:
    return shipped(PAGE)


@pytest.fixture(scope="session")
def path(ckpt) -> list[Step]:
    """What the library does with TEXT."""
    return list(transformer.steps(ckpt, TEXT))


@pytest.fixture
def open_translate(visit):
    """Opens the page at the first step, or at the one given."""
    return lambda **params: visit(f"/{PAGE}?{urlencode({'text': TEXT, 'step': 0} | params)}")


@pytest.fixture
def shows(chips, reached):
    """Waits for a step of the library: its place, its tokens and the text so far."""

    def shows(page, step: Step):
        reached(page, text=step.text, step=step.index)
        expect(page.locator(".controls > output")).to_have_text(re.compile(rf"^step {step.index}( of \d+)?$"))
        tokens = [plain_label(step.label(id), longest=None) for id in (*step.tokens, step.id)]
        assert chips(page, "target tokens")[: len(tokens)] == tokens
        assert page.locator(".stage .output .written").text_content() == step.output

    return shows


def box(page):
    return page.get_by_label("A sentence in English")


def write(page, text):
    box(page).fill(text)
    box(page).press("Enter")


def click_head(page, layer, head):
    """On the small picture of that head."""
    grid = page.locator(".attention-view canvas.grid")
    tiles = page.locator(".attention-view").evaluate("root => root.view.tiles")
    x = tiles["left"] + (head + 0.5) * (tiles["width"] + tiles["gap"])
    grid.click(position={"x": x, "y": tiles["top"] + (layer + 0.5) * (tiles["height"] + tiles["gap"])})


def control(page, action):
    return page.locator(f'[data-action="{action}"]')


# stepping


def test_a_sentence_typed_is_stepped_with_the_arrow_keys_as_the_library_does(visit, ckpt, path, shows, chips):
    page = visit(f"/{PAGE}")
    write(page, TEXT)
    shows(page, path[-1])  # a text opens finished
    page.keyboard.press("Home")
    shows(page, path[0])
    source = [plain_label(piece.text, longest=None) for piece in path[0].source]
    assert chips(page, "source tokens") == [*source, ckpt.tokenizer.piece(ckpt.config.eos_id)]
    for step in path[1:]:
        page.keyboard.press("ArrowRight")
        shows(page, step)
    expect(page.locator(".controls > output")).to_have_text(f"step {len(path) - 1} of {len(path) - 1}")
    page.keyboard.press("ArrowRight")  # there is no further
    shows(page, path[-1])


def test_arrow_keys_right_after_enter_step_the_new_sentence(open_translate, ckpt, shows):
    page, other = open_translate(step=5), list(transformer.steps(ckpt, "Do you know where he lives?"))
    write(page, other[0].text)
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    shows(page, other[-4])


@pytest.mark.parametrize("press", ["button", "p"])
def test_at_the_end_it_plays_from_the_start(open_translate, path, shows, press):
    page = open_translate(step=len(path) - 1)
    page.get_by_label("Steps a second").fill("8")
    again = page.get_by_role("button", name="Replay from the start")
    expect(again).to_have_attribute("data-does", "again")
    expect(again).to_have_attribute("data-action", "step")
    seen = page.locator(".controls > output").evaluate("""shown => {
      window.steps = [];
      const look = () => window.steps.push(shown.textContent);
      new MutationObserver(look).observe(shown, { childList: true, characterData: true, subtree: true });
    }""")
    assert seen is None
    if press == "p":
        page.locator(".controls > output").click()
        page.keyboard.press("p")
    else:
        again.click()
    expect(control(page, "step")).to_have_attribute("data-does", "step")
    expect(control(page, "play")).to_have_attribute("aria-pressed", "true")
    expect(control(page, "play")).to_have_attribute("aria-pressed", "false")
    shows(page, path[-1])
    expect(control(page, "step")).to_have_attribute("data-does", "again")
    steps = [int(text.split()[1]) for text in page.evaluate("window.steps")]
    assert list(dict.fromkeys(steps[steps.index(0):])) == list(range(len(path)))


def test_keys_back_and_forth_leave_the_page_and_its_link_together(open_translate, path, shows, complaints):
    page, index = open_translate(step=4), 4
    for way in "<>><<>><><<>>><<<>><><>><<><>><>":
        page.keyboard.press({"<": "ArrowLeft", ">": "ArrowRight"}[way])
        index += {"<": -1, ">": 1}[way]
        expect(page.locator(".controls > output")).to_have_text(re.compile(rf"^step {index}( of \d+)?$"))
    shows(page, path[index])
    assert complaints == []


def test_the_steps_are_counted_on_one_line_to_the_last(open_translate, path):
    page = open_translate()
    shown = page.locator(".controls > output")
    before = page.locator(".controls").bounding_box()["height"]
    expect(shown).to_have_text(f"step 0 of {len(path) - 1}")
    page.keyboard.press("End")
    expect(shown).to_have_text(f"step {len(path) - 1} of {len(path) - 1}")
    assert page.locator(".controls").bounding_box()["height"] == before


def test_keys_and_buttons_do_the_same(open_translate, path, shows):
    page, last = open_translate(), len(path) - 1
    page.get_by_label("Steps a second").fill("8")
    page.locator(".controls > output").click()
    names = {"Home": "first", "ArrowLeft": "back", "ArrowRight": "step", "End": "last", "p": "play"}
    for press in (page.keyboard.press, lambda key: control(page, names[key]).click()):
        for key, index in (("End", last), ("ArrowLeft", last - 1), ("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0)):
            press(key)
            shows(page, path[index])
        press("p")
        expect(control(page, "play")).to_have_attribute("aria-pressed", "true")
        shows(page, path[-1])
        expect(control(page, "play")).to_have_attribute("aria-pressed", "false")
        press("Home")
        shows(page, path[0])


@pytest.mark.parametrize("pause", ["p", "button"])
def test_play_pauses_and_goes_on(open_translate, settle, shows, path, pause):
    page = open_translate()
    speed = page.get_by_label("Steps a second")
    speed.fill(speed.get_attribute("min"))  # so that it has not come to the end before it is paused
    press = control(page, "play").click if pause == "button" else lambda: page.keyboard.press("p")
    page.locator(".controls > output").click()
    press()
    expect(page.locator(".controls > output")).not_to_have_text(re.compile("^step 0"))
    press()
    expect(control(page, "play")).to_have_attribute("aria-pressed", "false")
    at = int(page.locator(".controls > output").text_content().split()[1])
    assert at < len(path) - 1
    speed.fill("8")
    shows(settle(page), path[at])  # which takes longer than a step at this speed
    page.locator(".controls > output").click()
    press()
    shows(page, path[-1])


def test_keys_in_the_text_box_move_the_caret_and_type(open_translate, path, shows):
    page = open_translate(step=3)
    box(page).click()
    for key in ("End", "ArrowLeft", "Home", "ArrowRight", "2", "p", "ArrowLeft", "0"):
        page.keyboard.press(key)
    expect(box(page)).to_have_value(TEXT[0] + "20p" + TEXT[1:])
    assert box(page).evaluate("box => box.selectionStart") == 3
    box(page).fill(TEXT)
    box(page).press("Enter")
    shows(page, path[3])


def test_arrow_keys_step_after_a_click_on_an_example_a_head_and_a_pill(open_translate, reached, ckpt):
    page, last = open_translate(), len(list(transformer.steps(ckpt, "I am cold."))) - 1
    page.get_by_role("radio", name="I am cold.").click()
    reached(page, text="I am cold.", step=last)
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


# candidates and branches


def test_digits_say_the_nth_candidate(open_translate, ckpt, path, shows):
    page, step = open_translate(), path[0]
    for digit in "2140":
        step = transformer.next_step(ckpt, step, step.top(10)[int(digit) - 1].id)
        page.keyboard.press(digit)
        shows(page, step)


def test_digits_and_arrows_pressed_at_once_count_in_their_order(open_translate, ckpt, path, shows):
    page = open_translate()
    step = transformer.next_step(ckpt, path[2], path[2].top(2)[1].id)
    step = transformer.next_step(ckpt, step, step.top(3)[2].id)
    for key in ("ArrowRight", "ArrowRight", "2", "3", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    shows(page, transformer.next_step(ckpt, step))


def test_a_bar_clicked_makes_a_branch_and_the_other_way_stays(open_translate, ckpt, path, shows, bars, click_bar):
    page = open_translate(step=2)
    page.keyboard.press("End")
    shows(page, path[-1])
    page.keyboard.press("Home")
    shows(page, path[0])
    said = path[0].top(10)[3]
    assert bars(page)[3][0] == plain_label(said.piece)
    click_bar(page, 3)
    step = transformer.next_step(ckpt, path[0], said.id)
    shows(page, step)
    for _ in range(2):
        step = transformer.next_step(ckpt, step)
        page.keyboard.press("ArrowRight")
        shows(page, step)
    ways = [list(transformer.steps(ckpt, TEXT, forced=forced))[-1] for forced in ({0: said.id}, {})]
    expect(page.get_by_text("Branches · 2")).to_be_visible()
    expect(page.get_by_role("button", name="● ")).to_have_text(f"● {end_of(ways[0].output)}")
    page.get_by_role("button", name="○ ").click()
    shows(page, path[3])
    expect(page.get_by_role("button", name="○ ")).to_have_text(f"○ {end_of(ways[0].output)}")
    expect(page.get_by_role("button", name="● ")).to_have_text(f"● {end_of(ways[1].output)}")
    page.get_by_role("button", name="○ ").click()
    shows(page, step)


def test_temperature_and_top_k_redraw_the_bars(open_translate, path, bars, reached):
    page = open_translate(step=2)
    page.get_by_role("button", name="all others").click()  # all ten of them, however unlikely
    before = bars(page)
    page.get_by_test_id("stPopover").get_by_role("button", name="Model").click()
    page.get_by_role("slider", name="Temperature").press("End")
    reached(page, temperature=2, step=2)
    hot = bars(page)
    assert [token for token, _ in hot] == [token for token, _ in before]
    for (_, note), candidate in zip(hot, path[2].top(10, Sampling(temperature=2.0)), strict=True):
        assert float(note.split("%")[0]) == pytest.approx(100 * candidate.probability, rel=0.01)
    for _ in range(3):
        page.get_by_role("slider", name="Top-k").press("ArrowRight")
    reached(page, top_k=3, step=2)
    rows = page.locator(".stage .next-tokens > button:not(.others)")
    left_out = rows.evaluate_all("rows => rows.map((row) => row.classList.contains('excluded'))")
    assert left_out == [False] * 3 + [True] * 7


# attention


def test_the_numbers_are_the_weights_of_the_library(open_translate, path, numbers, reached):
    page, step = open_translate(step=4), path[4]
    for kind, layer, head in zip(KINDS, (0, 1, 2), (3, 2, 1), strict=True):
        page.get_by_role("radio", name=kind.capitalize()).click()
        reached(page, kind=kind)
        click_head(page, layer, head)
        which, table = numbers(reached(page, layer=layer, head=head))
        expected = step.attentions[kind][layer, head].numpy()
        assert which == (kind, layer, head)
        assert table.shape == expected.shape
        assert np.abs(table - expected).max() <= 1e-6


def test_a_small_head_clicked_becomes_the_large_one(open_translate, path, numbers, reached):
    page = open_translate(step=4)
    for layer, head in ((1, 2), (2, 0), (0, 3)):
        click_head(page, layer, head)
        reached(page, layer=layer, head=head, step=4)
        expect(page.locator(".attention-view .main h2").first).to_contain_text(
            f"Cross attention, {head_label(layer, head)}")
        which, table = numbers(page)
        assert which == ("cross", layer, head)
        assert np.abs(table - path[4].attentions["cross"][layer, head].numpy()).max() <= 1e-6


# links


def test_a_link_brings_back_the_picture_and_its_branch(open_translate, visit_anew, reached, picture, click_bar):
    page = open_translate(step=3, kind="decoder", layer=1, head=2)
    click_bar(page, 3)
    reached(page, step=4)
    page.keyboard.press("ArrowRight")
    reached(page, step=5)
    before = picture(page)
    assert before["head"] == ("decoder", 1, 2)
    assert "choices" in page.url
    again = visit_anew(page.url)
    assert picture(again) == before
    again.reload()
    assert picture(reached(again, step=5)) == before


def test_copy_link_copies_the_address(open_translate, reached):
    page = open_translate()
    page.keyboard.press("ArrowRight")
    reached(page, step=1)
    control(page, "copy").evaluate("""button => {
      window.said = [];
      const heard = new MutationObserver(() => said.push(button.innerText.trim()));
      heard.observe(button, { childList: true, characterData: true, subtree: true });
    }""")
    control(page, "copy").click()
    page.wait_for_function("said.length === 2")
    assert page.evaluate("said") == ["Copied", "Copy link"]
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.own_visitor
def test_copy_link_copies_without_the_clipboard_of_https(context, open_translate, settle):
    context.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page = open_translate(step=3)
    control(page, "copy").click()
    expect(control(page, "copy")).to_have_text("Copied")
    link = page.url
    box(page).fill("")
    box(page).press("Control+v")
    expect(box(page)).to_have_value(link)


@pytest.mark.own_visitor
def test_a_link_that_cannot_be_copied_is_shown_to_be_copied_by_hand(context, open_translate):
    context.add_init_script("""Object.defineProperty(navigator, 'clipboard', { value: undefined });
        document.execCommand = () => false;""")
    page = open_translate(step=3)
    control(page, "copy").click()
    field = page.get_by_label("The link, to copy by hand")
    expect(field).to_have_value(page.url)
    expect(field).to_be_focused()
    assert field.evaluate("field => field.selectionEnd - field.selectionStart") == len(page.url)
    field.blur()
    expect(field).to_have_count(0)


@pytest.mark.own_visitor  # whose browser has no scripts yet
def test_the_browsers_back_button_goes_back(page, visit, path, shows):
    late = []  # the stage's script, on a busy machine
    page.route("**/scripts/stage-*", lambda route: late.append(route))
    visit("/masks")
    page.get_by_test_id("stTopNavLink").filter(has_text="Translate").click()
    page.wait_for_url("**/translate?*step=*")
    write(page, TEXT)
    page.wait_for_url(f"**/translate?*{quote_plus(TEXT)}*")
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


# what people type


def test_hostile_text_is_shown_as_it_is(visit, complaints, ckpt, chips, reached):
    page = visit(f"/{PAGE}")
    for text in HOSTILE:
        write(page, text)
        reached(page, text=text)
        page.keyboard.press("Home")
        reached(page, step=0)
        shown = chips(page, "source tokens")[:-1]
        labels = [plain_label(piece.text, longest=None) for piece in transformer.start(ckpt, text).source]
        assert shown == [label.strip("\u2068\u2069") for label in labels]
        assert "".join(shown).replace("␣", " ").strip() == text
        page.keyboard.press("2")
        reached(page, step=1)
    assert page.locator("img[src=x], img[src^='http://x']").count() == 0
    assert complaints == []


def test_a_text_too_long_is_one_sentence_and_an_empty_one_a_question(open_translate, complaints, path, shows):
    page = open_translate()
    write(page, "dog " * 2_500)
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_have_text("the text is 2,501 tokens long and this model reads at most 256; shorten it")
    expect(page.locator(".stage")).to_have_count(0)
    write(page, "")
    expect(alert).to_have_text("Type a sentence in English above and press Enter, or choose an example.")
    expect(page.locator(".stage")).to_have_count(0)
    write(page, TEXT)
    shows(page, path[-1])
    expect(alert).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    shows(page, path[-2])
    assert complaints == []


def test_an_example_clicked_is_translated(open_translate, ckpt, shows):
    page = open_translate(step=2)
    pills = page.get_by_role("radiogroup", name="Examples").get_by_role("radio")
    texts = pills.all_text_contents()
    assert len(texts) > 2
    for at in (len(texts) - 1, 0):
        pills.nth(at).click()
        shows(page, list(transformer.steps(ckpt, texts[at]))[-1])
        expect(box(page)).to_have_value(texts[at])

"""A published file runs its models in a browser that has no network: opened from a disk, under its own policy."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np
import pytest
from playwright.sync_api import expect

import transformer
from tests.labels import labels_of
from transformer.analysis.carried import carried, effects, feature
from transformer.attention_view.shared import CHOICES
from transformer.inference.reading import attend
from transformer.publishing.page import page as published_page
from transformer.publishing.page import publish
from ui.figures.labels import plain_label

from .conftest import OUTPUT, SIZES, at_step, bars, chips
from .rooms import frames

ONE_VISITOR = True
NARROWEST = 320, 640
PICTURE = 120  # px, the lowest that a matrix may be

TEXT = "I am cold."
DRAWN = ".stage[aria-busy=false] .attention-view[data-drawn]"
WEIGHTS = "root => { const { arrays, shapes } = root.view.message; return [[...arrays.weights], shapes.weights]; }"
MODELLED = """root => { const { model, arrays } = root.view.message;
    return [model, Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, [...array]]))]; }"""
RUBBISH = ["checkpoint=nobody@00000000", "checkpoint=%00", "step=-1", "step=9e99", "step=NaN", "choices=x:y,1:99999,:,",
           "temperature=hot", "temperature=1e308", "top_k=-5", "seed=1.5", "kind=sideways", "layer=99", "head=-3",
           "pair=9999:9999", "lit=a,b", "start=5", "heads=cross:99:99,decoder,::", "view=film", "tokens=%F0%9F%98%80",
           "view=model&level=number&feature=99999&kind=encoder", "view=model&level=x&feature=-1",
           "view=model&tokens=words",
           "stage=scores&of=rollout", "a=b&&==&%E0%A4%A"]
HOSTILE = ["<img src=x onerror=alert(1)><script>alert(2)</script>", "&lt;b&gt; \\ ` ${x}", "%00%",
           "\u202e\U0001f600\U0001f469\u200d\U0001f467 e\u0301 \u200b"]


@pytest.fixture(scope="module")
def file(tmp_path_factory, shipped) -> Path:
    """The shipped models as one file."""
    return publish([shipped(name) for name in ("translate", "write", "classify")],
                   tmp_path_factory.mktemp("published") / "heads-up.html")


@pytest.fixture(scope="module")
def small(make_checkpoint) -> str:
    """A file of one tiny model, as text."""
    return published_page(make_checkpoint())


@pytest.fixture(autouse=True)
def wrong(context, complaints):
    """What a page without a network may not do: ask for anything, break its own policy, or fail."""
    context.set_offline(True)
    yield complaints
    assert complaints == []


@pytest.fixture
def opened(page, file):
    """Opens the file: `opened(text="I am cold.", step=2)`; waits until it has drawn, if it is to."""
    def opened(fragment=None, *, draws=True, **params):
        page.goto("about:blank")
        page.goto(f"{file.as_uri()}#{urlencode(params) if fragment is None else fragment}")
        if draws:
            page.locator(".attention-view[data-drawn]").wait_for()
        return page
    return opened


@pytest.fixture
def arrived(page, file, opened):
    """Follows a link within the file, as `opened` would open it: most of opening it is unpacking its models."""
    def arrived(fragment=None, **params):
        fragment = urlencode(params) if fragment is None else fragment
        if not page.url.startswith(file.as_uri()):
            return opened(fragment)
        page.evaluate("""fragment => {
          history.replaceState(null, "", `#${fragment}`);
          dispatchEvent(new PopStateEvent("popstate"));
        }""", fragment)
        page.locator(DRAWN).wait_for()
        return page
    return arrived


def fragment(page):
    return dict(parse_qsl(page.evaluate("location.hash.slice(1)"), keep_blank_values=True))


def weights(page):
    numbers, shape = page.locator(".attention-view").evaluate(WEIGHTS)
    return np.reshape(numbers, shape)


def in_address(page, **values):
    """Waits until the address has these values."""
    for name, value in values.items():
        pair = re.escape(urlencode({name: value}))
        expect(page).to_have_url(re.compile(rf"[#&]{pair}(&|$)"))
    return page


def worked_off(page):
    """Waits until what keys have asked for is drawn, by asking for something else: what is asked is heard in turn, and
    worked on between two messages."""
    for _ in range(3):
        page.evaluate("window.headsup.run('classify', 'x').then(() => {})")


def test_a_file_steps_as_the_library_does_with_the_keys_of_the_app(arrived, shipped):
    path = list(transformer.steps(shipped("translate"), TEXT))
    page = arrived(text=TEXT, kind="cross", layer=1, head=3)
    at_step(page, len(path) - 1, len(path) - 1)
    page.keyboard.press("Home")
    for step in path:
        at_step(page, step.index, len(path) - 1)
        in_address(page, step=step.index)
        read = labels_of(step)
        assert chips(page, "target tokens")[: len(read)] == read
        assert page.locator(".output .written").text_content() == step.output
        np.testing.assert_allclose(weights(page), step.attentions["cross"][1, 3], atol=1e-4)
        assert bars(page)[0][0] == plain_label(step.top(1)[0].piece, longest=None)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    at_step(page, len(path) - 2)
    page.keyboard.press("Home")
    page.keyboard.press("p")
    at_step(page, len(path) - 1)
    page.keyboard.press("Home")
    page.keyboard.press("p")
    at_step(arrived(text=TEXT, step=1), 1)
    page.wait_for_timeout(1_500)  # three steps of a decoding that plays
    at_step(page, 1)  # a link is not played on


def test_keys_lead_from_the_whole_model_to_one_number_and_back(arrived, shipped):
    step = list(transformer.steps(shipped("translate"), TEXT))[2]
    page = at_step(arrived(text=TEXT, step=2, kind="cross", layer=1, head=3, view="model"), 2)
    view = page.locator(".attention-view")
    expect(view).to_have_attribute("data-level", "whole")
    page.locator(".model-room canvas").focus()
    for level in CHOICES["level"][1:]:
        page.keyboard.press("Enter")
        expect(view).to_have_attribute("data-level", level)
        in_address(page, view="model", level=level)
    in_address(page, feature=0)
    page.wait_for_function("""() => document.querySelector(".attention-view").view.message.model.number""")
    said, arrays = view.evaluate(MODELLED)
    address = fragment(page)
    at = [int(place) for place in address["pair"].split(":")]
    found = carried(step)
    np.testing.assert_allclose(arrays["norms/decoder"], found["decoder"].norms.flatten(), rtol=1e-4)
    of_logit = effects(step, of=found)
    assert said["effectOf"] == plain_label(step.piece, longest=None)
    assert said["logit"] == pytest.approx(of_logit.logit, abs=1e-3)
    np.testing.assert_allclose(arrays["effects/cross"], of_logit.heads["cross"].flatten(), atol=1e-3)
    parts = feature(step, "cross", 1, 3, at[0], 0)
    assert said["number"]["value"] == pytest.approx(parts.value, abs=1e-4)
    np.testing.assert_allclose(arrays["number/row"], parts.row, atol=1e-4)
    for level in CHOICES["level"][-2::-1]:
        page.keyboard.press("Escape")
        expect(view).to_have_attribute("data-level", level)
    expect(page).not_to_have_url(re.compile("[#&]level="))
    arrived(**address)  # a link leads to the number
    expect(view).to_have_attribute("data-level", "number")
    assert page.locator(".model-picture nav button").count() == len(CHOICES["level"])


def test_another_candidate_is_a_branch_and_the_first_version_is_a_click_away(arrived, shipped):
    ckpt = shipped("translate")
    path = list(transformer.steps(ckpt, TEXT))
    page = at_step(arrived(text=TEXT, step=1), 1)
    listed = page.locator(".next-tokens [data-nth]").count()
    assert listed < 9
    expect(page.locator(".output")).to_have_text(path[-1].output)  # what comes is written ahead, in its own time
    page.keyboard.press("9")  # digits choose what is listed and nothing else
    worked_off(page)
    assert page.locator(".output").text_content() == path[-1].output
    page.keyboard.press(str(listed))
    expect(page.locator(".output")).not_to_have_text(path[-1].output)
    page = at_step(arrived(text=TEXT, step=1), 1)
    page.keyboard.press("2")
    at_step(page, 2)
    other = path[1].top(2)[1].id
    forced = list(transformer.steps(ckpt, TEXT, forced={1: other}))
    expect(page.locator(".output")).to_have_text(forced[-1].output)
    in_address(page, choices=f"1:{other}", step=2)
    page.locator(".branches button:enabled").click()
    expect(page.locator(".output")).to_have_text(path[-1].output)


def test_a_link_leads_back_to_the_same_picture(opened):
    page = at_step(opened(text=TEXT, step=1), 1)
    page.keyboard.press("2")
    at_step(page, 2)
    page.get_by_role("radio", name="Decoder").click()
    page.locator(".bar").get_by_label("Layer").select_option("0")
    page.get_by_role("radio", name="Lines").click()
    in_address(page, view="lines", kind="decoder", layer=0, step=2)
    seen = [page.locator(".tokens").all_text_contents(), page.locator(".bars").text_content(),
            page.locator(".attention-view h2").text_content(), page.locator(".output").text_content()]
    address = fragment(page)
    page.locator('[data-action="copy"]').click()
    expect(page.locator('[data-action="copy"]')).to_have_text("Copied")
    opened(**address)
    at_step(page, 2)
    expect(page.locator(".output")).to_have_text(seen[3])
    expect(page.locator(".attention-view h2").first).to_have_text(seen[2])
    assert page.locator(".tokens").all_text_contents() == seen[0]
    in_address(page, **address)
    # what a branch was is not in a link, only where the text went another way
    assert page.locator(".next-tokens").text_content() in seen[1]


def test_a_head_is_switched_off_and_on_again_also_before_the_first_picture(opened, arrived, shipped):
    ckpt = shipped("translate")
    off = transformer.scale("X1H1", 0)
    before, after = (list(transformer.steps(ckpt, TEXT, change=change))[-1] for change in (None, off))
    assert before.output != after.output
    page = arrived(text=TEXT)
    expect(page.locator(".output")).to_have_text(before.output)
    page.locator("summary").click()
    page.get_by_role("button", name="cross, layer 1, head 1 off").click()
    expect(page.locator(".output")).to_have_text(after.output)
    in_address(page, heads="cross:1:1")
    expect(page.locator(".off")).to_contain_text("cross, layer 1, head 1")
    page.get_by_role("button", name="Switch on again").click()
    expect(page.locator(".output")).to_have_text(before.output)
    page = opened(text=TEXT, step=2, draws=False)
    page.evaluate("""() => {
      document.querySelector(".settings").open = true;
      document.querySelector('[data-name="cross:0:1"]').click();
      document.querySelector(".settings").open = false;
    }""")
    in_address(at_step(page, 2), step=2, heads="cross:0:1")


def test_sampling_is_the_librarys_and_settings_without_effect_are_named_and_wait(opened, arrived, shipped):
    settings = {"temperature": 0.9, "top_k": 12, "top_p": 0.9, "seed": 3}
    path = list(transformer.steps(shipped("write"), "KING ", max_steps=31, **settings))
    page = arrived(checkpoint="write", text="KING ", step=30, **settings)
    at_step(page, 30)
    assert page.locator(".output .written").text_content() == path[-1].whole
    page.locator("summary").click()
    page.get_by_label("Seed").fill("4")
    page.get_by_label("Seed").press("Enter")
    in_address(page, seed=4, step=30)
    page = opened(text=TEXT, top_p="0.5")
    expect(page.locator(".idle")).to_have_text(
        "No effect at temperature 0, which always chooses the likeliest token: Top-p.")
    page.locator("summary").click()
    expect(page.get_by_label("Top-p")).to_have_count(0)
    page.get_by_label("Temperature").fill("1")
    expect(page.get_by_label("Top-p")).to_have_value("0.5")
    expect(page.locator(".idle")).to_be_hidden()
    in_address(page, top_p=0.5, temperature=1)


def test_classes_of_a_text_and_words(arrived, shipped):
    ckpt, text = shipped("classify"), "Is she a Capulet?"
    reading = attend(ckpt, text)
    page = arrived(checkpoint="classify", text=text, tokens="words", layer=1)
    rows = page.locator(".next-tokens bdi").all_text_contents()
    assert rows == [ckpt.classes[at] for at in reading.logits.argsort(descending=True).tolist()]
    page.locator(".next-tokens button").nth(2).click()
    in_address(page, **{"class": rows[2]})
    page = arrived(**fragment(page))
    expect(page.locator(".next-tokens .chosen bdi")).to_have_text(rows[2])
    words = reading.words().attentions["encoder"][1, 0]
    np.testing.assert_allclose(weights(page), words, atol=1e-4)


def test_what_is_typed_is_read_or_waits_and_empty_texts_examples_and_the_way_back_are_there(arrived):
    page = arrived(text=TEXT)
    box = page.locator(".asked .text")
    box.fill("Go on.")
    box.press("Enter")
    in_address(page, text="Go on.")
    expect(page.get_by_role("group", name="source tokens")).to_contain_text("Go")
    page.go_back()
    in_address(page, text=TEXT)
    expect(box).to_have_value(TEXT)
    box.fill("  ")
    box.press("Enter")
    expect(page.locator(".said:visible")).to_contain_text("Type a sentence in English above")
    page.locator(".examples button").nth(1).click()
    page.locator(".step-view").wait_for()
    box.fill("Not yet read")
    page.get_by_role("radio", name="Write").click()
    in_address(page, temperature=0.8, step=40)
    expect(box).not_to_have_value("Not yet read")
    page.get_by_role("radio", name="Translate").click()
    expect(box).to_have_value("Not yet read")
    in_address(page, text="Not yet read")
    page.go_back()
    expect(page.get_by_role("radio", name="Write")).to_have_attribute("aria-checked", "true")


def test_rubbish_in_an_address_is_left_out_and_hostile_texts_are_texts(opened, arrived):
    wrong = []
    for nth, rubbish in enumerate(RUBBISH):
        address = f"text={quote(TEXT)}&{rubbish}" if "checkpoint" not in rubbish else rubbish
        page = arrived(address) if nth else opened(address)
        if not page.locator(".output, .next-tokens").first.is_visible() or page.locator(".said.problem").is_visible():
            wrong.append(rubbish)
    assert not wrong
    for text in HOSTILE:
        page = arrived(text=text)
        expect(page.locator(".said.problem")).to_be_hidden()
        assert page.locator(".stage img, .stage script").count() == 0, text
    page = opened(text="a " * 5_000, draws=False)
    expect(page.locator(".said.problem")).to_have_text(
        re.compile(r"^This text has [\d,]+ tokens; the model reads at most 256\. Please shorten it\.$"))
    page.locator(".asked .text").fill("x" * 20_001)
    page.locator(".asked .text").press("Enter")
    expect(page.locator(".said.problem")).to_contain_text("20,001 characters; at most 20,000")
    page.evaluate("document.querySelector('.asked .text').value = 'I \\ud800 am \\udfff cold'")
    page.locator(".asked .text").press("Enter")
    page.locator(".step-view").wait_for()


IN_VAIN = [
    ("", {}, "the text is empty: give one"), ("x" * 20_001, {}, "20,001 characters; at most 20,000"),
    ("I am cold.", {"heads": ["cros:0:1"]}, "this model has no head cros:0:1"),
    ("I am cold.", {"heads": ["cross:0:0", "cross:9:9"]}, "this model has no head cross:9:9"),
    ("I am cold.", {"top_k": 2.5}, "top_k 2.5: give a whole number from"),
    ("I am cold.", {"temperature": "hot"}, "temperature hot: give a number from"),
    ("I am cold.", {"steps": 0}, "steps 0: give a whole number from 1"),
    ("I am cold.", {"warmth": 1}, "there is no option warmth; choose from temperature")]


def test_scripts_of_a_page_run_models_and_are_told_what_they_asked_for_in_vain(opened, arrived, shipped):
    page = opened("text=", draws=False)
    assert page.evaluate('headsup.run("translate", "I am cold.", { steps: 2 }).then((steps) => steps.length)') == 2
    expect(page.locator(".opening")).to_be_hidden()  # nothing is unpacking
    path = list(transformer.steps(shipped("translate"), TEXT, forced={0: 40}))
    page = arrived(text=TEXT)
    said = page.evaluate("""async (text) => (await window.headsup.run("translate", text, { choices: { 0: 40 } })).map(
      ({ index, id, piece, logits, attentions: { cross } }) =>
        [index, id, piece, [...logits], [...cross.weights], cross.shape])""", TEXT)
    assert [row[:3] for row in said] == [[step.index, step.id, step.piece] for step in path]
    for (*_, logits, cross, shape), step in zip(said, path, strict=True):
        np.testing.assert_allclose(logits, step.logits, atol=1e-4)
        np.testing.assert_allclose(np.reshape(cross, shape), step.attentions["cross"], atol=1e-4)
    with pytest.raises(Exception, match="there is no model paint here; there are translate, write, classify"):
        page.evaluate("() => window.headsup.run('paint', 'x')")
    assert len(page.evaluate("() => window.headsup.run('classify', 'I am cold.')")["classes"]) == 10
    for text, options, said in IN_VAIN:
        with pytest.raises(Exception, match=re.escape(said)):
            page.evaluate("([text, options]) => window.headsup.run('translate', text, options)", [text, options])


def test_a_text_that_is_not_read_takes_what_was_drawn_away(arrived):
    for text in ("", "x" * 20_001):
        page = arrived(text=TEXT, step=2)
        page.locator(".asked .text").fill(text)
        page.locator(".asked .text").press("Enter")
        expect(page.locator(".step-view")).to_have_count(0)
        address = page.url
        page.locator(".asked .text").blur()
        for key in ("ArrowLeft", "End", "2"):
            page.keyboard.press(key)
        worked_off(page)
        assert page.url == address
        expect(page.locator(".step-view")).to_have_count(0)
        page.get_by_role("button", name="I am cold.").click()
        page.locator(".step-view").wait_for()


def test_a_file_in_a_frame_reads_its_address_as_parameters(page, file, tmp_path):
    course = tmp_path / "course.html"
    query = urlencode({"checkpoint": "translate", "text": TEXT, "step": 2})
    course.write_text(f'<!doctype html><iframe src="{file.as_uri()}?{query}" width="900" height="700"></iframe>')
    page.goto(course.as_uri())
    frame = page.frame_locator("iframe")
    at_step(frame, 2)
    expect(frame.locator(".asked .text")).to_have_value(TEXT)


BREAKS = [
    ('<script type="application/json" id="models">', "the file is incomplete"),
    ('<script type="text/plain" id="worker">', "the file is incomplete"),
    ('<script type="module" async>', "the file is incomplete"),
    ('<script type="application/octet-stream" data-model="0">', "Translate cannot be read: this file is damaged")]


def test_a_file_that_breaks_off_says_so_wherever_it_does_and_so_does_one_with_a_gap(page, small, wrong, tmp_path):
    start = small.index('data-model="0">') + 2_000
    cuts = [(small[:start] + small[start + 3_000:], "this file is damaged or incomplete")]
    cuts += [(small[: small.index(before) + len(before) + 1_000], said) for before, said in BREAKS]
    for text, said in cuts:
        cut = tmp_path / "cut.html"
        cut.write_text(text, "utf-8")
        page.goto(cut.as_uri())
        expect(page.locator(".said.problem:visible")).to_contain_text(said)
        expect(page.get_by_text("Opening", exact=False).locator("visible=true")).to_have_count(0)
    wrong.clear()  # half a script is a mistake


def test_a_spelling_that_was_not_learned_is_read_as_the_one_that_was(page, small, tmp_path):
    respelled = tmp_path / "respelled.html"
    respelled.write_text(re.sub(r'"spellings":\{[^}]*\}', '"spellings":{"eye":"i"}', small, count=1), "utf-8")
    page.goto(f"{respelled.as_uri()}#text=Eye")
    expect(page.locator(".said:not(.opening):visible")).to_have_text("Read as “I”.")
    expect(page.get_by_role("group", name="source tokens")).to_have_text(re.compile("^I"))
    expect(page.get_by_role("textbox")).to_have_value("Eye")
    page.wait_for_url("**text=Eye*")


def test_a_link_that_sets_what_is_not_computed_there_says_so(page, small, tmp_path):
    later = tmp_path / "later.html"
    later.write_text(re.sub(r'"lacks":\[[^]]*\]', '"lacks":["spin"]', small, count=1), "utf-8")
    page.goto(f"{later.as_uri()}#text=I&spin=0.5")
    said = page.locator(".said:not(.opening):visible")
    expect(said).to_have_text(
        "The link sets spin, which a published file does not compute; it is left out.")
    page.goto(f"{later.as_uri()}#text=I")
    expect(said).to_have_count(0)


LONG = "My teacher gave me too much homework yesterday, and I did not finish it."


def resized(page, size):
    """Another window, and a picture that fits it."""
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    frames(page)


MODELS = {"translate": {}, "write": {"text": "To be, " * 70}, "classify": {}}  # the window of Write is soon full


def assert_within(page, name, size):
    """All of the page is in the window, and its picture is large enough."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, size)
    bottom = page.locator(".screen").evaluate("screen => screen.getBoundingClientRect().bottom")
    assert bottom <= size[1] or size[0] < 700, (name, size)
    assert page.locator(".attention-view .scroller").evaluate("pane => pane.clientHeight") >= PICTURE, (name, size)
    if name != "classify":
        label = page.locator(".controls .main span:visible")
        expect(label).to_contain_text("Replay")
        lines = label.evaluate("label => label.offsetHeight / parseFloat(getComputedStyle(label).fontSize)")
        assert lines < 2, (name, size)
        where = page.locator(OUTPUT)
        assert where.evaluate("where => where.scrollWidth <= where.clientWidth"), (name, size)
        assert where.evaluate("where => where.offsetHeight <= where.parentElement.offsetHeight"), (name, size)


def to_the_end(page, name):
    if name != "classify":
        page.keyboard.press("End")
        expect(page.locator(".controls .main span:visible")).to_contain_text("Replay")


@pytest.mark.rare("two files in four windows")
def test_all_of_it_is_within_the_window_light_and_dark_and_a_long_translation_is_read_whole(arrived):
    for name, asked in MODELS.items():
        page = arrived(checkpoint=name, **asked)
        to_the_end(page, name)
        for size in [*SIZES, NARROWEST]:
            resized(page, size)
            for dark in (False, True):
                page.emulate_media(color_scheme="dark" if dark else "light")
                assert_within(page, name, size)
                background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
                assert (background == "rgb(12, 18, 25)") is dark, (name, size)
    page.emulate_media(color_scheme="null")
    page = arrived(text=LONG)  # is read whole
    to_the_end(page, "translate")
    for size in SIZES:
        resized(page, size)
        assert page.locator(".step-view").evaluate("""view => {
          const line = view.querySelector(".text .output");
          const row = view.querySelector("[data-part=target] .tokens");
          const whole = (one) => one.scrollHeight <= one.clientHeight + 1 && one.scrollWidth <= one.clientWidth + 1;
          const ends = (chip) => chip.getBoundingClientRect().right;
          return line.parentElement.clientHeight > 2 ? whole(line) : ends([...row.children].at(-2)) <= ends(row) + 1;
        }"""), size


@pytest.mark.rare("opened in such a window, not resized to it, which `make test` does")
@pytest.mark.parametrize("size", [*SIZES, NARROWEST], ids=str)
def test_all_of_it_is_within_the_window_that_it_is_opened_in(opened, page, size):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    for name, asked in MODELS.items():
        opened(checkpoint=name, **asked)
        to_the_end(page, name)
        assert_within(page, name, size)

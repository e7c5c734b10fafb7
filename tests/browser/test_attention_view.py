"""The attention view in a browser: what the canvas says and saves is what the library computed."""

import csv
import io
import json
import re
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import transformer
from transformer.analysis.rollout import rollout
from ui.page.what_if_words import CELL, HEAD, MORE

from .conftest import address, on_cell, reached, saved, settle

ONE_VISITOR, MODEL = True, "translate"
TEXT = "I like red wine."
HOSTILE = "<b>x</b> عربي same same " + "long" * 30


@pytest.fixture
def look(reach):
    """Goes to Translate with what is to be looked at: `look(kind="cross", layer=1)`."""
    def look(text=TEXT, step=5, **chosen):
        rest = "".join(f"&{name}={quote(str(value))}" for name, value in chosen.items())
        return reach(f"/translate?text={quote(text)}&step={step}{rest}")

    return look


@pytest.fixture
def options():
    """Opens what of the picture waits behind a button: `options(page).get_by_label("Of", exact=True)`."""
    def options(page):
        view = page.locator(".attention-view")
        if view.locator(".options").is_hidden():
            view.get_by_role("button", name="Options").click()
        return view.locator(".options")

    return options


def numbers_of(page, kind, layer, head):
    """Waits until the numbers of a head are there: its name comes before them."""
    expect(page.locator(f'.attention-view[data-drawn^="{kind},{layer},{head},"]')).to_have_count(1)


def at_rest(page):
    """What is said of the picture while the pointer is on nothing."""
    page.mouse.move(1, 1)
    return page.locator(".attention-view .readout")


def step_of(ckpt, index, text=TEXT):
    return list(transformer.steps(ckpt, text, max_steps=index + 1))[-1]


def hovered(page, query, key):
    page.locator("canvas.matrix").hover(position=on_cell(page.locator(".attention-view"), query, key))
    readout = page.locator(f'.readout[data-query="{query}"][data-key="{key}"]')
    expect(readout).to_have_count(1)
    return readout


def weight_of(readout):
    return float(readout.get_attribute("data-weight"))


def table_of(text):
    """The rows of a CSV, and what is said above them."""
    lines = text.decode("utf-8-sig").splitlines()
    said = [line for line in lines if line.startswith("#")]
    return list(csv.reader(line for line in lines if line not in said)), said


def pdf_words(data):
    """The runs of text in a PDF whose every object begins where its table says."""
    table = int(re.search(rb"startxref\n(\d+)\n%%EOF", data)[1])
    starts = [int(at) for at in re.findall(rb"(\d{10}) 00000 n", data[table:])]
    assert data[table:].startswith(b"xref")
    assert all(data[at:].startswith(b"%d 0 obj" % number) for number, at in enumerate(starts, 1))
    for stream in re.finditer(rb"/Length (\d+) >>\nstream\n", data):
        assert data[stream.end() + int(stream[1]):].startswith(b"\nendstream")
    return [bytes.fromhex(text.decode()).decode("cp1252") for text in re.findall(rb"<([0-9a-f]+)> Tj", data)]


def test_weights_are_those_of_the_library_under_the_pointer_the_keys_and_between_two_tokens(look, ckpt):
    page, step = look(kind="cross", layer=1, head=3), step_of(ckpt, 5)
    numbers_of(page, "cross", 1, 3)
    for kind in ("cross", "encoder", "decoder"):
        if kind != "cross":
            page.locator(".attention-view").get_by_role("radio", name=kind.capitalize()).click()
            reached(page, kind=kind)
        expected = step.attentions[kind][1, 3].numpy()
        for query, key in [(0, 0), (expected.shape[0] - 1, 1), (2, expected.shape[1] - 1)]:
            readout = hovered(page, query, key)
            assert weight_of(readout) == pytest.approx(expected[query, key], abs=1e-6)
            if step.masks[kind][query, key]:
                score = float(re.search(r"score (−?-?[\d.e-]+)", readout.inner_text())[1])
                assert score == pytest.approx(step.scores[kind][1, 3][query, key].item(), abs=1e-4)
            else:
                assert "masked" in readout.inner_text()
    page.locator(".attention-view").get_by_role("radio", name="Cross").click()
    reached(page, kind="cross")
    page.locator("canvas.matrix").click(position=on_cell(page.locator(".attention-view"), 4, 3))
    expect(at_rest(page)).to_contain_text("agrees to")
    between = page.locator("[data-part=product]")
    for name, expected in (("score", step.scores), ("weight", step.attentions)):
        found = float(between.get_attribute(f"data-{name}"))
        assert found == pytest.approx(expected["cross"][1, 3, 4, 3].item(), abs=1e-5)
    assert int(between.get_attribute("data-products")) == ckpt.config.width
    reached(page, pair="4:3")
    between.get_by_role("button", name="Close").click()
    reached(page, pair=None)
    expect(between).to_be_hidden()
    page.locator("canvas.matrix").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):  # the first press starts at the newest query
        page.keyboard.press(key)
    readout = page.locator('.readout[data-query="4"][data-key="1"]')
    expect(readout).to_have_count(1)
    assert weight_of(readout) == pytest.approx(step.attentions["cross"][1, 3, 4, 1].item(), abs=1e-6)
    page.keyboard.press("m")
    most = step.attentions["cross"][1, 3, 4].argmax().item()
    expect(page.locator(f'.readout[data-query="4"][data-key="{most}"]')).to_have_count(1)
    heard = page.locator(".attention-view > output").inner_text()
    assert "weight" in heard and not re.search(r"[␣_‖]|\d\.(?!99)\d{3}", heard)
    for _ in range(abs(most - 1)):
        page.keyboard.press("ArrowLeft" if most > 1 else "ArrowRight")
    page.keyboard.press("Enter")
    reached(page, pair="4:1", step=5)  # the arrows stepped nowhere
    page.keyboard.press("Escape")
    expect(page.get_by_label("Head", exact=True)).to_be_focused()


def test_choosers_change_the_picture_and_the_link(look, options, ckpt):
    page = look(layer=0, head=0)
    view, title = page.locator(".attention-view"), page.locator(".attention-view .main h2")
    grid = page.locator("canvas.grid")
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.75)
    expect(title).to_contain_text("layer 1, head 3")
    reached(page, layer=1, head=3)
    view.get_by_role("radio", name="Encoder").click()
    view.get_by_label("Layer", exact=True).select_option("2")
    expect(view.get_by_label("Of", exact=True)).to_be_hidden()
    options(page).get_by_label("Of", exact=True).select_option("rollout")
    expect(title).to_contain_text("Encoder attention, attention rollout, layers 0 to 2")
    reached(page, kind="encoder", layer=2, of="rollout")
    found = hovered(page, 1, 2)
    expected = rollout(step_of(ckpt, 5).attentions["encoder"])[2, 1, 2].item()
    assert weight_of(found) == pytest.approx(expected, abs=1e-6)
    stages = view.get_by_label("Stage", exact=True).locator("option")
    assert stages.evaluate_all("all => all.map((option) => [option.value, option.disabled])") == [
        ["scores", True], ["masked", True], ["weights", False], ["moved", True]]
    assert "of a single head only" in stages.first.text_content()
    view.get_by_label("Of", exact=True).select_option("head")
    reached(page, of=None)
    view.get_by_label("Stage", exact=True).select_option("moved")
    reached(page, stage="moved")
    expect(title).to_have_text("Encoder attention, layer 2, head 3: what it moves: weight × ‖value·W_O‖")
    expect(view.locator(".why")).to_be_empty()
    opener = page.get_by_role("button", name="Options")
    view.get_by_label("Stage", exact=True).focus()
    page.keyboard.press("Escape")
    expect(page.locator(".options")).to_be_hidden()
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_lines_are_of_the_heads_switched_and_of_the_one_chosen_among_the_small_ones(look):
    page = look(layer=1, head=3)
    page.locator(".attention-view").get_by_role("radio", name="Lines").click()
    expect(page.locator(".attention-view .main h2")).to_have_text("Cross attention, layer 1, head 3")
    reached(page, view="lines", lit=3)  # those of the head in focus
    page.locator(".attention-view .heads .all").click()
    expect(page.locator(".attention-view .main h2")).to_have_text("Cross attention, layer 1")
    chips = page.locator(".attention-view .heads button")
    pressed = page.locator('.attention-view .heads [aria-pressed="true"]')
    chips.nth(1).click()
    expect(chips.nth(1)).to_have_attribute("aria-pressed", "false")
    reached(page, lit="0,2,3")
    chips.nth(2).dblclick()
    expect(pressed).to_have_count(1)
    reached(page, lit=2)
    page.locator(".attention-view .heads .all").click()
    reached(page, lit=None)
    chips.nth(3).dblclick()
    reached(page, lit=3)
    page.locator("canvas.grid").focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowLeft", "Enter"):  # the first one only begins
        page.keyboard.press(key)
    reached(page, layer=0, head=0, lit=0)
    expect(pressed).to_have_text(["head 0"])
    page.keyboard.press("Escape")
    expect(page.locator(".attention-view .legend")).to_be_hidden()
    expect(at_rest(page)).to_contain_text("Hover over a token to see only its lines")


def test_what_is_saved_says_what_it_is_and_holds_the_numbers(look, options, ckpt):
    page, step = look(kind="cross", layer=1, head=3), step_of(ckpt, 5)
    numbers_of(page, "cross", 1, 3)
    chooser = options(page).get_by_label("Save", exact=True)
    files = {}
    for kind in ("csv", "svg", "png-light", "pdf"):
        ending, *shade = kind.split("-")
        name, files[kind] = saved(page, lambda kind=kind: chooser.select_option(kind))
        assert name == f'{"-".join([ckpt.id, "cross", "layer1", "head3", "weights", *shade])}.{ending}'
    rows, said = table_of(files["csv"])
    for part in (ckpt.id, f"training step {ckpt.description.step:,}", TEXT, "layer 1, head 3"):
        assert part in "".join(said)
        assert part in files["svg"].decode("utf-8")
    found = np.array([row[1:] for row in rows[1:]], float)
    np.testing.assert_allclose(found, step.attentions["cross"][1, 3], atol=1e-6)
    assert rows[0][1:] == step.axes("cross")[1]
    assert files["png-light"].startswith(b"\x89PNG")
    words = pdf_words(files["pdf"])
    assert f"{ckpt.id} · training step {ckpt.description.step:,} · text: {TEXT}" in " ".join(words)
    assert "Cross attention, layer 1, head 3: weights (softmax)" in words

    with np.load(io.BytesIO(saved(page, page.get_by_role("button", name="Save the numbers").click)[1])) as numbers:
        assert json.loads(str(numbers["about"]))["checkpoint"] == ckpt.id
        for kind in step.kinds:
            np.testing.assert_allclose(numbers[f"{kind}_weights"], step.attentions[kind], atol=1e-6)
            np.testing.assert_allclose(numbers[f"{kind}_scores"], step.scores[kind], atol=1e-4)
            assert (numbers[f"{kind}_mask"] == step.mask(kind).numpy()).all()
            assert ([*numbers[f"{kind}_queries"]], [*numbers[f"{kind}_keys"]]) == step.axes(kind)
        assert [*numbers["cross_predicted"]] == step.predicted("cross")

    page.locator(".attention-view").get_by_role("radio", name="Decoder").click()
    numbers_of(page, "decoder", 1, 3)
    chooser = options(page).get_by_label("Save", exact=True)
    rows, _ = table_of(saved(page, lambda: chooser.select_option("csv"))[1])
    assert [row[0] for row in rows[1:]] == [
        f"{read} → {made}" for read, made in zip(step.axes("decoder")[0], step.predicted("decoder"), strict=True)]
    assert "read to predict" in hovered(page, 2, 1).inner_text()
    for _ in range(2):  # a film of the same view, once more
        _, gif = saved(page, lambda: options(page).get_by_label("Save", exact=True).select_option("gif"))
    film = Image.open(io.BytesIO(gif))
    assert film.n_frames == len(list(transformer.steps(ckpt, TEXT)))  # to the end
    frames = []
    for at in (0, film.n_frames - 1):
        film.seek(at)
        frames.append(np.asarray(film.convert("L"), np.int16))
    assert (np.abs(frames[0] - frames[1]) > 40).mean() > 0.02


def test_words_in_place_of_pieces_are_seen_said_kept_in_the_link_and_saved(look, options, ckpt):
    text = "We have to go home before it gets dark."
    page, step = look(text=text, step=14, kind="cross", layer=1, head=3, stage="scores"), step_of(ckpt, 14, text)
    view = options(page)
    view.get_by_label("Tokens", exact=True).select_option("words")
    reached(page, tokens="words", stage=None)
    view.get_by_label("Special tokens and sinks", exact=True).select_option("hidden")
    reached(page, special="hidden")
    page.reload()
    view = options(reached(page, special="hidden"))
    words = step.words(leave_out=("special", "sinks"))
    hidden = words.hidden("cross")[1, 3].mean().item()
    expect(at_rest(page)).to_contain_text(f"</s>⁩, with {100 * hidden:.0f}% of this head’s weight")
    readout = hovered(page, 4, 7)
    queries, keys = words.axes("cross")
    assert weight_of(readout) == pytest.approx(words.attentions["cross"][1, 3, 4, 7].item(), abs=1e-6)
    said = re.sub("[\u2066-\u2069]", "", readout.inner_text())
    assert said.startswith(f"{queries[4]} (4), followed by {queries[5]}, looks at {keys[7]} (7)")
    view.get_by_label("Rows", exact=True).select_option("read")
    reached(page, rows="read")

    name, text = saved(page, lambda: view.get_by_label("Save", exact=True).select_option("csv"))
    assert name.endswith("weights-words.csv")
    rows, said = table_of(text)
    assert said[2].startswith("# Weights of a word’s pieces are added") and said[3].startswith("# Left out: ")
    assert [row[0] for row in rows[1:]] == queries and rows[0][1:] == keys
    with np.load(io.BytesIO(saved(page, page.get_by_role("button", name="Save the numbers").click)[1])) as numbers:
        about = json.loads(str(numbers["about"]))
        assert about["merged"]["cross"] == {"words": True, "special": ["</s>"], "sinks": []}
        assert [tuple(pieces) for pieces in about["pieces"]["cross"][1]] == words.pieces("cross")[1]
        np.testing.assert_allclose(numbers["cross_weights"], words.attentions["cross"], atol=1e-6)
        np.testing.assert_allclose(numbers["decoder_hidden"], words.hidden("decoder"), atol=1e-6)
        assert list(numbers["cross_predicted"]) == words.predicted("cross")


def test_the_saved_page_works_without_a_network(look, alone, ckpt, tmp_path):
    page, step = look(text=HOSTILE, step=3, kind="encoder", layer=1, head=0), step_of(ckpt, 3, HOSTILE)
    file = tmp_path / "page.html"
    file.write_bytes(saved(page, page.get_by_role("button", name="Save as a page").click)[1])
    alone(file)
    view = page.locator(".attention-view")
    expect(view.locator(".main h2")).to_contain_text("Encoder attention, layer 1, head 0")
    expect(view.locator(".source").first).to_contain_text(ckpt.id)
    expect(view.locator(".readout")).to_contain_text("weights are rounded in this file")
    assert weight_of(hovered(page, 2, 1)) == pytest.approx(step.attentions["encoder"][1, 0, 2, 1].item(), abs=2e-5)
    view.get_by_role("radio", name="Cross").click()
    view.get_by_label("Head", exact=True).select_option("2")
    assert weight_of(hovered(page, 3, 1)) == pytest.approx(step.attentions["cross"][1, 2, 3, 1].item(), abs=2e-5)


def test_what_if_stands_at_a_cell_and_a_head_for_mouse_keys_and_fingers(look, touch):
    page = look(kind="cross", layer=1, head=0)
    view, canvas, menu = page.locator(".attention-view"), page.locator("canvas.matrix"), page.get_by_role("menu")
    canvas.click(button="right", position=on_cell(view, 5, 2))
    expect(menu).to_have_accessible_name("\u2068vin\u2069 → \u2068red\u2069, cross, layer 1, head 0")
    expect(page.get_by_role("menuitem", name="Cut it", exact=True)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="More…")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(canvas).to_be_focused()
    page.keyboard.press("m")  # to the largest weight of the newest row
    page.keyboard.press("Shift+F10")
    page.keyboard.press("Enter")
    page.wait_for_url("**change=*")
    page.get_by_test_id("stMain").get_by_role("button", name="cut “vin” to “red”").click()
    reached(page, change=None)
    page.locator("canvas.grid").click(button="right", position={"x": 60, "y": 60})
    page.get_by_role("menuitem", name="Head off").click()
    page.wait_for_url("**change=*factor*")
    page.get_by_test_id("stMain").get_by_role("button", name="head 0 off").click()
    reached(page, change=None)
    touch(True)
    box, place = canvas.bounding_box(), on_cell(view, 3, 3)
    finger = page.context.new_cdp_session(page)
    points = [{"x": box["x"] + place["x"], "y": box["y"] + place["y"]}]
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points})
    expect(menu).to_be_visible()
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(menu).to_be_visible()
    menu.press("Escape")
    canvas.click(button="right", position=on_cell(view, 3, 3))
    page.get_by_role("menuitem", name="More…").click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("“aime” to “wine”")


def test_what_if_offers_only_what_can_be_done_there_and_leaves_the_arrow_keys_to_the_steps(look):
    page = look(kind="decoder", layer=1, head=0)
    view, canvas, menu = page.locator(".attention-view"), page.locator("canvas.matrix"), page.get_by_role("menu")
    on_head = [words.format(layer=1) for words in HEAD.values()]
    alone = [CELL["only"], *on_head]
    cases = ((1, 1), [*CELL.values(), *on_head, MORE]), ((0, 0), [*alone, MORE]), ((0, 1), [*on_head, MORE])
    for cell, offered in cases:
        canvas.click(button="right", position=on_cell(view, *cell))
        expect(menu.get_by_role("menuitem")).to_have_text(offered)
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    expect(menu).to_have_count(0)
    canvas.click(button="right", position=on_cell(view, 1, 0))
    page.get_by_role("menuitem", name=CELL["only"], exact=True).click()
    page.wait_for_url("**change=*")
    step = int(address(page)["step"])
    page.keyboard.press("ArrowLeft")
    reached(page, step=step - 1)
    page.keyboard.press("f")
    page.wait_for_url("**present=1*")
    settle(page)
    zoom, place = view.evaluate("view => view.currentCSSZoom"), on_cell(view, 0, 0)
    canvas.click(button="right", position={name: zoom * at for name, at in place.items()})
    expect(menu.get_by_role("menuitem")).to_have_text(alone)

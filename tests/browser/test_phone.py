"""A model of 30 layers of 9 heads on a telephone: what is drawn of it can be read, and all can be chosen."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from .conftest import reached, settle, windows

PHONE = {"width": 390, "height": 844}
LAYERS, HEADS = 30, 9
TEXT = "We can go"
LEAST_ROW, LEAST_LINES = 11, 90  # px: of a row with its token, and of lines beside their tokens
WIDE = """selector => [...document.querySelectorAll(selector)].filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => [one.className, one.scrollWidth, one.clientWidth])"""


@pytest.fixture(scope="module")
def deep(put_model):
    """The id of that model."""
    return put_model("imports/deep", encoder_layers=0, decoder_layers=LAYERS, n_heads=HEADS, d_model=36, d_ff=32,
                     max_len=200, positions="rotary")


@pytest.fixture
def on_phone(deep, page, visit):
    """A page of that model: `on_phone("write", layer=17, head=5)`."""

    def on_phone(name, **params):
        page.set_viewport_size(PHONE)
        return visit(f"/{name}?{urlencode({'checkpoint': deep, 'text': TEXT, **params})}")

    return on_phone


def drawn(page, what):
    return page.locator(".step-view .attention-view").evaluate(f"({{ view }}) => {what}")


def test_a_matrix_its_lines_and_what_chooses_them_are_read_on_a_phone(on_phone):
    page = on_phone("write", step=0, layer=17, head=5, order="apart")
    made = drawn(page, "view.made")
    assert made["cell"][1] >= LEAST_ROW
    assert not made["gutter"]["bare"]
    title, scale = page.locator(".main h2"), page.locator(".legend")
    expect(scale).to_be_visible()
    expect(title).to_have_text("Decoder attention, layer 17, head 5")
    assert title.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert scale.bounding_box()["x"] + scale.bounding_box()["width"] <= PHONE["width"]
    first = drawn(page, "view.tiles.tiles[0].at")
    expect(page.locator(".step-view .order p")).to_contain_text(
        f"{first[0]}.{first[1]} is head {first[1]} of layer {first[0]}.")
    radius = "one => getComputedStyle(one).borderRadius"
    below, above = page.get_by_label("Heads", exact=True), page.get_by_label("Layer", exact=True)
    assert below.evaluate(radius) == above.evaluate(radius) != "0px"  # it looks as the others do

    page.get_by_role("radio", name="Lines").click()
    reached(page, view="lines", lit=5)
    expect(title).to_have_text("Decoder attention, layer 17, head 5")
    chips = page.locator(".step-view .heads button:not(.all)")
    assert chips.count() == HEADS
    assert len({round(box["y"]) for box in (chip.bounding_box() for chip in chips.all())}) == 1
    assert drawn(page, "view.parts.canvas.clientWidth - view.gutter.left - view.gutter.right") >= LEAST_LINES
    assert drawn(page, "view.row") >= LEAST_ROW
    page.get_by_role("button", name="all", exact=True).click()
    reached(page, lit=None)
    assert drawn(page, "view.parts.canvas.clientWidth - view.gutter.left - view.gutter.right") >= LEAST_LINES
    page.get_by_role("radio", name="Matrix").click()
    page.get_by_label("Head", exact=True).select_option("7")
    page.get_by_role("radio", name="Lines").click()
    reached(page, view="lines", lit=7)  # those of the head chosen in the matrix


@pytest.mark.rare("a long text of a deep model on a phone")
def test_rows_of_a_long_text_keep_their_height_and_the_number_of_a_step_says_what_it_is(on_phone):
    page = on_phone("write", step=3, layer=17, head=5, text=TEXT * 6)
    made = drawn(page, "view.made")
    assert made["cell"][1] >= 24
    assert not made["gutter"]["bare"]
    scrolled = drawn(page, "(s => [s.scrollTop, s.clientHeight, s.scrollHeight])(view.parts.scroller)")
    assert scrolled[0] + scrolled[1] >= scrolled[2] - 1 > scrolled[1]  # to the newest
    place = page.locator(".controls > output")
    expect(place.get_by_text("step", exact=True)).to_be_visible()
    height = page.locator(".controls").bounding_box()["height"]
    page.keyboard.press("End")
    expect(place).to_contain_text(" of ")
    assert page.locator(".controls").bounding_box()["height"] == height


@pytest.mark.rare("eight widths of two pages")
@pytest.mark.parametrize("name", ["translate", "write"])
def test_the_buttons_of_the_steps_stand_in_one_line_at_every_width(name, visit, page):
    page.set_viewport_size({"width": 320, "height": 640})
    visit(f"/{name}?{urlencode({'text': TEXT, 'step': 3})}")
    for width in (320, 340, 360, 361, 375, 390, 481, 701):
        page.set_viewport_size({"width": width, "height": 640})
        tops = page.locator(".controls > button:visible").evaluate_all("all => all.map((one) => one.offsetTop)")
        assert len(tops) == 5 and len(set(tops)) == 1, width


@pytest.mark.rare("half a minute: a deep model on four more pages")
def test_of_thirty_layers_all_are_chosen_switched_and_looked_into(on_phone, visit, page):
    on_phone("checkpoints", view="compare")
    for width, _ in windows(page):
        for name in ("Layer", "Head"):
            box = page.get_by_role("combobox", name=name).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
    page.get_by_role("combobox", name="Layer").click()
    page.keyboard.type(str(LAYERS - 1))
    page.keyboard.press("Enter")
    reached(page, layer=LAYERS - 1)
    on_phone("heads", view="switch")
    for _ in windows(page):
        cells = page.locator(".st-key-heads_boards .grid button")
        assert cells.count() == LAYERS * HEADS
        assert min(cells.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")) >= 24
        cells.last.click()
        reached(page, heads=f"decoder:{LAYERS - 1}:{HEADS - 1}")
    on_phone("heads", view="lens", text="We can go home", position=9, more=8)
    table = page.locator(".st-key-heads_lens_table .box")
    box, depth, chosen = (one.bounding_box() for one in (
        table, table.locator("tbody th").first, table.locator("thead .chosen")))
    assert abs(depth["x"] - box["x"]) < 4
    assert depth["x"] + depth["width"] <= chosen["x"] + 1
    assert chosen["x"] + chosen["width"] <= box["x"] + box["width"] + 1
    table.evaluate("box => box.scrollTo(0, 0)")
    settle(page)
    assert table.evaluate("box => box.scrollLeft") == 0  # it can be scrolled away
    visit("/checkpoints?checkpoint=translate&view=compare&against=step")
    assert page.evaluate(WIDE, ".plain-table") == []  # two models stand beside each other

"""A model of more heads than fit, and a text of more tokens, as somebody meets them."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import transformer

from .conftest import INKED, reached, windows

PHONE, LAPTOP = (390, 844), (1440, 900)
SIZES = {"d_model": 32, "d_ff": 32, "head_dim": 4, "max_len": 640, "encoder_layers": 0, "positions": "rotary"}
TEXT = "We can go home. I see a dog and a cat. " * 15


@pytest.fixture(scope="module")
def many(put_model):
    """The id of a checkpoint of 20 layers with 12 heads each."""
    return put_model("imports/many-heads", **SIZES, decoder_layers=20, n_heads=12)


def places(page):
    """Where the heads and the map are in their picture."""
    return page.locator(".attention-view").evaluate("""root => {
        const { tiles, map, width, height, group } = root.view.tiles;
        const at = tiles.map((one) => ({ at: one.at, x: one.x + width / 2, y: one.y + height / 2 }));
        return { tiles: at, map, group, width, height };
    }""")


def test_many_heads_are_chosen_on_the_map_large_and_by_keys(visit, many):
    page = visit(f"/write?{urlencode({'checkpoint': many, 'text': TEXT[:40], 'step': 0, 'layer': 7, 'head': 2})}")
    grid = page.locator("canvas.grid")
    for _ in windows(page, [LAPTOP, PHONE]):
        found = places(page)
        assert found["group"][0] <= 7 < found["group"][1]
        assert {tuple(one["at"]) for one in found["tiles"]} >= {(7, head) for head in range(12)}
        assert min(found["width"], found["height"]) >= 16
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_label("Heads", exact=True).select_option("apart")
    reached(page, order="apart")
    found = places(page)
    assert found["group"] is None
    first = found["tiles"][0]
    grid.click(position={"x": first["x"], "y": first["y"]})
    reached(page, layer=first["at"][0], head=first["at"][1])
    map_, drawn = found["map"], {tuple(one["at"]) for one in found["tiles"]}
    layer, head = next((layer, head) for layer in range(12, 20) for head in range(12) if (layer, head) not in drawn)
    grid.click(position={"x": map_["x"] + (head + 0.5) * map_["cw"], "y": map_["y"] + (layer + 0.5) * map_["ch"]})
    reached(page, layer=layer, head=head)
    grid.focus()
    page.keyboard.press("ArrowRight")  # not among those drawn: to the first of the ranking
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    second = found["tiles"][1]["at"]
    reached(page, layer=second[0], head=second[1])


def test_a_long_text_is_drawn_through_a_window_that_keys_and_clicks_move(visit, many):
    page = visit(f"/write?{urlencode({'checkpoint': many, 'text': TEXT[:500], 'step': 0})}")
    whole = page.locator("canvas.text")
    assert "queries 244 to 499 of 500" in whole.get_attribute("title")
    assert page.get_by_role("group", name="tokens", exact=True).locator("span").count() < 450
    whole.focus()
    page.keyboard.press("ArrowUp")
    reached(page, start="116:244")
    whole.click(position={"x": 1, "y": 1})
    reached(page, start="0:0")
    assert "queries 0 to 255 of 500 look at keys 0 to 255 of 500" in whole.get_attribute("title")
    page.locator(".controls > output").click()
    page.keyboard.press("ArrowRight")
    reached(page, step=1, start="0:0")
    assert "of 501" in whole.get_attribute("title")


@pytest.mark.parametrize(("layers", "heads"), [(2, 2), (32, 32)], ids=["4 heads", "1,024 heads"])
def test_a_file_of_many_heads_draws_them_whatever_was_handed_in(make_checkpoint, alone, complaints, tmp_path, layers,
                                                                heads):
    ckpt = make_checkpoint(n_heads=heads, head_dim=2, d_model=2 * heads, decoder_layers=layers, encoder_layers=0)
    *_, step = transformer.steps(ckpt, "I am cold. We", max_steps=3)
    reading = transformer.attend(ckpt, "I am cold. We")
    changed = reading.attentions["decoder"] - reading.attentions["decoder"].roll(1, 0)
    tokens = reading.axes("decoder")[0]
    file = tmp_path / "picture.html"
    for picture in (transformer.show(step), transformer.show(reading), transformer.show(reading.words()),
                    transformer.show(reading, exact=False), transformer.show(changed, tokens)):
        page = alone(picture.save(file))
        page.wait_for_selector("[data-drawn]")
        assert page.locator("canvas.grid").evaluate(INKED) > 20
        assert page.locator("canvas.matrix").evaluate(INKED) > 20
        page.get_by_label("Layer", exact=True).select_option(str(layers - 1))
        page.get_by_role("radio", name="Lines").click()
        page.get_by_role("radio", name="Matrix").click()
        assert complaints == []
    alone(transformer.show(reading, exact=False).save(file))
    page.get_by_label("Layer", exact=True).select_option("1")
    page.get_by_label("Save").select_option("csv")
    expect(page.locator(".readout")).to_contain_text("pooled")

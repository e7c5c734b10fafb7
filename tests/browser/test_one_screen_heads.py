"""The first screen of each view of the Heads page, measured: what is chosen and what a click changes, without a
scroll, on a laptop, a projector and a telephone."""

import pytest
from playwright.sync_api import expect

SIZES = {"laptop": (1440, 900), "projector": (1280, 720), "telephone": (390, 844)}
LONG = ("We have to go home before it gets dark because my mother does not like it when we are late and she will be "
        "angry if we do not eat with her this evening.")
SHOWN = {  # view -> what has to be on its first screen
    "roles": [".st-key-heads_role_line", ".head-maps .list", ".head-maps .card",
              ".st-key-heads_role_best h4", ".st-key-heads_role_best [data-testid=stText]", ".weight-grid"],
    "switch": [".st-key-heads_text input", ".st-key-heads_demonstration", ".st-key-heads_boards",
               ".st-key-heads_path_before [data-testid=stText]", ".st-key-heads_path_after [data-testid=stText]"],
    "lens": [".st-key-heads_text input", ".st-key-heads_position", ".st-key-heads_lens_one .box"],
    "direct": [".st-key-heads_text input", ".st-key-heads_position", ".head-maps .card >> nth=0",
               ".head-maps .card >> nth=1", ".st-key-heads_effect_head figcaption", ".st-key-heads_effect_head .box"],
    "attribution": [".st-key-heads_text input", ".st-key-heads_position", ".st-key-heads_attribution_table .box"],
}
ON_WIDE = {"lens": [".st-key-heads_lens_table .box"]}


@pytest.fixture
def first_screen(visit_anew):
    """Opens a view at a size: `first_screen("roles", "projector", text=LONG)`."""

    def first_screen(view, size, **params):
        width, height = SIZES[size]
        address = "&".join(f"{name}={value}" for name, value in {"view": view, **params}.items())
        page = visit_anew(f"/heads?{address}", width=width, height=height)
        page.locator(SHOWN[view][-1]).first.wait_for()
        return page

    return first_screen


def check(page, view, size):
    """All that the view shows at first lies on the screen, which nobody has scrolled."""
    width, height = SIZES[size]
    assert page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    line = page.locator(".st-key-heads_line").bounding_box()
    assert line["height"] <= 100, line
    for selector in SHOWN[view] + (ON_WIDE.get(view, []) if width > 640 else []):
        box = page.locator(selector).first.bounding_box()
        assert box, f"{selector} is not drawn"
        assert box["y"] >= 50 and box["y"] + box["height"] <= height + 1, f"{selector}: {box} of {height}"
        assert box["height"] >= 20, f"{selector}: {box}"


@pytest.mark.parametrize("size", SIZES)
def test_roles_answer_beside_the_maps(size, first_screen, reached):
    page = first_screen("roles", size)
    check(page, "roles", size)
    page.locator(".head-maps .list [data-card=first]").click()
    reached(page, role="first")
    check(page, "roles", size)
    page.locator('.head-maps [data-at="first/0/cross:0:1"]').click()
    reached(page, role_layer=0, role_head=1)
    expect(page.get_by_role("heading", name="Cross, layer 0 · head 1")).to_be_visible()
    check(page, "roles", size)


@pytest.mark.parametrize("text", ["I am cold.", LONG], ids=["short", "long"])
@pytest.mark.parametrize("size", SIZES)
def test_a_switch_answers_beside_the_switches(size, text, first_screen, reached):
    page = first_screen("switch", size, text=text, heads="cross:2:3")
    check(page, "switch", size)
    page.locator(".st-key-heads_switch_cross_1 button").nth(1).click()
    reached(page, heads="cross:2:3,cross:1:1")
    check(page, "switch", size)


@pytest.mark.parametrize("text", ["I like red wine.", LONG], ids=["short", "long"])
@pytest.mark.parametrize("view", ["lens", "direct", "attribution"])
@pytest.mark.parametrize("size", SIZES)
def test_a_prediction_is_chosen_beside_what_it_is_made_of(size, view, text, first_screen, reached):
    page = first_screen(view, size, text=text, steps=8)
    check(page, view, size)
    page.locator(".st-key-heads_position button").nth(2).click()
    reached(page, position=2)
    check(page, view, size)


def test_a_head_clicked_shows_beside_its_map_where_it_looks(first_screen, reached):
    page = first_screen("direct", "projector")
    page.locator('.head-maps [data-at="effect/0/cross:1:2"]').click()
    reached(page, effect="cross-1-2")
    expect(page.locator(".st-key-heads_effect_head figcaption")).to_contain_text("cross layer 1 · head 2")
    check(page, "direct", "projector")


def test_it_opens_on_a_sentence_that_is_another_without_a_head(first_screen):
    page = first_screen("switch", "projector")
    expect(page.locator(".st-key-heads_path_before [data-testid=stText]")).to_have_text("J'ai froid.")
    expect(page.locator(".st-key-heads_path_after [data-testid=stText]")).to_have_text("Je suis froid.")
    page.get_by_role("radio", name="She is not as tall as her brother.").click()
    expect(page.locator(".st-key-heads_path_before [data-testid=stText]")).to_contain_text("aussi grand que")
    expect(page.locator(".st-key-heads_path_after [data-testid=stText]")).to_contain_text("aussi grande que")
    check(page, "switch", "projector")


def test_no_view_fetches_plotly_for_its_first_screen(visit_anew):
    page = visit_anew("/heads?view=roles", width=1280, height=720)
    page.locator(".weight-grid").wait_for()
    assert not page.evaluate("performance.getEntriesByType('resource').filter(one => /plotly/i.test(one.name)).length")

"""The first screen of each view of the Heads page, measured: what is chosen and what a click changes, without a
scroll, on a laptop, a projector and a telephone."""

import pytest
from playwright.sync_api import expect

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
def first_screen(visit):
    """Opens a view: `first_screen("roles", text=LONG)`."""

    def first_screen(view, **params):
        address = "&".join(f"{name}={value}" for name, value in {"view": view, **params}.items())
        page = visit(f"/heads?{address}")
        page.locator(SHOWN[view][-1]).first.wait_for()
        return page

    return first_screen


def check(page, view, size):
    """All that the view shows at first lies on the screen, which nobody has scrolled."""
    width, height = size
    assert page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    line = page.locator(".st-key-heads_line").bounding_box()
    assert line["height"] <= 100, line
    for selector in SHOWN[view] + (ON_WIDE.get(view, []) if width > 640 else []):
        box = page.locator(selector).first.bounding_box()
        assert box, f"{selector} is not drawn"
        assert box["y"] >= 50 and box["y"] + box["height"] <= height + 1, f"{selector}: {box} of {height}"
        assert box["height"] >= 20, f"{selector}: {box}"


def test_roles_answer_beside_the_maps(first_screen, windows, reached):
    page = first_screen("roles")
    for head, size in enumerate(windows(page)):
        check(page, "roles", size)
        for measure in ("previous", "first"):
            page.locator(f".head-maps .list [data-card={measure}]").click()
            reached(page, role=measure)
        check(page, "roles", size)
        page.locator(f'.head-maps [data-at="first/0/cross:0:{head}"]').click()
        reached(page, role_layer=0, role_head=head)
        expect(page.get_by_role("heading", name=f"Cross, layer 0 · head {head}")).to_be_visible()
        check(page, "roles", size)


@pytest.mark.parametrize("text", ["I am cold.", LONG], ids=["short", "long"])
def test_a_switch_answers_beside_the_switches(text, first_screen, windows, reached):
    page, off = first_screen("switch", text=text, heads="cross:2:3"), "cross:2:3"
    for head, size in enumerate(windows(page)):
        check(page, "switch", size)
        page.locator(".st-key-heads_switch_cross_1 button").nth(head).click()
        off += f",cross:1:{head}"
        reached(page, heads=off)
        check(page, "switch", size)


@pytest.mark.parametrize("text", ["I like red wine.", LONG], ids=["short", "long"])
@pytest.mark.parametrize("view", ["lens", "direct", "attribution"])
def test_a_prediction_is_chosen_beside_what_it_is_made_of(view, text, first_screen, windows, reached):
    page = first_screen(view, text=text, steps=8)
    for position, size in enumerate(windows(page), 1):
        check(page, view, size)
        page.locator(".st-key-heads_position button").nth(position).click()
        reached(page, position=position)
        check(page, view, size)


def test_a_head_clicked_shows_beside_its_map_where_it_looks(first_screen, windows, reached):
    page = first_screen("direct")
    for head, size in enumerate(windows(page)):
        page.locator(f'.head-maps [data-at="effect/0/cross:1:{head}"]').click()
        reached(page, effect=f"cross-1-{head}")
        expect(page.locator(".st-key-heads_effect_head figcaption")).to_contain_text(f"cross layer 1 · head {head}")
        check(page, "direct", size)

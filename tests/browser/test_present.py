"""Pages shown to a room: a presenter's keys, and terms explained. How each looks, tests/browser/test_audit.py says."""

import re

import pytest
from playwright.sync_api import expect

WIDTH, HEIGHT = 1280, 720


@pytest.fixture
def shown(visit, page):
    def shown(address):
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        return visit(f"{address}{'&' if '?' in address else '?'}present=1")
    return shown


def test_a_presenter_walks_down_a_page_darkens_it_and_leaves(shown, reached):
    page = shown("/positions?view=Sinusoidal")
    top = "document.querySelector('[data-testid=stMain]').scrollTop"
    page.keyboard.press("PageDown")
    page.wait_for_function(f"{top} > 100")
    page.keyboard.press("b")
    expect(page.locator(".heads-up-black")).to_be_visible()
    page.keyboard.press("PageUp")  # brings the picture back, and no more
    expect(page.locator(".heads-up-black")).to_have_count(0)
    assert page.evaluate(top) > 100
    page.keyboard.press("PageUp")
    page.wait_for_function(f"{top} === 0")
    page.keyboard.press("Escape")
    reached(page, present=None)
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    page.keyboard.press("f")
    reached(page, present=1)


@pytest.mark.parametrize(("address", "chosen"), [
    ("/train?run=checkpoints/translate", ["checkpoints/translate"]),
    ("/classify?show=toy", ["Train one in three seconds"])])
def test_what_was_chosen_beside_the_title_stays_chosen(address, chosen, visit, theirs, reached, settle):
    """theirs: a run, which comes first in the list of runs."""
    page = visit(address)

    def now():
        return page.locator("[class*=_title]").evaluate("""line => [
          ...[...line.querySelectorAll("input[role=combobox]")].map((field) => field.value),
          ...[...line.querySelectorAll("[role=radio][aria-checked=true]")].map((radio) => radio.innerText)]""")

    assert now() == chosen
    page.keyboard.press("f")
    reached(page, present=1)
    settle(page)
    expect(page.get_by_role("combobox", name="Run")).to_be_hidden()
    page.keyboard.press("Escape")
    reached(page, present=None)
    settle(page)
    assert now() == chosen


def test_at_the_end_of_a_page_the_keys_are_for_what_goes_on_after_it(shown):
    page = shown("/train?view=runs")  # fits on a screen
    page.evaluate("""() => {
      window.left = [];
      window.addEventListener("keydown", (event) => event.defaultPrevented || window.left.push(event.key));
    }""")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageUp")
    assert page.evaluate("window.left") == ["PageDown", "PageUp"]


def test_a_term_is_explained_inside_the_window_by_hover_focus_and_tap(visit_anew):
    page = visit_anew("/positions", width=390, height=844)
    explanation = page.locator(".heads-up-term")
    for term in page.locator("dfn.term").all():
        term.focus()
        expect(explanation).to_have_text(re.compile(r"\.$"))
        box = explanation.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    expect(explanation).to_have_count(0)
    page.locator("dfn.term").first.click()
    expect(explanation).to_be_visible()
    page.locator("h1").click()
    expect(explanation).to_have_count(0)

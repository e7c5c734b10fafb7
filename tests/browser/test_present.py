"""Pages shown to a room: type that the last row reads, nothing set up only once, and a presenter's keys."""

import re

import pytest
from playwright.sync_api import expect

WIDTH, HEIGHT, PART = 1280, 720, 0.04
VIEWS = [
    "/positions?view=Sinusoidal", "/positions?view=Rotary", "/positions?view=Trained", "/positions?view=Left+out",
    "/train?view=new", "/train?view=watch&run=checkpoints%2Ftranslate&forming_kind=cross", "/train?view=runs",
    "/checkpoints?view=card", "/checkpoints?view=tokenizer&search=red", "/checkpoints?view=weights",
    "/checkpoints?view=compare", "/checkpoints?view=add", "/library", "/", "/translate", "/write", "/classify"]
# Here what is chosen, such as one view of several, stays to be chosen.
CHOSEN = ["/lessons", "/masks", "/masks?mask=all", "/by_hand", "/heads?view=roles", "/heads?view=switch",
          "/heads?view=lens", "/heads?view=direct", "/heads?view=attribution"]
# What may be smaller: exponents and indices, which are read with what they stand on; the attention view, which is as
# large as lets all of it be on one screen; hidden names of buttons.
SMALLER = ("sup, .katex *, .attention-view:not(.forming) *, [data-testid=stIconMaterial], .visually-hidden, .unseen, "
           "style, script")
# Every text in sight with its size on the screen: of its type, enlarged with all that it stands in.
SIZES = """smaller => {
  const found = [];
  const visit = (tree) => {
    for (const one of tree.querySelectorAll("*")) {
      if (one.shadowRoot) visit(one.shadowRoot);
      const text = [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join(" ");
      if (!text.trim() || one.matches(smaller) || !one.checkVisibility({ visibilityProperty: true })) continue;
      const { width, height } = one.getBoundingClientRect();
      if (width < 2 || height < 2) continue;
      const clipped = one.closest?.("[class*=_leave]");
      if (clipped) continue;
      found.push([parseFloat(getComputedStyle(one).fontSize) * (one.currentCSSZoom ?? 1), text.slice(0, 40)]);
    }
  };
  visit(document.querySelector("[data-testid=stMainBlockContainer]"));
  return found.sort((a, b) => a[0] - b[0]).slice(0, 5);
}"""
CONTROLS = "button, input, textarea, select, [role=radio], [role=combobox], [role=slider], summary, a[href]"
# The way back; the slider through a training, the heads and views that an attention view is of.
ALLOWED = "[class*=_leave] *, .forming *, .attention-view *, [data-testid=stHeaderActionElements] *"
SEEN = f"""() => {{
  const all = [...document.querySelectorAll("[data-testid=stApp] :is({CONTROLS})")];
  return all.filter((one) => one.checkVisibility({{ visibilityProperty: true }}) && !one.matches("{ALLOWED}"))
    .filter((one) => one.getBoundingClientRect().width > 1)
    .map((one) => one.outerHTML.slice(0, 120));
}}"""


@pytest.fixture
def shown(visit, page):
    def shown(address):
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        return visit(f"{address}{'&' if '?' in address else '?'}present=1")
    return shown


@pytest.mark.parametrize("address", VIEWS + CHOSEN)
def test_all_type_is_read_from_the_last_row_and_nothing_is_left_to_set_up(address, shown):
    page = shown(address)
    small = [one for one in page.evaluate(SIZES, SMALLER) if one[0] < PART * HEIGHT - 0.05]
    assert small == []
    assert page.evaluate(SEEN) == [] or address in CHOSEN
    expect(page.locator("h1:visible")).to_have_count(0)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0


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
    said = page.locator(".heads-up-term")
    for term in page.locator("dfn.term").all():
        term.focus()
        expect(said).to_have_text(re.compile(r"\.$"))
        box = said.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    expect(said).to_have_count(0)
    page.locator("dfn.term").first.click()
    expect(said).to_be_visible()
    page.locator("h1").click()
    expect(said).to_have_count(0)


@pytest.mark.parametrize("address", ["/positions", "/train?view=watch&run=checkpoints%2Ftranslate", "/checkpoints",
                                     "/library"])
def test_a_screen_reader_finds_one_title_headings_and_a_name_for_every_button(address, visit):
    page = visit(address)
    found = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    nodes = [node for node in found if not node["ignored"]]

    def of_role(role):
        return [node for node in nodes if node["role"]["value"] == role]

    levels = [next(one["value"]["value"] for one in node["properties"] if one["name"] == "level")
              for node in of_role("heading")]
    assert levels.count(1) == 1
    assert len(levels) > 1 or address == "/positions"  # whose figures' titles are drawn in them
    assert [node for node in of_role("button") if not node.get("name", {}).get("value", "").strip()] == []

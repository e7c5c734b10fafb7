"""The narrowest telephone, 320 pixels wide, under a finger: nothing scrolls sideways, nothing is cut off, and what is
tapped on the main path is as large as a finger."""

import pytest

from benchmarks.visit import Count

from .conftest import SETTLED, WAIT_MS, listen_for_others

FIRST, STEP = 1_500_000, 50_000  # bytes: a first page, and a step
SIZE = {"width": 320, "height": 640}
FINGER = 40  # px
LEAST = 120  # px, of the head in focus
ADDRESSES = {"home": "/", "translate": "/translate?text=I+like+red+wine.&step=4", "write": "/write?text=KING&step=3",
             "classify": "/classify", "heads": "/heads", "lessons": "/lessons",
             "by hand": "/by_hand", "lesson": "/lessons?lesson=query-and-key&stop=2", "room": "/room"}
TAPPED = """.controls button, .next-tokens > button:not(.others), .attention-view .bar :is(button, select),
.lesson-bar button, .walk-offer button, [data-testid=stButton] button, [data-testid=stPageLink] a,
[data-testid=stExpandSidebarButton], [data-testid=stMainMenu] button, [data-testid=stPopoverButton]"""
LOOK = """tapped => {
  const below = (tree) => [...tree.querySelectorAll("*")].flatMap((e) => e.shadowRoot ? trees(e.shadowRoot) : []);
  const trees = (tree) => [tree, ...below(tree)];
  const all = (selector) => trees(document).flatMap((tree) => [...tree.querySelectorAll(selector)]);
  const box = (e) => e.getBoundingClientRect();
  const inSight = (e) => e.checkVisibility({ visibilityProperty: true }) && box(e).width > 1 && box(e).height > 1
    && !e.closest("[data-testid=stSidebar]");
  const above = (e) => e.parentElement ?? e.getRootNode().host;
  const scrolls = (e) => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX);
  const inScroller = (e) => {
    for (let one = above(e); one && one.dataset.testid !== "stMain"; one = above(one)) if (scrolls(one)) return true;
    return false;
  };
  const said = (e) => [(e.ariaLabel || e.title || e.textContent).trim().slice(0, 40), box(e).width, box(e).height];
  const main = document.querySelector("[data-testid=stMain]");
  return {
    wide: [document.documentElement.scrollWidth, main.scrollWidth],
    cut: all("button, a, p, h1, h2, h3, canvas, input, textarea, select, table")
      .filter((e) => inSight(e) && (box(e).right > innerWidth + 1 || box(e).left < -1) && !inScroller(e)).map(said),
    small: all(tapped).filter((e) => inSight(e) && (box(e).width < 39.5 || box(e).height < 39.5)).map(said),
    head: all("[data-part=head]").filter(inSight).map((e) => box(e).height),
  };
}"""


@pytest.fixture(scope="module")
def phone(chromium):
    """A telephone's page, which is touched, of somebody who was never here."""
    context = chromium.new_context(viewport=SIZE, device_scale_factor=2, has_touch=True, is_mobile=True)
    context.add_init_script(SETTLED)
    context.set_default_timeout(WAIT_MS)
    listen_for_others(context)
    yield context.new_page()
    context.close()


def test_a_first_page_and_a_step_weigh_little(phone, app_url, settle, reached):
    count = Count(phone.context.new_cdp_session(phone))

    def passed():
        return sum(file["wire"] for file in count.files.values()) + count.said  # messages as they are unpacked

    phone.goto(app_url + ADDRESSES["translate"], wait_until="domcontentloaded")
    settle(phone)
    first = passed()
    assert 500_000 < first <= FIRST
    phone.locator('[data-action="step"]').tap()
    reached(phone, step=5)
    assert 0 < passed() - first <= STEP


@pytest.mark.parametrize("name", ADDRESSES)
def test_nothing_is_cut_off_and_all_that_is_tapped_is_as_large_as_a_finger(phone, app_url, settle, reached, name):
    phone.goto(app_url + ADDRESSES[name], wait_until="domcontentloaded")
    if name == "by hand":
        reached(phone, step=1)  # of which there is one at a time
    found = settle(phone).evaluate(LOOK, TAPPED)
    assert max(found["wide"]) <= SIZE["width"]
    assert found["cut"] == []
    assert found["small"] == []
    assert min(found["head"], default=LEAST) >= LEAST

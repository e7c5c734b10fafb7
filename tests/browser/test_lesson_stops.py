"""What every stop of every lesson is about is on a projector's first screen, whole: presented, as the lesson opens it,
and for who takes it alone above its strip or beside its sign, where Next is what is filled; and of the lesson that
everybody takes alone on a telephone too.

What a stop is about follows from its link, so a new lesson is in this; a page that no stop has been on needs an entry.
"""

from contextlib import suppress
from urllib.parse import urlencode

import pytest
from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

from transformer.basics.paths import ROOT
from transformer.lessons.parsing import parse

from .conftest import WAIT_MS, expect_filled, settle

WIDTH, HEIGHT, STRIP = 1280, 720, 44  # px; the strip of a lesson or a room in one line


def by_hand(params, see):
    parts = {"scale": [".st-key-by_hand_spreads [data-testid=stVegaLiteChart]"],
             "batch": [".st-key-by_hand_folded td:nth-child(2)"],  # the shapes
             "slips": [f".st-key-by_hand_{see} figure"], "trained": ["figure[data-name=weights]"],
             "vectors": [f".vectors {one}" for one in ("svg", ".told", "tbody", ".strip", "input", ".status")]}
    return parts.get(params.get("part"), [".st-key-by_hand_one figure.matrix"])


def heads(params, see):
    parts = {"switch": [".st-key-heads_boards", ".st-key-heads_switched"],
             "direct": [".head-maps .card .grid", ".st-key-heads_effect_head table"],
             "roles": [".head-maps .card .grid", ".weight-grid table"],
             "attribution": [".st-key-heads_attribution_table table"]}
    return parts[params["view"]]


def masks(params, see):
    off = "off" in (params.get("causal", "off"), params.get("padding", "on"))
    switched = [".st-key-masks_changed", *([".st-key-masks_trained"] if off else [])]
    parts = {"switched": switched, "leak": switched,
             "as_numbers": [".st-key-masks_as_numbers table"]}
    return parts.get(see, ["[class*=_mask] .js-plotly-plot"])


def positions(params, see):
    left_out = [".st-key-positions_attention_trained", ".st-key-positions_attention_bare"]
    parts = {"Sinusoidal": ["[data-testid=stVegaLiteChart]!"], "Rotary": ["[data-testid=stPlotlyChart]!"]}
    return left_out if params["view"] == "Left out" else parts[params["view"]]


ABOUT = {
    "translate": lambda params, see: [".model-room"] if params.get("view") == "model" else ["canvas.matrix"],
    "write": lambda params, see: ["canvas.matrix"],
    "by_hand": by_hand, "heads": heads, "masks": masks, "positions": positions,
    "train": lambda params, see: [".st-key-train_quick_reverse button", ".st-key-train_quick_repeat button"] if (
        params.get("view") == "now") else [".forming [data-part=loss] .u-over", ".forming [data-part=head] canvas",
                                           ".forming input"],
    "classify": lambda params, see: [f".st-key-classify_toy_{part}" for part in ("positive", "negative", "train")],
    "library": lambda params, see: ["[data-testid=stCode]!"]}  # ! the first of them

# Every element that a selector finds and is drawn: how much of it lies outside what is seen, of the screen and of every
# box that cuts it off.
OUTSIDE = """([selectors, width, height, top = 0]) => {
  const trees = [document.querySelector("[data-testid=stMain]")];
  for (const tree of trees)
    trees.push(...[...tree.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean));
  const all = (selector) => trees.flatMap((tree) => [...tree.querySelectorAll(selector)])
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height > 0);
  const cut = (one) => {
    const box = one.getBoundingClientRect();
    const seen = { left: 0, top, right: width, bottom: height };
    for (let at = one; at; at = at.parentElement ?? at.getRootNode().host) {
      if (at === one || getComputedStyle(at).overflow === "visible" || at.matches("body, html")) continue;
      const clip = at.getBoundingClientRect();
      seen.left = Math.max(seen.left, clip.left);
      seen.top = Math.max(seen.top, clip.top);
      seen.right = Math.min(seen.right, clip.right);
      seen.bottom = Math.min(seen.bottom, clip.bottom);
    }
    return Math.max(seen.left - box.left, seen.top - box.top, box.right - seen.right, box.bottom - seen.bottom);
  };
  return selectors.flatMap((selector) => {
    const found = selector.endsWith("!") ? all(selector.slice(0, -1)).slice(0, 1) : all(selector);
    return found.length ? found.map(cut).filter((far) => far > 3).map((far) => `${selector} by ${Math.round(far)} px`)
      : [`${selector} is not there`];
  });
}"""


def every_stop():
    """Lesson, number from 1, and the stop."""
    return [(path.stem, at, stop) for path in sorted((ROOT / "lessons").glob("*.md"))
            for at, stop in enumerate(parse(path.read_bytes(), path.stem, file=path.name).stops, 1)]


def stops():
    """Each place once, though several lessons stop there."""
    found = {}
    for lesson, at, stop in every_stop():
        found.setdefault((stop.page, tuple(sorted(stop.params.items())), stop.see), (lesson, at, stop))
    return [*found.values()]


def first_of_each_page(stops, lesson=None):
    """Those stops as parameters of a test, of which all but the first on each page, of that lesson, are rare."""
    pages, found = set(), []
    for *before, stop in stops:
        again = stop.page in pages or lesson not in (None, before[0])
        marks = [pytest.mark.rare("one stop of each page is looked at in make test")] if again else []
        found.append(pytest.param(*before, stop, marks=marks, id="-".join(map(str, before))))
        if not again:
            pages.add(stop.page)
    return found


ONE_VISITOR = True


@pytest.mark.parametrize(("lesson", "at", "stop"), first_of_each_page(stops()))
def test_what_a_stop_is_about_is_whole_on_a_projector(lesson, at, stop, page, reach):
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.evaluate("document.querySelector('[data-testid=stMain]')?.scrollTo(0, 10_000)")  # as looked at before
    shown = reach(f"/{stop.page}?{urlencode({**stop.params, 'lesson': lesson, 'stop': at, 'present': 1})}")
    foot = shown.evaluate("parseFloat(document.documentElement.style.getPropertyValue('--foot')) || 0")
    assert foot <= STRIP
    about = [ABOUT[stop.page](stop.params, stop.see), WIDTH, HEIGHT - foot]
    with suppress(TooLate):  # the strip looks for its part every 300 ms, until it has been drawn
        shown.wait_for_function(f"about => !({OUTSIDE})(about).length", arg=about)
    assert shown.evaluate(OUTSIDE, about) == []


ALONE, TELEPHONE = "why-it-works", (390, 844)
SENTENCE, WRITTEN, MATRIX = ".st-key-translate_text input", ":is([data-part=target], .rows > .text)", "canvas.matrix"
VECTORS = ".vectors tbody", ".vectors .query .head"
ABOVE = {  # of each stop: what its text and its question need
    1: [WRITTEN, MATRIX], 2: [SENTENCE, WRITTEN], 3: [*VECTORS, ".vectors svg"], 4: [MATRIX],
    5: [*VECTORS, ".vectors input"], 6: [*VECTORS, ".vectors .strip"], 7: ["canvas.model"],
    8: [".st-key-positions_both h2", ".st-key-positions_both [data-testid=stText]"],
    9: [".st-key-masks_causal", ".st-key-masks_leak [data-testid=stMarkdown]!"], 10: ["canvas.model"],
    11: [".st-key-train_quick_reverse button!"], 12: [WRITTEN, MATRIX]}
# What of a stop is not seen whole, where the strip has the words of a lesson: below it, or above the header.
COVERED = f"""([selectors, width, height]) => {{
  const foot = parseFloat(document.documentElement.style.getPropertyValue("--foot"));
  const head = document.querySelector("[data-testid=stHeader]").getBoundingClientRect().bottom;
  const words = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]
    .some((one) => one.shadowRoot?.querySelector(".lesson-bar:not(.folds) .words"));
  return words ? ({OUTSIDE})([selectors, width, height - foot, head]) : ["the strip has no words"];
}}"""


# What the sign of a tour points at is whole, and the sign lies on none of it.
POINTED = """() => {
  const trees = [document];
  for (const tree of trees)
    trees.push(...[...tree.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean));
  const [part, sign] = [".driver-active-element", ".driver-popover"].map((selector) =>
    trees.map((tree) => tree.querySelector(selector)).find(Boolean)?.getBoundingClientRect());
  if (!part || !sign) return ["there is no sign, or it points at nothing"];
  const inside = ({ left, top, right, bottom }) =>
    left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
  const apart = part.right <= sign.left || part.left >= sign.right || part.bottom <= sign.top ||
    part.top >= sign.bottom;
  return [inside(part) || "the part is cut", inside(sign) || "the sign is cut", apart || "the sign covers the part"]
    .filter((one) => one !== true);
}"""


@pytest.mark.parametrize(("lesson", "at", "stop"), first_of_each_page(every_stop(), ALONE))
def test_what_a_stop_is_about_is_above_the_strip_for_who_takes_it_alone(lesson, at, stop, page, reach):
    """In a small window and, of the lesson for everybody, when that is turned into one of a telephone's size."""
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    shown = reach(f"/{stop.page}?{urlencode({**stop.params, 'lesson': lesson, 'stop': at})}")
    seen = POINTED if stop.point else COVERED
    for width, height in ((WIDTH, HEIGHT), *([TELEPHONE] if lesson == ALONE else [])):
        page.set_viewport_size({"width": width, "height": height})
        told = ABOVE[at] if lesson == ALONE else []
        about = [[*told, *(ABOUT[stop.page](stop.params, stop.see) if width == WIDTH else [])], width, height]
        with suppress(TooLate):
            settle(shown).wait_for_function(f"about => !({seen})(about).length", arg=about, timeout=WAIT_MS / 4)
        assert shown.evaluate(seen, about) == [], (width, height)
        last = shown.locator("[data-act=next]").filter(has_text="Finish").count()
        steps = stop.deed == "step"
        expect_filled(shown, "StepReplay" if steps else "Finish" if last else "Next" if stop.point else "Next stop")


def test_a_strip_is_one_line_while_presented_and_one_taller_for_a_moment_leaves_the_part_where_it_belongs(page, visit):
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    words = visit(f"/by_hand?part=vectors&present=1&lesson={ALONE}&stop=3").locator(".lesson-bar > .words")
    expect(page.locator(".lesson-bar")).to_contain_class("folds")
    expect(words).to_be_hidden()
    page.keyboard.press("Escape")
    expect(words).to_be_visible()
    assert page.locator(".lesson-bar").bounding_box()["height"] > STRIP
    page.set_viewport_size(dict(zip(("width", "height"), TELEPHONE, strict=True)))
    visit(f"/by_hand?part=vectors&kind=decoder&layer=1&head=1&row=3&lesson={ALONE}&stop=3")
    page.wait_for_function(f"about => !({COVERED})(about).length", arg=[ABOVE[3], *TELEPHONE])
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    place, strip = page.evaluate(scrolled), page.locator(".lesson-bar")
    strip.evaluate("strip => { strip.style.minHeight = '45vh'; }")
    page.wait_for_function(f"place => {scrolled} > place + 20", arg=place)
    strip.evaluate("strip => { strip.style.minHeight = ''; }")
    page.wait_for_function(f"place => {scrolled} === place", arg=place)
    assert page.evaluate(COVERED, [ABOVE[3], *TELEPHONE]) == []

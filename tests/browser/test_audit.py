"""Audits every page, view and lesson stop, and every screen of a room, at all sizes, in light and dark: layout,
accessibility (axe), touch targets, and what is left on the screen while presenting. The addresses come from the pages'
own fields and the lessons' files, so a new one is audited without a change here.

One address of each page is audited quickly, on a projector and a telephone; the rare tests audit all of them, whole. A
test collects all faults of its address before it fails.
"""

from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from transformer.lessons.parsing import read_file
from ui.access.visitors import LECTURER
from ui.lessons.stop_links import fields_of
from ui.page.pages import EVERY_PAGE, HOME

from .conftest import settle
from .rooms import FORMS, frames

ONE_VISITOR = True  # opens all addresses in turn
ROOT, HERE = Path(__file__).resolve().parents[2], Path(__file__).resolve().parent
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
PROJECTOR, PHONE, NARROWEST, WIDE = SIZES = (1280, 720), (390, 844), (320, 640), (1440, 900)
CONTRAST = {"runOnly": ["color-contrast"]}
STRUCTURE = {"rules": {"color-contrast": {"enabled": False}}}  # much faster: it renders no pixels
VIEWS = ("view", "part", "show")  # fields of a link that choose one view of a page: the first that it has

# Violations in Streamlit's own markup, which we cannot change: (rule, selector).
THEIRS = [
    # A file uploader's drop zone always has role=presentation, a name and a tabindex.
    ("presentation-role-conflict", "[data-testid=stFileUploaderDropzone]"),
    # The label of a disabled widget is as faint as the widget. Nothing in the markup ties the two together.
    ("color-contrast", "[data-testid=stWidgetLabel][disabled]"),
]

LONG = ("She told me that she was going to the old house near the river, but I did not know when her brother would "
        "come back from his work in the city.")
OFF = "cross:1:1"
LOOKED_INTO = {"/translate model": {"text": LONG, "step": 12, "view": "model"}, "/write model": {"view": "model"},
               "/translate head": {"text": LONG, "step": 12, "view": "model", "level": "head"}}
LONGER = {"/translate": {"text": LONG, "step": 0}, "/write": {"text": LONG[:40], "step": 0},
          "/classify?show=speakers": {"text": LONG},
          **{f"/heads?view={view}": {"text": LONG, "steps": 8, "heads": OFF}
             for view in ("switch", "why", "lens", "direct", "attribution", "flow")}}

def each(*selectors, height=20, count=1):
    """What has to be on the first screen without scrolling: (selector, least height in px, how many; 0 means all)."""
    return [(one, height, count) for one in selectors]


STEPS = [*each("[data-part=head]", height=120), *each(".next-tokens > button:not(.others)", count=3)]
WRITTEN = ":is([data-part=target], .rows > .text)"  # its tokens, on a telephone its text
BUTTONS = each(".controls > button", count=0)
TYPED, POSITION = ".st-key-heads_text input", ".st-key-heads_position"
FIRST = {
    "/translate": [*each("[data-part=controls]", "[data-part=source]", WRITTEN), *STEPS, *BUTTONS],
    "/write": [*each("[data-part=controls]", WRITTEN), *STEPS, *BUTTONS],
    "/classify?show=speakers": [*each("[data-part=source]"), *STEPS],
    "/heads?view=roles": each(".st-key-heads_role_line", ".head-maps .list", ".head-maps .card",
                              ".st-key-heads_role_best [data-testid=stText]", ".weight-grid"),
    "/heads?view=contexts": each(".st-key-heads_contexts_line", "[class*=st-key-heads_found_] button",
                                 "[class*=st-key-heads_context_] .chips"),
    "/heads?view=switch": each(TYPED, ".st-key-heads_demonstration", ".st-key-heads_boards",
                               ".st-key-heads_path_before [data-testid=stText]",
                               ".st-key-heads_path_after [data-testid=stText]"),
    "/heads?view=why": each(TYPED, POSITION, ".st-key-heads_why_sure", ".st-key-heads_why_agree"),
    "/heads?view=lens": each(TYPED, POSITION, ".st-key-heads_lens_one .box"),
    "/heads?view=direct": [*each(TYPED, POSITION), *each(".head-maps .card", count=2),
                           *each(".st-key-heads_effect_head figcaption", ".st-key-heads_effect_head .box")],
    "/heads?view=attribution": each(TYPED, POSITION, ".st-key-heads_attribution_table .box"),
    "/heads?view=patching": each(TYPED, ".st-key-heads_other input", ".head-maps .card"),
    "/heads?view=flow": each(TYPED, POSITION, ".flow .room"),
    "/heads?view=spaces": each(TYPED, ".st-key-heads_space_line", ".st-key-heads_space_token",
                               ".st-key-heads_space_picture .stVegaLiteChart"),
    "/train?view=watch": [*each("[data-part=loss]", height=140), *each("[data-part=head]", height=200),
                          *each(".st-key-train_now button", ".st-key-train_new button")],
    "/train?view=now": each(".st-key-train_quick_reverse button"),
    "/train?view=new": each(".st-key-train_start button"),
}
# The picture of a page, which has most of a projector's screen.
PICTURES = {
    **{f"/{page}": ".panes" for page in ("translate", "translate long", "write", "classify?show=speakers")},
    **{f"/{page}": ".model-picture" for page in ("translate model", "translate head", "write model")},
    "/by_hand?part=steps": ".st-key-by_hand_one", "/masks": ".st-key-masks_picture",
    **{f"/positions?view={view}": ".st-key-positions_picture" for view in ("Sinusoidal", "Rotary")},
    "/heads?view=roles": ".st-key-heads_role_first", "/heads?view=contexts": ".st-key-heads_contexts_picture",
    "/heads?view=flow": ".st-key-heads_flow_picture", "/heads?view=switch": ".st-key-heads_switch_picture",
    **{f"/heads?view={view}": f"[data-testid=stHorizontalBlock]:has(.st-key-heads_{part})" for view, part in (
        ("lens", "lens_table"), ("direct", "effects"), ("attribution", "attribution_table"), ("patching", "patched"),
        ("neurons", "neuron_one"), ("spaces", "space_picture"), ("why", "evidence"))},
}
MATRICES = dict.fromkeys(("/translate", "/write"), each("[data-part=head]", height=400))
SHARE, CONTROLS_IN_SIGHT = 0.55, 25  # of a projector's screen
FORM = {"/train?view=new": 33}  # controls of a form, with the signs of their helps
PRESENTED = {"/translate": 0.7, "/translate long": 0.6, "/write": 0.7, "/classify?show=speakers": 0.7}
HALVES = ("/", "/translate", "/write", "/classify?show=speakers")  # where the picture has half of a telephone
FINGER = 40  # px
TAPPED = """.controls button, .next-tokens > button:not(.others), .attention-view .bar :is(button, select),
.lesson-bar button, .tour-offer button, [data-testid=stButton] button, [data-testid=stPageLink] a,
[data-testid=stExpandSidebarButton], [data-testid=stMainMenu] button, [data-testid=stPopoverButton]"""

PROJECTORS = PROJECTOR, (1920, 1080), (1024, 768)
PART = 1 / 30  # least height of type while presenting, as a share of the screen's shorter side
# Pages on which some controls stay while presenting.
CHOSEN = ("/lessons", "/masks", "/by_hand", "/heads", "/room", "/classify?show=toy", "/train?view=now")
# Type that may be smaller: exponents and indices, and the attention view, which scales to fit the screen.
SMALLER = ("sup, sub, .katex *, .attention-view:not(.forming) *, [data-testid=stIconMaterial], .visually-hidden, "
           ".unseen, style, script")
CONTROLS = "button, input, textarea, select, [role=radio], [role=combobox], [role=slider], summary, a[href]"
# Controls that may stay: the way back, the slider through a training, and the choosers of an attention view.
ALLOWED = "[class*=_leave] *, .forming *, .attention-view *, [data-testid=stHeaderActionElements] *"


def views_of(page):
    """The name of the field that chooses one view of a page, and all views, the page's own first; none without one."""
    fields = fields_of(page)
    for name in VIEWS:
        if name in fields and fields[name].options:
            own = fields[name].default
            return name, [own, *(one for one in fields[name].options if one != own)]
    return None, []


def address_of(page, values):
    return (f"/{page}" if page != HOME.name else "/") + (f"?{urlencode(values)}" if values else "")


def addresses():
    """Name -> address of every page and view, with a short and a long text, and of every kind of lesson stop."""
    found, shown = {}, set()
    for page in EVERY_PAGE:
        field, views = views_of(page)
        for view in [{field: one} for one in views] or [{}]:
            address = address_of(page, view)
            found[address] = address
            if address in LONGER:
                found[f"{address} long"] = f"{address}{'&' if view else '?'}{urlencode(LONGER[address])}"
    found |= {name: address_of(name[1:].partition(" ")[0], values) for name, values in LOOKED_INTO.items()}
    for file in sorted((ROOT / "lessons").glob("*.md")):
        lesson = read_file(file)
        for at, stop in enumerate(lesson.stops, 1):
            kind = stop.question.kind if stop.question else None
            field, views = views_of(stop.page)
            view = stop.params.get(field, views[0]) if field else None
            here = (lesson.guided, stop.page, view), (lesson.guided, kind)
            if lesson.guided or not shown.issuperset(here[1:]):
                found[f"{lesson.name} {at}"] = f"/lessons?lesson={lesson.name}&stop={at}"
            shown.update(here)
    return found


def quickly():
    """Of those names the first of each page, of a long text, of a lesson and of the tour."""
    found = {}
    for name, address in ADDRESSES.items():
        kind = "long" if name.endswith(" long") else "tour" if "lesson=tour" in address else address.partition("?")[0]
        found.setdefault(kind if "lesson=" not in address or kind == "tour" else "lesson", name)
    return [*found.values()]


ADDRESSES = addresses()


@cache
def scripts():
    if not AXE.exists():
        pytest.skip("no axe-core in node_modules: `npm ci` brings it, where npm is there and reaches its registry")
    return f"{AXE.read_text()}\n{(HERE / 'audit.js').read_text()}"


@pytest.fixture(autouse=True)
def axe_is_there():
    """Skips a test before it opens a page if axe is missing."""
    scripts()


class Audit:
    """Collects the faults of a page, with the sizes and themes in which they occur."""

    def __init__(self, page, settle, before=None) -> None:
        self.page, self.settle, self.found = page, settle, before.found if before else {}
        self.size, self.state = WIDE, ""
        settle(page)
        if not page.evaluate("'audit' in window"):
            page.evaluate(scripts())
        self.theme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")

    def at(self, size) -> None:
        self.size = size
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.evaluate("document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)")
        self.settle(self.page)

    def ask(self, what: str, *args) -> None:
        """Adds the faults that `audit.what(...args)` returns."""
        self.note(self.page.evaluate(f"args => audit.{what}(...args)", list(args)))

    def note(self, found) -> None:
        for fault in found:
            self.found.setdefault(fault, []).append(f"{self.size[0]} x {self.size[1]}, {self.theme}{self.state}")

    def axe(self, of="html", **options) -> None:
        self.ask("names", of, THEIRS, options)

    def dark(self, on: bool) -> None:
        """Switches to the dark or the light theme and waits until the server has drawn its charts again."""
        self.theme = "dark" if on else "light"
        self.page.emulate_media(color_scheme=self.theme)
        self.page.wait_for_function("""theme => {
          const app = document.querySelector(".stApp");
          return !app || window.headsUpViews?.scheme === theme;
        }""", arg=self.theme)
        self.settle(self.page)

    def fails(self) -> str:
        return "\n".join(f"{fault}\n    at {'; '.join(where)}" for fault, where in self.found.items())


def open_boxes(page):
    """Opens every expander on the page, and those inside them."""
    for _ in range(5):  # nested ones appear after a rerun
        if not page.evaluate("""() => {
          const closed = document.querySelectorAll("[data-testid=stMain] details:not([open]) > summary");
          closed.forEach((one) => one.click());
          return closed.length;
        }"""):
            break
        settle(page)


def popovers(page):
    """Opens each popover in turn."""
    buttons = page.locator("[data-testid=stMain] [data-testid=stPopoverButton]:enabled")
    for at in range(buttons.count()):
        if not buttons.nth(at).is_visible():
            continue
        buttons.nth(at).click()
        page.mouse.move(0, 0)
        page.get_by_test_id("stPopoverBody").wait_for()
        settle(page)
        yield
        page.keyboard.press("Escape")
        page.get_by_test_id("stPopoverBody").wait_for(state="detached")


def audit_address(name, page, touch, *, whole):
    """All faults of an open page that an address names. whole: at every size, and with all that opens."""
    audit, lesson = Audit(page, settle), "lesson=" in ADDRESSES[name]
    for size in SIZES if whole else (PHONE, PROJECTOR):
        audit.at(size)
        if size != NARROWEST:
            audit.ask("first", FIRST.get(name.removesuffix(" long"), []))
        if size in (PHONE, NARROWEST):
            if whole:
                audit.ask("layout", size[0])
            touch(True)
            settle(page)
            if size == PHONE and name in HALVES:
                audit.ask("half", ".panes")
            audit.ask("fingers", TAPPED, FINGER)
            audit.ask("layout", size[0])
            touch(False)
        else:
            audit.ask("layout", size[0])
        if size == PROJECTOR and not lesson:
            audit.ask("stage", PICTURES.get(name), SHARE, FORM.get(name, CONTROLS_IN_SIGHT))
            audit.ask("first", MATRICES.get(name, []))
        if whole and size == PHONE:
            audit.axe(**STRUCTURE)
    opens = whole and not lesson and not name.endswith(" long")  # with a long text the same opens
    if opens:
        open_boxes(page)
        for _ in popovers(page):
            audit.axe("[data-testid=stPopoverBody]")
    audit.axe()
    audit.ask("outside")
    audit.dark(audit.theme == "light")
    audit.axe(**CONTRAST)
    if opens:
        for _ in popovers(page):
            audit.axe("[data-testid=stPopoverBody]", **CONTRAST)
    # one of a page on each projector, of its other views on a small one and one of another shape
    projectors = PROJECTORS if name in quickly() else PROJECTORS[::2]
    for size in () if lesson else projectors if whole else PROJECTORS[:1]:
        audit.at(size)
        page.keyboard.press("f")
        page.wait_for_url("**present=1*")
        settle(page)
        audit.state = ", presented"
        audit.note(page.evaluate(WAY_BACK))
        audit.ask("small", PART * min(size), SMALLER)
        if not name.startswith(CHOSEN):
            audit.ask("left", f"[data-testid=stApp] :is({CONTROLS})", ALLOWED)
        audit.ask("layout", size[0])
        audit.ask("cuts")
        if name in PRESENTED:
            audit.ask("stage", PICTURES[name], PRESENTED[name], 15)
        if whole and size == PROJECTOR:
            audit.axe(**STRUCTURE)
        if size != PROJECTORS[-1]:
            page.get_by_role("button", name="Leave").click()
            page.mouse.move(0, 0)  # off the next one's, whose hint would open
            settle(page)
        audit.state = ""
    return audit


@pytest.fixture
def fit(reach, touch, complaints):
    """Audits an address: `fit("/translate", whole=True)`."""
    def fit(name, *, whole):
        audit = audit_address(name, reach(ADDRESSES[name]), touch, whole=whole)
        audit.note(complaints)
        assert not audit.found, f"{ADDRESSES[name]}\n{audit.fails()}"

    return fit


@pytest.mark.parametrize("name", quickly())
def test_a_page_is_fit_for_everybody_on_a_projector_and_a_telephone(name, fit):
    fit(name, whole=False)


@pytest.mark.rare("minutes: every address at every size, in light and dark")
@pytest.mark.parametrize("name", ADDRESSES)
def test_every_address_is_fit_for_everybody_at_every_size(name, fit):
    fit(name, whole=True)


WAY_BACK = """() => {
  const box = document.querySelector("[class*=_leave] button").getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  return document.elementFromPoint(x, y)?.closest("[class*=_leave] button") ? [] : ["the way back is not to be seen"];
}"""


def all_over(audit, sizes, *, dark):
    """Audits a page without expanders at all sizes, in light and, if `dark`, in dark."""
    for size in sizes:
        audit.at(size)
        audit.ask("layout", size[0])
    audit.axe()
    if dark:
        audit.dark(True)
        audit.axe(**CONTRAST)
        audit.dark(False)


def phones(page, room, forms):
    """A phone in a room: before anything is shown, following, and with each kind of question in each phase."""
    page.goto(f"{room.url}/r/{room.room.code}")
    expect(page.get_by_text("The lecturer has not shown anything yet.").first).to_be_visible()
    yield "nothing shown", True
    for step, look in enumerate(({}, {"view": "lines"}, {"hide": True}), 3):
        room.show(step, **look)
        expect(page.get_by_text(f"step {step}", exact=True)).to_be_visible()
        yield f"shown {look}", True
    yield from questions(page, room, forms)


def questions(page, room, forms):
    """Each kind of question in each phase, the answer in the dark too. The split of answers looks the same for all
    kinds and is part of the answer phase, so only the first kind has a phase of its own for it."""
    for about in forms:
        question, made = room.ask(about)
        for phase in ("open", "split", "answer") if about == FORMS[0] else ("open", "answer"):
            room.phase(question, phase)
            page.locator(f"[data-phase={phase}]").wait_for()
            yield f"{about}, {phase}", phase == "answer"
            if phase == "open":
                room.come(2)
                room.answer(question, made, count=2)
        room.put_away()
        page.locator("[data-phase=answer]").wait_for(state="hidden")


def walls(page, room, forms):
    """The wall: how to join, what is shown, each kind of question in each phase, and a pause."""
    page.goto(f"{room.url}/room?wall={room.room.code}")
    expect(page.locator(".join")).to_contain_text(room.room.code)
    yield "way in", True
    room.show(4)
    page.locator("[data-part=head]").wait_for()
    yield "shown", True
    yield from questions(page, room, forms)
    room.store.set_mode(room.id, "paused")
    expect(page.locator(".cover.pause")).to_be_visible()
    yield "pause", True


def lecterns(page, room, forms):
    """The lecturer's page, and the strip on another page before and while something is asked."""
    page.context.add_cookies([{"name": LECTURER, "value": room.key, "url": room.url}])
    page.goto(f"{room.url}/room")
    expect(page.locator(".room-bar .code").first).to_contain_text(room.room.code)
    yield "page", True
    page.goto(f"{room.url}/translate")
    page.locator("[data-part=head]").wait_for()
    yield "strip", True
    room.ask()
    page.get_by_role("radio", name="Open", exact=True).and_(page.locator(":checked, [aria-checked=true]")).wait_for()
    yield "strip, asked", True


def remotes(page, room, forms):
    """The lecturer's phone, before and while something is asked."""
    page.goto(f"{room.url}/lead#{room.key}")
    expect(page.locator(".room-bar .code").first).to_contain_text(room.room.code)
    yield "nothing asked", True
    room.show(4)
    room.ask()
    page.locator("[data-phase=open]").first.wait_for()
    yield "asked", True


def looking(page, room, forms):
    """The strip of a student who looks around."""
    page.goto(f"{room.url}/translate?room={room.room.code}")
    page.locator("[data-part=head]").wait_for()
    yield "strip", True


def plain(page, room, forms):
    """The other pages that are not Streamlit's."""
    for address in ("r", "r/ZZZZZ", "lead", "teacher", "move"):
        page.goto(f"{room.url}/{address}")
        yield f"/{address}", True


FACES = {"phone": (phones, [PHONE, NARROWEST]), "wall": (walls, [PROJECTOR]), "lectern": (lecterns, SIZES),
         "remote": (remotes, [PHONE, NARROWEST]), "looking": (looking, SIZES), "plain": (plain, SIZES)}

MAIN = {"phone": ["shown {}", f"{FORMS[0]}, answer"], "wall": ["shown", f"{FORMS[0]}, answer"],
        "lectern": ["strip, asked"], "remote": ["asked"], "looking": ["strip"], "plain": ["/r", "/lead"]}  # states


def audit_face(face, room, visitor, *, whole):
    """All faults of a face of a room. whole: in all its states, with each kind of question, at all sizes."""
    states, sizes = FACES[face]
    page, audit = visitor(*sizes[0]), None
    for state, dark in states(page, room, FORMS if whole else FORMS[:1]):
        if not whole and state not in MAIN[face]:
            continue
        app = page.get_by_test_id("stApp").count() > 0
        audit = Audit(page, settle if app else frames, audit)
        audit.state = f", {state}"
        all_over(audit, sizes if whole else sizes[:1], dark=dark)
    assert audit and not audit.found, f"{face}\n{audit.fails()}"


@pytest.mark.parametrize("face", FACES)
def test_a_face_of_a_room_is_fit_for_everybody(face, room, visitor):
    audit_face(face, room, visitor, whole=False)


@pytest.mark.rare("minutes: every kind of question on every face of a room, at every size")
@pytest.mark.parametrize("face", FACES)
def test_a_face_of_a_room_is_fit_for_everybody_with_every_question_at_every_size(face, room, visitor):
    audit_face(face, room, visitor, whole=True)

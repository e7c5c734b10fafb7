"""What a link asks for and a page goes on without is said above the page, until something else is looked at."""


import pytest

from transformer.basics.paths import ROOT
from transformer.lessons.parsing import read_file
from ui.lessons.stop_links import fields_of
from ui.page.link import GLOBAL_PARAMS, decimal, quiet, read, whole, wholes
from ui.page.pages import EVERY_PAGE, PAGES
from ui.page.unheeded import MOST, SAID, sentences, unheeded

from .page import press, put, words

pytestmark = pytest.mark.usefixtures("lasting")
FIELDS = {"step": whole(3, 0, 9), "share": quiet(decimal(0.5, 0, 1)), "rows": wholes([1], 9, count=3)}
NOSUCH = "nosuch"


def missed(**asked: str) -> dict[str, tuple[str, str | None]]:
    """Of a page that goes on with what it reads."""
    return unheeded(FIELDS, asked, read(FIELDS, asked), GLOBAL_PARAMS)


def test_what_is_read_otherwise_than_it_is_asked_for_is_found():
    assert missed() == missed(step="3", share="0.50", rows="4,2", present="1", lesson="x", utm_source="x") == {}
    assert missed(step=" 4 ", share="1e-1", rows="") == {}
    assert missed(step="12") == {"step": ("12", "9")}
    assert missed(share="7", rows="2,99") == {"share": ("7", "1"), "rows": ("2,99", "2,9")}
    assert missed(step="x", layr="1") == {"step": ("x", "3"), "layr": (None, None)}
    assert unheeded(FIELDS, {"step": "7"}, {"step": 5}) == {"step": ("7", "5")}  # of a text that has five steps
    told = sentences({"step": ("12", "9"), "a`b": (None, None), "view": ("x" * 99, None)})
    assert told[0] == "The link asks for `step=12`; this is `step=9`."
    assert told[1] == "The link asks for `aʼb`, which this page does not have."
    assert told[2].startswith("The link asks for `view=…xxx") and told[2].endswith("`, which cannot be followed.")
    assert len(sentences({str(at): ("1", None) for at in range(MOST + 2)})) == MOST + 1


@pytest.mark.parametrize("page", PAGES)
def test_of_every_parameter_of_every_page_what_it_cannot_read_is_said(visit, page):
    fields = fields_of(page)
    at = visit(page, nosuch="1", **dict.fromkeys(fields, NOSUCH))
    assert "`nosuch`, which this page does not have" in words(at, "warning")
    unread = {"nosuch"}
    for name, field in fields.items():
        try:
            field.read(NOSUCH)
        except (ValueError, KeyError, OverflowError):
            unread.add(name)
    assert unread <= {*unheeded(fields, {**dict.fromkeys(fields, NOSUCH), "nosuch": "1"}, {})}
    assert len(at.session_state[SAID][2]) >= min(len(unread), MOST)


def test_it_is_said_of_what_only_the_page_knows_until_something_else_is_looked_at(visit):
    at = visit("write", text="ROMEO:", step="0", layer="77", lesson=NOSUCH)
    assert "The link asks for `layer=77`; this is `layer=" in words(at, "warning")
    at = visit("heads", view="lens", position="99", text="I am cold.")
    assert "The link asks for `position=99`" in words(at, "warning")
    assert "position=99" not in words(put(at, "heads_view", "direct"), "warning")
    at = visit("heads", view=NOSUCH, present="1")
    assert "The link" not in words(at, "warning")
    press(at, "heads_leave")
    assert "The link" not in words(at, "warning")


def test_a_room_that_is_not_there_is_said_once(visit):
    for name, code in (("wall", "XYZ234"), ("room", "no such room")):
        at = visit("write", **{name: code})
        assert f"There is no room `{code}`, or it has ended." in words(at, "warning")
        assert "There is no room" not in words(put(at, "write_text", "ROMEO:"), "warning")


def test_no_stop_of_a_lesson_asks_for_what_its_page_cannot_read():
    for path in sorted((ROOT / "lessons").glob("*.md")):
        for stop in read_file(path).stops:
            fields = fields_of(EVERY_PAGE[stop.page].name)
            assert not unheeded(fields, stop.params, read(fields, stop.params), {"checkpoint"}), (path.name, stop.title)


@pytest.mark.parametrize("page", PAGES)
def test_an_address_that_a_page_has_written_itself_is_heeded(visit, page):
    written = {**visit(page).query_params}
    assert "The link" not in words(visit(page, **{name: str(value) for name, value in written.items()}), "warning")


def test_what_is_chosen_in_a_picture_and_odd_texts_are_heeded(visit):
    for address in ({"layer": "1", "head": "0"}, {"text": "1+1"}, {"text": "e"}, {"text": "2024-01-01"},
                    {"text": "ROMEO:", "step": "1", "pair": "1:0", "layer": "1"}):
        assert "The link" not in words(visit("write", **address), "warning"), address
    assert "The link" not in words(visit("translate", text="I am cold.", step="2", kind="cross", layer="1", head="0",
                                         lit="0,1", choices="0:40"), "warning")
    assert "`view=nosuch`, which cannot be followed" in words(visit("translate", view=NOSUCH), "warning")

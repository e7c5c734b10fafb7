"""Views saved as files and opened again, in a browser without anything but the app."""

import json

import pytest
from playwright.sync_api import expect

from .conftest import address, choose, reached, saved, settle

DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  const dropped = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
  document.querySelector("[data-testid=stMain]").dispatchEvent(dropped);
  return dropped.defaultPrevented;
}"""
LONG = "ROMEO:\n" + "é" * 247  # each takes six characters of an address


def view(page="write", **params):
    return json.dumps({"headsup_view": 1, "page": page, "params": params})


def drop(page, text, name="a.view.json"):
    assert page.evaluate(DROP, [name, text])  # or the browser would leave for the file


@pytest.mark.rare("three pages are loaded")
def test_a_text_too_long_for_a_link_is_saved_and_opened_by_dropping_it(visit, visit_anew):
    page = visit("/positions")
    drop(page, view(text=LONG, step="2", layer="1", temperature="0.3"))
    page.wait_for_url("**/write?**")
    settle(page)
    assert "text" not in address(page)
    name, text = saved(page, page.get_by_role("button", name="Save this view as a file").click)
    assert name.endswith(".view.json")
    assert json.loads(text)["params"] | {"text": LONG, "step": "2", "layer": "1", "temperature": "0.3"} == json.loads(
        text)["params"]
    other = visit_anew("/")
    drop(other, text.decode("utf-8"))
    other.wait_for_url("**/write?**")
    settle(other)
    expect(other.locator("textarea").first).to_have_value(LONG)
    assert address(other)["layer"] == "1" and address(other)["temperature"] == "0.3"


@pytest.mark.rare("a race")
def test_a_step_taken_as_a_view_opens_is_left_with_its_page(visit):
    """It is asked for while the other page comes, which then stays."""
    page = visit("/")
    for ms in (0, 0, 5, 10):
        drop(page, view(text="To be"))
        page.wait_for_timeout(ms)
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/write?**")
        expect(settle(page).locator("textarea").first).to_have_value("To be")
        choose(page, "home")
        page.wait_for_url("**/")
        expect(settle(page).get_by_role("group", name="source tokens")).to_be_visible()


@pytest.mark.rare("tests/test_saved_view.py has the refusals")
def test_a_view_is_chosen_from_the_menu_and_a_file_that_is_none_is_refused_with_a_sentence(visit, tmp_path):
    page = visit("/positions")
    for text, message in ((view("../app"), "does not exist here"), (" " * 1_000_001, "at most 1,000,000 bytes")):
        drop(page, text)
        expect(page.get_by_test_id("stAlert")).to_contain_text(message)
        assert "/positions" in page.url
    (tmp_path / "a.view.json").write_text(view("masks", source1="Go on. I stay."))
    page.get_by_test_id("stMainMenu").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("menuitem", name="Open a saved view").click()
    chooser.value.set_files(tmp_path / "a.view.json")
    page.wait_for_url("**/masks?**")
    reached(page, source1="Go on. I stay.")

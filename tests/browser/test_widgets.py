"""What a browser sends for every kind of widget that the pages use is taken, and not for a forgery."""

import json

import pytest
from playwright.sync_api import expect

from .conftest import settle

pytestmark = pytest.mark.rare("Streamlit's own widgets, on a server of its own")
SCRIPT = """
import streamlit as st
from ui.state import patches
patches.apply()
st.title("Widgets")
for key, widget, options in (
    ("whole", st.number_input, {"value": 192, "min_value": 0}), ("real", st.number_input, {"value": 0.5, "step": 0.1}),
    ("slide", st.slider, {"value": 3, "max_value": 9}), ("share", st.slider, {"value": 0.5, "max_value": 1.0}),
    ("range", st.slider, {"value": (2, 5), "max_value": 9}), ("size", st.select_slider, {"options": ["s", "m", "l"]}),
    ("one", st.selectbox, {"options": ["a", "b"]}), ("segment", st.segmented_control, {"options": ["a", "b"]}),
    ("pill", st.pills, {"options": ["a", "b"]}), ("switch", st.toggle, {}), ("line", st.text_input, {}),
    ("lines", st.text_area, {})):
    widget(key, key=key, **options)
st.multiselect("many", ["a", "b"], key="many")
if st.button("press"):
    st.write("pressed")
st.code("values " + __import__("json").dumps(dict(st.session_state), sort_keys=True, default=str))
"""


@pytest.fixture(scope="module")
def widgets(serve, tmp_path_factory):
    """The address of a page with one widget of each kind."""
    folder = tmp_path_factory.mktemp("widgets")
    (folder / "widgets.py").write_text(SCRIPT)
    _, url = serve(folder / "log.txt", "-m", "streamlit", "run", str(folder / "widgets.py"), "--server.port", "0",
                   "--server.fileWatcherType", "none")
    return url


def test_every_kind_of_widget_reaches_the_page(widgets, page):
    page.goto(widgets)
    settle(page)
    for key, value in (("whole", "32"), ("real", "0.75"), ("line", "one"), ("lines", "two")):
        page.get_by_label(key, exact=True).fill(value)
        page.get_by_label(key, exact=True).press("Control+Enter" if key == "lines" else "Enter")
        settle(page)
    for key, handles in (("slide", 1), ("share", 1), ("range", 2), ("size", 1)):
        for handle in range(handles):
            page.locator(f".st-key-{key} input[type=range]").nth(handle).press("ArrowRight")
            settle(page)
    for key in ("one", "many"):
        page.locator(f".st-key-{key} input").click()
        page.keyboard.type("b")
        page.keyboard.press("Enter")
        settle(page)
    for key in ("segment", "pill"):
        page.locator(f".st-key-{key}").get_by_text("b", exact=True).click()
        settle(page)
    page.locator(".st-key-switch label").click()
    settle(page)
    text = settle(page).locator("code", has_text="values").text_content()
    assert json.loads(text.removeprefix("values ")) == {
        "whole": 32, "real": 0.75, "slide": 4, "share": 0.51, "range": [3, 6], "size": "m", "one": "b", "segment": "b",
        "pill": "b", "switch": True, "line": "one", "lines": "two", "many": ["b"]}
    page.get_by_role("button", name="press").click()
    expect(page.get_by_text("pressed")).to_be_visible()

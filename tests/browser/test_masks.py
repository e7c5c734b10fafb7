"""Masks in Chromium: one mask large with what chooses it on one screen, and boxes that say what they are for."""

import pytest

from .conftest import SIZES, in_window, reached, windows


@pytest.mark.parametrize("sizes", [SIZES[-1:], pytest.param(SIZES, marks=pytest.mark.rare(
    "the other masks, in the other windows"))], ids=["telephone", "all"])
def test_a_mask_a_switch_and_what_they_change_are_on_one_screen_and_boxes_are_labelled(sizes, visit):
    page, masks = visit("/masks"), {"Causal": "causal", "Source padding": "source", "Cross": "cross",
                                    "Target padding": "target", "Target and causal": "decoder"}
    choosers = page.get_by_role("radiogroup", name="Mask")
    switch, changed = page.get_by_text("Causal mask", exact=True), page.locator(".st-key-masks_changed .nsewdrag").first
    for at, _ in enumerate(windows(page, sizes)):
        for label in list(masks)[at::3]:  # in each window some of them, which are drawn alike
            chooser = choosers.get_by_role("radio", name=label, exact=True)
            chooser.click()
            reached(page, mask=masks[label])
            picture = page.locator(f".st-key-masks_{masks[label]}_mask .nsewdrag").first
            picture.wait_for()
            in_window(page, chooser, picture)
            assert picture.bounding_box()["height"] >= 200
            assert picture.bounding_box()["width"] >= 200
        changed.wait_for()
        switch.evaluate("one => one.scrollIntoView({ block: 'start' })")
        page.get_by_test_id("stMain").evaluate("one => one.scrollBy(0, -80)")
        in_window(page, switch, changed)
        switch.click()
        reached(page, causal="off" if at % 2 else "on")
    assert not page.get_by_label("English 1").is_visible()  # folded away on a telephone, which is the last window
    page.get_by_role("button", name="Your sentences").click()
    for row in (1, 2, 3, 4):
        for language in ("English", "French"):
            assert page.locator("label").filter(has_text=f"{language} {row}").is_visible()
    box = page.get_by_label("English 2")
    box.fill("Go on.")
    box.press("Enter")
    reached(page, source2="Go on.")

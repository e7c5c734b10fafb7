"""Exercises in Chromium: cells filled in by keyboard, checked, shown and kept; and the worksheet, downloaded."""

from transformer.by_hand.stages import ByHand, Settings

from .conftest import SIZES, address, in_window, reached, settle, windows

FOCUSED = "cell => cell.getRootNode().activeElement === cell"
WEIGHTS = [f"{weight:.2f}" for weight in ByHand(Settings()).heads[0].weights[6].tolist()]


def marks(page) -> list[str]:
    return page.locator(".exercise .mark").all_text_contents()


def test_a_row_is_filled_in_shown_begun_again_and_kept(visit):
    page = visit("/by_hand?part=exercise&step=softmax")  # of the last word
    cells = page.locator(".exercise input")
    cells.first.wait_for()
    assert cells.count() == 7
    assert marks(page) == [""] * 7
    before = address(page)
    cells.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert cells.nth(1).evaluate(FOCUSED)
    page.keyboard.type("rc")  # letters, which elsewhere are keys of the page
    assert cells.nth(1).input_value() == "rc"
    assert address(page) == before
    again = page.get_by_role("button", name="Start again")
    again.click()
    cells.first.focus()
    page.keyboard.type("0.9")
    page.keyboard.press("Enter")
    assert marks(page)[0] == "✗"
    assert cells.first.get_attribute("aria-invalid") == "true"  # more than a colour
    assert "Life: not right" in cells.first.get_attribute("aria-label")
    assert cells.first.evaluate(FOCUSED)
    page.keyboard.type(WEIGHTS[0].replace(".", ","))
    page.keyboard.press("Tab")
    assert marks(page)[:2] == ["✓", ""]
    assert cells.nth(1).evaluate(FOCUSED)
    again.click()
    cells.nth(2).focus()
    page.get_by_role("button", name="Show this cell").click()
    assert marks(page) == ["", "", "○", "", "", "", ""]
    assert cells.nth(2).input_value() == WEIGHTS[2]
    page.get_by_role("button", name="Show all").click()
    assert [cells.nth(at).input_value() for at in range(7)] == WEIGHTS
    assert "0 of 7 right, 7 shown" in page.locator(".exercise [role=status]").text_content()
    again.click()
    assert marks(page) == [""] * 7
    assert [cells.nth(at).input_value() for at in range(7)] == [""] * 7
    cells.first.focus()
    for weight in WEIGHTS:
        page.keyboard.type(weight)
        page.keyboard.press("Enter")
    assert marks(page) == ["✓"] * 7
    assert page.locator(".exercise [role=status]").text_content().endswith("Done: 7 of 7 right")
    turns = [("context", "Next"), ("softmax", "Back"), ("scaled", "Back"), ("products", "Back"), ("scaled", "Next"),
             ("softmax", "Next")]
    for nth, (step, button) in enumerate(turns):
        page.get_by_role("button", name=button).click()
        reached(page, step=step)
        cells.first.wait_for()
        if step != "context":
            for _ in windows(page, [SIZES[nth % len(SIZES)]]):  # the row to fill in with the numbers given
                in_window(page, cells.first, page.locator(".matrix table").first,
                          page.get_by_role("button", name="Next"))
    page.locator(".exercise [data-state=right]").first.wait_for()
    settle(page.reload() and page)
    page.locator(".exercise [data-state=right]").first.wait_for()
    assert [cells.nth(at).input_value() for at in range(7)] == WEIGHTS

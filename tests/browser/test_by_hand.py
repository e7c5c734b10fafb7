"""By hand in Chromium: what a mouse, a keyboard, an address bar and a narrow screen add."""

import pytest

from .conftest import SIZES, choose_option, in_window, reached, settle, windows

NUMBERS = """name => [...document.querySelectorAll(`[data-name="${name}"] td[title]:not(.sum)`)]
  .map(cell => Number(cell.title))"""


def test_words_move_masks_hide_and_positions_are_added_while_the_settings_stay_open(visit):
    page = visit("/by_hand?query=1&step=all")
    page.get_by_role("button", name="Settings:").click()
    settle(page)
    before = page.evaluate(NUMBERS, "x = embeddings")
    page.get_by_role("button", name="Move it right").click()
    reached(page, text="Life too is short for bad coffee", query=2)
    after = page.evaluate(NUMBERS, "x = embeddings")
    assert after[4:8] == before[8:12]
    assert after[8:12] == before[4:8]
    assert after[12:] == before[12:]
    assert page.evaluate(NUMBERS, "ids") == [0, 6, 4, 5, 3, 1, 2]
    page.get_by_role("radio", name="Causal").click()
    reached(page, mask="causal")
    weights = page.evaluate(NUMBERS, "weights")
    assert all(not weights[7 * row + column] for row in range(7) for column in range(row + 1, 7))
    hidden = page.locator('[data-name="weights"] td.masked')
    assert hidden.count() == 21
    assert "repeating-linear-gradient" in hidden.first.evaluate("cell => getComputedStyle(cell).backgroundImage")
    page.get_by_role("radio", name="Added").click()
    reached(page, positions="yes")
    assert page.evaluate(NUMBERS, "positions")[:4] == [0, 1, 0, 1]
    assert page.get_by_role("radio", name="Added").is_visible()


@pytest.mark.rare("five steps in three windows")
def test_what_a_step_shows_is_on_the_screen_with_what_changes_it(visit):
    page = visit("/by_hand?step=all")
    query, last = page.get_by_role("combobox", name="Query"), page.locator('[data-name="context = weights v"]')
    onward = page.get_by_role("button", name="Next")
    for _ in windows(page):
        in_window(page, page.locator('[data-name="ids"] td.chosen'), query,
                  page.get_by_role("button", name="Settings:"), onward)
        last.evaluate("one => one.scrollIntoView({ block: 'center' })")
        in_window(page, query, last)  # while all steps scroll the words to choose stay
    page = visit("/by_hand?step=products")
    texts = ("short", "bad", "coffee", "short", "bad")
    names = ("q kᵀ", "q kᵀ / √d_k", "mask", "weights", "context = weights v")
    steps = ("products", "scaled", "mask", "softmax", "context")
    for nth, (step, name, word) in enumerate(zip(steps, names, texts, strict=True)):
        reached(page, step=step)
        for _ in windows(page, [SIZES[nth % len(SIZES)]]):
            in_window(page, onward, page.locator(f'[data-name="{name}"] table'))
        where = onward.bounding_box()
        choose_option(page, "Query", word)
        reached(page, query=["Life", "is", "too", "short", "for", "bad", "coffee"].index(word))
        assert page.locator(f'[data-name="{name}"] tr.chosen th').text_content() == word
        assert onward.bounding_box() == where
        onward.click()


@pytest.mark.rare("wide matrices on a telephone and in three windows")
def test_on_a_telephone_a_matrix_scrolls_alone_and_says_so_and_wide_numbers_leave_a_page_as_wide_as_it_is(visit, page):
    visit("/by_hand?d_k=24&mask=causal&text=a+b+c+d+e+f+g+h+incomprehensible&step=all")
    page.set_viewport_size({"width": 390, "height": 844})
    matrices = settle(page).locator(".matrix").evaluate_all("""all => all.filter(one => one.offsetParent).map(one => [
      one.dataset.name, one.querySelector('.sign').offsetWidth > 0,
      one.querySelector('.box').scrollWidth > one.querySelector('.box').clientWidth])""")
    assert {name for name, _, scrolls in matrices if scrolls} >= {"q = x W_q", "k = x W_k"}
    assert [name for name, sign, scrolls in matrices if scrolls and not sign] == []
    assert {name for name, sign, _ in matrices if not sign} >= {"x = embeddings", "context = weights v"}
    page = visit("/by_hand?d=512&d_k=512&d_v=512&heads=8&scale=split&step=scaled")
    for width, _ in windows(page):
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        if width < 640:
            for name in ("Increment", "Decrement"):
                box = page.get_by_role("button", name=name).bounding_box()
                assert box["width"] >= 44 and box["height"] >= 44, (name, box)
    choose_option(page, "Part", "Exercise")
    reached(page, part="exercise")
    cells = page.locator(".exercise input")
    cells.first.wait_for()
    assert cells.count() == 7

"""By hand in Chromium: what a mouse, an address bar and a narrow screen add."""

import pytest

NUMBERS = """name => [...document.querySelectorAll(`[data-name="${name}"] td[title]:not(.sum)`)]
  .map(cell => Number(cell.title))"""


def test_moving_a_word_redraws_its_row_and_writes_the_link(visit, reached):
    page = visit("/by_hand?query=1")
    before = page.evaluate(NUMBERS, "x = embeddings")
    page.get_by_role("button", name="Move it right").click()
    reached(page, text="Life too is short for bad coffee", query=2)
    after = page.evaluate(NUMBERS, "x = embeddings")
    assert after[8:16] == before[16:24]
    assert after[16:24] == before[8:16]
    assert after[24:] == before[24:]
    assert page.evaluate(NUMBERS, "ids") == [0, 6, 4, 5, 3, 1, 2]


def test_the_causal_mask_hides_the_future(visit, reached):
    page = visit("/by_hand")
    page.get_by_role("radio", name="Causal").click()
    reached(page, mask="causal")
    weights = page.evaluate(NUMBERS, "weights")
    assert all(not weights[7 * row + column] for row in range(7) for column in range(row + 1, 7))
    hidden = page.locator('[data-name="weights"] td.masked')
    assert hidden.count() == 21
    assert "repeating-linear-gradient" in hidden.first.evaluate("cell => getComputedStyle(cell).backgroundImage")


def test_positions_by_mouse_add_a_matrix(visit, reached):
    page = visit("/by_hand")
    page.get_by_role("radio", name="Added").click()
    reached(page, positions="yes")
    assert page.evaluate(NUMBERS, "positions")[:4] == [0, 1, 0, 1]


@pytest.mark.parametrize("part", ["steps", "scale", "batch", "slips", "trained"])
def test_nothing_scrolls_sideways_on_a_telephone(visit, page, part):
    page.set_viewport_size({"width": 390, "height": 844})
    visit(f"/by_hand?part={part}&heads=4&d_k=64&mask=causal&text=a+b+c+d+e+f+g+h+i+j+k+incomprehensible")
    widest = page.evaluate("""() => Math.max(document.documentElement.scrollWidth,
      ...[...document.querySelectorAll('[data-testid="stMain"], [data-testid="stAppViewContainer"]')]
        .map(box => box.scrollWidth))""")
    assert widest <= 390

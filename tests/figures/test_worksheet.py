"""The worksheet: one file without anything from elsewhere, with empty cells first and the answers on the last sheet."""

import re

from tests.rows import each_row
from transformer.by_hand.exercises import exercises, written
from transformer.by_hand.stages import ByHand, Settings
from ui.views.by_hand.exercise import worksheet

HAND = ByHand(Settings("Go on <b>now</b>", causal=True))
TASKS = exercises(HAND)


def sheets(steps, **options) -> tuple[str, str]:
    page = worksheet(HAND, [TASKS[step] for step in steps], **{"query": None} | options)
    before, after = page.split('<div class="answers">')
    return before, after


def cells(html: str) -> list[str]:
    return re.findall(r"<td class=open>(.*?)</td>", html)


@each_row("step", [3, 4, 5, 6, 7, 8])
def test_cells_are_empty_on_the_sheet_and_filled_among_the_answers(step):
    sheet, answers = sheets([step])
    values = TASKS[step].answer.values
    assert cells(sheet) == [""] * values.numel()
    assert cells(answers) == [written(value) for value in values.flatten().tolist()]
    for one in TASKS[step].given:
        assert f"<b>{one.name}</b>" in sheet


def test_what_is_worked_out_above_is_not_given_away_below():
    sheet, _ = sheets([4, 5])
    assert sheet.count("<b>q kᵀ</b>") == 1
    assert "Use your own q kᵀ from above" in sheet


def test_one_row_alone_can_be_asked_for():
    sheet, answers = sheets([7], query=1)
    assert cells(sheet) == [""] * 3
    assert cells(answers) == [written(value) for value in TASKS[7].answer.values[1].tolist()]
    assert sheet.count("<td>") > 3


def test_the_file_stands_by_itself_and_text_is_text():
    page = "".join(sheets([3, 4, 5, 6, 7, 8]))
    assert "<b>now" not in page
    assert "&lt;b&gt;now&lt;/b&gt;" in page
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", page)
    assert "break-before: page" in page
    assert "Seed 123" in page


def test_of_wide_matrices_the_sheet_has_the_window_that_is_shown_and_says_which():
    hand = ByHand(Settings("a b c", d=64, d_k=512, d_v=40, heads=8, scale="split"))
    tasks = exercises(hand, 24)
    page = worksheet(hand, list(tasks.values()), query=None)
    assert "<b>q = x W_q</b> (3, 512) columns 24 to 31 of 512<" in page
    assert "<b>W_q</b> (64, 512) rows 24 to 31 of 64, columns 24 to 31 of 512<" in page
    assert "<b>the other 504 products, added up</b> (3, 3)<" in page
    assert "divided by ⁴√d_k for q and for k" in page
    before, after = page.split('<div class="answers">')
    values = tasks[3].answer.values[:, 24:32].flatten().tolist()
    assert cells(after)[:24] == [written(value) for value in values]
    assert len(cells(before)) == len(cells(after)) == 24 + 9 + 9 + 9 + 24
    assert page.count("<td") < 500

"""The part of a wide matrix that is shown."""

from itertools import chain

from tests.rows import each_row
from transformer.by_hand.stages import BOUNDS
from transformer.by_hand.window import WHOLE, WINDOW, window

COUNTS = [WHOLE + 1, 100, *sorted({most for _, most in BOUNDS.values() if WHOLE < most < 10_000}), 4_096]


@each_row("count", [0, 1, 12, WHOLE])
@each_row("first", [-5, 0, 7, 10**6])
def test_what_fits_is_shown_whole_wherever_the_window_is(count, first):
    assert window(count, first) == range(count)


@each_row("count", COUNTS)
def test_the_windows_of_a_row_hold_every_number_once_and_what_is_past_an_end_is_in_the_one_there(count):
    shown = [window(count, first) for first in range(0, count, WINDOW)]
    assert list(chain.from_iterable(shown)) == list(range(count))
    assert max(map(len, shown)) == WINDOW
    assert all(first in window(count, first) for first in range(count))
    assert window(count, -1) == window(count, 0) == range(WINDOW)
    assert window(count, 10**9) == window(count, count) == window(count, count - 1)

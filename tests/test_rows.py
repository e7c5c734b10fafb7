"""A test of many rows goes through all of them, and says which fail."""

import inspect

import pytest

from tests.rows import each_row


def test_every_row_is_checked_once_with_what_fixtures_give():
    seen = []

    @each_row("a", (1, 2))
    @each_row("b, c", [(3, 4), (5, 6)])
    def check(a, b, c, tmp_path):
        seen.append((a, b, c, tmp_path))

    assert [*inspect.signature(check).parameters] == ["tmp_path"]
    check(tmp_path="here")
    assert sorted(seen) == [(a, b, b + 1, "here") for a in (1, 2) for b in (3, 5)]


def test_each_row_that_fails_is_named_and_none_hides_another():
    @each_row("number", [0, 1, 2, 3])
    def check(number):
        if number == 3:
            pytest.fail("three")
        assert not number % 2, number

    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows") as failed:
        check()
    assert [error.__notes__ for error in failed.value.exceptions] == [["in the row 1"], ["in the row 3"]]


def test_one_that_fails_alone_is_the_failure_itself():
    @each_row("number", [0, 1])
    def check(number):
        assert not number, number

    with pytest.raises(AssertionError) as failed:
        check()
    assert failed.value.__notes__ == ["in the row 1"]

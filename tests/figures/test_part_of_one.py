"""A share of one is written so that it never claims to be all, or nothing, where it is not."""

import math

from tests.rows import each_row
from ui.figures.labels import cell_label, part_of_one


@each_row("value", [0.995001, 0.996, 0.9999, 1 - 2 ** -24])
@each_row("digits", [2, 3, 4])
def test_what_is_less_than_all_never_reads_as_1(value, digits):
    for said in (part_of_one(value, digits), cell_label(value)):
        assert 0.98 < float(said.replace(">", "")) < 1


@each_row(("value", "said"), [(1.0, "1.00"), (0.5, "0.50"), (0.0, "0.00"), (0.001, "< 0.01"),
                                             (1.234, "1.23"), (0.996, "0.996"), (math.nan, "nan")])
def test_all_others_are_rounded(value, said):
    assert part_of_one(value) == said


def test_a_cell_has_two_digits():
    assert [cell_label(value) for value in (0.124, 1.0, 0.994)] == [".12", "1", ".99"]

import html
import math

import pytest

from tests.rows import each_row
from ui.figures import axis_label, exact_label, markdown_text, plain_label
from ui.figures.labels import cell_label, part_of_one

HOSTILE = ["<s>", "<b>bold</b>", "$x$ and $y$", "<a href='javascript:x'>a</a>", "&lt;", "&amp;lt;", "%{x}", "#000011",
           '"']


@each_row(("piece", "shown"), [
    (" ", "␣"), ("▁cold", "␣cold"), ("▁", "␣"), ("\n", "↵"), ("\t", "⇥"), ("a\u202f!", "a⍽!"), ("\x00", "␀"), ("", "∅"),
    ("\u202eevil", "⟨202E⟩evil"), ("\ud800", "⟨D800⟩"), ("\u0301", "◌\u0301"), ("\u3000", "␣")])
def test_what_cannot_be_seen_gets_a_sign(piece, shown):
    assert exact_label(piece) == shown
    assert plain_label(piece) == {"␣cold": "cold"}.get(shown, shown)  # what begins a word needs no sign


@each_row("piece", HOSTILE)
def test_an_axis_label_has_no_markup_and_gives_the_piece_back(piece):
    label = axis_label(piece, longest=None)
    assert not set("<>$") & set(label)
    assert html.unescape(label) == plain_label(piece, longest=None)


def test_long_pieces_are_cut_between_characters_as_people_see_them():
    assert plain_label("supercalifragilistic", longest=10) == "supercali…"
    assert plain_label("ab👩🏽‍🚀cd", longest=5) == "ab…"
    assert plain_label("abcde\u0301fgh", longest=6) == "abcd…"
    assert plain_label("exactly ten"[:10], longest=10) == "exactly␣te"


@pytest.mark.parametrize(("text", "shown"), [
    ("*a* _b_ `c` [d](e) $f$ :red[g]", r"\*a\* \_b\_ \`c\` \[d\]\(e\) \$f\$ \:red\[g\]"),
    ("translate@c34702e2 12:30", r"translate@c34702e2 12\:30")])
def test_signs_of_markdown_are_escaped(text, shown):
    assert markdown_text(text) == shown


@each_row("text", ["http://x.y", "HTTPS://x.y", "www.x.y", "me@x.y", ":smile:", ":material/home:", "->",
                                  "<-", "--", ">=", "<=", "~="])
def test_what_acts_although_it_is_escaped_is_parted_by_something_unseen(text):
    parted = markdown_text(text).replace("\\", "")
    assert parted != text
    assert parted.replace("\u2060", "") == text


@each_row("value", [0.995001, 0.996, 0.9999, 1 - 2 ** -24])
@each_row("digits", [2, 3, 4])
def test_a_share_that_is_less_than_all_never_reads_as_1(value, digits):
    for said in (part_of_one(value, digits), cell_label(value)):
        assert 0.98 < float(said.replace(">", "")) < 1


@each_row(("value", "said"), [(1.0, "1.00"), (0.5, "0.50"), (0.0, "0.00"), (0.001, "< 0.01"),
                              (1.234, "1.23"), (0.996, "0.996"), (math.nan, "nan")])
def test_all_other_shares_are_rounded(value, said):
    assert part_of_one(value) == said


def test_the_share_in_a_cell_has_two_digits():
    assert [cell_label(value) for value in (0.124, 1.0, 0.994)] == [".12", "1", ".99"]

"""Accepted files: what counts as a difference, and what is written when it is accepted."""

import subprocess
import sys

import pytest

from tests.accepted import difference
from tests.rows import each_row
from transformer.basics.paths import ROOT

FILE = """
def test_words(accepted):
    accepted("words", "It predicts froid at {} with 4 heads.")
"""


@pytest.mark.parametrize(("now", "before"), [
    ("It predicts “froid” at 51.4%.", "It predicts “froid” at 51.5%."), ("−0.530 nats", "−0.531 nats"),
    ("1,203.01", "1,204.00"), ("2.1e-05", "2.2e-05"), ("same", "same"),
])
def test_a_number_may_be_rounded_otherwise(now, before):
    assert difference(now, before) == ""


@each_row(("now", "before"), [
    ("at 51.4%", "at 61.4%"), ("−0.53", "0.53"), ("4 heads", "5 heads"), ("froid", "chaud"), ("a", "a\nb"),
    ("D1H0", "D1H1"), ("head 1.3", "head 1.4"), ("4.1 logits", "4.2 logits"), ("0.5 and 1", "0.5 and 2"),
    ("1.5", "1.5 to 2.5"),
])
def test_all_else_is_a_difference(now, before):
    assert difference(now, before)


def test_a_difference_shows_the_lines_that_are_not_alike_and_no_others():
    assert difference("a 1.00\nb\nc", "a 1.01\nb\nd").splitlines()[3:] == [" b", "-d", "+c"]


@pytest.mark.slow
def test_what_is_new_is_red_until_it_is_accepted(tmp_path):
    file = tmp_path / "test_words.py"
    runs = []
    for words, more in (("41.3%", ()), ("41.3%", ("--update",)), ("41.4%", ()), ("61.4%", ())):
        file.write_text(FILE.format(words))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.accepted", "-p", "no:cacheprovider"]
        runs.append(subprocess.run([*command, "--rootdir", tmp_path, file, *more], cwd=ROOT, capture_output=True,
                                   text=True))
    assert [run.returncode for run in runs] == [1, 0, 0, 1]
    assert "It predicts froid at 61.4% with 4 heads." in runs[3].stdout and "--update" in runs[3].stdout

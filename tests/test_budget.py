"""The suite's budget: a test and a folder that take too much are red, whatever they assert."""

import subprocess
import sys

import pytest

from transformer.basics.paths import ROOT

CONFTEST = """
from tests import budget
budget.MOST_FOR_A_TEST = {a_test}
budget.MOST = {{"here/one": {a_folder}, budget.OTHERS: {others}}}
budget.LONG = .1
budget.ALLOWED = {allowed}
budget.slowness = lambda: {slower}
budget.folder_of = lambda nodeid: "here/one" if "one" in nodeid else "here/two"
"""
FILE = """
import time, pytest

def test_one():
    end = time.process_time() + .3
    while time.process_time() < end:
        pass

def test_two():
    time.sleep(.4)
"""
SETTINGS = """
[pytest]
testpaths = .
addopts = -p tests.budget -p no:cacheprovider -m "not rare and not faults"
markers = slow
    rare
    faults
"""


@pytest.mark.slow
@pytest.mark.parametrize(("a_test", "a_folder", "others", "slower", "allowed", "more", "red"), [
    (5, 5, 5, 1, 1, (), ""), (.1, 5, 5, 1, 1, (), "make it cheaper"),
    (.2, .1, 5, 20, 1, (), ""), (5, .1, 5, 2, 1, (), "here/one took"), (5, 5, -1, 1, 1, (), "all others took"),
    (5, .1, 5, 1, 1, ("-k", "one or two"), ""), (5, .1, 5, 1, 20, (), ""),
], ids=["within all", "a test", "a slow processor", "a folder", "the other folders", "a part of them", "by little"])
def test_who_takes_too_much_is_red(a_test, a_folder, others, slower, allowed, more, red, tmp_path):
    (tmp_path / "conftest.py").write_text(
        CONFTEST.format(a_test=a_test, a_folder=a_folder, others=others, slower=slower, allowed=allowed))
    (tmp_path / "test_it.py").write_text(FILE)
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    command = [sys.executable, "-m", "pytest", *more]
    run = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert run.returncode == bool(red), run.stdout + run.stderr
    assert red in run.stdout and "here/two" in run.stdout

"""The rules of the tests themselves: why one is rare, and which accepted files are still compared with anything."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.lint.repository import ROOT, files, paths, read, refuse

RARE = re.compile(r"pytest\.mark\.rare\b(?!\(\s*[rf]?[\"'][^\"'])")


def test_every_rare_test_says_why():
    refuse((f"{name}:{text[:mark.start()].count(chr(10)) + 1}: rare, and no reason" for name, text in files("tests")
            for mark in RARE.finditer(text)), 'Write @pytest.mark.rare("why, in one line").')


def compared(text: str) -> Iterator[re.Pattern]:
    """What the names may be that a module hands to `accepted`: any text may stand for what an f-string puts in."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "accepted" and node.args:
            name = node.args[0]
            parts = name.values if isinstance(name, ast.JoinedStr) else [name]
            yield re.compile("".join(
                re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in parts))


def test_every_accepted_file_is_compared_with_something():
    names = {path.relative_to(ROOT).as_posix() for path in paths()}
    accepted = {name for name in names if re.match(r"tests/(?:.+/)?accepted/", name)}
    lost = set()
    for name in accepted:
        folder, _, file = name.rpartition("/accepted/")
        tests = [text for other, text in files("tests") if other.rpartition("/")[0] == folder and "accepted(" in text]
        if not any(pattern.fullmatch(file.removesuffix(".txt")) for text in tests for pattern in compared(text)):
            lost.add(name)
    refuse((f"{name}: no test beside it compares anything with it" for name in lost), "Delete what nothing needs.")


def test_folders_left_out_of_the_fast_tests_are_there():
    left_out = re.search(r"^SLOW := (.*)$", read("Makefile"), re.MULTILINE)[1].split()
    refuse(f"SLOW in the Makefile: no tests/{name}" for name in left_out if not (ROOT / "tests" / name).is_dir())


@pytest.mark.parametrize(("source", "name", "fits"), [
    ('accepted("why", text)', "why", True), ('accepted(f"why.{page}", text)', "why.translate", True),
    ('accepted(f"{page}.why", text)', "how.translate", False), ("accepted(name, text)", "anything", True)])
def test_what_an_f_string_puts_in_may_be_any_text(source, name, fits):
    assert any(pattern.fullmatch(name) for pattern in compared(source)) == fits

"""The rules of the tests themselves: why one is rare, and which accepted files are still compared with anything."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

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
    lost = []
    for path in paths():
        if path.parent.name == "accepted" and path.is_relative_to(ROOT / "tests"):
            folder = path.parent.parent
            texts = [text for name, text in files("tests") if "accepted(" in text and (
                (ROOT / name).parent == folder or may_be_used_by(ROOT / name, folder))]
            if not any(one.fullmatch(path.stem) for text in texts for one in compared(text)):
                lost.append(f"{path.relative_to(ROOT)}: no test beside it compares anything with it")
    refuse(lost, "Delete what nothing needs.")


def may_be_used_by(module: Path, folder: Path) -> bool:
    """Whether what a module of tests defines, and does not test, is for the tests of a folder."""
    return folder.is_relative_to(module.parent) and not module.name.startswith("test_")


def test_folders_left_out_of_the_fast_tests_are_there():
    left_out = re.search(r"^SLOW := (.*)$", read("Makefile"), re.MULTILINE)[1].split()
    refuse(f"SLOW in the Makefile: no tests/{name}" for name in left_out if not (ROOT / "tests" / name).is_dir())


@pytest.mark.parametrize(("source", "name", "fits"), [
    ('accepted("why", text)', "why", True), ('accepted(f"why.{page}", text)', "why.translate", True),
    ('accepted(f"{page}.why", text)', "how.translate", False), ("accepted(name, text)", "anything", True)])
def test_what_an_f_string_puts_in_may_be_any_text(source, name, fits):
    assert any(pattern.fullmatch(name) for pattern in compared(source)) == fits

"""The repository as text.

This folder is what pytest runs of `make lint`. It reads files and imports nothing that imports PyTorch, so it takes
seconds; none of it uses tests/conftest.py.
"""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {"node_modules", "dist", "runs", "shots", "vendor", "__pycache__"}  # not ours, or not kept
HIDDEN = {".ci", ".devcontainer", ".github", ".streamlit"}  # of those with a dot, the ones that are ours


@cache
def paths() -> tuple[Path, ...]:
    """All files, whether or not git knows them yet."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = {name for name in folders if not name.startswith(".") or name in HIDDEN} - LEFT_OUT
        found += [Path(folder, name) for name in names]
    return tuple(sorted(found))


@cache
def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def files(*folders: str, suffixes: tuple[str, ...] = (".py",)) -> Iterator[tuple[str, str]]:
    """Paths from the root, and what is in them; of all folders if none is given."""
    for path in paths():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in suffixes and (not folders or name.split("/")[0] in folders):
            yield name, read(name)


@cache
def documents() -> dict[str, str]:
    """All Markdown but the lessons, whose links lead into the app, and cards of models, which their manifests pin."""
    return {name: page for name, page in files(suffixes=(".md",)) if not name.startswith(("lessons/", "checkpoints/"))}


def targets() -> set[str]:
    """Of the Makefile."""
    lines = re.findall(r"^([\w./ -]+):(?!=)", read("Makefile"), re.MULTILINE)
    return {name for line in lines for name in line.split()}


def refuse(wrong: Iterable[str], remedy: str = "") -> None:
    """Fails with all that is wrong, a line each, if anything is."""
    if lines := sorted(set(wrong)):
        pytest.fail("\n".join([*lines, *filter(None, [remedy])]), pytrace=False)

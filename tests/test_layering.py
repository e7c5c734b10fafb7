"""The contracts of pyproject.toml on who imports whom, and the house's rules that import-linter cannot say."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LONGEST = {"tests": 600}  # lines
ELSEWHERE = 400  # a file is one idea
LONGEST_FUNCTION, WIDEST = 60, 120  # lines, columns
STILL_LONGER = {"show_trained", "show_beam", "model_card", "by_parts"}  # goes, name by name
FOLDERS = ("pages", "ui", "transformer", "tests", "benchmarks")

IMPORT_ALL = """
import importlib, pkgutil, sys
package, *blocked = sys.argv[1:]
sys.modules.update(dict.fromkeys(blocked))  # None there makes the import fail
for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
    importlib.import_module(module.name)
"""


def files(*folders: str, suffixes: tuple[str, ...] = (".py",)) -> Iterator[tuple[str, str]]:
    """Paths from the root, and what is in them."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes:
                yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def test_imports_keep_the_contracts():
    pytest.importorskip("importlinter", reason="pip install import-linter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()",
               "--no-logo", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("package", "blocked"), [
    ("transformer", ("streamlit", "plotly", "altair")), ("ui.figures", ("streamlit", "torch"))])
@pytest.mark.slow
def test_imports_without(package, blocked):
    command = [sys.executable, "-c", IMPORT_ALL, package, *blocked]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


def test_only_resources_caches():
    caching = {name for name, text in files("pages", "ui", "transformer") for node in ast.walk(ast.parse(text))
               if {getattr(node, "attr", None), getattr(node, "name", None)} & {"cache_data", "cache_resource"}}
    assert caching == {"ui/resources.py"}


def test_files_are_named_for_an_idea_and_short():
    wrong = []
    for name, text in files(*FOLDERS, suffixes=(".py", ".js", ".css")):
        path, lines = Path(name), text.splitlines()
        if "vendor" in path.parts:  # as it came
            continue
        most = LONGEST.get(path.parts[0], ELSEWHERE)
        if path.stem in ("utils", "helpers", "common"):
            wrong.append(f"{name}: a name that says nothing")
        if len(lines) > most:
            wrong.append(f"{name}: {len(lines)} lines, at most {most}")
        wrong += [f"{name}:{number}: {len(line)} columns, at most {WIDEST}"
                  for number, line in enumerate(lines, 1) if path.suffix != ".py" and len(line) > WIDEST]
        if path.parts[0] == "pages" and path.stem in sys.stdlib_module_names:
            wrong.append(f"{name}: shadows the standard library")
        if path.suffix == ".py" and path.parts[0] in ("ui", "transformer") and not (
                ROOT / path.parent / "__init__.py").exists():
            wrong.append(f"{name}: no __init__.py beside it, so ui/serve.py would not import it before serving")
    assert wrong == []


@pytest.mark.slow
def test_functions_are_short():
    long = [f"{name}:{node.lineno}: {node.name} has {length} lines, at most {LONGEST_FUNCTION}"
            for name, text in files(*FOLDERS) for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name not in STILL_LONGER and (length := node.end_lineno - node.lineno + 1) > LONGEST_FUNCTION]
    assert long == []

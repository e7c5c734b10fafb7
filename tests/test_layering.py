"""The house's rules that import-linter cannot say. Who imports whom stands in pyproject.toml; `make lint` checks it."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAME = re.compile(r"[\w.-]+")  # of a distribution, in a requirement
WIDEST = 120  # columns
FOLDERS = ("pages", "ui", "transformer", "tests", "benchmarks")

IMPORT_ALL = """
import importlib, pkgutil, sys
package, *blocked = sys.argv[1:]
sys.modules.update(dict.fromkeys(blocked))  # None there makes the import fail
for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
    importlib.import_module(module.name)
"""


SERVE = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))
from ui.server.serve import preload
preload()
from transformer.checkpoint import load
from transformer.config import ModelConfig
from transformer.model.positions import POSITIONS
from transformer.weights import expected_tensors
load("checkpoints/classify")
for positions in POSITIONS:
    assert expected_tensors(ModelConfig(positions=positions, type_vocab=2 * (positions == "learned")))
assert "torch._dynamo" not in sys.modules, "opening a checkpoint imports PyTorch's compiler, which takes seconds"
"""


def files(*folders: str, suffixes: tuple[str, ...] = (".py",)) -> Iterator[tuple[str, str]]:
    """Paths from the root, and what is in them."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes:
                yield str(path.relative_to(ROOT)), path.read_text("utf-8")


@pytest.mark.parametrize(("package", "blocked"), [
    ("transformer", ("streamlit", "plotly", "altair")), ("ui.figures", ("streamlit", "torch"))])
@pytest.mark.rare("import-linter says so of every import; here all are made, in processes of their own")
def test_imports_without(package, blocked):
    command = [sys.executable, "-c", IMPORT_ALL, package, *blocked]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_what_is_imported_before_serving_needs_no_extra():
    """Those that come with the tests would hide that a fresh clone does not start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    needed = {NAME.match(line)[0] for line in pinned if line[:1].isalpha()}  # of a clone
    extras = {NAME.match(one)[0] for some in project["optional-dependencies"].values() for one in some} - needed
    modules = sorted(name.replace("-", "_") for name in extras)
    command = [sys.executable, "-c", SERVE, *modules]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Every module of the product, parsed."""
    return {name: ast.parse(text) for name, text in files("pages", "ui", "transformer")}


def test_only_resources_caches(trees):
    caching = {name for name, tree in trees.items() for node in ast.walk(tree)
               if {getattr(node, "attr", None), getattr(node, "name", None)} & {"cache_data", "cache_resource"}}
    assert caching == {"ui/state/caches.py"}


def test_no_module_needs_unix_to_be_imported(trees):
    """So that all of it can be imported on Windows; inside a function or a `try`, such a module may be missing."""
    unix = {"fcntl", "grp", "pwd", "resource", "termios"}
    assert [name for name, tree in trees.items() for node in tree.body
            if isinstance(node, ast.Import) and unix & {one.name for one in node.names}] == []


def test_files_are_named_for_an_idea():
    wrong = []
    for name, text in files(*FOLDERS, suffixes=(".py", ".js", ".css")):
        path = Path(name)
        if "vendor" in path.parts:  # as it came
            continue
        if path.stem in ("utils", "helpers", "common"):
            wrong.append(f"{name}: a name that says nothing")
        wrong += [f"{name}:{number}: {len(line)} columns, at most {WIDEST}"
                  for number, line in enumerate(text.splitlines(), 1) if path.suffix != ".py" and len(line) > WIDEST]
        if path.parts[0] == "pages" and path.stem in sys.stdlib_module_names:
            wrong.append(f"{name}: shadows the standard library")
        if path.suffix == ".py" and path.parts[0] in ("ui", "transformer") and not (
                ROOT / path.parent / "__init__.py").exists():
            wrong.append(f"{name}: no __init__.py beside it, so ui/server/serve.py would not import it before serving")
    assert wrong == []


def test_one_script_knows_streamlits_page_and_none_replaces_what_the_browser_has():
    private = re.compile(r"data-testid|st-key-|\.stApp|\.stBidi|\.vega-embed|\.js-plotly|pushState =")
    assert {name for name, text in files("ui", "transformer", suffixes=(".js",))
            if "/vendor/" not in name and private.search(text)} == {"transformer/attention_view/js/streamlit.js"}


def test_only_the_link_touches_the_address(trees):
    assert {name for name, tree in trees.items() for node in ast.walk(tree) if not name.startswith("transformer/")
            and isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "st.query_params", "st.switch_page", "st.stop")} == {"ui/page/link.py"}

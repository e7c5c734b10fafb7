"""Imports run one way, pages -> ui -> transformer, and the library's own layers know only what is below them."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = {"tests": 600}  # lines
ELSEWHERE = 400  # a file is one idea

# What nobody under this name may import.
NEVER = {
    "pages": ("pages", "app"),
    "ui": ("pages", "app"),
    "ui.figures": ("streamlit", "torch", "transformer"),
    "transformer": ("pages", "ui", "app", "streamlit", "plotly", "altair", "transformer.__main__"),
    "transformer.inference": ("transformer.text.corpora", "transformer.quality", "transformer.attention_view"),
    "transformer.analysis": ("transformer.text.corpora", "transformer.quality", "transformer.attention_view"),
    "transformer.training": ("transformer.attention_view",),
}
# Of the library, all that these may import.
ONLY = {
    "transformer.config": (),
    "transformer.text.tokenizer": (),
    "transformer.jobs": ("transformer.config", "transformer.places", "transformer.presets", "transformer.jobs"),
    "transformer.brief": (),
    "transformer.measures": (
        "transformer.config",
        "transformer.brief",
        "transformer.text.tokenizer",
        "transformer.measures",
    ),
    "transformer.model": ("transformer.config", "transformer.model", "transformer.brief"),
    "transformer.model.masks": (),
    "transformer.model.positions": (),
    "transformer.model.switches": ("transformer.config", "transformer.brief"),
    "transformer.model.attention": (
        "transformer.config",
        "transformer.brief",
        "transformer.model.masks",
        "transformer.model.positions",
        "transformer.model.switches",
    ),
    "transformer.model.layers": (
        "transformer.config",
        "transformer.brief",
        "transformer.model.masks",
        "transformer.model.positions",
        "transformer.model.switches",
        "transformer.model.attention",
    ),
}
ABOVE_TRAINING = ("transformer.training", "transformer.commands", "transformer.__main__")

IMPORT_ALL = """
import importlib, pkgutil, sys
package, *blocked = sys.argv[1:]
sys.modules.update(dict.fromkeys(blocked))  # None there makes the import fail
for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
    importlib.import_module(module.name)
"""


def inside(module: str, *names: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def sources(root: Path) -> list[Path]:
    return [path for folder in ("pages", "ui", "transformer") for path in sorted((root / folder).rglob("*.py"))]


def module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: what stands under TYPE_CHECKING does not."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            yield node
            yield from nodes(node)


def imports(path: Path, root: Path) -> set[str]:
    """The modules that a file imports, at the top or in a function; `from a import b` is a.b where that is a module."""
    package = path.relative_to(root).parent.parts
    found = set()
    for node in nodes(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            for name in node.names:
                place = root.joinpath(*base.split("."), name.name)
                is_module = place.with_suffix(".py").exists() or place.is_dir()
                found.add(f"{base}.{name.name}" if is_module else base)
    return found


def may_import(importer: str, imported: str) -> bool:
    if any(inside(importer, who) and inside(imported, *what) for who, what in NEVER.items()):
        return False
    if inside(importer, "transformer") and inside(imported, "transformer"):
        if any(inside(importer, who) and not inside(imported, *what) for who, what in ONLY.items()):
            return False
        if inside(imported, "transformer.training"):
            return inside(importer, *ABOVE_TRAINING) or importer == "transformer"
    return True


def wrong_imports(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)} imports {imported}"
        for path in sources(root)
        for imported in sorted(imports(path, root))
        if not may_import(module_name(path, root), imported)
    ]


def circle(root: Path) -> list[str]:
    """Modules that import each other in a circle, or nothing."""
    graph = {module_name(path, root): imports(path, root) for path in sources(root)}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def stray_caches(root: Path) -> list[str]:
    """Files other than ui/resources.py that use st.cache_data or st.cache_resource."""
    return [
        str(path.relative_to(root))
        for path in sources(root)
        if path != root / "ui" / "resources.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if {getattr(node, "attr", None), getattr(node, "name", None)} & {"cache_data", "cache_resource"}
    ]


def wrong_files(root: Path) -> list[str]:
    """Files and folders with a name or a length that the house does not have."""
    folders = ("pages", "ui", "transformer", "tests", "benchmarks")
    paths = [path for folder in folders for path in (root / folder).rglob("*")]
    found = []
    for path in paths:
        name = path.relative_to(root)
        most = LONGEST.get(name.parts[0], ELSEWHERE)
        if path.stem in ("utils", "helpers", "common"):
            found.append(f"{name}: a name that says nothing")
        if path.suffix in (".py", ".js", ".css") and (length := len(path.read_text("utf-8").splitlines())) > most:
            found.append(f"{name}: {length} lines, at most {most}")
        if path.suffix == ".py" and name.parts[0] == "pages":
            if len(name.parts) > 2:
                found.append(f"{name}: pages are flat")
            if path.stem in sys.stdlib_module_names:
                found.append(f"{name}: shadows the standard library")
        packaged = name.parts[0] not in ("ui", "transformer") or (path.parent / "__init__.py").exists()
        if path.suffix == ".py" and not packaged:
            found.append(f"{name}: no __init__.py beside it, so ui/serve.py would not import it before serving")
    return found


def import_all(package: str, *blocked: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Import every module of a package in a new process in which the blocked names cannot be imported."""
    command = [sys.executable, "-c", IMPORT_ALL, package, *blocked]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)


def test_imports_run_one_way():
    assert wrong_imports(ROOT) == []


def test_nothing_imports_in_a_circle():
    assert circle(ROOT) == []


def test_only_resources_caches():
    assert stray_caches(ROOT) == []


def test_files_are_named_for_an_idea_and_short():
    assert wrong_files(ROOT) == []


def test_library_imports_without_streamlit_plotly_and_altair():
    result = import_all("transformer", "streamlit", "plotly", "altair")
    assert result.returncode == 0, result.stderr


def test_figures_import_without_streamlit_and_torch():
    result = import_all("ui.figures", "streamlit", "torch")
    assert result.returncode == 0, result.stderr

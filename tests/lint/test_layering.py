"""The house's rules that import-linter cannot say. Who imports whom stands in pyproject.toml; `make lint` checks it."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.lint.repository import ROOT, files, refuse

NAME = re.compile(r"[\w.-]+")  # of a distribution, in a requirement
WIDEST = 120  # columns
FOLDERS = ("pages", "ui", "transformer", "tests", "benchmarks")


def test_imports_keep_the_contracts():
    pytest.importorskip("importlinter", reason="pip install import-linter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()",
               "--no-logo", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    if result.returncode:
        pytest.fail(result.stdout + result.stderr, pytrace=False)


@pytest.mark.slow
def test_what_is_imported_before_serving_is_all_that_races_and_needs_no_extra():
    """Extras that come with the tests would hide that a fresh clone does not start. What of PyTorch is entered at
    several places may not be left to visitors who come at once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    needed = {NAME.match(line)[0] for line in pinned if line[:1].isalpha()}  # of a clone
    extras = {NAME.match(one)[0] for some in project["optional-dependencies"].values() for one in some} - needed
    modules = sorted(name.replace("-", "_") for name in extras)
    entered = {"torch._dynamo", "torch.fx.experimental.symbolic_shapes"}
    code = (f"import sys\nsys.modules.update(dict.fromkeys({modules}))\n"
            "from ui.server.serve import preload\npreload()\n"
            f"assert {entered} <= sys.modules.keys(), 'left for later'")
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


def test_only_resources_caches():
    caching = {name for name, text in files("pages", "ui", "transformer") if "cache_" in text
               for node in ast.walk(ast.parse(text))
               if {getattr(node, "attr", None), getattr(node, "name", None)} & {"cache_data", "cache_resource"}}
    assert caching == {"ui/state/caches.py"}


def test_tables_are_written_where_no_cell_is_a_formula():
    """But for a corpus, which a training reads."""
    writes = re.compile(r"csv\.(writer|DictWriter)\(|\.to_csv\(|type: .text/(csv|tab)")
    found = {name for name, text in files("pages", "ui", "transformer", suffixes=(".py", ".js")) if writes.search(text)}
    assert found == {"transformer/basics/spreadsheet.py", "transformer/attention_view/js/export/picture_files.js",
                     "ui/views/classify/toy.py"}


def test_no_module_needs_unix_to_be_imported():
    """So that all of it can be imported on Windows; inside a function or a `try`, such a module may be missing."""
    unix = {"fcntl", "grp", "pwd", "resource", "termios"}
    named = re.compile(rf"^import .*\b({'|'.join(unix)})\b", re.MULTILINE)
    refuse(name for name, text in files("pages", "ui", "transformer") if named.search(text)
           for node in ast.parse(text).body
           if isinstance(node, ast.Import) and unix & {one.name for one in node.names})


def test_text_is_read_and_written_in_an_encoding_that_is_named():
    """By default it is that of the user's locale, which may know no letters but those of ASCII."""
    def is_vague(call: ast.Call) -> bool:
        whole, given = ast.unparse(call.func), {word.arg: ast.unparse(word.value) for word in call.keywords}
        if "encoding" in given or whole == "os.open":
            return False
        name, arguments = whole.rpartition(".")[2], [*map(ast.unparse, call.args)]
        if name in ("read_text", "write_text") and name != whole:
            return len(arguments) < (1 if name == "read_text" else 2)
        modes = re.findall(r"'([rwax]\+?b?)'", " ".join([*arguments[:2], given.get("mode", "")]))
        text = (whole == "open" and not modes) or any("b" not in mode for mode in modes)
        return (text and name in ("open", "fdopen")) or (whole[:10] == "subprocess" and given.get("text") == "True")

    vague = [f"{name}:{node.lineno}" for name, text in files("pages", "ui", "transformer")
             for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and is_vague(node)]
    assert not vague, "\n".join(vague)


def test_files_are_named_for_an_idea():
    wrong = []
    for name, text in files(*FOLDERS, suffixes=(".py", ".js", ".css")):
        path = Path(name)
        if path.stem in ("utils", "helpers", "common"):
            wrong.append(f"{name}: a name that says nothing")
        wrong += [f"{name}:{number}: {len(line)} columns, at most {WIDEST}"
                  for number, line in enumerate(text.splitlines(), 1) if path.suffix != ".py" and len(line) > WIDEST]
        if path.parts[0] == "pages" and path.stem in sys.stdlib_module_names:
            wrong.append(f"{name}: shadows the standard library")
        if path.suffix == ".py" and path.parts[0] in ("ui", "transformer") and not (
                ROOT / path.parent / "__init__.py").exists():
            wrong.append(f"{name}: no __init__.py beside it, so ui/server/serve.py would not import it before serving")
    refuse(wrong)


def test_one_script_knows_streamlits_page_and_none_replaces_what_the_browser_has():
    private = re.compile(r"data-testid|st-key-|\.stApp|\.stBidi|\.vega-embed|\.js-plotly|pushState =")
    assert {name for name, text in files("ui", "transformer", suffixes=(".js",))
            if private.search(text)} == {"transformer/attention_view/js/page/streamlit.js"}


def test_only_the_link_touches_the_address():
    assert {name for name, text in files("pages", "ui") if re.search(r"\.(query_params|switch_page|stop)\b", text)
            for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "st.query_params", "st.switch_page", "st.stop")} == {"ui/page/link.py"}

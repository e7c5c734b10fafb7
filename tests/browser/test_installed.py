"""What is published, installed away from the clone: library, notebook, command and pages.

HEADSUP_RELEASE names a folder with an sdist and the wheel made of it, as `make release` builds them; the wheel is then
installed with packages of its own, as pip finds them. Otherwise both are built here, and it sees the packages that are
here.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.waiting import ROOT
from transformer.basics.paths import PACKAGE
from transformer.checkpoints.checkpoint import find
from ui.page.pages import EVERY_PAGE, HOME

from .conftest import settle

pytestmark = pytest.mark.rare("minutes: the wheel is built and installed")

LARGEST = 50_000_000  # bytes: every model comes with a snapshot from early in its training
LIBRARY = """
import transformer
from transformer.basics.paths import home
print(transformer.__file__, home(), transformer.load("write").model.config.d_model)
"""
NOTEBOOK = """
import json, pathlib, sys
names = {}
for cell in json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
print(names["step"].output)
"""


def build(folder: Path) -> None:
    """The sdist of the clone, and the wheel of what is in it, into that folder."""
    pytest.importorskip("hatchling", reason="pip install hatchling")
    for kind, source in (("sdist", ROOT), ("wheel", folder / "unpacked")):
        if kind == "wheel":
            with tarfile.open(next(folder.glob("*.tar.gz"))) as packed:
                packed.extractall(source, filter="data")
            (source,) = source.iterdir()
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder], cwd=source, check=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment that has the wheel: where it is, and what to run a command with."""
    folder = tmp_path_factory.mktemp("installed")
    built = Path(os.environ.get("HEADSUP_RELEASE", folder))
    alone = built != folder
    if not alone:
        build(folder)
    (wheel,) = built.glob("*.whl")
    venv.create(folder / "env")
    python = folder / "env/bin/python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
                    "--disable-pip-version-check", *(() if alone else ("--no-deps", "--no-index", "--no-compile")),
                    wheel], check=True)
    here = next((folder / "env").rglob("site-packages"))
    if not alone:
        (here / "beside.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    unset = "PYTHONPATH", "HEADSUP_HOME", "HEADSUP_SHARED"
    settings = {name: value for name, value in os.environ.items() if name not in unset}
    return SimpleNamespace(wheel=wheel, packages=here, python=python, command=python.with_name(PACKAGE), settings={
        "cwd": folder, "text": True, "stdout": subprocess.PIPE, "env": settings | {
            "XDG_DATA_HOME": str(folder / "data"), "STREAMLIT_SERVER_HEADLESS": "true", "OMP_NUM_THREADS": "1"}})


def run(installed, *command):
    return subprocess.run([str(word) for word in command], check=True, timeout=600, **installed.settings).stdout


def test_what_is_in_the_wheel(installed):
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"transformer", "headsup"}
    for folder, there in (("transformer", "transformer"), ("ui", "headsup/ui"), ("pages", "headsup/pages"),
                          ("checkpoints", "headsup/checkpoints"), ("lessons", "headsup/lessons")):
        files = {path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts}
        assert files == {name.removeprefix(f"{there}/") for name in names if name.startswith(f"{there}/")}
    assert {"transformer/py.typed", "headsup/app.py", "headsup/.streamlit/config.toml",
            "headsup/docs/library.ipynb"} <= {*names}
    assert installed.wheel.stat().st_size < LARGEST


def test_library_and_command(installed):
    library, home, width = run(installed, installed.python, "-c", LIBRARY).split()
    assert Path(library).parent == installed.packages / "transformer"
    assert int(width) > 0
    assert Path(home) == installed.settings["cwd"] / "data" / "headsup"
    listed = json.loads(run(installed, installed.command, "list", "--json"))["checkpoints"]
    assert {Path(one["folder"]) for one in listed} == {
        installed.packages / "headsup/checkpoints" / folder.name for folder in find(ROOT / "checkpoints")}
    assert run(installed, installed.command, "translate", "translate", "Go on.", "--device", "cpu").strip()


def test_the_notebook_that_comes_along_runs(installed):
    notebook = installed.packages / "headsup/docs/library.ipynb"
    assert run(installed, installed.python, "-c", NOTEBOOK, notebook).endswith("J'aime le vin rouge.\n")


def test_every_page_opens(installed, page):
    server = subprocess.Popen([installed.command, "app", "--port", "0"], **installed.settings)
    try:
        line = next(line for line in server.stdout if line.startswith("Heads Up is at"))
        url = re.search("http://[^, ]+", line)[0]
        for name, one in EVERY_PAGE.items():
            page.goto(f"{url}/{'' if one is HOME else name}", wait_until="domcontentloaded")
            settle(page)
            expect(page).to_have_title(f"{one.title} · Heads Up")
            expect(page.locator("[data-testid=stException], [data-testid=stAlertContentError]")).to_have_count(0)
        with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
            assert json.load(answer)["version"] == installed.wheel.name.split("-")[1]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    assert not list(installed.packages.rglob("runs"))

"""The wheel, installed away from the clone beside the packages that are here: library, command and pages."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.rare

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 30_000_000  # bytes
LIBRARY = """
import transformer
from transformer.paths import home
print(transformer.__file__, home(), transformer.load("write").model.config.d_model)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment that has the wheel and sees this one's packages: where it is, and what to run a command with."""
    pytest.importorskip("hatchling", reason="pip install hatchling")
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    wheel = next(folder.glob("*.whl"))
    venv.create(folder / "env")
    python = folder / "env/bin/python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
                    "--no-compile", "--disable-pip-version-check", wheel], check=True)
    here = next((folder / "env").rglob("site-packages"))
    (here / "beside.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    unset = "PYTHONPATH", "HEADSUP_HOME", "HEADSUP_SHARED"
    settings = {name: value for name, value in os.environ.items() if name not in unset}
    return SimpleNamespace(wheel=wheel, packages=here, python=python, headsup=python.with_name("headsup"), settings={
        "cwd": folder, "text": True, "stdout": subprocess.PIPE, "env": settings | {
            "XDG_DATA_HOME": str(folder / "data"), "STREAMLIT_SERVER_HEADLESS": "true", "OMP_NUM_THREADS": "1"}})


def run(installed, *command):
    return subprocess.run([str(word) for word in command], check=True, timeout=120, **installed.settings).stdout


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
    listed = json.loads(run(installed, installed.headsup, "list", "--json"))["checkpoints"]
    assert {Path(one["folder"]) for one in listed} == {
        installed.packages / "headsup/checkpoints" / name for name in ("translate", "write", "classify")}
    assert run(installed, installed.headsup, "translate", "translate", "Go on.", "--device", "cpu").strip()


def test_pages_are_served(installed):
    server = subprocess.Popen([installed.headsup, "app", "--port", "0"], **installed.settings)
    try:
        line = next(line for line in server.stdout if line.startswith("Heads Up is at"))
        url = re.search("http://[^, ]+", line)[0]
        for path, text in (("/", "BACKEND_BASE_URL"), ("/translate", "BACKEND_BASE_URL"), ("/_stcore/health", "ok")):
            with urllib.request.urlopen(url + path, timeout=30) as answer:
                assert text in answer.read().decode()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    assert not list(installed.packages.rglob("runs"))

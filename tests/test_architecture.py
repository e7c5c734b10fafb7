"""The docs tell the truth: files and functions named in architecture.md exist, and so does what examples import."""

import importlib
import re
import subprocess
from dataclasses import fields
from pathlib import Path

from transformer.inference.sampling import Sampling

ROOT = Path(__file__).resolve().parents[1]
DOC = (ROOT / "docs" / "architecture.md").read_text("utf-8")
FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
NAMED = sorted(set(re.findall(r"`((?:[\w.]+/)*[\w]+\.(?:py|js|css|md|toml|sqlite))`", DOC)))
MADE = {"config.json", "metrics.jsonl", "roles.json", "rooms.sqlite", "pages/x.py"}  # by a run, a server, a newcomer


def test_every_file_named_exists():
    lost = [name for name in NAMED if name not in MADE and not any(
        file == name or file.endswith(f"/{name}") for file in FILES)]
    assert len(NAMED) > 40 and lost == []


def test_what_the_examples_import_exists():
    texts = [path.read_text("utf-8") for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".ipynb")]
    imports = re.findall(r"from (transformer[\w.]*) import ([\w, ]+)", "\n".join(texts).replace("\\n", "\n"))
    assert len(imports) > 5
    for module, names in imports:
        for name in names.replace(" ", "").split(","):
            if not hasattr(importlib.import_module(module), name):
                importlib.import_module(f"{module}.{name}")  # or it is a module, or an ImportError


def test_the_page_of_the_library_names_every_setting_of_sampling():
    page = (ROOT / "docs" / "library.md").read_text("utf-8")
    assert [field.name for field in fields(Sampling) if f"`{field.name}=`" not in page] == []

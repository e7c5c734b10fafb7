"""What the examples of the documents import is there, and the page of the library names what can be set."""

import importlib
import re
from dataclasses import fields
from pathlib import Path

from transformer.inference.sampling import Sampling

ROOT = Path(__file__).resolve().parents[1]


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

"""Every function and class that the library exports has an example in its docstring, which runs and says the truth."""

from contextlib import redirect_stdout
from doctest import DocTestParser, DocTestRunner
from functools import cache
from inspect import getdoc
from io import StringIO

import pytest

import transformer
from tests.lint.repository import ROOT

CKPT = cache(lambda: transformer.load(ROOT / "checkpoints" / "translate"))
NO_EXAMPLE = {"CheckpointError", "runs"}  # an error, and a module, whose functions docs/library.md shows
NAMES = sorted({*transformer.__all__} - NO_EXAMPLE)
RARE = pytest.mark.rare("a training and a measurement, which other tests have")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[RARE] * (name in ("evaluate", "train"))) for name in NAMES])
def test_the_example_of_a_public_name_is_right(name, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "home"))
    text = getdoc(getattr(transformer, name))
    known = {"transformer": transformer, "ckpt": CKPT(), "tmp": tmp_path}
    test = DocTestParser().get_doctest(text, known, name, None, 0)
    assert len(test.examples) >= 1, f"transformer.{name} has no example"
    said = StringIO()
    with redirect_stdout(StringIO()):
        failed = DocTestRunner(verbose=False).run(test, out=said.write, clear_globs=False).failed
    assert failed == 0, said.getvalue()

"""Pages run without a browser: `at = visit("translate", text="Go on.", step="3")` has opened that address.

Callbacks of components and of charts do not run here; the tests in tests/browser click them.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from transformer.checkpoint import Checkpoint, describe, load
from transformer.text.corpora import PairCorpus
from ui.access import visitors
from ui.page import room_sharing
from ui.state import caches

from .page import ROOT

SENTENCES = {
    "train": {"Go on.": ["Continue.", "Poursuis !"]},
    "validation": {},
    "test": {"I am cold.": [f"J'ai froid {i}." for i in range(10)]},
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A home of its own for each test, with rooms of its own, and a corpus of two sentences."""
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "home"))
    room_sharing.store.cache_clear()
    corpus = PairCorpus("eng-fra", "0" * 64, "made up", "nobody", SENTENCES)
    monkeypatch.setattr("ui.views.translate.translations.sentences", lambda name: corpus)
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def cookies(monkeypatch) -> dict[str, str]:
    """What every visitor's browser sends, to be changed: `cookies[keys.TEACHER] = keys.teacher_cookie()`."""
    sent = {visitors.VISITOR: "my own key"}
    monkeypatch.setattr(visitors, "cookies", lambda: sent)
    return sent


@pytest.fixture(autouse=True)
def no_exceptions(monkeypatch) -> None:
    """No run of a script ends with an exception."""
    run_script = AppTest._run

    def checked(self, *args, **options) -> AppTest:
        run_script(self, *args, **options)
        assert not self.exception, self.exception[0].message
        return self

    monkeypatch.setattr(AppTest, "_run", checked)


@pytest.fixture(autouse=True)
def patience(monkeypatch) -> None:
    """However slow the machine, as much of a text is decoded ahead as elsewhere."""
    monkeypatch.setattr("transformer.inference.decoding_tree.monotonic", lambda: 0.0)


@pytest.fixture(autouse=True)
def served(monkeypatch) -> None:
    """As after the first visit: a folder named `pages` has stopped meaning anything to Streamlit."""
    start = PagesManager.__init__

    def started(self, *args, **kwargs) -> None:
        start(self, *args, **kwargs)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", started)


@pytest.fixture(autouse=True, scope="session")
def no_components_of_others() -> Iterator[None]:
    """Streamlit reads what every installed package says of itself whenever a test opens the app, in search of
    components: half the time of these tests, and there are none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", list)
        yield


@pytest.fixture
def visit() -> Callable[..., AppTest]:
    """Opens a page by its address, as somebody new."""

    def visit(page: str, **params: str) -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300).switch_page(f"pages/{page}.py")
        at.query_params.update(params)
        return at.run()

    return visit


@pytest.fixture
def open_page(visit, request) -> Callable[..., AppTest]:
    """Opens the page of a file, its `PAGE`, by the address that the file begins with, its `OPENING`, and parameters."""
    return lambda **params: visit(request.module.PAGE, **getattr(request.module, "OPENING", {}) | params)


@pytest.fixture
def place(make_checkpoint, home) -> Callable[..., Checkpoint]:
    """A tiny checkpoint among the uploads."""
    def place(**changes: object) -> Checkpoint:
        ckpt = make_checkpoint(**changes)
        shutil.copytree(ckpt.description.folder, home / "uploads" / "tiny")
        return ckpt

    return place


@pytest.fixture
def open_others(translator, tmp_path) -> Callable[[], None]:
    """Opens as many other checkpoints as the app holds opened at once, as others do who look at a training step by
    step."""
    def open_others() -> None:
        for at in range(caches.MOST_OPENED):
            folder = tmp_path / f"other-{at}"
            shutil.copytree(translator.description.folder, folder)
            caches.opened(folder, describe(folder).id)

    return open_others


@pytest.fixture
def reopen(monkeypatch) -> Callable[[], None]:
    """From its call on, every run of a page is given another copy of its checkpoint."""
    return lambda: monkeypatch.setattr("ui.choices.checkpoint.opened", lambda folder, id: load(folder))


@pytest.fixture
def few_corpora(monkeypatch):
    """No corpus comes with the app: only files are offered."""
    monkeypatch.setattr("ui.choices.held_out_corpus.SOURCES", ())

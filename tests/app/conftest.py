"""Pages run without a browser: `at = visit("translate", text="Go on.", step="3")` has opened that address.

Callbacks of components and of charts do not run here; the tests in tests/browser click them.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partialmethod
from itertools import chain
from pathlib import Path

import pytest
from altair import TopLevelMixin
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from transformer.checkpoints.checkpoint import Checkpoint, describe, load
from transformer.jobs import run_files
from transformer.jobs.process import identify
from transformer.text.corpora import PairCorpus
from ui.access import visitors
from ui.page import room_sharing
from ui.state import caches

from .heads_checkpoints import WITHOUT_TOKENIZER, make, make_without_tokenizer
from .page import ROOT

SENTENCES = {
    "train": {"Go on.": ["Continue.", "Poursuis !"]},
    "validation": {},
    "test": {"I am cold.": [f"J'ai froid {i}." for i in range(10)]},
}


@contextmanager
def at_home(home: Path) -> Iterator[None]:
    """Runs and checkpoints are looked for there, with rooms of their own, and a corpus of two sentences."""
    corpus = PairCorpus("eng-fra", "0" * 64, "made up", "nobody", SENTENCES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSUP_HOME", str(home))
        patch.setattr("ui.views.translate.translations.sentences", lambda name: corpus)
        room_sharing.store.cache_clear()
        yield
    room_sharing.store.cache_clear()


@pytest.fixture(scope="session")
def lasting_home(tmp_path_factory) -> Path:
    """A home that nobody changes but `made`, so that what one test has had computed is there for the next."""
    return tmp_path_factory.mktemp("lasting")


@pytest.fixture
def lasting() -> None:
    """Tests that use it have the lasting home; those of a whole file by `usefixtures`."""


@pytest.fixture(autouse=True)
def home(request) -> Iterator[Path]:
    """A home of its own for each test."""
    lasts = "lasting" in request.fixturenames and "own_home" not in request.fixturenames
    home = request.getfixturevalue("lasting_home") if lasts else request.getfixturevalue("tmp_path") / "home"
    with at_home(home):
        yield home


@pytest.fixture
def own_home(home) -> Path:
    """A home of its own, in a file whose other tests have the lasting one."""
    return home


@pytest.fixture(scope="session")
def made(lasting_home) -> Callable[..., Checkpoint]:
    """made("translator", positions="alibi"): a tiny checkpoint in the lasting home, of those in `heads_checkpoints`."""

    @cache
    def made(kind: str, **changes: object) -> Checkpoint:
        name = re.sub(r"[^\w.-]", "", "-".join([kind, *map(str, chain(*changes.items()))]))
        return make(lasting_home, kind, name=name, **changes)

    return made


@pytest.fixture(scope="session")
def made_without_tokenizer(lasting_home) -> Callable[..., Checkpoint]:
    """made_without_tokenizer("one head"): one of `WITHOUT_TOKENIZER`, in the lasting home."""
    return cache(lambda name: make_without_tokenizer(lasting_home, name=name.replace(" ", "-"),
                                                     **WITHOUT_TOKENIZER[name]))


@pytest.fixture
def accepted_part(request, accepted) -> Callable[[str, str, str], None]:
    """accepted_part("heads.switch.told", "a job that failed", text): as `accepted`, of one part of a file."""

    def accepted_part(name: str, part: str, text: str) -> None:
        path = request.path.parent / "accepted" / f"{name}.txt"
        blocks = path.read_text("utf-8").split("== ")[1:] if path.exists() else []
        parts = dict(block.split("\n", 1) for block in blocks) | {part: text}
        accepted(name, "\n".join(f"== {title}\n{text.strip()}\n" for title, text in sorted(parts.items())))

    return accepted_part


@pytest.fixture(autouse=True, scope="module")
def sent_cookies() -> Iterator[dict[str, str]]:
    sent: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visitors, "cookies", lambda: sent)
        yield sent


@pytest.fixture(autouse=True)
def cookies(sent_cookies) -> dict[str, str]:
    """What every visitor's browser sends, to be changed: `cookies[keys.TEACHER] = keys.teacher_cookie()`."""
    sent_cookies.clear()
    sent_cookies[visitors.VISITOR] = "my own key"
    return sent_cookies


COMPILED = ScriptCache()  # the pages' scripts, which a server compiles once, and AppTest for each run of each


@pytest.fixture(autouse=True, scope="module")
def as_served() -> Iterator[None]:
    """As on a server after its first visit, however slow it is: a folder named `pages` means nothing to Streamlit, no
    package has components for it, and a text is decoded ahead. No run of a script ends with an exception, and none
    leaves a process that waits for a training, which the next test that starts one would be given."""
    run_script, start = AppTest._run, PagesManager.__init__

    def checked(self, *args, **options) -> AppTest:
        run_script(self, *args, **options)
        assert not self.exception, self.exception[0].message
        return self

    def started(self, *args, **kwargs) -> None:
        start(self, *args, **kwargs)
        PagesManager.uses_pages_directory = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppTest, "_run", checked)
        patch.setattr(PagesManager, "__init__", started)
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: COMPILED)
        patch.setattr(manifest_scanner, "scan_component_manifests", list)  # it reads what every package says of itself
        patch.setattr("altair.utils.schemapi.DEBUG_MODE", False)  # tests/figures holds every chart to its schema
        patch.setattr(TopLevelMixin, "to_dict", partialmethod(TopLevelMixin.to_dict, validate=False))
        patch.setattr("transformer.inference.decoding_tree.monotonic", lambda: 0.0)
        patch.setattr("transformer.jobs.standby.prepare", lambda *_: None)
        yield


def opened(page: str, **params: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300).switch_page(f"pages/{page}.py")
    at.query_params.update(params)
    return at.run()


@pytest.fixture
def visit() -> Callable[..., AppTest]:
    """Opens a page by its address, as somebody new."""
    return opened


@pytest.fixture(scope="module")
def read(lasting_home) -> Callable[..., AppTest]:
    """read("heads", view="why"): that address for tests that only read it, opened once for all tests of a file."""

    @cache
    def once(page: str, params: frozenset) -> AppTest:
        with at_home(lasting_home), pytest.MonkeyPatch.context() as patch:
            patch.setattr(visitors, "cookies", lambda: {visitors.VISITOR: "a reader"})
            at = opened(page, **dict(params))
        at._run = lambda *_: pytest.fail("other tests read this page as it is; `visit` opens one to be changed")
        return at

    return lambda page, **params: once(page, frozenset(params.items()))


@pytest.fixture
def open_page(visit, request) -> Callable[..., AppTest]:
    """Opens the page of a file, its `PAGE`, by the address that the file begins with, its `OPENING`, and parameters."""
    return lambda **params: visit(request.module.PAGE, **getattr(request.module, "OPENING", {}) | params)


@pytest.fixture(scope="module")
def read_page(read, request) -> Callable[..., AppTest]:
    """As `open_page`, for tests that only `read`."""
    return lambda **params: read(request.module.PAGE, **getattr(request.module, "OPENING", {}) | params)


@pytest.fixture
def place(make_checkpoint, home) -> Callable[..., Checkpoint]:
    """A tiny checkpoint among the uploads."""
    def place(**changes: object) -> Checkpoint:
        ckpt = make_checkpoint(**changes)
        shutil.copytree(ckpt.description.folder, home / "uploads" / "tiny")
        return ckpt

    return place


@pytest.fixture
def run_folder(home) -> Callable[..., Path]:
    """run_folder("mine", state="stopped", rows=[...]): a run; one that is alive trains in the process of the tests."""
    def run_folder(name: str, *, model: Mapping = {}, train: Mapping = {}, rows: Iterable[Mapping] = (),
                   owner: str | None = None, alive: bool = False, **status: object) -> Path:
        folder = home / "runs" / name
        folder.mkdir(parents=True, exist_ok=True)
        run_files.write_json(folder / "config.json", {"model": model, "train": train})
        run_files.write_json(folder / "status.json", {
            "state": "finished", "step": 30, "steps": 40, "why": None, **status})
        about = {"owner": owner, "ticket": 1, "time": time.time(), "devices": [], "printed": 0}
        run_files.write_json(folder / "launch.json", about | (identify(os.getpid()) if alive else {}))
        for row in rows:
            run_files.append(folder / "metrics.jsonl", row)
        return folder

    return run_folder


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

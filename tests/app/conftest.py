"""Pages run without a browser: `at = visit("translate", text="Go on.", step="3")` has opened that address.

Callbacks of components and of charts do not run here; the tests in tests/browser click them.
"""

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

import transformer
from tests.markup import Markup
from transformer.checkpoint import Checkpoint
from transformer.text.corpora import PairCorpus
from ui.access import visitors
from ui.figures.labels import WORD_JOINER, plain_label

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {
    "train": {"Go on.": ["Continue.", "Poursuis !"]},
    "validation": {},
    "test": {"I am cold.": [f"J'ai froid {i}." for i in range(10)]},
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A home of its own for each test, and a corpus of two sentences."""
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "home"))
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
def patience(monkeypatch) -> None:
    """However slow the machine, as much of a text is decoded ahead as elsewhere."""
    monkeypatch.setattr("ui.views.stepper.decoding_tree.monotonic", lambda: 0.0)


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


@pytest.fixture(scope="session")
def shipped() -> Callable[[str], Checkpoint]:
    """A checkpoint that comes with the app: `shipped("write")`."""
    opened = {}

    def get(name: str) -> Checkpoint:
        if name not in opened:
            opened[name] = transformer.load(ROOT / "checkpoints" / name)
        return opened[name]

    return get


def plain(text: str) -> str:
    """A text as a page shows it, without the signs that keep it from acting as markdown."""
    return re.sub(r"\\(\W)", r"\1", text).replace(WORD_JOINER, "")


@pytest.fixture(name="plain")
def plain_() -> Callable[[str], str]:
    """What a page shows of a text that was made safe for markdown: `plain(at.error[0].value)`."""
    return plain


def run(at: AppTest) -> AppTest:
    """Run the script to its end, which no exception may be."""
    at.run()
    assert not at.exception, at.exception[0].message
    return at


@pytest.fixture
def visit() -> Callable[..., AppTest]:
    """Opens a page by its address, as somebody new."""

    def visit(page: str, **params: str) -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300).switch_page(f"pages/{page}.py")
        at.query_params.update(params)
        return run(at)

    return visit


@pytest.fixture
def move() -> Callable:
    """What the step controls send: `move(at, "write", 3, number=1)`."""

    def move(at: AppTest, page: str, index: int, *, number: int) -> AppTest:
        decoding = at.session_state[f"{page}_decodings"]
        move = {"index": index, "number": number, "decoding": decoding, "from": 0}
        at.session_state[f"{page}_screen"] = {"move": move}
        return run(at)

    return move


@pytest.fixture
def numbers() -> Callable[..., tuple[tuple, np.ndarray]]:
    """Opens the table under the picture: which head it is of, and its weights (Tq, Tk)."""

    def numbers(at: AppTest, page: str) -> tuple[tuple, np.ndarray]:
        at.session_state[f"{page}_details"] = "Numbers"
        run(at)
        (html,) = [element.value for element in at.get("html") if 'aria-label="attention weights"' in element.value]
        table = Markup(html)
        (head,) = {(data["data-kind"], int(data["data-layer"]), int(data["data-head"])) for data, _ in table.cells}
        return head, table.grid("data-query", "data-key").astype(np.float32)

    return numbers


@pytest.fixture
def drawn() -> Callable[..., dict]:
    """The plotly figure whose key starts so, its arrays decoded: `drawn(at, "write_heatmap")["data"][0]["z"]`."""

    def decoded(value):
        if isinstance(value, dict) and "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            return array.reshape([int(n) for n in value.get("shape", str(array.size)).split(",")])
        if isinstance(value, dict):
            return {key: decoded(inner) for key, inner in value.items()}
        return [decoded(inner) for inner in value] if isinstance(value, list) else value

    def drawn(at: AppTest, key: str) -> dict:
        (chart,) = [chart for chart in at.get("plotly_chart") if (chart.key or "").startswith(key)]
        return decoded(json.loads(chart.proto.spec))

    return drawn


@pytest.fixture
def charted() -> Callable[..., list[dict]]:
    """The rows that are sent with an altair chart."""
    return lambda chart: [row for part in chart.proto.datasets
                          for row in pyarrow.ipc.open_stream(part.data.data).read_all().to_pylist()]


@pytest.fixture
def pictured() -> Callable[..., tuple[dict, dict[str, np.ndarray]]]:
    """What the attention view of a page is sent: the header, and the arrays by name."""

    def pictured(at: AppTest) -> tuple[dict, dict[str, np.ndarray]]:
        (view,) = [view.proto for view in at.get("bidi_component")
                   if view.proto.component_name in ("attention_view", "step_view")]
        start = 4 + int.from_bytes(view.bytes[:4], "little")
        header = json.loads(view.bytes[4:start])
        arrays = {}
        for name, part in header["arrays"].items():
            array = arrays[name] = np.zeros(part["shape"], f"<{part['type']}")
            sent = (..., np.tri(*array.shape[-2:], dtype=bool)) if part["lower"] else ...
            data = np.frombuffer(view.bytes, array.dtype, array[sent].size, start + part["at"])
            array[sent] = data.reshape(array[sent].shape)
        return header, arrays

    return pictured


@pytest.fixture
def has_step_view() -> Callable[[AppTest], bool]:
    """Whether the page shows a text in a step view."""
    return lambda at: any(view.proto.component_name == "step_view" for view in at.get("bidi_component"))


@pytest.fixture
def step_view_of(pictured) -> Callable[[AppTest], dict]:
    """What the step view of a page is sent besides the picture: rows of tokens, bars, text, steps."""
    return lambda at: pictured(at)[0]["step_view"]


@pytest.fixture
def chips(step_view_of) -> Callable[..., list[str]]:
    """The tokens of the row of that name, in the step view or beside one: `chips(at, "source tokens")`."""

    def chips(at: AppTest, name: str) -> list[str]:
        beside = [element.value for element in at.get("html") if f'aria-label="{name}"' in element.value]
        if beside:
            (html,) = beside
            return [unescape(token) for token in re.findall(r"<bdi>(.*?)</bdi>", html, re.DOTALL)]
        (row,) = [row for row in step_view_of(at)["rows"] if row["name"] == name]
        return [plain_label(token, longest=None) for token in row["tokens"]]

    return chips


@pytest.fixture
def sent() -> Callable[[AppTest], str]:
    """All that the page sends to the browser, as one text."""

    def sent(at: AppTest) -> str:
        return unescape("\n".join(str(element.proto) for element in at if hasattr(element, "proto")))

    return sent


@pytest.fixture
def figure() -> Callable[..., str]:
    """The one piece of HTML with a figure of that class, whose title begins so: `figure(at, "bar-table", "Where")`."""

    def figure(at: AppTest, kind: str, title: str = "") -> str:
        (found,) = [element.value for element in at.get("html") if f'<figure class="{kind}"' in element.value
                    and f"<figcaption>{title}" in unescape(element.value)]
        return found

    return figure


@pytest.fixture
def cells() -> Callable[[str], list[dict[str, str]]]:
    """The data of every cell of a table that has some, with its text, without the small print."""

    def cells(html: str) -> list[dict[str, str]]:
        found = []
        for attributes, inner in re.findall(r"<td([^>]*data-[^>]*)>(.*?)</td>", html, re.DOTALL):
            text = re.search(r"<bdi>(.*?)</bdi>", inner, re.DOTALL)
            found.append({name: unescape(value) for name, value in re.findall(r'data-([\w-]+)="([^"]*)"', attributes)}
                         | {"text": unescape(text[1] if text else inner)})
        return found

    return cells


@pytest.fixture
def bars(figure, cells) -> Callable[..., dict[str, list[float]]]:
    """The numbers of a table of bars by column: `bars(at, "Where")`, its title's beginning."""

    def bars(at: AppTest, title: str) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for cell in cells(figure(at, "bar-table", title)):
            found.setdefault(cell["column"], []).append(float(cell["value"]))
        return found

    return bars


@pytest.fixture
def place(make_checkpoint, home) -> Callable[..., Checkpoint]:
    """A tiny checkpoint among the uploads."""
    def place(**changes: object) -> Checkpoint:
        ckpt = make_checkpoint(**changes)
        shutil.copytree(ckpt.description.folder, home / "uploads" / "tiny")
        return ckpt

    return place


@pytest.fixture
def few_corpora(monkeypatch):
    """No corpus comes with the app: only files are offered."""
    monkeypatch.setattr("ui.choices.held_out_corpus.SOURCES", ())

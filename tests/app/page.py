"""What a test does with a page that `visit` has opened, and what it reads off it."""

import base64
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow
from streamlit.testing.v1 import AppTest

from tests.markup import Markup
from tests.messages import unpacked
from transformer.basics.paths import home
from ui.figures.labels import WORD_JOINER, plain_label

ROOT = Path(__file__).resolve().parents[2]


def put(at: AppTest, key: str, value: object) -> AppTest:
    """Give the widget of that key a value, as somebody does who types or chooses."""
    at.get_by_key(key).set_value(value)
    return at.run()


def press(at: AppTest, key: str) -> AppTest:
    """Click the button of that key."""
    at.button(key=key).click()
    return at.run()


def go(at: AppTest, page: str, **params: str) -> AppTest:
    """Go to another page, to the bare address of it or to one with parameters."""
    at.switch_page(f"pages/{page}.py")
    at.query_params.clear()
    at.query_params.update(params)
    return at.run()


def send_move(at: AppTest, page: str, index: int, *, number: int, start: int = 0, **more: object) -> None:
    """What the step controls send, before the page runs again: `send_move(at, "write", 3, number=1)`."""
    at.session_state[f"{page}_screen"] = {"move": {
        "index": index, "number": number, "decoding": at.session_state[f"{page}_decodings"], "from": start, **more}}


def move(at: AppTest, page: str, index: int, **more: object) -> AppTest:
    """Use the step controls."""
    send_move(at, page, index, **more)
    return at.run()


def plain(text: str) -> str:
    """A text as a page shows it, without the signs that keep it from acting as markdown."""
    return re.sub(r"\\([\W_])", r"\1", text).replace(WORD_JOINER, "")


WORDS = "markdown", "caption", "info", "error", "success", "warning", "text", "html"


def values(at: AppTest, *kinds: str) -> list[str]:
    """The text of each element of these kinds, as a page shows it."""
    return [plain(str(element.value)) for kind in kinds for element in getattr(at, kind)]


def words(at: AppTest, *kinds: str) -> str:
    """The texts of all elements of these kinds, or of all kinds that say something, together."""
    return "\n".join(values(at, *kinds or WORDS))


VOLATILE = {  # what another run of the same test may say otherwise -> what stands for it
    r"@[0-9a-f]{8}": "@hash", r"\babout [\d.]+ (s|min|h|days)\b": "about so long",
    r"\b\d(\.\d+)?e-\d\d\b": "about 0", r"(largest difference (?:is )?\**)0(?!\.?\d)": r"\1about 0",
    r"</?dfn[^>]*>": "", r"--device \w+(:\d+)?": "--device this"}
SAID = {"title": "#", "header": "##", "subheader": "###", "markdown": "", "caption": "", "text": "", "info": "info: ",
        "warning": "warning: ", "error": "error: ", "success": "success: ", "expander": "box: ", "popover": "menu: ",
        "button": "button: ", "page_link": "link: ", "download_button": "download: ", "metric": "number: "}
LONGEST_HTML = 300  # characters of a table


TOLD = "info", "warning", "error", "success", "caption"


def said(at: AppTest, *kinds: str) -> str:
    """All that a page says in words, in its order and a line each: texts, labels, choices, hints, and what charts and
    pieces of HTML say to who cannot see them; or elements of these kinds alone. For `accepted`."""
    lines: list[str] = []
    for element in at.main:
        kind, proto = element.type, getattr(element, "proto", None)
        if (getattr(element, "key", None) or "").endswith("_present"):
            continue  # on every page
        if kinds and kind not in kinds:
            continue
        label = getattr(proto, "label", "") or getattr(getattr(proto, kind, None), "label", "")
        if kind == "html":
            text = _text_of(element.value)[:LONGEST_HTML]
        elif kind in ("vega_lite_chart", "plotly_chart"):
            titles = dict.fromkeys(_titles(json.loads(proto.spec or "{}")))
            text = f"chart: {' | '.join(titles)}: {proto.alt}"
        elif kind == "arrow_data_frame":
            text = f"table: {' | '.join(map(str, element.value.columns))}"
        elif kind == "button_group":
            text = f"{label}: {' | '.join(option.content for option in proto.options)} [{element.value}]"
        elif kind == "code":
            text = f"code: {element.value}"
        elif kind in ("markdown", "caption", "text", "info", "warning", "error", "success", "title", "header",
                      "subheader"):
            text = f"{SAID[kind]} {element.value}"
        elif kind == "metric":
            text = f"number: {label} {element.value}"
        elif label:
            shown = element.value if kind not in SAID and hasattr(element, "value") else ""
            text = f"{SAID.get(kind, '')}{label} {'' if shown in ('', None) else f'[{shown}]'}"
        else:
            continue
        lines += [text, f"hint: {proto.help}"] if getattr(proto, "help", "") and kind != "page_link" else [text]
    text = "\n".join(" ".join(plain(line).split()) for line in lines if line.strip())
    for pattern, instead in {re.escape(str(home())): "HOME", **VOLATILE}.items():
        text = re.sub(pattern, instead, text)
    return text


def _titles(spec: object, under: str = "") -> Iterator[str]:
    """The titles of a chart, of its axes and of its legends, and the names of its lines."""
    if isinstance(spec, str) and under in ("title", "name"):
        if spec.strip() and not re.match("data-|view_", spec):  # Altair's own names
            yield " ".join(spec.split())
    elif isinstance(spec, list):
        for one in spec:
            yield from _titles(one, under)
    elif isinstance(spec, dict):
        for name, one in spec.items():
            if name not in ("template", "datasets", "usermeta", "params"):
                yield from _titles(one, under if name == "text" else name)


def _text_of(html: str) -> str:
    """What a piece of HTML says, its tables' captions and labels first; cells that are marked in brackets."""
    root = Markup(re.sub(r"(?s)<(style|script)>.*?</\1>", "", html)).root
    for cell in root.xpath("//td[contains(concat(' ', @class, ' '), ' marked ')]"):
        cell.text = f"[{cell.text or ''}]"
    texts = " ".join(" ".join(root.itertext()).split())
    return f"html: {' | '.join(root.xpath('//@aria-label'))} {texts}" if texts else ""


def options(at: AppTest, key: str) -> list[str]:
    """The labels of a group of buttons, or of a list."""
    one = at.get_by_key(key)
    return list(one.options) if one.type == "selectbox" else [option.content for option in one.proto.options]


def components(at: AppTest, *names: str) -> list:
    """The messages of the components of these names."""
    return [one.proto for one in at.get("bidi_component") if one.proto.component_name in names]


def picture(at: AppTest) -> tuple[dict, dict[str, np.ndarray]]:
    """The header and the arrays that the attention view of a page is sent."""
    (view,) = components(at, "attention_view", "step_view")
    return unpacked(view.bytes)


def has_step_view(at: AppTest) -> bool:
    """Whether the page shows a text in a step view."""
    return bool(components(at, "step_view"))


def step_view_of(at: AppTest) -> dict:
    """What the step view of a page is sent besides the picture: rows of tokens, bars, text, steps."""
    return picture(at)[0]["step_view"]


def html_of(at: AppTest, sign: str) -> str:
    """The one piece of HTML with that sign in it: a label, a class."""
    (html,) = [element.value for element in at.get("html") if sign in element.value]
    return html


def table_of(at: AppTest, label: str) -> str:
    """The HTML of the table of that label."""
    return html_of(at, f'aria-label="{label}"')


def chips(at: AppTest, name: str) -> list[str]:
    """The tokens of the row of that name, in the step view or beside one: `chips(at, "source tokens")`."""
    if any(f'aria-label="{name}"' in element.value for element in at.get("html")):
        return [unescape(token) for token in re.findall(r"<bdi>(.*?)</bdi>", table_of(at, name), re.DOTALL)]
    (row,) = [row for row in step_view_of(at)["rows"] if row["name"] == name]
    return [plain_label(token, longest=None) for token in row["tokens"]]


def whole_page(at: AppTest) -> str:
    """All that the page sends to the browser, as one text."""
    return unescape("\n".join(str(element.proto) for element in at if hasattr(element, "proto")))


def numbers_table(at: AppTest, page: str) -> tuple[tuple, np.ndarray]:
    """Open the table under the picture: which head it is of, and its weights (Tq, Tk)."""
    at.session_state[f"{page}_details"] = "Numbers"
    table = Markup(table_of(at.run(), "attention weights"))
    (head,) = {(data["data-kind"], int(data["data-layer"]), int(data["data-head"])) for data, _ in table.cells}
    return head, table.grid("data-query", "data-key").astype(np.float32)


def plot(at: AppTest, key: str) -> dict:
    """The plotly figure whose key starts so, its arrays decoded: `plot(at, "write_heatmap")["data"][0]["z"]`."""

    def decoded(value):
        if isinstance(value, dict) and "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            return array.reshape([int(n) for n in value.get("shape", str(array.size)).split(",")])
        if isinstance(value, dict):
            return {key: decoded(inner) for key, inner in value.items()}
        return [decoded(inner) for inner in value] if isinstance(value, list) else value

    (chart,) = [chart for chart in at.get("plotly_chart") if (chart.key or "").startswith(key)]
    return decoded(json.loads(chart.proto.spec))


def matrix(at: AppTest, key: str) -> np.ndarray:
    """The values of the heat map whose key starts so; NaN where they are masked."""
    return plot(at, key)["data"][0]["z"]


def rows_of(chart) -> list[dict]:
    """The rows that are sent with an altair chart."""
    return [row for part in chart.proto.datasets
            for row in pyarrow.ipc.open_stream(part.data.data).read_all().to_pylist()]


def figure_of(at: AppTest, kind: str, title: str = "") -> str:
    """The one figure of that class whose title begins so: `figure_of(at, "bar-table", "Where")`."""
    (found,) = [element.value for element in at.get("html") if f'<figure class="{kind}"' in element.value
                and f"<figcaption>{title}" in unescape(element.value)]
    return found


def table_cells(html: str) -> list[dict[str, str]]:
    """The data of every cell of a table that has some, with its text, without the small print."""
    found = []
    for cell in Markup(html).root.xpath("//td[@*[starts-with(name(), 'data-')]]"):
        text = cell.xpath("string(.//bdi)") if cell.xpath(".//bdi") else cell.text_content()
        found.append({name.removeprefix("data-"): value for name, value in cell.attrib.items()
                      if name.startswith("data-")} | {"text": text})
    return found


def bars(at: AppTest, title: str) -> dict[str, list[float]]:
    """The numbers of a table of bars by column: `bars(at, "Where")`, its title's beginning."""
    found: dict[str, list[float]] = {}
    for cell in table_cells(figure_of(at, "bar-table", title)):
        found.setdefault(cell["column"], []).append(float(cell["value"]))
    return found

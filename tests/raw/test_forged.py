"""What no browser sends, to every button and every widget that the server draws: what is new on a page is in here by
itself."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.messages import NEVER_SENT
from tests.raw.client import Client
from tests.raw.conftest import MINE, THEIRS
from transformer.jobs import run_files
from transformer.studies import ablation_job
from transformer.training import sweeps
from ui.access import visitors
from ui.lessons.stop_links import fields_of
from ui.page.pages import EVERY_PAGE, HOME

VIEWS = ("view", "part", "show", "compare")  # fields of a link that choose one view of a page
POINTS = [{}, [], {"selection": 1}, {"selection": {"points": [1]}}, {"selection": {"points": [{"customdata": [3]}]}}]
CHART = [("string_value", text) for text in ("{", *map(json.dumps, POINTS))]
OF_ANOTHER_TYPE = [("json_value", "{"), ("double_array_value", [])]
# The kind of a widget -> what it never has, though of its type.
ODD = {
    "bidi_component": [*(("json_value", text) for text in ("{", "[1]", *map(json.dumps, NEVER_SENT))),
                       ("int_value", 1)],
    "slider": [("double_array_value", one) for one in ([], [math.nan], [1e18])] + [("string_array_value", ["1e18"])],
    "number_input": [("double_value", one) for one in (math.nan, 1e18, -1e18)] + [("string_value", "1")],
    "plotly_chart": CHART, "vega_lite_chart": CHART, "dataframe": CHART,
    "selectbox": [("int_value", 10 ** 6), ("json_value", "{")], "radio": [("int_value", 10 ** 6)],
    "button_group": [("string_array_value", ["no such"]), ("int_array_value", [10 ** 6])],
    "multiselect": [("int_array_value", [10 ** 6]), ("double_array_value", [])]}
# The kind of a widget on which the rest of a page may hang -> the same.
CHOICES = {"selectbox": ("string_value", "no such"), "radio": ("string_value", "no such"),
           "button_group": ("string_array_value", []), "multiselect": ("string_array_value", ["no such"])}
Place = tuple[str, dict[str, str]]  # a page and the parameters of its address
ONE_OF_MANY = re.compile(r"[EDX]?[0-9]+(H[0-9]+)?|(?<=lessons_(start|check)_).*")  # in the key of a button
COMPUTES = re.compile("known_(?!present).*|checkpoints_measure")  # for minutes, and keeps nothing
FILLED = {"checkbox": ("bool_value", True), "text_input": ("string_value", "theirs"),
          "text_area": ("string_value", "theirs")}


def of_page(page: str) -> Iterator[Place]:
    """A page in every view."""
    fields = fields_of(page)
    for view in [{name: one} for name in VIEWS if name in fields for one in fields[name].options] or [{}]:
        yield "" if page == HOME.name else page, view


def sent(drawn: dict[str, str], known: set[str]) -> Iterator[dict[str, tuple[str, object]]]:
    """What is sent to the widgets of a page: a value to each of them at once, and one to each that no page had before
    and on which the rest may hang."""
    values = {key: ODD.get(kind, OF_ANOTHER_TYPE) for key, kind in drawn.items()}
    for at in range(max(map(len, values.values()))):
        yield {key: some[at % len(some)] for key, some in values.items()}
    for key, kind in drawn.items():
        if kind in CHOICES and key not in known:
            yield {key: CHOICES[kind]}
    known.update(drawn)


@pytest.mark.slow
@pytest.mark.parametrize("page", EVERY_PAGE)
def test_no_value_of_a_widget_breaks_a_page(visitor, page):
    known, broken = set(), []
    for name, view in of_page(page):
        client = visitor(teacher=True).open(name, **view)
        drawn = client.kinds
        for values in sent(drawn, known):
            if client.kinds != drawn:  # what was chosen before leads elsewhere, and is kept
                client.close()
                client = visitor(teacher=True).open(name, **view)
            if client.send(**values).sizes["exception"]:
                broken.append((view, values))
    assert not broken


def kept(home: Path) -> dict[str, tuple[int, bytes]]:
    """All that is in a home but rooms, locks, and results that are everybody's."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file() and not (
        path.name.startswith("rooms.sqlite") or path.suffix == ".lock" or path.match("analysis/*.safetensors"))}


@pytest.fixture
def things(server, trained_on, give, process) -> list[Place]:
    """One of each thing that somebody may own, and where it is seen; and where more is made."""
    ended, going, toy = (server.home / "runs" / name for name in ("ended", "going", "toy-20260101-120000-00ff"))
    checkpoint = trained_on(server.home / "uploads" / "corpora" / visitors.digest(THEIRS) / "1-theirs.txt")
    measured = ablation_job.place(server.home / "analysis", checkpoint, limit=50)
    for folder, state in ((ended, "stopped"), (going, "running"), (toy, "running"), (measured, "running")):
        folder.mkdir(parents=True)
        run_files.write_json(folder / "config.json", {"train": {"task": "translation", "corpus": "eng-fra"}})
        run_files.write_json(folder / "status.json", {"state": state, "step": 3, "steps": 9})
        give(folder, THEIRS, running=process.pid if state == "running" else None)
    run_files.write_json(ended / sweeps.FILE, {"sweep": "ours", "values": {"n_heads": [1, 2]}, "cell": {"n_heads": 1}})
    return [("train", {"view": "watch", "run": ended.name}), ("train", {"view": "watch", "run": going.name}),
            ("train", {"view": "sweep", "sweep": "ours"}), ("train", {"view": "new"}), ("train", {"view": "server"}),
            ("classify", {"show": "toy"}), ("classify", {"show": "toy", "toy_run": toy.name}),
            ("checkpoints", {"view": "add"}), ("room", {}),
            ("heads", {"view": "switch", "each": "open", "checkpoint": checkpoint, "limit": "50"})]


def kinds_of_buttons(teacher: Client, known: set[str]) -> list[str]:
    """The buttons of a page, one of those that are the same for many things, and none that was known before."""
    buttons = {ONE_OF_MANY.sub("0", key): key for key, kind in teacher.kinds.items()
               if kind == "button" and not COMPUTES.fullmatch(key)}
    new = [key for kind, key in buttons.items() if kind not in known]
    known.update(buttons)
    return new


def done_by_others(visitor, home: Path, places: Iterable[Place], *, fill: bool) -> tuple[set[str], list]:
    """Has every button of the teacher's in some places pressed by whoever has no cookie and by a student whom nothing
    belongs to -> the buttons, and those that changed anything in the home. fill: with all switches on and all fields
    filled in."""
    visitor(teacher=True).open("room")  # which has what all cookies are signed with made
    before, known, done = kept(home), set(), []
    for name, view in places:
        teacher = visitor(teacher=True).open(name, **view)
        filled = {key: FILLED[kind] for key, kind in teacher.kinds.items() if fill and kind in FILLED}
        for button in kinds_of_buttons(teacher, known):
            for who in ({}, {"key": MINE}):
                client = visitor(**who).open(name, **view)
                client.ids |= teacher.ids
                client.send(button, **filled).close()
                if kept(home) != before:
                    done.append((button, who))
                    before = kept(home)
        teacher.close()
    return known, done


@pytest.mark.slow
def test_no_button_does_anything_to_what_is_somebody_elses(visitor, server, things, others_may_start, process):
    others_may_start(False)
    buttons, done = done_by_others(visitor, server.home, things, fill=True)
    assert not done
    assert process.poll() is None
    assert {f"train_{one}" for one in ("start", "stop", "resume", "rename", "promote", "delete")} <= buttons


@pytest.mark.slow
@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.rare("opens views that compute for seconds"))
                                  if page in ("heads", "known", "checkpoints") else page for page in EVERY_PAGE])
def test_no_other_button_does_anything_for_who_may_not(visitor, server, others_may_start, page):
    others_may_start(False)
    assert done_by_others(visitor, server.home, of_page(page), fill=False)[1] == []

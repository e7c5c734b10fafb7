"""The main path in browsers other than Chromium, as a class opens it: by an address of this computer, on plain http."""

import re
from pathlib import Path

import pytest

import transformer
from tests.rooms.shown import picture_of
from transformer.basics.paths import ROOT
from transformer.rooms.room import ANSWER, OPEN, new_key
from transformer.rooms.store import Store

from .conftest import SIZE
from .path import PATH

pytestmark = pytest.mark.rare("other browsers: what breaks in one and not in Chromium seldom does")


@pytest.fixture(scope="module")
def served(serve, tmp_path_factory) -> tuple[str, Path]:
    """The address that a server says others can open, and its home."""
    folder = tmp_path_factory.mktemp("others")
    log = folder / "log.txt"
    serve(log, "ui/server/serve.py", "--host", "0.0.0.0", "--port", "0", HEADSUP_HOME=str(folder / "home"))
    found = re.search(r"for others at (http://[\w.:]+)", log.read_text())
    if found is None:
        pytest.skip("this computer has no address but its own")
    return found[1], folder / "home"


@pytest.mark.parametrize("part", PATH)
def test_the_main_path_is_passed(tab, served, part):
    PATH[part](tab, served[0])


def test_a_phone_follows_a_room_and_answers(tab, served):
    url, home = served
    store = Store(home / "rooms.sqlite")
    room = store.open_room(new_key())
    store.lead(room.id, "tab")
    tab.resize(360, 740)
    tab.go(f"{url}/r/{room.code.lower()}")
    tab.until("all('*').some((e) => seen(e) && e.textContent === 'The lecturer has not shown anything yet.')")
    *_, step = transformer.steps(transformer.load(ROOT / "checkpoints" / "translate"), "I like red wine.", max_steps=4)
    view = {"page": "translate", "params": {"step": "3"}, "title": "Translate", "place": "step 3", "said": ""}
    store.publish(room.id, view, picture_of(step), "tab")
    tab.until("all('*').some((e) => seen(e) && e.textContent === 'step 3') && all('canvas').filter(seen).length > 0")
    spec = {"about": "next token", "form": "choice", "ask": "Which comes next?", "choices": ["vin", "rouge"]}
    key = {"right": 1, "values": [0.1, 0.9], "said": "The model gives “rouge” 90%.", "tolerance": 0, "margin": 1,
           "proof": {"checkpoint": "translate", "step": 3, "seed": 0}}
    question = store.ask(room.id, spec, key, view)
    store.set_phase(room.id, question.id, OPEN)
    tab.click("button.choice", "rouge")
    tab.until("all('*').some((e) => seen(e) && e.textContent.startsWith('Sent'))")
    assert [one["value"] for one in store.answers(room.id, store.question(room.id, question.id), 1)] == [1]
    store.set_phase(room.id, question.id, ANSWER)
    tab.until("one('main').textContent.includes('The model gives')")
    tab.resize(*SIZE)

"""Widget values that no browser sends: the page is drawn as if they had not come."""

import json

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.session_state import SessionState

from tests.messages import NEVER_SENT
from transformer.attention_view import selected
from ui.components import attention_view
from ui.figures.frame import picked_number
from ui.state import patches

from .addresses import VIEWS

pytestmark = pytest.mark.usefixtures("lasting")


@pytest.fixture
def forge():
    """Runs the page with the values of widgets replaced: `forge(at, masks_pair={"string_array_value": []})`."""
    def forge(at, **sent):
        states = at._tree.get_widget_states()
        ids = [id for element in at if (id := getattr(getattr(element, "proto", None), "id", ""))]
        for key, values in sent.items():
            (id,) = {id for id in ids if id.endswith(f"-{key}")}
            for state in [state for state in states.widgets if state.id == id]:
                states.widgets.remove(state)
            state = states.widgets.add()
            state.id = id
            for name, value in values.items():
                if isinstance(value, list):
                    getattr(state, name).SetInParent()
                    getattr(state, name).data.extend(value)
                else:
                    setattr(state, name, value)
        at._run(states)
        return at

    return forge


@pytest.mark.parametrize(("page", "address"), [
    ("masks", {}), ("positions", {}), ("train", {"view": "new"}), ("heads", {"view": "lens", "text": "a dog"}),
    ("heads", {"view": "attribution", "text": "a dog"}), ("classify", {}), ("checkpoints", {"view": "tokenizer"}),
    ("by_hand", {}), ("translate", {"compare": "branch"}),
], ids=lambda value: value if isinstance(value, str) else "-".join(value.values()))
def test_groups_that_need_a_choice_keep_one(page, address, visit, forge, made):
    """None of them is given one: all others first, and then the one that says which view is open."""
    at = visit(page, **address, **({"checkpoint": made("translator").id} if page in ("heads", "checkpoints") else {}))
    for of_view in (False, True):
        keys = [group.key for group in at.button_group if (group.key.rpartition("_")[2] in VIEWS) == of_view]
        forge(at, **{key: {"string_array_value": []} for key in keys})


@pytest.mark.parametrize(("page", "address", "sent"), [
    ("masks", {}, [("masks_scale", {"double_array_value": [float("nan")]}),
                   ("masks_scale", {"double_array_value": [1e18]}), ("masks_scale", {"string_array_value": ["1e18"]})]),
    ("positions", {}, [("positions_count", {"double_value": float("nan")}), ("positions_count", {"double_value": 1e18}),
                       ("positions_place", {"double_array_value": []})]),
    ("by_hand", {}, [("by_hand_seed", {"double_value": float("nan")})]),
    ("train", {"view": "new"}, [("train_translate_d_model", {"double_value": float("nan")}),
                                ("train_preset", {"int_value": 10 ** 6})]),
    ("translate", {}, [("translate_checkpoint", {"int_value": 10 ** 6}), ("translate_screen", {"json_value": "{"}),
                       ("translate_screen", {"json_value": "[1]"})]),
    ("home", {}, [("shell_script", {"json_value": "{"})]), ("classify", {}, [("classify_screen", {"json_value": "{"})]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_values_that_a_widget_cannot_read_change_nothing(page, address, sent, visit, forge):
    at = visit(page, **address)
    for key, values in sent:
        forge(at, **{key: values})


@pytest.mark.parametrize(("key", "page", "address"), [
    ("translate_screen", "translate", {}), ("write_screen", "write", {}), ("classify_screen", "classify", {}),
    ("heads_effects", "heads", {"view": "direct", "text": "a dog"}),
    ("train_forming", "train", {"view": "watch", "run": "checkpoints/translate"}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_component_never_sends_changes_nothing(key, page, address, visit, forge, made):
    at = visit(page, **address, **({"checkpoint": made("translator").id} if page == "heads" else {}))
    for odd in NEVER_SENT:
        forge(at, **{key: {"json_value": json.dumps(odd)}})
    at.run()


@pytest.mark.parametrize("value", [5, True, {"a": 1}, 1e308, [[]]])
def test_a_pair_or_heads_that_are_none_are_left_out(value):
    assert selected._pair(value, (3, 3)) is None
    assert selected._lit(value, 4) in ((), (0,))


@pytest.mark.parametrize("heads", [4, 16, 17, 96])
def test_all_heads_drawn_as_lines_stay_all_of_them_in_the_link_too(heads):
    """Of few they are what is drawn where nothing is said; of many that would be the head in focus alone."""
    every = tuple(range(heads))
    assert selected._lit([*every], heads) == (None if heads <= 16 else every)
    read = attention_view.selection_fields()["lit"].read
    assert selected._lit(read(attention_view.selection_param("lit", every)), heads) == (
        None if heads <= 16 else every)


def test_a_message_makes_a_decoding_choose_so_often_and_no_more(monkeypatch):
    choices = [{"number": at, "at": at, "nth": 0} for at in range(1_000)]
    monkeypatch.setattr(attention_view.st, "session_state", {
        "write_screen": {"move": {"index": 0, "number": 1, "choices": choices}}})
    assert attention_view.move_of("write")["choices"] == choices[-attention_view.MOST_CHOICES:]


@pytest.mark.parametrize("event", [None, {}, [], {"selection": 1}, {"selection": {"points": []}},
                                   {"selection": {"points": [1]}}, {"selection": {"points": [{"customdata": [3]}]}},
                                   {"selection": {"points": [{"customdata": -1}]}}])
def test_a_selection_that_no_chart_makes_is_none(event):
    assert picked_number(event) is None
    assert picked_number({"selection": {"points": [{"customdata": 3}]}}) == 3


def test_of_a_page_that_was_left_no_fragment_is_run(monkeypatch):
    """Or Streamlit would go back to that page; whole pages, and fragments that exist, are run as ever."""
    runner, ran = ScriptRunner.__new__(ScriptRunner), []
    runner._fragment_storage = MemoryFragmentStorage()
    monkeypatch.setattr(ScriptRunner, "_run_script", lambda self, data: ran.append(data))
    for name in ("set_widgets_from_proto", "_set_widget_metadata"):
        monkeypatch.setattr(SessionState, name, getattr(SessionState, name))  # and back after the test
    patches.apply()
    patches.apply()  # as every run of the script does
    runner._fragment_storage.register("there", lambda: None)
    page, gone, there = (RerunData(fragment_id_queue=queue) for queue in ([], ["gone"], ["there"]))
    for data in (page, gone, there):
        runner._run_script(data)
    assert ran == [page, there]

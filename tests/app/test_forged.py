"""Widget values that no browser sends: the page is drawn as if they had not come."""

import json

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.session_state import SessionState

from transformer.attention_view import selected
from ui.components import attention_view
from ui.figures.frame import picked_number
from ui.state import patches

ODD = [{"move": 1, "selection": 1, "pick": 1, "choose": 1}, {"move": {}, "selection": {}, "pick": {}, "choose": {}},
       {"move": {"index": "x", "number": [], "choices": 5}, "selection": {"number": None}, "pick": {"kind": 3},
        "choose": {"nth": "x", "branch": -1}},
       {"move": {"index": 10 ** 30, "number": 7, "decoding": 99, "from": 1e308, "choices": [1, {"at": None}]},
        "selection": {"kind": "cross", "layer": -5, "head": 1e99, "number": 1, "pair": [[]], "lit": {"a": 1},
                      "step": "x"},
        "pick": {"kind": "zzz", "layer": -1}, "choose": {"nth": 10 ** 8, "branch": 10 ** 8}}]


@pytest.fixture
def forge():
    """Runs the page with one widget's value replaced: `forge(at, "masks_pair", string_array_value=[])`."""
    def forge(at, key, **sent):
        states = at._tree.get_widget_states()
        (id,) = {id for element in at if (id := getattr(getattr(element, "proto", None), "id", "")).endswith(f"-{key}")}
        for state in [state for state in states.widgets if state.id == id]:
            states.widgets.remove(state)
        state = states.widgets.add()
        state.id = id
        for name, value in sent.items():
            if isinstance(value, list):
                getattr(state, name).SetInParent()
                getattr(state, name).data.extend(value)
            else:
                setattr(state, name, value)
        at._run(states)
        return at

    return forge


@pytest.mark.parametrize(("key", "page", "address"), [
    ("masks_pair", "masks", {}), ("positions_view", "positions", {}), ("positions_measure", "positions", {}),
    ("train_task", "train", {"view": "new"}), ("heads_view", "heads", {"view": "lens"}),
    ("heads_colour", "heads", {"view": "lens"}), ("heads_lens", "heads", {"view": "lens"}),
    ("heads_states", "heads", {"view": "lens"}),
    ("heads_steps", "heads", {"view": "attribution"}), ("classify_show", "classify", {}),
    ("checkpoints_view", "checkpoints", {}), ("by_hand_part", "by_hand", {}), ("by_hand_mask", "by_hand", {}),
    ("translate_compare_with", "translate", {"compare": "branch"}),
    ("train_translation_corpus_way", "train", {"view": "new"}),
])
def test_a_group_that_needs_a_choice_keeps_one(key, page, address, visit, forge):
    forge(visit(page, **address), key, string_array_value=[])


@pytest.mark.parametrize(("key", "page", "address", "sent"), [
    ("masks_scale", "masks", {}, {"double_array_value": [float("nan")]}),
    ("masks_scale", "masks", {}, {"double_array_value": [1e18]}),
    ("masks_scale", "masks", {}, {"string_array_value": ["1e18"]}),
    ("positions_count", "positions", {}, {"double_value": float("nan")}),
    ("positions_count", "positions", {}, {"double_value": 1e18}),
    ("positions_place", "positions", {}, {"double_array_value": []}),
    ("by_hand_seed", "by_hand", {}, {"double_value": float("nan")}),
    ("train_translate_d_model", "train", {"view": "new"}, {"double_value": float("nan")}),
    ("train_preset", "train", {"view": "new"}, {"int_value": 10 ** 6}),
    ("translate_checkpoint", "translate", {}, {"int_value": 10 ** 6}),
    ("shell_script", "home", {}, {"json_value": "{"}),
    ("translate_screen", "translate", {}, {"json_value": "{"}),
    ("translate_screen", "translate", {}, {"json_value": "[1]"}),
    ("classify_screen", "classify", {}, {"json_value": "{"}),
])
def test_a_value_that_a_widget_cannot_read_changes_nothing(key, page, address, sent, visit, forge):
    forge(visit(page, **address), key, **sent)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("key", "page", "address"), [
    ("translate_screen", "translate", {}), ("write_screen", "write", {}), ("classify_screen", "classify", {}),
    ("heads_effects", "heads", {"view": "direct"}),
    ("train_forming", "train", {"view": "watch", "run": "checkpoints/translate"}),
])
def test_what_a_component_never_sends_changes_nothing(key, page, address, odd, visit, forge):
    forge(visit(page, **address), key, json_value=json.dumps(odd)).run()


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

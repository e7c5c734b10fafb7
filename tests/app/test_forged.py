"""Values that no browser sends: they are read as if they had not come. tests/raw/test_forged.py sends them to every
widget."""

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.session_state import SessionState

from transformer.attention_view import selected
from ui.components import attention_view
from ui.figures.frame import picked_number
from ui.state import patches


@pytest.mark.parametrize("value", [5, True, {"a": 1}, 1e308, [[]]])
def test_a_pair_or_heads_that_are_none_are_left_out(value):
    assert selected._pair(value, (3, 3)) is None
    assert selected._lit(value, 4) in ((), (0,))


@pytest.mark.parametrize("heads", [4, 16, 17, 96])
def test_all_heads_drawn_as_lines_stay_all_of_them_in_the_link_too(heads):
    """Of few they are what is drawn where nothing is said; of many that would be the head in focus alone."""
    every = tuple(range(heads))
    assert selected._lit([*every], heads) == (None if heads <= 16 else every)
    read = attention_view.Selected.fields()["lit"].read
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

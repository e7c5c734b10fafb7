"""Patches and private names: every one is there, and each patch does what it is for (`ui/state/patches.py`)."""

from types import SimpleNamespace

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.NewSession_pb2 import CustomThemeConfig

from tests.rows import each_row
from ui.server.browser_messages import MOST_WIDGETS, checked
from ui.state import patches


def test_every_private_name_is_there_with_the_same_parameters(monkeypatch):
    patches.check()
    packages = {name.partition(".")[0] for name in (*patches.NAMES, *patches.ATTRIBUTES)}
    assert packages == set(patches.WRITTEN_FOR)
    monkeypatch.setattr("streamlit.auth_util.build_logout_url", lambda client_id: "")
    with pytest.raises(RuntimeError, match="build_logout_url"):
        patches.check()


@each_row("name", [*patches.NAMES, *(f"{kind}.{name}" for kind, held in patches.ATTRIBUTES.items() for name in held)])
def test_without_one_of_them_nothing_is_served(monkeypatch, name):
    kind, _, attribute = name.rpartition(".")
    with monkeypatch.context() as without:
        if kind in patches.ATTRIBUTES:
            without.setitem(patches.ATTRIBUTES, kind, (f"{attribute}_2",))
        else:
            without.setitem(patches.NAMES, f"{name}_2", patches.NAMES[name])
        with pytest.raises(RuntimeError, match=f"{name.partition('.')[0]} .* has no .*_2 .*pip install"):
            patches.check()


def test_a_fragment_of_a_page_that_was_left_ends_no_run_of_the_page_that_comes():
    asked = []
    ask = patches.asking_for_what_was_pressed(lambda _, state: asked.append(state))
    for fragment, page, here in (("steps", "home", False), ("steps", "write", True), ("", "home", True),
                                 ("steps", "", True)):  # a link asks for another page, and the first run for any
        ask(_session(), state := ClientState(fragment_id=fragment, page_script_hash=page))
        assert (asked.pop() is state if asked else False) is here, (fragment, page)
    ask(_session(), None)
    assert asked == [None]


def test_two_presses_in_one_request_run_the_whole_page_unless_both_are_of_its_fragment():
    asked = []
    ask = patches.asking_for_what_was_pressed(lambda _, state: asked.append(state.fragment_id))
    for pressed, wanted in ((["in"], "steps"), (["in", "out"], ""), (["out"], ""), (["unknown"], "steps"),
                            ([], "steps")):
        state = ClientState(fragment_id="steps", page_script_hash="write")
        for one in ("in", "out", "unknown"):
            state.widget_states.widgets.add(id=one, json_trigger_value="[]" if one in pressed else "")
        state.widget_states.widgets.add(id="out", double_value=1)  # what is only chosen is kept, whatever runs
        ask(_session(), state)
        assert asked.pop() == wanted, pressed


def _session():
    """A session on the page of a text, which has a button in a fragment and one outside."""
    known = {"in": SimpleNamespace(fragment_id="steps"), "out": SimpleNamespace(fragment_id=None)}
    return SimpleNamespace(_pages_manager=SimpleNamespace(current_page_script_hash="write"),
                           _session_state=SimpleNamespace(_new_widget_state=SimpleNamespace(widget_metadata=known)))


def test_no_visitor_empties_the_cache_that_all_share(watched):
    with watched.visit() as session:
        session.socket.send(BackMsg(clear_cache=True).SerializeToString())  # before any page has run
        session.open("translate")
        session.socket.send(BackMsg(clear_cache=True).SerializeToString())
        session.open("translate")
    assert "It was emptied." not in watched.log.read_text()


def test_more_widgets_than_a_page_has_are_cut_off():
    message = BackMsg()
    for number in range(MOST_WIDGETS + 1):
        message.rerun_script.widget_states.widgets.add(id=str(number))
    cut = BackMsg.FromString(checked(message.SerializeToString())).rerun_script.widget_states.widgets
    assert [one.id for one in cut] == [str(number) for number in range(MOST_WIDGETS)]
    del message.rerun_script.widget_states.widgets[MOST_WIDGETS:]
    assert checked(message.SerializeToString()) == message.SerializeToString()
    assert checked(b"\xff") == b"\xff"  # what is no message is Streamlit's to refuse


def test_a_theme_is_read_once_and_is_the_same_in_every_message():
    read = []

    def populate(msg, section="theme"):
        read.append(section)
        if section != "theme.empty":
            msg.primary_color = section

    put = patches.reading_once(populate)
    for _ in range(2):
        theme = CustomThemeConfig(font_faces=[])
        put(theme)
        put(theme.light, "theme.light")
        put(theme.dark, "theme.empty")
        assert (theme.primary_color, theme.light.primary_color) == ("theme", "theme.light")
        assert not theme.HasField("dark")
    assert read == ["theme", "theme.light", "theme.empty"]

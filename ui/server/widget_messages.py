"""What comes in and is dropped. What no browser sends: every widget keeps the value it had, and nobody empties the
cache that all visitors share. And what one sends too late: a part of a page that has been left."""

from functools import wraps

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState

MOST_SENT = 2_000  # widgets in one message; no page has so many
SENT = {"double_value": ("double_value", "int_value")}  # a number input is sent as what it shows


def drop_forged_values() -> None:
    """Have Streamlit forget what a widget that has been drawn cannot read, instead of failing on it, and more widgets
    than any page has."""
    take, register = SessionState.set_widgets_from_proto, SessionState._set_widget_metadata
    if hasattr(take, "__wrapped__"):  # the script runs again and again, and Streamlit is one for all sessions
        return

    @wraps(take)
    def take_readable(self: SessionState, states: WidgetStates) -> None:
        take(self, states)
        for state in states.widgets:
            if not _readable(self, state):
                self._new_widget_state.states.pop(state.id, None)

    @wraps(register)
    def register_readable(self: SessionState, about: WidgetMetadata) -> None:
        register(self, about)
        sent = self._new_widget_state.states.get(about.id)
        state = getattr(sent, "value", None)  # it came before the widget was drawn, and nothing has read it yet
        if isinstance(state, WidgetState) and not _readable(self, state):
            self._new_widget_state.states.pop(about.id, None)

    ask = AppSession.request_rerun

    @wraps(ask)
    def ask_with_few(self: AppSession, client_state: ClientState | None) -> None:
        if client_state is not None:
            del client_state.widget_states.widgets[MOST_SENT:]
        ask(self, client_state)

    AppSession.request_rerun = ask_with_few
    SessionState.set_widgets_from_proto = take_readable
    SessionState._set_widget_metadata = register_readable
    AppSession._handle_clear_cache_request = lambda self: None  # the menu that asks for it is not shown


def drop_late_fragments() -> None:
    """Have Streamlit run no fragment that is gone: one that was asked for while its page was left. It looks for that as
    the request comes in, but not again once the run before is over, and would then go back to the page that was left
    and draw nothing of it."""
    run = ScriptRunner._run_script
    if hasattr(run, "__wrapped__"):
        return

    @wraps(run)
    def run_what_is_there(self: ScriptRunner, data: RerunData) -> None:
        asked = data.fragment_id_queue
        if not asked or any(self._fragment_storage.contains(one) for one in asked):
            run(self, data)

    ScriptRunner._run_script = run_what_is_there


def _readable(session: SessionState, state: WidgetState) -> bool:
    known = session._new_widget_state
    about = known.widget_metadata.get(state.id)
    if about is None:
        return True  # it has not been drawn yet, so nothing reads it
    if state.WhichOneof("value") not in SENT.get(about.value_type, (about.value_type,)):
        return False
    try:
        about.serializer(known[state.id])  # as Streamlit does to compare it with what it was
    except Exception:  # whatever a widget's reader does with what it was not written for
        return False
    return True

"""The patches of Streamlit, and every private name that the server uses: all of them in this file.

Six places of Streamlit 1.67 are replaced, because no setting, subclass or middleware reaches them:

1. `SessionState.set_widgets_from_proto` and 2. `SessionState._set_widget_metadata`: a value that a widget cannot read
   is forgotten. Streamlit raises an exception on the visitor's page instead, which anybody could make happen.
3. `ScriptRunner._run_script`: a fragment that is gone is not run. It was requested while its page was left; Streamlit
   checks that only when the request comes in, and would show the old page with nothing on it. Runs are timed as well.
4. `AppSession.request_rerun`: a fragment of a page that the script has left is not asked for, because its browser does
   not know that yet. Streamlit would end the run of the new page for it. And where something was pressed outside of
   the fragment that is asked for, the whole page runs: browsers send two presses of one moment as one request, for the
   fragment of the last, and Streamlit would forget the other.
5. `PagesManager.uses_pages_directory`: the folder `pages` holds scripts for `st.navigation`. Streamlit would show them
   as pages of their own until the app has run once.
6. `_populate_theme_msg`: a theme is read from the settings once, and not for every step of every visitor, where it took
   a third of what the event loop does for a step.

`check` runs before anything is served. A limit that rests on a name which is gone would not hold, and nobody would
notice; so the server then does not start. If a new version breaks it: read the sources again, change the patch and
`WRITTEN_FOR`; tests/server/test_patches.py shows what each patch has to do.
"""

import importlib
import inspect
import time
from functools import wraps
from importlib import metadata
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, _has_active_trigger_value
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState

from ui.state.worker_counters import counters

WRITTEN_FOR = {"streamlit": "1.67.0", "uvicorn": "0.54.0", "websockets": "17.4"}
SENT = {"double_value": ("double_value", "int_value")}  # widgets that browsers also send as another type

_SERVER, _STATE = "streamlit.web.server.starlette", "streamlit.runtime.state"
_WEBSOCKET = "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol"
# module:name -> its parameters; None for what is not called.
NAMES: dict[str, tuple[str, ...] | None] = {
    # patched
    f"{_STATE}.session_state:SessionState.set_widgets_from_proto": ("self", "widget_states"),
    f"{_STATE}.session_state:SessionState._set_widget_metadata": ("self", "widget_metadata"),
    "streamlit.runtime.scriptrunner.script_runner:ScriptRunner._run_script": ("self", "rerun_data"),
    "streamlit.runtime.app_session:AppSession.request_rerun": ("self", "client_state"),
    "streamlit.runtime.pages_manager:PagesManager.uses_pages_directory": None,
    "streamlit.runtime.app_session:_populate_theme_msg": ("msg", "section"),
    # called
    "streamlit.runtime.scriptrunner_utils.script_requests:_has_active_trigger_value": ("state",),
    "streamlit.web.bootstrap:load_config_options": ("flag_options",),
    f"{_SERVER}.starlette_auth_routes:_create_oauth_client": ("provider",),
    f"{_SERVER}.starlette_auth_routes:_get_provider_by_state": ("request", "state_code_from_url"),
    "streamlit.auth_util:build_logout_url": (
        "end_session_endpoint", "client_id", "post_logout_redirect_uri", "id_token"),
    "streamlit.file_util:get_static_dir": (),
    "streamlit.net_util:get_internal_ip": (),
    # extended by the subclasses in connections.py
    "uvicorn.protocols.http.auto:AutoHTTPProtocol.connection_made": ("self", "transport"),
    "uvicorn.protocols.http.auto:AutoHTTPProtocol.connection_lost": ("self", "exc"),
    "uvicorn.protocols.http.auto:AutoHTTPProtocol.on_response_complete": ("self",),
    "uvicorn.protocols.http.auto:AutoHTTPProtocol.resume_writing": ("self",),
    f"{_WEBSOCKET}.connection_made": ("self", "transport"),
    f"{_WEBSOCKET}.connection_lost": ("self", "exc"),
    f"{_WEBSOCKET}.resume_writing": ("self",),
    f"{_WEBSOCKET}.data_received": ("self", "data"),
    f"{_WEBSOCKET}.send_receive_event_to_app": ("self",),
    "websockets.extensions.permessage_deflate:PerMessageDeflate.encode": ("self", "frame"),
    "websockets.extensions.permessage_deflate:ServerPerMessageDeflateFactory.process_request_params": (
        "self", "params", "accepted_extensions"),
}
# module:class -> attributes that its instances have.
ATTRIBUTES = {
    "streamlit.runtime.app_session:AppSession": ("_pages_manager", "_session_state"),
    "streamlit.runtime.runtime:Runtime": ("_session_mgr",),
    "streamlit.runtime.scriptrunner.script_runner:ScriptRunner": ("_fragment_storage",),
    f"{_STATE}.session_state:SessionState": ("_new_widget_state", "_old_state"),
    f"{_STATE}.common:WidgetMetadata": ("fragment_id",),
    **{f"streamlit.elements.widgets.{one}Serde": ("formatted_option_to_option_index",)
       for one in ("selectbox:Selectbox", "multiselect:MultiSelect")},
    "streamlit.runtime.websocket_session_manager:WebsocketSessionManager": ("_session_storage",),
    "streamlit.runtime.memory_session_storage:MemorySessionStorage": ("_cache",),
    "uvicorn.protocols.http.auto:AutoHTTPProtocol": ("cycle", "transport"),
    _WEBSOCKET: ("close_sent", "conn", "frames", "handshake_complete", "loop", "transport"),
    "websockets.server:ServerProtocol": ("available_extensions",),
    "websockets.protocol:Protocol": ("current_size", "handshake_exc", "reader"),
    "websockets.streams:StreamReader": ("buffer",),
}
_MISSING = object()


def check() -> None:
    """Raises RuntimeError, in one line, if a name is gone or takes other parameters."""
    for name, parameters in NAMES.items():
        value = _find(name)
        if value is _MISSING or (parameters is not None and tuple(inspect.signature(value).parameters) != parameters):
            raise RuntimeError(_refusal(name))
    for name, attributes in ATTRIBUTES.items():
        kind = _find(name)
        assigned = {*getattr(kind, "__dataclass_fields__", ())}
        assigned.update(getattr(kind.__init__, "__code__", check.__code__).co_names)
        if missing := sorted({*attributes} - assigned):
            raise RuntimeError(_refusal(f"{name}.{missing[0]}"))


def apply() -> None:
    """Patches Streamlit, once for a process however often it is called."""
    forget_pages_folder()
    if hasattr(ScriptRunner._run_script, "__wrapped__"):
        return
    SessionState.set_widgets_from_proto = _forgetting_unreadable(SessionState.set_widgets_from_proto)
    SessionState._set_widget_metadata = _checking_first_value(SessionState._set_widget_metadata)
    ScriptRunner._run_script = _skipping_gone_fragments(ScriptRunner._run_script)
    AppSession.request_rerun = asking_for_what_was_pressed(AppSession.request_rerun)
    app_session._populate_theme_msg = reading_once(app_session._populate_theme_msg)


def forget_pages_folder() -> bool:
    """Keeps Streamlit from showing the scripts in `pages` as pages by themselves; returns whether it did until now."""
    before, PagesManager.uses_pages_directory = PagesManager.uses_pages_directory, False
    return bool(before)


def _forgetting_unreadable(take):
    @wraps(take)
    def take_readable(self: SessionState, widget_states: WidgetStates) -> None:
        take(self, widget_states)
        for state in widget_states.widgets:
            if not _is_readable(self, state):
                self._new_widget_state.states.pop(state.id, None)

    return take_readable


def _checking_first_value(register):
    @wraps(register)
    def register_readable(self: SessionState, widget_metadata: WidgetMetadata) -> None:
        register(self, widget_metadata)
        sent = self._new_widget_state.states.get(widget_metadata.id)
        state = getattr(sent, "value", None)  # a state that came before the widget was drawn is still unread
        if isinstance(state, WidgetState) and not _is_readable(self, state):
            self._new_widget_state.states.pop(widget_metadata.id, None)

    return register_readable


def _skipping_gone_fragments(run):
    @wraps(run)
    def run_existing(self: ScriptRunner, rerun_data: RerunData) -> None:
        fragments = rerun_data.fragment_id_queue
        if fragments and not any(self._fragment_storage.contains(one) for one in fragments):
            return
        began = time.monotonic()
        try:
            run(self, rerun_data)
        finally:
            counters().took(1_000 * (time.monotonic() - began))

    return run_existing


def asking_for_what_was_pressed(request):
    """What asks for a run: of no fragment of a page that was left, and of the whole page for a press outside of it."""
    @wraps(request)
    def request_here(self: AppSession, client_state: ClientState | None) -> None:
        of = client_state.page_script_hash if client_state and client_state.fragment_id else ""
        if of in ("", self._pages_manager.current_page_script_hash):
            if client_state and of and _is_pressed_elsewhere(self._session_state, client_state):
                client_state.ClearField("fragment_id")
            request(self, client_state)

    return request_here


def reading_once(populate):
    """What puts a section of the theme into a message; the settings do not change while a server runs."""
    known: dict[str, bytes] = {}

    @wraps(populate)
    def populate_known(msg: CustomThemeConfig, section: str = "theme") -> None:
        if section not in known:
            theme = CustomThemeConfig()
            populate(theme, section)
            known[section] = theme.SerializeToString()
        if known[section]:
            msg.MergeFromString(known[section])

    return populate_known


def _is_pressed_elsewhere(session: SessionState, client_state: ClientState) -> bool:
    known = session._new_widget_state.widget_metadata
    return any(state.id in known and known[state.id].fragment_id != client_state.fragment_id
               for state in client_state.widget_states.widgets if _has_active_trigger_value(state))


def _is_readable(session: SessionState, state: WidgetState) -> bool:
    known = session._new_widget_state
    about = known.widget_metadata.get(state.id)
    if about is None:
        return True  # not drawn yet, so nothing reads it
    if state.WhichOneof("value") not in SENT.get(about.value_type, (about.value_type,)):
        return False
    if not _is_offered(about, state):
        return False
    try:
        about.serializer(known[state.id])  # Streamlit does this to compare it with the old value
    except Exception:  # widgets raise anything on values that they were not written for
        return False
    return True


def _is_offered(about: WidgetMetadata, state: WidgetState) -> bool:
    """Whether what was chosen is among the options of a widget that has some. Streamlit hands on any other text as if
    it were one; no widget here takes new options."""
    options = getattr(getattr(about.deserializer, "__self__", None), "formatted_option_to_option_index", None)
    if options is None or about.value_type not in ("string_value", "string_array_value"):
        return True
    sent = getattr(state, about.value_type)
    return all(one in options for one in ([sent] if isinstance(sent, str) else sent.data))


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        value = importlib.import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return _MISSING
    return value


def _refusal(name: str) -> str:
    package = name.partition(".")[0]
    return (f"{package} {metadata.version(package)} has no {name.partition(':')[2]} as Heads Up uses it, which is "
            f"written for {package} {WRITTEN_FOR[package]}; install that with pip install -r requirements.txt")

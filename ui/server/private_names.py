"""Every name of other people's packages that is used here and is not public: what they are free to take away or to turn
into something else. A limit that stands on one which is gone would be none, and nobody would notice; so nothing is
served then."""

import importlib
import inspect
from importlib import metadata

# The versions for which the names were read.
WRITTEN_FOR = {"streamlit": "1.67.0", "uvicorn": "0.54.0", "websockets": "17.4"}
_WEBSOCKET = "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol"
_SERVER, _STATE = "streamlit.web.server.starlette", "streamlit.runtime.state"
# module:name, and the parameters of what is called or replaced; None for what is no function.
NAMES: dict[str, tuple[str, ...] | None] = {
    f"{_SERVER}.starlette_server:_bind_socket": ("address", "port", "backlog"),
    f"{_SERVER}.starlette_server:get_max_message_size_bytes": (),
    f"{_SERVER}.starlette_auth_routes:_create_oauth_client": ("provider",),
    f"{_SERVER}.starlette_auth_routes:_get_provider_by_state": ("request", "state_code_from_url"),
    "streamlit.auth_util:build_logout_url": (
        "end_session_endpoint", "client_id", "post_logout_redirect_uri", "id_token"),
    "streamlit.config:_config_options_template": None,
    "streamlit.file_util:get_static_dir": (),
    "streamlit.net_util:get_internal_ip": (),
    "streamlit.runtime.app_session:AppSession._handle_clear_cache_request": ("self",),
    "streamlit.runtime.app_session:AppSession.request_rerun": ("self", "client_state"),
    "streamlit.runtime.pages_manager:PagesManager.uses_pages_directory": None,
    "streamlit.runtime.scriptrunner.script_runner:ScriptRunner._run_script": ("self", "rerun_data"),
    f"{_STATE}.session_state:SessionState.set_widgets_from_proto": ("self", "widget_states"),
    f"{_STATE}.session_state:SessionState._set_widget_metadata": ("self", "widget_metadata"),
    "uvicorn.middleware.proxy_headers:ProxyHeadersMiddleware.__call__": ("self", "scope", "receive", "send"),
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
}
# The same of what only instances have: the class whose `__init__` gives it to them.
HELD = {
    "streamlit.config_option:ConfigOption": ("_get_val_func",),
    "streamlit.runtime.runtime:Runtime": ("_session_mgr",),
    "streamlit.runtime.scriptrunner.script_runner:ScriptRunner": ("_fragment_storage",),
    f"{_STATE}.session_state:SessionState": ("_new_widget_state", "_old_state"),
    "streamlit.runtime.websocket_session_manager:WebsocketSessionManager": ("_session_storage",),
    "streamlit.runtime.memory_session_storage:MemorySessionStorage": ("_cache",),
    "uvicorn.protocols.http.auto:AutoHTTPProtocol": ("cycle", "transport"),
    _WEBSOCKET: ("close_sent", "conn", "frames", "handshake_complete", "loop", "transport"),
    "websockets.protocol:Protocol": ("current_size", "handshake_exc", "reader"),
    "websockets.streams:StreamReader": ("buffer",),
}


MISSING = object()


def check() -> None:
    """Raises RuntimeError, in one line, where something is not as it was when this was written."""
    for name, parameters in NAMES.items():
        found = _found(name)
        if found is MISSING or (parameters is not None and tuple(inspect.signature(found).parameters) != parameters):
            raise RuntimeError(_refusal(name))
    for name, held in HELD.items():
        kind = _found(name)
        given = {*getattr(kind, "__dataclass_fields__", ())}
        given.update(getattr(kind.__init__, "__code__", check.__code__).co_names)
        if missing := sorted({*held} - given):
            raise RuntimeError(_refusal(f"{name}.{missing[0]}"))


def _found(name: str) -> object:
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return MISSING
    return found


def _refusal(name: str) -> str:
    package = name.partition(".")[0]
    return (f"{package} {metadata.version(package)} has no {name.partition(':')[2]} as Heads Up uses it, which is "
            f"written for {package} {WRITTEN_FOR[package]}; install that with pip install -r requirements.txt")

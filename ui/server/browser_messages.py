"""Checks the websocket messages of browsers before Streamlit reads them."""

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

MOST_WIDGETS = 2_000  # in one message; no page has so many


class BrowserMessages:
    """ASGI middleware: drops requests to empty the cache, which all visitors share, and cuts lists of widget states
    that are longer than any page's. Streamlit's own menu, which would send the first, is not shown."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return await self.app(scope, receive, send)

        async def receive_checked() -> Message:
            while True:
                message = await receive()
                data = message.get("bytes") if message["type"] == "websocket.receive" else None
                content = None if data is None else checked(data)
                if content is not None:
                    return {**message, "bytes": content}
                if data is None:
                    return message

        await self.app(scope, receive_checked, send)


def checked(data: bytes) -> bytes | None:
    """Returns a message as Streamlit may read it; None for one that is dropped."""
    try:
        message = BackMsg.FromString(data)
    except DecodeError:
        return data  # Streamlit refuses it
    if message.WhichOneof("type") == "clear_cache":
        return None
    states = message.rerun_script.widget_states.widgets
    if len(states) <= MOST_WIDGETS:
        return data
    del states[MOST_WIDGETS:]
    return message.SerializeToString()

"""The address by which other computers reach this server."""

import os
import socket
from html import escape
from ipaddress import ip_address
from urllib.parse import urlsplit

import segno
import streamlit as st
from streamlit.net_util import get_internal_ip

from transformer.basics.paths import IS_CLONE
from ui.state.event_log import ENABLED

FRONT = "HEADSUP_FRONT"  # in the environment: the host that visitors come to; set by ui/server/serve.py


def join_address() -> str:
    """The address of this server as other computers reach it, without a path."""
    host = st.context.headers.get("Host", "")
    scheme = st.context.headers.get("X-Forwarded-Proto", "http")
    if host and not _only_here(host):
        return f"{'https' if scheme == 'https' else 'http'}://{host}"
    if os.environ.get(FRONT) in ("0.0.0.0", "::"):
        address = get_internal_ip()
        name = socket.gethostname() if address in (None, "127.0.0.1") else address
        return f"http://{name}:{host.rpartition(':')[2] or st.get_option('server.port')}"
    return f"http://{host}"


def reaches_others(address: str) -> bool:
    """Whether other computers can open that address."""
    return not _only_here(address.partition("://")[2])


def how_to_reach() -> str:
    """The command that starts this server so that others reach it."""
    word = "serve" if os.environ.get(ENABLED) else "app"
    return f"make {word} HOST=0.0.0.0" if IS_CLONE else f"headsup {word} --host 0.0.0.0"


def _only_here(host: str) -> bool:
    """host: with a port or without."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name in ("localhost", "") or ip_address(name).is_loopback
    except ValueError:
        return False


def qr(text: str) -> str:
    """A QR code as a picture that fills its box, dark on white whatever the theme is."""
    code = segno.make(text, error="m", micro=False)
    alt, source = escape(text.partition("#")[0]), code.svg_data_uri(border=4, light="white")
    return f'<img class="qr" alt="QR code of {alt}" src="{source}">'

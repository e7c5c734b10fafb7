"""Serves the app: what `make app` runs.

Everything the pages need is imported before the first visitor, because imports left for later race when many arrive at
once, and the garbage collector is then told to leave all of it alone. So is PyTorch's compiler, a second of the start:
changes to a model enter it at one place, and training at another. Files are not watched: every new session would look
through thousands of modules for them. To edit pages, use `streamlit run app.py`, which reloads what changes.
"""

import argparse
import contextlib
import errno
import gc
import importlib
import logging
import os
import pkgutil
import re
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ui.server.sign_in_routes import TeachersLink

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app.py"
EVERYWHERE = ("0.0.0.0", "::")
DEFAULT_PORT = 8501
COLLECTED = 50_000, 20, 50  # new objects, and rounds; the usual 700, 10, 10 take a tenth of what opening a page takes
PING_SECONDS = 30  # between two pings of a websocket
# modules that are programs, and the one that a notebook alone has, whose package is an extra
ELSEWHERE = ("transformer.__main__", "transformer.attention_view.widget", "ui.server.serve", "ui.server.workers")
SITE = re.compile(r"https?://(\*\.)?\w[\w-]*(\.[\w-]+)*(:\d+)?", re.ASCII)
FRONT = "HEADSUP_FRONT"  # in the environment: the host that visitors come to


def preload() -> None:
    """Import every module of `transformer` and `ui`, and what these import when they are used: draw once for that, and
    name what PyTorch leaves for later."""
    for name in ("transformer", "ui"):
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if module.name not in ELSEWHERE:
                importlib.import_module(module.name)

    import altair
    import pandas
    import plotly.graph_objects
    import pyarrow

    for name in ("PIL.ImageFile", "plotly.tools", "torch._dynamo"):
        importlib.import_module(name)
    table = pandas.DataFrame({"x": [0.0]})
    pyarrow.Table.from_pandas(table)
    altair.Chart(table).mark_rect().encode(x="x").to_dict()
    plotly.graph_objects.Figure([{"type": kind} for kind in ("bar", "heatmap", "scatter")]).to_json()


def read_ahead() -> None:
    """Read the corpus of the page that a class opens first."""
    from transformer.text.corpora import corpus

    corpus("eng-fra")


def check_address(host: str, port: int) -> None:
    """Exits with one sentence if the address cannot be listened on; port 0 checks the host alone."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                sys.exit(f"Port {port} is busy: choose another, or name none to get the next free one.")
            from transformer.basics.formatting import with_stop

            sys.exit(f"Cannot serve on host {host}{f', port {port}' if port else ''}: {with_stop(error)}")


def check_home() -> None:
    """Exits with one sentence if what is kept has no folder to be in."""
    from transformer.basics.paths import home

    there = next((place for place in (home(), *home().parents) if place.exists()), None)
    if there is not None and not there.is_dir():
        sys.exit(f"Nothing can be kept in HEADSUP_HOME, {home()}: {there} is a file and no folder.")


def check_sites(sites: Sequence[str]) -> None:
    """Exits with one sentence if one of those that frame the pages is no site."""
    for site in sites:
        if not SITE.fullmatch(site):
            sys.exit(f"--framed-by {site}: a site is https:// and a name, such as https://moodle.example.org or "
                     "https://*.example.org, with no path.")


def open_port(host: str, ports: Sequence[int]) -> socket.socket:
    """Listens on the first of these ports that is free; exits with one sentence if there is none."""
    from ui.server.connections import listen

    for port in ports:
        try:
            return listen(host, port)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                break
    check_address(host, ports[0])  # which says what is wrong
    sys.exit(f"The ports from {ports[0]} to {ports[-1]} are busy; name another with --port.")


def serve(host: str, port: int | None, *, public: set[str], framed_by: Sequence[str]) -> None:
    """Serve app.py until a signal ends it; without a port, on the first free one from 8501 up. public: names by which a
    proxy leads here; framed_by: the sites whose pages may show it in a frame."""
    prepare()
    from ui.server.sign_in_routes import TeachersLink

    chosen = os.environ.get("STREAMLIT_SERVER_PORT")
    wanted = int(chosen) if port is None and chosen else port
    bound = open_port(host, range(DEFAULT_PORT, DEFAULT_PORT + 100) if wanted is None else [wanted])
    link = TeachersLink()

    def ready() -> None:
        announce(host, bound.getsockname()[1], link, usual=wanted is None)
        threading.Thread(target=read_ahead, daemon=True).start()  # whoever needs it waits for it

    run(bound, front=host, public=public, framed_by=framed_by, link=link, ready=ready)


def prepare() -> None:
    """All that is done once before anybody is served, whether by this process or by others that it becomes."""
    import torch

    from transformer.basics.resource_errors import hold_little

    gc.disable()  # nothing that is imported goes: looking through it again and again is a fifth of the start
    torch.set_num_threads(1)  # on busy cores a small forward takes 10 ms with one thread and 500 ms with two
    hold_little()
    from ui.components.scripts import SERVED

    os.environ[SERVED] = "1"
    preload()
    from ui.server import connections, log_limits
    from ui.state import patches

    try:
        patches.check()
    except RuntimeError as error:
        sys.exit(f"Nothing is served: {error}.")
    log_limits.write_little()
    patches.apply()
    connections.raise_open_files()
    gc.collect()
    gc.freeze()
    gc.enable()


def run(bound: socket.socket, *, front: str, public: set[str], framed_by: Sequence[str], link: "TeachersLink",
        ready: Callable[[], None] = lambda: None) -> None:
    """Serves app.py on an open port until a signal ends it. front: the host that visitors come to; public: further
    names of this server; framed_by: the sites whose pages may show it in a frame; ready: called just before the first
    request is answered."""
    import streamlit as st
    import uvicorn
    from starlette.middleware import Middleware
    from streamlit import config as settings
    from streamlit.web.bootstrap import load_config_options
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    from ui.server import (
        browser_messages,
        compression,
        connections,
        health,
        identity_middleware,
        index,
        middleware,
        oidc_routes,
        room_routes,
        script_routes,
        sign_in_routes,
        upload_limits,
        visitor_count,
    )

    name = socket.gethostname().lower()
    os.environ[FRONT] = front

    @contextlib.asynccontextmanager
    async def living(app: st.App) -> AsyncIterator[dict[str, Any]]:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECTED)
        async with health.beating(), classes.forgetting():
            ready()
            yield {}

    host, port = bound.getsockname()[:2]
    options = {
        "server.address": host,
        "server.port": port,
        "server.fileWatcherType": "none",
        "server.disconnectedSessionTTL": upload_limits.AWAY_SECONDS,
        # The name visitors may use besides the addresses: without one, Streamlit asks the internet for its own address.
        "browser.serverAddress": name if front in EVERYWHERE else front,
        "client.allowedOrigins": [],  # nobody frames these pages and sends them messages
        "client.showErrorDetails": "none",  # they are in the log
        "logger.enableRich": False,  # what rich prints of an error no logger sees, and `log_limits` cannot hold it
    }
    names = {"localhost", front.lower(), name, f"{name}.local"}
    people, classes = oidc_routes.begin(names), room_routes.RoomRoutes()
    routes = [*sign_in_routes.routes(link), *people.routes, *script_routes.routes(), *health.routes(),
              *classes.routes(), *index.routes()]
    app = st.App(APP, lifespan=living, routes=routes, secrets=people.secrets, middleware=[
        Middleware(connections.BodyTimeout),
        Middleware(middleware.RequestChecks, names=names, public=public, routes=routes, framed_by=framed_by),
        *people.middleware, Middleware(compression.Compression), Middleware(visitor_count.VisitorCounter),
        Middleware(upload_limits.UploadLimits), Middleware(browser_messages.BrowserMessages)])
    load_config_options(options)
    trusted = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")  # as uvicorn does by itself
    proxied = ProxyHeadersMiddleware(cast("Any", app), trusted_hosts=trusted)  # uvicorn and Starlette type ASGI apart
    server = uvicorn.Server(uvicorn.Config(
        identity_middleware.PeerAddress(cast("Any", proxied)), proxy_headers=False,
        http=connections.HttpConnection, ws=connections.WebsocketConnection, ws_max_size=connections.MOST_TAKEN,
        ws_ping_interval=PING_SECONDS, ws_ping_timeout=PING_SECONDS, use_colors=False, access_log=False,
        ssl_certfile=settings.get_option("server.sslCertFile"), ssl_keyfile=settings.get_option("server.sslKeyFile")))
    # One line a visitor otherwise; warnings and errors stay.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.WARNING)
    server.run(sockets=[bound])
    if not server.started:
        sys.exit("The server did not start; the lines above say why.")


def address_of(host: str, port: int) -> str:
    """The address at which whoever has started the server reaches it."""
    return f"http://{'localhost' if host in EVERYWHERE else f'[{host}]' if ':' in host else host}:{port}"


def announce(host: str, port: int, link: "TeachersLink", *, usual: bool) -> None:
    """Prints where the app is, and opens a browser if somebody can see it. usual: no port was asked for."""
    from streamlit import config as settings

    if usual and port != DEFAULT_PORT:
        print(f"Port {DEFAULT_PORT} is busy, so this is the next free one.")
    announce_address(host, port, link)
    if not settings.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(address_of(host, port),), daemon=True).start()


def announce_address(host: str, port: int, link: "TeachersLink", *, url: str = "") -> None:
    """Print where the app is, who may do what, and the teacher's link. url: where it is for whoever has started it, if
    that is no address of this computer."""
    from streamlit.net_util import get_internal_ip

    print(f"Heads Up is at {url or address_of(host, port)}", end=", ")
    if host in EVERYWHERE and not url:
        address = get_internal_ip()
        print(f"for others at http://{socket.gethostname() if address in (None, '127.0.0.1') else address}:{port}",
              end=", ")
    print("until Ctrl-C.")
    if os.environ.get("HEADSUP_SHARED"):
        print("Shared: visitors look, type and step, and start runs where the teacher allows it; they cannot name "
              "files on this computer.")
    try:
        link.print_at(url or address_of(host, port))
    except OSError as error:
        print(f"Teacher: no link, because the server cannot write to its home ({error}).")
    sys.stdout.flush()


def main() -> None:
    """Read the command line and serve; Ctrl-C and SIGTERM are good ends."""
    parser = argparse.ArgumentParser(prog="headsup app", description="Serve Heads Up.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 lets others in")
    parser.add_argument("--port", type=int, help=f"{DEFAULT_PORT} or the next free one if not given")
    parser.add_argument("--shared", action="store_true", help="others use this server, through a proxy or a tunnel; "
                        "implied by a host other than this computer")
    parser.add_argument("--name", action="append", default=[], help="a name by which a proxy reaches this server, "
                                                                    "such as heads.example.org; may be given more "
                                                                    "than once")
    parser.add_argument("--framed-by", action="append", default=[], metavar="SITE", help="a site whose pages may show "
                        "this server's in a frame, over https, such as https://moodle.example.org; may be given more "
                        "than once")
    args = parser.parse_args()
    if args.shared or args.name or args.framed_by or args.host not in ("127.0.0.1", "localhost", "::1"):
        os.environ["HEADSUP_SHARED"] = "1"
    os.umask(0o077)  # what visitors make is nobody's else on this computer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.path[0] = str(ROOT)
    with contextlib.suppress(KeyboardInterrupt):
        check_address(args.host, args.port or 0)  # before everything is imported
        check_sites(args.framed_by)
        check_home()
        serve(args.host, args.port, public={name.lower() for name in args.name}, framed_by=args.framed_by)


if __name__ == "__main__":
    main()

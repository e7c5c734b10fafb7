"""Serves the app from several processes behind a proxy: what `make serve` runs.

One process imports everything, forks the workers and watches over them. Each worker is a server as `make app` starts
it, on a port that only this computer reaches; Caddy stands in front and keeps every visitor with one worker.
"""

import argparse
import contextlib
import gc
import http.client
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ui.server.sign_in_routes import TeachersLink
    from ui.server.supervisor import Supervisor
    from ui.state.worker_counters import WorkerCounters

ROOT = Path(__file__).resolve().parents[2]
# Libraries that would start a thread as soon as they are imported, which a fork would leave behind.
NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
LOOK = 0.05      # seconds between two looks while everything starts
WATCH = 5.0      # seconds between two looks afterwards, unless something happens
STUCK = 60.0     # seconds for which a process may say nothing
ASK = 1.0        # seconds in which one that is asked answers
STARTING = 60.0  # seconds in which all workers must be there
GIVE_UP = 2      # times that a process may end at once before all have started


def main() -> None:
    """Read the command line and serve; Ctrl-C and SIGTERM are good ends."""
    parser = argparse.ArgumentParser(prog="headsup serve", description="Serve Heads Up to many, from several "
                                     "processes behind Caddy.")
    parser.add_argument("--workers", type=int, default=max(1, os.cpu_count() or 1),
                        help="how many processes; as many as there are cores if not given")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 lets others in")
    parser.add_argument("--port", type=int, help="8501 or the next free one if not given")
    parser.add_argument("--name", action="append", default=[], help="a name by which others reach this server, such as "
                        "heads.example.org; may be given more than once")
    parser.add_argument("--framed-by", action="append", default=[], metavar="SITE", help="a site whose pages may show "
                        "this server's in a frame, over https, such as https://moodle.example.org; may be given more "
                        "than once")
    parser.add_argument("--metrics", type=int, metavar="PORT", help="serve figures for Prometheus on that port of this "
                        "computer; 0 for any that is free")
    parser.add_argument("--proxy-elsewhere", action="store_true", help="do not start Caddy: the workers listen on "
                                                                       "HOST, one port each from PORT on, for a proxy "
                                                                       "that nobody can bypass")
    args = parser.parse_args()
    if not 1 <= args.workers <= 64:
        parser.error("--workers is a number from 1 to 64")
    os.umask(0o077)  # what visitors make is nobody's else on this computer
    sys.path[0] = str(ROOT)
    os.environ["HEADSUP_SHARED"] = os.environ["HEADSUP_EVENTS"] = "1"
    os.environ.update(NO_THREADS)
    if not args.proxy_elsewhere:
        os.environ["HEADSUP_OWN_PROXY"] = "127.0.0.1"
    from ui.server import caddy

    try:
        if not args.proxy_elsewhere:
            caddy.program()
        with contextlib.suppress(KeyboardInterrupt):
            serve(args)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def serve(args: argparse.Namespace) -> None:
    """Start everything, say where it is, and keep it up until a signal comes."""
    from ui.server import serve as alone

    alone.check_address(args.host, args.port or 0)
    alone.check_sites(args.framed_by)
    alone.check_home()
    usual = range(alone.DEFAULT_PORT, alone.DEFAULT_PORT + 100)
    held = [hold(args.host, usual if args.port is None else [args.port])]
    if args.metrics is not None:
        alone.check_address("127.0.0.1", args.metrics)
        held.append(hold("127.0.0.1", [args.metrics]))
    port, *figures = (one.getsockname()[1] for one in held)
    if sys.platform != "linux":  # where nobody can listen beside a socket that is bound
        for one in held:
            one.close()
    alone.prepare()
    from transformer.basics.paths import version
    from ui.access import visitors
    from ui.server import connections
    from ui.server.sign_in_routes import TeachersLink
    from ui.server.supervisor import Supervisor
    from ui.state.event_log import event
    from ui.state.worker_counters import start_counters

    open_checkpoints()
    secret, link, counters = visitors.cookie_secret(), TeachersLink(), start_counters(args.workers)
    url = f"https://{args.name[0]}" if args.proxy_elsewhere and args.name else ""
    link.url = url or alone.address_of(args.host, port)
    place = args.host if args.proxy_elsewhere else "127.0.0.1"
    ports = [port + number if args.proxy_elsewhere else 0 for number in range(args.workers)]
    sockets = [connections.listen(place, one) for one in ports]
    gc.collect()
    gc.freeze()  # before they are forked: nobody then writes into what they share to see whether it is in use
    with Supervisor() as supervisor:
        event("start", version=version(), workers=args.workers)
        for number in range(args.workers):
            supervisor.start("worker", partial(work, args, number, sockets, counters, link, secret),
                       gone=partial(forget, counters, number), worker=number)
        wait_for(supervisor, lambda: counters.total("ready") == args.workers)
        if not args.proxy_elsewhere:
            start_proxy(supervisor, args.host, port, sockets, framed=bool(args.framed_by))
            wait_for(supervisor, partial(answers, args.host, port))
        if figures:
            from ui.server import metrics

            there = partial(answers, "127.0.0.1", figures[0], "/", ASK)
            supervisor.start("metrics", partial(metrics.serve, figures[0]), port=figures[0], answers=there)
            wait_for(supervisor, there)
        if not supervisor.ending:
            alone.announce_address(args.host, port, link, url=url)
        while not supervisor.ending:
            watch(supervisor, counters)
        event("end")


def open_checkpoints() -> None:
    """Open the checkpoints that come with the app, with what they learned from, once for all workers."""
    from transformer.basics.paths import ROOT as WHERE
    from transformer.text.corpora import corpus
    from ui.state.caches import entries, opened

    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True  # this is no page
    for entry in entries():
        if entry.about and entry.folder.parent == WHERE / "checkpoints":
            opened(entry.folder, entry.about.id)
            if entry.about.train:
                corpus(entry.about.train.corpus)
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = False


def hold(host: str, ports: Sequence[int]) -> socket.socket:
    """The first of these ports that is free, 0 for any, kept from all others until the socket is closed, but for
    whoever is started to listen on it. Raises ValueError where none is free."""
    for port in ports:
        held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            held.bind((host, port))
            return held
        held.close()
    raise ValueError(f"the ports from {ports[0]} to {ports[-1]} are busy; name another with --port")


def start_proxy(supervisor: "Supervisor", host: str, port: int, sockets: list[socket.socket], *,
                framed: bool) -> None:
    from transformer.basics.paths import home
    from ui.server import caddy
    from ui.server.serve import EVERYWHERE

    upstreams = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    content = caddy.text(f"http://:{port}", upstreams, bind="" if host in EVERYWHERE else host, framed=framed)
    supervisor.start("proxy", partial(caddy.become, caddy.write(home() / "proxy", content)),
               answers=partial(answers, host, port, caddy.ALIVE, ASK))


def work(args: argparse.Namespace, number: int, sockets: list[socket.socket], counters: "WorkerCounters",
         link: "TeachersLink", secret: str) -> None:
    """What one worker does until it is told to end."""
    import numpy as np
    import torch

    from ui.server import serve as alone

    counters.mine = number
    for other in sockets:
        if other is not sockets[number]:
            other.close()
    random.seed()  # what was forked has the same state in all of them
    np.random.seed()
    torch.seed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.environ["STREAMLIT_SERVER_COOKIE_SECRET"] = secret  # otherwise each process would have its own
    alone.run(sockets[number], front=args.host, public={name.lower() for name in args.name}, framed_by=args.framed_by,
              link=link)


def forget(counters: "WorkerCounters", number: int) -> None:
    """A worker has died."""
    counters.clear(number)
    counters.add("deaths", worker=number)


def wait_for(supervisor: "Supervisor", there: Callable[[], bool]) -> None:
    """Until something is there, or a signal ends everything. Raises ValueError where it takes too long."""
    until = time.monotonic() + STARTING
    while not supervisor.ending and not there():
        supervisor.wait(LOOK)
        supervisor.look()
        if time.monotonic() > until or any(member.failures >= GIVE_UP for member in supervisor.members):
            raise ValueError("it does not start; the lines above say why")


def answers(host: str, port: int, path: str = "/health", seconds: float = 5) -> bool:
    """Whether visitors are answered."""
    from ui.server.serve import EVERYWHERE

    connection = http.client.HTTPConnection("127.0.0.1" if host in EVERYWHERE else host, port, timeout=seconds)
    try:
        connection.request("GET", path, headers={"Host": "localhost"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def watch(supervisor: "Supervisor", counters: "WorkerCounters") -> None:
    """Replace who has died, and end who says nothing any more."""
    from ui.server.health import in_use
    from ui.state.event_log import event

    supervisor.look()
    now = time.monotonic_ns()
    for number in range(counters.workers):
        if counters.get("ready", number) and now - counters.get("seen", number) > STUCK * 1e9:
            event("worker stuck", worker=number)
            os.kill(counters.get("pid", number), signal.SIGKILL)
    supervisor.end_stuck(STUCK)
    others = [os.getpid(), *(one.pid for one in supervisor.members if one.pid and one.name != "worker")]
    counters.set("kilobytes", sum(map(in_use, others)), counters.workers)
    supervisor.wait(WATCH)


if __name__ == "__main__":
    main()

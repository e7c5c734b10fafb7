"""The event log of a server for many people, on stderr: a line of `key=value` for each event, such as `time=…
event="worker started" worker=1 pid=4711`. It never has an address, a user agent or anything that a visitor typed."""

import os
import re
import sys
import time

PLAIN = re.compile(r"[\w.:+-]+")
ENABLED = "HEADSUP_EVENTS"  # in the environment of a server that logs; nobody reads events of one on a desk


def event(what: str, **details: str | int | float) -> None:
    """Log an event, if this server logs."""
    if os.environ.get(ENABLED):
        values = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": what, **details}
        line = " ".join(f"{name}={_quoted(str(value))}" for name, value in values.items())
        print(line, file=sys.stderr, flush=True)


def _quoted(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    return '"' + "".join("\\" + sign if sign in '"\\' else sign if sign.isprintable() else " " for sign in value) + '"'

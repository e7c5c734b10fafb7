"""One line for each event on stderr, as `key=value`, for whoever runs a server for many: `time=… event="worker started"
worker=1 pid=4711`. Never an address, a user agent or anything that a visitor typed."""

import os
import re
import sys
import time

PLAIN = re.compile(r"[\w.:+-]+")
TOLD = "HEADSUP_EVENTS"  # in the environment of a server that is to tell: one on a desk has nobody who reads them


def event(what: str, **details: str | int | float) -> None:
    """Tell of something that has happened."""
    if os.environ.get(TOLD):
        values = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": what, **details}
        line = " ".join(f"{name}={_written(str(value))}" for name, value in values.items())
        print(line, file=sys.stderr, flush=True)


def _written(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    return '"' + "".join("\\" + sign if sign in '"\\' else sign if sign.isprintable() else " " for sign in value) + '"'

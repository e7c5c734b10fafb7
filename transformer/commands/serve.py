"""The pages, served."""

import os
import sys
from importlib.util import find_spec

import typer

from transformer.basics.paths import IS_CLONE, PACKAGE, ROOT

NEEDED = ("streamlit", "plotly", "altair", "prometheus_client", "segno")


def app(context: typer.Context) -> None:
    """Serve the pages; `headsup app --help` shows --host, --port, --shared and --name."""
    _become("serve.py", context.args)


def serve(context: typer.Context) -> None:
    """Serve the pages to many, from several processes; `headsup serve --help` shows --workers and the rest."""
    _become("workers.py", context.args)


def rehearse(context: typer.Context) -> None:
    """A class of phones plays against a running server, before the lesson; `headsup rehearse --help` tells how."""
    _become("rehearsal.py", context.args)


def _become(name: str, arguments: list[str]) -> None:
    script = ROOT / "ui" / "server" / name
    if not script.is_file():
        raise ValueError("the library alone is installed; the pages come with a wheel or a clone of Heads Up")
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        install = "-r requirements.txt" if IS_CLONE else PACKAGE
        raise ValueError(f"the pages need {', '.join(missing)}; `pip install {install}` brings them")
    os.execv(sys.executable, [sys.executable, str(script), *arguments])

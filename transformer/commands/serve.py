"""The pages, served."""

import os
import sys
from importlib.util import find_spec

import typer

from transformer.places import ROOT

PAGES_NEED = ("streamlit", "plotly", "altair", "pandas")


def app(context: typer.Context) -> None:
    """Serve the pages; --host, --port, --shared and --name, see `headsup app --help`."""
    script = ROOT / "ui" / "serve.py"
    if not script.is_file():
        raise ValueError("the pages are not here, only the library; install headsup[app], or clone the repository")
    if missing := [name for name in PAGES_NEED if find_spec(name) is None]:
        raise ValueError(f"the pages need {', '.join(missing)}: pip install \"headsup[app]\"")
    os.execv(sys.executable, [sys.executable, str(script), *context.args])

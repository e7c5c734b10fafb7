"""Where things are: what comes with the app, and under HEADSUP_HOME what was trained, kept, uploaded and imported."""

import os
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
PACKAGE = "headsup-attention"  # its name on the package index
_WHEEL = LIBRARY.parent / "headsup"  # where a wheel puts all but the library
ROOT = _WHEEL if (_WHEEL / "app.py").is_file() else LIBRARY.parent  # of app.py, pages, ui and checkpoints
IS_CLONE = ROOT != _WHEEL and (ROOT / "app.py").is_file()


def version() -> str:
    """The version that is installed, "unknown" where none is."""
    from importlib import metadata  # which takes longer than all else here

    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:  # a clone whose packages were installed without it
        return "unknown"


def home() -> Path:
    """Where runs, uploads and imports live: HEADSUP_HOME, else `runs` in a clone, else the user's data folder."""
    if place := os.environ.get("HEADSUP_HOME"):
        return Path(place)
    if IS_CLONE:
        return ROOT / "runs"
    from platformdirs import user_data_path

    return user_data_path("headsup", appauthor=False)


def places() -> tuple[Path, ...]:
    """The folders whose folders are checkpoints that the pages offer, those that come with the app first."""
    return ROOT / "checkpoints", *(home() / name for name in ("checkpoints", "uploads", "imports"))


def of_name(name: str) -> Path | None:
    """The checkpoint of that name in one of the places, the first that has one."""
    return next((place / name for place in places() if (place / name / "config.json").is_file()), None)

"""Where checkpoints are: those that come with the app, and under HEADSUP_HOME what was kept, uploaded and imported."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def home() -> Path:
    """Where runs, uploads and imports live."""
    return Path(os.environ.get("HEADSUP_HOME") or ROOT / "runs")


def places() -> tuple[Path, ...]:
    """The folders whose folders are checkpoints that the pages offer, those that come with the app first."""
    return ROOT / "checkpoints", *(home() / name for name in ("checkpoints", "uploads", "imports"))


def known_as(name: str) -> Path | None:
    """The checkpoint of that name in one of the places, as it would be typed here."""
    found = next((place / name for place in places() if (place / name / "config.json").is_file()), None)
    if found is None or not found.is_relative_to(Path.cwd()):
        return found
    return found.relative_to(Path.cwd())

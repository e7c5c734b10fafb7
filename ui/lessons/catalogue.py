"""The catalogue of lessons for a visitor: those that come with the app, those in the home's folder, and their own.

A name in a link is looked up here and never becomes a path.
"""

import re
from pathlib import Path

import streamlit as st

from transformer.basics.paths import ROOT, home
from transformer.lessons.lesson import Lesson, LessonError
from transformer.lessons.parsing import parse, read_file
from ui.access import owners

TOUR = "tour"
FOLDER, OWN = "folder/", "own/"  # prefixes of the names of lessons that do not come with the app
MOST_FILES, MOST_OWN = 100, 8
NAME = re.compile(r"[\w-]{1,60}")


def all_lessons() -> dict[str, Lesson | LessonError]:
    """Name -> lesson, or the error in its file; the tour comes first."""
    return shipped() | _of_folder() | own()


def shipped() -> dict[str, Lesson | LessonError]:
    """The lessons that come with the app, the shortest first."""
    read = {path.stem: _read(path, path.stem) for path in sorted((ROOT / "lessons").glob("*.md"))}
    return dict(sorted(read.items(), key=lambda of: getattr(of[1], "minutes", 0)))


def find(name: str) -> Lesson | None:
    """The lesson of that name; None if there is none or its file has an error."""
    lesson = own().get(name) if name.startswith(OWN) else _of_folder().get(name) if name.startswith(FOLDER) else (
        _read(ROOT / "lessons" / f"{name}.md", name) if NAME.fullmatch(name) else None)
    return lesson if isinstance(lesson, Lesson) else None


def folder() -> Path:
    """The folder for lessons of whoever runs the server."""
    return home() / "lessons"


def _of_folder() -> dict[str, Lesson | LessonError]:
    if not owners.allowed("oversee"):
        return {}
    paths = sorted(path for path in folder().glob("*.md") if NAME.fullmatch(path.stem))[:MOST_FILES]
    return {f"{FOLDER}{path.stem}": _read(path, f"{FOLDER}{path.stem}") for path in paths}


def own() -> dict[str, Lesson | LessonError]:
    """The files that this visitor has opened, for the visit."""
    return st.session_state.setdefault("lessons_own", {})


def take_in(file_name: str, content: bytes) -> str:
    """Keeps a visitor's own file for this visit and returns the lesson's name. Raises LessonError."""
    stem = "-".join(re.findall(r"\w+", file_name.rpartition(".")[0]))[:60] or "lesson"
    name, kept = f"{OWN}{stem}", own()
    lesson = parse(content, name, file=file_name)
    kept.pop(name, None)  # the newest comes last
    kept[name] = lesson
    for old in list(kept)[:-MOST_OWN]:
        del kept[old]
    return name


def _read(path: Path, name: str) -> Lesson | LessonError:
    try:
        return read_file(path, name)
    except LessonError as error:
        return error
    except OSError as error:
        return LessonError(f"{path.name} cannot be read: {error.strerror}")

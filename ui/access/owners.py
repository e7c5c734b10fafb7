"""The rules of who may do what. Every callback checks them here before it changes or reads anything.

A widget that is disabled or not drawn protects nothing, because anybody can send messages without a browser. So each
callback checks when it is called, and with the arguments it is called with.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

from transformer.basics.paths import ROOT
from transformer.jobs import run_files
from transformer.jobs.lock import file_lock
from transformer.jobs.queue import record
from transformer.text.corpus_catalogue import find_source
from ui.access import accounts, sign_in_settings
from ui.access.visitors import is_teacher, of_browser, owner
from ui.state.caches import home

Action = Literal[
    "start", "check", "measure", "compute", "upload",           # uses the server's time or disk
    "stop", "cancel", "resume", "rename", "keep", "delete", "read",       # concerns a thing with an owner
    "bring in", "name a file", "allow starting", "oversee", "open a room"]
STARTING = {"start": "start a run", "check": "check a run", "measure": "measure heads",
            "compute": "have long results computed", "upload": "upload a corpus"}
LOCAL = ("127.0.0.1", "localhost", "::1")
NOBODY = "nobody"
PROXIED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


class NotAllowed(ValueError):
    """The visitor may not do that; the message says who may."""


@dataclass(frozen=True)
class Visitor:
    """A visitor. owner: their id in what they make; before: their browser's id, from before they signed in; starting:
    the teacher lets others start things; welcome: they are signed in, or need not be."""

    owner: str | None
    teacher: bool
    shared: bool
    starting: bool
    before: str | None = None
    welcome: bool = True


@dataclass(frozen=True)
class Thing:
    """A thing that an action concerns. owner: who made it; None: unknown, or made in the server's shell."""

    what: str
    owner: str | None
    made: str = "started"


def refusal(visitor: Visitor, action: Action, thing: Thing | None = None) -> str | None:
    """Why a visitor may not do that and who can, in a sentence; None if they may."""
    if not visitor.welcome:
        return "you are signed out; load the page again to sign in"
    if visitor.teacher and action != "name a file":
        return None
    match action:
        case "start" | "check" | "measure" | "compute" | "upload":
            if visitor.shared and visitor.owner is None:
                return ("this browser blocks cookies, so nothing can be yours here; allow them and load the page again")
            return None if visitor.starting else (
                f"only the teacher can {STARTING[action]} on this server for now; ask them to allow it")
        case "stop" | "cancel" | "rename" | "keep" | "delete" | "read":
            return _not_theirs(visitor, action, thing)
        case "resume":
            return _not_theirs(visitor, action, thing) or refusal(visitor, "start")
        case "name a file":
            return ("on a shared server, files and folders cannot be named; upload the file, or choose one from the "
                    "list") if visitor.shared else None
        case "bring in":
            return ("on a shared server, only the teacher can add checkpoints; ask them, or run Heads Up on "
                    "your own computer") if visitor.shared else None
        case "open a room":
            return ("on a shared server, only the teacher can open a room; open the link that the server printed"
                    ) if visitor.shared else None
        case "allow starting":
            return "only the teacher can allow or forbid starting runs; open the link that the server printed"
        case "oversee":
            return "only the teacher can see everything that this server keeps" if visitor.shared else None
    raise AssertionError(f"nothing is decided about {action!r}")


def _not_theirs(visitor: Visitor, action: str, thing: Thing | None) -> str | None:
    assert thing is not None
    if thing.owner is None:
        return f"only the teacher can {action} this {thing.what}" if visitor.shared else None
    return None if thing.owner in (visitor.owner, visitor.before) else (
        f"only the teacher and whoever {thing.made} this {thing.what} can {action} it")


def refuse_corpus(visitor: Visitor, name: object) -> str | None:
    """Why a visitor may not have a corpus read, wherever they name it: in a field, an address or a configuration."""
    if find_source(name) or not visitor.shared:
        return None
    thing = corpus_thing(str(name))
    return refusal(visitor, "read", thing) if thing else refusal(visitor, "name a file")


def refuse_training(visitor: Visitor, settings: Mapping[str, object]) -> str | None:
    """Why a visitor may not have a run of these settings read what they name: its corpus, the checkpoint that it starts
    from, or its teachers. Of checkpoints, those that come with the app are everybody's."""
    distill = settings.get("distill") or ()
    teachers = distill if isinstance(distill, list | tuple) else [distill]
    for name in filter(None, (settings.get("start_from"), *teachers)):
        shipped = isinstance(name, str) and Path(name).resolve().parent == (ROOT / "checkpoints").resolve()
        if not shipped and (reason := refusal(visitor, "name a file")):
            return reason
    return refuse_corpus(visitor, settings.get("corpus"))


def me() -> Visitor:
    """The visitor this script runs for."""
    teacher, settings = is_teacher(), sign_in_settings.current()
    welcome = teacher or not (settings and settings.required) or accounts.signed_in() is not None
    return Visitor(owner(), teacher, shared(), starting_allowed(), of_browser(), welcome)


def allowed(action: Action, thing: Thing | None = None) -> bool:
    """Whether this visitor may do that: for what a page offers. What it does calls `require`."""
    return refusal(me(), action, thing) is None


def require(action: Action, thing: Thing | None = None) -> None:
    """Raises NotAllowed if this visitor may not do that."""
    if reason := refusal(me(), action, thing):
        raise NotAllowed(reason)


def require_corpus(name: object) -> None:
    """Raises NotAllowed if this visitor may not have that corpus read."""
    if reason := refuse_corpus(me(), name):
        raise NotAllowed(reason)


def require_training(settings: Mapping[str, object]) -> None:
    """Raises NotAllowed if this visitor may not have a run of these settings read what they name."""
    if reason := refuse_training(me(), settings):
        raise NotAllowed(reason)


def shared() -> bool:
    """Whether people on other computers can be visitors: the server was started for them, or a proxy sent this request.
    """
    return (os.environ.get("HEADSUP_SHARED", "") not in ("", "0") or st.get_option("server.address") not in LOCAL
            or any(name in st.context.headers for name in PROXIED))


def run_thing(folder: Path) -> Thing:
    return Thing("run", _text(record(folder).get("owner")))


def measurement_thing(folder: Path) -> Thing:
    return Thing("measurement", _text(record(folder).get("owner")))


def checkpoint_thing(folder: Path) -> Thing:
    """A checkpoint, owned by whoever kept it from a run; one that was added has no owner."""
    kept = run_files.read_json(_keepers()) if folder.parent == home() / "checkpoints" else {}
    return Thing("checkpoint", _text(kept.get(folder.name)), made="kept")


def corpus_thing(name: str) -> Thing | None:
    """A corpus that was uploaded, or typed for a run; None for any other file."""
    path = Path(name)
    if not path.is_absolute():
        return None
    path = path.resolve()
    if path.parent.parent == corpora().resolve():
        return Thing("corpus", None if path.parent.name == NOBODY else path.parent.name, made="uploaded")
    if path.parent.parent == (home() / "runs").resolve():
        return Thing("corpus", _text(record(path.parent).get("owner")), made="typed")
    return None


def corpora() -> Path:
    """The folder of uploaded corpora, with a folder for each owner and one for visitors without cookies."""
    return home() / "uploads" / "corpora"


def remember_keeper(name: str) -> None:
    """Record that this visitor has kept a checkpoint of that name."""
    with file_lock(home() / ".keepers.lock"):
        run_files.write_json(_keepers(), {**run_files.read_json(_keepers()), name: owner()})


def forget_keeper(name: str) -> None:
    """Remove the record for a deleted checkpoint, so that another with its name is nobody's."""
    with file_lock(home() / ".keepers.lock"):
        kept = run_files.read_json(_keepers())
        if kept.pop(name, None) is not None:
            run_files.write_json(_keepers(), kept)


def delete_checkpoint(folder: Path) -> None:
    """Delete a checkpoint that was added, or kept of a run. Raises ValueError for any other folder, and NotAllowed."""
    places = [(home() / name).resolve() for name in ("uploads", "imports", "checkpoints")]
    require("delete", checkpoint_thing(folder))
    if folder.is_symlink() or folder.resolve().parent not in places or not (folder / "config.json").exists():
        raise ValueError(f"{folder.name} was neither imported nor kept here, so it cannot be deleted here")
    going = folder.with_name(f".{folder.name}.going-{os.getpid()}")
    folder.rename(going)  # gone for everybody at once
    if folder.parent == home() / "checkpoints":
        forget_keeper(folder.name)
    shutil.rmtree(going)


def _keepers() -> Path:
    return home() / "keepers.json"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _switch() -> Path:
    return home() / "others-may-start"


def starting_allowed() -> bool:
    """Whether others than the teacher may start things: the teacher's setting, by default only if nobody from another
    computer can be a visitor."""
    try:
        return _switch().read_text("utf-8").strip() == "yes"
    except (OSError, UnicodeDecodeError):
        return not shared()


def allow_starting(wanted: bool) -> None:
    """Raises NotAllowed for anybody but the teacher."""
    require("allow starting")
    home().mkdir(parents=True, exist_ok=True)
    run_files.replace(_switch(), b"yes\n" if wanted else b"no\n")


def without_home(text: str) -> str:
    """A text without the paths of the server's home, if the server is shared."""
    if shared():
        for path in {str(home().resolve()), str(home())}:
            text = text.replace(f"{path}/", "").replace(path, "its home")
    return text

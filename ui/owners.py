"""Whose run is whose: a key that is made with the first run, kept in the link and in the browser's storage, and a
teacher's key, which the server prints when it starts."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import streamlit as st

from transformer.training.metrics import replace
from transformer.training.runs import Run
from ui.resources import home, serves_this_computer_alone

PARAM, TEACHER = "key", "teacher"
LONGEST = 100

# Gives the key to the browser to keep, and asks for the one it has kept.
_STORAGE = """
const NAME = "heads-up-key";
export default function ({ data, setStateValue }) {
  try {
    if (data.key) localStorage.setItem(NAME, data.key);
    else { const kept = localStorage.getItem(NAME); if (kept) setStateValue("key", kept.slice(0, 100)); }
  } catch { /* no storage is allowed: the link has the key */ }
}
"""
_storage = st.components.v2.component("kept_key", html="<span hidden></span>", js=_STORAGE)


def arrive_owner() -> None:
    """Take the keys that the address or the browser's storage brings; call it once on a page, at the top."""
    state, params = st.session_state, st.query_params
    if given := params.get(PARAM):
        state["owner_key"] = given[:LONGEST]
    if given := params.get(TEACHER):
        state["teacher_key"] = given[:LONGEST]
    kept = _storage(key="owner_storage", data={"key": state.get("owner_key")}, on_key_change=lambda: None)
    if kept.key and not state.get("owner_key"):
        state["owner_key"] = str(kept.key)[:LONGEST]


def my_key() -> str:
    """This visitor's key, made now where there is none."""
    return st.session_state.setdefault("owner_key", secrets.token_urlsafe(12))


def owner() -> str | None:
    """What stands in a run folder for this visitor: their key could not be told from it."""
    key = st.session_state.get("owner_key")
    return digest(key) if key else None


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def teacher_key() -> str:
    """The key of whoever runs this server, the same after a restart; made, for this user alone to read, at the first.

    Raises OSError where the home cannot be written to.
    """
    path = home() / "teacher.key"
    if path.is_file() and (key := path.read_text().strip()):
        return key
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, f"{secrets.token_urlsafe(12)}\n".encode())
    os.chmod(path, 0o600)
    return path.read_text().strip()


def is_teacher() -> bool:
    given = st.session_state.get("teacher_key")
    try:
        return bool(given) and hmac.compare_digest(given.encode(), teacher_key().encode())
    except OSError:
        return False


def controls(run: Run) -> bool:
    """Whether this visitor may stop, rename and delete a run: its owner and the teacher; and whoever sits at this
    computer, where a run was started from a shell and the server lets nobody else in."""
    if is_teacher():
        return True
    if run.owner is None:
        return serves_this_computer_alone()
    return owner() is not None and hmac.compare_digest(run.owner, owner())


def _switch() -> Path:
    return home() / "no-new-runs"


def starting_allowed() -> bool:
    """Whether others than the teacher may start runs."""
    return not _switch().exists()


def allow_starting(allowed: bool) -> None:
    """Raises ValueError for anybody but the teacher."""
    if not is_teacher():
        raise ValueError("only the teacher can forbid and allow starting; open the link that the server printed")
    home().mkdir(parents=True, exist_ok=True)
    _switch().unlink(missing_ok=True) if allowed else _switch().touch()

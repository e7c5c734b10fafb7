"""Whose visit it is: a key that is made with the first run, kept in the link and in the browser's storage, and a
teacher's key, which the server prints when it starts."""

import hashlib
import hmac
import os
import secrets

import streamlit as st

from transformer.training.metrics import replace
from ui.resources import home

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

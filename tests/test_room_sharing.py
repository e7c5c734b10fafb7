"""What a lecturer's page tells its room."""

import sqlite3

import pytest
import streamlit as st

from transformer.rooms.room import new_key
from transformer.rooms.store import Store
from ui.page import room_sharing


@pytest.fixture
def room(tmp_path, monkeypatch):
    """That of this session, which leads it."""
    store, key = Store(tmp_path / "rooms.sqlite"), new_key()
    made = store.open_room(key)
    store.lead(made.id, "tab")
    monkeypatch.setattr(room_sharing, "store", lambda: store)
    monkeypatch.setattr(room_sharing, "leading", lambda: store.room(made.id))
    monkeypatch.setattr(st, "session_state", {})
    return store, made.id


def test_a_page_goes_on_where_a_room_cannot_be_told_and_tells_it_with_the_next_step(room, monkeypatch):
    store, id = room

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as now:
        now.setattr(store, "publish", full)
        room_sharing.share("translate", {"text": "I am cold."})
    assert store.room(id).view is None
    room_sharing.share("translate", {"text": "I am cold."})
    assert store.room(id).view["params"] == {"text": "I am cold."}

"""What /health counts, and what it finds wrong."""

import sqlite3
import time

import pytest

from ui.server import health


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("name", "value", "wrong"), [
    ("places", lambda: (), "no checkpoints"), ("LEAST_FREE", 1e18, "the disk of the home is full")])
def test_a_server_without_checkpoints_or_with_a_full_disk_is_not_healthy(monkeypatch, name, value, wrong):
    assert health.look()["wrong"] == []
    monkeypatch.setattr(health, name, value)
    assert health.look()["wrong"] == [wrong]


def test_rooms_are_counted_where_there_are_any(home):
    assert health.rooms() == 0 and not list(home.iterdir())
    with sqlite3.connect(home / "rooms.sqlite") as file:
        file.execute("create table room (ends)")
        file.executemany("insert into room values (?)", [(time.time() + hour * 3600,) for hour in (-1, 1, 2)])
    file.close()
    assert health.rooms() == 2  # and one that has ended

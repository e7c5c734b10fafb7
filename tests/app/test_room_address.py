"""Where others find a room, by the address that a lecturer has opened it under."""

import pytest

from ui.rooms import server_address as addresses
from ui.rooms.server_address import how_to_reach, reaches_others


@pytest.mark.parametrize(("address", "others"), [
    ("http://localhost:8501", False), ("http://localhost", False), ("http://127.0.0.1:8501", False),
    ("http://[::1]:8501", False), ("http://[::1]", False), ("http://127.0.0.1", False), ("http://", False),
    ("http://192.168.1.5:8501", True), ("https://heads.example.org", True), ("http://[fe80::1]:80", True),
    ("http://[fe80::1]", True)])
def test_an_address_of_this_computer_alone_is_known(address, others):
    assert reaches_others(address) is others


@pytest.mark.parametrize(("told", "clone", "command"), [
    ("", True, "make app HOST=0.0.0.0"), ("1", True, "make serve HOST=0.0.0.0"),
    ("", False, "headsup app --host 0.0.0.0"), ("1", False, "headsup serve --host 0.0.0.0")])
def test_a_lecturer_is_told_how_this_server_is_started_for_others(told, clone, command, monkeypatch):
    monkeypatch.setenv(addresses.ENABLED, told)
    monkeypatch.setattr(addresses, "IS_CLONE", clone)
    assert how_to_reach() == command

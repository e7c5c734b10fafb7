"""Where others find a room, by the address that a lecturer has opened it under."""

import pytest

from ui.room.address import reaches_others


@pytest.mark.parametrize(("address", "others"), [
    ("http://localhost:8501", False), ("http://localhost", False), ("http://127.0.0.1:8501", False),
    ("http://[::1]:8501", False), ("http://[::1]", False), ("http://127.0.0.1", False), ("http://", False),
    ("http://192.168.1.5:8501", True), ("https://heads.example.org", True), ("http://[fe80::1]:80", True),
    ("http://[fe80::1]", True)])
def test_an_address_of_this_computer_alone_is_known(address, others):
    assert reaches_others(address) is others

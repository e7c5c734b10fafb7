"""How the server is started: what is wrong with its address or its home is said at once, in one sentence."""

import socket

import pytest

from tests.rows import each_row
from ui.server import serve


@each_row(("host", "port", "said"), [
    ("127.0.0.1", 99_999, "Cannot serve on host 127.0.0.1, port 99999: bind(): port must be 0-65535."),
    ("no.such.host.invalid", 0, "Cannot serve on host no.such.host.invalid: "),
    ("192.0.2.1", 8501, "Cannot serve on host 192.0.2.1, port 8501: ")])
def test_an_address_that_cannot_be_served_is_said_in_one_sentence(host, port, said):
    with pytest.raises(SystemExit) as ended:
        serve.check_address(host, port)
    message = str(ended.value)
    assert message.startswith(said) and message.endswith(".") and not message.endswith("..") and "\n" not in message


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit, match=f"^Port {port} is busy: choose another"):
            serve.check_address("127.0.0.1", port)


@pytest.mark.parametrize("within", ["", "deeper/still"])
def test_a_home_that_is_a_file_is_said_before_anything_is_imported(tmp_path, monkeypatch, within):
    serve.check_home()
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "a file" / within))
    with pytest.raises(SystemExit, match=r"a file is a file and no folder\.$"):
        serve.check_home()

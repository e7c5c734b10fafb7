"""The proxy in front of several workers, before two that say who they are: who comes to which of them, and what it
keeps to itself."""

import http.client
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.server.conftest import need_caddy
from tests.waiting import listens, until
from ui.server import caddy
from ui.server.workers import hold


class Named(BaseHTTPRequestHandler):
    """Says whose it is, by the port, and as what it was asked."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        told = " ".join(headers.get(name, "") for name in ("x-forwarded-proto", "host", "x-forwarded-for"))
        body = f"{self.server.server_port} {told}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET

    def do_POST(self) -> None:
        """As a worker that has waited for long enough."""
        self.send_response(408)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Proxy:
    def __init__(self, port: int, workers: list[ThreadingHTTPServer], log, folder) -> None:
        self.port, self.workers, self.log, self.folder = port, workers, log, folder

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def cookies(self) -> dict[str, str]:
        """A cookie for each worker, from many visits."""
        return {body.split()[0]: cookie.partition(";")[0] for _, body, cookie in (self.ask() for _ in range(40))}

    def ask(self, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, str, str]:
        """The status, what the worker says, and the cookie that was given, with all that is said of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), answer.getheader("Set-Cookie") or ""
        connection.close()
        return found


def served(port: int = 0) -> ThreadingHTTPServer:
    worker = ThreadingHTTPServer(("127.0.0.1", port), Named)
    threading.Thread(target=worker.serve_forever, args=[0.01], daemon=True).start()
    return worker


@pytest.fixture
def proxy(request, tmp_path, monkeypatch):
    """As `make serve` has it; with a parameter that is true, as deploy/compose.yaml has it."""
    need_caddy()
    monkeypatch.setattr(caddy, "HEAD", "1s")
    workers = [served(), served()]
    held, folder, log = hold("127.0.0.1", [0]), tmp_path / "proxy", tmp_path / "log.txt"
    port = held.getsockname()[1]
    content = caddy.text(f"http://:{port}", [f"127.0.0.1:{one.server_port}" for one in workers], bind="127.0.0.1",
                         https=getattr(request, "param", False))
    content = content.replace("health_interval 2s", "health_interval 100ms")
    path = caddy.write(folder, content)
    with log.open("w") as output:
        process = subprocess.Popen([caddy.program(), "run", "--adapter", "caddyfile", "--config", str(path)],
                                   env=caddy.environment(folder), stdout=output, stderr=output)
    try:
        until(lambda: listens(port))
        yield Proxy(port, workers, log, folder)
    finally:
        process.kill()  # asked to end, it waits for who is connected
        process.wait(30)
        held.close()
        for worker in workers:
            worker.shutdown()
            worker.server_close()


def test_a_cookie_keeps_a_visitor_with_a_worker_and_visitors_are_spread(proxy):
    cookies = proxy.cookies()
    assert len(cookies) == 2  # all of them from one address
    for worker, cookie in cookies.items():
        assert cookie.startswith(f"{caddy.COOKIE}=")
        for path in ("/", "/_stcore/upload_file/a/b", "/media/x.png"):
            assert proxy.ask(path, Cookie=cookie)[1].split()[0] == worker
    _, body, given = proxy.ask(Host="heads.example.org")
    assert body.split()[1:] == ["http", "heads.example.org", "127.0.0.1"]  # workers are told how people come
    assert "HttpOnly" in given and "SameSite=Lax" in given  # no script reads it, and no other site sends it
    framed = caddy.text("http://:80", ["127.0.0.1:1"], framed=True)
    assert f"HttpOnly; {caddy.FRAMED}" in framed and "SameSite=Lax" not in framed


def test_a_body_that_drips_ends_as_the_worker_says(proxy):
    with proxy.connect() as dripping:
        dripping.sendall(b"POST /lead HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        answer = b""
        while not answer.endswith(b"Not all of it has come."):
            answer += (part := dripping.recv(1_000))
            assert part
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"\r\nConnection: close\r\n" in answer
        dripping.shutdown(socket.SHUT_WR)  # Caddy, seldom, listens to the rest of the body after its answer
        while dripping.recv(1_000):
            pass


def test_a_room_is_at_one_worker_whoever_asks(proxy):
    cookies = proxy.cookies()
    where = {}
    for room in map("R{:03}".format, range(40)):  # of a few, all may be at one of two
        found = {proxy.ask(f"/r/{room}{rest}", Cookie=cookie, X_Headsup_Room="another")[1].split()[0]
                 for rest in ("", "/state?rev=3", "/answer") for cookie in (*cookies.values(), "")}
        assert len(found) == 1
        where[room] = found.pop()
    assert set(where.values()) == set(cookies)
    for path in ("/r/ABCD%00/state", "/r/ABCD%0d%0aX-Headsup-Room:%20x", "/r/%00", "/r/%ff", "/r/%20"):
        assert proxy.ask(path)[0] == 200, path


def test_the_visitors_of_a_worker_that_is_gone_are_moved_at_once(proxy):
    cookies = proxy.cookies()
    gone, stays = (str(worker.server_port) for worker in proxy.workers)
    proxy.workers[0].shutdown()
    proxy.workers[0].server_close()
    status, body, cookie = proxy.ask(Cookie=cookies[gone])
    assert (status, body.split()[0], cookie.partition(";")[0]) == (200, stays, cookies[stays])
    assert proxy.ask(method="PUT", Cookie=cookies[gone])[0] == 200
    for room in ("ABCD", "WXYZ", "KLMN", "H3H4"):
        assert proxy.ask(f"/r/{room}")[1].split()[0] == stays


@pytest.mark.parametrize(("proxy", "told"), [(True, "127.0.0.1"), (False, "192.0.2.7, 127.0.0.1")], indirect=["proxy"])
def test_who_stands_before_the_proxy_is_believed_where_somebody_may(proxy, told):
    assert proxy.ask(Host="heads", X_Forwarded_For="192.0.2.7")[1].split(maxsplit=3)[3] == told


def test_a_request_waits_for_a_worker_that_is_being_replaced(proxy):
    ports = [worker.server_port for worker in proxy.workers]
    for worker in proxy.workers:
        worker.shutdown()
        worker.server_close()
    back = threading.Timer(0.5, lambda: proxy.workers.append(served(ports[1])))
    back.start()
    assert [proxy.ask(path)[0] for path in ("/", "/r/ABCD")] == [200, 200]
    back.join()


def test_it_writes_nowhere_else_and_no_address_into_its_log(proxy):
    for worker in proxy.workers:
        worker.shutdown()
        worker.server_close()
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    connection.request("GET", "/who-asked-this", headers={"User-Agent": "somebody's"})
    connection.sock.close()
    assert {path.name for path in proxy.folder.iterdir()} <= {"Caddyfile", "caddy", ".step"}
    assert proxy.folder.stat().st_mode & 0o777 == 0o700
    log = proxy.log.read_text()
    assert "remote" not in log and "who-asked" not in log and "somebody" not in log


def test_what_caddy_refuses_is_said(tmp_path):
    need_caddy()
    with pytest.raises(ValueError, match="Caddy refuses its configuration: .*nonsense"):
        caddy.write(tmp_path, "nonsense {\n\tnonsense\n}\n")


def test_a_connection_on_which_no_whole_request_comes_is_closed_and_who_sends_slowly_is_not_cut_off(proxy):
    with proxy.connect() as silent, proxy.connect() as halfway, proxy.connect() as slow:
        halfway.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        slow.sendall(b"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\nx")
        for one in (silent, halfway):
            while one.recv(1_000):
                pass
        time.sleep(0.1)  # and longer than the first lines may take
        slow.sendall(b"xx")
        assert slow.recv(1_000).startswith(b"HTTP/1.1 200")

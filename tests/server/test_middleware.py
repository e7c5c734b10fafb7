"""Who is let in, and what is sent with every answer."""

import asyncio
import http.client
import json
import re
import socket
import sqlite3
from unittest.mock import MagicMock

import pytest
from streamlit.web.server.starlette.starlette_app import create_streamlit_routes
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.rows import each_row
from tests.server.client import ADDRESS
from ui.server.middleware import RequestChecks
from ui.server.serve import check_sites


@each_row("path", ["/_stcore/metrics", "/_stcore/metrics?families=active_sessions",
                   "/_stcore/agent/openapi.json", "/_stcore/agent/mcp", "/_stcore/script-health-check",
                   "/_stcore/whatever-comes-next", "/component/x/index.html", "/app/static/x.png",
                   "/auth/login", "/auth/logout", "/new/endpoint", "/index.html", "/../app.py"])
def test_what_nobody_here_needs_is_closed(server, path):
    for method in ("GET", "POST", "PUT", "DELETE"):
        assert server.ask(method, path).status == 404
    assert server.ask("GET", "/_stcore/health").status == 200


def test_whatever_else_streamlit_answers_or_may_come_to_answer_is_closed(server):
    """What is open of its routes is what its page asks for."""
    names = {re.sub(r"\{[^}]*\}", "x", route.path) for route in create_streamlit_routes(MagicMock())} - {""}
    assert len(names) > 10
    page = server.ask("GET", "/nowhere").body  # which the app's own is under any name
    found = {name for name in names if (answer := server.ask("GET", name)).status != 404 and answer.body != page}
    assert found <= {"/_stcore/health", "/_stcore/host-config", "/_stcore/stream", "/media/x",
                         "/_stcore/upload_file/x/x", "/_stcore/bidi-components/x"}
    with pytest.raises(InvalidStatus), connect(f"ws://{server.host}/_stcore/other", subprotocols=["streamlit"]):
        pass


@each_row("path", ("/", "/train", "/nowhere", "/_stcore/health", "/favicon.png", "/_stcore/metrics", "/teacher",
                   "/move"))
def test_every_answer_says_what_a_browser_may_do_with_it(server, path):
    for answer in (server.ask("GET", path), server.ask("GET", path, host="evil.example")):
        policy = answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'self'" in policy and "img-src 'self' data: blob:;" in policy
        assert "evil.example" not in policy
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"


@each_row("host", ["evil.example", "evil.example:8501", "localhost.evil.example", "203.0.113.9", "",
                   "127.0.0.2@evil.example", ":x;@localhost", "127.0.0.2:port", "[::1", "127.0.0.2/evil.example",
                   "localhost#; script-src *"])
def test_a_foreign_name_is_refused_in_a_sentence(server, host):
    answer = server.ask("GET", "/", host=host)
    assert answer.status in (400, 403)  # the protocol itself has no place for some
    if answer.status == 403:
        assert "does not answer to the name" in answer.text
        assert "Set-Cookie" not in answer.headers


def test_the_names_of_this_computer_are_taken(server):
    for name in (server.host, f"localhost:{server.port}", f"127.0.0.1:{server.port}", "localhost:9000", "[::1]:80",
                 f"{socket.gethostname()}:{server.port}", f"LOCALHOST.:{server.port}"):
        assert server.ask("GET", "/", host=name).status == 200, name


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:{port}", "http://127.0.0.1:{port}",
                                    "http://127.0.0.2:1", "http://127.0.0.2", "file://127.0.0.2:{port}",
                                    "https://share.streamlit.io", "http://[::1", "x"])
def test_pages_of_others_are_refused_and_so_are_other_ports_of_this_computer(server, origin):
    origin = origin.format(port=server.port)
    with pytest.raises(InvalidStatus) as refused, server.visit(Origin=origin):
        pass
    assert refused.value.response.status_code == 403
    for method, path in (("GET", "/_stcore/host-config"), ("PUT", "/_stcore/upload_file/a/b"), ("POST", "/teacher"),
                         ("POST", "/move"), ("DELETE", "/_stcore/upload_file/a/b")):
        assert server.ask(method, path, Origin=origin).status == 403, (method, path)


def test_the_servers_own_pages_and_scripts_without_an_origin_connect_and_nobody_sends_to_a_frame(server):
    for headers in ({"Origin": f"http://{server.host}"}, {}):
        with server.visit(**headers) as session:
            assert "See where a transformer looks" in session.open().text
    assert json.loads(server.ask("GET", "/_stcore/host-config").text)["allowedOrigins"] == []


def test_the_first_page_gives_a_key_that_no_script_reads_and_later_ones_leave_it(server):
    one, other = (server.ask("GET", "/train").headers["Set-Cookie"] for _ in range(2))
    assert one.startswith("headsup_visitor=") and one != other
    assert "HttpOnly" in one and "SameSite=lax" in one and "Path=/" in one and "Secure" not in one
    assert "Set-Cookie" not in server.ask("GET", "/train", Cookie=one.partition(";")[0]).headers


def through(door: RequestChecks, path: str = "/favicon.png", **headers: str) -> list[dict]:
    """What is sent of a request that has come to 10.0.0.5 by a door."""
    sent = []
    asyncio.run(door({"type": "http", "method": "GET", "path": path, "scheme": "http", "server": ("10.0.0.5", 8501),
                      "headers": [(name.encode(), value.encode()) for name, value in headers.items()]},
                     None, lambda message: asyncio.sleep(0, sent.append(message))))
    return sent


def test_a_proxys_name_is_taken_once_it_is_given():
    async def streamlit(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": scope["headers"]})

    closed, opened = (RequestChecks(streamlit, names={"localhost"}, public=public)
                      for public in (set(), {"heads.example"}))
    for headers in ({"host": "heads.example"}, {"host": "10.0.0.5:8501", "origin": "https://heads.example"}):
        assert through(closed, **headers)[0]["status"] == 403
        seen = dict(through(opened, **headers)[0]["headers"])
        assert seen[b"host"] == headers["host"].encode()
    # Streamlit, which compares the two, would refuse the proxy's name
    assert seen[b"origin"] == b"http://10.0.0.5:8501"
    assert through(opened, host="heads.example", origin="https://other.example")[0]["status"] == 403


def answered(cookie: str, **settings) -> dict[str, str]:
    """The headers of an answer that gives this cookie."""
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"set-cookie", cookie.encode())]})

    (sent,) = through(RequestChecks(app, names={"localhost"}, public=set(), **settings), host="localhost")
    return {name.decode(): value.decode() for name, value in sent["headers"]}


def test_pages_of_a_site_that_was_named_may_frame_these_and_no_others():
    here, named = (answered("a=1", framed_by=sites) for sites in (
        (), ("https://huggingface.co", "https://*.school.example")))
    assert here["content-security-policy"].endswith("; frame-ancestors 'self'")
    assert here["x-frame-options"] == "SAMEORIGIN"
    assert named["content-security-policy"].endswith(
        "; frame-ancestors 'self' https://*.school.example https://huggingface.co")
    assert "x-frame-options" not in named  # it could name none of them


@pytest.mark.parametrize(("given", "framed"), [
    ("headsup_visitor=a.b; HttpOnly; Path=/; SameSite=lax",
     "headsup_visitor=a.b; HttpOnly; Path=/; SameSite=None; Secure; Partitioned"),
    ("_streamlit_xsrf=2|SameSite|x; Path=/; SameSite=Lax; Secure",
     "_streamlit_xsrf=2|SameSite|x; Path=/; SameSite=None; Secure; Partitioned"),
    ("headsup_teacher=x; HttpOnly; Path=/; SameSite=strict", "headsup_teacher=x; HttpOnly; Path=/; SameSite=strict"),
])
def test_cookies_but_for_the_teachers_reach_a_frame(given, framed):
    assert answered(given)["set-cookie"] == given
    assert answered(given, framed_by={"https://huggingface.co"})["set-cookie"] == framed


@pytest.mark.parametrize("site", ["huggingface.co", "https://a.example/", "https://a.example; script-src *", "'self'",
                                  "https://a.example https://b.example", "*", "https://", "https://*", "data:", ""])
def test_a_frame_is_allowed_to_sites_alone(site):
    with pytest.raises(SystemExit, match="--framed-by .*: a site is https://"):
        check_sites(["https://*.school.example:8443", "http://localhost:8000", site])


JUNK = [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"key": {"a": [1]}}', b"\x00" * 500, b"x" * 30_000,
        b"code=%00%ff&code[]=1", b'{"a":' * 3_000]
TARGETS = [("POST", "/lead"), ("POST", "/move"), ("POST", "/teacher"), ("POST", "/r/K7M4QX/answer"),
           ("POST", "/r/%00%ff/do"), ("PUT", "/_stcore/upload_file/a/b"), ("DELETE", "/_stcore/upload_file/a/b"),
           ("POST", "/translate"), ("POST", "/sign-out"), ("PATCH", "/_stcore/stream")]


def test_junk_is_answered_and_the_connection_it_came_on_goes_on(server):
    """A proxy hands the connection to somebody else next."""
    before = server.log.read_text()
    for method, path in TARGETS:
        connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=60)
        connection.connect()
        first = connection.sock
        for body in JUNK:
            connection.request(method, path, body, {"Host": server.host, "Content-Type": "multipart/form-data"})
            answer = connection.getresponse()
            answer.read()
            assert 200 <= answer.status < 500, (method, path, body[:20], answer.status)
            assert connection.sock is first, (method, path, body[:20])
        connection.close()
    assert "Traceback" not in server.log.read_text()[len(before):]


@pytest.mark.parametrize(("error", "status"), [
    (ZeroDivisionError, 500), (OSError, 503), (sqlite3.OperationalError, 503)])
def test_whatever_fails_is_answered_and_written_to_the_log(error, status, caplog):
    async def fails(scope, receive, send):
        raise error("/home/secret")

    begun, body = through(RequestChecks(fails, names={"localhost"}, public=set()), host="localhost")
    assert begun["status"] == status
    assert b"secret" not in body["body"]
    assert len(caplog.records) == 1

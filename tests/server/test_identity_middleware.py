"""People whom an organisation's proxy signs in: its header is believed from its address alone, however it is sent."""

import http.client

import pytest
from websockets.exceptions import InvalidStatus

from tests.server.client import TEACHES
from tests.server.conftest import ended_run, may_delete
from ui.access import accounts, visitors

PROXY, STUDENT = "127.0.0.5", "127.0.0.6"  # addresses of this computer, from which they come
FILE = f'''sign_in = "required"
teachers = ["Ada", "Ægir"]

[header]
name = "X-Remote-User"
proxies = ["{PROXY}"]
sign_out = "https://sso.example/leave"
'''


@pytest.fixture(scope="module")
def server(start):
    return start(sign_in=FILE)


def ask(server, address, path="/train", *headers):
    connection = http.client.HTTPConnection("127.0.0.2", server.port, timeout=60, source_address=(address, 0))
    connection.putrequest("GET", path)
    for name, value in (("Accept", "text/html"), *headers):
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


@pytest.mark.parametrize(("name", "shown", "teaches"), [
    ("ada", "ada**", True), ("ben", "ben**", False), ("ada ", "ada**", True), ("adam", "adam**", False),
    ("Ægir", "Ægir**", True), ("**æ**![x](//evil.example/x)", "", False)])
def test_whom_the_proxy_names_is_signed_in_and_is_nobody_else(server, name, shown, teaches):
    sent = name.encode().decode("latin-1")
    assert ask(server, PROXY, "/train", ("X-Remote-User", sent))[0] == 200
    with server.visit(PROXY, **{"X-Remote-User": sent}) as session:
        text = session.open("train").text
    assert f"Signed in as **{shown}" in text and (TEACHES in text) == teaches
    assert "![x](" not in text


@pytest.mark.parametrize("headers", [
    [("X-Remote-User", "ada")], [("x-remote-user", "ada")], [("X-Remote-User", "ada"), ("X-Forwarded-For", PROXY)],
    [("X-Remote-User", "ada"), ("X-Forwarded-For", f"{PROXY}, {PROXY}"), ("Forwarded", f"for={PROXY}")],
    [("X-Remote-User", "ada"), ("X-Real-IP", PROXY), ("Via", PROXY)], [(accounts.CONNECTION, "ada")]])
def test_a_student_who_sends_the_header_is_nobody(server, headers):
    for address in (STUDENT, "127.0.0.1"):  # of which uvicorn believes what a proxy says
        status, body = ask(server, address, "/train", *headers)
        assert status == 401 and "Your organisation signs you in" in body
        with pytest.raises(InvalidStatus) as error, server.visit(address, **dict(headers)):
            pass
        assert error.value.response.status_code == 403


@pytest.mark.parametrize("names", [[""], ["   "], ["a" * 201], ["ad\x7fa"], ["\x00ada"], ["ben", "ada"]])
def test_a_header_that_names_nobody_or_two_lets_nobody_in(server, names):
    status, _ = ask(server, PROXY, "/train", *(("X-Remote-User", name) for name in names))
    assert status == 400 if len(names) > 1 else status in (400, 401)


def test_runs_are_the_persons_and_not_their_browsers(server):
    folder = ended_run(server.home, accounts.Person("header x-remote-user", "ben", "", "", "", 0).owner)
    for name, key in (("eve", "a key"), ("eve", '["header x-remote-user", "ben"]'), ("ben", "another")):
        headers = {"X-Remote-User": name, "Cookie": f"{visitors.VISITOR}={key}"}
        assert may_delete(server, folder, PROXY, **headers) == (name == "ben")


def test_the_way_out_is_the_organisations(server):
    status, body = ask(server, PROXY, "/sign-out", ("X-Remote-User", "<b>ben"))
    assert status == 200 and "&lt;b&gt;ben" in body and "https://sso.example/leave" in body
    assert ask(server, PROXY, "/sign-in/start?with=default", ("X-Remote-User", "ben"))[0] == 303
    assert ask(server, STUDENT, "/oauth2callback?code=x&state=x")[0] == 303

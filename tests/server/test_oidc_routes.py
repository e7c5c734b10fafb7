"""People who sign in by OpenID Connect, at a real provider that this starts, without a browser."""

import json
import re
from contextlib import suppress
from http.client import HTTPConnection
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import itsdangerous.timed
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.server.client import ANSWER_S, TEACHES
from tests.server.conftest import ended_run, may_delete
from tests.server.provider import providing, sign_in_file
from ui.access import accounts, visitors
from ui.server.oidc_routes import AFTER, _page_here


@pytest.fixture(scope="module")
def provider():
    with providing() as found:
        yield found


@pytest.fixture(autouse=True)
def no_fault(provider):
    yield
    provider.fault = ""


@pytest.fixture(scope="module")
def server(start, provider):
    """One on which everybody must sign in."""
    return start(sign_in=sign_in_file(provider, "http://127.0.0.2:{port}/oauth2callback"))


class Browser:
    """Keeps cookies, and follows no redirect by itself."""

    def __init__(self, server):
        self.server, self.cookies = server, {}

    @property
    def cookie(self):
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def get(self, path, method="GET", **headers):
        answer = self.server.ask(method, path, Cookie=self.cookie, Accept="text/html", **headers)
        self.cookies = {name: value for name, value in (self.cookies | answer.cookies).items() if value}
        return answer

    def to_provider(self, to="/"):
        return self.get(f"/sign-in/start?{urlencode({'with': 'default', 'to': to})}").headers["Location"]

    def sign_in(self, name, to="/"):
        """All the way; where it ends."""
        return self.get(came_back(self.to_provider(to), name)).headers["Location"]

    def visit(self):
        return self.server.visit(Cookie=self.cookie)


def came_back(url, name):
    """The address to which the provider sends somebody back."""
    asked = urlsplit(url)
    connection = HTTPConnection(asked.netloc, timeout=ANSWER_S)
    connection.request("GET", f"{asked.path}?{asked.query}&as={name}")
    found = urlsplit(connection.getresponse().getheader("location"))
    connection.close()
    return f"{found.path}?{found.query}"


@pytest.fixture
def browser(server):
    return Browser(server)


def refused(browser):
    with pytest.raises(InvalidStatus) as error, browser.visit():
        pass
    return error.value.response.status_code == 403


def test_who_is_not_signed_in_sees_the_way_in_and_nothing_else(server, browser):
    page = browser.get("/translate?text=Go.")
    assert page.status == 401 and "Sign in" in page.text and "to=%2Ftranslate%3Ftext%3DGo." in page.text
    assert server.ask("GET", "/translate").text == "Sign in first.\n"
    for method, path in (("GET", "/"), ("GET", "/static/x.js"), ("GET", "/media/x.png"), ("GET", "/room"),
                         ("PUT", "/_stcore/upload_file/x/y"), ("POST", "/move"), ("GET", "/_stcore/host-config")):
        assert browser.get(path, method).status == 401, path
    assert refused(browser)
    assert server.ask("GET", "/_stcore/health").status == 200
    for path in ("/r", "/lead"):  # a telephone in a room has no account
        assert browser.get(path).status == 200, path


@pytest.mark.parametrize(("name", "teaches"), [("ada", True), ("ben", False), ("eve", False), ("fay", False)])
def test_an_address_on_the_list_teaches_but_not_one_that_nobody_has_checked(browser, name, teaches):
    assert browser.sign_in(name, "/train?view=runs") == "/train?view=runs"
    assert browser.get("/train").status == 200
    with browser.visit() as session:
        text = session.open("train").text
    assert "Signed in as **" in text
    assert name in ("eve", "fay") or re.search(rf"Signed in as \*\*{name}.{{0,5}}@school", text, re.IGNORECASE)
    assert (TEACHES in text) == teaches


def test_who_is_taken_off_the_list_is_no_teacher_any_more_and_the_printed_link_opens_everything(server, browser):
    assert server.teaches(Cookie=server.sign_in())
    browser.sign_in("ada")
    file = server.home / "sign-in.toml"
    before = file.read_text()
    with browser.visit() as session:
        assert TEACHES in session.open("train").text
        try:
            file.write_text(before.replace("ada@", "grace.hopper@"))
            assert TEACHES not in session.open("train").text
            file.write_text("nothing that can be read")
            assert TEACHES not in session.open("train").text
        finally:
            file.write_text(before)
        assert TEACHES in session.open("train").text


@pytest.mark.parametrize(("fault", "why"), [
    ("nonce", "Invalid claim: 'nonce'"), ("audience", "Invalid claim: 'aud'"), ("issuer", "Invalid claim: 'iss'"),
    ("expired", "The token is expired"), ("unsigned", "Algorithm of 'none' is not allowed"), ("key", "bad_signature")])
def test_a_token_that_is_not_right_signs_nobody_in(server, browser, provider, fault, why):
    provider.fault = fault
    assert browser.sign_in("ada") == "/sign-in?failed=1"
    assert accounts.COOKIE not in browser.cookies and refused(browser)
    assert "You were not signed in" in browser.get("/sign-in?failed=1").text
    lines = [line for line in server.log.read_text().splitlines() if "Somebody was not signed in: " in line]
    assert why in lines[-1]


def test_nobody_writes_lines_into_the_log(server, browser):
    state = parse_qs(urlsplit(browser.to_provider()).query)["state"][0]
    query = urlencode({"state": state, "error": "x", "error_description": "no\ntime=1 event=\"worker died\"\x1b[2J"})
    assert browser.get(f"/oauth2callback?{query}").headers["Location"] == "/sign-in?failed=1"
    found = [line for line in server.log.read_text().splitlines() if "worker died" in line]
    assert len(found) == 1 and "Somebody was not signed in" in found[0] and "\x1b" not in found[0]


def test_a_way_back_works_once_and_only_in_the_browser_that_went(server, browser):
    for query in ("", "?state=x", "?code=x&state=x", "?error=access_denied&state=x", "?code=x"):  # nobody asked
        answer = browser.get(f"/oauth2callback{query}")
        assert answer.status == 303 and answer.headers["Location"] in ("/", "/sign-in?failed=1")
        assert accounts.COOKIE not in browser.cookies
    assert browser.get("/oauth2callback", "POST").status == 405
    there = browser.to_provider()
    query = parse_qs(urlsplit(there).query)
    assert query["code_challenge_method"] == ["S256"] and query["nonce"] and query["state"]
    assert query["redirect_uri"] == [f"http://{server.host}/oauth2callback"]
    back = came_back(there, "ada")
    other = Browser(server)
    assert other.get(back).headers["Location"] == "/sign-in?failed=1"
    assert accounts.COOKIE not in other.cookies
    assert browser.get(back).headers["Location"] == "/"
    del browser.cookies[accounts.COOKIE]
    assert browser.get(back).headers["Location"] == "/sign-in?failed=1"
    assert accounts.COOKIE not in browser.cookies


ELSEWHERE = ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nX: y", "evil", ""]


def test_signing_in_leads_to_no_other_site(browser):
    for to in ELSEWHERE:
        browser.to_provider(to)
        assert browser.cookies[AFTER] == "%2F", to
        assert _page_here(to) == "/", to
    url = browser.to_provider("/train")
    browser.cookies[AFTER] = quote(ELSEWHERE[0], safe="")  # as if somebody else had set it
    assert browser.get(came_back(url, "ben")).headers["Location"] == "/"


def test_the_cookie_is_no_scripts_and_no_other_sites_whose_links_sign_nobody_in_or_out(server, browser):
    answer = browser.get(came_back(browser.to_provider(), "ada"))
    given = next(one for one in answer.headers.get_all("Set-Cookie") if one.startswith(accounts.COOKIE))
    assert "HttpOnly" in given and "SameSite=lax" in given and f"Max-Age={12 * 3600}" in given
    assert not [name for name in browser.cookies if name.startswith("_streamlit_user")]
    assert (server.home / "cookie.secret").stat().st_mode & 0o777 == 0o600
    for path in ("/auth/login", "/auth/logout"):
        assert browser.get(path).status == 404, path
    assert browser.get("/sign-out", "POST", Origin="http://evil.example").status == 403
    assert browser.get("/train").status == 200


def test_a_forged_or_old_cookie_and_streamlits_own_name_nobody(server, browser, monkeypatch):
    secret = (server.home / "cookie.secret").read_text().strip()
    about = {"issuer": "http://idp", "subject": "a-1", "name": "Ada", "listed": "ada@school.example"}
    ada = accounts.new_cookie(secret, **about)
    now = itsdangerous.timed.time.time()
    with monkeypatch.context() as context:
        context.setattr(itsdangerous.timed.time, "time", lambda: now - 12 * 3600 - 60)
        old = accounts.new_cookie(secret, **about)
    head, rest = ada.split(".", 1)
    changed = f"{head[:-1]}{'A' if head[-1] != 'A' else 'B'}.{rest}"
    for cookie in (old, changed, head, "", "\udcff".encode("latin-1", "replace").decode(),
                   accounts.new_cookie("x" * 43, **about)):
        browser.cookies = {accounts.COOKIE: ada}
        assert browser.get("/train").status == 200  # so that the rest is refused for what is wrong with it
        browser.cookies = {accounts.COOKIE: cookie}
        assert browser.get("/train").status == 401 and refused(browser), cookie
    browser.cookies = {"_streamlit_user": ada}
    for headers in ({accounts.CONNECTION: "x"}, {"X-Remote-User": "ada@school.example"}, {accounts.CONNECTION: ada}):
        assert browser.get("/train", **headers).status == 401
    assert refused(browser)


def test_signing_out_closes_what_is_open_and_what_was_copied(server, browser):
    browser.sign_in("ada")
    thief = Browser(server)
    thief.cookies = dict(browser.cookies)
    with thief.visit() as session:
        assert TEACHES in session.open("train").text
        assert browser.get("/sign-out", "POST").status == 303
        page = browser.get("/sign-out")
        assert "You are signed out" in page.text and "/leave?client_id=heads-up" in page.text
        assert accounts.COOKIE not in browser.cookies
        with suppress(ConnectionClosed):
            while True:
                session.socket.recv(timeout=20)
        assert session.socket.close_code == 1008
    assert thief.get("/train").status == 401 and refused(thief)


def test_runs_are_a_persons_in_every_browser_and_those_from_before_stay_in_theirs(server, provider):
    home = server.home
    here, there, other = Browser(server), Browser(server), Browser(server)
    for browser, name, key in ((here, "ben", "a key"), (there, "ben", "another key"), (other, "eve", "a third key")):
        browser.sign_in(name)
        browser.cookies[visitors.VISITOR] = key
    ben = accounts.Person(provider.issuer, "b-2", "", "", "", 0).owner

    assert not may_delete(server, ended_run(home, ben), Cookie=other.cookie)
    assert all(may_delete(server, ended_run(home, ben), Cookie=browser.cookie) for browser in (here, there))
    before = ended_run(home, visitors.digest("a key"))
    assert [may_delete(server, before, Cookie=browser.cookie) for browser in (there, here)] == [False, True]
    # a key that was made up does not become a person
    other.cookies[visitors.VISITOR] = json.dumps([provider.issuer, "b-2"])
    assert not may_delete(server, ended_run(home, ben), Cookie=other.cookie)

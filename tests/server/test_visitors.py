"""The teacher's way in, and a key's way into another browser, without a browser."""

import re
import time
from collections import deque

import pytest
from websockets.exceptions import ConnectionClosed

from tests.rows import each_row
from tests.server.client import TEACHES
from ui.access import visitors


def test_the_printed_link_signs_in_once_and_the_next_one_is_printed(server):
    link, body = server.teachers_link(), server.teachers_code()
    assert link.startswith(f"http://{server.host}/teacher#")
    assert server.ask("GET", "/teacher").status == 200
    entered = server.ask("POST", "/teacher", body=body)
    given = entered.headers["Set-Cookie"]
    assert given.startswith("headsup_teacher=") and "HttpOnly" in given and "SameSite=strict" in given
    assert server.teachers_link() != link
    again = server.ask("POST", "/teacher", body=body)
    assert again.status == 403 and "Set-Cookie" not in again.headers
    assert "has been used" in again.text


def test_neither_the_link_nor_the_cookie_tells_what_cookies_are_signed_with(server):
    cookie = server.sign_in()
    kept = server.home / "cookie.secret"
    secret = kept.read_text().strip()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert secret not in server.log.read_text() and secret not in cookie
    assert server.ask("POST", "/teacher", body=f"code={secret}".encode()).status == 403
    assert server.teaches(Cookie=cookie)
    assert not server.teaches() and not server.teaches(Cookie=f"headsup_teacher={secret}")


@each_row("body", [b"", b"code=", b"code=%00", b"code=\xff\xfe", b"code=" + b"a" * 100_000, b"[]"])
def test_anything_else_signs_nobody_in(server, body):
    answer = server.ask("POST", "/teacher", body=body)
    assert answer.status == 403 and "Set-Cookie" not in answer.headers


def test_a_key_in_an_address_is_nobodys(server):
    """What older links and the printed line of older servers had."""
    cookie = server.sign_in().partition("=")[2]
    with server.visit() as session:
        text = session.open("train", view="new", key="evil-classmate-key", teacher=cookie).text
    assert TEACHES not in text
    assert "evil-classmate-key" not in text and cookie not in text


def test_the_teacher_signs_out(server):
    """Whoever has a copy of the cookie is no teacher any more, in an open page either; another browser of theirs is."""
    here, elsewhere = server.sign_in(), server.sign_in()
    assert here != elsewhere
    with server.visit(Cookie=here) as session:
        assert TEACHES in session.open("train").text
        answer = server.ask("POST", "/teacher", body=b"out=1", Cookie=here)
        assert answer.status == 303
        assert re.match(r'headsup_teacher=(""|);.*Max-Age=0', answer.headers["Set-Cookie"])
        with pytest.raises(ConnectionClosed, match="Signed out"):
            deque(iter(lambda: session.socket.recv(timeout=30), None), 0)
    assert server.teaches(Cookie=elsewhere) and not server.teaches(Cookie=here)
    assert server.ask("POST", "/teacher", body=b"out=1", Cookie=here).status == 303


def test_the_link_works_after_a_disk_could_not_be_written_to_and_a_second_server_came_to_the_home(server, importer,
                                                                                                  tmp_path):
    another = "from ui.access import visitors; visitors.teachers_code()"
    body, link = server.teachers_code(), server.home / "teacher.link"
    lock = link.with_name(visitors.LOCK)
    lock.unlink()
    lock.mkdir()  # which nobody can write into, not even root
    refused = server.ask("POST", "/teacher", body=body)
    lock.rmdir()
    assert refused.status == 503 and "cannot write to its disk" in refused.text
    assert importer.fork(["-c", another], tmp_path / "log", HEADSUP_HOME=str(server.home)).wait() == 0
    assert server.ask("POST", "/teacher", body=body).status == 204


def test_a_key_is_signed_with_the_next_page_and_stays_the_same(server):
    """One that an older server has given owns runs."""
    page = server.ask("GET", "/r", Cookie=f"headsup_visitor={'k' * 43}")
    given = page.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
    assert visitors.key_in(given) == "k" * 43
    assert "Set-Cookie" not in server.ask("GET", "/r", Cookie=f"headsup_visitor={given}").headers
    for forged in ('"<b>"', "a" * 3_000, f"{given}0", given[:-1]):
        again = server.ask("GET", "/r", Cookie=f"headsup_visitor={forged}").headers["Set-Cookie"]
        assert "<b>" not in again and len(again) < 300


@each_row("body", [b"", b"code=ABCDE-FGHJK", b"code=%3Cscript%3E", b"x=" + b"a" * 100_000])
def test_a_code_that_is_none_replaces_no_key(server, body):
    answer = server.ask("POST", "/move", body=body, Cookie=server.phone("mine"))
    assert answer.status == 403 and "Set-Cookie" not in answer.headers
    assert "<script>" not in answer.text
    assert "is not a code, or has expired" in answer.text


@pytest.fixture
def sent(monkeypatch, tmp_path):
    """What the visitor's browser sends."""
    cookies = {visitors.VISITOR: visitors.new_key()}
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    monkeypatch.setattr(visitors, "cookies", lambda: cookies)
    return cookies


def test_a_code_takes_a_key_along_once_and_for_five_minutes(sent, monkeypatch):
    code = visitors.code_to_move()
    assert re.fullmatch(r"[2-9A-Z]{5}-[2-9A-Z]{5}", code)
    assert visitors.take_moved(code.lower().replace("-", " ")) == sent[visitors.VISITOR]
    assert visitors.take_moved(code) is None
    late = visitors.code_to_move()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + visitors.MOVE_SECONDS + 1)
    assert visitors.take_moved(late) is None
    sent.clear()
    with pytest.raises(ValueError, match="cookies"):  # of who keeps none
        visitors.code_to_move()
    assert visitors.owner() is None


def test_codes_that_nobody_takes_are_not_kept_without_end(sent, tmp_path, monkeypatch):
    monkeypatch.setattr(visitors, "MOST_MOVES", 5)
    first = visitors.code_to_move()
    for _ in range(visitors.MOST_MOVES):
        visitors.code_to_move()
    assert visitors.take_moved(first) is None
    kept = tmp_path / "moves.json"
    assert len(visitors.read_json(kept)) == visitors.MOST_MOVES
    assert kept.stat().st_mode & 0o777 == 0o600


@each_row("kept", [b'{"a": 1}', b'{"a": []}', b'{"a": ["k", "soon"]}', b'{"a": [1, 9e99]}', b"[]", b"\xff"])
def test_codes_that_somebody_else_has_written_are_none(sent, tmp_path, kept):
    (tmp_path / "moves.json").write_bytes(kept)
    assert visitors.take_moved("a") is None
    assert visitors.take_moved(visitors.code_to_move()) == sent[visitors.VISITOR]


@pytest.mark.parametrize(("seconds", "signed_in"), [
    (-1, True), (-5 * 3_600, True), (5 * 3_600, True), (visitors.TEACHER_SECONDS + 2, False)])
def test_a_sign_in_of_the_teacher_ends_by_itself_and_not_because_a_clock_is_set(sent, monkeypatch, seconds, signed_in):
    sent[visitors.TEACHER] = visitors.teacher_cookie()
    assert visitors.is_teacher()
    now = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: now)
    assert visitors.is_teacher() == signed_in


def test_whoever_has_a_cookie_of_their_own_making_is_no_teacher_whatever_the_secret(sent, tmp_path):
    (tmp_path / "cookie.secret").write_bytes(b"\xff\xfe\x00secret\n")
    assert visitors.is_signed(visitors.signed("a")) and not visitors.is_signed(f"a.{'0' * 32}")
    other = visitors._teachers("another server's").dumps("0" * 32)
    for forged in ("", "x", visitors.cookie_secret(), other, visitors.signed("k"), "ä" * 64):
        sent[visitors.TEACHER] = forged
        assert not visitors.is_teacher()
    sent[visitors.TEACHER] = visitors.teacher_cookie()
    assert visitors.is_teacher()

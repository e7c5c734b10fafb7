"""The teacher's way in, and a key's way into another browser, without a browser."""

import re

import pytest

from ui.access import keys


def test_the_printed_link_signs_in_once_and_the_next_one_is_printed(server):
    link = server.teachers_link()
    page, code = link.split("#")
    assert page == f"http://{server.host}/teacher"
    assert server.ask("GET", "/teacher").status == 200
    body = f"code={code}".encode()
    entered = server.ask("POST", "/teacher", body=body)
    given = entered.headers["Set-Cookie"]
    assert given.startswith("headsup_teacher=") and "HttpOnly" in given and "SameSite=strict" in given
    assert server.teachers_link() != link
    again = server.ask("POST", "/teacher", body=body)
    assert again.status == 403 and "Set-Cookie" not in again.headers
    assert "has been used" in again.text


def test_neither_the_link_nor_the_cookie_nor_a_run_tells_the_teachers_key(server):
    kept = next(server.log.parent.glob("home/teacher.key"))
    key = kept.read_text().strip()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert key not in server.log.read_text()
    assert key not in server.sign_in()
    assert server.ask("POST", "/teacher", body=f"code={key}".encode()).status == 403


@pytest.mark.parametrize("body", [b"", b"code=", b"code=%00", b"code=\xff\xfe", b"code=" + b"a" * 100_000, b"[]"])
def test_anything_else_signs_nobody_in(server, body):
    answer = server.ask("POST", "/teacher", body=body)
    assert answer.status == 403 and "Set-Cookie" not in answer.headers


def test_the_teachers_cookie_opens_what_a_visitors_does_not(server):
    teacher = server.sign_in()
    for headers, allowed in (({"Cookie": teacher}, True), ({"Cookie": "headsup_teacher=x"}, False), ({}, False)):
        with server.visit(**headers) as session:
            assert ("Others may start runs" in session.open("train")) == allowed


def test_a_key_in_an_address_is_nobodys(server):
    """What older links and the printed line of older servers had."""
    key = next(server.log.parent.glob("home/teacher.key")).read_text().strip()
    with server.visit() as session:
        said = session.open("train", f"view=new&key=evil-classmate-key&teacher={key}")
    assert "Others may start runs" not in said
    assert "evil-classmate-key" not in said and key not in said


def test_the_teacher_signs_out(server):
    answer = server.ask("POST", "/teacher", body=b"out=1", Cookie=server.sign_in())
    assert answer.status == 303
    assert re.match(r'headsup_teacher=(""|);.*Max-Age=0', answer.headers["Set-Cookie"])


@pytest.mark.parametrize("body", [b"", b"code=ABCDE-FGHJK", b"code=%3Cscript%3E", b"x=" + b"a" * 100_000])
def test_a_code_that_is_none_replaces_no_key(server, body):
    answer = server.ask("POST", "/move", body=body, Cookie="headsup_visitor=mine")
    assert answer.status == 403 and "Set-Cookie" not in answer.headers
    assert "<script>" not in answer.text
    assert "is not a code, or has expired" in answer.text


@pytest.fixture
def sent(monkeypatch, tmp_path):
    """What the visitor's browser sends."""
    cookies = {keys.VISITOR: keys.new_key()}
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    monkeypatch.setattr(keys, "cookies", lambda: cookies)
    return cookies


def test_a_code_takes_a_key_along_once_and_for_five_minutes(sent, monkeypatch):
    code = keys.code_to_move()
    assert re.fullmatch(r"[2-9A-Z]{5}-[2-9A-Z]{5}", code)
    assert keys.take_moved(code.lower().replace("-", " ")) == sent[keys.VISITOR]
    assert keys.take_moved(code) is None
    late = keys.code_to_move()
    now = keys.time.time()
    monkeypatch.setattr(keys.time, "time", lambda: now + keys.MOVE_SECONDS + 1)
    assert keys.take_moved(late) is None


def test_codes_that_nobody_takes_are_not_kept_without_end(sent, tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "MOST_MOVES", 5)
    first = keys.code_to_move()
    for _ in range(keys.MOST_MOVES):
        keys.code_to_move()
    assert keys.take_moved(first) is None
    kept = tmp_path / "moves.json"
    assert len(keys.read_json(kept)) == keys.MOST_MOVES
    assert kept.stat().st_mode & 0o777 == 0o600


def test_who_keeps_no_cookies_has_no_code(sent):
    sent.clear()
    with pytest.raises(ValueError, match="keeps no cookies"):
        keys.code_to_move()
    assert keys.owner() is None


def test_whoever_has_a_cookie_of_their_own_making_is_no_teacher(sent, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    for forged in ("", "x", keys.teacher_key(), keys.digest(keys.teacher_key()), "ä" * 64):
        sent[keys.TEACHER] = forged
        assert not keys.is_teacher()
    sent[keys.TEACHER] = keys.teacher_cookie()
    assert keys.is_teacher()

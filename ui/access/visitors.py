"""The identity of visitors: two cookies that the server sets and that no script, address or page ever has.

A visitor's cookie is set with the first page. Its key says whose runs are whose; the server's signature on it admits to
rooms. The teacher's comes from a link that the server prints and that works once; it is random and lasts a month or
until they sign out. Run folders have only a digest, from which neither can be derived. Where people sign in
(ui/access/accounts.py), their account takes precedence over the cookie.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson
import streamlit as st
from itsdangerous import BadData, URLSafeTimedSerializer

from transformer.jobs.lock import file_lock
from transformer.jobs.process import identify, running
from transformer.jobs.run_files import read_json, replace
from ui.access import accounts
from ui.state.caches import home

VISITOR, TEACHER, LECTURER = "headsup_visitor", "headsup_teacher", "headsup_room"
LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without those that look alike
MOVE_SECONDS = 300
MOST_MOVES = 1_000
TEACHER_SECONDS = 30 * 24 * 3_600
KEY = re.compile(r"[\w-]{1,100}", re.ASCII)
LOCK = ".keys.lock"


def cookies() -> Mapping[str, str]:
    """The cookies of this visitor's browser; none if the app is not served by ui/server/serve.py."""
    return st.context.cookies


def new_key() -> str:
    """A new key of 256 random bits, which nobody can guess, so attempts need no limit."""
    return secrets.token_urlsafe(32)


def signed(key: str) -> str:
    """A visitor's cookie: a key with this server's signature. Raises OSError if the home is not writable."""
    return f"{key}.{hmac.digest(cookie_secret().encode(), f'visitor {key}'.encode(), 'sha256').hex()[:32]}"


def key_in(cookie: str) -> str:
    """The key in a visitor's cookie, signed or not; it alone decides what is theirs."""
    return cookie.partition(".")[0]


def is_signed(cookie: str) -> bool:
    """Whether this server has signed that cookie. Raises OSError as `signed`."""
    key = key_in(cookie)
    return bool(KEY.fullmatch(key)) and hmac.compare_digest(cookie.encode(), signed(key).encode())


def owner() -> str | None:
    """This visitor's id in what they make: the same in all browsers if they are signed in; None without cookies."""
    person = accounts.signed_in()
    return person.owner if person else of_browser()


def of_browser() -> str | None:
    """The id, in what they make, of visitors with this browser who are not signed in."""
    key = key_in(cookies().get(VISITOR, ""))
    return digest(key) if key else None


def theirs(made_by: str | None) -> bool:
    """Whether a thing is this visitor's: made while they were signed in, or earlier in this browser."""
    return made_by is not None and made_by in (owner(), of_browser())


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def cookie_secret() -> str:
    """The secret that signs cookies, the same in all processes and after a restart; made at the first call, readable by
    this user alone. Raises OSError if the home is not writable."""
    path = home() / "cookie.secret"
    if not (path.is_file() and path.read_bytes().strip()):
        with file_lock(home() / LOCK):
            if not (path.is_file() and path.read_bytes().strip()):
                _write(path, f"{new_key()}\n")
    return path.read_text("utf-8", errors="replace").strip()  # the file may hold anything


def _write(path: Path, text: str) -> None:
    """Write a file that this user alone can read."""
    replace(path, text.encode(), mode=0o600)


def teachers_code() -> str:
    """A new code for the link that signs the teacher in, for this process to print. The code of another server is valid
    as long as that one runs. Raises OSError."""
    with file_lock(home() / LOCK):
        others = {code: server for code, server in _codes().items() if running(server) not in (None, os.getpid())}
        return _new_code(others, identify(os.getpid()) or {})


def _new_code(others: dict[str, dict], server: dict) -> str:
    code = new_key()
    _write(home() / "teacher.link", orjson.dumps({**others, digest(code): server}).decode())
    return code


def _codes() -> dict[str, dict]:
    """The digest of a code -> the server that has printed it."""
    return read_json(home() / "teacher.link")


def use_teachers_code(code: str) -> str | None:
    """Use up a code; returns the next one, or None if this one is not valid. It works once in all processes together.
    Raises OSError if that cannot be recorded."""
    with file_lock(home() / LOCK):
        codes = _codes()
        server = codes.pop(digest(code), None)
        return None if server is None else _new_code(codes, server)


def teacher_cookie() -> str:
    """The cookie of a new sign-in of the teacher. Raises OSError as `cookie_secret`."""
    return _teachers(cookie_secret()).dumps(secrets.token_hex(16))


def teachers_sign_in(cookies: Mapping[str, str]) -> str | None:
    """The id of the teacher's sign-in in these cookies; None if this server did not issue one, or it is over."""
    if not cookies.get(TEACHER):
        return None
    with suppress(BadData, OSError):
        given, since = _teachers(cookie_secret()).loads(cookies[TEACHER], return_timestamp=True)
        age = time.time() - since.timestamp()  # below 0 where the clock has been set back
        return None if accounts.is_ended(given) or not -TEACHER_SECONDS < age < TEACHER_SECONDS else given
    return None


def _teachers(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt="the teacher")


def is_teacher() -> bool:
    """Whether this visitor came by the teacher's link, or is signed in as one of the teachers."""
    person = accounts.signed_in()
    return bool(person and person.teaches) or teachers_sign_in(cookies()) is not None


def code_to_move() -> str:
    """A code that moves this visitor's key to the browser in which it is typed, once and within five minutes. Raises
    ValueError for a visitor without a key."""
    key = key_in(cookies().get(VISITOR, ""))
    if not key:
        raise ValueError("this browser blocks cookies, so no run can be yours here; allow them and load the page again")
    code = "".join(secrets.choice(LETTERS) for _ in range(10))  # 50 bits, too many to guess in five minutes
    with file_lock(home() / LOCK):
        moves = _moves()
        moves[digest(code)] = [key, time.time() + MOVE_SECONDS]
        _write_moves(dict(list(moves.items())[-MOST_MOVES:]))
    return f"{code[:5]}-{code[5:]}"


def take_moved(code: str) -> str | None:
    """The key of a code, which is used up by that; None for any other text."""
    wanted = digest(re.sub(r"[\W_]", "", code).upper())
    if wanted not in _moves():
        return None
    with file_lock(home() / LOCK):
        moves = _moves()
        key, _ = moves.pop(wanted, (None, 0.0))
        _write_moves(moves)
    return key


def _moves() -> dict[str, list]:
    """The digest of each valid code -> its key and when it expires."""
    kept = read_json(home() / "moves.json")
    return {code: move for code, move in kept.items() if _is_move(move) and time.time() < move[1]}


def _is_move(move: object) -> bool:
    """Whether a value has the form that `code_to_move` writes."""
    return isinstance(move, list) and len(move) == 2 and isinstance(move[0], str) and isinstance(move[1], float)


def _write_moves(moves: dict[str, list]) -> None:
    _write(home() / "moves.json", orjson.dumps(moves).decode())

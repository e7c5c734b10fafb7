"""Who a visitor is: two cookies that the server sets, and that no script, address or page ever holds.

A visitor's is made with the first page and says whose runs are whose; the server's signature on it lets them into
rooms. The teacher's comes by a link that the server prints and that works once: it is random, lasts a month, and ends
where they sign out. Neither could be told from what stands in a run folder, which is a digest. Where people sign
in (ui/access/accounts.py), who somebody is comes before what their browser keeps.
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
LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # none is taken for another
MOVE_SECONDS = 300
MOST_MOVES = 1_000
TEACHER_SECONDS = 30 * 24 * 3_600
KEY = re.compile(r"[\w-]{1,100}", re.ASCII)
LOCK = ".keys.lock"


def cookies() -> Mapping[str, str]:
    """What this visitor's browser sent when it connected; nothing where the app is not served by ui/server/serve.py."""
    return st.context.cookies


def new_key() -> str:
    """256 random bits: nobody guesses one, so nothing counts the attempts."""
    return secrets.token_urlsafe(32)


def signed(key: str) -> str:
    """What a browser keeps: a key with this server's signature. Raises OSError where the home cannot be written to."""
    return f"{key}.{hmac.digest(cookie_secret().encode(), f'visitor {key}'.encode(), 'sha256').hex()[:32]}"


def key_in(cookie: str) -> str:
    """The key in a visitor's cookie, whoever made it up: what is theirs is theirs by that key."""
    return cookie.partition(".")[0]


def is_signed(cookie: str) -> bool:
    """Whether this server has given that cookie. Raises OSError as `signed`."""
    key = key_in(cookie)
    return bool(KEY.fullmatch(key)) and hmac.compare_digest(cookie.encode(), signed(key).encode())


def owner() -> str | None:
    """What stands in what this visitor makes: the same in every browser for who is signed in; None for a browser that
    keeps no cookies."""
    person = accounts.here()
    return person.owner if person else of_browser()


def of_browser() -> str | None:
    """What stands in what was made in this browser by nobody who was signed in."""
    key = key_in(cookies().get(VISITOR, ""))
    return digest(key) if key else None


def theirs(made_by: str | None) -> bool:
    """Whether it is this visitor's: made while they were signed in, anywhere, or in this browser before."""
    return made_by is not None and made_by in (owner(), of_browser())


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def cookie_secret() -> str:
    """What cookies are signed with, the same in every process and after a restart; made, for this user alone to read,
    at the first. Raises OSError where the home cannot be written to."""
    path = home() / "cookie.secret"
    if not (path.is_file() and path.read_bytes().strip()):
        with file_lock(home() / LOCK):
            if not (path.is_file() and path.read_bytes().strip()):
                _write(path, f"{new_key()}\n")
    return path.read_text(errors="replace").strip()  # whatever somebody has put there


def _write(path: Path, text: str) -> None:
    """A file that this user alone can read."""
    replace(path, text.encode(), mode=0o600)


def teachers_code() -> str:
    """A new code for the link that signs the teacher in, printed by this process. The one that another server has
    printed opens for as long as that one runs. Raises OSError."""
    with file_lock(home() / LOCK):
        others = {code: server for code, server in _codes().items() if running(server) not in (None, os.getpid())}
        return _new_code(others, identify(os.getpid()) or {})


def _new_code(others: dict[str, dict], server: dict) -> str:
    code = new_key()
    _write(home() / "teacher.link", orjson.dumps({**others, digest(code): server}).decode())
    return code


def _codes() -> dict[str, dict]:
    """A code's digest -> the server that has printed it."""
    return read_json(home() / "teacher.link")


def use_teachers_code(code: str) -> str | None:
    """The next code, where this is one that opens, which it then no longer is; whichever process is asked, it opens
    once. Raises OSError where that cannot be written down."""
    with file_lock(home() / LOCK):
        codes = _codes()
        server = codes.pop(digest(code), None)
        return None if server is None else _new_code(codes, server)


def teacher_cookie() -> str:
    """What the teacher's browser keeps of one sign-in. Raises OSError as `cookie_secret` does."""
    return _teachers(cookie_secret()).dumps(secrets.token_hex(16))


def teachers_sign_in(cookies: Mapping[str, str]) -> str | None:
    """The teacher's sign-in that these cookies hold; None where they hold none that this server has given, or one that
    is over."""
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
    """Whether this visitor came by the teacher's link, or is signed in by a name that is on the list."""
    person = accounts.here()
    return bool(person and person.teaches) or teachers_sign_in(cookies()) is not None


def code_to_move() -> str:
    """A code that gives this visitor's key to the browser in which it is typed, once and within five minutes. Raises
    ValueError for a visitor without a key."""
    key = key_in(cookies().get(VISITOR, ""))
    if not key:
        raise ValueError("this browser blocks cookies, so no run can be yours here; allow them and load the page again")
    code = "".join(secrets.choice(LETTERS) for _ in range(10))  # 50 bits: five minutes are too short to guess them
    with file_lock(home() / LOCK):
        moves = _moves()
        moves[digest(code)] = [key, time.time() + MOVE_SECONDS]
        _write_moves(dict(list(moves.items())[-MOST_MOVES:]))
    return f"{code[:5]}-{code[5:]}"


def take_moved(code: str) -> str | None:
    """The key that a code stands for, after which it stands for nothing."""
    wanted = digest(re.sub(r"[\W_]", "", code).upper())
    if wanted not in _moves():
        return None
    with file_lock(home() / LOCK):
        moves = _moves()
        key, _ = moves.pop(wanted, (None, 0.0))
        _write_moves(moves)
    return key


def _moves() -> dict[str, list]:
    """A code's digest -> the key that it stands for, and when it ends, of those that have not ended."""
    kept = read_json(home() / "moves.json")
    return {code: move for code, move in kept.items() if _is_move(move) and time.time() < move[1]}


def _is_move(move: object) -> bool:
    """Whether it is what `code_to_move` writes, and nobody else has written there."""
    return isinstance(move, list) and len(move) == 2 and isinstance(move[0], str) and isinstance(move[1], float)


def _write_moves(moves: dict[str, list]) -> None:
    _write(home() / "moves.json", orjson.dumps(moves).decode())

"""Who a visitor is: two cookies that the server sets, and that no script, address or page ever holds.

A visitor's is made with the first page and says whose runs are whose. The teacher's comes by a link that the server
prints and that works once. Neither could be told from what stands in a run folder, which is a digest. Where people sign
in (ui/access/people.py), who somebody is comes before what their browser keeps.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson
import streamlit as st

from transformer.jobs.lock import held
from transformer.jobs.run_files import read_json, replace
from ui.access import people
from ui.resources import home

VISITOR, TEACHER, LECTURER = "headsup_visitor", "headsup_teacher", "headsup_room"
LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # none is taken for another
MOVE_SECONDS = 300
MOST_MOVES = 1_000
LOCK = ".keys.lock"


def cookies() -> Mapping[str, str]:
    """What this visitor's browser sent when it connected; nothing where the app is not served by ui/serve.py."""
    return st.context.cookies


def new_key() -> str:
    """256 random bits: nobody guesses one, so nothing counts the attempts."""
    return secrets.token_urlsafe(32)


def owner() -> str | None:
    """What stands in what this visitor makes: the same in every browser for who is signed in; None for a browser that
    keeps no cookies."""
    person = people.here()
    return person.owner if person else of_browser()


def of_browser() -> str | None:
    """What stands in what was made in this browser by nobody who was signed in."""
    key = cookies().get(VISITOR)
    return digest(key) if key else None


def theirs(made_by: str | None) -> bool:
    """Whether it is this visitor's: made while they were signed in, anywhere, or in this browser before."""
    return made_by is not None and made_by in (owner(), of_browser())


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def teacher_key() -> str:
    """The key of whoever runs this server, the same after a restart; made, for this user alone to read, at the first.

    Raises OSError where the home cannot be written to.
    """
    return kept_key("teacher.key")


def cookie_secret() -> str:
    """What cookies are signed with, the same in every process and after a restart. Raises OSError as `teacher_key`."""
    return kept_key("cookie.secret")


def kept_key(name: str) -> str:
    """A key in the home that only this user reads, the same for all processes of this server and after a restart.
    Raises OSError."""
    path = home() / name
    if not (path.is_file() and path.read_text().strip()):
        with held(home() / LOCK):
            if not (path.is_file() and path.read_text().strip()):
                _write(path, f"{new_key()}\n")
    return path.read_text().strip()


def _write(path: Path, text: str) -> None:
    """A file that this user alone can read."""
    replace(path, text.encode(), mode=0o600)


def teachers_code() -> str:
    """A new code for the link that signs the teacher in; the one before is void. Raises OSError."""
    with held(home() / LOCK):
        return _new_code()


def _new_code() -> str:
    code = new_key()
    _write(home() / "teacher.link", f"{digest(code)}\n")
    return code


def use_teachers_code(code: str) -> str | None:
    """The next code, where this is the one that opens, which it then no longer is; whichever process is asked, it opens
    once."""
    path = home() / "teacher.link"
    with suppress(OSError), held(home() / LOCK):
        if hmac.compare_digest(digest(code), path.read_text().strip()):
            return _new_code()
    return None


def teacher_cookie() -> str:
    """What the teacher's browser keeps: the key could not be told from it. Raises OSError as `teacher_key` does."""
    return hmac.digest(teacher_key().encode(), b"the teacher's cookie", "sha256").hex()


def is_teacher() -> bool:
    """Whether this visitor came by the teacher's link, or is signed in by a name that is on the list."""
    person = people.here()
    return bool(person and person.teaches) or holds_teachers_cookie(cookies())


def holds_teachers_cookie(cookies: Mapping[str, str]) -> bool:
    given = cookies.get(TEACHER)
    try:
        return bool(given) and hmac.compare_digest(given.encode(), teacher_cookie().encode())
    except OSError:
        return False


def code_to_move() -> str:
    """A code that gives this visitor's key to the browser in which it is typed, once and within five minutes. Raises
    ValueError for a visitor without a key."""
    key = cookies().get(VISITOR)
    if not key:
        raise ValueError("this browser keeps no cookies, so no run is yours here; allow them and load the page again")
    code = "".join(secrets.choice(LETTERS) for _ in range(10))  # 50 bits: five minutes are too short to guess them
    with held(home() / LOCK):
        moves = _moves()
        moves[digest(code)] = [key, time.time() + MOVE_SECONDS]
        _write_moves(dict(list(moves.items())[-MOST_MOVES:]))
    return f"{code[:5]}-{code[5:]}"


def take_moved(code: str) -> str | None:
    """The key that a code stands for, after which it stands for nothing."""
    wanted = digest(re.sub(r"[\W_]", "", code).upper())
    if wanted not in _moves():
        return None
    with held(home() / LOCK):
        moves = _moves()
        key, _ = moves.pop(wanted, (None, 0.0))
        _write_moves(moves)
    return key


def _moves() -> dict[str, list]:
    """A code's digest -> the key that it stands for, and when it ends, of those that have not ended."""
    return {code: move for code, move in read_json(home() / "moves.json").items() if time.time() < move[1]}


def _write_moves(moves: dict[str, list]) -> None:
    _write(home() / "moves.json", orjson.dumps(moves).decode())

"""Who is signed in. `ui/server/identity_middleware.py` says of each connection whose it is, by a random word in a
header that is taken from all that comes in; so nothing that a browser sends can name anybody."""

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from itsdangerous import BadData, URLSafeTimedSerializer

from transformer.paths import home
from ui.access import sign_in_settings
from ui.figures import markdown_text

PERSON = "headsup_person"  # the cookie
HERE = "x-headsup-person"  # the header that the gate adds
NAME_LETTERS = 200
_here: dict[str, "Person"] = {}  # the gate's word for a connection -> who is at its other end


@dataclass(frozen=True)
class Person:
    """Somebody signed in. issuer and subject: who says so and of whom, which together are one person's for ever; name:
    as it is shown; listed: as the list of teachers may name them; sign_in: of this one sign-in, which can be ended;
    until: when it ends by itself."""

    issuer: str
    subject: str
    name: str
    listed: str
    sign_in: str
    until: float

    @property
    def owner(self) -> str:
        """What stands in a run folder for them: 32 hexadecimal digits, as for a key, that no key leads to."""
        about = json.dumps([self.issuer, self.subject]).encode()
        return hashlib.blake2b(about, digest_size=16, person=b"headsup signedin").hexdigest()

    @property
    def teaches(self) -> bool:
        asked = sign_in_settings.current()
        return asked is not None and asked.lists(self.listed)


def here() -> Person | None:
    """Whoever this script runs for, if they are signed in now: it may still run when they have signed out."""
    return of(st.context.headers)


def of(headers: Mapping[str, str]) -> Person | None:
    """The same of a request that has passed the gate."""
    person = _here.get(headers.get(HERE) or "")
    return person if person and still(person) else None


def still(person: Person) -> bool:
    """Whether a sign-in has neither been ended nor run out."""
    return time.time() < person.until and not is_ended(person.sign_in)


def is_ended(sign_in: str) -> bool:
    """Whether somebody has signed out of that sign-in; nobody has of one that has no name."""
    return bool(sign_in) and _ended(sign_in).exists()


def arrive(person: Person) -> str:
    """The word by which a connection is known to be theirs, until it leaves."""
    word = secrets.token_urlsafe(32)
    _here[word] = person
    return word


def leave(word: str) -> None:
    _here.pop(word, None)


def cookie(secret: str, *, issuer: str, subject: str, name: str, listed: str) -> str:
    """What a browser keeps of a sign-in."""
    return _serializer(secret).dumps([issuer, subject, name[:NAME_LETTERS], listed[:NAME_LETTERS],
                                      secrets.token_hex(16)])


def from_cookie(secret: str, given: str, *, hours: float) -> Person | None:
    """Whose it is; None for one that this server has not given, that has run out, or whose sign-in was ended."""
    try:
        (issuer, subject, name, listed, sign_in), made = _serializer(secret).loads(
            given, max_age=int(hours * 3600), return_timestamp=True)
    except (BadData, ValueError, TypeError):
        return None
    person = Person(issuer, subject, name, listed, sign_in, made.timestamp() + hours * 3600)
    return person if still(person) else None


def end(sign_in: str) -> None:
    """End a sign-in in every tab and every process, whoever has a copy of its cookie; nothing for one without a name.
    Raises OSError where the home cannot be written to."""
    if not sign_in:
        return
    ended = _ended(sign_in)
    ended.parent.mkdir(parents=True, exist_ok=True)
    for old in ended.parent.iterdir():
        with suppress(OSError):  # another process may have been faster
            if old.stat().st_mtime < time.time() - sign_in_settings.MOST_HOURS * 3600:
                old.unlink()
    ended.touch(mode=0o600)


def _ended(sign_in: str) -> Path:
    assert re.fullmatch(r"[0-9a-f]{32}", sign_in), sign_in
    return home() / "signed-out" / sign_in


def _serializer(secret: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(secret, salt="who is signed in")


def account_line() -> str:
    """Who is signed in and the way out or in, as Markdown; nothing on a server without sign-in."""
    if sign_in_settings.current() is None:
        return ""
    if person := here():
        role = ", teacher" if person.teaches else ""
        return f"Signed in as **{markdown_text(person.name)}**{role} · [Sign out](./sign-out)"
    return "Not signed in · [Sign in](./sign-in)"

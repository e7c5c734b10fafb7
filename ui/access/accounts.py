"""The people who are signed in. `ui/server/identity_middleware.py` gives each of their connections a random id in a
header that it removes from all that comes in, so that no browser can claim to be somebody."""

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

from transformer.basics.paths import home
from ui.access import sign_in_settings
from ui.figures import markdown_text

COOKIE = "headsup_person"  # the cookie
CONNECTION = "x-headsup-person"  # the header that the middleware adds
NAME_LETTERS = 200
_connections: dict[str, "Person"] = {}  # id -> who is at the other end


@dataclass(frozen=True)
class Person:
    """Somebody signed in. issuer, subject: together one person's for ever; name: for pages; listed: the name in a list
    of teachers; sign_in: the id of this sign-in, by which it can be ended; until: when it expires, in seconds."""

    issuer: str
    subject: str
    name: str
    listed: str
    sign_in: str
    until: float

    @property
    def owner(self) -> str:
        """Their id in run folders: 32 hexadecimal digits, as for a visitor's key, but never one of those."""
        about = json.dumps([self.issuer, self.subject]).encode()
        return hashlib.blake2b(about, digest_size=16, person=b"headsup signedin").hexdigest()

    @property
    def teaches(self) -> bool:
        settings = sign_in_settings.current()
        return settings is not None and settings.lists(self.listed)


def signed_in() -> Person | None:
    """The person this script runs for, if they are still signed in; it may run on after they have signed out."""
    return person_of(st.context.headers)


def person_of(headers: Mapping[str, str]) -> Person | None:
    """The person of a request that has passed the middleware, if still signed in."""
    person = _connections.get(headers.get(CONNECTION) or "")
    return person if person and is_valid(person) else None


def is_valid(person: Person) -> bool:
    """Whether a sign-in has neither been ended nor expired."""
    return time.time() < person.until and not is_ended(person.sign_in)


def is_ended(sign_in: str) -> bool:
    """Whether a sign-in has been ended; one without an id cannot be."""
    return bool(sign_in) and _ended(sign_in).exists()


def connect(person: Person) -> str:
    """A new id for a connection of theirs, valid until `disconnect`."""
    connection = secrets.token_urlsafe(32)
    _connections[connection] = person
    return connection


def disconnect(connection: str) -> None:
    _connections.pop(connection, None)


def new_cookie(secret: str, *, issuer: str, subject: str, name: str, listed: str) -> str:
    """The cookie of a new sign-in."""
    return _serializer(secret).dumps([issuer, subject, name[:NAME_LETTERS], listed[:NAME_LETTERS],
                                      secrets.token_hex(16)])


def from_cookie(secret: str, given: str, *, hours: float) -> Person | None:
    """The person of a cookie; None if this server did not issue it, it has expired, or its sign-in was ended."""
    try:
        (issuer, subject, name, listed, sign_in), made = _serializer(secret).loads(
            given, max_age=int(hours * 3600), return_timestamp=True)
    except (BadData, ValueError, TypeError):
        return None
    person = Person(issuer, subject, name, listed, sign_in, made.timestamp() + hours * 3600)
    return person if is_valid(person) else None


def end_sign_in(sign_in: str) -> None:
    """End a sign-in in all tabs and processes, and for all copies of its cookie; nothing for one without an id. Raises
    OSError if the home is not writable."""
    if not sign_in:
        return
    ended = _ended(sign_in)
    ended.parent.mkdir(parents=True, exist_ok=True)
    for old in ended.parent.iterdir():
        with suppress(OSError):  # another process may have done it
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
    if person := signed_in():
        role = ", teacher" if person.teaches else ""
        return f"Signed in as **{markdown_text(person.name)}**{role} · [Sign out](./sign-out)"
    return "Not signed in · [Sign in](./sign-in)"

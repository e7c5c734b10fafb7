"""What a room is, what it may be asked to do, and how long it lasts."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LETTERS = "23456789BCDFGHJKLMNPQRSTVWXYZ"  # none is taken for another, and no code is a word
CODE_LENGTH = 6
LEAD_SECONDS = 12 * 3_600  # that a browser keeps the key
HOURS = 4.0  # that a room lasts, and how much longer it lasts when it is extended
MOST_HOURS = 12.0
MOST_ROOMS = 300  # on one server
MOST_DEVICES = 1_000  # of one room at a time
MOST_DEVICES_EVER = 20_000  # of one room in all, without those who came and went and said nothing
MOST_JOINING = 30  # new devices of one room within a second
NEW_SECONDS = 60  # since a device came: it is removed with all that are new
MOST_VIEWS = 300  # that a room keeps of those that devices hand in
MOST_QUESTIONS = 200  # of one room
MOST_CHANGES = 60  # of one answer, by one device and round
MOST_DEVICE_VIEWS = 20  # that one device hands in
HERE_SECONDS = 45  # since a device has last asked: it is there
FOLLOW, FREE, PAUSED = MODES = ("follow", "free", "paused")
DRAFT, OPEN, CLOSED, SPLIT, ANSWER = PHASES = ("draft", "open", "closed", "split", "answer")


class RoomError(ValueError):
    """A refusal of a room; the message says why, and what to do."""


class NoRoom(RoomError):
    """No such room, or not any more."""


class NotIn(RoomError):
    """A device that may not take part."""


class Crowded(RoomError):
    """A device that may take part in a moment, when others have come in."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of a room. spec and key: see `QuestionRecord`; since: answers up to that number of the log have been
    reset; view: what was shown when it was asked, see `Room`."""

    id: int
    number: int
    spec: Mapping[str, Any]
    key: Mapping[str, Any]
    phase: str
    round: int
    since: int
    view: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Room:
    """One room as it is now. rev: counts its changes; picture: the revision in which the picture of the view was drawn;
    gathered: how often everybody was brought back; uncovered: the stop of a lesson that is shown without being asked;
    view: what the lecturer shows, as `ui.page.room_sharing` tells it; goto: a view that the lecturer's browser is to
    open, and its number; press: the same for a key."""

    id: str
    code: str
    rev: int
    made: float
    ends: float
    mode: str
    gathered: int
    locked: bool
    task: str
    uncovered: str
    leader: str
    picture: int
    view: Mapping[str, Any] | None
    goto: Mapping[str, Any] | None
    press: Mapping[str, Any] | None
    question: int | None


def new_key() -> str:
    """The lecturer's key: 256 random bits."""
    return secrets.token_urlsafe(32)


def room_id(key: str) -> str:
    """The id of the room that a lecturer's key opens; nothing that is stored reveals the key."""
    return hashlib.sha256(b"room\0" + key.encode("utf-8", "replace")).hexdigest()[:32]


def device_id(room: str, visitor: str) -> str:
    """The id of a visitor in one room: another in each, and nothing reveals the visitor's key."""
    return hashlib.sha256(f"device\0{room}\0{visitor}".encode("utf-8", "replace")).hexdigest()[:24]


def new_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


def read_code(typed: str) -> str:
    """The code that somebody typed, in whatever case, with spaces or dashes in it; empty for anything else."""
    code = "".join(typed.split()).replace("-", "").upper() if len(typed) < 40 else ""
    return code if len(code) == CODE_LENGTH and all(letter in LETTERS for letter in code) else ""

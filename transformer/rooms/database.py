"""The SQLite file in which rooms are kept: its tables, and connections to it."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformer.basics.paths import home
from transformer.jobs.lock import file_lock
from transformer.rooms import clock

VERSION = 3  # of the tables; a file with others is put aside
WAITS_MS = 5_000  # for another process that writes
SCHEMA = """
create table if not exists clock (boot text primary key, began real not null);
create table if not exists room (
    id text primary key, code text unique not null, rev integer not null, made real not null, ends real not null,
    mode text not null, gathered integer not null default 0, locked integer not null default 0,
    task text not null default '', uncovered text not null default '',
    leader text not null default '', picture integer not null default 0,
    view text, scrolled text, goto text, press text, question integer, drawn blob);
create table if not exists device (
    room text not null references room(id) on delete cascade, device text not null, number integer not null,
    came real not null, seen real not null, out integer not null default 0, primary key (room, device));
create table if not exists question (
    id integer primary key autoincrement, room text not null references room(id) on delete cascade,
    number integer not null, spec text not null, key text not null, phase text not null, round integer not null,
    since integer not null default 0, view text not null, made real not null);
create table if not exists answer (
    seq integer primary key autoincrement, question integer not null references question(id) on delete cascade,
    device text not null, round integer not null, value text not null, sure integer, at real not null,
    shown integer not null default 0);
create index if not exists answer_of on answer (question, round, device, seq);
create table if not exists found (
    id integer primary key autoincrement, room text not null references room(id) on delete cascade,
    device text not null, page text not null, params text not null, note text not null, at real not null,
    shown integer not null default 0);
create index if not exists found_of on found (room, device);
"""


class Connection(sqlite3.Connection):
    """A connection that remembers which file it is to, and whether this has turned out to be damaged."""

    file: tuple[int, int] | None = None
    damaged = False

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*arguments)
        except sqlite3.DatabaseError as error:
            self.damaged |= type(error) is sqlite3.DatabaseError  # a lock, a full disk and a refusal are subclasses
            raise


class Database:
    """One file for all processes of a server; may be used from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or home() / "rooms.sqlite"
        self._local = threading.local()

    @property
    def _db(self) -> Connection:
        """The connection of this thread. There is a new one in a process that was forked off, and where the file that
        was opened has been deleted, put aside or found damaged."""
        local = self._local
        if getattr(local, "opened", None) != (os.getpid(), self._file()) or local.db.damaged:
            local.db = self._connect(getattr(local, "db", None))
            local.opened = os.getpid(), local.db.file  # of what is open: by its path it may be another by now
        return local.db

    def _file(self) -> tuple[int, int] | None:
        """Which file is there now."""
        try:
            stat = self.path.stat()
            return stat.st_dev, stat.st_ino
        except FileNotFoundError:
            return None

    def _connect(self, before: Connection | None) -> Connection:
        """Open the file. A damaged one, or another version's, is put aside: what it held lasts for hours, and a class
        is waiting. One thread of one process at a time, or one would put aside what another has just begun.

        before: the connection that this one replaces, which may have found damage.
        """
        with file_lock(self.path.with_name(f"{self.path.name}.lock")):
            if before and before.damaged and before.file == self._file():
                self._put_aside()
            try:
                return self._open()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self._put_aside()
                return self._open()

    def _put_aside(self) -> None:
        self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))

    def _open(self) -> Connection:
        new = not self.path.exists()
        db = sqlite3.connect(self.path, timeout=WAITS_MS / 1_000, isolation_level=None, check_same_thread=False,
                             factory=Connection)
        db.row_factory, db.file = sqlite3.Row, self._file()
        if new:
            self.path.chmod(0o600)
        version = db.execute("pragma user_version").fetchone()[0]
        if version != VERSION and db.execute("select 1 from sqlite_master").fetchone():
            db.close()
            raise sqlite3.DatabaseError(f"the tables are of version {version}")
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("pragma foreign_keys = on")
        db.execute("pragma secure_delete = on")
        if version != VERSION:
            db.executescript(SCHEMA)
            db.execute(f"pragma user_version = {VERSION}")
        clock.agree(db)
        return db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. Whatever ends it early, a full disk or a failed commit too, is the error that is raised."""
        db = self._db
        db.execute("begin immediate")
        try:
            yield db
            db.execute("commit")
        except BaseException:
            if db.in_transaction:  # which SQLite itself has ended where the disk is full
                db.execute("rollback")
            raise

    def stamp(self) -> int:
        """Changes whenever another thread or process has written anything; cheap enough to be asked all the time."""
        return self._db.execute("pragma data_version").fetchone()[0]

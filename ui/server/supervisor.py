"""Processes that one process starts by forking, replaces when they die, and ends when it ends.

Everything is imported before the first of them is forked, so that they share that memory and a replacement is there at
once. The one that forks has no other thread, in the middle of whose work a copy could be made.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ui.state.event_log import event

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SHORT = 5.0      # seconds: who lives no longer has failed at once, and is replaced after a while only
LONGEST = 30.0   # seconds that this while grows to
PATIENCE = 8.0   # seconds that a process has to end


@dataclass
class Member:
    """A process that there always is one of."""

    name: str
    details: dict[str, int]        # for the log
    work: Callable[[], object]     # what it does; it ends with it
    gone: Callable[[], object]     # what the others have to be told when it has died
    answers: Callable[[], bool] | None  # whether it does its work, of one that is asked
    heard: float = 0.0             # when it last did
    pid: int = 0
    began: float = 0.0
    failures: int = 0              # in succession, each soon after the start
    due: float = field(default=0.0)  # when it is to be started


class Supervisor:
    """All of them, and the signals that end them."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.ending = False
        self._heard, self._hears = socket.socketpair()
        self._hears.setblocking(False)
        self._heard.setblocking(False)

    def __enter__(self) -> "Supervisor":
        signal.set_wakeup_fd(self._hears.fileno(), warn_on_full_buffer=False)
        for one in ENDING:
            signal.signal(one, self._end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def _end(self, *_: object) -> None:
        self.ending = True

    def __exit__(self, *_: object) -> None:
        """End all of them, those last that take no hint."""
        for member in self.members:
            _signal(member.pid, signal.SIGTERM)
        until = time.monotonic() + PATIENCE
        while any(member.pid for member in self.members) and time.monotonic() < until:
            self._reap()
            self.wait(0.1)
        for member in self.members:
            _signal(member.pid, signal.SIGKILL)

    def start(self, name: str, work: Callable[[], object], *, gone: Callable[[], object] = lambda: None,
              answers: Callable[[], bool] | None = None, **details: int) -> Member:
        """Start one more, which is replaced whenever it dies."""
        member = Member(name, details, work, gone, answers)
        self.members.append(member)
        self._fork(member)
        return member

    def wait(self, seconds: float) -> None:
        """Until a signal comes or a process ends, for so long at most."""
        select.select([self._heard], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            self._heard.recv(1_000)

    def look(self) -> None:
        """Take note of who has died, and replace them."""
        self._reap()
        for member in self.members:
            if not member.pid and not self.ending and time.monotonic() >= member.due:
                self._fork(member)

    def end_stuck(self, seconds: float) -> None:
        """End those who have not answered for so long; they are then replaced."""
        for member in self.members:
            if member.pid and member.answers:
                if member.answers():
                    member.heard = time.monotonic()
                elif time.monotonic() - max(member.heard, member.began) > seconds:
                    event(f"{member.name} stuck", **member.details)
                    _signal(member.pid, signal.SIGKILL)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:  # in a container also those whose own parent has died
                for member in self.members:
                    if member.pid == found[0]:
                        self._has_died(member, os.waitstatus_to_exitcode(found[1]))

    def _has_died(self, member: Member, code: int) -> None:
        now = time.monotonic()
        member.pid, lived = 0, now - member.began
        member.failures = member.failures + 1 if lived < SHORT else 0
        member.due = now + min(LONGEST, 2.0 ** (member.failures - 1)) if member.failures else now
        member.gone()
        if not self.ending:
            event(f"{member.name} died", **member.details, code=code, seconds=round(lived, 1))

    def _fork(self, member: Member) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        member.began, parent = time.monotonic(), os.getpid()
        member.pid = os.fork()
        if member.pid:
            event(f"{member.name} started", **member.details, pid=member.pid)
            return
        code = 1
        try:
            self._leave(parent)
            member.work()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # and nothing of what the parent has to do when it ends

    def _leave(self, parent: int) -> None:
        """In a new process: be no longer the one that starts others, and end when that one does."""
        signal.set_wakeup_fd(-1)
        for one in (*ENDING, signal.SIGCHLD):
            signal.signal(one, signal.SIG_DFL)
        self._heard.close()
        self._hears.close()
        os.setsid()  # Ctrl-C is for the parent, which then ends all
        with contextlib.suppress(OSError, AttributeError):  # Linux
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            sys.exit(1)


def _signal(pid: int, number: int) -> None:
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

"""What the server writes to its log: anybody can make it write, so of one kind it writes little, no line that could be
taken for another, and nothing that a terminal obeys."""

import logging
import threading
import time
import traceback
from functools import wraps

MOST, SECONDS = 10, 60.0  # records from one place of the code, in that time
LONGEST = 8_000           # characters of one record, and of its traceback


def write_little() -> None:
    """Have every logger of this process keep to that."""
    handle = logging.Logger.handle
    if hasattr(handle, "__wrapped__"):
        return
    few = RecordLimiter()

    @wraps(handle)
    def handle_few(self: logging.Logger, record: logging.LogRecord) -> None:
        if few.lets_by(record):
            handle(self, record)

    logging.Logger.handle = handle_few


class RecordLimiter:
    """Counts records by where they come from, and cleans those that it lets by."""

    def __init__(self) -> None:
        self._counted: dict[tuple, tuple[float, int]] = {}  # place -> since when, and how many
        self._lock = threading.Lock()

    def lets_by(self, record: logging.LogRecord) -> bool:
        """Whether a record may be written. It says then how many like it have not been."""
        place, now = _place(record), time.monotonic()
        with self._lock:
            since, many = self._counted.get(place, (now, 0))
            left_out = 0
            if now - since >= SECONDS:
                since, many, left_out = now, 0, max(0, many - MOST)
            self._counted[place] = since, many + 1
        if many >= MOST:
            return False
        more = f" ({left_out:,} more like this were left out.)" if left_out else ""
        record.msg, record.args = cleaned(record.getMessage()) + more, ()
        if isinstance(record.exc_info, tuple) and record.exc_info[0]:
            record.exc_text = cleaned("".join(traceback.format_exception(*record.exc_info)).rstrip())
        return True


def _place(record: logging.LogRecord) -> tuple:
    """Of the code: the line that writes, and the one that has failed."""
    where = (record.pathname, record.lineno)
    if isinstance(record.exc_info, tuple) and (last := traceback.extract_tb(record.exc_info[2], limit=-1)):
        where += (last[0].filename, last[0].lineno)
    return where


def cleaned(text: str) -> str:
    """All lines but the first set in, what cannot be printed as Python writes it, and the middle of a long text left
    out."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST // 2]} … {text[-LONGEST // 2:]}"
    return "\n  ".join("".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)
                       for line in text.split("\n"))

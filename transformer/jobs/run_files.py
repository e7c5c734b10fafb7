"""Files of a run folder: JSON, one object a line for metrics, written so that anybody can read them at any time."""

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

import orjson

from transformer.basics.resource_errors import disk_is_full

TAIL = 65_536  # bytes that are enough for the last rows
FLAT = 200  # brackets, with which no text is too deep


def append(path: Path, row: dict[str, Any]) -> None:
    """Add one row in a single write, so that a reader never sees two rows mixed."""
    with open(path, "ab", buffering=0) as file:
        file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Returns all whole rows; skips a line that is half written or damaged. A missing file has none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except (FileNotFoundError, IsADirectoryError):
        return []
    return [row for line in lines if (row := _object(line)) is not None]


def _object(line: bytes) -> dict[str, Any] | None:
    """The object of a JSON text; None if it is damaged, something else, or too deep to be written again."""
    try:
        row = orjson.loads(line)
        if line.count(b"[") + line.count(b"{") > FLAT:
            orjson.dumps(row)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    return row if isinstance(row, dict) else None


def tail(path: Path) -> list[dict[str, Any]]:
    """Returns the last whole rows, as many as TAIL bytes hold."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return [row for line in file.read().split(b"\n") if (row := _object(line)) is not None]
    except OSError:
        return []


def last(path: Path) -> dict[str, Any]:
    """Returns the last whole row, without reading the whole file; empty if there is none."""
    return next(iter(reversed(tail(path))), {})


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; empty if the file is missing, damaged, or holds something else."""
    try:
        return _object(path.read_bytes()) or {}
    except OSError:
        return {}


def tensorboard_writer() -> Callable[..., Any]:
    """The class that writes TensorBoard's files. Raises ValueError if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ValueError("tensorboard=true needs the package tensorboard: pip install tensorboard, "
                         "or leave it out; metrics.jsonl has the same numbers") from None
    return SummaryWriter


def tensorboard(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Returns a function that writes a row as TensorBoard events, into tensorboard/; events after the last row of
    metrics.jsonl, which a resumed run writes again, are no longer shown. Raises ValueError if TensorBoard is not
    installed."""
    kept = last(folder / "metrics.jsonl").get("step", -1)
    # a new run says so too: the first drops nothing
    writer = tensorboard_writer()(str(folder / "tensorboard"), purge_step=kept + 1)

    def write(row: dict[str, Any]) -> None:
        for name, value in row.items():
            if name not in ("step", "time") and isinstance(value, int | float):
                writer.add_scalar(name, value, row["step"], row.get("time"))
        writer.flush()

    return write


def replace(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replaces a file atomically: it has the new content or the old, whatever happens in between."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    replace(path, orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def write_status(path: Path, value: object) -> None:
    """As `write_json`, and over the file that is there where the disk has no room for another."""
    try:
        write_json(path, value)
    except OSError as error:
        if not disk_is_full(error) or not path.is_file():
            raise
        with open(path, "r+b", buffering=0) as file:
            file.write(orjson.dumps(value) + b"\n")
            file.truncate()


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; a damaged row may hold anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def truncate(path: Path, step: int) -> None:
    """Drops rows after `step`, which a resumed run writes again, and rows without a step, which no run wrote."""
    rows = [row for row in read(path) if is_number(row.get("step")) and row["step"] <= step]
    replace(path, b"".join(orjson.dumps(row) + b"\n" for row in rows))

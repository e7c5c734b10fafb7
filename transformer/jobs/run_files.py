"""A run's numbers: one JSON object a line, appended by the trainer and read by anybody at any time."""

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

TAIL = 65_536  # bytes that surely hold the last rows


def append(path: Path, row: dict[str, Any]) -> None:
    """Add one row in a single write, so that a reader never sees two rows mixed."""
    with open(path, "ab", buffering=0) as file:
        file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def read(path: Path) -> list[dict[str, Any]]:
    """All whole rows; a line that is half written or damaged is skipped, a file that is not there has none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return [row for line in lines if (row := _row(line)) is not None]


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def tail(path: Path) -> list[dict[str, Any]]:
    """The last whole rows, as many as TAIL bytes hold; empty where there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return [row for line in file.read().split(b"\n") if (row := _row(line)) is not None]
    except OSError:
        return []


def last(path: Path) -> dict[str, Any]:
    """The last whole row, without reading what comes before; empty where there is none."""
    return next(iter(reversed(tail(path))), {})


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where the file is not there, damaged, or something else."""
    try:
        value = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def tensorboard(folder: Path) -> Callable[[dict[str, Any]], None]:
    """What writes every row as TensorBoard events too, into tensorboard/. Raises ValueError where it is not there."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ValueError("tensorboard=true needs the package tensorboard: pip install tensorboard, "
                         "or leave it out; metrics.jsonl has the same numbers") from None
    writer = SummaryWriter(str(folder / "tensorboard"))

    def write(row: dict[str, Any]) -> None:
        for name, value in row.items():
            if name not in ("step", "time") and isinstance(value, int | float):
                writer.add_scalar(name, value, row["step"], row.get("time"))
        writer.flush()

    return write


def replace(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Put content in place whole, or not at all, whatever happens in between."""
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


def is_number(value: object) -> bool:
    """Whether it is a number to compute with; an odd row may hold anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def truncate(path: Path, step: int) -> None:
    """Drop rows after `step`, which a resumed run writes again, and rows without a step, which no run wrote."""
    rows = [row for row in read(path) if is_number(row.get("step")) and row["step"] <= step]
    replace(path, b"".join(orjson.dumps(row) + b"\n" for row in rows))

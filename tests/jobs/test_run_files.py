"""A run's numbers: readable at any moment, whatever happened to whoever wrote them."""

import os

import numpy as np
import pytest

from tests.rows import each_row
from transformer.jobs import run_files

ROWS = [{"step": 10, "loss": 4.5}, {"step": 20, "loss": 3.25, "note": "é\u2028"}, {"step": 20, "validation_loss": None}]


@pytest.fixture
def path(tmp_path):
    for row in ROWS:
        run_files.append(tmp_path / "metrics.jsonl", row)
    return tmp_path / "metrics.jsonl"


def test_rows_come_back_as_they_were_appended(path):
    assert run_files.read(path) == ROWS
    assert path.read_bytes().count(b"\n") == 3
    run_files.append(path, {"loss": np.float32(0.5), "n": np.int64(3)})
    run_files.append(path, {"step": 30, "loss": float("nan")})
    assert run_files.read(path)[3:] == [{"loss": 0.5, "n": 3}, {"step": 30, "loss": None}]


def test_a_last_line_half_written_is_skipped_wherever_it_breaks(path):
    whole = path.read_bytes()
    line = len(whole.splitlines(keepends=True)[-1])
    for cut in range(1, line + 1):
        path.write_bytes(whole[:-cut])
        assert run_files.read(path) == (ROWS if cut == 1 else ROWS[:2])


@each_row("junk", [b"\xff\xfe\0", b"{", b"[1, 2]", b"7", b"null", b"", b"\r", b"{} {}"])
def test_lines_that_are_no_rows_are_skipped(path, junk):
    whole = path.read_bytes()
    first, *rest = whole.splitlines()
    path.write_bytes(b"\n".join([first, junk, *rest, b""]))
    assert run_files.read(path) == ROWS
    path.write_bytes(whole)


def test_a_file_that_is_not_there_has_no_rows(tmp_path):
    assert run_files.read(tmp_path / "metrics.jsonl") == []
    run_files.truncate(tmp_path / "metrics.jsonl", 5)
    assert run_files.read(tmp_path / "metrics.jsonl") == []


@pytest.mark.parametrize(("step", "left"), [(0, 0), (9, 0), (10, 1), (19, 1), (20, 3), (99, 3)])
def test_truncating_drops_the_rows_after_a_step(path, step, left):
    run_files.truncate(path, step)
    assert run_files.read(path) == ROWS[:left]


def test_truncating_drops_a_half_written_line_so_that_the_next_row_stands_alone(path):
    path.write_bytes(path.read_bytes()[:-3])
    run_files.truncate(path, 20)
    run_files.append(path, {"step": 30})
    assert run_files.read(path) == [*ROWS[:2], {"step": 30}]


def test_a_file_is_replaced_whole_and_by_a_new_one_which_people_can_read(path):
    with open(path, "rb") as reader:
        run_files.replace(path, b"new")
        assert len(reader.read().splitlines()) == 3  # who was reading goes on reading the old one
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(path.parent) == [path.name]
    run_files.write_json(path, {"state": "running", "why": None})
    assert path.read_text() == '{\n  "state": "running",\n  "why": null\n}\n'


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_replacement_that_fails_leaves_the_old_file_and_nothing_else(path, monkeypatch, failing):
    def fail(*_):
        raise OSError("no space left")

    before = path.read_bytes()
    monkeypatch.setattr(run_files.os, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        run_files.replace(path, b"new")
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_what_is_replaced_is_on_the_disk_before_it_is_in_place(path, monkeypatch):
    events, real = [], os.replace
    monkeypatch.setattr(run_files.os, "fsync", lambda handle: events.append(("sync", os.fstat(handle).st_size)))
    monkeypatch.setattr(run_files.os, "replace", lambda *paths: (events.append("replace"), real(*paths)))
    run_files.replace(path, b"new")
    assert events == [("sync", 3), "replace"]

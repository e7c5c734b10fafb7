"""A run's numbers, followed while they grow, whatever happens to their file."""

import math
import os
from pathlib import Path

import numpy as np
import orjson
import pytest

from transformer.jobs.run_files import append, replace
from transformer.training.curves import MOST, Curves


def since(curves, group, start):
    """What is new of one group for who has so many points."""
    return curves.new({curves.generation: {group: start}})[1][group]


def row(step, **values):
    return {"step": step, "time": 1.0, "seconds": step / 2, "loss": 1 / step, "lr": 0.1, **values}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def steps(curves, group="train", start=0):
    curves.update()
    return since(curves, group, start)["step"].tolist()


def test_only_what_was_added_is_read(path, monkeypatch):
    curves = Curves(path)
    assert steps(curves) == []  # no file yet
    for step in (10, 20):
        append(path, row(step))
    append(path, {"step": 20, "time": 2.0, "validation_loss": 0.5, "best": 0.5})
    assert steps(curves) == [10, 20]
    assert curves.last("held_out") == {
        "step": 20, "time": 1, "validation_loss": 0.5, "seconds": 10}  # wall time since the first row
    append(path, row(30, gpu_util=0.5))
    curves.update()
    new = since(curves, "train", 2)
    assert {name: column.tolist() for name, column in new.items() if not np.isnan(column).any()} == {
        "step": [30], "time": [0], "loss": [np.float32(1 / 30)], "seconds": [15], "lr": [np.float32(0.1)],
        "gpu_util": [0.5]}
    assert len(since(curves, "train", 0)["step"]) == 3
    taken = []
    monkeypatch.setattr(curves, "_take", taken.append)
    curves.update()
    assert taken == []


def test_a_line_that_is_half_written_waits_until_it_is_whole(path):
    curves, line = Curves(path), orjson.dumps(row(10))
    path.write_bytes(line[:20])
    assert steps(curves) == []
    with open(path, "ab") as file:
        file.write(line[20:] + b"\n")
    assert steps(curves) == [10]


def test_what_is_no_row_of_numbers_is_left_out(path):
    bad = [b"\xff\xfe\x00", b"[]", b"7", b'{"step": "x", "loss": 1}', b'{"loss": 1}', b'{"step": 1, "loss": true}',
           b'{"step": 2, "loss": NaN}', b'{"step": 3, "loss": 1e99}', b'{"step": 4, "loss": null}', b"{", b""]
    path.write_bytes(b"\n".join([*bad, orjson.dumps(row(10)), b'{"step": 20, "loss": 1, "lr": "high"}', b""]))
    curves = Curves(path)
    assert steps(curves) == [10, 20]
    assert math.isnan(since(curves, "train", 0)["lr"][1])


def test_a_file_that_was_replaced_is_read_anew_and_its_points_are_of_a_generation_of_their_own(path):
    """However a file is replaced between two questions: who has points of one generation is sent all of the next."""
    curves = Curves(path)
    for step in (10, 20, 30):
        append(path, row(step))
    assert steps(curves) == [10, 20, 30]
    assert steps(curves, start=3) == []
    one = orjson.dumps(row(10)) + b"\n"
    for put, left in ((Path.write_bytes, [10]), (replace, [10]), (Path.write_bytes, [])):  # replaced as by resuming
        before = curves.generation
        put(path, one if left else b"")
        assert steps(curves) == left
        generation, new = curves.new({before: {"train": 3}})
        assert generation != before and new["train"]["step"].tolist() == left


def test_a_file_that_is_replaced_while_it_is_opened_leaves_none_of_its_points_behind(path, monkeypatch):
    def replaced_at_once(*given):
        file = open(*given)  # noqa: SIM115, as the caller closes it
        monkeypatch.undo()
        replace(path, b"".join(orjson.dumps(row(step)) + b"\n" for step in range(1, 6)))
        return file

    curves = Curves(path)
    for step in (10, 20):
        append(path, row(step))
    monkeypatch.setattr("transformer.training.curves.open", replaced_at_once, raising=False)
    curves.update()
    assert steps(curves) == [1, 2, 3, 4, 5]


def test_of_a_file_of_a_gigabyte_the_end_is_read(path):
    with open(path, "wb") as file:
        file.truncate(10**9)  # a hole, which takes no room on the disk
    os.truncate(path, 10**9)
    with open(path, "ab") as file:
        file.write(b"\n" + orjson.dumps(row(10)) + b"\n" + orjson.dumps(row(20)) + b"\n")
    curves = Curves(path)
    assert steps(curves) == [10, 20]
    assert curves.skipped == path.stat().st_size - MOST
    append(path, row(30))
    assert steps(curves) == [10, 20, 30]


def test_a_hundred_thousand_points_are_all_there(path):
    path.write_bytes(b"".join(orjson.dumps(row(step)) + b"\n" for step in range(1, 100_001)))
    curves = Curves(path)
    curves.update()
    found = since(curves, "train", 99_990)
    assert found["step"].tolist() == list(range(99_991, 100_001))
    assert found["loss"].dtype == np.float32


def test_points_of_another_reader_of_the_same_file_do_not_count(path):
    """A cache keeps so many readers; one that is made anew may find a file that was cut meanwhile."""
    path.write_bytes(b"".join(orjson.dumps(row(step)) + b"\n" for step in (10, 20, 30)))
    first = Curves(path)
    first.update()
    seen = first.new({})[0]
    path.write_bytes(orjson.dumps(row(10, loss=7)) + b"\n")
    second = Curves(path)
    second.update()
    assert second.new({seen: {"train": 3}})[1]["train"]["loss"].tolist() == [7]

"""Processes that one forks: that what they need survives it, that they share what they must, and end together."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ui.state import event_log
from ui.state.worker_counters import EVER, NOW, WorkerCounters

ROOT = Path(__file__).resolve().parents[2]

FORKING = """
import os, sys
sys.path[0] = {root!r}
from ui.server import serve, workers
os.environ.update(workers.NO_THREADS)
serve.prepare()
threads = os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else ["1"]
assert len(threads) == 1, "another thread could be in the middle of something"
for child in range(2):
    if os.fork() == 0:
        try:
            import altair, pandas, pyarrow, torch, transformer
            torch.set_num_threads(2)
            many = torch.ones(300, 300) @ torch.ones(300, 300)
            assert many.sum() == 300 ** 3
            frame = pandas.DataFrame({{"x": range(20_000), "y": ["text"] * 20_000}})
            assert pyarrow.Table.from_pandas(frame).to_pandas(use_threads=True).equals(frame)
            assert altair.Chart(frame[:5]).mark_rect().encode(x="x").to_dict()["mark"]
            ckpt = transformer.load("checkpoints/translate")
            assert transformer.translate(ckpt, ["I am cold."], beam=2) == ["J'ai froid."]
            os._exit(0)
        finally:
            os._exit(1)
assert [os.wait()[1] for _ in range(2)] == [0, 0]
"""

WORKING = """
import os, sys, time
sys.path[0] = {root!r}
from ui.state.worker_counters import start_counters
from ui.state.work_queue import SharedWorkQueue
counters = start_counters(3)
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
children = []
for number in range(3):
    if (child := os.fork()) == 0:
        counters.mine, queue = number, SharedWorkQueue(1)
        for turn in range(4):
            one = object()
            queue.join(one, lambda ahead: None)
            os.write(log, b"(")
            time.sleep(0.01)
            os.write(log, b")")
            queue.leave(one)
            if number == 2 and turn == 1:
                queue.join(one, lambda ahead: None)
                os.write(log, b"X")
                os._exit(9)  # in the middle of its work
        os._exit(0)
    children.append(child)
for _ in children:
    child, status = os.wait()
    counters.clear(children.index(child))
"""


def run(code: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # as a server has it
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.rare("imports everything anew, as a server does before it forks")
@pytest.mark.slow
def test_what_is_imported_works_in_the_processes_that_are_forked():
    run(FORKING.format(root=str(ROOT)))


@pytest.mark.rare("three processes that import PyTorch")
@pytest.mark.slow
def test_heavy_work_takes_turns_across_processes_and_one_that_dies_holds_nobody_up(tmp_path):
    log = tmp_path / "log"
    run(WORKING.format(root=str(ROOT), log=str(log)))
    assert re.fullmatch(r"(\(\)|X)+", log.read_text())
    assert log.read_text().count("()") == 4 + 4 + 2


def test_counters_keep_what_was_counted_and_forgets_who_has_gone():
    counters = WorkerCounters(2)
    counters.mine = 1
    counters.add("visitors", 3)
    counters.took(300)
    counters.look_alive()
    assert counters.each("visitors") == [0, 3] and counters.total("answers") == 1
    assert [counters.get(f"within_{limit}") for limit in (100, 250, 500, 2500)] == [0, 0, 1, 1]
    assert counters.fresh(1) and not counters.fresh(0)
    counters.clear(1)
    assert not any(counters.get(name, 1) for name in NOW) and not counters.fresh(1)
    assert {name: counters.get(name, 1) for name in EVER}["milliseconds"] == 300


def test_an_event_is_one_line_whatever_stands_in_it(capsys, monkeypatch):
    event_log.event("not told")
    monkeypatch.setenv(event_log.ENABLED, "1")
    event_log.event("room opened", code="AB\n12", of='say "no" \\')
    printed = capsys.readouterr().err
    assert re.fullmatch(r'time=\S+Z event="room opened" code="AB 12" of="say \\"no\\" \\\\"\n', printed)


STUCK = """
import sys, signal, time
sys.path[0] = {root!r}
from ui.server.supervisor import Supervisor
with Supervisor() as supervisor:
    hung = supervisor.start("proxy", signal.pause, answers=lambda: False)
    well = supervisor.start("metrics", signal.pause, answers=lambda: True)
    asked_by_nobody = supervisor.start("worker", signal.pause)
    before = [one.pid for one in supervisor.members]
    supervisor.end_stuck(3600)
    supervisor.look()
    assert [one.pid for one in supervisor.members] == before
    supervisor.end_stuck(0)
    while hung.pid in (0, before[0]):
        supervisor.wait(0.1)
        supervisor.look()
    assert [well.pid, asked_by_nobody.pid] == before[1:]
"""


@pytest.mark.rare("a process of its own that imports the supervisor")
def test_a_process_that_hangs_is_ended_and_replaced():
    run(STUCK.format(root=str(ROOT)))

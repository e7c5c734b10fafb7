"""What the suite takes, by folder: seconds by the clock, as its processes spend them, and seconds of the processor.

The second count what Chromium, servers and node take for a test as well. Both are printed at the end of every run. The
second are the suite's budget, since a machine that is busy with other things makes them hardly more: a test that is
neither `slow` nor `rare` takes at most `MOST_FOR_A_TEST`, and a folder of a whole run at most what `MOST` says. On a
processor that is slower at that moment (of another kind, or with a neighbour on its core) both are as much longer as
the same piece of work takes there. That piece is arithmetic, and what waits for memory is slowed by another factor: a
folder beyond its budget is named, and red where it is beyond by more than `ALLOWED`. docs/measured.md has both columns
as they were measured.
"""

import os
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import psutil
import pytest

TESTS = Path(__file__).resolve().parent
MOST_FOR_A_TEST = 5.0  # s of the processor
OTHERS = "all others"
MOST = {"tests/browser": 640, "tests/app": 250, "tests/raw": 75, "tests/server": 45, "tests/analysis": 75,
        "tests/huggingface": 50, "tests/publishing": 75, "tests/training": 65, OTHERS: 240}  # s of the processor
ALLOWED = 1.2  # times its budget; over the same tests, runs on machines of 1.5 to 2.5 times differed by 1.3
WHOLE = "not rare and not faults"  # what `make test` runs
LONG = 1.0  # s of the processor: tests after which `slowness` is measured, few enough and spread over a run
PIECE = 0.008  # s of the processor, which `slowness` takes where nothing else runs
WAITED = 0.2  # s by the clock, after which other processes may have worked for a test
PROCESS = psutil.Process()
spent = {"own": 0.0, "others": 0.0}


def own_seconds() -> float:
    """Of the processor, by this process and those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def others_seconds() -> float:
    """Of the processor, by those that it has started and that are running."""
    seconds = 0.0
    for process in PROCESS.children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:  # it has ended
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def slowness() -> float:
    """How many times as long as `PIECE` a small piece of work takes now; 1 where it takes less."""
    begun = time.process_time()
    sum(i * i for i in range(200_000))
    return max(1.0, (time.process_time() - begun) / PIECE)


def since_last(now: float, of: str) -> float:
    before, spent[of] = spent[of], now
    return now - before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds to the report of a phase what it has taken of the processor."""
    report = yield
    seconds = since_last(own_seconds(), "own")
    if report.duration > WAITED:
        seconds += since_last(others_seconds(), "others")
    report.user_properties.append(("processor", max(0.0, seconds)))
    if seconds > LONG:
        report.user_properties.append(("slowness", slower := slowness()))
        spent["own"] = own_seconds()
        most = MOST_FOR_A_TEST * slower
        if call.when == "call" and report.passed and seconds > most and not is_slow(item):
            report.outcome = "failed"
            report.longrepr = (f"{seconds:.1f} s of the processor, and {most:.1f} are the most: "
                               "make it cheaper, or mark it slow")
    return report


def is_slow(item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "rare", "faults"))


def folder_of(nodeid: str) -> str:
    """The row of the table: the folder of a test's file, or `tests` for those beside the folders."""
    parts = nodeid.partition("::")[0].split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "tests"


class Budget:
    """The seconds of a run, added up where the reports of all its processes come together."""

    def __init__(self, config) -> None:
        self.whole = (config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword
                      and config.option.markexpr == WHOLE and not config.option.collectonly)
        self.clock: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.tests: dict[str, int] = defaultdict(int)
        self.slowness: list[float] = []

    def pytest_runtest_logreport(self, report) -> None:
        folder = folder_of(report.nodeid)
        self.clock[folder] += report.duration
        taken = dict(report.user_properties)
        self.processor[folder] += taken.get("processor", 0.0)
        self.slowness += [taken["slowness"]] if "slowness" in taken else []
        self.tests[folder] += report.when == "call"

    def over(self, allowed: float = 1.0) -> list[str]:
        """The folders of a whole run that took more than they may, or than `allowed` times as much."""
        took: dict[str, float] = defaultdict(float)
        for folder, seconds in self.processor.items():
            took[folder if folder in MOST else OTHERS] += seconds
        slower = median(self.slowness or [1.0])
        return [f"{folder} took {took[folder]:.0f} s of the processor, and {most * slower:.0f} are the most"
                for folder, most in MOST.items() if self.whole and took[folder] > most * slower * allowed]

    def pytest_sessionfinish(self, session) -> None:
        if self.over(ALLOWED) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        if len(self.clock) < 2:  # a folder alone: nothing to compare
            return
        terminalreporter.section("seconds by folder")
        terminalreporter.write_line(f"{'':24} {'tests':>7} {'clock':>9} {'processor':>9}")
        for folder in sorted(self.clock, key=self.clock.get, reverse=True):
            self.row(terminalreporter, folder, self.tests[folder], self.clock[folder], self.processor[folder])
        totals = (sum(column.values()) for column in (self.tests, self.clock, self.processor))
        self.row(terminalreporter, "all", *totals)
        terminalreporter.write_line(f"a piece of work took {median(self.slowness or [1.0]):.2f} times as long as on an "
                                    "idle machine")
        for line in self.over():
            terminalreporter.write_line(line, red=True)

    @staticmethod
    def row(terminalreporter, name: str, tests: int, clock: float, processor: float) -> None:
        terminalreporter.write_line(f"{name:24} {tests:7,} {clock:9.0f} {processor:9.0f}")


def pytest_configure(config) -> None:
    if not hasattr(config, "workerinput"):  # not one of the processes that only run tests
        config.pluginmanager.register(Budget(config), "headsup-budget")

"""What the suite takes, by folder: seconds by the clock, as its processes spend them, and seconds of the processor.

The second count what Chromium, servers and node take for a test as well; they are printed at the end of every run and
hold the suite to its budget, since a machine that is busy with other things makes them hardly more.
"""

import os
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

TESTS = Path(__file__).resolve().parent
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
    return report


def folder_of(nodeid: str) -> str:
    """The row of the table: the folder of a test's file, or `tests` for those beside the folders."""
    parts = nodeid.partition("::")[0].split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "tests"


class Budget:
    """The seconds of a run, added up where the reports of all its processes come together."""

    def __init__(self) -> None:
        self.clock: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.tests: dict[str, int] = defaultdict(int)

    def pytest_runtest_logreport(self, report) -> None:
        folder = folder_of(report.nodeid)
        self.clock[folder] += report.duration
        self.processor[folder] += dict(report.user_properties).get("processor", 0.0)
        self.tests[folder] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter) -> None:
        if len(self.clock) < 2:  # a folder alone: nothing to compare
            return
        terminalreporter.section("seconds by folder")
        terminalreporter.write_line(f"{'':24} {'tests':>7} {'clock':>9} {'processor':>9}")
        for folder in sorted(self.clock, key=self.clock.get, reverse=True):
            self.row(terminalreporter, folder, self.tests[folder], self.clock[folder], self.processor[folder])
        totals = (sum(column.values()) for column in (self.tests, self.clock, self.processor))
        self.row(terminalreporter, "all", *totals)

    @staticmethod
    def row(terminalreporter, name: str, tests: int, clock: float, processor: float) -> None:
        terminalreporter.write_line(f"{name:24} {tests:7,} {clock:9.0f} {processor:9.0f}")


def pytest_configure(config) -> None:
    if not hasattr(config, "workerinput"):  # not one of the processes that only run tests
        config.pluginmanager.register(Budget(), "headsup-budget")

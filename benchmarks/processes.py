"""Memory and processor time of a server's or a browser's processes, in MB and seconds (Linux for the shared part)."""

from collections.abc import Callable

import psutil


def with_children(pid: int) -> list[psutil.Process]:
    """A process and all its descendants; none for pid 0 or a process that has ended."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)] if pid else []
    except psutil.NoSuchProcess:
        return []


def total(of: Callable[[psutil.Process], float], pid: int) -> float:
    """The sum of a figure over a process and its descendants, leaving out those that end meanwhile."""
    figures = []
    for process in with_children(pid):
        try:
            figures.append(of(process))
        except psutil.NoSuchProcess:
            continue
    return sum(figures)


def proportional_mb(process: psutil.Process) -> float:
    """Memory in use with shared pages divided among the processes that share them (PSS)."""
    return process.memory_full_info().pss / 1e6


def resident_mb(process: psutil.Process) -> float:
    """Memory in use, shared pages included (RSS)."""
    return process.memory_info().rss / 1e6


def cpu_seconds(process: psutil.Process) -> float:
    """Processor time, of user and system."""
    times = process.cpu_times()
    return times.user + times.system

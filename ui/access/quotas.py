"""Quotas for the visitors of a shared server, and the messages when one is reached.

A new key resets only the first, which is for fairness, not for safety. Quotas do not apply to the teacher, nor on a
computer that serves nobody else.
"""

from pathlib import Path

from transformer.basics.folders import size_of
from transformer.basics.formatting import size
from transformer.settings.config import TrainConfig
from transformer.training.runs import describe
from ui.access.owners import corpora, me
from ui.state.caches import home

RUNS_OF_ONE = 3           # queued or training, of one owner
RUNS_IN_ALL = 12          # the same, of everybody
MINUTES = 60.0            # of training of one run
LEAST_SAVE_EVERY = 50     # steps
RUNS_BYTES = 20 * 10**9   # of all runs
CORPORA_BYTES = 2 * 10**9   # of all corpora that were uploaded
KEPT_BYTES = 4 * 10**9    # of all checkpoints that were kept of runs
CHECKS = 2                # at once
CHECK_SECONDS = 300       # for one check
MEASUREMENTS = 2          # of all heads of a checkpoint, at once
TOYS = 4                  # smallest runs, at once


class QuotaReached(ValueError):
    """A quota is reached; the message says how large it is and what to do."""


def quotas_apply() -> bool:
    """Whether quotas apply to this visitor."""
    visitor = me()
    return visitor.shared and not visitor.teacher


def run_limits() -> dict[str, int | None]:
    """The most runs under way, as arguments of `launch`."""
    return {"limit": RUNS_OF_ONE, "in_all": RUNS_IN_ALL} if quotas_apply() else {"limit": None, "in_all": None}


def minutes_left(folder: Path) -> float | None:
    """The minutes that a run may still train; None: without limit. Raises QuotaReached if its time is used up."""
    if not quotas_apply():
        return None
    left = MINUTES - describe(folder).seconds / 60
    if left < 1:
        raise QuotaReached(f"the run {folder.name} has trained for the {MINUTES:.0f} minutes that a run may take on "
                           "this server; keep its best weights as a checkpoint, or ask the teacher to resume it")
    return left


def run_faults(train: TrainConfig) -> list[str]:
    """The settings of a training that are too much for a shared server, a sentence each."""
    if not quotas_apply() or train.save_every >= min(LEAST_SAVE_EVERY, train.steps):
        return []
    return [f"save_every is {train.save_every}; on this server it must be at least {LEAST_SAVE_EVERY}, because each "
            "save stops the training and writes all weights"]


def check_runs() -> None:
    """Raises QuotaReached if the runs take too much disk for another one."""
    _check(home() / "runs", RUNS_BYTES, "runs", "delete some of yours, or ask the teacher to make room")


def check_corpora(more: int) -> None:
    """Raises QuotaReached if the corpora take too much disk for `more` bytes."""
    _check(corpora(), CORPORA_BYTES, "corpora", "ask the teacher to make room", more=more)


def check_kept() -> None:
    """Raises QuotaReached if the kept checkpoints take too much disk for another one."""
    _check(home() / "checkpoints", KEPT_BYTES, "kept checkpoints", "ask the teacher to make room")


def _check(folder: Path, most: int, what: str, remedy: str, *, more: int = 0) -> None:
    if quotas_apply() and (taken := size_of(folder) + more) > most:
        raise QuotaReached(f"the {what} on this server would take {size(taken)}; the limit is {size(most)}. Please "
                           f"{remedy}")


def summary() -> str:
    """The quotas that a visitor should know before starting a run."""
    return (f"On this server a run trains for at most {MINUTES:.0f} minutes; you can have {RUNS_OF_ONE} queued or "
            f"training, and all users together {RUNS_IN_ALL}. Each device takes one run per person in turn.")

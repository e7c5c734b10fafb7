"""How much visitors may take of a server that others use: every figure, and what is said when one is reached.

None of them is reset by a new key, except the first, which is there to be fair and not to be safe. The teacher, and
whoever sits at a computer that serves nobody else, are not held to those about a shared server.
"""

from pathlib import Path

from transformer.config import TrainConfig
from transformer.folders import size_of
from transformer.formatting import size
from transformer.runs import describe
from ui.access.owners import corpora, me
from ui.state.caches import home

RUNS_OF_ONE = 3           # queued or training, of one owner
RUNS_IN_ALL = 12          # the same, of everybody
MINUTES = 60.0            # that one run may train
LEAST_SAVE_EVERY = 50     # steps
RUNS_BYTES = 20 * 10**9   # of all runs
CORPORA_BYTES = 2 * 10**9   # of all corpora that were uploaded
KEPT_BYTES = 4 * 10**9    # of all checkpoints that were kept of runs
CHECKS = 2                # at once
CHECK_SECONDS = 300       # that one check may take
MEASUREMENTS = 2          # of all heads of a checkpoint, at once
TOYS = 4                  # smallest runs, at once


class QuotaReached(ValueError):
    """There is no more of something for visitors; the message says how much there is, and what to do."""


def held_to_them() -> bool:
    """Whether this visitor is held to what is for visitors of a shared server."""
    visitor = me()
    return visitor.shared and not visitor.teacher


def run_limits() -> dict[str, int | None]:
    """How many runs may be under way, as `launch` takes them."""
    return {"limit": None if me().teacher else RUNS_OF_ONE, "in_all": RUNS_IN_ALL if held_to_them() else None}


def minutes_left(folder: Path) -> float | None:
    """How long a run may still train; None: as long as it takes. Raises QuotaReached where it has had its time."""
    if not held_to_them():
        return None
    left = MINUTES - describe(folder).seconds / 60
    if left < 1:
        raise QuotaReached(f"the run {folder.name} has trained for the {MINUTES:.0f} minutes that a run may take on "
                           "this server; keep its best weights as a checkpoint, or ask the teacher to resume it")
    return left


def run_faults(train: TrainConfig) -> list[str]:
    """What of a training is too much for a shared server, a sentence each."""
    if not held_to_them() or train.save_every >= min(LEAST_SAVE_EVERY, train.steps):
        return []
    return [f"save_every is {train.save_every}; on this server it must be at least {LEAST_SAVE_EVERY}, because each "
            "save stops the training and writes all weights"]


def check_runs() -> None:
    """Raises QuotaReached where the runs take too much of the disk for another one."""
    _check(home() / "runs", RUNS_BYTES, "runs", "delete some of yours, or ask the teacher to make room")


def check_corpora(more: int) -> None:
    """The same for one more corpus of so many bytes."""
    _check(corpora(), CORPORA_BYTES, "corpora", "ask the teacher to make room", more=more)


def check_kept() -> None:
    """The same for one more checkpoint."""
    _check(home() / "checkpoints", KEPT_BYTES, "kept checkpoints", "ask the teacher to make room")


def _check(folder: Path, most: int, what: str, remedy: str, *, more: int = 0) -> None:
    if held_to_them() and (taken := size_of(folder) + more) > most:
        raise QuotaReached(f"the {what} on this server would take {size(taken)}; the limit is {size(most)}. Please "
                           f"{remedy}")


def said() -> str:
    """What a visitor of a shared server needs to know before starting."""
    return (f"On this server a run trains for at most {MINUTES:.0f} minutes; you can have {RUNS_OF_ONE} queued or "
            f"training, and all users together {RUNS_IN_ALL}. Each device takes one run per person in turn.")

"""Who may stop, rename and delete which run, and start new ones."""

import hmac
from pathlib import Path

from transformer.training.runs import Run
from ui.keys import is_teacher, owner
from ui.resources import home, serves_this_computer_alone


def controls(run: Run) -> bool:
    """Whether this visitor may stop, rename and delete a run: its owner and the teacher; and whoever sits at this
    computer, where a run was started from a shell and the server lets nobody else in."""
    if is_teacher():
        return True
    if run.owner is None:
        return serves_this_computer_alone()
    return owner() is not None and hmac.compare_digest(run.owner, owner())


def _switch() -> Path:
    return home() / "no-new-runs"


def starting_allowed() -> bool:
    """Whether others than the teacher may start runs."""
    return not _switch().exists()


def allow_starting(allowed: bool) -> None:
    """Raises ValueError for anybody but the teacher."""
    if not is_teacher():
        raise ValueError("only the teacher can forbid and allow starting; open the link that the server printed")
    home().mkdir(parents=True, exist_ok=True)
    _switch().unlink(missing_ok=True) if allowed else _switch().touch()

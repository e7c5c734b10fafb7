"""Taking a checkpoint away again, by those who may."""

import os
import shutil
from pathlib import Path

from transformer.paths import home
from ui.access.owners import checkpoint_thing, forget_keeper, require


def take_away(folder: Path) -> None:
    """Delete a checkpoint that was brought in, or kept of a run. Raises ValueError for any other folder, and for who
    may not."""
    places = [(home() / name).resolve() for name in ("uploads", "imports", "checkpoints")]
    require("delete", checkpoint_thing(folder))
    if folder.is_symlink() or folder.resolve().parent not in places or not (folder / "config.json").exists():
        raise ValueError(f"{folder.name} was neither imported nor kept here, so it cannot be deleted here")
    going = folder.with_name(f".{folder.name}.going-{os.getpid()}")
    folder.rename(going)  # at once, for all who look
    if folder.parent == home() / "checkpoints":
        forget_keeper(folder.name)
    shutil.rmtree(going)

"""All that visitors have stored on this server, with owner and size, for the teacher, who can delete it."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from transformer.basics.folders import size_of, written_ns
from transformer.basics.formatting import size
from transformer.checkpoints import checkpoint
from transformer.jobs import launch
from transformer.jobs.queue import RECORD
from transformer.training import runs
from ui import figures
from ui.access import owners, quotas, visitors
from ui.access.owners import delete_checkpoint
from ui.state.caches import home
from ui.state.page_state import Kept, PageState
from ui.views.train.run_bar import errors_shown
from ui.views.train.train_state import TrainState


@dataclass(frozen=True)
class StoredFile:
    """A file or folder that takes disk space."""

    path: Path
    name: str
    thing: owners.Thing
    delete: Callable[[Path], None]
    state: str = ""


class StoredState(PageState):
    """What is kept of the table of a kind, under its own prefix."""

    chosen: Kept[str | None] = Kept(None)  # what to delete


def show_stored_files(page: str) -> None:
    """Show a table for each kind, and a way to delete each entry."""
    owners.require("oversee")
    for title, files, most in (("Runs", list(_runs()), quotas.RUNS_BYTES),
                               ("Corpora", list(_corpora()), quotas.CORPORA_BYTES),
                               ("Checkpoints", list(_checkpoints()), quotas.KEPT_BYTES),
                               ("Measurements of heads", list(_measurements()), None)):
        st.header(title, anchor=False)
        _show(f"{page}_{title.split()[0].lower()}", page, files, most)


def _show(key: str, page: str, files: list[StoredFile], most: int | None) -> None:
    if not files:
        st.caption("None.")
        return
    sizes = {one.name: size_of(one.path) for one in files}
    limit = f"; on a shared server, visitors can add nothing beyond {size(most)}" if most and owners.shared() else ""
    st.caption(f"{len(files):,} of {size(sum(sizes.values()))} in all{limit}.")
    files.sort(key=lambda one: -sizes[one.name])
    st.html(figures.plain_table(["name", "state", "size", "whose", "written"], [
        [one.name, one.state, size(sizes[one.name]), _whose(one.thing),
         _when(one.path)] for one in files],
        label=key, numbers={2}))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{key}_settings"):
        by_name = {one.name: one for one in files}
        if StoredState(key).chosen not in by_name:
            StoredState(key).chosen = None
        chosen = st.selectbox("Delete one", list(by_name), key=StoredState.chosen.key(key),
                              placeholder="Choose what to delete")
        one = by_name.get(chosen)
        st.button("Delete it", key=f"{key}_delete", on_click=_delete, args=[page, one], disabled=one is None,
                  help="This cannot be undone.")


def _when(path: Path) -> str:
    written = written_ns(path)
    return "" if written is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(written / 1e9))


def _delete(page: str, one: StoredFile | None) -> None:
    with errors_shown(page):
        if one is None:
            raise ValueError("nothing is selected; select what to delete")
        owners.require("delete", one.thing)
        one.delete(one.path)
        TrainState(page).done = f"Deleted: {one.name}"


def _whose(thing: owners.Thing) -> str:
    """An owner, by the first letters of the digest."""
    if thing.owner is None:
        return "unknown"
    return "you" if visitors.theirs(thing.owner) else f"visitor {thing.owner[:6]}"


def _runs() -> Iterator[StoredFile]:
    for folder in runs.find(home() / "runs"):
        yield StoredFile(folder, folder.name, owners.run_thing(folder), runs.delete, launch.progress(folder).state)


def _corpora() -> Iterator[StoredFile]:
    for path in sorted(owners.corpora().glob("*/*.*")):
        name = f"{path.name} · {path.parent.name[:6]}"  # two visitors may have uploaded the same file
        if thing := owners.corpus_thing(str(path.resolve())):  # else a link that leads elsewhere
            yield StoredFile(path, name, thing, Path.unlink)


def _checkpoints() -> Iterator[StoredFile]:
    for place, how in (("checkpoints", "kept"), ("uploads", "uploaded"), ("imports", "imported")):
        for folder in checkpoint.find(home() / place):
            yield StoredFile(folder, f"{place}/{folder.name}", owners.checkpoint_thing(folder), delete_checkpoint, how)


def _measurements() -> Iterator[StoredFile]:
    analysis = home() / "analysis"
    for record in sorted(analysis.glob(f"*/*/{RECORD}")):
        folder = record.parent
        yield StoredFile(folder, str(folder.relative_to(analysis)), owners.measurement_thing(folder), _forget,
                      launch.progress(folder).state)


def _forget(folder: Path) -> None:
    if launch.alive(folder):
        raise ValueError(f"{folder.name} is under way; stop it first, on Heads")
    shutil.rmtree(folder)

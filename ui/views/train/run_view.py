"""The view of one run: its state, its curves, its samples, its log, and attention as it forms."""

from functools import partial
from pathlib import Path

import streamlit as st

from transformer.basics.formatting import duration, how_many, size
from transformer.jobs import run_files
from transformer.jobs.launch import log_tail
from transformer.jobs.queue import before, record
from transformer.settings.task import unit_of
from transformer.text.corpus_catalogue import published_loss
from transformer.training.record import SAMPLES_FILE
from transformer.training.runs import Run, check_name, describe
from ui import figures
from ui.access import owners
from ui.choices.held_out_corpus import corpus_name
from ui.components.run_curves import show_curves
from ui.components.training_screen import CHOSEN
from ui.page.presentation import settings
from ui.state.caches import curves, home, shared
from ui.state.page_state import Kept, PageState
from ui.state.polling import pace
from ui.views.train.forming import show_forming
from ui.views.train.train_state import TrainState


def find_run(name: str | None) -> Path | None:
    """The folder of a run by its name in an address, which may be anything; None if there is none."""
    try:
        folder = home() / "runs" / check_name(name or "")
    except ValueError:
        return None
    return folder if folder.is_dir() else None


def read_run(folder: Path, *, fresh: bool = True) -> Run:
    """A run as it stands; without fresh, as it stood at most a second ago, read once for all who watch it."""
    return shared((describe, folder), partial(describe, folder), fresh=fresh)


def show_run(page: str, run: Run, *, dark: bool) -> None:
    """The whole view of one run: what changes on one screen, and below it the numbers, samples and the log."""
    every = pace()
    st.fragment(_live, run_every=every if run.now.under_way else None)(page, run.folder, run.now.state, every, dark)
    with settings(page, "log"), st.expander("The log", key=f"{page}_log"):
        printed = owners.without_home(log_tail(run.folder, lines=40))
        st.code(printed or "(empty)", language=None, wrap_lines=True)


class SamplesState(PageState):
    """What is kept of the samples of a run, under its own prefix."""

    samples_at: Kept[int | None] = Kept(None)  # the step that somebody chose; else the newest


def show_checkpoint(page: str, folder: Path, *, dark: bool) -> None:
    """The training of a checkpoint: what was recorded of it, or the reading of a text by every step that it kept."""
    show_forming(page, folder, dark=dark, plays=TrainState.plays.pop(page))


def _live(page: str, folder: Path, was: str, every: float, dark: bool) -> None:
    """What changes while it trains; the whole page is drawn again if its state changes, or many more watch."""
    run = read_run(folder, fresh=False)
    if run.now.state != was or (run.now.under_way and not every / 2 <= pace() <= every * 2):
        st.rerun()
    for line in _explanations(run):
        (st.error if run.now.state in ("failed", "died") else st.info)(figures.markdown_text(owners.without_home(line)))
    beside = [other for name in TrainState(page).over if name != run.name
              and (other := find_run(name)) is not None]
    show_forming(page, folder, dark=dark, says=_progress(run), live=True, beside=beside)
    with settings(page, "numbers"):
        show_curves(page, [folder], dark=dark, unit=f"nats per {unit_of(run.task)}",
                    reference=published_loss(run.corpus), on_mark=partial(_look_at, page))
        _numbers(run)
        _samples(page, folder)


def _look_at(page: str, folder: Path, mark: dict[str, object]) -> None:
    """Have the screen of the run show the step, and the head, of a mark that was clicked."""
    for name in ("step", "kind", "layer", "head"):
        if mark[name] is not None:
            CHOSEN[name].put(page, mark[name])


def _progress(run: Run) -> str:
    """How far a run is, in a line."""
    last, now = _last(run), run.now
    words = []
    if now.steps and now.under_way:
        words.append(f"step {now.step:,} of {now.steps:,}")
        if now.state == "running" and (left := _time_left(run, last)):
            words.append(left)
    if run.seconds and not now.under_way:
        words.append(f"trained for {duration(run.seconds)}")
    if "tokens_per_sec" in last:
        words.append(f"{last['tokens_per_sec']:,.0f} {unit_of(run.task)}s a second")
    if "peak_share" in last:
        words.append(f"{last['peak_share']:.0%} of the GPU's peak")
    return " · ".join(words)


def _last(run: Run) -> dict[str, float]:
    known = curves(run.folder)
    known.update()
    return known.last("train")


def _numbers(run: Run) -> None:
    """The newest numbers, and what the run is."""
    last = _last(run)
    with st.container(horizontal=True, gap="large"):
        if "loss" in last:
            st.metric("Training loss", f"{last['loss']:.4f}", width="content")
        if run.best is not None:
            st.metric("Best held-out loss", f"{run.best:.4f}", width="content")
        if run.accuracy is not None:
            st.metric(f"Held-out {unit_of(run.task)}s right", f"{run.accuracy:.1%}", width="content")
        if run.exact is not None:
            st.metric("Held-out answers without a mistake", f"{run.exact:.1%}", width="content")
        if "tokens_per_sec" in last:
            counted = f"{unit_of(run.task).capitalize()}s"
            st.metric(f"{counted} a second", f"{last['tokens_per_sec']:,.0f}", width="content")
        if "peak_share" in last:
            st.metric("Share of the GPU's peak", f"{last['peak_share']:.0%}", width="content")
        if "gpu_util" in last:
            st.metric("GPU in use", f"{last['gpu_util']:.0%}", width="content")
        if "gpu_memory" in last:
            st.metric("GPU memory", f"{size(last['gpu_memory'])}", width="content")
        if run.seconds:
            st.metric("Trained for", duration(run.seconds), width="content")
    about = [run.shape, run.corpus and corpus_name(run.corpus), run.processor,
             f"{run.processes} processes" if run.processes > 1 else None]
    st.caption(figures.markdown_text(" · ".join(filter(None, about))))
    if skipped := curves(run.folder).skipped:
        st.caption(f"The metrics of this run are too long to read in full: the first {size(skipped)} are skipped.")


def _time_left(run: Run, last: dict[str, float]) -> str | None:
    """The time left, at the pace so far."""
    if not last.get("seconds") or not last.get("step") or not run.now.steps:
        return None
    return f"about {duration(last['seconds'] / last['step'] * (run.now.steps - run.now.step))} left"


def _explanations(run: Run) -> list[str]:
    """Sentences that explain the state of a run, and what can be done."""
    now = run.now
    saved = (run.folder / "last" / "manifest.json").exists()
    back = "Resume continues from the last save." if saved else "Nothing was saved yet; Resume starts over."
    why = (now.why or "").rstrip(".")
    match now.state:
        case "queued":
            if address := record(run.folder).get("cluster"):
                return [f"Waiting for the cluster at {address} to start it."]
            ahead = before(run.folder)
            first = f", {ahead[0].name}" if ahead else ""
            return [f"Waiting for its turn: {how_many(len(ahead), 'run')} ahead on this device{first}. It starts by "
                    "itself." if ahead else "Starting soon: no runs ahead."]
        case "starting":
            return ["Starting: loading PyTorch, reading the corpus, training the tokenizer."]
        case "stopped":
            at = f" at step {now.step:,} of {now.steps:,}" if now.steps else ""
            can = " Keep it as a checkpoint to open it on its page." if saved else ""
            return [f"Stopped{at}{', and saved' * saved}{f': {why}' * bool(why)}. {back}{can}"]
        case "failed":
            return [f"Failed: {why or 'no reason given; see its log'}.", back]
        case "finished":
            return [f"Finished early, at step {now.step:,} of {now.steps or 0:,}: {why}."] if why else []
        case "died":
            return [f"{why or _last_line(run.folder)}. {back}"]
    if address := record(run.folder).get("cluster"):
        return [f"Training on the cluster at {address}."]
    return ["Training on another machine that shares this disk."] if now.elsewhere else []


def _last_line(folder: Path) -> str:
    """All that is known of a run that ended without a reason."""
    line = log_tail(folder, lines=1).strip().rstrip(".")
    return f"The run stopped; the last line of its log: {line}" if line else (
        "The run stopped without a message: it was killed, or the machine went down")


def _samples(page: str, folder: Path) -> None:
    """Show what the model makes of held-out texts, by evaluation."""
    rows = {row["step"]: row["samples"] for row in run_files.tail(folder / SAMPLES_FILE)
            if isinstance(row.get("step"), int) and isinstance(row.get("samples"), list)}
    if not rows:
        return
    st.header("Samples on held-out texts", anchor=False)
    steps, prefix = sorted(rows), f"{page}_{folder.name}"
    held = SamplesState(prefix).samples_at
    chosen = held if held in rows else steps[-1]
    if len(steps) > 1:
        # A new slider for every evaluation: from one that grows, the browser may still send the step that was newest
        # when it was drawn, as if somebody had chosen that.
        key = f"{SamplesState.samples_at.key(prefix)}_{steps[-1]}"
        with settings(page, "samples"):
            chosen = st.select_slider("At step", steps, chosen, key=key, on_change=_hold, args=[prefix, key, steps[-1]],
                                      help="Follows the newest evaluation; move it to look back.")
    samples = [sample for sample in rows[chosen] if isinstance(sample, dict)]
    names: list[str] = list(dict.fromkeys(name for sample in samples for name in sample))
    heads = {"text": "held-out text", "output": f"the model, step {chosen:,}", "goes on": "actual continuation"}
    st.html(figures.plain_table([heads.get(name, name) for name in names],
                                [[str(sample.get(name) or "") for name in names] for sample in samples],
                                label="Samples", wrap=True))


def _hold(prefix: str, key: str, newest: int) -> None:
    step = st.session_state[key]
    SamplesState(prefix).samples_at = step if step != newest else None

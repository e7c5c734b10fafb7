"""The view of one run: its state, its curves, its samples, its log, and attention as it forms."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import streamlit as st

from transformer.checkpoint import CheckpointError
from transformer.formatting import duration, how_many, size
from transformer.jobs import run_files
from transformer.jobs.launch import Progress, log_tail, progress, resume, stop
from transformer.jobs.lock import file_lock
from transformer.jobs.queue import before, record
from transformer.runs import Run, as_csv, check_name, delete, describe, promote, rename, to_keep
from transformer.task import unit_of
from transformer.text.corpus_catalogue import published_loss
from transformer.training.record import SAMPLES_FILE
from ui import figures
from ui.access import owners, quotas
from ui.choices.held_out_corpus import corpus_name
from ui.components.run_curves import show_curves
from ui.page.pages import PAGES
from ui.page.plain_text import say_error
from ui.page.presentation import settings
from ui.state.caches import curves, described, entries, home
from ui.state.polling import pace
from ui.views.train.forming import show_forming

LARGEST_CSV = 20_000_000  # bytes of metrics that are made into a table


def find_run(name: str | None) -> Path | None:
    """The folder of a run by its name in an address, which may be anything; None if there is none."""
    try:
        folder = home() / "runs" / check_name(name or "")
    except ValueError:
        return None
    return folder if folder.is_dir() else None


def show_run(page: str, folder: Path, *, dark: bool) -> None:
    """The whole view of one run."""
    run = describe(folder)
    under_way = run.now.under_way
    every = pace()
    _controls(page, run)
    st.fragment(_live, run_every=every if under_way else None)(page, folder, run.now.state, every, dark)
    with st.container():  # whose gap is wider than the page's, so that the heading stands clear of the box below it
        st.header("Attention as it forms", anchor=False)
        show_forming(page, folder, dark=dark)
    with settings(page, "log"), st.expander("The log", key=f"{page}_log"):
        printed = owners.without_home(log_tail(folder, lines=40))
        st.code(printed or "(empty)", language=None, wrap_lines=True)


def _live(page: str, folder: Path, was: str, every: float, dark: bool) -> None:
    """What changes while it trains; the whole page is drawn again if its state changes, or many more watch."""
    run = describe(folder)
    if run.now.state != was or (run.now.under_way and not every / 2 <= pace() <= every * 2):
        st.rerun()
    show_state(run)
    show_curves(page, [folder], dark=dark, unit=f"nats per {unit_of(run.task)}",
                reference=published_loss(run.corpus))
    _samples(page, folder)


STATES = {"queued": "Queued", "starting": "Starting", "running": "Training", "finished": "Finished",
          "stopped": "Stopped", "failed": "Failed", "died": "Died"}
COLOURS = {"running": "blue", "finished": "green", "failed": "red", "died": "red"}


def show_state(run: Run) -> None:
    """Show state, progress and the newest numbers."""
    now, known = run.now, curves(run.folder)
    known.update()
    last = known.last("train")
    if now.steps:
        share = min(1.0, now.step / now.steps)
        left = _time_left(run, last)
        text = f"step {now.step:,} of {now.steps:,}" + (f" · {left}" if left and now.state == "running" else "")
        st.progress(share, text=text)
    for line in _explanations(run):
        (st.error if now.state in ("failed", "died") else st.info)(figures.markdown_text(owners.without_home(line)))
    with st.container(horizontal=True, gap="large"):
        if "loss" in last:
            st.metric("Training loss", f"{last['loss']:.4f}", width="content")
        if run.best is not None:
            st.metric("Best held-out loss", f"{run.best:.4f}", width="content")
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
    about = [run.shape, run.corpus and corpus_name(run.corpus), run.device,
             f"{run.processes} processes" if run.processes > 1 else None]
    st.caption(figures.markdown_text(" · ".join(filter(None, about))))
    if known.skipped:
        st.caption("The metrics of this run are too long to read in full: the first "
                   f"{size(known.skipped)} are skipped.")


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
    steps, held = sorted(rows), f"{page}_{folder.name}_samples_at"  # the step that somebody chose; else the newest
    chosen = st.session_state.get(held)
    chosen = chosen if chosen in rows else steps[-1]
    if len(steps) > 1:
        # A new slider for every evaluation: from one that grows, the browser may still send the step that was newest
        # when it was drawn, as if somebody had chosen that.
        key = f"{held}_{steps[-1]}"
        with settings(page, "samples"):
            chosen = st.select_slider("At step", steps, chosen, key=key, on_change=_hold, args=[held, key, steps[-1]],
                                      help="Follows the newest evaluation; move it to look back.")
    samples = [sample for sample in rows[chosen] if isinstance(sample, dict)]
    names = list(dict.fromkeys(name for sample in samples for name in sample))
    heads = {"text": "held-out text", "output": f"the model, step {chosen:,}", "goes on": "actual continuation"}
    st.html(figures.plain_table([heads.get(name, name) for name in names],
                                [[str(sample.get(name) or "") for name in names] for sample in samples],
                                label="Samples", wrap=True))


def _hold(held: str, key: str, newest: int) -> None:
    state = st.session_state
    state[held] = state[key] if state[key] != newest else None


def _controls(page: str, run: Run) -> None:
    """Buttons to stop and resume a run, and to keep, rename and delete one that has ended."""
    now, key, folder = run.now, f"{page}_{run.name}", run.folder
    refused = {action: owners.refusal(owners.me(), action, owners.run_thing(folder))
               for action in ("stop", "resume", "keep", "rename", "delete")}
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_actions_settings"):
        badge = f":{COLOURS.get(now.state, 'gray')}-badge[{STATES[now.state]}]"
        st.header(f"{figures.markdown_text(run.name)} {badge}", anchor=False, width="content")
        if now.under_way:
            st.button("Stop", icon=":material/stop:", key=f"{page}_stop", on_click=_do,
                      disabled=bool(refused["stop"]), args=[page, partial(_stop, run.folder)],
                      help="It saves first and can be resumed.")
        elif now.state != "finished":
            st.button("Resume", icon=":material/play_arrow:", key=f"{page}_resume", on_click=_do,
                      disabled=bool(refused["resume"]), args=[page, partial(_resume, run.folder)])
        size = (run.folder / "metrics.jsonl").stat().st_size if (run.folder / "metrics.jsonl").exists() else 0
        st.download_button("Metrics as CSV", partial(as_csv, run.folder), f"{run.name}.csv", "text/csv",
                           key=f"{page}_csv", icon=":material/download:", on_click="ignore",
                           disabled=not 0 < size <= LARGEST_CSV)
        # with another key it is a new popover, which is closed: so it closes when the checkpoint has been made
        kept = to_keep(folder)
        with st.popover("Keep as a checkpoint", key=f"{page}_promote_box_{st.session_state.get(f'{page}_kept', 0)}",
                        disabled=bool(refused["keep"]) or kept is None,
                        help=None if kept else "There is nothing to keep before the first save; Stop saves."):
            is_best = kept is not None and kept.name == "best"
            st.caption(f"Saves its {'best' if is_best else 'newest'} weights in half precision, with curve, attention "
                       f"and a model card.{'' if is_best else ' How good they are has not been measured yet.'}")
            st.text_input("Name of the checkpoint", run.name, key=f"{key}_promote_as", max_chars=60)
            st.button("Keep", key=f"{page}_promote", on_click=_promote, args=[page, folder, key])
            if wrong := st.session_state.pop(f"{page}_promote_refused", None):
                say_error(wrong)
        with st.popover("Rename", key=f"{page}_rename_box", disabled=bool(refused["rename"]) or now.under_way):
            st.text_input("New name", run.name, key=f"{key}_rename_to", max_chars=60)
            st.button("Rename", key=f"{page}_rename", on_click=_do, args=[page, partial(_rename, page, folder, key)])
        with st.popover("Delete", key=f"{page}_delete_box", disabled=bool(refused["delete"]) or now.under_way):
            st.markdown(f"Delete **{figures.markdown_text(run.name)}** with its weights, curves and attention? This "
                        f"cannot be undone.")
            st.button("Delete it", key=f"{page}_delete", on_click=_do, args=[page, partial(_delete, page, folder)])
    if refused["stop"]:
        st.caption("Only its owner and the teacher can stop, resume, rename, keep or delete this run."
                   if run.owner else "This run was started from a shell: only the teacher can stop, resume, rename, "
                   "keep or delete it.")


def show_outcome(page: str) -> None:
    """Show the outcome of the button that was pressed last."""
    if refused := st.session_state.pop(f"{page}_refused", None):
        say_error(refused)
    done, opens = (st.session_state.pop(f"{page}_{name}", None) for name in ("done", "opens"))
    if done:
        st.success(figures.markdown_text(done))
    if about := described(opens):
        target = next(one for one in PAGES.values() if one.shows(about.config))
        st.page_link(target.script, label=f"Open it in {target.title}", icon=target.symbol,
                     query_params=target.address(about.id))


@contextmanager
def errors_shown(page: str) -> Iterator[None]:
    """Errors inside are shown on the page instead of being raised."""
    try:
        yield
    except (ValueError, OSError, CheckpointError) as error:
        st.session_state[f"{page}_refused"] = str(error)


def _do(page: str, act: partial) -> None:
    with errors_shown(page):
        act()


def _stop(folder: Path) -> None:
    owners.require("stop", owners.run_thing(folder))
    now: Progress = progress(folder)
    if now.under_way and not stop(folder):
        raise ValueError(f"the run {folder.name} has just ended")


def _require_with_corpus(action: owners.Action, folder: Path) -> None:
    """Raises NotAllowed if a visitor may not do something to a run that reads its corpus and its teachers again."""
    owners.require(action, owners.run_thing(folder))
    if corpus := describe(folder).corpus:
        train = run_files.read_json(folder / "config.json").get("train")
        owners.require_training({**(train if isinstance(train, dict) else {}), "corpus": corpus})


def _resume(folder: Path) -> None:
    _require_with_corpus("resume", folder)
    quotas.check_runs()
    resume(folder, minutes=quotas.minutes_left(folder), **quotas.run_limits())


def _promote(page: str, folder: Path, key: str) -> None:
    state = st.session_state
    try:
        _require_with_corpus("keep", folder)
        quotas.check_kept()
        name = check_name(state[f"{key}_promote_as"])
        with file_lock(home() / ".kept.lock"):
            if name.lower() in {entry.folder.name.lower() for entry in entries()}:
                raise ValueError(f"there is a checkpoint {name} already; choose another name")
            promote(folder, home() / "checkpoints" / name, processor=describe(folder).device or "unknown device")
            owners.remember_keeper(name)
    except (ValueError, OSError, CheckpointError) as error:
        state[f"{page}_promote_refused"] = str(error)
        return
    state[f"{page}_kept"] = state.get(f"{page}_kept", 0) + 1
    state[f"{page}_done"], state[f"{page}_opens"] = f"Kept as the checkpoint {name}.", name


def _rename(page: str, folder: Path, key: str) -> None:
    owners.require("rename", owners.run_thing(folder))
    st.session_state[f"{page}_run"] = rename(folder, st.session_state[f"{key}_rename_to"]).name


def _delete(page: str, folder: Path) -> None:
    owners.require("delete", owners.run_thing(folder))
    delete(folder)
    st.session_state[f"{page}_run"], st.session_state[f"{page}_view"] = "", "runs"
    st.session_state[f"{page}_done"] = f"The run {folder.name} is deleted."

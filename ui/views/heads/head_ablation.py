"""Ablation of each head in turn: the change of held-out loss and quality, measured in a job, drawn, kept for all."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import streamlit as st

from transformer.analysis.ablation import EXPLAINED, LOSS_OF_CLASSES, Head, all_heads, measure
from transformer.basics.formatting import duration, with_stop
from transformer.basics.spreadsheet import table_of
from transformer.checkpoints.checkpoint import Checkpoint, CheckpointError
from transformer.evaluation.held_out import held_out_sentences
from transformer.jobs import run_files
from transformer.jobs.launch import Progress, log_tail, progress, stop
from transformer.settings.config import KINDS
from transformer.studies.ablation_job import HeadEffects, launch, place, read
from ui import figures
from ui.access import owners, quotas, visitors
from ui.choices.head import origin
from ui.choices.held_out_corpus import choose_size, corpus_name, corpus_of, say_missing, sizes_of, split_of, texts_of
from ui.components.head_maps import show_head_maps
from ui.page.plain_text import say_error
from ui.state.caches import home, shelf
from ui.state.polling import pace
from ui.state.work_queue import Work, is_large
from ui.views.heads.switch_state import LIMITS, Switch

PROBE = 10   # sentences to time before a start
OUTCOMES = {"change": ("Loss", "nats"), "bleu_change": ("BLEU", "points"),
            "accuracy_change": ("Accuracy", "percentage points")}
ERRORS = {"change": "se", "accuracy_change": "accuracy_se"}
CALLED = {"off": "off", "uniform": "uniform"}


def show_effects(page: str, ckpt: Checkpoint, *, names: list[str], crossed: list[Head],
                 on_pick: Callable[[dict], None], dark: bool) -> None:
    """The whole measurement, from the sample to the maps. names: the available corpora that this checkpoint reads."""
    state = Switch(page)
    what = state.what
    st.header(f"Each head in turn, {CALLED[what]}", anchor=False)
    st.markdown(f"Each head in turn is {CALLED[what]}, all others unchanged, and the model is measured again. What "
                f"does it lose?")
    if not names:
        say_missing(ckpt)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        where = f"{corpus_name(names[0])}, {split_of(names[0])} split"
        choose_size(f"{texts_of(ckpt).capitalize()} of {figures.markdown_text(where)}", Switch.limit.key(page),
                    sizes_of(ckpt, names[0], LIMITS))
    corpus = None if corpus_of(ckpt.description) else names[0]
    other = next(one for one in CALLED if one != what)
    folder, beside = (place(home() / "analysis", ckpt.id, what=one, limit=state.limit, corpus=corpus)
                      for one in (what, other))
    _say_other(beside, other)
    now = progress(folder)
    every = pace()
    st.fragment(_live, run_every=every if now.under_way else None)(
        page, ckpt, folder, corpus, now.state, crossed, on_pick, dark)


def _say_other(folder: Path, what: str) -> None:
    """The state of the same measurement with heads switched the other way."""
    now, effects = progress(folder), read(folder)
    done = f"{effects.done} of {effects.of} heads" if effects else "no heads yet"
    stands = (f"running, {done}" if now.under_way else "measured" if now.state == "finished" and effects else
              f"begun, {done}" if effects else "not measured yet")
    st.caption(f"With each head {CALLED[what]} instead: {figures.markdown_text(stands)}. “Off” and “Uniform "
               "attention” above the switches choose between the two.")


def _live(page: str, ckpt: Checkpoint, folder: Path, corpus: str | None, was: str, crossed: list[Head],
          on_pick: Callable[[dict], None], dark: bool) -> None:
    """The part that changes during the measurement. A new state, or a click on a head, draws the whole page again."""
    now = progress(folder)
    if now.state != was or Switch.switch_again.pop(page):
        st.rerun()
    effects = read(folder) if (folder / "baseline.json").exists() else None
    _controls(page, ckpt, folder, corpus, now, effects)
    if effects is None:
        return
    if not effects.done:
        st.caption("Baseline measured. Measuring the first head…")
        return
    _show_effects(page, ckpt, folder, effects, crossed, on_pick, dark=dark)


def _controls(page: str, ckpt: Checkpoint, folder: Path, corpus: str | None, now: Progress,
              effects: HeadEffects | None) -> None:
    """The state of the measurement, with buttons."""
    state, heads = Switch(page), len(all_heads(ckpt.config))
    done = effects.done if effects else 0
    if refused := Switch.effects_refused.pop(page):
        say_error(refused)
    if now.under_way:
        left = _left(folder, heads - done)
        begins = "" if effects else " · loading PyTorch and measuring the baseline"
        st.progress(done / heads, text=f"{done} of {heads} heads" + (f" · about {left} left" if left else begins))
        mine = owners.allowed("stop", owners.measurement_thing(folder))
        st.button("Stop", key=f"{page}_effects_stop", icon=":material/stop:", disabled=not mine, on_click=_stop,
                  args=[page, folder], help="Measured heads are kept; you can resume later.")
        if not mine:
            st.caption("Only its owner and the teacher can stop it.")
        return
    if now.state == "failed":
        why = owners.without_home(now.why or "no reason given; see its log")
        say_error(f"Failed: {with_stop(why)}")
    elif now.state == "died" and (folder / "launch.json").exists() and not now.why:
        st.error("The process ended without a message. Measured heads are kept.")
    if now.state in ("failed", "died") and (tail := log_tail(folder)):
        st.code(owners.without_home(tail), language=None, wrap_lines=True)
    if now.state == "finished":
        return
    refused = owners.refusal(owners.me(), "measure")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Go on" if done else f"Measure all {heads} heads", key=f"{page}_effects_start", on_click=_start,
                  icon=":material/play_arrow:", args=[page, ckpt, corpus], disabled=bool(refused))
        st.caption((f"{done} of {heads} heads are measured. " if done else "")
                   + _expected(ckpt, folder, corpus, state.limit, heads - done)
                   + " It runs in the background: the page can be closed, and everybody sees the result.")
    if refused:
        st.warning(f"{figures.markdown_text(refused)}.")


def _left(folder: Path, heads: int) -> str | None:
    """The estimated time for the heads that are left."""
    seconds = [row["seconds"] for row in run_files.read(folder / "heads.jsonl")
               if isinstance(row.get("seconds"), int | float)]
    return duration(heads * float(np.median(seconds))) if seconds else None


def _expected(ckpt: Checkpoint, folder: Path, corpus: str | None, limit: int, heads: int) -> str:
    """The estimated time, from the heads measured before or from a few sentences timed now."""
    if left := _left(folder, heads):
        return f"The rest takes about {left} on this machine."
    if is_large(ckpt):
        return (f"It reads {limit:,} texts for each of the {heads} heads, which can take hours for a model of this "
                f"size; the time left is shown after the first head.")
    try:
        each = shelf("seconds").make((ckpt.id, corpus), "Estimating the time", partial(_probe, ckpt, corpus))
    except (ValueError, OSError) as error:
        return figures.markdown_text(f"Cannot be measured: {error}.")
    return f"It takes about {duration(each * limit * (heads + 1))} on this machine."


def _probe(ckpt: Checkpoint, corpus: str | None, work: Work) -> float:
    """Seconds for a held-out sentence."""
    sentences = held_out_sentences(ckpt, limit=PROBE, seed=None, name=corpus)
    took = []
    for _ in range(2):  # the first is a warm-up too
        work.watch()
        began = time.monotonic()
        measure(ckpt, sentences)
        took.append(time.monotonic() - began)
    return min(took) / len(sentences)


def _start(page: str, ckpt: Checkpoint, corpus: str | None) -> None:
    state = Switch(page)
    try:
        owners.require("measure")
        if named := corpus or (ckpt.description.train and ckpt.description.train.corpus):
            owners.require_corpus(named)  # also if the checkpoint names it
        (home() / "analysis").mkdir(parents=True, exist_ok=True)
        launch(ckpt.description.folder, home() / "analysis", what=state.what, limit=state.limit,
               corpus=corpus, owner=visitors.owner(), at_once=quotas.MEASUREMENTS)
    except (ValueError, OSError, CheckpointError) as error:
        state.effects_refused = str(error)
    state.switch_again = True


def _stop(page: str, folder: Path) -> None:
    try:
        owners.require("stop", owners.measurement_thing(folder))
        stop(folder)
    except (ValueError, OSError) as error:
        Switch(page).effects_refused = str(error)
    Switch(page).switch_again = True


def _show_effects(page: str, ckpt: Checkpoint, folder: Path, effects: HeadEffects, crossed: list[Head],
                  on_pick: Callable[[dict], None], *, dark: bool) -> None:
    """Maps of all kinds, on one scale for each measure; the numbers; and the file."""
    some = next(iter(effects.values.values()))
    measured = [name for name in ("change", "bleu_change", "accuracy_change") if name in some]
    baseline = ", ".join(f"{name if name != 'bleu' else 'BLEU'} {value:.4g}"
                         for name, value in effects.baseline.items())
    classes = not ckpt.config.decoder_layers
    source = (f"{origin(ckpt)} · {effects.n:,} {texts_of(ckpt)}"
              + ("" if classes else f", {effects.tokens:,} tokens to predict")
              + f" · unchanged: {baseline} · heads {CALLED[effects.what]}")
    each = "text" if classes else "token"
    st.markdown(_significant(effects, each))
    cards, values = [], []
    for name in measured:
        title, unit = OUTCOMES[name]
        unit = f"{unit} a {each}" if name == "change" else unit
        times = 100 if name == "accuracy_change" else 1
        limit = times * max(np.nanmax(np.abs(kinds[name]), initial=0, where=~np.isnan(kinds[name]))
                    for kinds in effects.values.values())
        for kind, kinds in effects.values.items():
            error = times * kinds[ERRORS[name]] if name in ERRORS else None
            cards.append(figures.change_card(name, kind, times * kinds[name], error,
                                             title=f"{title} · {kind}", unit=unit, limit=float(limit),
                                             worse="above" if name == "change" else "below"))
            values.append(times * kinds[name])
    show_head_maps(f"{page}_effect_maps", figures.head_maps(
        cards, alt=figures.describe_head_maps(cards, values), source=source, crossed=crossed, dark=dark,
        columns=max(2, len(effects.values))), on_pick, target=f"{page}_switches")
    st.caption("Each cell is the change when only that head is switched. Red is worse: higher loss, lower BLEU or "
               "accuracy. Dashed: within two standard errors, not distinguishable from zero; one in twenty heads "
               "without effect exceeds that by chance." + _without_errors(effects, measured)
               + " Striped: not measured yet. Click a head to switch it in the text above; a cross marks heads "
                 "switched there.")
    st.caption((LOSS_OF_CLASSES if classes else EXPLAINED["loss_change"])
               + (f" {EXPLAINED['bleu_change']}" if "bleu_change" in measured else ""))
    with st.expander("Numbers", key=f"{page}_switch_effects"):
        names = list(next(iter(effects.values.values())))
        st.html(figures.heads_table({name: {kind: kinds[name] for kind, kinds in effects.values.items()}
                                     for name in names}, caption=source, label="effects of the heads"))
        st.download_button("Download CSV", partial(as_csv, folder), f"heads-{effects.what}-{ckpt.id}.csv", "text/csv",
                           key=f"{page}_effect_csv", icon=":material/download:", on_click="ignore")


def _without_errors(effects: HeadEffects, measured: list[str]) -> str:
    """A sentence on changes that are not faint because their standard error is unknown."""
    if "bleu_change" in measured:
        return " BLEU has no standard error here, so nothing is dashed; a point or two is noise."
    if "accuracy_change" in measured and all(np.isnan(kinds["accuracy_se"]).all() for kinds in effects.values.values()):
        return (" This accuracy has no standard error, so nothing is dashed; a point or two is noise.")
    return ""


def _significant(effects: HeadEffects, each: str) -> str:
    """The number of heads that change the loss by two standard errors or more, and the largest change."""
    heads = [(kinds["change"][at], Head(kind, *map(int, at)), kinds["se"][at]) for kind in KINDS
             if (kinds := effects.values.get(kind)) is not None
             for at in np.ndindex(kinds["change"].shape) if np.isfinite(kinds["change"][at])]
    sure = sorted((one for one in heads if np.isfinite(one[2]) and abs(one[0]) >= 2 * one[2]), reverse=True)
    verb = "changes" if len(sure) == 1 else "change"
    message = f"**{len(sure)} of {len(heads)} heads** {verb} the loss by two standard errors or more."
    if sure and sure[0][0] > 0:
        change, (kind, layer, head), error = sure[0]
        message += (f" The largest loss is for {figures.markdown_text(kind)}, {figures.head_label(layer, head)}: "
                 f"{change:+.3f} ± {error:.3f} nats per {each}.")
    if better := [one for one in sure if one[0] < 0]:
        message += f" For {len(better)} of them, the loss is lower without."
    return message


def as_csv(folder: Path) -> str:
    """The rows of a measurement, as CSV."""
    return table_of(run_files.read(folder / "heads.jsonl"))



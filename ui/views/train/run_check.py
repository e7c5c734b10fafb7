"""The check before a run: its corpus, its size and time, and what does not fit."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import orjson
import streamlit as st
from pydantic import ValidationError

from transformer.basics.formatting import amount, duration, how_many, shorten, size
from transformer.jobs import checks
from transformer.jobs.queue import record
from transformer.settings.config import ModelConfig, RunConfig, TrainConfig
from transformer.settings.presets import preset as find_preset
from transformer.training.check import pieces
from ui import figures
from ui.access import owners, quotas, visitors
from ui.state.caches import chart, home
from ui.state.page_state import Kept, PageState

EVERY = 1.0  # seconds between two looks at a check that runs


class CheckState(PageState):
    """What is kept of a check."""

    check_refused: Kept[list[str] | None] = Kept(None)  # why it did not begin


def show_check(prefix: str, preset: str, settings: dict[str, object], device: str, *, faults: Sequence[str] = (),
               dark: bool) -> None:
    """Show the check of a run of `preset` with `settings` on `device`: the button, its progress, and its result.
    faults: why it cannot be checked yet, shown when the button is pressed."""
    faults = [*faults] or find_faults(find_preset(preset), settings)
    folder = check_folder(preset, settings, device)
    now = checks.status(folder)
    running = now.state == "running"
    with st.container(horizontal=True):
        st.button("Check again" if now.state == "done" else "Check", icon=":material/fact_check:",
                  key=f"{prefix}_check", on_click=_start, args=[prefix, folder, preset, settings, device, faults],
                  disabled=running, help="Reads the corpus, trains the tokenizer and takes a few steps on the device, "
                                         "without starting a run.")
        if running and owners.allowed("cancel", _thing(folder)):
            st.button("Cancel", icon=":material/close:", key=f"{prefix}_check_cancel", on_click=_cancel,
                      args=[prefix, folder])
    if refused := CheckState.check_refused.pop(prefix):
        st.error(listed("Not checked:", refused))
    if now.state == "none":
        st.caption("A check shows samples of the data, the size of the model, and the memory and time that training "
                   "takes. It does not start a run.")
    elif now.state == "died":
        st.error("The check ended without a result. Its last lines may say why; press Check to try again.")
        st.code(owners.without_home(now.log) or "(it printed nothing)", language=None, wrap_lines=True)
    elif running:
        st.fragment(_watch, run_every=EVERY)(folder)
    elif now.result is not None:
        show_result(prefix, now.result, dark=dark)


def find_faults(preset: RunConfig, settings: dict[str, object]) -> list[str]:
    """The faults of a preset with some settings changed, a sentence each."""
    faults, known = [], {*ModelConfig.model_fields, *TrainConfig.model_fields}
    for name in sorted(settings.keys() - known):
        similar = get_close_matches(name, known, n=1)
        faults.append(f"unknown setting {shorten(name, 60)}" + (f"; did you mean {similar[0]}?" if similar else ""))
    for part in (preset.model, preset.train):
        try:
            part.replace(**{name: value for name, value in settings.items() if name in type(part).model_fields})
        except ValidationError as error:
            faults += [_sentence(**one) for one in error.errors(include_url=False, include_context=False)]
    return faults


def _sentence(*, loc: tuple[str | int, ...], msg: str, input: object, **rest: object) -> str:
    """An error of pydantic as a sentence that begins with the setting's name."""
    name, text = ".".join(map(str, loc)), msg.removeprefix("Value error, ")
    if not name:
        return text
    value = shorten(orjson.dumps(input, default=str).decode(), 60)
    if text.startswith("Input should be"):
        return f"{name} {value}: it {text.removeprefix('Input ')}"
    return f"{name} {value}: {text[:1].lower()}{text[1:]}"


def listed(title: str, faults: Sequence[str]) -> str:
    """A title and one or several faults, as Markdown; each keeps its first letter, which may begin a name."""
    if len(faults) == 1:
        return f"{title} {_plain(faults[0])}"
    return "\n".join([title, "", *(f"- {_plain(fault)}" for fault in faults)])


def check_folder(preset: str, settings: dict[str, object], device: str) -> Path:
    """The folder of the check of a run."""
    return checks.folder_of(home() / "checks", preset, settings, device)


def _thing(folder: Path) -> owners.Thing:
    return owners.Thing("check", record(folder).get("owner"))


def _start(prefix: str, folder: Path, preset: str, settings: dict[str, object], device: str,
           faults: list[str]) -> None:
    if faults:
        CheckState(prefix).check_refused = faults
        return
    try:
        owners.require("check")
        owners.require_training({"corpus": find_preset(preset).train.corpus} | settings)
        checks.start_check(folder, preset, settings, device, owner=visitors.owner(), at_once=quotas.CHECKS,
                           seconds=quotas.CHECK_SECONDS if quotas.quotas_apply() else None)
    except ValueError as error:
        CheckState(prefix).check_refused = [str(error)]


def _cancel(prefix: str, folder: Path) -> None:
    try:
        owners.require("cancel", _thing(folder))
        checks.cancel(folder)
    except ValueError as error:
        CheckState(prefix).check_refused = [str(error)]


def _watch(folder: Path) -> None:
    """Show how far the check is; when it ends, the whole page is drawn again."""
    now = checks.status(folder)
    if now.state != "running":
        st.rerun()
    doing = now.log.splitlines()[-1] if now.log else "Loading PyTorch, a few seconds"
    st.markdown(f"**{_plain(doing)}** · {now.seconds:.0f} s")


def show_result(prefix: str, result: dict[str, Any], *, dark: bool) -> None:
    """Show the result of a check: problems first, then numbers, the data and the model."""
    for problem in result["problems"]:
        (st.error if problem["level"] == "error" else st.warning)(_plain(problem["text"]))
    _show_numbers(result)
    if result["preview"]:
        _show_data(prefix, result["preview"], dark=dark)
    _show_size(prefix, result, dark=dark)


def _show_numbers(result: dict[str, Any]) -> None:
    tokens, times, memory = result["tokens"], result["time"], result["memory"]
    with st.container(horizontal=True):
        st.metric("Parameters", f"{result['parameters']['total']:,}", width="content")
        st.metric("Memory", size(memory["total"]), width="content")
        if tokens:
            st.metric(f"{_plain(tokens['counted']).capitalize()} in all", amount(tokens["total"]), width="content")
            st.metric("Times the corpus", f"{tokens['epochs']:,.1f}", width="content")
        if times:
            st.metric("Expected time", duration(times["total"]), width="content")
    device = result["device"]
    where = device["name"] or device["device"]
    where += f" with {how_many(device['threads'], 'thread')}" if device["threads"] else ""
    if tokens:
        st.caption(f"{tokens['steps']:,} steps of {tokens['a_step']:,.0f} {_plain(tokens['counted'])} on average; "
                   f"one pass over the training part has {tokens['an_epoch']:,}.")
    if times:
        of = (f"{times['steps_timed']} real steps on {where}, without the first" if times["steps_timed"] else
              f"the first step on {where}, slower than the others")
        st.caption(f"Time by {_plain(of)}: {times['seconds_a_step']:.3g} s each (from {times['fastest']:.3g} to "
                   f"{times['slowest']:.3g}), with {duration(times['evaluation'])} for {times['evaluations']:,} "
                   "evaluations. Saving is not included; other work on the device slows it down.")


def _show_data(prefix: str, preview: dict[str, Any], *, dark: bool) -> None:
    corpus, splits, lengths = preview["corpus"], preview["splits"], preview["lengths"]
    st.header("The data", anchor=False)
    st.text(f"{corpus['name']}, {corpus['attribution']}, licence: {corpus['licence']}, sha256 {corpus['sha256'][:12]}…")
    left, right = st.columns(2)
    with left:
        st.html(figures.share_bar(splits, unit=preview["unit"], title="How it is split"))
        if "train_pairs" in preview:
            st.caption("Counting every translation of a source, the training set has "
                       f"{preview['train_pairs']:,} pairs.")
        if preview["validation_from"] == "train":
            st.caption("Nothing is held out: the loss is measured on the training set.")
        for line in _coverage(preview["coverage"]):
            st.markdown(line)
        st.markdown(_left_out(preview))
    with right:
        st.vega_lite_chart(
            chart(figures.length_histogram, lengths, max_len=preview["max_len"], dark=dark,
                  title="How long the training texts are", source=f"in pieces, each {' and '.join(lengths)}"),
            key=f"{prefix}_check_lengths", width="stretch",
            alt=figures.describe_lengths(lengths, max_len=preview["max_len"]))
    if classes := preview.get("classes"):
        counts = {row["name"]: row["texts"] for row in classes}
        shown = {name: f"{count:,}" for name, count in counts.items()}
        st.vega_lite_chart(chart(figures.amount_bars, counts, texts=shown, title="Training texts of each class",
                                 dark=dark),
                           key=f"{prefix}_check_classes", width="stretch",
                           alt=figures.describe_amounts(counts, what="Training texts of each class"))
    st.markdown(f"**{len(preview['samples'])} random samples of the training set**: the text, its pieces, their ids, "
                f"and the text decoded from the ids.")
    for number, sample in enumerate(preview["samples"], start=1):
        st.html(figures.sample_card(sample["parts"], label=sample.get("label", ""), number=number))
    st.caption("␣ is a space, ↵ a new line. Dashed in red: not in the vocabulary.")


def _show_size(prefix: str, result: dict[str, Any], *, dark: bool) -> None:
    st.header("The model", anchor=False)
    parts, memory = result["parameters"]["parts"], result["memory"]
    kept = {name: memory[name] for name in ("weights", "gradients", "optimizer", "activations")}
    kept["activations and the rest"] = kept.pop("activations")
    how = f"measured in {memory['measured_steps']} steps" if memory["measured_steps"] else "estimated, not measured"
    left, right = st.columns(2)
    with left:
        shown = {name: f"{count:,}" for name, count in parts.items()}
        st.vega_lite_chart(chart(figures.amount_bars, parts, texts=shown, title="Parameters by part", dark=dark,
                                 source=f"{result['parameters']['total']:,} in all"),
                           key=f"{prefix}_check_parts", width="stretch",
                           alt=figures.describe_amounts(parts, what="Parameters by part"))
        if not parts.get("output"):
            st.caption("The output shares the embeddings' matrix.")
    with right:
        shown = {name: size(count) for name, count in kept.items()}
        there = f" of {size(memory['available'])} available" if memory["available"] is not None else ""
        st.vega_lite_chart(chart(figures.amount_bars, kept, texts=shown, title="Memory of training", dark=dark,
                                 source=f"{size(memory['total'])}{there}; {how}"),
                           key=f"{prefix}_check_memory", width="stretch",
                           alt=figures.describe_amounts(kept, texts=shown, what="Memory of training"))
        if cut := pieces(result):
            st.caption(f"Batches are processed in pieces of {cut:,} positions: same result, less memory.")


def _coverage(coverage: dict[str, dict[str, Any]]) -> list[str]:
    """What each vocabulary covers, a sentence each."""
    lines = []
    for side, use in coverage.items():
        of = "" if side in ("text", "both sides") else f" of the {_plain(side)}"
        line = f"The vocabulary{of} has **{use['vocab_size']:,}** pieces; the training set uses " \
               f"{use['used']:,} of the {use['pieces']:,} ordinary ones."
        if use["unknown_share"] is not None:
            line += f" Unknown: **{use['unknown_share']:.2%}** of {use['held_out']:,} held-out pieces."
        lines.append(line)
    return lines


def _left_out(preview: dict[str, Any]) -> str:
    """How much max_len leaves out or cuts."""
    left, max_len = preview["left_out"], preview["max_len"]
    if left["how"] == "read in windows":
        return f"The text is read in windows of **{max_len:,}** pieces, so nothing is cut off."
    return (f"At max_len {max_len:,}, **{left['share']:.1%}** of the training set is {_plain(left['how'])} "
            f"({left['count']:,} of {left['of']:,}). 99% have at most {left['takes_in_99']:,} tokens.")


def _plain(text: str) -> str:
    return figures.markdown_text(text)

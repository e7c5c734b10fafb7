"""Patching: which place of a model carries what distinguishes two texts."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
import torch

from transformer.analysis.ablation import all_heads
from transformer.analysis.patching import (
    ATTRIBUTION,
    EXPLAINED,
    METRICS,
    PARTS,
    PATHS,
    EstimateError,
    Estimates,
    TextPair,
    estimate,
    patch_heads,
    patch_path,
    patch_positions,
    patched,
    read_pair,
    run_again,
)
from transformer.analysis.token_inputs import TokenInputs, inputs_of_text
from transformer.basics.formatting import enumerated
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import pairs_of
from transformer.inference.decoding import steps
from transformer.inference.prompts import prompt
from transformer.model.sites import find_place, label
from transformer.settings.config import Kind
from ui import figures
from ui.choices.head import caption_of, origin, plain_name
from ui.choices.text_box import as_learned
from ui.components.head_maps import show_head_maps
from ui.page.link import Field, choice, opened, optional, quiet, switch
from ui.page.plain_text import say_error
from ui.page.presentation import columns, presenting
from ui.page.text_limits import PASSAGE, taken
from ui.state.work_queue import may_begin
from ui.views.heads.page_layout import behind
from ui.views.heads.prediction import Answer, Prediction, kept, worth_seeing

HEADS = "heads"
SHOWN = {**{part: name.capitalize() for part, name in PARTS.items()}, HEADS: "Heads"}
FURTHER = 40  # tokens that are written, to see what becomes of the text
MOST_HEADS = 64  # along whose paths is patched
Cell = tuple[Kind, int, int]  # kind, layer, and a position or a head


def _cell(text: str) -> tuple[str, int, int]:
    kind, layer, at = text.split("-")
    return kind, int(layer), int(at)


def _heads(text: str) -> list[str]:
    return [part for part in text.split(",")[:MOST_HEADS] if part]


def _labels() -> Field:
    """Heads by their labels, such as E2H1."""
    return Field(None, _heads, lambda heads: None if heads is None else ",".join(heads))


FIELDS = {
    "other": Field("", str, lambda value: value or None, long=True), "part": choice("resid_pre", list(SHOWN)),
    "metric": choice("difference", list(METRICS)),
    "along": opened(), "senders": _labels(), "receivers": _labels(), "through": quiet(switch(True)),
    "cell": optional(Field(None, _cell, lambda cell: "-".join(map(str, cell))))}


def show_patching(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The other text, a map for each stack or kind, and what the other text becomes with one cell of the clean one."""
    ckpt = prediction.ckpt
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_patching_line"):
        st.markdown("Which place carries the difference?", width="content", help=EXPLAINED)
        with st.container():
            other = _type_other(page, prediction)
        with st.popover("Measure", key=f"{page}_patching_settings"):
            metric = st.radio("What is brought back", list(METRICS), key=f"{page}_metric", format_func=METRICS.get)
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_part_line"):
        part = _choose_part(page, ckpt)
        _offer_pairs(page, prediction)
    if other.strip() == prediction.answer.text.strip() or not other.strip():
        st.info("Change a word of the second text. The model then reads it with one vector of the first text in place "
                "of its own, and you see where that brings the first result back.")
        return
    key = (*prediction.key, other, metric)
    try:
        pair = kept(page, "pair", key, "Reading both texts", lambda work: read_pair(
            prediction.read, _other_inputs(prediction, other), metric=metric, token=prediction.token,
            position=_position(prediction)))
        kinds = _kinds(ckpt, part)
        cells = sum(ckpt.config.layers(kind) * len(_across(pair, kind, part)) for kind in kinds)
        exact = may_begin(ckpt, f"{page}_patch", (*key, part), "Compute the exact map", reads=cells,
                          more="Until then the map below is the quick estimate (attribution patching).")
        estimated = kept(page, "estimates", key, "Estimating", lambda work: estimate(pair))
        maps = _of_part(estimated, kinds, part)
        if exact:
            maps = kept(page, "maps", (*key, part), "Patching", lambda work: _maps(pair, kinds, part, work.watch))
    except ValueError as error:
        say_error(error)
        return
    chosen = _chosen_cell(page, pair, maps, part)
    left, right = columns(page, [5, 4], gap="medium")
    with left:
        _say_difference(prediction, pair, estimated=not exact)
        _show_maps(page, pair, maps, part, chosen, dark=dark)
    with right, st.container(key=f"{page}_patched"):
        _show_cell(page, prediction, pair, other, part, chosen, maps, dark=dark)
    if exact:
        with behind(page, "estimate", "The quick estimate beside the exact map") as is_open:
            if is_open:
                _show_errors(maps, _of_part(estimated, kinds, part))
    with behind(page, "along", "Along paths: from some heads to others") as is_open:
        if is_open:
            _show_paths(page, key, pair, estimated)


def _choose_part(page: str, ckpt: Checkpoint) -> str:
    """Draws the chooser of what is patched, of the parts that the model has."""
    state, key, parts = st.session_state, f"{page}_part", [part for part in SHOWN if _kinds(ckpt, part)]
    if state.get(key) not in parts:
        state[key] = parts[0]
    st.segmented_control("What is patched", parts, key=key, format_func=SHOWN.__getitem__, required=True,
                         label_visibility="collapsed")
    return state[key]


def decided(result: Answer) -> int:
    """The position at which a pair of texts differs most: of a text that is gone on with the first token written."""
    return min(result.typed, len(result.predicted) - 1) if result.typed else worth_seeing(result)


def _type_other(page: str, prediction: Prediction) -> str:
    """Draws the box for the other text, which begins as the one known to differ in a word, else as the same text."""
    key, state, text = f"{page}_other", st.session_state, prediction.answer.text
    if not state.get(key):
        state[key] = dict(pairs_of(prediction.ckpt)).get(text, text)
    ckpt, hint = prediction.ckpt, "The same with another word"
    if ckpt.config.task == "translation":
        typed = taken(st.text_input("The other text", key=key, placeholder=hint), PASSAGE)
    else:
        typed = taken(st.text_area("The other text", key=key, height=68, placeholder=hint), PASSAGE)
    return as_learned(ckpt, typed, say=True)


def _offer_pairs(page: str, prediction: Prediction) -> None:
    """Buttons for pairs of texts that this model tells apart."""
    pairs = [pair for pair in pairs_of(prediction.ckpt)
             if pair != (prediction.answer.text, st.session_state.get(f"{page}_other"))]
    if not pairs:
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_pairs", width="content"):
        for at, pair in enumerate(pairs):
            st.button(figures.markdown_text(_short(*pair)), key=f"{page}_pair_{at}", type="tertiary",
                      on_click=partial(_take_pair, page, pair))


def _short(clean: str, other: str) -> str:
    """Both texts in few words: what they differ in, with a word before it."""
    one, two = clean.split(), other.split()
    differ = [at for at, words in enumerate(zip(one, two, strict=False)) if words[0] != words[1]]
    first, last = (differ[0], differ[-1]) if differ else (0, 0)
    words = ["…"] * (first > 2) + one[max(0, first - 2):last + 1] + ["/"] + two[first:last + 1]
    return " ".join(words + ["…"] * (last + 1 < len(one)))


def _take_pair(page: str, pair: tuple[str, str]) -> None:
    state = st.session_state
    state[f"{page}_text"], state[f"{page}_other"] = pair
    for name in ("position", "class", "against", "cell"):
        state[f"{page}_{name}"] = None
    state[f"{page}_target"] = ""


def _position(prediction: Prediction) -> int:
    return prediction.position if prediction.answer.masked else -1


def _other_inputs(prediction: Prediction, text: str) -> TokenInputs:
    """The other text, read as the first is: with the same translation so far, or what followed the typed text."""
    read, ckpt = prediction.read, prediction.ckpt
    if read.tgt is None:
        return inputs_of_text(ckpt, text)
    if read.src is not None:
        return replace(read, src=prompt(ckpt, text)[0])
    typed, length = len(prediction.answer.pieces), read.tgt.shape[1]
    ids = torch.tensor([ckpt.source_tokenizer.encode(text)], device=ckpt.device)
    return replace(read, tgt=torch.cat([ids, read.tgt[:, typed:]], dim=1)[:, :length] if ids.shape[1] == typed else ids)


def _kinds(ckpt: Checkpoint, part: str) -> list[Kind]:
    """The kinds that have a part, in the order of a layer."""
    found: list[Kind] = []
    for kind in ckpt.config.kinds:
        try:
            find_place(ckpt.config, f"{kind}.0.{'z' if part == HEADS else part}")
        except ValueError:
            continue
        if kind != "cross" or part in (HEADS, "attn_out"):
            found.append(kind)
    return found


def _across(pair: TextPair, kind: Kind, part: str) -> list[str]:
    """The tokens that stand across a map of the other text; the numbers of heads."""
    if part == HEADS:
        return [str(head) for head in range(pair.ckpt.config.n_heads)]
    read = pair.tokens("encoder" if kind == "encoder" else "decoder")
    return [one if one == other else f"{one}/{other.removeprefix('▁')}" for one, other in zip(*read, strict=True)]


def _maps(pair: TextPair, kinds: list[Kind], part: str, watch) -> dict[Kind, np.ndarray]:
    """The exact map of each kind (L, T) or (L, H)."""
    sizes = {kind: pair.ckpt.config.layers(kind) * len(_across(pair, kind, part)) for kind in kinds}
    out, before = {}, 0
    for kind in kinds:
        def report(done: int, of: int, before: int = before) -> None:
            watch(before + done, sum(sizes.values()))

        out[kind] = (patch_heads(pair, kind, watch=report) if part == HEADS else
                     patch_positions(pair, kind, part, watch=report)).numpy()
        before += sizes[kind]
    return out


def _of_part(estimates, kinds: list[Kind], part: str) -> dict[Kind, np.ndarray]:
    return {kind: (estimates.heads[kind] if part == HEADS else estimates.positions[kind, part]).numpy()
            for kind in kinds}


def _chosen_cell(page: str, pair: TextPair, maps: Mapping[Kind, np.ndarray], part: str) -> Cell:
    """The cell that was clicked; the strongest if none was, or this map has it not."""
    key = f"{page}_cell"
    cell = st.session_state.get(key)
    if cell is None or cell[0] not in maps or not (
            0 <= cell[1] < maps[cell[0]].shape[0] and 0 <= cell[2] < maps[cell[0]].shape[1]):
        kind = max(maps, key=lambda kind: maps[kind].max())
        layer, at = np.unravel_index(maps[kind].argmax(), maps[kind].shape)
        return kind, int(layer), int(at)
    return cell


def _clicked(page: str, pick: dict) -> None:
    st.session_state[f"{page}_cell"] = (pick["kind"], pick["layer"], pick["head"])


def _bold(name: str) -> str:
    return f"**{figures.markdown_text(name)}**"


def _say_difference(prediction: Prediction, pair: TextPair, *, estimated: bool) -> None:
    """The metric of both texts, and what a cell says."""
    metric, (start, end) = pair.metric, pair.from_to
    token = _bold(prediction.name(metric.token))
    what = {"difference": f"{token} rather than {_bold(prediction.name(metric.against or 0))}",
            "probability": f"the probability of {token}", "kl": "the distance from the first prediction"}[metric.name]
    numbers = [figures.some_percent(value) if metric.name == "probability" else figures.signed_number(value)
               for value in (end, start)]
    st.markdown(f"{what[0].upper()}{what[1:]}: {numbers[0]} after the first text, {numbers[1]} after the second. "
                f"1 means: fully restored. Click a cell." + (" *Estimated.*" if estimated else ""))


def _show_maps(page: str, pair: TextPair, maps: Mapping[Kind, np.ndarray], part: str, chosen: Cell, *,
               dark: bool) -> None:
    limit = max(1.0, *(float(np.abs(values).max()) for values in maps.values()))
    cards = [figures.change_card(
        part, kind, values, None, unit=f"{SHOWN[part].lower()}, share that comes back", limit=limit,
        ends=("further away", "back"), title=kind.capitalize(),
        tokens=None if part == HEADS else _across(pair, kind, part)) for kind, values in maps.items()]
    show_head_maps(f"{page}_patch_maps", figures.head_maps(
        cards, alt=figures.describe_head_maps(cards, list(maps.values())), source=plain_name(pair.ckpt),
        origin=origin(pair.ckpt), chosen=chosen, columns=2, dark=dark), partial(_clicked, page),
        target=f"{page}_patched")


def _show_cell(page: str, prediction: Prediction, pair: TextPair, other: str, part: str, chosen: Cell,
               maps: Mapping[Kind, np.ndarray], *, dark: bool) -> None:
    """What the other text becomes with this cell from the clean one: the probabilities, and what is written."""
    kind, layer, at = chosen
    change = patched(pair, f"{kind}.{layer}.{'z' if part == HEADS else part}", rows=None if part == HEADS else [at],
                     heads=[at] if part == HEADS else None)
    place = (f"{kind}, {figures.head_label(layer, at)}" if part == HEADS else
             f"{kind}, layer {layer}, position {at}")
    found = kept(page, "patched", (*prediction.key, other, part, chosen), "Decoding", lambda work: (
        pair.logits(run_again(pair.other, [change])).softmax(-1), _written(prediction, other, change, work.watch)))
    after, (as_it_is, then) = found
    st.markdown(f"The second text with **{figures.markdown_text(place)}** of the first: "
                f"**{figures.signed_number(float(maps[kind][layer, at]))}** comes back.")
    names = [id for id in (pair.metric.token, pair.metric.against) if id is not None]
    columns = {"first text": pair.logits(pair.clean).softmax(-1), "second text": pair.logits(pair.other).softmax(-1),
               "second, patched": after}
    if presenting(page):  # three do not fit there
        del columns["first text"]
    for values in columns.values():
        best = int(values.argmax())
        if best not in names:
            names.append(best)
    st.html(figures.bar_table(
        [prediction.name(id) for id in names],
        {name: [float(values[id]) for id in names] for name, values in columns.items()},
        caption_of(pair.ckpt, "Probability of what comes next"), dark=dark, corner="class" if prediction.classifies else
        "token", tokens=False))
    if as_it_is is not None:
        st.markdown("The second text" + (" becomes" if prediction.ckpt.config.task == "translation" else " goes on"))
        st.text(as_it_is)
        st.markdown("and with this cell" + (" the same." if as_it_is == then else ""))
        if as_it_is != then:
            st.text(then)


def _written(prediction: Prediction, other: str, change, watch) -> tuple[str | None, str | None]:
    """What is written after the other text, as it is and patched; None for a model that writes nothing."""
    if not prediction.ckpt.config.decoder_layers:
        return None, None
    outputs = []
    for changes in (None, [change]):
        path = []
        for step in steps(prediction.ckpt, other, max_steps=FURTHER, change=changes):
            path.append(step)
            watch()
        outputs.append(path[-1].output)
    return outputs[0], outputs[1]


def _show_paths(page: str, key: tuple, pair: TextPair, estimated: Estimates) -> None:
    """Some heads, what they reach, and how much of the first result comes back along these paths alone."""
    labels = [label(*head) for head in all_heads(pair.ckpt.config)]
    kind = max(estimated.heads, key=lambda kind: float(estimated.heads[kind].max()))
    strongest = label(kind, *divmod(int(estimated.heads[kind].argmax()), estimated.heads[kind].shape[1]))
    for name, first in (("senders", [strongest]), ("receivers", [])):
        chosen = st.session_state.get(f"{page}_{name}")
        st.session_state[f"{page}_{name}"] = first if chosen is None else [one for one in chosen if one in labels]
    st.markdown(PATHS)
    left, right = st.columns(2)
    senders = left.multiselect("From", labels, key=f"{page}_senders", max_selections=MOST_HEADS, placeholder="Heads")
    receivers = right.multiselect("To", labels, key=f"{page}_receivers", max_selections=MOST_HEADS,
                                  placeholder="The output")
    through = st.toggle("Through feed-forward parts too", key=f"{page}_through")
    if not senders:
        st.info("Choose a head from which paths begin.")
        return
    value = kept(page, "path", (*key, *senders, None, *receivers, through), "Patching", lambda work: patch_path(
        pair, senders, receivers, feed_forward=through))
    to = enumerated(receivers) if receivers else "the output"
    st.markdown(f"From {enumerated(senders)} to {to}: **{figures.signed_number(value)}** comes back.")


def _show_errors(maps: Mapping[Kind, np.ndarray], estimated: Mapping[Kind, np.ndarray]) -> None:
    """How far the estimate is from the exact map."""
    rows = []
    for kind, values in maps.items():
        error = EstimateError.of(torch.from_numpy(estimated[kind]), torch.from_numpy(values))
        rows.append([kind, f"{error.largest:.3f}", f"{error.mean:.3f}",
                     "–" if np.isnan(error.correlation) else f"{error.correlation:.3f}"])
    st.markdown(ATTRIBUTION)
    st.html(figures.plain_table(["map", "largest error", "mean error", "correlation"], rows, numbers=(1, 2, 3),
                                label="errors of the estimate"))


"""The logit lens: what the model would predict if it stopped at each layer."""

from collections.abc import Callable
from math import log

import numpy as np
import streamlit as st

from transformer.analysis.lens import EXPLAINED, EXPLAINED_OF_CLASSES, Lens, read_layers
from transformer.analysis.tuned_lens import EXPLAINED as TUNED
from transformer.analysis.tuned_lens import TunedLens
from ui import figures
from ui.choices.head import caption_of, origin
from ui.page.link import choice, opened
from ui.page.plain_text import say_error
from ui.page.presentation import columns
from ui.state.caches import chart, tuned_lens
from ui.views.heads.page_layout import behind
from ui.views.heads.prediction import Prediction, kept

COLUMNS, STRIDE = 12, 6  # positions shown at once, and how far the window jumps
TOP = 5
READING = "Reading every layer"
COLOURS = {"likeliest": "its own probability", "said": "probability of the next token",
           "rank": "rank of the next token", "entropy": "entropy", "divergence": "distance from the output (KL)"}
LENSES = {"logit": "Logit lens", "tuned": "Tuned lens"}
FIELDS = {"colour": choice("likeliest", list(COLOURS)), "lens": choice("logit", list(LENSES)), "depths": opened()}


def show_lens(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The table of depths by positions; of the one asked about the curves and the likeliest tokens by depth."""
    tuned = tuned_lens(prediction.ckpt)
    if tuned is None:
        st.session_state[f"{page}_lens"] = "logit"
    elif st.session_state[f"{page}_lens"] == "logit":
        tuned = None
    try:
        lens, column = _window(page, prediction, tuned)
    except ValueError as error:
        say_error(error)
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_lens_line"):
        st.markdown("Its prediction after each layer", width="content", help=TUNED if tuned is not None else
                    EXPLAINED_OF_CLASSES if prediction.classifies else EXPLAINED)
        if tuned_lens(prediction.ckpt) is not None:
            st.segmented_control("Lens", list(LENSES), key=f"{page}_lens", required=True, format_func=LENSES.get,
                                 label_visibility="collapsed")
        with st.popover("Shading", key=f"{page}_lens_settings"):
            colour = st.segmented_control("Shade by", list(COLOURS), key=f"{page}_colour", required=True,
                                          format_func=lambda name: COLOURS[name].replace(
                                              "next token", _what(prediction)))
    left, right = columns(page, [3, 2], gap="medium")
    with left, st.container(key=f"{page}_lens_table"):
        st.html(_table(lens, prediction, column, colour=colour, dark=dark))
    with right, st.container(key=f"{page}_lens_one"):
        _show_candidates(lens, prediction, column, dark=dark)
    with behind(page, "depths", "Its probability and rank, drawn") as is_open:
        if is_open:
            _show_curves(page, lens, prediction, column, dark=dark)


def _window(page: str, prediction: Prediction, tuned: TunedLens | None) -> tuple[Lens, int]:
    """The positions around the one asked about, each followed by its own token, and which column that is."""
    if prediction.classifies:
        return kept(page, "lens", prediction.key, READING, lambda work: read_layers(
            prediction.read, count=TOP, follow=prediction.token)), 0
    predicted = prediction.answer.predicted
    first = max(0, min(prediction.position // STRIDE * STRIDE - COLUMNS // 4, len(predicted) - COLUMNS))
    positions = list(range(first, min(first + COLUMNS, len(predicted))))
    # positions count from the text's beginning and see nothing after them: one pass over all of it serves them all
    return kept(page, "lens", (*prediction.of, first, tuned is not None), READING, lambda work: read_layers(
        prediction.answer.whole, count=TOP, positions=positions, follow=[predicted[at] for at in positions],
        tuned=tuned)
    ), prediction.position - first


def _table(lens: Lens, prediction: Prediction, column: int, *, colour: str, dark: bool) -> str:
    answer, classes = prediction.answer, prediction.classifies
    size = prediction.ckpt.config.n_classes if classes else prediction.ckpt.config.vocab_size
    values, shades, texts, scale = _shaded(lens, colour, size)
    labels = answer.whole.labels(answer.side)
    read = ["the whole text"] if classes else [labels[at] for at in lens.positions]
    cells = [[figures.DepthCell(lens.labels[id], value, shade, texts(value), id == final)
              for id, value, shade, final in zip(ids, *lines, lens.final.tolist(), strict=True)]
             for ids, *lines in zip(lens.ids[..., 0].tolist(), values.tolist(), shades.tolist(), strict=True)]
    columns = [figures.DepthColumn(position, token, lens.labels[id])
               for position, token, id in zip(lens.positions, read, lens.final.tolist(), strict=True)]
    return figures.depth_table(
        cells, columns, caption_of(prediction.ckpt, f"The likeliest {_what(prediction)} at each depth"), scale=scale,
        after="is asked about" if classes else "fits there" if answer.masked else "comes next",
        chosen=column, classes=classes, dark=dark)


def _what(prediction: Prediction) -> str:
    return "class" if prediction.classifies else "token" if prediction.answer.masked else "next token"


def _shaded(lens: Lens, colour: str, size: int
            ) -> tuple[np.ndarray, np.ndarray, Callable[[float], str], tuple[str, str]]:
    """The numbers, their shades, how they are written, and the names of the ends of the scale."""
    if colour == "likeliest":
        values = lens.probabilities[..., 0].numpy()
        return values, values, figures.some_percent, ("0%", "100%")
    if colour == "said":
        values = lens.probability.numpy()
        return values, np.sqrt(values), figures.some_percent, ("0%", "100%, shades by the square root")
    if colour == "rank":
        values = lens.rank.numpy()
        return values, 1 - np.log(values) / log(size), "{:,}".format, (
            f"rank {size:,}", "rank 1, shades by its logarithm")
    values = np.maximum(0, (lens.entropy if colour == "entropy" else lens.divergence).numpy())
    most = log(size) if colour == "entropy" else max(float(values.max()), 1e-6)
    high = f"ln {size:,} = {most:.2f} nats, uniform" if colour == "entropy" else f"{most:.2f} nats"
    return values, values / most, "{:.2f}".format, ("0 nats", high)


def _show_candidates(lens: Lens, prediction: Prediction, column: int, *, dark: bool) -> None:
    """The likeliest tokens of the chosen position at each depth, and the rank and probability of its own token."""
    numbers = (each[:, column].tolist() for each in (lens.rank, lens.probability, lens.entropy, lens.divergence))
    st.html(figures.depth_candidates(
        [lens.top(depth, column) for depth in range(len(lens.ids))], figures.Following(prediction.token, *numbers),
        caption_of(prediction.ckpt, f"“{prediction.name(prediction.token)}” at each depth"),
        classes=prediction.classifies, dark=dark))


def _show_curves(page: str, lens: Lens, prediction: Prediction, column: int, *, dark: bool) -> None:
    ranks, probabilities = lens.rank[:, column].tolist(), lens.probability[:, column].tolist()
    name, source = prediction.name(prediction.token), origin(prediction.ckpt)
    where = "at" if prediction.answer.masked else "after"
    after = "" if prediction.classifies else f" {where} position {prediction.position}"
    alt = f"'{name}'{after}. {figures.describe_depths(ranks, probabilities)}"
    for place, which, curve, log_scale in zip(st.columns(2), ("probability", "rank"), (probabilities, ranks),
                                              (False, True), strict=True):
        place.vega_lite_chart(chart(
            figures.lines, {name: curve}, across="depth: layers applied",
            up=f"{which}, log scale" if log_scale else which, log=log_scale, down=log_scale, zero=not log_scale,
            title=f"{which.capitalize()} of “{name}”{after}" + ", 1 is the likeliest" * log_scale, source=source,
            height=300, dark=dark), key=f"{page}_lens_{which}", alt=alt)

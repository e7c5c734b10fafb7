"""The lenses: what the model would predict at each layer, and what a decoder would say of each source token."""

from collections.abc import Callable
from math import log

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.jacobian_lens import EXPLAINED as JACOBIAN
from transformer.analysis.jacobian_lens import EXPLAINED_OF_SOURCE, PREDICTIONS, JacobianLens
from transformer.analysis.lens import EXPLAINED, EXPLAINED_OF_CLASSES, PLAIN_SOURCE, Lens, read_layers, read_source
from transformer.analysis.tuned_lens import EXPLAINED as TUNED
from transformer.analysis.tuned_lens import TunedLens
from transformer.checkpoints.checkpoint import Checkpoint
from ui import figures
from ui.choices.head import caption_of, origin
from ui.choices.held_out_corpus import readable, say_missing
from ui.page.link import choice, opened, optional, settle, whole
from ui.page.plain_text import say_error
from ui.page.presentation import columns
from ui.state.caches import chart, fitted_jacobian_lens, jacobian_lens, tuned_lens
from ui.state.page_state import PageState
from ui.state.work_queue import may_begin
from ui.views.heads.page_layout import behind
from ui.views.heads.prediction import FEW, MOST, Prediction, kept, pill

COLUMNS, STRIDE = 12, 6  # positions shown at once, and how far the window jumps
TOP = 5
READING = "Reading every layer"
COLOURS = {"likeliest": "its own probability", "said": "probability of the next token",
           "rank": "rank of the next token", "entropy": "entropy", "divergence": "distance from the output (KL)"}
LENSES = {"logit": "Logit lens", "tuned": "Tuned lens", "jacobian": "Jacobian lens"}
STATES = {"decoder": "At the decoder", "source": "From the source"}
class LensState(PageState):
    """What is kept of this view: the lens, its shading, whose states, and the token of the source that is looked at."""

    colour = choice("likeliest", list(COLOURS))
    lens = choice("logit", list(LENSES))
    depths = opened()
    states = choice("decoder", list(STATES))
    source = optional(whole(0, 0, MOST))


def show_lens(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The table of depths by positions; of the one asked about the curves and the likeliest tokens by depth."""
    state, config = LensState(page), prediction.ckpt.config
    offered = ["logit", *["tuned"] * (tuned_lens(prediction.ckpt) is not None),
               *["jacobian"] * bool(config.decoder_layers)]
    if state.lens not in offered:
        state.lens = "logit"
    line = st.container(horizontal=True, vertical_alignment="center", key=f"{page}_lens_line")
    with line:
        title = st.container(width="content", key=f"{page}_lens_title")
        name = "logit"
        if len(offered) > 1:
            st.segmented_control("Lens", offered, key=LensState.lens.key(page), required=True,
                                 format_func=LENSES.__getitem__, label_visibility="collapsed")
            name = state.lens
        of_source = False
        if config.decoder_layers and config.encoder_layers and name != "tuned":
            of_source = st.segmented_control("States", list(STATES), key=LensState.states.key(page), required=True,
                                             format_func=STATES.__getitem__, label_visibility="collapsed") == "source"
    jacobian = None
    try:
        waits = name == "jacobian" and (jacobian := _jacobian(page, prediction.ckpt)) is None
        title.markdown("What the decoder would say because of each token" if of_source else
                       "The prediction after each layer",
                       help=_explained(prediction, name, jacobian, of_source=of_source))
        if waits:
            return
        if of_source:
            _show_source(page, prediction, line, jacobian, dark=dark)
            return
        lens, column = _window(page, prediction, name, tuned_lens(prediction.ckpt) if name == "tuned" else jacobian)
    except (ValueError, OSError) as error:
        say_error(error)
        return
    with line:
        colour = _choose_colour(page, prediction, list(COLOURS))
    left, right = columns(page, [5, 4], gap="medium")
    with left, st.container(key=f"{page}_lens_table"):
        st.html(_table(lens, prediction, column, colour=colour, dark=dark))
    with right, st.container(key=f"{page}_lens_one"):
        _show_candidates(lens, prediction, column, dark=dark)
    with behind(page, "depths", "Its probability and rank, drawn") as is_open:
        if is_open:
            _show_curves(page, lens, prediction, column, dark=dark)


def _explained(prediction: Prediction, name: str, jacobian: JacobianLens | None, *, of_source: bool) -> str:
    """What the chosen lens shows and does not show."""
    if name == "jacobian":
        about = "" if jacobian is None else f" It is the {jacobian.about}."
        return (EXPLAINED_OF_SOURCE if of_source else JACOBIAN) + figures.markdown_text(about)
    if of_source:
        return PLAIN_SOURCE
    return TUNED if name == "tuned" else EXPLAINED_OF_CLASSES if prediction.classifies else EXPLAINED


def _choose_colour(page: str, prediction: Prediction, colours: list[str]) -> str:
    """Draws the chooser of the number that shades the cells."""
    if LensState(page).colour not in colours:
        LensState(page).colour = colours[0]
    with st.popover("Shading", key=f"{page}_lens_settings"):
        st.segmented_control("Shade by", colours, key=LensState.colour.key(page), required=True,
                             format_func=lambda name: COLOURS[name].replace("next token", _what(prediction)))
    return LensState(page).colour


def _jacobian(page: str, ckpt: Checkpoint) -> JacobianLens | None:
    """The Jacobian lens of a model, fitted now if nobody has had it fitted; None, with a message, where it waits for a
    button or for a text. Raises ValueError."""
    if (lens := jacobian_lens(ckpt)) is not None:
        return lens
    if not (corpora := readable(ckpt)):
        say_missing(ckpt)
        return None
    if not may_begin(ckpt, f"{page}_jacobian", (ckpt.id,), "Fit the Jacobian lens",
                     reads=ckpt.config.d_model * PREDICTIONS // 128,
                     more="This is done once, and everyone then has it."):
        return None
    settle()
    return fitted_jacobian_lens(ckpt, corpora[0])


def _show_source(page: str, prediction: Prediction, line: DeltaGenerator, through: JacobianLens | None, *,
                 dark: bool) -> None:
    """The table of encoder depths by source tokens; of one of them the likeliest tokens by depth."""
    answer, ckpt = prediction.answer, prediction.ckpt
    of = *prediction.of, prediction.token, through is None
    lens = kept(page, "source_lens", of, READING, lambda work: read_source(
        answer.whole, count=TOP, follow=prediction.token, through=through))
    tokens = answer.whole.labels("src")
    with line:
        colour = _choose_colour(page, prediction, ["likeliest", "said", "rank", "entropy"])
    left, right = columns(page, [5, 4], gap="medium")
    with right, st.container(key=f"{page}_lens_one"):
        chosen = _choose_source(page, lens, tokens)
        first = max(0, min(chosen // STRIDE * STRIDE - COLUMNS // 4, len(tokens) - COLUMNS))
        part, column = lens.columns(first, first + COLUMNS), chosen - first
        st.html(figures.depth_candidates(
            [part.top(depth, column) for depth in range(len(part.ids))],
            _followed(part, prediction, column, divergence=False),
            caption_of(ckpt, f"“{figures.plain_label(tokens[chosen])}” read at each depth; "
                             f"followed: “{prediction.name(prediction.token)}”"), dark=dark))
    said = {_word(ckpt.tokenizer.piece(id) if ckpt.tokenizer else str(id)) for id in answer.predicted}
    values, shades, texts, scale = _shaded(part, colour, ckpt.config.vocab_size)
    cells = [[figures.DepthCell(part.labels[id], value, shade, texts(value), _word(part.labels[id]) in said)
              for id, value, shade in zip(ids, *numbers, strict=True)]
             for ids, *numbers in zip(part.ids[..., 0].tolist(), values.tolist(), shades.tolist(), strict=True)]
    with left, st.container(key=f"{page}_lens_table"):
        st.html(figures.depth_table(
            cells, [figures.DepthColumn(at, tokens[at], "") for at in part.positions],
            caption_of(ckpt, "The likeliest target token at each depth of the encoder"), scale=scale, after=None,
            underlined="the translation has it", chosen=column, dark=dark))


def _word(piece: str) -> str:
    """A piece without the sign of a space before it: “aime” is in “J'aime” too."""
    return piece.strip("▁Ġ ")


def _choose_source(page: str, lens: Lens, tokens: list[str]) -> int:
    """Draws the chooser of a source token; at first the one that has the token asked about highest at the last
    depth."""
    state, key = LensState(page), LensState.source.key(page)
    if state.source is None or state.source >= len(tokens):
        state.source = int(lens.probability[-1].argmax())
    if len(tokens) > FEW:
        return st.number_input("Source position", 0, len(tokens) - 1, step=1, key=key, width=200)
    st.pills("Source token", range(len(tokens)), key=key, required=True, wrap=True, label_visibility="collapsed",
             format_func=lambda at: pill(at, tokens[at], own=False))
    return state.source


def _window(page: str, prediction: Prediction, name: str, through: TunedLens | JacobianLens | None
            ) -> tuple[Lens, int]:
    """The positions around the one asked about, each followed by its own token, and which column that is."""
    if prediction.classifies:
        return kept(page, "lens", prediction.key, READING, lambda work: read_layers(
            prediction.read, count=TOP, follow=prediction.token)), 0
    predicted = prediction.answer.predicted
    first = max(0, min(prediction.position // STRIDE * STRIDE - COLUMNS // 4, len(predicted) - COLUMNS))
    positions = list(range(first, min(first + COLUMNS, len(predicted))))
    # positions count from the text's beginning and see nothing after them: one pass over all of it serves them all
    return kept(page, "lens", (*prediction.of, first, name), READING, lambda work: read_layers(
        prediction.answer.whole, count=TOP, positions=positions, follow=[predicted[at] for at in positions],
        through=through)
    ), prediction.position - first


def _table(lens: Lens, prediction: Prediction, column: int, *, colour: str, dark: bool) -> str:
    answer, classes = prediction.answer, prediction.classifies
    values, shades, texts, scale = _shaded(lens, colour, prediction.outcomes)
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
    st.html(figures.depth_candidates(
        [lens.top(depth, column) for depth in range(len(lens.ids))], _followed(lens, prediction, column),
        caption_of(prediction.ckpt, f"“{prediction.name(prediction.token)}” at each depth"),
        classes=prediction.classifies, dark=dark))


def _followed(lens: Lens, prediction: Prediction, column: int, *, divergence: bool = True) -> figures.Following:
    """The numbers of the token that is asked about, at one position."""
    rank, probability, entropy = (each[:, column].tolist() for each in (lens.rank, lens.probability, lens.entropy))
    return figures.Following(prediction.token, rank, probability, entropy,
                             lens.divergence[:, column].tolist() if divergence else None)


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

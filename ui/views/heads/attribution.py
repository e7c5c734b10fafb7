"""Attribution: what each token read adds to a prediction, beside where attention looked."""

from functools import partial

import numpy as np
import streamlit as st

from transformer.analysis.attribution import BASELINES, EXPLAINED, Attribution, attribute
from transformer.analysis.token_inputs import inputs_up_to
from ui import figures
from ui.choices.head import caption_of, origin
from ui.page.link import choice, opened
from ui.page.plain_text import say_error
from ui.page.presentation import columns
from ui.state.page_state import PageState
from ui.state.work_queue import Work
from ui.views.heads.prediction import Answer, Prediction, is_kept, kept

STEPS = [8, 16, 32, 64, 128, 256]
MARKED, FIRST = 3, 5  # tokens on which the measures disagree most, among the first five of any measure
RATE = 30e9        # multiply-adds of one core in a second
QUICK = 3 * RATE   # longer work waits for a button
ROWS = 40          # tokens of the overview
EMPTY = {"padding": "padding alone", "zero": "embeddings of zero", "mean": "the mean embedding at every position"}
METHODS = {"integrated": "integrated gradients", "attention": "attention", "rollout": "rollout"}
class AttributionState(PageState):
    """What is kept of this view: the method, and whether all predicted tokens are shown."""

    steps = choice(64, STEPS)
    baseline = choice(BASELINES[0], list(BASELINES))
    all = opened()


def show_attribution(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The three measures on the same tokens, their disagreements and, on request, all predicted tokens at once."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_attribution_line"):
        st.markdown("Where does it come from?", width="content", help=EXPLAINED["integrated"])
        with st.popover("Method", key=f"{page}_attribution_settings"):
            baseline, steps = _controls(page, prediction)
    key = (*prediction.key, baseline, steps)
    work = _work(prediction, steps)
    if work > QUICK and not is_kept(page, "attribution", key) and not st.button(
            f"Compute {steps} steps", key=f"{page}_attribute",
            help="Fewer steps take less time."):
        st.info(f"This takes about {work / RATE:,.0f} s on one core, so press the button to start.")
        return
    try:
        result = kept(page, "attribution", key, "Integrating steps", lambda work: attribute(
            prediction.read, prediction.token, baseline=baseline, steps=steps, watch=work.watch))
    except ValueError as error:
        say_error(error)
        return
    _show(page, prediction, result, dark=dark)
    if not prediction.classifies and len(prediction.answer.predicted) > 1:
        _overview(page, prediction, baseline, steps, dark=dark)


def _controls(page: str, prediction: Prediction) -> tuple[str, int]:
    """Draws the choosers of the baseline and of the number of steps; padding is no option without a padding token."""
    state = AttributionState(page)
    options = _baselines(prediction)
    if state.baseline not in options:
        state.baseline = options[0]
    with st.container(horizontal=True, gap="medium"):
        st.segmented_control(
            "Baseline", options, key=AttributionState.baseline.key(page), required=True,
            help="Where every token's path starts: the padding embedding, all zeros, or the mean of the vocabulary."
                 + ("" if "padding" in options else " This model has no padding."))
        st.segmented_control("Integration steps", STEPS, key=AttributionState.steps.key(page), required=True,
                             help="More steps take longer, and usually shrink the gap.")
    return state.baseline, state.steps


def _baselines(prediction: Prediction) -> list[str]:
    return [name for name in BASELINES if name != "padding" or prediction.ckpt.config.pad_id is not None]


def _work(prediction: Prediction, steps: int) -> float:
    """About how many multiplications it takes: for each step a forward pass, and twice as many backwards."""
    config = prediction.ckpt.config
    layer = config.d_model * (4 * config.d_model + 2 * config.d_ff)
    source = 0 if prediction.read.src is None else prediction.read.src.shape[1]
    target = 0 if prediction.read.tgt is None else prediction.read.tgt.shape[1]
    row = config.d_model * (config.vocab_size if config.decoder_layers else config.n_classes or 1)
    return 3.0 * steps * (layer * (source * config.encoder_layers + target * config.decoder_layers) + row)


def _show(page: str, prediction: Prediction, result: Attribution, *, dark: bool) -> None:
    name = prediction.name(result.token)
    where = "cross-attention" if prediction.read.src is not None and not prediction.classifies else "attention"
    titles = {"integrated": "integrated gradients, nats", "attention": f"{where}, share", "rollout": "rollout, share"}
    if not result.sound:
        del titles["integrated"]
    ranks = {measure: places(np.abs(getattr(result, measure))) for measure in titles}
    marked = most_apart(*ranks.values())
    left, right = columns(page, [3, 2], gap="medium")
    with left, st.container(key=f"{page}_attribution_table"):
        more = f" · baseline {result.baseline}, {result.steps} steps" if result.sound else ""
        st.html(figures.bar_table(
            result.tokens, {titles[measure]: getattr(result, measure).tolist() for measure in titles},
            caption_of(prediction.ckpt, f"Where “{name}” comes from", more=more),
            signed={titles[measure] for measure in titles if measure == "integrated"},
            ranks={titles[measure]: ranks[measure].tolist() for measure in titles},
            marked=marked, unknown=prediction.answer.unknown, dark=dark))
    with right:
        if not result.sound:
            st.warning(figures.markdown_text(_not_to_be_trusted(prediction, result)))
        _say_ranks(prediction, result, ranks, marked)
    with st.expander("What attention, rollout and the correlation show, and what they do not"):
        for what in ("attention", "rollout", "correlation"):
            st.markdown(f"**{what.capitalize()}.** {EXPLAINED[what]}")


def _not_to_be_trusted(prediction: Prediction, result: Attribution) -> str:
    """Why the integrated gradients are not shown, and what else to try."""
    total, change = (figures.signed_number(value) for value in (float(result.integrated.sum()), result.change))
    left = ["more steps"] if result.steps < STEPS[-1] else []
    left += ["another baseline"] if len(_baselines(prediction)) > 1 else []
    wrong = (f"they add up to {total} nats, not to {change}" if not result.adds_up else
             "every other step alone gives quite different values, so their sum is right only by chance")
    message = (f"The integrated gradients cannot be trusted, so they are not shown: at {result.steps} steps {wrong}. "
               f"This model's prediction changes too abruptly on the way from {EMPTY[result.baseline]} to this text.")
    message += f" Under Method you can try {' or '.join(left)}; it may not help." if left else ""
    return message + (" Direct effect does add up." if prediction.ckpt.config.logits_cap is None else "")


def _say_ranks(prediction: Prediction, result: Attribution, ranks: dict[str, np.ndarray], marked: list[int]) -> None:
    """Explains the colours, where the measures disagree, and what adds up to what."""
    bold = f"**{figures.markdown_text(prediction.name(result.token))}**"
    change, reached, total, gap = (text.replace("-", "−") for text in (
        f"{result.change:+.4f}", f"{result.log_probability:.4f}", f"{float(result.integrated.sum()):+.4f}",
        f"{result.gap:+.4f}"))
    st.markdown((f"Blue makes {bold} likelier, red less likely. " if result.sound else "")
                + "The small numbers are ranks in their column.")
    if marked:
        st.markdown("They disagree most about " + "; ".join(
            f"**{figures.markdown_text(figures.plain_label(result.tokens[at]))}** (position {at}: rank "
            + ", ".join(f"{of[at]} by {METHODS[measure]}" for measure, of in ranks.items()) + ")"
            for at in marked) + ".",
            help=f"Marked: of the first {FIRST} in any column, the ranks that differ most.")
    if result.sound:
        large = abs(result.gap) > 0.02 + 0.05 * abs(result.change)
        st.markdown(f"From {EMPTY[result.baseline]} to this text, the log-probability of {bold} changes by "
                    f"**{change}** nats, to {reached}. The attributions add up to {total}: a gap of {gap} at "
                    f"{result.steps:d} steps."
                    + (" That is a large gap" + (": use more steps." if result.steps < STEPS[-1] else ".")
                       if large else ""))
    st.html(figures.plain_table(
        ["rank correlation of", "and", "Spearman's ρ"],
        [[METHODS[one], METHODS[other], _rho(value)] for (one, other), value in result.correlations.items()
         if {one, other} <= ranks.keys()],
        numbers=(2,), label="rank correlations"))


def _rho(value: float) -> str:
    return "– (one of them is constant)" if np.isnan(value) else figures.signed_number(value)


def places(values: np.ndarray) -> np.ndarray:
    """The rank of each value, 1 for the largest; equal values keep their order."""
    result = np.empty(len(values), dtype=int)
    result[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return result


def most_apart(*ranks: np.ndarray) -> list[int]:
    """The tokens whose ranks differ most between the measures, the largest difference first: only tokens that lead in
    one of them, because the order of the many small values is noise, and no differences of 1."""
    every = np.stack(ranks)
    apart = np.where(every.min(axis=0) <= FIRST, np.ptp(every, axis=0), 0)
    return [int(at) for at in np.argsort(-apart, kind="stable")[:MARKED] if apart[at] > 1]


def _attribute_all(answer: Answer, rows: range, baseline: str, steps: int, work: Work) -> list[Attribution]:
    """The attribution of each of these tokens to all that was read before it."""
    result, of = [], steps * len(rows)
    for done, position in enumerate(rows):
        result.append(attribute(inputs_up_to(answer.whole, position), answer.predicted[position], baseline=baseline,
                               steps=steps,
                               watch=lambda step, _, done=done: work.watch(done * steps + step, of)))
    return result


def _overview(page: str, prediction: Prediction, baseline: str, steps: int, *, dark: bool) -> None:
    """All predicted tokens by all tokens read, as three matrices, made on request."""
    answer, key = prediction.answer, (*prediction.of, baseline, steps)
    rows = range(answer.typed, min(answer.typed + ROWS, len(answer.predicted)))
    if not is_kept(page, "overview", key):
        work = sum((_work(prediction, steps) for _ in rows), 0.0)
        place = st.empty()
        asked_for = AttributionState(page).all and work <= QUICK
        if not asked_for and not place.button(f"All {len(rows)} predicted tokens at once", key=f"{page}_overview",
                            icon=":material/grid_on:", help=f"About {max(1.0, work / RATE):,.0f} seconds."):
            return
        place.empty()
    result = kept(page, "overview", key, "Integrating", partial(
        _attribute_all, answer, rows, baseline, steps))
    AttributionState(page).all = True
    width = max(len(one.tokens) for one in result)
    written = [one.label for one in result]
    for place, (measure, name) in zip(st.columns(3), METHODS.items(), strict=True):
        # a decoder has read fewer tokens before an earlier prediction
        values = np.array([np.pad(getattr(one, measure), (0, width - len(one.tokens)), constant_values=np.nan)
                           for one in result])
        if measure == "integrated":
            values[[not one.sound for one in result]] = np.nan
        place.plotly_chart(
            figures.token_matrix(values, written, result[-1].tokens, signed=measure == "integrated", dark=dark,
                                 unit="nats" if measure == "integrated" else "share", title=name.capitalize(),
                                 source=origin(prediction.ckpt)),
            key=f"{page}_overview_{measure}", config=figures.PLOTLY_CONFIG,
            alt=figures.describe_token_matrix(values, written, result[-1].tokens, what=name.capitalize()))
    wrong = sum(not one.sound for one in result)
    st.caption("Down: tokens predicted. Across: tokens read. Each row is one prediction."
               + (f" The integrated gradients of {wrong} of {len(result)} cannot be trusted; their rows are empty."
                  if wrong else ""))
    with st.expander("All three as tables", key=f"{page}_overview_numbers"):
        for measure, name in METHODS.items():
            st.html(figures.number_table(
                [figures.plain_label(token) for token in result[-1].tokens],
                [(figures.plain_label(one.label), [
                    "–" if measure == "integrated" and not one.sound else f"{value:.5g}"
                    for value in getattr(one, measure)] + ["–"] * (width - len(one.tokens))) for one in result],
                label=f"overview, {name}", corner="written", caption=f"{name.capitalize()}. {origin(prediction.ckpt)}"))

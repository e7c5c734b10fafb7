"""What comes next: the likeliest tokens to choose from, how one is drawn, and the branches made so far."""

from functools import partial

import streamlit as st

from transformer.inference.decoding import Sampling
from ui import figures
from ui.present import presenting
from ui.say import end_of
from ui.stepper.address import HOTTEST, LAST_SEED, WIDEST
from ui.stepper.moves import pick, picks_made, sampling_of, switch_to
from ui.stepper.walk import Walk

FEW = 4  # candidates on a projector


def _clicked(page: str, chart: str) -> None:
    id = figures.picked_candidate(st.session_state.get(chart))
    if id is not None:
        pick(page, id)


def show_candidates(page: str, walk: Walk, *, source: str, dark: bool) -> None:
    """The likeliest next tokens as bars to click, the sampling, and the branches made so far."""
    sampling, step = sampling_of(page), walk.step
    candidates, excluded = walk.candidates(sampling)
    chart = f"{page}_candidates_{picks_made(page)}_{walk.index}"
    given = _given(sampling)
    if presenting(page):
        st.html(figures.candidate_rows(candidates[:FEW], chosen_id=step.id, excluded=excluded,
                                       label=f"next tokens {given}".strip(), rest=_others(candidates[:FEW], excluded)))
        if given:
            st.caption(f"Probabilities {given}.")
        return
    figure = figures.candidate_bars(candidates, chosen_id=step.id, excluded=excluded, source=source, dark=dark,
                                    rest=_others(candidates, excluded),
                                    title=f"What comes next? {given.capitalize()}".strip())
    st.plotly_chart(figure, key=chart, on_select=partial(_clicked, page, chart), selection_mode="points",
                    config=figures.PLOTLY_CONFIG,
                    alt=figures.describe_candidates(candidates, chosen_id=step.id, given=given))
    st.caption(f"Orange: {_why(walk, sampling)}. Click a bar or press its digit to choose that token and continue "
               f"from it. The previous path is kept as a branch.")
    if step.full and step.id != step.ckpt.config.eos_id:
        st.caption(f"Context full: this model reads at most {step.ckpt.config.max_len:,} tokens.")
    _show_sampling(page)
    _show_branches(page, walk)


def _show_sampling(page: str) -> None:
    left, right = st.columns(2)
    left.slider("Temperature", 0.0, HOTTEST, step=0.1, key=f"{page}_temperature", persist_state="session",
                help="0 always chooses the likeliest token. Above 0, tokens are sampled; higher is more random. "
                     "Tokens already chosen stay.")
    right.slider("Top-k", 0, WIDEST, key=f"{page}_top_k", persist_state="session",
                 help="Sample among the k likeliest tokens only; 0 means all.")
    if st.session_state.get(f"{page}_temperature"):
        st.number_input("Seed", 0, LAST_SEED, step=1, key=f"{page}_seed", persist_state="session",
                        help="The same seed samples the same tokens.")


def _show_branches(page: str, walk: Walk) -> None:
    if not walk.others:
        return
    st.markdown(f"**Branches** · {len(walk.others) + 1}")
    st.button(f"● {end_of(walk.branch.tip.output)}", disabled=True, key=f"{page}_branch_now")
    for at, branch in enumerate(walk.others):
        st.button(f"○ {end_of(branch.tip.output)}", key=f"{page}_branch_{at}", on_click=partial(switch_to, page, at),
                  help="Go back to this branch")


def _others(candidates: list, excluded: list[int]) -> float:
    """What is left of the probability after these, of which the excluded have none."""
    return max(0.0, 1 - sum(c.probability for c in candidates if c.id not in excluded))


def _given(sampling: Sampling) -> str:
    """What the candidates' probabilities are subject to; nothing where they are the model's own."""
    return f"at temperature {sampling.temperature:g}" if sampling.temperature else ""


def _why(walk: Walk, sampling: Sampling) -> str:
    """Why the chosen token is the one chosen."""
    step = walk.step
    if step.index in walk.picks:
        return "the token you chose"
    if step.id == step.likeliest:
        return "the model's choice, the likeliest token"
    if sampling.temperature:
        return f"the model's choice, sampled at temperature {sampling.temperature:g}"
    return "the model's choice, sampled at another temperature"

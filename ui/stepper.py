"""What Translate and Write share: the checkpoint, the walk through the text, candidates and branches."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from transformer.attention_view.message import Look
from transformer.checkpoint import Checkpoint, CheckpointError, Description
from transformer.inference.decoding import Sampling
from ui import figures
from ui.arrival import arrived, put_address
from ui.components.attention_view import look_params, take_look
from ui.components.controls import FARTHEST, move_of
from ui.languages import reads_examples
from ui.pages import PAGES
from ui.present import presenting
from ui.resources import Entry, along_the_way, entries, opened
from ui.say import code_text, say_error
from ui.walk import HOTTEST, LAST_SEED, WIDEST, Link, Walk, begin

CANDIDATES = 10
FEW = 4  # candidates on a projector
IDS = "1 2 3"  # what is read to begin with where there is no tokenizer


def arrive(page: str, *, text: str, temperature: float = 0.0) -> Link | None:
    """The link by which somebody has just come to this page, its values put into the page's widgets; else None."""
    params = arrived(page, known=f"{page}_text" in st.session_state)
    if params is None:
        return None
    link = Link.read(params)
    link = replace(link, text=text if link.text is None else link.text,
                   temperature=temperature if link.temperature is None else link.temperature)
    for name in ("text", "checkpoint", "temperature", "seed"):
        st.session_state[f"{page}_{name}"] = getattr(link, name)
    take_look(page, link.look)
    st.session_state[f"{page}_model"], st.session_state[f"{page}_presenting"] = link.model, link.present
    st.session_state[f"{page}_top_k"] = link.top_k or 0
    st.session_state.pop(f"{page}_walk", None)
    return link


def leave_address(page: str, ckpt: Checkpoint, walk: Walk, look: Look, more: Mapping[str, str] | None = None) -> None:
    """Put all that decides the picture into the address bar, and `more` that only this page knows."""
    state, sampling = st.session_state, sampling_of(page)
    link = Link(ckpt.id, walk.step.text, walk.branch.departures(sampling), sampling.temperature, sampling.top_k,
                sampling.seed, walk.index, look_params(look), more or {}, bool(state.get(f"{page}_model")),
                presenting(page))
    params, whole = link.params()
    if not whole:
        st.caption("This text is too long for a link: the address leaves out the text and the choices made in it.")
    put_address(page, params)


def choose_checkpoint(page: str, fits: Callable[[Description], bool] | None = None) -> Checkpoint:
    """The picker, and the checkpoint picked; stops the page with a sentence where there is none. fits: which are on
    offer; without it those that the list of pages says."""
    return open_entry(choose_entry(page, fits))


def open_entry(entry: Entry) -> Checkpoint:
    """A checkpoint's weights; stops the page with a sentence where they cannot be read."""
    try:
        return opened(entry.folder, entry.about.id)
    except CheckpointError as error:
        say_error(error)
        st.stop()


def choose_entry(page: str, fits: Callable[[Description], bool] | None = None, *, label: str = "Checkpoint",
                 name: str = "checkpoint", more: Callable[[Entry], bool] | None = None) -> Entry:
    """The picker alone, keyed <page>_<name>, without weights being read. more: which of the weights along the way of a
    training are on offer too; only a link leads to the others."""
    found, fits = entries(), fits or (lambda about: PAGES[page].shows(about.config))
    offered: dict[str, Entry] = {}
    for entry in found:
        if entry.about and fits(entry.about):
            offered.setdefault(entry.about.id, entry)  # a copy does not take the place of what came with the app
    key, broken = f"{page}_{name}", [entry for entry in found if entry.error]
    wanted = st.session_state.get(key)
    if more or (wanted is not None and wanted not in offered):
        for entry in along_the_way():
            if fits(entry.about) and ((more and more(entry)) or entry.about.id == wanted):
                offered.setdefault(entry.about.id, entry)
    if not offered:
        for entry in broken:
            say_error(entry.error)
        st.error("There is no checkpoint for this page. Copy one into the folder `checkpoints`, or train one with "
                 "`headsup train --help`.")
        st.stop()
    if wanted is not None and "@" not in wanted:  # somebody typed its name
        wanted = st.session_state[key] = next((id for id in offered if id.partition("@")[0] == wanted), wanted)
    if wanted is not None and wanted not in offered:
        called = wanted.partition("@")[0]
        changed = [id for id in offered if id.partition("@")[0] == called]
        first = [*changed, *offered][0]
        st.error(f"The checkpoint {code_text(wanted)} is not here" + (
            ": there is one of that name with other weights, so the picture would be another one." if changed else
            " (any more). If it was not deleted here, ask whoever sent the link for its folder."))
        for entry in broken:
            st.caption(f"{code_text(entry.folder.name)} cannot be opened: {figures.markdown_text(entry.error)}")
        st.button(f"Use {figures.markdown_text(first)} instead",
                  on_click=partial(st.session_state.update, {key: first}))
        st.stop()
    help = ("Checkpoints in the folder `checkpoints`, those kept of runs, uploads and imports. After the @ stand the "
            "first characters of a hash of its files: other weights, another id.")
    if broken:
        help += "\n\nNot on offer:\n" + "\n".join(f"- {figures.markdown_text(entry.error)}" for entry in broken)
    if wanted is None:
        st.session_state[key] = next(iter(offered))
    return offered[st.selectbox(label, list(offered), key=key, persist_state="session", help=help)]


def fit_example(page: str, ckpt: Checkpoint, examples: list[str]) -> None:
    """Before the text's widget: ids in place of an example for a checkpoint that reads ids, nothing for one of another
    language, and the example back for any other."""
    state = st.session_state
    text, left = state.get(f"{page}_text"), f"{page}_example_left"
    ids, fits = ckpt.source_tokenizer.kind == "ids", reads_examples(ckpt)
    if text in examples and (ids or not fits):
        state[left], state[f"{page}_text"] = text, IDS if ids else ""
    elif text in ("", IDS) and not ids and left in state:
        state[f"{page}_text"] = state.pop(left) if fits else ""


def sampling_of(page: str) -> Sampling:
    """What the sampling widgets are set to; they stand further down the page."""
    state = st.session_state
    return Sampling(temperature=state.get(f"{page}_temperature") or 0.0, top_k=state.get(f"{page}_top_k") or None,
                    seed=int(state.get(f"{page}_seed") or 0))


def follow(page: str, ckpt: Checkpoint, text: str, link: Link | None) -> Walk:
    """The walk to show: the one under way moved as asked, or a new one where text or checkpoint have changed.

    Stops the page with a sentence where the text cannot be read.
    """
    key, sampling = f"{page}_walk", sampling_of(page)
    walk: Walk | None = st.session_state.get(key)
    move = move_of(page)
    new = walk is None or walk.step.ckpt is not ckpt or walk.step.text != text
    if new:
        try:
            walk = begin(ckpt, text, choices=link.choices if link else None, index=link.step if link else 0,
                         sampling=sampling)
        except ValueError as error:
            st.session_state.pop(key, None)
            say_error(error)
            st.stop()
        st.session_state[f"{page}_walks"] = st.session_state.get(f"{page}_walks", 0) + 1
    if move and not link and move["number"] != st.session_state.get(f"{page}_answered", 0):
        walk = _moved(page, walk, move, sampling)
    elif not new:
        walk = walk.settled(sampling)
    st.session_state[key] = walk
    if move:  # after the walk: a run cut short between the two goes to the same place again
        st.session_state[f"{page}_answered"] = move["number"]
    return walk


def _moved(page: str, walk: Walk, move: dict, sampling: Sampling) -> Walk:
    """Candidates said at their steps, in the order they were, then the place to look at."""
    state = st.session_state
    # pressed while another text was on the screen: counts from the start of this one
    origin = int(move["from"]) if move.get("walk", state[f"{page}_walks"]) != state[f"{page}_walks"] else 0
    for choice in move.get("choices", ()):
        if choice["number"] > state.get(f"{page}_answered", 0):
            walk = walk.to(min(int(choice["at"]) - origin, walk.index + FARTHEST), sampling)
            candidates = ranked(walk, sampling)[0]
            if choice["nth"] < len(candidates):
                walk = walk.pick(candidates[choice["nth"]].id, sampling)
                state[f"{page}_picks"] = state.get(f"{page}_picks", 0) + 1
    return walk.to(min(int(move["index"]) - origin, walk.index + FARTHEST), sampling)


def _pick(page: str, id: int) -> None:
    state = st.session_state
    state[f"{page}_walk"] = state[f"{page}_walk"].pick(id, sampling_of(page))
    state[f"{page}_picks"] = state.get(f"{page}_picks", 0) + 1


def _clicked(page: str, chart: str) -> None:
    id = figures.picked_candidate(st.session_state.get(chart))
    walk: Walk | None = st.session_state.get(f"{page}_walk")
    if id is not None and walk is not None and id < walk.step.ckpt.config.vocab_size:
        _pick(page, id)


def ranked(walk: Walk, sampling: Sampling) -> tuple[list, list[int]]:
    """The ten likeliest next tokens after temperature, and the ids of those that top-k leaves out."""
    before = walk.step.top(CANDIDATES, replace(sampling, top_k=None))
    after = sampling.probabilities(walk.step.allowed)
    kept = [c._replace(probability=float(after[c.id]) or c.probability) for c in before]
    return kept, [c.id for c in before if not after[c.id]]


def show_candidates(page: str, walk: Walk, *, source: str, dark: bool) -> None:
    """The likeliest next tokens as bars to click, the sampling, and the branches made so far."""
    sampling, step = sampling_of(page), walk.step
    candidates, excluded = ranked(walk, sampling)
    chart = f"{page}_candidates_{st.session_state.get(f'{page}_picks', 0)}_{walk.index}"
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
    st.caption(f"Orange: {_why(walk, sampling)}. Click another bar, or press its number, to choose that token instead. "
               "Your earlier version is kept as a branch.")
    if step.full and step.id != step.ckpt.config.eos_id:
        st.caption(f"The context is full: this model reads at most {step.ckpt.config.max_len:,} tokens.")
    left, right = st.columns(2)
    left.slider("Temperature", 0.0, HOTTEST, step=0.1, key=f"{page}_temperature", persist_state="session",
                help="0 always takes the likeliest token. Above 0 a token is drawn: the higher, the bolder. It changes "
                     "what is chosen from now on; tokens already chosen stay.")
    right.slider("Top-k", 0, WIDEST, key=f"{page}_top_k", persist_state="session",
                 help="Draw only among the k likeliest tokens. 0: among all.")
    if sampling.temperature:
        st.number_input("Seed", 0, LAST_SEED, step=1, key=f"{page}_seed", persist_state="session",
                        help="The same seed draws the same tokens again.")
    if walk.others:
        st.markdown(f"**Branches** · {len(walk.others) + 1}")
        st.button(f"● {_brief(walk.branch.tip.output)}", disabled=True, key=f"{page}_branch_now")
        for at, branch in enumerate(walk.others):
            st.button(f"○ {_brief(branch.tip.output)}", key=f"{page}_branch_{at}", on_click=partial(_switch, page, at),
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
    if step.index in picks_of(walk):
        return "the token you chose"
    if step.id == step.likeliest:
        return "the model's choice, here the likeliest token"
    if sampling.temperature:
        return f"the model's choice, drawn at temperature {sampling.temperature:g}; it need not be the likeliest token"
    return "the model's choice, drawn at another temperature"


def picks_of(walk: Walk) -> set[int]:
    """The steps of this branch at which the reader, or a link, said another token than the model would have."""
    return {index for index, id in walk.branch.choices.items()
            if index <= walk.branch.tip.index and walk.steps[index].id == id}


def tokens_after(walk: Walk) -> list[str]:
    """What comes after the predicted token on this branch, known from having been there."""
    if walk.index == walk.branch.tip.index:
        return []
    tip = walk.branch.tip
    return [tip.label(id) for id in (*tip.tokens[len(walk.step.tokens) + 1:], tip.id)]


def _switch(page: str, at: int) -> None:
    walk: Walk = st.session_state[f"{page}_walk"]
    st.session_state[f"{page}_walk"] = walk.switch(walk.others[at])


def _brief(text: str, longest: int = 60) -> str:
    """The end of a text as a button's label, which is markdown: nothing in it may be read as such."""
    text = text if len(text) <= longest else "…" + text[-longest:]
    return figures.markdown_text(text.replace("\n", "↵")) or "(nothing yet)"


def example_pills(page: str, examples: list[str], labels: list[str] | None = None) -> None:
    """Texts to try with one click."""
    if presenting(page):
        return
    key = f"{page}_example"

    def use() -> None:
        if st.session_state[key] is not None:
            st.session_state[f"{page}_text"] = examples[st.session_state[key]]
            st.session_state[key] = None

    st.pills("Examples", list(range(len(examples))), format_func=lambda at: _brief((labels or examples)[at]), key=key,
             on_change=use, label_visibility="collapsed", wrap=True)



"""One head: all heads sorted by a measure, and of the one that is chosen the queries at which it does that most and
less, in held-out text."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import orjson
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.head_contexts import (
    BANDS,
    EXPLAINED,
    PEAK,
    Context,
    HeadContexts,
    HeadScores,
    head_contexts,
    headvis_file,
    score_heads,
)
from transformer.analysis.roles import HeadRoles
from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.word_attention import SIDES
from transformer.measures.catalogue import BY_NAME
from transformer.model.sites import label
from transformer.settings.config import KINDS, Kind
from transformer.text.word_pieces import labelled
from ui import figures
from ui.choices.head import head_controls, head_in_range, origin, plain_name
from ui.page.link import choice, quiet
from ui.page.pages import stepper_of
from ui.page.plain_text import say_error
from ui.page.presentation import columns, presenting, settings
from ui.state.caches import shelf
from ui.state.page_state import PageState
from ui.state.work_queue import Work, may_begin
from ui.views.heads.page_layout import behind
from ui.views.heads.prediction import kept
from ui.views.heads.roles import address_of, first_measure, measured_names, ready_roles, show_head
from ui.views.heads.sample import RoleState, Sample, choose_sample, say_cut

LISTED = 6
AROUND = 8  # tokens on each side of the query and of what it looks at, in a long text
WHOLE = 40  # tokens; a text that is no longer is drawn whole
CLEAR = 0.05  # a weight from which on a token's surroundings are drawn
NAMED = 3  # tokens that a context names in words
ORDERS = {"most": "most", "least": "least", "unlike": "least like untrained"}
BY = {"measure": "this measure", "peak": "largest weight"}
BAND_NAMES = {5: "Highest fifth", 4: "Second-highest fifth", 3: "Middle fifth", 2: "Second-lowest fifth",
              1: "Lowest fifth"}
NEED_MORE = ("alignment", "alignment_read", "rare")  # measures that need more than the texts
class ContextsState(PageState):
    """What is kept of this view: the order of the heads, and of the queries of the one that is chosen."""

    heads_by = quiet(choice("most", list(ORDERS)))
    queries_by = quiet(choice("measure", list(BY)))


Head = tuple[Kind, int, int]


def show_contexts(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """The view: the heads in order, beside the contexts of the one that is chosen."""
    with settings(page, "contexts"), st.container(horizontal=True, vertical_alignment="center",
                                                  key=f"{page}_contexts_line"):
        line = st.container(width="content")
        box = st.popover("Settings", icon=":material/tune:", key=f"{page}_contexts_more")
        sample = choose_sample(page, ckpt, box.container())
    if sample and (ready := ready_roles(page, sample)) is not None:
        roles, place = ready
        with place:
            say_cut(sample, roles)
            _show_measured(page, sample, roles, line, box)


def _show_measured(page: str, sample: Sample, roles: HeadRoles, line: DeltaGenerator, box: DeltaGenerator) -> None:
    """A whole measurement. line: the place of the chooser of the measure; box: of what is rarely chosen."""
    ckpt, state = sample.ckpt, ContextsState(page)
    names = list(dict.fromkeys(name for kind in ckpt.config.kinds for name in measured_names(roles, kind)))
    if not names:
        st.info("These texts are too short to measure a head on: give one of two tokens or more.")
        return
    measure, chosen = _chosen(page, roles, ckpt, names)
    line.selectbox("Measure", names, key=RoleState.role.key(page), width=230,
                   format_func=lambda name: BY_NAME[name].title, label_visibility="collapsed",
                   persist_state="session", help=BY_NAME[measure].explained,
                   on_change=partial(_leave_head, page))
    with box:
        st.segmented_control("Heads with", list(ORDERS), key=ContextsState.heads_by.key(page), required=True,
                             format_func=ORDERS.__getitem__, persist_state="session")
        head_controls(f"{page}_role", ckpt.config)
    with st.container(key=f"{page}_contexts_picture"):
        left, right = columns(page, [1, 2], gap="medium")
    with left, settings(page, "finder"):
        _show_list(page, roles, measure, _ranked(roles, measure, state.heads_by), chosen)
    with right, st.container(key=f"{page}_contexts"):
        show_head(page, roles, measure, *chosen)
        by = PEAK.name if state.queries_by == "peak" else measure
        if (scores := _scores(page, sample, roles, by)) is not None:
            _show_contexts(page, sample, scores, chosen, by, box)
        st.caption(figures.markdown_text(f"{plain_name(ckpt)}: {sample.about(roles)}"), help=origin(ckpt))


def _chosen(page: str, roles: HeadRoles, ckpt: Checkpoint, names: list[str]) -> tuple[str, Head]:
    """The measure and the head that were chosen, in range; until somebody chooses, the first of the list."""
    state = RoleState(page)
    if state.role_kind is state.role_layer is state.role_head is None:
        measure = state.role = state.role if state.role in names else first_measure("decoder", names)
        _take(page, _ranked(roles, measure, ContextsState(page).heads_by)[0])
    head = head_in_range(f"{page}_role", ckpt.config)
    here = measured_names(roles, head[0])
    measure = state.role = state.role if state.role in here else first_measure(head[0], here)
    return measure, head


def _leave_head(page: str) -> None:
    """Forgets the head if its kind has not the measure that was chosen."""
    state = RoleState(page)
    if state.role is not None and state.role_kind not in BY_NAME[state.role].kinds:
        state.role_kind = state.role_layer = state.role_head = None


def _take(page: str, head: Head) -> None:
    state = RoleState(page)
    state.role_kind, state.role_layer, state.role_head = head


def _ranked(roles: HeadRoles, measure: str, order: str) -> list[Head]:
    """All heads that have a measure, in the order that is asked for; equal ones as in the model."""
    found: list[tuple[float, Head]] = []
    for kind in KINDS:
        if not roles.queries.get(kind, {}).get(measure):
            continue
        values = roles.values[kind][measure]
        unlike = np.abs(values - roles.untrained[kind][measure])
        by = {"most": -values, "least": values, "unlike": -unlike}[order]
        found.extend((float(by[layer, head]), (kind, layer, head)) for layer, head in np.ndindex(by.shape)
                     if np.isfinite(by[layer, head]))
    return [head for _, head in sorted(found, key=lambda one: one[0])]


def _show_list(page: str, roles: HeadRoles, measure: str, ranked: list[Head], chosen: Head) -> None:
    """The first heads of the order, a button each: a bar is as long as its value, a line marks the untrained one's."""
    values = {head: tuple(float(of[head[0]][measure][head[1:]]) for of in (roles.values, roles.untrained))
              for head in ranked}
    shown = [*ranked[:LISTED], *[head for head in ranked[LISTED:] if head == chosen]]
    most = 1.0 if BY_NAME[measure].share else max(max(np.nan_to_num(pair)) for pair in values.values()) or 1.0
    style = []
    for head in shown:
        key, (value, random) = f"{page}_found_{label(*head)}", values[head]
        at, mark = (f"{100 * max(0.0, min(1.0, one / most)):.2f}%" for one in (value, random))
        style.append(f".st-key-{key} button {{ --at: {at}; --place: {mark}; }}")
        name = label(*head) if len(roles.values) > 1 else figures.head_label(*head[1:])
        st.button(f"**{name}** {figures.part_of_one(value)} · untrained {figures.part_of_one(random)}", key=key,
                  type="primary" if head == chosen else "secondary", on_click=partial(_take, page, head),
                  width="stretch")
    st.html(f"<style>{''.join(style)}</style>")
    if len(ranked) > LISTED:
        st.caption(f"The first {LISTED} of {len(ranked):,} heads"
                   + f", and the chosen one, number {ranked.index(chosen) + 1:,}" * (len(shown) > LISTED)
                   + ". The bar is the value, the line the untrained one's.")


def _scores(page: str, sample: Sample, roles: HeadRoles, measure: str) -> HeadScores | None:
    """Every head at the queries of the sample, once they have been read, which a large model does when it is asked to;
    None, with a message, if it cannot."""
    kept_scores, needs = shelf("contexts", 4), measure in NEED_MORE
    if (scores := kept_scores.find((*sample.key, True))) is None:
        key, count = (*sample.key, needs), len(roles.sentences)
        if kept_scores.find(key) is None and not may_begin(
                sample.ckpt, f"{page}_find_contexts", key, f"Find contexts in {how_many(count, 'text')}", reads=count,
                more="This is done once for all heads."):
            return None
        try:
            scores = kept_scores.make(key, "Reading the texts", partial(_read, sample, roles, needs))
        except (ValueError, OSError) as error:
            say_error(error)
            return None
    return scores


def _read(sample: Sample, roles: HeadRoles, needs: bool, work: Work) -> HeadScores:
    aligner = sample.aligner(work.watch) if needs else None
    counts = sample.counts(work.watch) if needs else None
    return score_heads(sample.ckpt, roles.sentences, aligner=aligner, counts=counts, watch=work.watch)


def _show_contexts(page: str, sample: Sample, scores: HeadScores, chosen: Head, measure: str,
                   box: DeltaGenerator) -> None:
    """The contexts of a head, band by band. box: the place of their order and their file."""
    ckpt = sample.ckpt
    title = PEAK.title if measure == PEAK.name else BY_NAME[measure].title
    with box:
        st.segmented_control("Its queries, sorted by", list(BY), key=ContextsState.queries_by.key(page),
                             format_func=BY.__getitem__, required=True, persist_state="session", help=EXPLAINED)
        st.download_button("HeadVis", partial(_file, ckpt, scores, chosen), f"{label(*chosen)}-{ckpt.id}.json",
                           "application/json", key=f"{page}_headvis", icon=":material/download:", on_click="ignore",
                           help="This head's file for HeadVis: whole texts, in five bands of their largest weight.")
    key = (*sample.key, *chosen, measure)
    try:
        found: HeadContexts = kept(page, "head_contexts", key, "Reading its contexts", lambda work: head_contexts(
            ckpt, scores, *chosen, measure, watch=work.watch))
    except ValueError as error:
        say_error(error)
        return
    if not found.contexts:
        st.info(f"No query of these texts can be measured by “{title}”. Choose another measure or other texts.")
        return
    if measure != PEAK.name and BY_NAME[measure].repeated:
        st.markdown("The number above is of random tokens, repeated; here are the texts themselves.")
    for band in range(BANDS, 0, -1):
        of = [one for one in found.contexts if one.band == band]
        if not of:
            continue
        low, high = found.edges[band - 1] or (of[-1].score, of[0].score)
        st.markdown(f"**{BAND_NAMES[band]}** of queries: {title.lower()} {_amount(low)} to {_amount(high)}")
        for one in of[:2 if band == BANDS else 1] if presenting(page) else of:
            _show_context(page, ckpt, found, one)
    with behind(page, "contexts_table", "These contexts as a table") as is_open:
        if is_open:
            st.html(_table(found))


def _file(ckpt: Checkpoint, scores: HeadScores, chosen: Head) -> bytes:
    return orjson.dumps(headvis_file(ckpt, scores, *chosen))


def _show_context(page: str, ckpt: Checkpoint, found: HeadContexts, one: Context) -> None:
    """A query in its text, with the tokens it looks at shaded; across, the source above and the target below it."""
    sentence, at = found.sentences[one.row.text], one.row.query
    sides = (ckpt.source_tokenizer if side == "src" else ckpt.tokenizer for side in SIDES[found.kind])
    queries, keys = map(labelled, found.sides(one), sides)
    looks = one.looks_at
    words = f"{_amount(one.score)}: {_in_words(queries, keys, at, looks)}"
    if found.kind == "cross":
        after = labelled([ckpt.tokenizer.piece(sentence.labels[at])], ckpt.tokenizer) if sentence.labels else []
        read = queries[:at + 1]
        chips = figures.token_chips(keys, label=words, weights=looks, shown=_near(keys, looks), small=True)
        chips += figures.token_chips(
            [*read, *after], label="the target up to there, and what comes next", query=at, unread=at + 1, small=True,
            shown={*_near(read, {at: 1.0}), at + 1})
    else:
        chips = figures.token_chips(queries, label=words, weights=looks, query=at, small=True,
                                    unread=at + 1 if found.kind == "decoder" else None,
                                    shown=_near(queries, looks | {at: 1.0}))
    params, fits = address_of(ckpt, sentence, found.kind, found.layer, found.head, query=at)
    name = f"{page}_context_{one.band}_{one.row.text}_{at}"
    with st.container(horizontal=True, vertical_alignment="center", key=name):
        st.markdown(_amount(one.score), width="content")
        with st.container():
            st.html(chips)
        if fits:
            other = stepper_of(ckpt.config)
            st.page_link(other.script, label="Open", icon=":material/open_in_new:", query_params=params,
                         width="content", help=f"This text in {other.title}, at this head.")


def _near(tokens: list[str], looks: Mapping[int, float]) -> set[int]:
    """The positions that are drawn: all of a short text, else those around what it looks at."""
    if len(tokens) <= WHOLE:
        return {*range(len(tokens))}
    return {near for key, weight in looks.items() if weight >= CLEAR
            for near in range(max(0, key - AROUND), min(len(tokens), key + AROUND + 1))}


def _in_words(queries: list[str], keys: list[str], at: int, looks: Mapping[int, float]) -> str:
    """A context for a screen reader and a table."""
    at_most = ", ".join(f"{figures.plain_label(keys[key])} {figures.part_of_one(weight)}"
                        for key, weight in [*looks.items()][:NAMED])
    return f"“{figures.plain_label(queries[at])}” at position {at} looks at {at_most}"


def _table(found: HeadContexts) -> str:
    rows = []
    for one in found.contexts:
        queries, keys = found.sides(one)
        rows.append([BAND_NAMES[one.band], _amount(one.score), _in_words(queries, keys, one.row.query, one.looks_at),
                     figures.words_label(found.sentences[one.row.text].text)])
    return figures.plain_table(["band", "value", "query", "text"], rows, label="contexts of the head", numbers=(1,),
                               wrap=True)


def _amount(value: float) -> str:
    return figures.part_of_one(value, 3) if value < 1 else f"{value:.2f}"

"""Known results: published findings on attention, computed again, agreeing or not."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from transformer.basics.formatting import duration
from transformer.checkpoints.checkpoint import describe
from transformer.studies.known_results import BY_NAME, COLOURS, KNOWN, KnownResult, Models, Outcome, Recorded, Verdict
from ui import figures
from ui.access import owners
from ui.page.link import address_fields, arrive_at, choice, leave_at
from ui.page.pages import PAGES
from ui.page.plain_text import say_error
from ui.page.presentation import columns, presenting, settings, show_title
from ui.state.caches import opened, shelf
from ui.state.page_state import Kept, PageState, kept

PAGE = "known"
QUICK = 5  # seconds; what takes no longer is computed when it is looked at
ICONS = {"agrees": "check_circle", "does not agree": "cancel", "undecided": "balance",
         "not computed": "radio_button_unchecked"}
STYLE = """<style>
.stMain .stMainBlockContainer { padding: 4.1rem 1.6rem 2rem; }
.stMain [data-testid="stVerticalBlock"] { gap: var(--gap-2); }
.stMain [data-testid="stVerticalBlock"].st-key-known_list { gap: var(--gap-1); }
.stMain .st-key-known_list .stButton button { min-height: 2.2rem; padding: 0.1rem 0.7rem; }
.stMain .st-key-known_list .stButton button > div { flex: 1; justify-content: flex-start; }
.stMain h2 { font-size: var(--title); padding: 0; }
@container style(--presented: 1) {
  .stMain .st-key-known_one .stMarkdown p { font-size: calc(1.5 * var(--big)); margin-bottom: 0.4em; }
  .stMain .st-key-known_one .stMarkdown p span { font-size: inherit; vertical-align: baseline; }
  .stMain .st-key-known_one [data-testid="stHeading"] h2 { font-size: calc(1.8 * var(--big)); }
}
@media (max-width: 640px) {
  .stMain .st-key-known_list .stButton button { min-height: 2.75rem; }
  .stMain [data-testid="stVerticalBlock"].st-key-known_list { flex-flow: row; overflow-x: auto; scrollbar-width: thin; }
  .st-key-known_list > * { flex: none; width: max-content; }
  .st-key-known_list > :has([kind=primary]) { order: -1; }
}
</style>"""


class KnownState(PageState):
    """What is kept of this page."""

    result = choice("alignment", list(BY_NAME))
    asked: Kept[str | None] = Kept(None)  # the name of one that is to be computed, or "all"
    failed: Kept[dict[str, Exception]] = kept(dict)  # the name of one -> why it cannot be computed


FIELDS = address_fields(KnownState)


def key(one: KnownResult) -> tuple:
    """What an outcome depends on: the models that it is computed of."""
    return one.name, *one.model_ids()


def outcome(one: KnownResult) -> Outcome | Recorded | None:
    """What came out, if it was computed by anybody here, or else as it was recorded."""
    return shelf(PAGE).find(key(one)) or one.recorded()


def plain(found: Outcome | Recorded | None) -> Outcome | None:
    return found.outcome if isinstance(found, Recorded) else found


def made(one: KnownResult) -> Outcome:
    """What comes out, computed now if it has not been. Raises ValueError or OSError where that fails, and NotAllowed
    where this visitor may not have it computed."""
    if not is_quick(one) and shelf(PAGE).find(key(one)) is None:
        owners.require("compute")
    models = Models(lambda folder: opened(folder, describe(folder).id))
    return shelf(PAGE).make(key(one), one.title, lambda work: one.outcome(models, work.watch))


def is_quick(one: KnownResult) -> bool:
    """Whether it is computed when it is looked at; of a model that is not here that is said at once."""
    return one.seconds <= QUICK or None in one.model_ids()


def compute(one: KnownResult) -> Outcome | None:
    """As `made`; None, with a message, where that fails."""
    try:
        return made(one)
    except (ValueError, OSError) as error:
        say_error(error)
        return None


def compute_all(outcomes: Mapping[str, Outcome | Recorded | None]) -> None:
    """Computes one after the other what nobody has computed here; one that fails is said and keeps no other."""
    failed = KnownState(PAGE).failed
    for one in KNOWN:
        if not isinstance(outcomes[one.name], Outcome) and one.name not in failed:
            try:
                made(one)
            except (ValueError, OSError) as error:
                failed[one.name] = error
            else:
                st.rerun()
    for error in failed.values():
        say_error(error)


def mark_of(verdict: Verdict, *, coloured: bool = True) -> str:
    icon = f":material/{ICONS[verdict]}:"
    coloured = coloured and verdict != "not computed"
    return f":{COLOURS[verdict]}[{icon}]" if coloured else icon


def ask(name: str) -> None:
    """Have a result computed, or all of them."""
    state = KnownState(PAGE)
    state.asked, state.failed = name, {}


def show_list(chosen: KnownResult, outcomes: Mapping[str, Outcome | Recorded | None]) -> None:
    """All results, a button each."""
    for one in KNOWN:
        found = plain(outcomes[one.name])
        mark = mark_of(found.verdict if found else "not computed", coloured=one is not chosen)
        st.button(f"{mark} {one.title} · {one.source}", key=f"{PAGE}_{one.name}",
                  type="primary" if one is chosen else "secondary", width="stretch", on_click=KnownState.result.put,
                  args=[PAGE, one.name])


def show_one(one: KnownResult, outcome: Outcome | Recorded | None) -> None:
    """A result: what was published, when it agrees, what comes out here, and where that is seen."""
    st.header(one.title, anchor=False)
    if (found := plain(outcome)) is not None:
        st.markdown(f"{mark_of(found.verdict)} **:{COLOURS[found.verdict]}[{found.verdict.capitalize()}]**")
    source = one.source if presenting(PAGE) else f"[{one.source}]({one.url})"
    st.markdown(f"**Published** ({source}): {figures.markdown_text(one.published)}")
    st.markdown(f"**Counts as agreeing if** {figures.markdown_text(one.agrees_if)}.")
    asked = KnownState(PAGE).asked == one.name or (outcome is None and is_quick(one))
    if asked and not isinstance(outcome, Outcome) and compute(one):
        st.rerun()  # the list, which has been drawn, says how it came out
    if found is None:
        offer(one, "Compute it here")
        return
    st.markdown(f"**Here:** {figures.markdown_text(found.here)}")
    if found.link is not None:
        name, params = found.link
        st.page_link(PAGES[name].script, label=f"See it on {PAGES[name].title}", icon=PAGES[name].symbol,
                     query_params=dict(params), width="content")
    elif found.verdict == "not computed":
        st.page_link(PAGES["checkpoints"].script, label="Bring a model in", icon=PAGES["checkpoints"].symbol,
                     query_params={"view": "add"}, width="content")
    if isinstance(outcome, Recorded):
        st.caption(f"Computed on {outcome.day} ({outcome.machine}).")
        offer(one, "Compute it again here")


def offer(one: KnownResult, label: str) -> None:
    """The button that computes a result."""
    refused = None if is_quick(one) else owners.refusal(owners.me(), "compute")
    with settings(PAGE, "compute"):
        st.button(label, key=f"{PAGE}_compute", icon=":material/play_arrow:", on_click=partial(ask, one.name),
                  disabled=bool(refused), help=_why(refused) or f"It takes about {duration(one.seconds)}.")


def _why(refused: str | None) -> str:
    """Why a button is of no use, as a sentence; empty where it is."""
    return f"{figures.markdown_text(refused[0].upper() + refused[1:])}." if refused else ""


def show_table(outcomes: Mapping[str, Outcome | Recorded | None]) -> None:
    """All that was computed, as a table."""
    rows = [[one.title, one.source, one.published, found.here if found else "",
             found.verdict if found else "not computed"] for one in KNOWN for found in [plain(outcomes[one.name])]]
    st.html(figures.plain_table(["result", "source", "published", "here", ""], rows, label="Known results", wrap=True))


arrive_at(PAGE, FIELDS)
st.html(STYLE)
show_title(PAGE, "Known results")
one, outcomes = BY_NAME[KnownState(PAGE).result], {each.name: outcome(each) for each in KNOWN}
with settings(PAGE), st.container(horizontal=True, vertical_alignment="center"):
    verdicts = [found.verdict if found else "not computed" for found in map(plain, outcomes.values())]
    agree, differ = verdicts.count("agrees"), verdicts.count("does not agree")
    st.markdown(f"Published findings on attention, computed again: {mark_of('agrees')} {agree} "
                f"agree{'s' if agree == 1 else ''}, {mark_of('does not agree')} {differ} "
                f"do{'es' if differ == 1 else ''} not, {mark_of('undecided')} {verdicts.count('undecided')} undecided, "
                f"{mark_of('not computed')} {verdicts.count('not computed')} not computed.", width="content")
    refused = owners.refusal(owners.me(), "compute")
    st.button("Compute all here", key=f"{PAGE}_all", icon=":material/play_arrow:", on_click=partial(ask, "all"),
              disabled=bool(refused), help=_why(refused) or (
                  f"It takes about {duration(sum(other.seconds for other in KNOWN))}; what is done stays."))
under_way = st.container()
left, right = columns(PAGE, [2, 3], gap="medium")
if not presenting(PAGE):
    with left, st.container(key=f"{PAGE}_list"):
        show_list(one, outcomes)
    with st.expander("All of them as a table"):
        show_table(outcomes)
leave_at(PAGE, FIELDS)
with right, st.container(key=f"{PAGE}_one"):
    show_one(one, outcomes[one.name])
if KnownState(PAGE).asked == "all":
    with under_way:
        compute_all(outcomes)

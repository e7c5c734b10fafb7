"""Coming to a page by its address, and leaving an address behind: what every page with a link shares."""

from collections import deque

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx


def through_the_router() -> None:
    """Run app.py first, which a folder named `pages` keeps a deep link of a cold `streamlit run` from doing."""
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


def arrived(page: str, *, known: bool) -> dict[str, str] | None:
    """The address by which somebody has just come to this page; None where the page goes on as it was.

    known: the page has been set up before. A rerun under way can still carry an address that this page wrote a moment
    ago: those are not arrivals. The browser's Back and Forward are.
    """
    through_the_router()
    state, params = st.session_state, st.query_params.to_dict()
    seen: deque = state.setdefault(f"{page}_addresses", deque(maxlen=200))
    entered, state["visited"] = state.get("visited") != page, page
    back = get_script_run_ctx().is_history_navigation
    if known and (not params or (params in seen and not entered and not back)):
        return None
    seen.append(params)
    return params


def put_address(page: str, params: dict[str, str]) -> None:
    """Write the address bar, after `arrived`."""
    seen: deque = st.session_state[f"{page}_addresses"]
    # the first is what the browser had when it asked for this run; a later address may be on its way to it
    if params != st.query_params.to_dict() or params != seen[-1]:
        seen.append(params)
        st.query_params.from_dict(params)

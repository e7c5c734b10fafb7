"""The flow of information to a prediction, mounted as a component: a click, or Enter, chooses a node or an edge."""

from collections.abc import Callable

import streamlit as st

from ui.components.scripts import HERE, component

_flow = component("flow", HERE / "figures" / "flow.js", '<div class="flow"></div>')
LONGEST_ID = 80  # characters


def show_flow(key: str, message: dict, on_pick: Callable[[str], None], *, target: str) -> None:
    """Draw what `figures.flow_picture` made; on_pick gets the id of what was chosen. target: the key of the container
    that a click scrolls to where it is not beside the picture."""
    def picked() -> None:
        if pick := picked_id(st.session_state.get(key)):
            on_pick(pick)

    _flow(key=key, data=message | {"target": target}, on_pick_change=picked)


def picked_id(result: object) -> str | None:
    """The id that a click sent; None where it is not one."""
    pick = result.get("pick") if isinstance(result, dict) else getattr(result, "pick", None)
    return pick if isinstance(pick, str) and 0 < len(pick) <= LONGEST_ID else None

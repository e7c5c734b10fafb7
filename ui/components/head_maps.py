"""Maps of every head of a model, mounted as a component: a click, or Enter on a cell, chooses or switches a head."""

from collections.abc import Callable

import streamlit as st

from ui.components.scripts import HERE, component

_maps = component("head_maps", HERE / "figures" / "head_maps.js", '<div class="head-maps"></div>')


def show_head_maps(key: str, message: dict, on_pick: Callable[[dict], None], *,
                   target: str | None = None) -> None:
    """Draw what `figures.head_maps` made; on_pick gets the card, kind, layer and head of a click. target: the key of
    the container that a click scrolls to."""
    def picked() -> None:
        if pick := picked_head(st.session_state.get(key)):
            on_pick(pick)

    _maps(key=key, data=message | {"target": target}, on_pick_change=picked)


def show_head_switches(key: str, message: dict, on_switch: Callable[[list[str]], None]) -> None:
    """Draw what `figures.head_maps` made as switches: a click crosses a head at once, or crosses it no longer;
    on_switch gets all that are crossed, as "cross:1:0"."""
    state, answered = st.session_state, f"{key}_answered"

    def switched() -> None:
        if asked := switched_heads(state.get(key)):
            heads, state[answered] = asked
            on_switch(heads)

    _maps(key=key, data=message | {"answered": state.get(answered, 0)}, on_switch_change=switched)


def switched_heads(result: object) -> tuple[list[str], int] | None:
    """What a click on a switch sent: all switched heads, and how often was clicked; None where it is not that."""
    asked = result.get("switch") if isinstance(result, dict) else getattr(result, "switch", None)
    if not isinstance(asked, dict) or not isinstance(heads := asked.get("heads"), list):
        return None
    sent = asked.get("sent")
    return ([str(head) for head in heads], sent) if isinstance(sent, int) and 0 <= sent < 1_000_000 else None


def picked_head(result: object) -> dict | None:
    """What a click on a map sent: {card, kind, layer, head}; None where it is not that."""
    pick = result.get("pick") if isinstance(result, dict) else getattr(result, "pick", None)
    if not isinstance(pick, dict) or not {"card", "kind", "layer", "head"} <= pick.keys():
        return None
    whole = all(isinstance(pick[name], int) and 0 <= pick[name] < 10_000 for name in ("layer", "head"))
    return pick if whole and all(isinstance(pick[name], str) for name in ("card", "kind")) else None

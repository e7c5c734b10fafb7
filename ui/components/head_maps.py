"""Maps of every head of a model, mounted as a component: a click, or Enter on a cell, chooses a head."""

from collections.abc import Callable

import streamlit as st

from ui.components.scripts import HERE, component

_maps = component("head_maps", HERE / "head_maps.js", '<div class="head-maps"></div>')


def show_head_maps(key: str, message: dict, on_pick: Callable[[dict], None], *,
                   target: str | None = None) -> None:
    """Draw what `figures.head_maps` made; on_pick gets the card, kind, layer and head of a click. target: the key of
    the container that a click scrolls to."""
    def picked() -> None:
        if pick := picked_head(st.session_state.get(key)):
            on_pick(pick)

    _maps(key=key, data=message | {"target": target}, on_pick_change=picked)


def picked_head(result: object) -> dict | None:
    """What a click on a map sent: {card, kind, layer, head}; None where it is not that."""
    pick = result.get("pick") if isinstance(result, dict) else getattr(result, "pick", None)
    if not isinstance(pick, dict) or not {"card", "kind", "layer", "head"} <= pick.keys():
        return None
    whole = all(isinstance(pick[name], int) and 0 <= pick[name] < 10_000 for name in ("layer", "head"))
    return pick if whole and all(isinstance(pick[name], str) for name in ("card", "kind")) else None

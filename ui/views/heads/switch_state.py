"""What is kept of *Switch off*: the switched heads, what they do instead, and what is open beside them."""

from transformer.analysis.ablation import Head, PathChange
from transformer.inference.decoding import Step
from transformer.settings.config import KINDS
from ui.page.link import Field, choice, opened, optional, quiet, whole
from ui.state.page_state import Kept, PageState

MOST = 2_000  # heads in an address
WHAT = {"off": "Off", "uniform": "Uniform attention"}
LIMITS = [50, 200, 500, 2000]


def read_heads(text: str) -> list[Head]:
    """Heads from "decoder:0:3,cross:1:2"; unreadable parts are left out."""
    result = []
    for part in text[:20_000].split(",")[:MOST]:
        kind, *places = part.strip().split(":")
        if kind in KINDS and len(places) == 2 and all(
                place.isascii() and place.isdigit() and len(place) < 5 for place in places):
            result.append(Head(kind, *map(int, places)))
    return list(dict.fromkeys(result))


def write_heads(heads: list[Head]) -> str:
    return ",".join(f"{kind}:{layer}:{head}" for kind, layer, head in heads)


class Switch(PageState):
    """What is kept of this view; in an address the heads stand as heads=decoder:0:3,cross:1:2."""

    heads = Field([], read_heads, lambda heads: write_heads(heads) or None, long=True)
    what = quiet(choice("off", list(WHAT)))
    seen_kind = optional(choice(None, KINDS))
    seen_layer = optional(whole(0, 0, 1_000))
    seen_head = optional(whole(0, 0, 1_000))
    limit = quiet(choice(200, LIMITS))
    each, chances, seen = opened(), opened(), opened()
    switch_again = Kept(False)  # draw the whole page, of which a part has run
    demonstration: Kept[int | None] = Kept(None)  # the example that was clicked
    demonstrated: Kept[str | None] = Kept(None)  # the checkpoint whose examples stand there
    paths: Kept[tuple[tuple, PathChange, tuple[Step, Step]] | None] = Kept(None)  # what was read, and both ways
    effects_refused: Kept[str | None] = Kept(None)  # why measuring did not begin

"""The flow of information as a picture: rows of nodes for the layers, a column for each token, threads between them.

Plain values in, a JSON-like dictionary out, which ui/components/js/figures/flow.js places and draws.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from transformer.basics.formatting import how_many
from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL, MUTED
from ui.figures.probabilities import some_percent

COLOURS = {"encoder": CATEGORICAL[2], "decoder": CATEGORICAL[0], "cross": CATEGORICAL[3]}  # dashes differ too
LIGHTER = COLOURS | {"decoder": CATEGORICAL[5]}  # on a dark page


class Dot(NamedTuple):
    """A node. The prediction stands above all columns of its stack if it has none."""

    id: str
    stack: str
    row: float  # from the tokens up
    position: int | None
    kind: str  # "state", "feed_forward" or "prediction"
    words: str
    worth: float  # its share of the whole flow


class Thread(NamedTuple):
    """An edge between two nodes. One with an id can be chosen; a label is drawn on it where there is room."""

    id: str
    source: str
    target: str
    kind: str  # "encoder", "decoder", "cross", "residual", "feed_forward" or "logits"
    label: str
    words: str
    worth: float


def flow_picture(dots: Sequence[Dot], threads: Sequence[Thread], tokens: Mapping[str, Sequence[tuple[int, str]]],
                 bands: Mapping[str, Sequence[tuple[str, float, float]]], *, answer: str, chosen: str | None,
                 alt: str, dark: bool) -> dict:
    """The message of the picture. tokens: of each stack, the positions that have a column, and what stands there;
    bands: the names of its layers, with their first row and their last; answer: what is predicted."""
    stacks = [{"name": name, "bands": [[*band] for band in bands[name]],
               "columns": [{"position": at, "label": plain_label(token)} for at, token in columns]}
              for name, columns in tokens.items()]
    return {"dots": [dot._asdict() for dot in dots], "threads": [thread._asdict() for thread in threads],
            "stacks": stacks, "kinds": [kind for kind in COLOURS if any(thread.kind == kind for thread in threads)],
            "colours": (LIGHTER if dark else COLOURS) | {"other": MUTED}, "answer": answer,
            "chosen": chosen, "alt": alt}


def describe_flow(threads: Sequence[Thread], *, answer: str, threshold: float, hidden: float) -> str:
    """A sentence for `aria-label`."""
    heads = [thread for thread in threads if thread.label]
    strongest = f" The strongest head: {heads[0].words}." if heads else ""
    return (f"The flow of information from the tokens to “{answer}”: {how_many(len(threads), 'edge')} of at least "
            f"{threshold:g}%, {len(heads)} of them of heads.{strongest} {some_percent(hidden)} of the flow is hidden.")

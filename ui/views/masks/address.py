"""The address of Masks."""

from pathlib import Path

from transformer.config import KINDS
from ui.page.link import choice, switch, text, whole, wholes

STYLE = (Path(__file__).parent / "page.css").read_text("utf-8")
PAGE, ROWS, MOST_SCORES = "masks", 4, 16
PAIRS = [("I am cold.", "J'ai froid."), ("Look.", "Regarde."), ("", ""), ("", "")]
MASKS = {"target": "Target padding", "causal": "Causal", "decoder": "Target and causal", "source": "Source padding",
         "cross": "Cross", "all": "All, small"}
SCALES = [1, 10, 100, 1_000, 3_000, 5_000, 10_000]
EXAMPLES = {f"{side}{row + 1}": PAIRS[row][at]  # by the names of their fields
            for row in range(ROWS) for at, side in enumerate(("source", "target"))}
FIELDS = {
    **{name: text(example) for name, example in EXAMPLES.items()},
    "pair": whole(2, 1, ROWS), "mask": choice("decoder", list(MASKS)), "kind": choice("decoder", KINDS),
    "layer": whole(0, 0, 1_000), "head": whole(0, 0, 1_000), "causal": switch(False), "padding": switch(True),
    "train": switch(False), "scores": choice("typed", ["typed", "from the model"]),
    "typed": text("2.0 1.0 0.5 5.0"), "blocked": wholes([2, 3], MOST_SCORES - 1, count=MOST_SCORES),
    "query": whole(1, 0, 10_000), "scale": choice(1, SCALES), "all": switch(False)}

"""The address of Masks."""

from transformer.config import KINDS
from ui.link import choice, switch, text, whole, wholes

PAGE, ROWS, MOST_SCORES = "masks", 4, 16
PAIRS = [("I am cold.", "J'ai froid."), ("Go on.", "Continue."),
         ("Do you know where he lives?", "Sais-tu où il habite ?"), ("", "")]
SCALES = [1, 10, 100, 1_000, 3_000, 5_000, 10_000]
EXAMPLES = {f"{side}{row + 1}": PAIRS[row][at]  # by the names of their fields
            for row in range(ROWS) for at, side in enumerate(("source", "target"))}
FIELDS = {
    **{name: text(example) for name, example in EXAMPLES.items()},
    "pair": whole(1, 1, ROWS), "kind": choice("decoder", KINDS),
    "layer": whole(0, 0, 1_000), "head": whole(0, 0, 1_000), "causal": switch(False), "padding": switch(True),
    "train": switch(False), "scores": choice("typed", ["typed", "from the model"]),
    "typed": text("2.0 1.0 0.5 5.0"), "blocked": wholes([2, 3], MOST_SCORES - 1, count=MOST_SCORES),
    "query": whole(1, 0, 10_000), "scale": choice(1, SCALES), "all": switch(False)}

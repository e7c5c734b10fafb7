"""The address of Positions."""

from transformer.config import KINDS
from ui.page.link import choice, quiet, switch, text, whole, wholes

PAGE, MOST, WIDEST, CURVES = "positions", 512, 512, 12
PAIR = "feature pair"  # the column of rotary positions, whose later ones hardly turn
VIEWS = ["Sinusoidal", "Rotary", "Trained", "Left out"]
BASES = [10, 100, 1_000, 10_000, 100_000, 1_000_000]
LAYOUTS = ["interleaved", "halves"]
EXAMPLE = "My mother likes my father."
FIELDS = {
    "view": choice(VIEWS[0], VIEWS), "count": whole(100, 2, MOST), "d_model": whole(128, 2, WIDEST),
    "base": choice(10_000, BASES), "layout": choice("interleaved", LAYOUTS),
    "dims": wholes([4, 5, 20, 21, 60], WIDEST - 1, count=CURVES),
    "pairs": quiet(wholes([0, 2, 4, 8], WIDEST - 1, count=CURVES)), "measure": choice("product", ["product", "cosine"]),
    "place": whole(50, 0, MOST - 1), "width": whole(32, 2, 256), "seed": whole(0, 0, 999_999), "same": switch(False),
    "side": choice("src", ["src", "tgt"]), "text": text(EXAMPLE),
    "kind": choice("encoder", KINDS), "layer": whole(1, 0, 1_000), "head": whole(0, 0, 1_000)}

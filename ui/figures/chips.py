"""Tokens as a row of chips, shaded by how much they are attended to."""
from collections.abc import Sequence
from html import escape

from ui.figures.labels import part_of_one, plain_label
from ui.figures.palette import ACCENT, BAR

STYLE = f"""<style>
.chips {{ display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; line-height: 1.5;
  max-height: 14rem; overflow: auto; }}
.chips span {{ padding: .1rem .5rem; border-radius: .4rem; border: 1px solid rgba(128, 128, 128, .45);
  background: color-mix(in srgb, {BAR} calc(var(--weight, 0) * 75%), transparent);
  font-size: 1.05rem; white-space: pre; }}
.chips.small span {{ padding: 0 .18rem; font-size: .95rem; border-color: rgba(128, 128, 128, .25); }}
.chips span.unknown {{ border: 2px dashed #d62728; }}
.chips span.predicted {{ border: 2px solid {ACCENT}; font-weight: 700; }}
.chips span.picked {{ border-bottom: 3px solid currentColor; }}
.chips span > small {{ font-size: 12px; opacity: .75; font-variant-numeric: tabular-nums; }}
.chips .later {{ opacity: .65; }}
</style>"""


def token_chips(pieces: Sequence[str], *, label: str, weights: Sequence[float] | None = None,
                unknown: Sequence[int] = (), predicted: int | None = None, picked: Sequence[int] = (),
                small: bool = False, numbered: bool = False) -> str:
    """HTML for `st.html`: `weights` in [0, 1] shade the chips, positions in `unknown` are marked, and from
    `predicted` on nothing has been read yet: that one comes next, what follows is known only from having been there.
    picked: what the reader chose instead of the model. numbered: each has its position before it."""
    chips = []
    for position, piece in enumerate(pieces):
        weight = None if weights is None or position >= len(weights) else float(weights[position])
        kinds = {"unknown": position in unknown, "predicted": position == predicted,
                 "picked": position in picked,
                 "later": predicted is not None and position > predicted}
        hints = [f"position {position}"]
        if position in unknown:
            hints.append("not in the vocabulary: the model sees only that something is here")
        if position in picked:
            hints.append("you chose it")
        if weight is not None:
            hints.append(f"weight {part_of_one(weight, 3)}")
        # the square root, as in the heatmaps, so that small weights can be seen
        shade = f' style="--weight:{weight ** 0.5:.3f}"' if weight is not None else ""
        text = escape(plain_label(piece, longest=None))
        place = f"<small>{position}</small> " if numbered else ""
        chips.append(f'<span class="{" ".join(name for name, on in kinds.items() if on)}" data-position="{position}"'
                     f' title="{escape(", ".join(hints))}"{shade}>{place}<bdi>{text}</bdi></span>')
    small_class = " small" if small else ""
    return (f'{STYLE}<div class="chips{small_class}" role="group" aria-label="{escape(label)}" tabindex="0">'
            f'{"".join(chips)}</div>')

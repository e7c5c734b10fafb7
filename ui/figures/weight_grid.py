"""One head's weights as a small matrix of plain cells, for beside its map: HTML for `st.html`, no script to fetch."""
from collections.abc import Sequence
from html import escape

import numpy as np

from ui.figures.labels import cell_label, head_label, part_of_one, plain_label
from ui.figures.palette import ZERO, ink_on, ramp

NUMBERED = 16  # keys up to which the numbers stand in the cells
LEVEL = 9      # keys up to which their names lie flat, where they are short
MOST = 48      # tokens along a side


def _style(dark: bool | None) -> str:
    return f"""<style>
.weight-grid.weight-grid {{ margin: 0; overflow: auto; max-width: 100%; scrollbar-width: thin; }}
.weight-grid table {{ border-collapse: separate; border-spacing: 2px; margin: 0; font-size: 14px; line-height: 1;
  font-variant-numeric: tabular-nums; }}
.weight-grid th, .weight-grid td {{ border: 0; padding: 0 3px; text-align: center; white-space: pre; }}
.weight-grid th {{ font-weight: 500; background: {ZERO[bool(dark)]}; }}
.weight-grid thead th {{ position: sticky; top: 0; z-index: 1; vertical-align: bottom; padding: 2px; }}
.weight-grid.tall thead th bdi {{ writing-mode: vertical-rl; text-orientation: sideways;
  transform: rotate(180deg); }}
.weight-grid tbody th {{ position: sticky; left: 0; text-align: right; padding-right: 6px; }}
.weight-grid tbody th i {{ font-style: normal; opacity: .65; }}
.weight-grid td {{ min-width: var(--wide); height: var(--high); border-radius: 2px; }}
.weight-grid.small td {{ padding: 0; }}
.weight-grid.small table {{ font-size: 13px; }}
.weight-grid td.masked {{ background: repeating-linear-gradient(135deg, rgba(140, 146, 155, .3) 0 2px, transparent 2px
  7px); }}
</style>"""


def weight_grid(weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], *, kind: str, layer: int, head: int,
                after: Sequence[str] = (), mask: np.ndarray | None = None, dark: bool | None = None,
                small: bool = False) -> str:
    """Weights (Tq, Tk) of up to `MOST` tokens a side, colours by the square root; it scrolls inside itself.

    after: what each query goes on to predict, which stands after its name; small: cells no larger than a line of
    their names, without numbers, for where all type is large.
    """
    assert weights.shape == (len(queries), len(keys)), f"{weights.shape} for {len(queries)} x {len(keys)} tokens"
    shades = ramp(256, dark=dark)[(255 * np.sqrt(weights)).astype(int).clip(0, 255)]  # (Tq, Tk, 3)
    numbered = len(keys) <= NUMBERED and not small
    allowed = np.ones(weights.shape, bool) if mask is None else mask
    names = [plain_label(piece) for piece in keys]
    rows = []
    for query, piece in enumerate(queries):
        inks, looks = ink_on(shades[query]), f"{plain_label(piece)} looks at"
        cells = "".join(
            _cell(float(weights[query, key]), shades[query, key], inks[key], f"{looks} {names[key]}",
                  numbered=numbered, masked=not allowed[query, key], place=f'data-query="{query}" data-key="{key}"')
            for key in range(len(keys)))
        goes_on = f" <i>→ {escape(plain_label(after[query]))}</i>" if query < len(after) else ""
        rows.append(f'<tr><th scope="row"><bdi>{escape(plain_label(piece))}</bdi>{goes_on}</th>{cells}</tr>')
    level = len(keys) <= LEVEL and max(map(len, names)) <= 9 and not small
    tall = 34 if len(queries) <= 8 else 26 if len(queries) <= 13 else 19
    wide, high = (14, 13) if small else (32 if numbered else 18, tall)
    classes = " ".join(["weight-grid", *["tall"] * (not level), *["small"] * small])
    head_row = "".join(f'<th scope="col" data-position="{at}"><bdi>{escape(name)}</bdi></th>'
                       for at, name in enumerate(names))
    said = f"Weights of {kind}, {head_label(layer, head)}: tokens that look down, tokens looked at across"
    return (f'{_style(dark)}<figure class="{classes}" role="region" tabindex="0" '
            f'aria-label="{escape(said)}" data-kind="{escape(kind)}" data-layer="{layer}" data-head="{head}" '
            f'style="--wide:{wide}px;--high:{high}px"><table><thead><tr><td></td>{head_row}</tr></thead><tbody>'
            f"{''.join(rows)}</tbody></table></figure>")


def _cell(weight: float, shade: np.ndarray, ink: str, hint: str, *, numbered: bool, masked: bool, place: str) -> str:
    if masked:
        return f'<td class="masked" {place} title="{escape(hint)}: masked"></td>'
    text = "" if not numbered or weight < 0.005 else cell_label(weight)
    red, green, blue = shade.tolist()
    return (f'<td {place} data-weight="{weight:.6g}" title="{escape(hint)} with {part_of_one(weight, 3)}" '
            f'style="background:rgb({red},{green},{blue});color:{ink}">{text}</td>')

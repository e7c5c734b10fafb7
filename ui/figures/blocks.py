"""Which piece of which word lies where while heads are folded into the batch: one block a word and head."""
from collections.abc import Sequence
from html import escape

import numpy as np

from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL, ink_on

_SHADES = np.array([[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in CATEGORICAL])
_HEADS = "".join(f".blocks .head{at} {{ background: {colour}; color: {ink}; }}\n"
                 for at, (colour, ink) in enumerate(zip(CATEGORICAL, ink_on(_SHADES), strict=True)))
STYLE = f"""<style>
.blocks {{ overflow-x: auto; max-width: 100%; }}
.blocks table {{ border-collapse: separate; border-spacing: 3px; font-size: 14px; margin: 0; }}
.blocks caption {{ text-align: left; font-size: 15px; padding-bottom: .4em; caption-side: top; }}
.blocks th {{ font-weight: 500; text-align: right; padding: .1em .5em .1em 0; white-space: nowrap; border: 0; }}
.blocks td {{ padding: .15em .5em; border-radius: .25rem; white-space: nowrap; border: 0; }}
{_HEADS}</style>"""


def head_blocks(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, title: str) -> str:
    """HTML of rows of blocks, each block (word, head) with the colour of its head, which is also written on it."""
    def block(word: str, head: int) -> str:
        return (f'<td class="head{head % len(CATEGORICAL)}"><bdi>{escape(plain_label(word, longest=8))}</bdi>'
                f"<sub>{head}</sub></td>")

    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{"".join(block(*each) for each in blocks)}</tr>'
                   for name, blocks in rows)
    return (f'{STYLE}<div class="blocks" role="region" aria-label="{escape(title)}" tabindex="0"><table>'
            f"<caption>{escape(title)}</caption><tbody>{body}</tbody></table></div>")

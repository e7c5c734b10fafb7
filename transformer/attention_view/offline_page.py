"""The attention view as one file that needs no network and no server, and in a notebook."""

import html
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.heads import AttentionSource, shape
from transformer.attention_view.message import Selection, about, path_of, whole
from transformer.attention_view.script_bundle import JS, script
from transformer.inference.decoding import GREEDY, Sampling, Step

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src
'unsafe-inline'; img-src data: blob:"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; }}
body {{ margin: 1rem; background: Canvas; color: CanvasText; }}
</style></head><body><div class="{kind}"></div>
<script type="application/octet-stream" id="message">{message}</script>
<script type="module">
{script}
</script></body></html>
"""


def page(source: AttentionSource, selection: Selection | None = None, *, exact: bool = True,
         sampling: Sampling = GREEDY) -> str:
    """One self-contained HTML page with every head of every kind, hover and all; it works offline. Of a `Step` it holds
    the whole way to it, and steps; its candidates have their probabilities under `sampling`.

    exact=False keeps in full only the head looked at, and shows the others pooled: much less for a long text.
    """
    selection = selection or Selection(source.kinds[-1])
    # runs (what is masked) and frequent bytes are all there is to gain: weights do not repeat themselves
    squeezed = zlib.compressobj(6, wbits=31, strategy=zlib.Z_RLE)
    steps = exact and isinstance(source, Step)
    header = {"path": path_of(source, sampling), "newest": True} if steps else {}
    message = text_of(squeezed.compress(whole(source, selection, exact=exact, **header)) + squeezed.flush())
    title = html.escape(f"{about(source)['checkpoint'] or 'attention'} · {source.text[:60]}")
    kind, entry = ("step-view", "offline_steps.js") if steps else ("attention-view", "offline_picture.js")
    return PAGE.format(title=title, kind=kind, script=_script(entry), message=message)


@cache
def _script(entry: str) -> str:
    return script(JS / entry)


def text_of(data: bytes) -> str:
    """Bytes as text of seven bits a character, where base64 has six; `readBytes` in js/message.js is the way back.

    The four that do not come through a page unchanged (NUL, line feed, carriage return, <) are written 256 higher.
    """
    sevens = np.zeros((-(-len(data) // 7), 8), np.uint8)  # seven bytes, one number, eight characters
    sevens[:, 1:] = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7)
    codes = sevens.view(">u8").astype(np.uint64) >> np.arange(49, -1, -7, dtype=np.uint64) & np.uint64(127)
    characters = np.arange(128, dtype="<u2")
    characters[list(b"\0\n\r<")] += 256
    return characters[codes.ravel()[: -(-len(data) * 8 // 7)]].tobytes().decode("utf-16-le")


class Picture:
    """An offline page that a notebook displays."""

    def __init__(self, page: str, height: int, what: str):
        self.page, self.height, self.what = page, height, what

    def __repr__(self) -> str:
        return f"Picture of {self.what}: {len(self.page.encode()) / 1e6:.2f} MB; .save(path) writes it as one HTML file"

    @property
    def data(self) -> str:
        """The page, under the name that IPython's HTML has for it."""
        return self.page

    def save(self, path: Path | str) -> Path:
        """Write the page, which needs no network, in place of what may be there; returns the path."""
        Path(path).write_text(self.page, "utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="{self.height}" style="border:0" '
                'sandbox="allow-scripts allow-downloads"></iframe>')


def show(source: AttentionSource | Sequence[Tensor] | object = None, tokens: Sequence[str] | None = None, *,
         kind: str | None = None, layer: int | None = None, head: int | None = None, heads: Sequence[int] | None = None,
         exact: bool = True, height: int = 720, html_action: str | None = None, **weights: Any) -> Picture | None:
    """What a step's heads do, displayed by a notebook: `transformer.show(step)`.

    Takes a `Step` or a `Reading`; or weights from elsewhere, as BertViz's head_view and model_view do:
    `show(attention, tokens)`, or the output of a model of transformers with its tokens, or `encoder_attention`,
    `decoder_attention` and `cross_attention` with `encoder_tokens` and `decoder_tokens`, and further `weights`: see
    `ExternalWeights`. layer, head: those seen first; heads: those drawn as lines at first. html_action: "view" displays
    at once and returns nothing, "return", as without it, gives the picture. Raises ValueError where tokens and weights
    do not fit.
    """
    if source is None or not hasattr(source, "axes"):
        source = ExternalWeights(source, tokens, **weights).tensors()
        kind = kind or (source.kinds[0] if source.cut else None)
    elif weights:
        raise ValueError(f"{', '.join(weights)}: these are for weights from elsewhere; leave them out for a step")
    kind = kind or source.kinds[-1]
    if kind not in source.kinds:
        raise ValueError(f"there is no {kind} attention here; choose from {', '.join(source.kinds)}")
    selection = _selection(source, kind, layer, head, heads)
    picture = Picture(page(source, selection, exact=exact), height, f"{kind} attention")
    if html_action in (None, "return"):
        return picture
    if html_action != "view":
        raise ValueError(f"html_action is {html_action!r}; choose view or return, or leave it out")
    from IPython.display import display

    display(picture)
    return None


def _selection(source: AttentionSource, kind: str, layer: int | None, head: int | None,
               heads: Sequence[int] | None) -> Selection:
    """What is seen at first, by the numbers of the layers and heads that are there."""
    counts = shape(source, kind)
    numbers = getattr(source, "numbers", None) or {"layers": range(counts[0]), "heads": range(counts[1])}
    there = {name: list(found) for name, found in numbers.items()}
    layer = there["layers"][0] if layer is None else layer
    wanted = [*([head] if head is not None else []), *(heads if heads is not None else [])] or there["heads"][:1]
    if layer not in there["layers"] or any(one not in there["heads"] for one in wanted):
        count, of, which = len(there["layers"]), len(there["heads"]), "counted from 0"
        if getattr(source, "numbers", None):
            which = f"{', '.join(map(str, there['layers']))} and {', '.join(map(str, there['heads']))}"
        raise ValueError(f"layer {layer}, head {', '.join(map(str, wanted))} asked for, and there are {count} layers "
                         f"of {of} heads, {which}")
    at = [there["heads"].index(one) for one in wanted]
    lines = {"view": "lines", "lit": tuple(sorted(set(at)))} if heads is not None and len(at) > 1 else {}
    return replace(Selection(kind), layer=there["layers"].index(layer), head=at[0], **lines)

"""The attention view as one file that needs no network and no server."""

import html
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from transformer.attention_view.heads import AttentionSource
from transformer.attention_view.message import MODEL, about, path_of, whole
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.model_message import model_alone
from transformer.attention_view.script_bundle import JS, script
from transformer.attention_view.shared import CHOICES
from transformer.basics.design import document_style, font_style
from transformer.inference.decoding import GREEDY, AnyStep, Sampling, Step

MODEL_VIEW = "#view/model/model_view.js"  # which is imported later
PART = 7 * 150_000  # bytes that are made text at once, which takes sixteen times the room
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src
'unsafe-inline'; img-src data: blob:; font-src data:">"""
PAGE = HEAD + """<title>{title}</title>
<style>{style}
body {{ margin: 1rem; }}
</style></head><body><div class="{kind}"></div>
<script type="application/octet-stream" id="message">{message}</script>
<script type="module">
{script}
</script></body></html>
"""


def page(source: AttentionSource | AnyStep, selection: Selection | None = None, *, exact: bool = True,
         sampling: Sampling = GREEDY) -> str:
    """One self-contained HTML page with every head of every kind, hover and all; it works offline. Of a `Step` it holds
    the whole way to it, and steps; its candidates have their probabilities under `sampling`. The picture of the whole
    model comes along where that is what is selected, and the model is known.

    exact=False keeps in full only the head looked at, and shows the others pooled: much less for a long text.
    """
    selection = selection or Selection(source.kinds[-1])
    drawn = source.seen if isinstance(source, AnyStep) else source
    # of values that are no weights there is no part for an earlier step
    step = source if exact and isinstance(source, AnyStep) and not getattr(drawn, "scales", None) else None
    header: dict[str, Any] = {} if step is None else {"path": path_of(step, sampling), "newest": True}
    of_model, arrays = model_alone(drawn, selection, steps=step.path() if isinstance(step, Step) else (), exact=exact)
    if selection.view == MODEL and not of_model:
        selection = replace(selection, view=CHOICES["view"][0])
    # runs (what is masked) and frequent bytes are all there is to gain: weights do not repeat themselves
    squeezed = zlib.compressobj(6, wbits=31, strategy=zlib.Z_RLE)
    whole_message = whole(drawn, selection, exact=exact, more=arrays, **of_model, **header)
    message = text_of(squeezed.compress(whole_message) + squeezed.flush())
    title = html.escape(f"{about(drawn)['checkpoint'] or 'attention'} · {source.text[:60]}")
    kind, entry = ("step-view", "offline_steps.js") if step else ("attention-view", "offline_picture.js")
    return PAGE.format(title=title, style=document_style() + font_style(), kind=kind, message=message,
                       script=_script(entry, bool(of_model)))


@cache
def _script(entry: str, has_model: bool) -> str:
    return script(JS / "outside_app" / entry, along=[MODEL_VIEW] if has_model else ())


def text_of(data: bytes) -> str:
    """Bytes as text of seven bits a character, where base64 has six; `readBytes` in js/message/message.js is the
    way back."""
    return "".join(texts_of(data))


def texts_of(data: bytes) -> Iterator[str]:
    """The parts of such a text, each of which can be read by itself.

    The four that do not come through a page unchanged (NUL, line feed, carriage return, <) are written 128 higher: a
    browser keeps such a text in a byte a character.
    """
    characters = np.arange(128, dtype="<u2")
    characters[list(b"\0\n\r<")] += 128
    return (_text_of_part(data[at:at + PART], characters) for at in range(0, len(data), PART))


def _text_of_part(data: bytes, characters: np.ndarray) -> str:
    sevens = np.zeros((-(-len(data) // 7), 8), np.uint8)  # seven bytes, one number, eight characters
    sevens[:, 1:] = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7)
    codes = sevens.view(">u8").astype(np.uint64) >> np.arange(49, -1, -7, dtype=np.uint64) & np.uint64(127)
    return characters[codes.ravel()[: -(-len(data) * 8 // 7)]].tobytes().decode("utf-16-le")


class Page:
    """What is displayed, as one page that needs no network: `page` is its text."""

    @property
    def page(self) -> str:
        raise NotImplementedError

    @property
    def data(self) -> str:
        """The page, under the name that IPython's HTML has for it."""
        return self.page

    def save(self, path: Path | str) -> Path:
        """Write the page in place of what may be there; returns the path."""
        Path(path).write_text(self.page, "utf-8")
        return Path(path)

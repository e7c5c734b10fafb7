"""The attention view as one file that needs no network and no server, and in a notebook."""

import html
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from transformer.attention_view.heads import Shown, shape
from transformer.attention_view.message import SCRIPT, STYLE, Look, about, whole
from transformer.config import Kind

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src
'unsafe-inline'; img-src data: blob:"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; }}
body {{ margin: 1rem; background: Canvas; color: CanvasText; }}
{style}
</style></head><body><div class="attention-view"></div>
<script type="application/octet-stream" id="message">{message}</script>
<script type="module">
{script}
const packed = new Blob([readBytes(document.getElementById("message").textContent)]);
const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
const data = new Uint8Array(await new Response(stream).arrayBuffer());
mount(document.querySelector(".attention-view"), data, () => {{}});
</script></body></html>
"""


def page(shown: Shown, look: Look | None = None, *, exact: bool = True) -> str:
    """One self-contained HTML page with every head of every kind, hover and all; it works offline.

    exact=False keeps in full only the head looked at, and shows the others pooled: much less for a long text.
    """
    look = look or Look(shown.kinds[-1])
    # runs (what is masked) and frequent bytes are all there is to gain: weights do not repeat themselves
    squeezed = zlib.compressobj(6, wbits=31, strategy=zlib.Z_RLE)
    message = written(squeezed.compress(whole(shown, look, exact=exact)) + squeezed.flush())
    told = about(shown)
    title = html.escape(f"{told['checkpoint'] or 'attention'} · {shown.text[:60]}")
    return PAGE.format(title=title, style=STYLE, script=SCRIPT.replace("export default", "void"), message=message)


def written(data: bytes) -> str:
    """Bytes as text of seven bits a character, where base64 has six; `readBytes` in data.js is the way back.

    The four that do not come through a page unchanged (NUL, line feed, carriage return, <) are written 256 higher.
    """
    sevens = np.zeros((-(-len(data) // 7), 8), np.uint8)  # seven bytes, one number, eight characters
    sevens[:, 1:] = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7)
    codes = sevens.view(">u8").astype(np.uint64) >> np.arange(49, -1, -7, dtype=np.uint64) & np.uint64(127)
    characters = np.arange(128, dtype="<u2")
    characters[list(b"\0\n\r<")] += 256
    return characters[codes.ravel()[: -(-len(data) * 8 // 7)]].tobytes().decode("utf-16-le")


@dataclass(frozen=True)
class Tensors:
    """Attention weights that came from elsewhere, to be looked at like our own."""

    attentions: Mapping[str, Tensor]  # kind -> (layers, H, Tq, Tk)
    tokens: Mapping[str, tuple[list[str], list[str]]]  # kind -> query and key tokens
    text: str = ""
    ckpt: None = None
    heads: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.attentions)

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        return self.tokens[kind]

    def mask(self, kind: str) -> Tensor:
        """Causal where no weight looks ahead; what else was masked cannot be seen from weights."""
        weights = self.attentions[kind]
        ahead = torch.ones(weights.shape[-2:], dtype=torch.bool).triu(1)
        return ~ahead if kind == "decoder" and not weights[..., ahead].any() else torch.ones_like(ahead)

    def looked(self, kind: str) -> None:
        return None


class Picture:
    """An offline page that a notebook displays."""

    def __init__(self, page: str, height: int):
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="{self.height}" style="border:0" '
                'sandbox="allow-scripts allow-downloads"></iframe>')


def show(shown: Shown | Sequence[Tensor] | None = None, tokens: Sequence[str] | None = None, *,
         encoder_attention: Sequence[Tensor] | None = None, decoder_attention: Sequence[Tensor] | None = None,
         cross_attention: Sequence[Tensor] | None = None, encoder_tokens: Sequence[str] | None = None,
         decoder_tokens: Sequence[str] | None = None, kind: str | None = None, layer: int = 0, head: int = 0,
         exact: bool = True, height: int = 720) -> Picture:
    """What a step's heads do, displayed by a notebook: `transformer.show(step)`.

    Takes a `Step` or a `Reading`; or weights from elsewhere, as BertViz's head_view does: `show(attention, tokens)`, or
    `encoder_attention`, `decoder_attention` and `cross_attention` with `encoder_tokens` and `decoder_tokens`, each a
    list with a tensor (1, H, Tq, Tk) for every layer. Raises ValueError where tokens and weights do not fit.
    """
    if shown is None or not hasattr(shown, "axes"):
        shown = _tensors(shown, tokens, encoder_attention, decoder_attention, cross_attention, encoder_tokens,
                         decoder_tokens)
    kind = kind or shown.kinds[-1]
    if kind not in shown.kinds:
        raise ValueError(f"there is no {kind} attention here; choose from {', '.join(shown.kinds)}")
    layers, heads = shape(shown, kind)
    if not (0 <= layer < layers and 0 <= head < heads):
        raise ValueError(f"layer {layer}, head {head} asked for, and there are {layers} layers of {heads} heads, "
                         "counted from 0")
    return Picture(page(shown, replace(Look(kind), layer=layer, head=head), exact=exact), height)


def _tensors(attention, tokens, encoder, decoder, cross, encoder_tokens, decoder_tokens) -> Tensors:
    if attention is not None:  # a model that looks at itself
        first = torch.as_tensor(attention[0])
        if first.triu(1).any():  # at what comes later too
            encoder, encoder_tokens = attention, tokens
        else:
            decoder, decoder_tokens = attention, tokens
    parts = {"encoder": (encoder, encoder_tokens, encoder_tokens), "decoder": (decoder, decoder_tokens, decoder_tokens),
             "cross": (cross, decoder_tokens, encoder_tokens)}
    weights, axes = {}, {}
    for kind, (layers, queries, keys) in parts.items():
        if layers is None:
            continue
        stacked = torch.stack([torch.as_tensor(layer).detach().float().cpu() for layer in layers])
        if stacked.dim() == 5 and stacked.shape[1] == 1:
            stacked = stacked[:, 0]
        wanted = len(queries or ()), len(keys or ())
        if stacked.dim() != 4 or stacked.shape[2:] != wanted:
            raise ValueError(f"the {kind} attention of each layer must be (1, H, queries, keys) = (1, H, {wanted[0]}, "
                             f"{wanted[1]}) for these tokens, and it is {tuple(torch.as_tensor(layers[0]).shape)}")
        weights[kind], axes[kind] = stacked, (list(map(str, queries)), list(map(str, keys)))
    if not weights:
        raise ValueError("there is nothing to show: pass a step, or attention weights with their tokens")
    return Tensors(weights, axes)



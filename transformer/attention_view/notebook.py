"""What a notebook displays: a live view where anywidget is installed, else an offline page."""

import html
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from transformer.attention_view import captured
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.heads import AttentionSource, shape
from transformer.attention_view.message import Selection
from transformer.attention_view.offline_page import Page, page
from transformer.inference.decoding import GREEDY, AnyStep, Sampling

if TYPE_CHECKING:
    from transformer.attention_view.widget import View

AHEAD = 40  # tokens that a page, in which no model runs, has of a text that a model in memory writes


class Picture(Page):
    """An offline page that a notebook displays."""

    def __init__(self, page: str, height: int, what: str):
        self.page, self.height, self.what = page, height, what

    def __repr__(self) -> str:
        return f"Picture of {self.what}: {len(self.page.encode()) / 1e6:.2f} MB; .save(path) writes it as one HTML file"

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="{self.height}" style="border:0" '
                'sandbox="allow-scripts allow-downloads"></iframe>')


def show(source: AttentionSource | Sequence[Tensor] | nn.Module | object = None,
         tokens: Sequence[str] | object = None, text: str | tuple[str, str] | None = None, *, kind: str | None = None,
         layer: int | None = None, head: int | None = None, heads: Sequence[int] | None = None,
         sampling: Sampling = GREEDY, exact: bool = True, height: int = 720, live: bool | None = None,
         html_action: str | None = None, **weights: Any) -> "View | Picture | None":
    """What a step's heads do, displayed by a notebook: `transformer.show(step)`.

    Takes a `Step` or a `Reading`; a model of transformers that is held in memory, `show(model, tokenizer, text)`, which
    is stepped where it writes; or weights from elsewhere, as BertViz's head_view and model_view do:
    `show(attention, tokens)`, or the output of a model of transformers with its tokens, or `encoder_attention`,
    `decoder_attention` and `cross_attention` with `encoder_tokens` and `decoder_tokens`, and further `weights`: see
    `ExternalWeights`.

    layer, head: those seen first; heads: those drawn as lines at first. sampling: how further tokens are chosen. live:
    whether it is a `View`, which Python hears and sets, or a page that stays in the notebook; None: a view where
    anywidget is installed. exact: whether a page has all heads in full. html_action: "view" displays at once and
    returns nothing, "return", as without it, gives the picture. Raises ValueError where tokens and weights do not fit,
    and for a model that gives no weights.
    """
    there = find_spec("anywidget") is not None
    if live and not there:
        raise ValueError("a live view needs anywidget, which is not installed; pip install anywidget, or leave out "
                         "live=True")
    if html_action not in (None, "return", "view"):
        raise ValueError(f"html_action is {html_action!r}; choose view or return, or leave it out")
    live = there if live is None else live
    source, kind = _source(source, tokens, text, kind, weights, sampling)
    if isinstance(source, captured.CapturedStep) and not live:
        source = _ahead(source, sampling)
    drawn = source.seen if isinstance(source, AnyStep) else source
    kind = kind or drawn.kinds[-1]
    if kind not in drawn.kinds:
        raise ValueError(f"there is no {kind} attention here; choose from {', '.join(drawn.kinds)}")
    selection = _selection(drawn, kind, layer, head, heads)
    if live:
        from transformer.attention_view.widget import View

        picture = View(source, selection, sampling=sampling, exact=exact, height=height)
    else:
        picture = Picture(page(source, selection, exact=exact, sampling=sampling), height, f"{kind} attention")
    if html_action != "view":
        return picture
    from IPython.display import display

    display(picture)
    return None


def _source(source: object, tokens: object, text: object, kind: str | None, weights: dict[str, Any],
            sampling: Sampling) -> tuple[AttentionSource, str | None]:
    """What is drawn, and the kind of attention that is seen first where that is not the usual one."""
    if isinstance(source, nn.Module):
        if weights:
            raise ValueError(f"{', '.join(weights)}: these are for weights from elsewhere; leave them out for a model")
        if text is None:
            raise ValueError("there is no text for the model to read; show(model, tokenizer, text)")
        return captured.read(source, tokens, text, sampling=sampling), kind
    if text is not None:
        raise ValueError("a text is for a model that reads it; show(model, tokenizer, text)")
    if source is None or not hasattr(source, "axes"):
        source = ExternalWeights(source, tokens, **weights).tensors()
        return source, kind or (source.kinds[0] if source.cut else None)
    if weights:
        raise ValueError(f"{', '.join(weights)}: these are for weights from elsewhere; leave them out for a step")
    return source, kind


def _ahead(step: AnyStep, sampling: Sampling) -> AnyStep:
    while step.index < AHEAD and not step.ended:
        step = step.next(sampling=sampling)
    return step


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

"""What a notebook displays: a live view where anywidget is installed, else an offline page."""

import html
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from torch import Tensor, nn

from transformer.attention_view import captured
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.heads import AttentionSource, shape
from transformer.attention_view.message import MODEL
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.offline_page import Page, page
from transformer.attention_view.shared import CHOICES
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import opening_of
from transformer.inference.decoding import GREEDY, AnyStep, Sampling, Step, start, steps
from transformer.inference.reading import Reading, attend
from transformer.settings.config import Kind

if TYPE_CHECKING:
    from transformer.attention_view.widget import View

Stepped = TypeVar("Stepped", Step, captured.CapturedStep)
AHEAD = 40  # tokens that a page, in which no model runs, has of a text that a model in memory writes


class Picture(Page):
    """An offline page that a notebook displays."""

    def __init__(self, page: str, height: int, what: str):
        self._page, self.height, self.what = page, height, what

    @property
    def page(self) -> str:
        return self._page

    def __repr__(self) -> str:
        return f"Picture of {self.what}: {len(self.page.encode()) / 1e6:.2f} MB; .save(path) writes it as one HTML file"

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="{self.height}" style="border:0" '
                'sandbox="allow-scripts allow-downloads"></iframe>')


def show(source: AttentionSource | Checkpoint | Sequence[Tensor] | nn.Module | object = None,
         tokens: Sequence[str] | object = None, text: str | tuple[str, str] | None = None, *, kind: str | None = None,
         layer: int | None = None, head: int | None = None, heads: Sequence[int] | None = None,
         level: str | None = None, sampling: Sampling = GREEDY, exact: bool = True, height: int = 720,
         live: bool | None = None, html_action: str | None = None, **weights: Any) -> "View | Picture | None":
    """What a step's heads do, displayed by a notebook: `transformer.show(step)`; the whole model: `show(ckpt)`.

    Takes a `Step` or a `Reading`; a checkpoint, with a `text` for it, else with the one that a page opens with: a
    translation is decoded to its end, other text is stepped from its end on; a model of transformers that is held in
    memory, `show(model, tokenizer, text)`, which is stepped where it writes; or weights from elsewhere, as BertViz's
    head_view and model_view do: `show(attention, tokens)`, or the output of a model of transformers with its tokens, or
    `encoder_attention`, `decoder_attention` and `cross_attention` with `encoder_tokens` and `decoder_tokens`, and
    further `weights`: see `ExternalWeights`.

    layer, head: those seen first; heads: those drawn as lines at first. level: of the picture of the whole model, which
    is then what is seen first: "whole", "stack", "layer", "head", "cell" or "number". sampling: how further tokens are
    chosen. live: whether it is a `View`, which Python hears and sets, or a page that stays in the notebook; None: a
    view where anywidget is installed. exact: whether a page has all heads in full. html_action: "view" displays at once
    and returns nothing, "return", as without it, gives the picture. Raises ValueError where tokens and weights do not
    fit, for a model that gives no weights, and for a checkpoint without a text that has none of its own.

    >>> transformer.show(transformer.start(ckpt, "I am cold."), live=False).save(tmp / "picture.html").name
    'picture.html'
    """
    there = find_spec("anywidget") is not None
    if live and not there:
        raise ValueError("a live view needs anywidget, which is not installed; pip install anywidget, or leave out "
                         "live=True")
    if html_action not in (None, "return", "view"):
        raise ValueError(f"html_action is {html_action!r}; choose view or return, or leave it out")
    if unknown := weights.keys() - {field.name for field in fields(ExternalWeights)}:
        raise TypeError(f"show() got an unexpected keyword argument {min(unknown)!r}")
    live = there if live is None else live
    if isinstance(source, AnyStep) and not live and not exact and sampling != GREEDY:
        raise ValueError("sampling has no effect on a page of one head; leave out sampling, or leave out exact=False")
    if isinstance(source, Checkpoint):
        if tokens is not None or weights:
            raise ValueError("tokens and weights are for weights from elsewhere; show(ckpt, text=...) reads a text")
        if heads is None:
            level = CHOICES["level"][0] if level is None else level
        source, kind, layer, head = _read(source, text, kind, layer, head, sampling, live=live)
        text = None
    source, kind = _source(source, tokens, text, kind, weights, sampling)
    if sampling != GREEDY and not isinstance(source, AnyStep):
        raise ValueError("sampling is for a model that writes, and nothing writes here; leave it out")
    if isinstance(source, captured.CapturedStep) and not live:
        source = _ahead(source, sampling)
    drawn = source.seen if isinstance(source, AnyStep) else source
    kind = kind or drawn.kinds[-1]
    if kind not in drawn.kinds:
        raise ValueError(f"there is no {kind} attention here; choose from {', '.join(drawn.kinds)}")
    selection = _selection(drawn, kind, layer, head, heads)
    if level is not None:
        selection = _in_model(drawn, selection, level)
    if live:
        from transformer.attention_view.widget import View

        picture = View(source, selection, sampling=sampling, exact=exact, height=height)
    else:
        model = None if level is None else drawn.ckpt
        what = f"{kind} attention" if model is None else f"{model.id}, from {level} to number"
        picture = Picture(page(source, selection, exact=exact, sampling=sampling), height, what)
    if html_action != "view":
        return picture
    from IPython.display import display

    display(picture)
    return None


def _source(source: Any, tokens: object, text: str | tuple[str, str] | None, kind: str | None,
            weights: dict[str, Any], sampling: Sampling) -> tuple[AttentionSource | AnyStep, str | None]:
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
        if source is not None and "attention" in weights:
            raise ValueError("the attention is given twice; leave out attention=")
        source = ExternalWeights(**{"attention": source, "tokens": tokens, **weights}).tensors()
        return source, kind or (source.kinds[0] if source.cut else None)
    if given := [*(["tokens"] if tokens is not None else []), *weights]:
        raise ValueError(f"{', '.join(given)}: these are for weights from elsewhere; leave them out for a step")
    return source, kind


def _read(ckpt: Checkpoint, text: Any, kind: str | None, layer: int | None, head: int | None, sampling: Sampling, *,
          live: bool) -> tuple[Step | Reading, str | None, int | None, int | None]:
    """What a checkpoint makes of a text, or of the first one that a page has for it, and what is seen of it first."""
    opening = opening_of(ckpt.description)
    if text is None:
        if not opening.examples:
            language = (ckpt.description.languages or ["text"])[0]
            reads, example = (language, '"…"') if ckpt.reads_text else ("ids", '"1 2 3"')
            raise ValueError(f"{ckpt.id} reads {reads}, of which there is no example here; give one: "
                             f"show(ckpt, text={example})")
        text = opening.examples[0].text
    if not ckpt.config.decoder_layers:
        source = attend(ckpt, text)
    elif ckpt.config.encoder_layers:
        *_, source = steps(ckpt, text, sampling=sampling)
    else:
        source = start(ckpt, text, sampling=sampling)
        source = source if live else _ahead(source, sampling)
    if kind is None and layer is None and head is None and opening.kind in source.kinds:
        kind, (layers, count) = opening.kind, shape(source, opening.kind)
        layer, head = min(opening.layer, layers - 1), min(opening.head, count - 1)
    return source, kind, layer, head


def _in_model(source: AttentionSource, selection: Selection, level: str) -> Selection:
    """The selection in the picture of the whole model. A cell is of the newest query, where it looks most."""
    if level not in CHOICES["level"]:
        raise ValueError(f"the level is {level!r}; choose from {', '.join(CHOICES['level'])}")
    if source.ckpt is None or not isinstance(source, Step | Reading):
        raise ValueError("only weights are known here, and not the model around them; leave out the level")
    pair = None
    if level in ("cell", "number"):
        last = len(source.axes(selection.kind)[0]) - 1
        weights = source.attended(selection.kind, slice(selection.layer, selection.layer + 1),
                                  slice(selection.head, selection.head + 1))[1]
        pair = last, int(weights[0, 0, last].argmax())
    return replace(selection, view=MODEL, level=level, pair=pair, feature=0 if level == "number" else None)


def _ahead(step: Stepped, sampling: Sampling) -> Stepped:
    while step.index < AHEAD and not step.ended:
        step = step.next(sampling=sampling)
    return step


def _selection(source: AttentionSource, kind: Kind, layer: int | None, head: int | None,
               heads: Sequence[int] | None) -> Selection:
    """What is seen at first, by the numbers of the layers and heads that are there."""
    if heads is not None and not len(heads):
        raise ValueError("heads is empty; name some, or leave it out")
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

"""Attention weights that another library computed, taken with BertViz's arguments (Vig 2019) and shown as our own; and
other values between tokens, such as differences and gradients, on a scale of their own.

H heads, Tq queries, Tk keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from transformer.attention_view.generated import is_steps, joined
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.layers import StackOutput
from transformer.model.sites import NO_TAPS
from transformer.settings.config import KINDS, Kind
from transformer.text.huggingface_tokenizers import byte_level_label, is_byte_level
from transformer.text.word_pieces import Merged

NONE_THERE = ("there are no attention weights in it, as transformers gives none with its usual attention; load the "
              'model with attn_implementation="eager" and call it with output_attentions=True')
A_TUPLE = ("this is the tuple that a model of transformers returns with return_dict=False; call it without that, or "
           "hand in its attentions alone")
NOT_FINITE = ("{count:,} of {size:,} numbers in the {kind} attention are not finite (the first, {value}, in layer "
              "{layer}, head {head}); hand in what comes after the softmax, or replace them, for instance by "
              "torch.nan_to_num")
ROUNDED = {torch.bfloat16: "bfloat16", torch.float16: "float16"}  # in which a row adds up to 1 less exactly
SUM = 0.01  # by which a row of weights may miss 1
MARKS = ("Ġ", "▁", "</w>")  # how tokenizers mark where a word begins or ends


class Scale(NamedTuple):
    """The range in which values that are no attention weights are drawn: from 0, or -most if `signed`, to `most`."""

    signed: bool
    most: float


@dataclass(frozen=True)
class Tensors:
    """Attention weights that came from elsewhere, to be looked at like our own."""

    attentions: Mapping[str, Tensor]  # kind -> (layers, H, Tq, Tk)
    tokens: Mapping[str, tuple[list[str], list[str]]]  # kind -> query and key tokens
    text: str = ""
    ckpt: Checkpoint | None = None  # where it is known which model's they are
    numbers: Mapping[str, list[int]] | None = None  # of the "layers" and "heads" included, where some are left out
    merged: Mapping[str, Merged] | None = None  # kind -> `Words.changes`, where it is words that are cut
    scales: Mapping[str, Scale] = field(default_factory=dict)  # of the kinds that are no attention weights
    rounded: Mapping[str, str] = field(default_factory=dict)  # kind -> its type, of those in half precision
    cut: bool = False  # whether a row may go on beyond the tokens of its kind
    origin: str | None = None  # the name of another library's model that they are of
    output: str | None = None  # what it has written
    makes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # kind -> the token that comes after each query

    taps = NO_TAPS
    __repr__ = brief

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return cast(tuple[Kind, ...], tuple(self.attentions))  # or the pairs of two sentences

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        return self.tokens[kind]

    def mask(self, kind: str, layer: int | None = None) -> Tensor:
        """Causal where no weight looks ahead; what else was masked cannot be seen from weights."""
        weights = self.attentions[kind]
        ahead = torch.ones(weights.shape[-2:], dtype=torch.bool).triu(1)
        return ~ahead if kind == "decoder" and not weights[..., ahead].any() else torch.ones_like(ahead)

    def predicted(self, kind: str) -> list[str] | None:
        return [*self.makes[kind]] if kind in self.makes else None

    def projections(self, kind: str) -> None:
        return None

    def bias(self, kind: str, queries: slice = slice(None), layer: int = 0) -> None:
        return None

    def only(self, layers: Sequence[int] | None, heads: Sequence[int] | None) -> "Tensors":
        """Some layers and heads alone, which keep their numbers. Raises ValueError for one that is not there."""
        if layers is None and heads is None:
            return self
        first = next(iter(self.attentions.values()))
        there = self.numbers or {"layers": [*range(min(one.shape[0] for one in self.attentions.values()))],
                                 "heads": [*range(first.shape[1])]}
        layers = _chosen("include_layers", layers, there["layers"])
        heads = _chosen("include_heads", heads, there["heads"])
        at, of = [*map(there["layers"].index, layers)], [*map(there["heads"].index, heads)]
        return replace(self, attentions={kind: one[at][:, of] for kind, one in self.attentions.items()},
                       numbers={"layers": layers, "heads": heads})

    def split_at(self, start: int) -> "Tensors":
        """With the attention inside and between two sentences, of which the second begins at `start`, as kinds of their
        own. Raises ValueError where the weights are not those of one text."""
        if self.kinds not in (("encoder",), ("decoder",)):
            raise ValueError("sentence_b_start is for the attention of one text, and these are an encoder-decoder's")
        (kind, found), = self.attentions.items()
        tokens = self.tokens[kind][0]
        if not 0 < start < len(tokens):
            raise ValueError(f"sentence_b_start is {start}, and with {len(tokens)} tokens the second sentence begins "
                             f"at 1 to {len(tokens) - 1}")
        parts = {"A": slice(0, start), "B": slice(start, None)}
        pairs = {f"{one} → {other}": (parts[one], parts[other]) for one, other in ("AA", "BB", "AB", "BA")}
        pairs = {kind: (slice(None), slice(None)), **pairs}
        same = {name: {other: one[kind] for other in pairs if kind in one}
                for name, one in (("scales", self.scales), ("rounded", self.rounded))}
        return replace(self, cut=True, **same,
                       attentions={name: found[..., a, b] for name, (a, b) in pairs.items()},
                       tokens={name: (tokens[a], tokens[b]) for name, (a, b) in pairs.items()})


class Given(NamedTuple):
    """A kind of attention, and the names of the tokens that it is between."""

    layers: Sequence[Tensor | None]
    queries: str
    keys: str
    steps: bool  # whether it was handed in step by step

    __repr__ = brief


@dataclass(frozen=True)
class ExternalWeights:
    """Weights and the tokens that they are between, under the names that BertViz's head_view and model_view have.

    attention: of a model that looks at itself, or what a model of transformers or its `generate`, or `encode` or
    `decode` of one of ours, returned; each of the others a list with a tensor (1, H, Tq, Tk) for every layer. tokens:
    of what `generate` returned all that were read, or one more: the last one written, which is drawn as what comes
    next. prettify_tokens: as text, without the marks of where words begin. include_layers, include_heads: the only ones
    kept, under their own numbers. sentence_b_start: where the second of two sentences begins, each pair of which is
    then a kind of attention.
    """

    attention: object = None
    tokens: Sequence[str] | None = None
    _: KW_ONLY
    encoder_attention: object = None
    decoder_attention: object = None
    cross_attention: object = None
    encoder_tokens: Sequence[str] | None = None
    decoder_tokens: Sequence[str] | None = None
    prettify_tokens: bool = True
    include_layers: Sequence[int] | None = None
    include_heads: Sequence[int] | None = None
    sentence_b_start: int | None = None

    __repr__ = brief

    def tensors(self) -> Tensors:
        """The weights as they are drawn. Raises ValueError where tokens and weights do not fit, and where there are no
        weights."""
        weights, axes, rounded, makes, numbers = {}, {}, {}, {}, None
        kinds = self._by_kind()
        used = {name for given in kinds.values() for name in (given.queries, given.keys)}
        for name in ("tokens", "encoder_tokens", "decoder_tokens"):
            if kinds and name not in used and getattr(self, name) is not None:
                raise ValueError(f"{name} has no effect on this attention; it is between {' and '.join(sorted(used))}")
        for kind, (given, queries, keys, steps) in kinds.items():
            layers = [one for one in given if one is not None]
            read, source = self._tokens(queries, kind), self._tokens(keys, kind)
            if steps:
                count = layers[0].shape[2]
                if len(read) not in (count, count + 1):
                    raise ValueError(f"{count} tokens were read, and the last one that was written was not; give these "
                                     f"{count}, or all {count + 1}, as {queries}, which has {len(read)}")
                makes |= {kind: read[1:]} if len(read) > count else {}
                read, source = read[:count], source[:count] if kind != "cross" else source
            axes[kind] = read, source
            if layers[0].dtype in ROUNDED:
                rounded[kind] = ROUNDED[layers[0].dtype]
            weights[kind] = _stacked(kind, layers, (len(read), len(source)))
            if len(layers) < len(given):
                places = [at for at, one in enumerate(given) if one is not None]
                numbers = {"layers": places, "heads": [*range(weights[kind].shape[1])]}
        if not weights:
            raise ValueError("there is nothing to show: pass a step, or attention weights with their tokens")
        scales = {kind: scale for kind, found in weights.items() if (scale := _scale(found))}
        found = Tensors(weights, axes, scales=scales, rounded=rounded, makes=makes, numbers=numbers)
        found = found.only(self.include_layers, self.include_heads)
        return found if self.sentence_b_start is None else found.split_at(self.sentence_b_start)

    def _by_kind(self) -> dict[str, Given]:
        """The kinds of attention that are handed in."""
        own: Any = self.attention
        parts: tuple[Any, ...] = (self.encoder_attention, self.decoder_attention, self.cross_attention)
        if any(one is not None for one in parts) and (hasattr(own, "encoder_attentions") or (
                isinstance(own, StackOutput) and own.cross and any(one is not None for one in parts[1:]))):
            raise ValueError("what is handed in has these parts itself; leave out encoder_attention, "
                             "decoder_attention and cross_attention")
        if hasattr(own, "encoder_attentions"):
            own, parts = None, tuple(getattr(own, f"{kind}_attentions") or () for kind in KINDS)
        elif isinstance(own, StackOutput):
            layers, cross = ([one.weights for one in found] for found in (own.attention, own.cross))
            if any(one is None for one in layers):
                raise ValueError("there are no attention weights in it; call encode or decode with readable=True")
            own, parts = (None, (parts[0], layers, cross)) if cross else (layers, parts)
        elif hasattr(own, "attentions"):
            own = own.attentions or ()
        if own is None:
            names = (("encoder_tokens", "encoder_tokens"), ("decoder_tokens", "decoder_tokens"),
                     ("decoder_tokens", "encoder_tokens"))
            return {kind: Given(_layers(kind, part), queries, keys, is_steps(part))
                    for kind, part, (queries, keys) in zip(KINDS, parts, names, strict=True) if part is not None}
        if any(one is not None for one in parts):
            raise ValueError("attention is for a model with self-attention only; leave it out, or leave out "
                             "encoder_attention, decoder_attention and cross_attention")
        layers = _layers("own", own)
        ahead = any(layer.triu(1).any() for layer in layers if layer is not None and layer.dim() > 1)
        return {"encoder" if ahead else "decoder": Given(layers, "tokens", "tokens", is_steps(own))}

    def _tokens(self, name: str, kind: str) -> list[str]:
        tokens = getattr(self, name)
        if tokens is None or isinstance(tokens, str):
            raise ValueError(f"{name} is {'missing' if tokens is None else 'one text'}; give the list of tokens that "
                             f"the {kind} attention is between")
        tokens = [*map(str, tokens)]
        if not self.prettify_tokens:
            return tokens
        return [*map(_pretty, map(byte_level_label, tokens) if is_byte_level(tokens) else tokens)]


def _scale(values: Tensor) -> Scale | None:
    """What values (layers, H, Tq, Tk) are drawn on; None for attention weights: none below 0, and in a row together 1,
    or 0 where a query may look at nothing."""
    sums = values.sum(-1)
    if values.min() >= 0 and ((sums == 0) | ((sums - 1).abs() <= SUM)).all():
        return None
    return Scale(bool(values.min() < 0), float(values.abs().max()) or 1.0)


def _layers(kind: str, layers: Any) -> list[Tensor | None]:
    """A tensor for every layer; None for one without attention, of a model that has others."""
    wrong = ValueError(f"the {kind} attention must be a list with a tensor (1, H, queries, keys) for every layer, and "
                       f"it is of type {type(layers).__name__}")
    try:
        listed = joined(kind, layers) if is_steps(layers) else list(layers)
    except TypeError:
        raise wrong from None
    there = [one for one in listed if one is not None]
    if not there or (len(there) < len(listed) and kind != "own"):
        raise ValueError(NONE_THERE)
    if any(isinstance(one, Tensor) for one in there) and not all(hasattr(one, "shape") for one in there):
        raise ValueError(A_TUPLE)
    try:
        return [None if one is None else torch.as_tensor(one).detach().cpu() for one in listed]
    except (TypeError, RuntimeError, ValueError):
        raise wrong from None


def _stacked(kind: str, layers: Sequence[Tensor], wanted: tuple[int, int]) -> Tensor:
    """The weights of all layers, (layers, H, Tq, Tk)."""
    layers = [layer[0] if layer.dim() == 4 and layer.shape[0] == 1 else layer for layer in layers]
    wrong = next((layer for layer in layers if layer.dim() != 3 or layer.shape != (layers[0].shape[0], *wanted)), None)
    if wrong is not None:
        raise ValueError(f"the {kind} attention of each layer must be (1, H, queries, keys) = (1, H, {wanted[0]}, "
                         f"{wanted[1]}) for these tokens, and one is {tuple(wrong.shape)}")
    found = torch.stack([layer.float() for layer in layers])
    if not (finite := found.isfinite()).all():
        layer, head, *_ = (~finite).nonzero()[0].tolist()
        raise ValueError(NOT_FINITE.format(count=int((~finite).sum()), size=found.numel(), kind=kind, layer=layer,
                                            head=head, value=found[~finite][0].item()))
    return found


def _pretty(token: str) -> str:
    bare = token
    for mark in MARKS:
        bare = bare.replace(mark, "")
    return bare or token  # a space alone stays to be seen


def _chosen(name: str, numbers: Sequence[int] | None, there: Sequence[int]) -> list[int]:
    found = list(there if numbers is None else numbers)
    if not found or any(type(at) is not int or at not in there for at in found):
        counted = [*there] == [*range(len(there))]
        which = f"{len(there)}, counted from 0" if counted else ", ".join(map(str, there))
        raise ValueError(f"{name} is {found}, and there are {which}; choose one or more of them")
    return found

"""Why this token: what five analyses say of one prediction, and whether they name the same places.

Each analysis is another module's: the logit lens (`lens.py`), direct effects (`direct.py`), the query's weights
(`query.py`), integrated gradients (`attribution.py`) and heads switched off (`ablation.py`). Here they read the same
prediction, and what they say is compared.

Which heads are tried: each is switched off by itself, exactly, in a model of up to `ALL` heads. Of more, all are ranked
by the first-order estimate, attribution patching to zero (Nanda 2023): a head's output times the slope of the
log-probability there. The first `TRIED` of them, and the head that adds most directly, are then switched off; a head
that only another can stand in for may be missed so.

When answers agree:
- Heads: the one that adds most directly costs most when it is switched off. Where no head costs `LEAST` nats, none is
  needed, and that disagrees with any.
- Tokens: where the head that adds most directly looks, attribution and, between encoder and decoder, the mean
  cross-attention put the same token first. Cross-attention may do so at the query that writes the token ("output") or
  at the one that then reads it ("input"): which of them aligns depends on the model (Chen et al. 2020, section 3). A
  head that looks at the other side than the attribution is left out.
- Lenses: the depths from which the logit lens and the tuned lens have the token first are a layer apart, or less than
  half of the layers.
A head or a token within `CLOSE` of the first counts as first, too.

S tokens that are attributed to, L layers, H heads, V vocabulary (or classes).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.ablation import Head, all_heads, switch_heads
from transformer.analysis.attribution import BASELINES, Attribution, attribute
from transformer.analysis.direct import DirectEffect, direct_effect
from transformer.analysis.lens import read_layers
from transformer.analysis.query import last_query
from transformer.analysis.token_inputs import TokenInputs, check_choice
from transformer.analysis.tuned_lens import TunedLens
from transformer.basics.formatting import brief
from transformer.inference.changed import Changes
from transformer.inference.run import Run, run_ids
from transformer.model.changes import Change
from transformer.settings.config import Kind, ModelConfig

ALL, TRIED = 64, 12  # heads that are switched off: all of so many, else the first
LEAST = 0.01  # nats: the probability is less than a hundredth of itself smaller
CLOSE = 0.1  # of the first
EXPLAINED = (
    "Five analyses of one prediction, each computed now, and each explained in its own view. They answer different "
    "questions, so they may disagree without any being wrong: another head may step in for one that is switched off, "
    "and a token that is looked at need not matter. To find the head that costs most, each is switched off by itself; "
    f"of more than {ALL}, the first {TRIED} by an estimate (attribution patching to zero). Answers agree if they put "
    "the same head or token first, or within a tenth of the first.")
Watch = Callable[[int, int], None]  # done, of
TokenEvidence = Literal["looks", "attribution", "output", "input"]
Missing = Literal["capped", "masked"]  # the logits are no sum of parts; the model predicts a piece at every position


@dataclass(frozen=True)
class Predicted:
    """What was predicted, and how surely."""

    probability: float
    rank: int  # 1 for the likeliest
    against: int  # the likeliest other token or class
    other: float  # its probability
    margin: float  # the token's logit less that of the other


@dataclass(frozen=True)
class Decided:
    """From which depth on the token is the likeliest: 0 is before the first layer, L after the last."""

    layers: int
    logit: int | None  # by the logit lens; None if it is not the likeliest in the end
    tuned: int | None  # by the tuned lens; None if there is none, too
    best: tuple[int, int]  # its best rank on the logit lens, and the first depth that has it


@dataclass(frozen=True, eq=False)
class Wrote:
    """Which part adds most to the logit, less that of the other token."""

    effect: DirectEffect
    head: Head  # that adds most
    feed_forward: tuple[int, float] | None  # the layer whose feed-forward part adds most, and how much
    looks: NDArray  # where the head looks, a share each
    side: Literal["src", "tgt"]  # whose tokens these are

    __repr__ = brief

    @property
    def adds(self) -> float:
        """What that head adds; not above 0 if no head speaks for the token."""
        return added(self.effect, self.head)

    @property
    def looks_at(self) -> int:
        """The position that the head looks at most."""
        return int(self.looks.argmax())


@dataclass(frozen=True)
class Removal:
    """The same prediction with one head switched off."""

    head: Head
    log_probability: float  # of the token
    leads: int  # the likeliest token then
    lead: float  # its probability
    earlier: tuple[int, ...]  # positions of the target after which another token would have been the likeliest, too

    @property
    def probability(self) -> float:
        """The token's probability."""
        return exp(self.log_probability)


@dataclass(frozen=True, eq=False)
class Without:
    """What happens without single heads."""

    log_probability: float  # of the token with all heads
    estimates: Mapping[Kind, Tensor]  # kind -> (L, H), nats that the token is estimated to lose without each
    tried: tuple[Removal, ...]  # those that were switched off, the costliest first

    __repr__ = brief

    def cost(self, removal: Removal) -> float:
        """The nats that the token loses, below 0 if it gains."""
        return self.log_probability - removal.log_probability

    @property
    def heads(self) -> int:
        """The number of all heads."""
        return sum(values.numel() for values in self.estimates.values())

    @property
    def needed(self) -> Head | None:
        """The head that costs most; None if no head costs anything."""
        return self.tried[0].head if self.cost(self.tried[0]) > LEAST else None

    def of(self, head: Head) -> Removal:
        """What happens without a head that was tried."""
        return next(one for one in self.tried if one.head == head)


@dataclass(frozen=True)
class HeadsCompared:
    """The head that adds most directly, and the one that costs most when it is switched off."""

    direct: Head
    needed: Head | None  # None if no head costs anything
    agrees: bool


@dataclass(frozen=True)
class TokensCompared:
    """The position that each kind of evidence puts first."""

    first: Mapping[TokenEvidence, int]
    agrees: bool


@dataclass(frozen=True)
class LensesCompared:
    """The depths from which both lenses have the token first."""

    logit: int
    tuned: int
    agrees: bool


@dataclass(frozen=True, eq=False)
class Story:
    """All that is known of a prediction, in the order in which it is told."""

    read: TokenInputs
    token: int  # or the class
    predicted: Predicted
    decided: Decided
    wrote: Wrote | Missing
    rests: Attribution | Missing
    without: Without
    heads: HeadsCompared | None  # None, as the next two, if there is nothing to compare
    tokens: TokensCompared | None
    lenses: LensesCompared | None

    __repr__ = brief

    @property
    def agrees(self) -> bool | None:
        """Whether all kinds of evidence agree; None if there is nothing to compare."""
        compared = [one.agrees for one in (self.heads, self.tokens, self.lenses) if one is not None]
        return all(compared) if compared else None


def why(read: TokenInputs, token: int | None = None, *, position: int | None = None, tuned: TunedLens | None = None,
        steps: int = 64, watch: Watch = lambda done, of: None) -> Story:
    """What five analyses say of a prediction: of a token or class, or of the one that came next or is likeliest.

    position: of a masked language model, the one that is asked about. tuned: the tuned lens, of a decoder. steps: of
    integrated gradients. watch may raise to end it. Raises ValueError for a model that predicts nothing, and for a
    token, position or number of steps that is not there.
    """
    ckpt, config = read.ckpt, read.ckpt.config
    masked = config.head == "masked"
    if config.head == "none":
        raise ValueError(f"{ckpt.id} predicts nothing, so there is no story to tell; choose a model that writes, "
                         "translates or classifies")
    if masked and (position is None or not 0 <= position < len(read.ids)):
        raise ValueError(f"position is {position}; choose from 0 to {len(read.ids) - 1}")
    at = None if config.n_classes else position if masked else len(read.ids) - 1
    whole = _run(read, capture=[f"{kind}.*.z" for kind in config.kinds])
    logits = _row(whole, at).float()
    check_choice(len(logits), token)
    if token is None:
        token = int(logits.argmax()) if read.next_id is None else read.next_id
    predicted = _predicted(logits, token)
    decided = _decided(read, token, at if masked else None, tuned)
    wrote = _wrote(read, token, predicted.against)
    estimates = _estimates(whole, token, at)
    heads = _candidates(config, estimates, None if isinstance(wrote, str) else wrote.head)
    total = len(heads) + (0 if masked else steps)
    rests = "masked" if masked else attribute(
        read, token, baseline=BASELINES[0 if config.pad_id is not None else 1], steps=steps,
        watch=lambda done, of: watch(done, total))
    removals = []
    for head in heads:
        removals.append(_removal(read, head, token, at))
        watch(total - len(heads) + len(removals), total)
    tried = tuple(sorted(removals, key=lambda one: one.log_probability))
    without = Without(float(logits.log_softmax(-1)[token]), estimates, tried)
    return Story(read, token, predicted, decided, wrote, rests, without, _compare_heads(wrote, without),
                 _compare_tokens(read, token, wrote, rests), _compare_lenses(decided))


def _run(read: TokenInputs, *, capture: Sequence[str] = (), change: Sequence[Change] = ()) -> Run:
    """One pass over the same ids, under further changes."""
    return run_ids(read.ckpt, [(read.src, read.tgt, None)], texts=[""], targets=[None], capture=capture,
                   change=Changes.joined(read.ckpt, [read.changes, Changes.of(read.ckpt, change)]))


def _row(of: Run, at: int | None) -> Tensor:
    """The logits (V,) of the prediction; of a classifier its log-probabilities, which differ by a constant."""
    assert of.logits is not None, "a model that predicts something was asked for"
    return of.logits if at is None else of.logits[at]


def _predicted(logits: Tensor, token: int) -> Predicted:
    probabilities = logits.softmax(-1)
    against = next(id for id in logits.topk(2).indices.tolist() if id != token)
    return Predicted(float(probabilities[token]), int((logits > logits[token]).sum()) + 1, against,
                     float(probabilities[against]), float(logits[token] - logits[against]))


def _decided(read: TokenInputs, token: int, position: int | None, tuned: TunedLens | None) -> Decided:
    where = None if position is None else [position]
    ranks = read_layers(read, count=1, positions=where, follow=token).rank[:, -1]
    best = int(ranks.argmin())
    by_tuned = None if tuned is None or read.tgt is None else first_from(
        read_layers(read, count=1, follow=token, through=tuned).rank[:, -1])
    return Decided(len(ranks) - 1, first_from(ranks), by_tuned, (int(ranks[best]), best))


def first_from(ranks: Tensor) -> int | None:
    """The depth from which on all ranks (L + 1,) are 1; None if the last is not."""
    behind = (ranks != 1).nonzero()
    depth = int(behind[-1]) + 1 if len(behind) else 0
    return depth if depth < len(ranks) else None


def _wrote(read: TokenInputs, token: int, against: int) -> Wrote | Missing:
    config = read.ckpt.config
    if config.head == "masked" or config.logits_cap is not None:
        return "masked" if config.head == "masked" else "capped"
    effect = direct_effect(read, token, against=against)
    head = max((one for one in all_heads(config) if one.kind in effect.heads), key=partial(added, effect))
    feed_forward = None
    if config.d_ff:
        layer = int(effect.feed_forward.argmax())
        feed_forward = layer, float(effect.feed_forward[layer])
    looks = last_query(read).weights[head.kind][head.layer, head.head].double().numpy()
    return Wrote(effect, head, feed_forward, looks, "tgt" if head.kind == "decoder" else "src")


def added(effect: DirectEffect, head: Head) -> float:
    """What a head adds by itself."""
    return float(effect.heads[head.kind][head.layer, head.head])


def _estimates(whole: Run, token: int, at: int | None) -> dict[Kind, Tensor]:
    """The nats that the token would lose without each head, to first order -> kind -> (L, H)."""
    config = whole.ckpt.config
    slopes = whole.grad(lambda run: _row(run, at).log_softmax(-1)[token])
    return {kind: torch.stack([(whole[name] * slopes[name]).float().sum((1, 2)) for name in (
        f"{kind}.{layer}.z" for layer in range(config.layers(kind)))]).cpu() for kind in config.kinds}


def _candidates(config: ModelConfig, estimates: Mapping[Kind, Tensor], sure: Head | None) -> list[Head]:
    """The heads with the largest estimates, and one that is tried in any case."""
    order = sorted(all_heads(config), key=lambda one: -float(estimates[one.kind][one.layer, one.head]))
    first = order if len(order) <= ALL else order[:TRIED]
    return first if sure is None or sure in first else [*first, sure]


def _removal(read: TokenInputs, head: Head, token: int, at: int | None) -> Removal:
    found = _run(read, change=switch_heads(read.ckpt.config, head))
    logs = _row(found, at).float().log_softmax(-1)
    earlier = ()
    if read.tgt is not None and found.logits is not None:
        likeliest = found.logits[:-1].argmax(-1)
        earlier = tuple((likeliest != read.tgt[0, 1:]).nonzero()[:, 0].tolist())
    leads = int(logs.argmax())
    return Removal(head, float(logs[token]), leads, float(logs[leads].exp()), earlier)


def _compare_heads(wrote: Wrote | Missing, without: Without) -> HeadsCompared | None:
    if not isinstance(wrote, Wrote) or wrote.adds <= 0:
        return None
    needed, costliest = without.needed, without.cost(without.tried[0])
    return HeadsCompared(wrote.head, needed, needed is not None and any(
        without.cost(one) >= (1 - CLOSE) * costliest and added(wrote.effect, one.head) >= (1 - CLOSE) * wrote.adds
        for one in without.tried if one.head.kind in wrote.effect.heads))


def _compare_tokens(read: TokenInputs, token: int, wrote: Wrote | Missing,
                    rests: Attribution | Missing) -> TokensCompared | None:
    if not isinstance(rests, Attribution):
        return None
    values: dict[TokenEvidence, NDArray] = {}
    if isinstance(wrote, Wrote) and wrote.adds > 0 and wrote.side == ("tgt" if read.src is None else "src"):
        values["looks"] = wrote.looks
    if rests.sound and rests.integrated.any():
        values["attribution"] = np.abs(rests.integrated)
    if read.src is not None and read.tgt is not None:
        values["output"] = rests.attention
        if (after := _reading_it(read, token)) is not None:
            values["input"] = last_query(after).weights["cross"].mean((0, 1)).double().numpy()
    first = {by: each >= (1 - CLOSE) * each.max() for by, each in values.items()}  # (S,)
    crossing = [first.pop(by) for by in ("output", "input") if by in first]
    each = [*first.values(), *([np.any(crossing, axis=0)] if crossing else [])]
    if len(each) < 2:
        return None
    return TokensCompared({by: int(found.argmax()) for by, found in values.items()}, bool(np.all(each, axis=0).any()))


def _compare_lenses(decided: Decided) -> LensesCompared | None:
    if decided.logit is None or decided.tuned is None:
        return None
    apart = abs(decided.logit - decided.tuned)
    return LensesCompared(decided.logit, decided.tuned, apart <= 1 or apart < decided.layers / 2)


def _reading_it(read: TokenInputs, token: int) -> TokenInputs | None:
    """The same inputs with the token read as well; None if it ends the text, or there is no room."""
    assert read.tgt is not None, "a decoder is asked"
    if read.ckpt.config.ends(token) or len(read.ids) >= read.ckpt.config.max_len:
        return None
    return replace(read, tgt=torch.cat([read.tgt, torch.full_like(read.tgt[:, :1], token)], 1), next_id=None)

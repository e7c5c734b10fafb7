"""Probabilities as bars: next tokens, classes and what each token adds to one, and before and after a change."""

import json
from collections.abc import Sequence
from html import escape

import altair as alt
import numpy as np
import pandas as pd

from transformer.basics.formatting import in_percent
from ui.figures.chart import Chart, chart_of, themed
from ui.figures.labels import plain_label
from ui.figures.palette import BAR, CATEGORICAL, MARK, MUTED, NEGATIVE

ROWS_STYLE = f"""<style>
.next-tokens {{ display: grid; grid-template-columns: auto 1fr auto; gap: var(--gap-1) var(--gap-2);
  align-items: center; }}
.next-tokens > div {{ display: contents; }}
.next-tokens bdi {{ text-align: right; white-space: pre; }}
.next-tokens i {{ height: 1em; min-width: 2px; background: {BAR}; width: calc(var(--part) * 100%); }}
.next-tokens .chosen i {{ background: {MARK}; }}
.next-tokens .chosen :is(bdi, span) {{ font-weight: var(--bold); }}
.next-tokens .others i {{ background: {MUTED}; }}
</style>"""


def candidate_rows(candidates: Sequence, *, chosen_id: int | None = None, rest: float | None = None,
                   label: str) -> str:
    """Candidates `(id, piece, probability)` as HTML, likeliest first, over the probability of all the others (`rest`);
    bars go from 0 to 100%."""
    rows = [_row("chosen" * (id == chosen_id), escape(plain_label(piece)), probability)
            for id, piece, probability in candidates]
    if rest is not None:
        rows.append(_row("others", "others", rest))
    return f'{ROWS_STYLE}<div class="next-tokens" role="group" aria-label="{escape(label)}">{"".join(rows)}</div>'


def _row(kind: str, token: str, probability: float) -> str:
    return (f'<div class="{kind}"><bdi>{token}</bdi><i style="--part:{probability:.4f}"></i>'
            f"<span>{escape(in_percent(probability))}</span></div>")


def some_percent(probability: float) -> str:
    """A probability of a softmax as a percentage: one that was rounded to 0 is only very small."""
    return in_percent(probability or 1e-9)


LONGEST = 24    # characters of a class's name beside its bar

CLASS_STYLE = f"""<style>
.pooled {{ display: flex; flex-wrap: wrap; gap: var(--gap-1); line-height: 1.3; max-height: 19rem; overflow: auto; }}
.pooled span {{ display: inline-flex; flex-direction: column; align-items: center; padding: .1rem .4rem;
  border-radius: var(--radius); border: 1px solid var(--line); max-width: 100%;
  background: color-mix(in srgb, var(--tint, {BAR}) calc(var(--weight, 0) * 70%), transparent); }}
.pooled bdi {{ font-size: var(--large); white-space: pre-wrap; overflow-wrap: anywhere; }}
.pooled small {{ font-size: var(--body); font-variant-numeric: tabular-nums; }}
.pooled .unknown {{ border: 2px dashed var(--wrong); }}
</style>"""


def describe_classes(names: Sequence[str], probabilities: Sequence[float]) -> str:
    """A sentence for `alt=`: the three likeliest classes."""
    order = sorted(range(len(names)), key=lambda at: -probabilities[at])[:3]
    return "Likeliest classes: " + ", ".join(
        f"{_name(names[at], longest=60)} {in_percent(float(probabilities[at]))}" for at in order) + "."


def won_chips(pieces: Sequence[str], won: Sequence[int], *, features: int, label: str,
              unknown: Sequence[int] = ()) -> str:
    """Tokens (T) as HTML, each over the number of features of which it is the maximum, and shaded by it."""
    most = max(won, default=0) or 1
    return _chips(pieces, [str(int(count)) for count in won], [count / most for count in won],
                  [f"wins {int(count)} of {features} features, {in_percent(count / features)}" for count in won],
                  label=label, unknown=unknown)


def contribution_chips(pieces: Sequence[str], added: Sequence[float], *, to: str, label: str,
                       unknown: Sequence[int] = ()) -> str:
    """Tokens (T) as HTML, each over its contribution to the score of a class, blue for and red against it."""
    most = max((abs(value) for value in added), default=0) or 1
    numbers = [f"{value:+.2f}".replace("-", "−") for value in added]
    hints = [f"adds {value:+.4f} to the score of {_name(to, longest=60)}" for value in added]
    return _chips(pieces, numbers, [abs(value) / most for value in added], hints, label=label, unknown=unknown,
                  tints=[BAR if value >= 0 else NEGATIVE for value in added])


def _chips(pieces: Sequence[str], numbers: Sequence[str], shades: Sequence[float], hints: Sequence[str], *, label: str,
           unknown: Sequence[int], tints: Sequence[str] | None = None) -> str:
    chips = []
    for position, (piece, number, shade, hint) in enumerate(zip(pieces, numbers, shades, hints, strict=True)):
        strange = position in unknown
        note = ", not in the vocabulary: the model sees only that something is here" * strange
        tint = f"--tint:{tints[position]};" if tints else ""
        chips.append(f'<span class="{"unknown" * strange}" data-position="{position}" style="{tint}--weight:'
                     f'{float(shade):.3f}" title="{escape(f"position {position}, {hint}{note}")}">'
                     f"<bdi>{escape(plain_label(piece, longest=None))}</bdi><small>{number}</small></span>")
    return (f'{CLASS_STYLE}<div class="pooled" role="group" tabindex="0" aria-label="{escape(label)}">{"".join(chips)}'
            "</div>")


def _name(text: str, *, longest: int = LONGEST) -> str:
    """The name of a class, with ordinary spaces."""
    return " ".join(plain_label(word, longest=longest) for word in text.split())[:2 * longest]


ALL = 20  # names with room side by side on a phone; of more, some are left out
FLAT = 30  # characters with room side by side on a phone; longer names are upright


def probability_change(names: Sequence[str], probabilities: np.ndarray, *, what: str, series: tuple[str, str],
                       title: str, source: str = "", tokens: bool = True, dark: bool | None = None) -> Chart:
    """Probabilities (names, 2) of tokens or classes, in the given order; equal names stay apart. what: the kind of the
    names; series: the names of the two columns; tokens: the names are tokens, whose spaces are made visible."""
    assert probabilities.shape == (len(names), 2), f"{probabilities.shape} for {len(names)} names"
    labels = [plain_label(name) if tokens else name for name in names]
    frame = pd.DataFrame({
        "place": np.arange(len(names)).repeat(2),
        "name": np.repeat([plain_label(name, longest=None) if tokens else name for name in names], 2),
        "series": [*series] * len(names), "probability": probabilities.ravel()})
    bars = chart_of(frame).mark_bar(cornerRadius=1).encode(
        # at places, labelled with names, so that equal tokens stay apart
        alt.X("place:O", title=what, axis=alt.Axis(
            labelExpr=f"{json.dumps(labels)}[datum.value]", labelOverlap="greedy" if len(labels) > ALL else False,
            labelAngle=0 if len(labels) * max(map(len, labels), default=0) <= FLAT else -90)),
        alt.Y("probability:Q", title="probability", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(values=[0, 0.5, 1])),
        alt.XOffset("series:N", sort=list(series)),
        alt.Color("series:N", sort=list(series),
                  scale=alt.Scale(domain=list(series), range=[CATEGORICAL[0], CATEGORICAL[3]]),
                  legend=alt.Legend(title=None, orient="top", columns=2, symbolType="square", symbolSize=100)),
        tooltip=[alt.Tooltip("name:N", title=what), alt.Tooltip("series:N", title="model"),
                 alt.Tooltip("probability:Q", format=".4f")])
    return themed(bars, title=title, source=source, dark=dark, height=430 if tokens else 480)


def describe_probability_change(names: Sequence[str], probabilities: np.ndarray) -> str:
    """A sentence for `alt=`: where the probability changes most."""
    change = probabilities[:, 1] - probabilities[:, 0]
    at = int(np.abs(change).argmax())
    return (f"Probabilities of {len(names)} before and after. Largest change: '{plain_label(names[at])}', from "
            f"{probabilities[at, 0]:.2f} to {probabilities[at, 1]:.2f}.")

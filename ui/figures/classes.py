"""What a classifier says: the probability of each class, which token won each feature, and what each token adds.

T tokens.
"""
from collections.abc import Sequence
from html import escape

from ui.figures.candidate_rows import percent
from ui.figures.labels import plain_label
from ui.figures.palette import BAR, NEGATIVE

LONGEST = 24    # characters of a class's name beside its bar

STYLE = f"""<style>
.pooled {{ display: flex; flex-wrap: wrap; gap: .3rem; line-height: 1.3; max-height: 19rem; overflow: auto; }}
.pooled span {{ display: inline-flex; flex-direction: column; align-items: center; padding: .1rem .4rem;
  border-radius: .4rem; border: 1px solid rgba(128, 128, 128, .45); max-width: 100%;
  background: color-mix(in srgb, var(--tint, {BAR}) calc(var(--weight, 0) * 70%), transparent); }}
.pooled bdi {{ font-size: 1.05rem; white-space: pre-wrap; overflow-wrap: anywhere; }}
.pooled small {{ font-size: .875rem; font-variant-numeric: tabular-nums; }}
.pooled .unknown {{ border: 2px dashed #d62728; }}
</style>"""


def describe_classes(names: Sequence[str], probabilities: Sequence[float]) -> str:
    """A sentence for `alt=`: the three likeliest classes."""
    order = sorted(range(len(names)), key=lambda at: -probabilities[at])[:3]
    return "Likeliest classes: " + ", ".join(
        f"{_name(names[at], longest=60)} {percent(float(probabilities[at]))}" for at in order) + "."


def won_chips(pieces: Sequence[str], won: Sequence[int], *, features: int, label: str,
              unknown: Sequence[int] = ()) -> str:
    """HTML for `st.html`: under each of T tokens in how many of the features it is the maximum, shaded by that."""
    most = max(won, default=0) or 1
    return _chips(pieces, [str(int(count)) for count in won], [count / most for count in won],
                  [f"wins {int(count)} of {features} features, {percent(count / features)}" for count in won],
                  label=label, unknown=unknown)


def contribution_chips(pieces: Sequence[str], added: Sequence[float], *, to: str, label: str,
                       unknown: Sequence[int] = ()) -> str:
    """HTML for `st.html`: under each of T tokens what it adds to a class's score, blue for and red against."""
    most = max((abs(value) for value in added), default=0) or 1
    shown = [f"{value:+.2f}".replace("-", "−") for value in added]
    hints = [f"adds {value:+.4f} to the score of {_name(to, longest=60)}" for value in added]
    return _chips(pieces, shown, [abs(value) / most for value in added], hints, label=label, unknown=unknown,
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
    return (f'{STYLE}<div class="pooled" role="group" tabindex="0" aria-label="{escape(label)}">{"".join(chips)}'
            "</div>")


def _name(text: str, *, longest: int = LONGEST) -> str:
    """A class's name as it reads: unlike in a token, a space in it is just a space."""
    return " ".join(plain_label(word, longest=longest) for word in text.split())[:2 * longest]

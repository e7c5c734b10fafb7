"""The likeliest next tokens as bars that can be clicked."""
from collections.abc import Collection, Sequence

from ui.figures.frame import TEXT, Finished, axis, framed, picked_number
from ui.figures.labels import axis_label, plain_label
from ui.figures.palette import ACCENT, BAR, CLEAR, INK, MUTED

ROW = 34  # px
ROOM = 1.75  # of a full bar: the axis goes on for the words after it
KEYS = "1234567890"  # that say the first, the second …
OTHERS = "all others"


def candidate_bars(candidates: Sequence, *, chosen_id: int | None = None, excluded: Collection[int] = (),
                   rest: float | None = None, title: str = "Likeliest next tokens", source: str = "",
                   dark: bool | None = None) -> Finished:
    """Candidates `(id, piece, probability)` as horizontal bars from 0 to 100%, likeliest on top, each after the key
    that says it; the chosen one stands out, and `excluded` ids (left out by top-k or top-p) are grey and striped.
    rest: the probability of all other tokens, below."""
    ids, pieces, probabilities = _columns(candidates)
    rows = list(range(len(ids)))
    states = ["chosen" if i == chosen_id else "excluded" if i in excluded else "open" for i in ids]
    colours = {"chosen": ACCENT, "excluded": MUTED, "open": BAR}
    notes = {"chosen": " chosen", "excluded": " left out", "open": ""}
    bars = {"type": "bar", "orientation": "h", "y": rows, "x": probabilities, "width": 0.72, "hoverinfo": "skip",
            "text": [_weighted(percent(p) + notes[state], state)
                     for p, state in zip(probabilities, states, strict=True)],
            "textposition": "outside", "cliponaxis": False, "textfont": {"size": TEXT, "color": INK[dark]},
            "marker": {"color": [colours[state] for state in states],
                       "pattern": {"shape": ["/" * (state == "excluded") for state in states], "solidity": 0.3}}}
    others = [] if rest is None else [
        {"type": "bar", "orientation": "h", "y": [len(rows)], "x": [rest], "width": 0.72, "hoverinfo": "skip",
         "text": [percent(rest)], "textposition": "outside", "cliponaxis": False,
         "textfont": {"size": TEXT, "color": INK[dark]}, "marker": {"color": MUTED}}]
    labels = [_weighted(f"{KEYS[row]}\u2002{axis_label(piece)}" if row < len(KEYS) else axis_label(piece), state)
              for row, piece, state in zip(rows, pieces, states, strict=True)]
    shown = len(rows) + len(others)
    # One see-through bar across each row takes the click: the bar of an unlikely token is a hair wide.
    targets = {"type": "bar", "orientation": "h", "y": rows, "x": [ROOM] * len(rows), "width": 1, "customdata": ids,
               "hovertext": [f"<b>{axis_label(piece, longest=60)}</b> (id {i})<br>probability {p:.6g}"
                             for i, piece, p in zip(ids, pieces, probabilities, strict=True)],
               "hovertemplate": "%{hovertext}<br>click to go on from here<extra></extra>", "marker": {"color": CLEAR},
               "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
    return framed([bars, *others, targets], title=title, source=source, dark=dark, height=ROW * max(shown, 1),
                  showlegend=False, bottom=24,
                  xaxis=axis(range=[0, ROOM], tickvals=[0, 0.5, 1], ticktext=["0", "50", "100%"], showgrid=True),
                  yaxis=axis(range=[shown - 0.5, -0.5], tickvals=list(range(shown)),
                             ticktext=labels + [OTHERS] * len(others)))


def picked_candidate(event) -> int | None:
    """The id clicked in what `st.plotly_chart(candidate_bars(...), on_select="rerun")` returned, or None."""
    return picked_number(event)


def describe_candidates(candidates: Sequence, *, chosen_id: int | None = None, given: str = "") -> str:
    """A sentence for `alt=`: the three likeliest and the chosen one. given: what their probabilities are subject to,
    such as "at temperature 0.8"."""
    ids, pieces, probabilities = _columns(candidates)
    named = [f"'{plain_label(piece)}' {percent(p)}" for piece, p in zip(pieces, probabilities, strict=True)]
    chosen = f" Chosen: {named[ids.index(chosen_id)]}." if chosen_id in ids else ""
    return f"Likeliest next tokens{f' {given}' * bool(given)}: {', '.join(named[:3])}.{chosen}"


def percent(probability: float) -> str:
    """A probability in per cent to three figures, four near certainty, and never a false 0 or 100."""
    if 0 < probability < 0.0001:
        return "< 0.01%"
    if 0.9999 < probability < 1:
        return "> 99.99%"
    return f"{100 * probability:.{4 if probability > 0.99 else 3}g}%"


def _weighted(label: str, state: str) -> str:
    grey = f'<span style="color:{MUTED}">{label}</span>'
    return {"chosen": f"<b>{label}</b>", "excluded": grey, "open": label}[state]


def _columns(candidates: Sequence) -> tuple[list[int], list[str], list[float]]:
    fields = [(c.id, c.piece, c.probability) if hasattr(c, "piece") else tuple(c) for c in candidates]
    fields.sort(key=lambda field: -field[2])
    return [int(i) for i, _, _ in fields], [piece for _, piece, _ in fields], [float(p) for _, _, p in fields]

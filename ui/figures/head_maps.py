"""Maps of a model, layers down and heads or tokens across, with a number for each, to click.

They are plain values, which `ui/components/js/figures/head_maps.js` draws; `heads_table` has the same numbers.
"""
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ui.figures.html_table import header_rows, heading, numeric_table, tag, tr
from ui.figures.labels import cell_label, head_label, plain_label
from ui.figures.palette import INK, ZERO, diverging, ink_on, ramp

SHADES = 65       # of a scale; odd, so that a diverging one has a middle
LEAST_SHARE = 0.25  # the smallest end of a scale of weights, so that noise forms no pattern
LEAST_CHANGE = 0.01
MOST_HINTS = 160  # heads of a map with a sentence each; for more these would take megabytes


def role_card(name: str, kind: str, trained: np.ndarray, untrained: np.ndarray, even: float, *, title: str, unit: str,
              share: bool) -> dict:
    """A measure of the heads of a kind (layers, H), beside the same with random weights, on one colour scale; `even`,
    its value for uniform attention, is marked there. share: the measure is a share of the weight, from 0 to 1."""
    assert trained.shape == untrained.shape, f"{trained.shape} trained and {untrained.shape} untrained"
    both = [value for value in (trained, untrained) if np.isfinite(value).any()]
    high = max([float(np.nanmax(value)) for value in both] + [even if np.isfinite(even) else 0,
                                                             LEAST_SHARE if share else LEAST_CHANGE])
    maps = [_map(caption, value, 0, high, [[_hint(kind, at, head, value, caption) for head in range(value.shape[1])]
                                           for at in range(len(value))])
            for caption, value in (("trained", trained), ("random weights", untrained))]
    marks = [{"at": even / high, "text": f"uniform {_plain(even)}"}] if np.isfinite(even) else []
    return {"name": name, "kind": kind, "title": title, "unit": unit, "maps": maps, "most": _most(trained),
            "scale": {"low": "0", "high": _plain(high), "marks": marks, "diverging": False}}


def change_card(name: str, kind: str, change: np.ndarray, error: np.ndarray | None, *, title: str, unit: str,
                limit: float, worse: str = "below", ends: tuple[str, str] = ("worse", "better"),
                tokens: Sequence[str] | None = None) -> dict:
    """What each head (layers, H) changes, on a diverging scale up to `limit` both ways, worse in red. worse: "above" or
    "below" zero. ends: what the two ends of the scale are called. tokens: those that stand across in place of heads.
    Heads whose change is within two standard errors are faint, and those without a value yet are waiting."""
    limit = max(limit, LEAST_CHANGE)
    hints, faint = [], []
    for layer, row in enumerate(change):
        hints.append([])
        faint.append([])
        for head, value in enumerate(row):
            place = head_label(layer, head)
            if tokens is not None:
                place = f"layer {layer} · {plain_label(tokens[head])} ({head})"
            hint = f"{kind}, {place}: "
            spread = float("nan") if error is None else float(error[layer, head])
            unsure = bool(np.isfinite(spread) and abs(value) <= 2 * spread)
            hint += "not measured yet" if np.isnan(value) else f"{value:+.4g} {unit}"
            hint += f", standard error {spread:.2g}" if np.isfinite(spread) else ""
            hints[-1].append(hint + (": not distinguishable from zero" if unsure else ""))
            faint[-1].append(unsure)
    low, high = (limit, -limit) if worse == "above" else (-limit, limit)
    digits = 3 if limit < 0.1 else 2  # else heads of quite different colours would all be "+.01"
    head_map = _map("", change, low, high, hints, signed=digits) | {"faint": faint}
    return {"name": name, "kind": kind, "title": title, "unit": unit, "maps": [head_map], "scale": {
        "low": f"{ends[0]} {_signed(low, digits)}", "high": f"{_signed(high, digits)} {ends[1]}",
        "marks": [{"at": 0.5, "text": "0"}],
        "diverging": True}} | ({} if tokens is None else {"tokens": [plain_label(token) for token in tokens]})


def amount_card(name: str, kind: str, amounts: np.ndarray, *, title: str, unit: str, high: float) -> dict:
    """An amount of 0 and more for each head (layers, H), on a scale up to `high`."""
    hints = [[_hint(kind, layer, head, amounts, unit) for head in range(amounts.shape[1])]
             for layer in range(len(amounts))]
    return {"name": name, "kind": kind, "title": title, "unit": unit, "maps": [_map("", amounts, 0, high, hints)],
            "scale": {"low": "0", "high": _plain(high), "marks": [], "diverging": False}}


def switch_card(kind: str, layers: int, heads: int, *, title: str) -> dict:
    """The heads of a kind, to be switched: without values and a scale."""
    hints = [[f"{kind}, {head_label(layer, head)}" for head in range(heads)] for layer in range(layers)]
    head_map = _map("", np.zeros((layers, heads)), 0, 1, hints) | {"hints": hints, "texts": [[""] * heads] * layers}
    return {"name": "switch", "kind": kind, "title": title, "unit": "", "maps": [head_map],
            "scale": {"low": "", "high": "", "marks": [], "diverging": False}}


def head_maps(cards: Sequence[dict], *, alt: str, source: str, origin: str = "",
              chosen: tuple[str, int, int] | None = None, chosen_card: str | None = None,
              crossed: Collection[tuple[str, int, int]] = (), columns: int = 12, listed: bool = False,
              dark: bool | None = None) -> dict:
    """The data of `ui/components/js/figures/head_maps.js`: the cards, the chosen head and card, the `crossed` heads,
    which are switched. origin: the source in full, for files and as a tooltip. columns: the most cards side by side.
    listed: only the chosen card is large, beside a list of all."""
    scales = {"ramp": ramp(SHADES, dark=dark), "diverging": diverging(SHADES, dark=dark)}
    return {"cards": list(cards), "alt": alt, "source": source, "origin": origin or source,
            "ink": INK[bool(dark)], "paper": ZERO[bool(dark)], "chosen": chosen and list(chosen),
            "chosenCard": chosen_card, "columns": columns, "listed": listed,
            "crossed": [":".join(map(str, head)) for head in crossed],
            **{name: ["#" + bytes(shade.tolist()).hex() for shade in shades] for name, shades in scales.items()},
            "inks": {name: ink_on(shades) for name, shades in scales.items()}}


def describe_head_maps(cards: Sequence[dict], values: Sequence[np.ndarray]) -> str:
    """A sentence for `alt=`: where each map is largest."""
    peaks = []
    for card, value in zip(cards, values, strict=True):
        if np.isfinite(value).any():
            layer, head = (int(at) for at in np.unravel_index(np.nanargmax(np.abs(value)), value.shape))
            place = f"layer {layer} · {card['tokens'][head]}" if "tokens" in card else head_label(layer, head)
            peaks.append(f"{card['title']}: most at {place}, {value[layer, head]:.3g}.")
    across = "tokens" if "tokens" in cards[0] else "heads"
    return " ".join([f"{len(cards)} maps, layers down and {across} across.", *peaks])


def heads_table(columns: Mapping[str, Mapping[str, np.ndarray]], *, caption: str, label: str) -> str:
    """HTML of every number, to six digits: column -> kind -> (layers, H). NaN is a dash."""
    body = []
    for kind, values in next(iter(columns.values())).items():
        for layer, head in np.ndindex(values.shape):
            body.append(tr(heading(kind, scope="row"), heading(str(layer), scope="row"),
                            heading(str(head), scope="row"), *(
                tag("td", _exact(float(measured[kind][layer, head])), data_kind=kind, data_layer=layer, data_head=head,
                    data_measure=name) for name, measured in columns.items())))
    return numeric_table(header_rows(["attention", "layer", "head", *columns]), body, label=label, caption=caption)


def _map(caption: str, values: np.ndarray, low: float, high: float, hints: list[list[str]], *,
         signed: int = 0) -> dict:
    """signed: digits after the point of numbers with a sign."""
    places = np.nan_to_num((values.astype(np.float64) - low) / (high - low) * (SHADES - 1)).round().clip(0, SHADES - 1)
    shades = np.where(np.isnan(values), -1, places).astype(int)
    more = {"hints": hints} if values.size <= MOST_HINTS else {}  # else the script writes them from `texts`
    return {"caption": caption, "shades": shades.tolist(), **more,
            "texts": [["" if np.isnan(value) else _signed(value, signed) if signed else _plain(value) for value in row]
                      for row in values.tolist()]}


def _most(values: np.ndarray) -> list[int]:
    """The layer and head of the largest of values (layers, H)."""
    if np.isnan(values).all():
        return [0, 0]
    return [int(at) for at in np.unravel_index(np.nanargmax(values), values.shape)]


def _hint(kind: str, layer: int, head: int, values: np.ndarray, caption: str) -> str:
    value = values[layer, head]
    return f"{kind}, {head_label(layer, head)}, {caption}: {'no value' if np.isnan(value) else f'{value:.4g}'}"


def _plain(value: float) -> str:
    """A number in two digits: .83, 1.2, 12."""
    if abs(value) >= 9.95:
        return f"{value:.0f}"
    if abs(value) >= 1:
        return f"{value:.1f}".removesuffix(".0")
    return cell_label(value) if value >= 0.005 else "0"


def _signed(value: float, digits: int = 2) -> str:
    if abs(value) < 0.5 * 10.0 ** -digits:
        return "0"
    text = _plain(abs(value)) if digits == 2 else f"{abs(value):.{digits}f}".removeprefix("0")
    text = "1" if text == ">.99" else text  # a change is no share of a row, which may never be all of it
    return ("+" if value > 0 else "−") + text


def _exact(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.6g}"

"""One attention weight spelled out: the products, their sum, the scale and the softmax, with the numbers."""
from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from ui.figures.labels import part_of_one, plain_label

STYLE = """<style>
.spelled { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .5rem 1rem; font-size: 15px;
  line-height: 1.6; font-variant-numeric: tabular-nums; margin: 0; }
.spelled dt { font-weight: 600; white-space: nowrap; }
.spelled dd { margin: 0; overflow-wrap: break-word; }
.spelled b { font-weight: 700; }
@media (max-width: 640px) { .spelled { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
  .spelled dd { padding-bottom: .6rem; } }
</style>"""


def spelled_cell(query: str, key: str, *, q: np.ndarray, k: np.ndarray, product: float, divisor: float,
                 divided_by: str, scaled: Sequence[float], at: int, weight: float,
                 bias: Sequence[float] | None = None, allowed: np.ndarray | None = None,
                 lines: Collection[str] | None = None) -> str:
    """HTML of how `query` comes to give `key` its weight: q and k (d_k,), `scaled` (Tk,) of the whole row, `at` the
    key's place in it, `bias` (Tk,) what positions add, `allowed` (Tk,); `lines`: which of them, all without it."""
    asks, is_asked = (f"<bdi>{escape(plain_label(token))}</bdi>" for token in (query, key))
    terms = " + ".join(f"{_signed(a)}·{_signed(b)}" for a, b in zip(q, k, strict=True))
    scaled = np.asarray(scaled, dtype=np.float64)
    allowed = np.ones(len(scaled), bool) if allowed is None else np.asarray(allowed, bool)
    said = [("Product", f"q[{asks}] · k[{is_asked}] = {terms} = <b>{product:.2f}</b>"),
            ("Scale", f"{product:.2f} / {escape(divided_by)} = {product:.2f} / {divisor:.2f} = "
                      f"<b>{scaled[at]:.2f}</b>")]
    if bias is not None:
        before, scaled = scaled, scaled + np.asarray(bias, dtype=np.float64)
        said.append(("Positions", f"{before[at]:.2f} + {_signed(bias[at])} = <b>{scaled[at]:.2f}</b>"))
    if not allowed[at]:
        said += [("Mask", f"{is_asked} comes after {asks}: −∞ takes the place of {scaled[at]:.2f}"),
                 ("Softmax", f"e<sup>−∞</sup> = 0, so the weight is <b>{weight:.2f}</b>")]
    else:
        powers = np.exp(scaled)
        total = " + ".join(f"e<sup>{score:.2f}</sup>" for score in scaled[allowed])
        said.append(("Softmax", f"e<sup>{scaled[at]:.2f}</sup> / ({total}) = {_power(powers[at])} / "
                                f"{_power(powers[allowed].sum())} = <b>{part_of_one(weight)}</b>"))
    rows = "".join(f"<dt>{what}</dt><dd>{how}</dd>" for what, how in said if lines is None or what in lines)
    return f'{STYLE}<dl class="spelled" aria-label="one weight spelled out">{rows}</dl>' if rows else ""


def spelled_sum(query: str, keys: Sequence[str], *, weights: np.ndarray, v: np.ndarray, total: float) -> str:
    """HTML of how the first number of a context vector adds up: weights and v's first column, both (Tk,)."""
    terms = " + ".join(f"{weight:.2f}·{_signed(value)}" for weight, value in zip(weights, v, strict=True))
    values = ", ".join(f"<bdi>{escape(plain_label(key))}</bdi>" for key in keys)
    return (f'{STYLE}<dl class="spelled" aria-label="one number of the context spelled out"><dt>First number</dt>'
            f"<dd>context[<bdi>{escape(plain_label(query))}</bdi>, 0] = {terms} = <b>{total:.2f}</b><br>"
            f"weight times first value of {values}</dd></dl>")


def _signed(value: float) -> str:
    text = f"{value:.2f}"
    if float(text) == 0:
        return "0.00"
    return f"({text})" if value < 0 else text


def _power(value: float) -> str:
    return f"{value:.2f}" if value < 1e5 else f"{value:.3g}"

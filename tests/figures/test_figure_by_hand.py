"""The smaller figures of By hand: a weight spelled out, blocks of heads, curves over d_k."""

import re
from html import unescape

import numpy as np
import pytest

from ui.figures import describe_widths, head_blocks, plain_table, spelled_cell, spelled_sum, width_curves

from .altair_rows import drawn_rows

Q, K = np.array([0.5, -1.25, 2.0]), np.array([1.0, 2.0, 0.0])
SCALED = [-1.0, 0.5, 0.0]
WEIGHT = float(np.exp(-1) / np.exp(SCALED).sum())


def text(html: str) -> str:
    html = html.replace("</dt>", ": ").replace("</dd>", "\n")
    return unescape(re.sub(r"<style>.*?</style>|<[^>]+>", "", html, flags=re.DOTALL))


def spelled(**changes) -> str:
    settings = {"q": Q, "k": K, "product": -2.0, "divisor": 2.0, "divided_by": "√4", "scaled": SCALED, "at": 0,
                "weight": WEIGHT}
    return spelled_cell("coffee", "Life", **(settings | changes))


def test_a_weight_and_a_number_of_the_context_are_spelled_out_from_the_products_on(accepted):
    q, k = np.linspace(-2, 3, 40), np.linspace(1, -1, 40)
    accepted("spelled", "\n\n".join(f"== {title}\n{text(html)}" for title, html in {
        "a weight": spelled(), "beside a hidden key": spelled(allowed=np.array([True, False, True])),
        "a hidden key": spelled(allowed=np.array([False, True, True]), weight=0.0),
        "a large power": spelled(scaled=[50.0, 0.0, 0.0]),
        "some terms of a long product": spelled(q=q, k=k, product=float(q @ k), seen=range(8, 10)),
        "all terms of a short one": spelled(seen=range(3)),
        "the split scale": spelled(root=2.0, divisor=4.0, divided_by="√16", scaled=[-0.5, 0.5, 0.0]),
        "a number of the context": spelled_sum("b", ["a", "b"], weights=[0.25, 0.75], v=[4.0, -0.001], total=1.0),
        "a later one": spelled_sum("b", ["a"], weights=[1.0], v=[4.0], total=4.0, column=24)}.items()))
    total = np.exp(SCALED).sum()
    assert f"/ (e-1.00 + e0.50 + e0.00) = {np.exp(-1):.2f} / {total:.2f} = {WEIGHT:.2f}" in text(spelled())
    rest = float(q @ k) - q[8] * k[8] - q[9] * k[9]
    assert f"({rest:.2f}) (the sum of the other 38 products) = {q @ k:.2f}" in text(
        spelled(q=q, k=k, product=float(q @ k), seen=range(8, 10)))


@pytest.mark.parametrize("scores", [[5_000.0, 4_999.0, 0.0], [-5_000.0, -5_001.0, -6_000.0]])
def test_powers_that_no_computer_holds_stay_powers(scores):
    with np.errstate(all="raise"):
        said = text(spelled(scaled=scores, weight=0.73))
    assert f"e{scores[0]:.2f} / (e{scores[0]:.2f} + e{scores[1]:.2f} + e{scores[2]:.2f}) = 0.73" in said
    assert "inf" not in said


def test_words_in_it_are_text():
    html = spelled_cell("<b>x</b>", "<img>", q=Q, k=K, product=-2, divisor=1, divided_by="1", scaled=SCALED, at=0,
                        weight=WEIGHT)
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<img" not in html + spelled_sum("<img>", ["<img>"], weights=[1.0], v=[1.0], total=1.0)


def test_blocks_say_word_and_head_and_are_coloured_by_head():
    html = head_blocks([("row 0", [("a", 0), ("<i>", 1)])], title="q")
    assert re.findall(r'class="(head\d)"><bdi>(.*?)</bdi><sub>(\d)', html) == [
        ("head0", "a", "0"), ("head1", "&lt;i&gt;", "1")]
    classes = re.findall(r'td class="(.*?)"', head_blocks([("row", [("a", at) for at in range(8)])], title="q"))
    assert len(set(classes)) == 8


def test_a_plain_table_sets_code_as_code_numbers_to_the_right_and_cuts_a_long_cell_but_for_the_pointer():
    html = plain_table(["what", "how", "<n>"], [("a<b>", "x @ w", "1.0")], code=[1], numbers=[2], label="t")
    assert re.findall(r'<td class="(.*?)">(.*?)</td>', html) == [
        ("text", "a&lt;b&gt;"), ("code", "x @ w"), ("number", "1.0")]
    assert '<th scope="col" class="number">&lt;n&gt;</th>' in html
    long, whole = '<"x">' * 12, "&lt;&quot;x&quot;&gt;" * 12
    assert f'<td class="text cut" title="{whole}">{whole}</td><td class="text">7</td>' in plain_table(
        ["run", "step"], [(long, "7")], label="t")
    for cell, options in ((long, {"wrap": True}), (long, {"code": [0]}), ("x" * 48, {})):
        assert "cut\"" not in plain_table(["run"], [(cell,)], label="t", **options)


SERIES = {"measured": [1.0, 2.5], "theory": [1.0, 2.0]}


def test_curves_have_the_values_and_only_measured_ones_have_points():
    chart = width_curves(SERIES, [1, 4], title="t", quantity="spread", theory=["theory"])
    spec = chart.to_dict()
    assert [(row["name"], row["at"], row["value"]) for row in drawn_rows(chart, 0)] == [
        ("measured", 1, 1.0), ("measured", 4, 2.5), ("theory", 1, 1.0), ("theory", 4, 2.0)]
    (points,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "point"]
    assert points["transform"][0]["filter"]["oneOf"] == ["measured"]
    (line,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    assert line["encoding"]["strokeDash"]["scale"] == {"domain": ["measured", "theory"], "range": [[1, 0], [6, 4]]}
    said = describe_widths(SERIES, [1, 4], quantity="spread")
    assert said == "spread for d_k from 1 to 4: measured from 1.00 to 2.50; theory from 1.00 to 2.00."

import numpy as np
import pytest

from tests.markup import Markup
from ui.figures import matrix_style, number_matrix


class Matrix(Markup):
    """A number matrix: how its cells are shaded, and which of its rows are marked."""

    def shades(self):
        return [data["class"].split()[0] for data, _ in self.cells]

    def chosen(self):
        return [data.get("class") == "chosen" for data, _ in self.all("//tr")]


VALUES = np.array([[0.123456789, -2.0, 0.0], [1.0, -0.001, 2.0]])


def test_numbers_are_rounded_kept_in_full_and_shaded_by_their_kind_under_name_and_shape():
    html = number_matrix(VALUES, name="q <k>", rows=["a", "b"], row=1, cell=(1, 2))
    found = Matrix(html)
    assert [text for _, text in found.cells] == ["0.12", "-2.00", "0.00", "1.00", "0.00", "2.00"]
    assert np.allclose([float(data["title"]) for data, _ in found.cells], VALUES.ravel(), rtol=1e-6)
    assert found.shades() == ["s25", "s0", "s24", "s36", "s24", "s48"]
    assert found.chosen() == [False, False, True]
    assert [data["class"].endswith(" chosen") for data, _ in found.cells] == [False] * 5 + [True]
    assert '<b>q &lt;k&gt;</b> <span class="shape">(2, 3)</span>' in html
    assert '<span class="shape">(3,)</span>' in number_matrix(VALUES[0], name="ids", rows=["id"])
    assert Matrix(number_matrix(np.zeros((1, 2)), name="q", rows=["a"])).shades() == ["s24", "s24"]
    found = Matrix(number_matrix(np.array([[0.0, 0.25, 1.0]]), name="w", rows=["a"], kind="weights"))
    assert found.shades()[:3] == ["w0", "w12", "w24"]


def test_words_are_text_and_equal_words_keep_their_headers():
    words = ["<script>alert(1)</script>", "the", "the"]
    found = Matrix(number_matrix(np.eye(3), name="w", rows=words, columns=words))
    assert "script" not in found.tags
    assert [text for data, text in found.headers if data["scope"] == "row"][1:] == ["the", "the"]
    assert len(found.headers) == 6


@pytest.mark.parametrize("dark", [False, True])
def test_every_shade_is_defined_with_an_ink_that_can_be_read(dark):
    style = matrix_style(dark=dark)
    for name in [f"s{at}" for at in range(49)] + [f"w{at}" for at in range(25)]:
        rule = style.split(f".{name}{{background:rgb(")[1].split("}")[0]
        colour, ink = rule.split(");color:")
        shade = np.array([int(part) for part in colour.split(",")]) / 255
        linear = np.where(shade <= 0.04045, shade / 12.92, ((shade + 0.055) / 1.055) ** 2.4)
        luminance = linear @ [0.2126, 0.7152, 0.0722]
        light, dim = max(luminance, ink == "#ffffff"), min(luminance, ink == "#ffffff")
        assert (light + 0.05) / (dim + 0.05) >= 4.5, name


def test_masked_cells_are_hatched_and_say_minus_infinity():
    allowed = np.tri(2, dtype=bool)
    found = Matrix(number_matrix(np.where(allowed, 1.0, -np.inf), name="s", rows=["a", "b"], columns=["a", "b"],
                                 allowed=allowed))
    assert found.shades() == ["s48", "masked", "s48", "s48"]
    assert found.cells[1][1] == "−∞"
    assert found.cells[1][0]["title"] == "-inf"


def test_sums_that_are_not_1_stand_out_and_groups_span_their_columns():
    weights = np.array([[0.5, 0.5], [0.5, 0.25]])
    found = Matrix(number_matrix(weights, name="w", rows=["a", "b"], kind="weights"))
    assert [(data["class"], text) for data, text in found.cells if "sum" in data["class"]] == [
        ("sum", "1.00"), ("sum off", "0.75")]
    found = Matrix(number_matrix(np.zeros((1, 6)), name="c", rows=["a"], groups=[("head 0", 4), ("head 1", 2)]))
    assert [(data["colspan"], text) for data, text in found.headers[:2]] == [("4", "head 0"), ("2", "head 1")]


@pytest.mark.parametrize("labels", [{"rows": ["a"]}, {"rows": ["a", "b"], "columns": ["x"]}])
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(ValueError, match=r"q is \(2, 3\), its labels say"):
        number_matrix(VALUES, name="q", **labels)


def test_of_a_wide_matrix_a_part_is_drawn_and_said_in_the_colours_of_the_whole():
    values = np.arange(60.0).reshape(3, 20)
    html = number_matrix(values, name="q", rows=["a", "b", "c"], row=2, cell=(1, 9), seen=(range(1, 3), range(8, 12)))
    found = Matrix(html)
    assert [text for _, text in found.cells] == [f"{value:.2f}" for value in values[1:, 8:12].ravel()]
    assert [text for data, text in found.headers if data["scope"] == "col"] == ["8", "9", "10", "11"]
    assert [text for data, text in found.headers if data["scope"] == "row"] == ["b", "c"]
    assert 'rows 1 to 2 of 3, columns 8 to 11 of 20' in html
    assert '<span class="shape">(3, 20)</span>' in html
    assert found.chosen() == [False, False, True]
    assert [data["class"].endswith(" chosen") for data, _ in found.cells].index(True) == 1
    whole = Matrix(number_matrix(values, name="q", rows=["a", "b", "c"], row=2, cell=(1, 9)))
    assert found.shades() == [whole.shades()[at] for at in [28, 29, 30, 31, 48, 49, 50, 51]]
    assert "columns" not in number_matrix(values, name="q", seen=(range(3), range(20)))


@pytest.mark.parametrize(("across", "spans"), [
    (range(4), [("head 0", "4")]), (range(4, 8), [("head 0", "1"), ("head 1", "3")]), (range(8, 12), [
        ("head 1", "2"), ("head 2", "2")])])
def test_groups_span_only_their_columns_that_are_drawn(across, spans):
    found = Matrix(number_matrix(np.zeros((1, 15)), name="c", rows=["a"], seen=(range(1), across),
                                 groups=[(f"head {at}", 5) for at in range(3)]))
    assert [(text, data["colspan"]) for data, text in found.headers if "colspan" in data] == spans

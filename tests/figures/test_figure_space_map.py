"""The plane of points: what is drawn how, a unit as long on both axes, and names that do not overlap."""

import numpy as np
import pytest

from ui.figures import PICKED, Points, describe_space_map, space_map
from ui.figures.space_map import SIDES

from .altair_rows import drawn_rows

AXES = "first", "second"


def group(name: str, places: np.ndarray, *, own: bool = False, square: bool = False) -> Points:
    tokens = [f"{name[0]}{at}" for at in range(len(places))]
    return Points(name, own, square, places, tokens, [f"position {at}" for at in range(len(places))], tokens)


@pytest.fixture
def cloud() -> list[Points]:
    draw = np.random.default_rng(0).normal
    return [group("queries", draw(size=(300, 2))), group("keys", draw(size=(200, 2)), square=True),
            group("your queries", draw(size=(8, 2)), own=True),
            group("your keys", draw(size=(5, 2)), own=True, square=True)]


@pytest.mark.slow
def test_points_are_numbered_through_and_told_apart_by_shape_as_well_as_colour(cloud):
    chart = space_map(cloud, chosen=503, near=[310, 4], axes=AXES)
    rows, layer = drawn_rows(chart), chart.to_dict()["layer"][0]
    assert [row["number"] for row in rows] == list(range(513))
    np.testing.assert_allclose([(row["x"], row["y"]) for row in rows], np.concatenate([one.places for one in cloud]))
    scales = {name: layer["encoding"][name]["scale"]["range"] for name in ("shape", "color", "size", "opacity")}
    assert scales["shape"] == ["circle", "square"] * 2 and len(set(scales["color"])) == 2
    assert scales["size"][0] < scales["size"][2] and scales["opacity"][1] < scales["opacity"][3]
    (select,) = [one for one in chart.to_dict()["params"] if one["name"] == PICKED]
    assert select["select"]["fields"] == ["number"]


def test_a_unit_is_as_long_on_both_axes_and_every_point_has_room(cloud):
    encoding = space_map(cloud, chosen=0, near=[], axes=AXES).to_dict()["layer"][0]["encoding"]
    places = np.concatenate([one.places for one in cloud])
    for width, height in ((800, 300), (300, 800)):
        lengths = []
        for at, axis in enumerate("xy"):
            low, high = (eval(encoding[axis]["scale"][end]["expr"], {"width": width, "height": height, "max": max})
                         for end in ("domainMin", "domainMax"))
            assert low < places[:, at].min() and places[:, at].max() < high
            lengths.append((width, height)[at] / (high - low))
        assert lengths[0] == pytest.approx(lengths[1])


def test_names_are_those_of_one_s_own_the_chosen_and_the_near_and_do_not_overlap(cloud):
    chart = space_map(cloud, chosen=7, near=[20, 30], axes=AXES)
    rows = drawn_rows(chart)
    named = [row for row in rows if row["side"]]
    assert rows[7]["side"] and {row["number"] for row in named} <= {7, 20, 30, *range(500, 513)} and len(named) > 10
    assert {row["side"] for row in named} <= set(SIDES)
    crowd = drawn_rows(space_map([group("your text", np.repeat([[0.0, 0], [1, 1]], 20, axis=0), own=True)], chosen=0,
                                 near=[], axes=AXES))
    assert sum(bool(row["side"]) for row in crowd) <= 2 * len(SIDES) and crowd[0]["side"] == "above"


@pytest.mark.parametrize("places", [np.zeros((1, 2)), np.zeros((3, 2)), np.array([[0, 0], [1e-9, 0.0]])])
def test_points_on_one_place_are_drawn(places):
    chart = space_map([group("your text", places, own=True)], chosen=0, near=[], axes=AXES)
    assert len(drawn_rows(chart)) == len(places) and "NaN" not in chart.to_json()


def test_the_words_for_it_count_the_points(cloud):
    said = describe_space_map(cloud, chosen="“red”", axes=("first axis: 12%", "second axis: 8%"))
    assert said == ("A plane with 300 points of queries, 200 points of keys, 8 points of your queries, 5 points of "
                    "your keys. Across: first axis: 12%; up: second axis: 8%. Asked about: “red”.")

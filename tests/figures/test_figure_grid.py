import base64
import struct
import zlib

import numpy as np
import pytest

from ui.figures import describe_grid, head_grid, picked_head
from ui.figures.grid import GAP, MASKED, POOLED, SHADES, tile


def decoded(figure):
    """The picture of the grid as palette indices, read back from its PNG."""
    data = base64.b64decode(figure.data[0].source.split(",")[1])
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    length = struct.unpack(">I", data[start - 4:start])[0]
    lines = np.frombuffer(zlib.decompress(data[start + 4:start + 4 + length]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


@pytest.mark.parametrize(("queries", "keys"), [(1, 8), (9, 8), (40, 40), (49, 130), (128, 128), (300, 5)])
def test_pooling_keeps_every_heads_strongest_weight_in_its_place(queries, keys):
    rng = np.random.default_rng(queries)
    weights = rng.random((2, 3, queries, keys)).astype(np.float32) * 0.2
    spots = {}
    for layer in range(2):
        for head in range(3):
            spots[layer, head] = query, key = rng.integers(queries), rng.integers(keys)
            weights[layer, head, query, key] = 1
    shades, rows, columns = tile(weights)
    assert rows <= POOLED
    assert columns <= POOLED
    assert shades.shape == (2 * (rows + GAP) - GAP, 3 * (columns + GAP) - GAP)
    for (layer, head), (query, key) in spots.items():
        one = shades[layer * (rows + GAP):, head * (columns + GAP):][:rows, :columns]
        assert one.max() == SHADES
        where = np.argwhere(one == SHADES).mean(axis=0) / one.shape
        assert np.abs(where - [(query + 0.5) / queries, (key + 0.5) / keys]).max() < 0.05


def test_small_weights_stay_apart_from_zero_and_from_the_mask():
    weights = np.array([[[[1 - 1e-4, 1e-4, 0]]]])
    shades, _, columns = tile(weights, mask=np.array([[True, True, False]]))
    some, none = shades[0, columns // 2], shades[0, -1]
    assert some > MASKED + 1
    assert none == MASKED


def test_the_picture_is_a_png_of_just_these_shades():
    weights = np.random.default_rng(0).random((2, 4, 9, 8))
    assert np.array_equal(decoded(head_grid(weights, kind="cross", selected=(0, 0))), tile(weights)[0])


def test_every_head_has_a_target_over_its_tile_and_the_selected_one_an_outline():
    weights = np.random.default_rng(0).random((2, 4, 9, 8))
    targets = head_grid(weights, kind="cross", selected=(1, 2)).data[1]
    _, rows, columns = tile(weights)
    assert [tuple(pair) for pair in targets.customdata] == [(layer, head) for layer in range(2) for head in range(4)]
    assert [width > 0 for width in targets.marker.line.width] == [False] * 6 + [True, False]
    for (layer, head), x, base in zip(targets.customdata, targets.x, targets.base, strict=True):
        assert x == head * (columns + GAP) + columns / 2
        assert base == layer * (rows + GAP) - GAP / 2


def test_a_click_is_a_head_and_no_click_is_none():
    assert picked_head({"selection": {"points": [{"customdata": [1, 3]}]}}) == (1, 3)
    assert picked_head({"selection": {"points": []}}) is None
    assert picked_head(None) is None


def test_the_description_says_which_head_is_chosen():
    text = describe_grid(np.zeros((2, 4, 1, 1)), kind="cross", selected=(1, 2))
    assert "2 layers of 4 heads, layer 1 · head 2" in text

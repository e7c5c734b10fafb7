import base64
import io

import numpy as np
from PIL import Image

from ui.figures import describe_mask_grid, mask_grid
from ui.figures.masks import TILE, _tiled
from ui.figures.palette import ALLOWED

MASKS = {"one": np.array([np.eye(3), np.ones((3, 3))], dtype=bool), "other": np.array([[[1, 0]], [[1, 1]]], dtype=bool)}


def test_every_pair_and_mask_has_its_tile_with_the_allowed_cells_filled():
    shades = _tiled(list(MASKS.values()))
    allowed, forbidden = shades.max(), 1
    for column, mask in enumerate(MASKS.values()):
        for row in range(2):
            tile = shades[row * (TILE + 6):, column * (TILE + 6):][:TILE, :TILE]
            rows, keys = (np.arange(size) * TILE // size + TILE // size // 2 for size in mask.shape[1:])
            assert np.array_equal(tile[rows][:, keys], np.where(mask[row], allowed, forbidden))
    assert not shades[TILE:TILE + 6].any()


def test_the_picture_is_one_png_and_hover_counts():
    figure = mask_grid(MASKS, ["<b>I</b>", "Go."], selected=1, title="all")
    png = base64.b64decode(figure.data[0].source.split(",")[1])
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.array(image.convert("RGBA"))
    shades = _tiled(list(MASKS.values()))
    assert pixels.shape[:2] == shades.shape == (2 * TILE + 6, 2 * TILE + 6)
    assert (pixels[shades == 2] == [*bytes.fromhex(ALLOWED[1:]), 255]).all()
    assert (pixels[shades == 0][:, 3] == 0).all()
    assert [text.split("<br>")[1] for text in figure.data[1].hovertext] == [
        "one: 3 of 9 may be attended to", "other: 1 of 2 may be attended to", "one: 9 of 9 may be attended to",
        "other: 2 of 2 may be attended to"]
    assert "&#60;b&#62;I" in figure.data[1].hovertext[0]
    assert figure.layout.yaxis.ticktext == ("1", "<b>2</b>")
    assert "'Go.': one 9 of 9, other 2 of 2" in describe_mask_grid(MASKS, ["I", "Go."], selected=1)

import numpy as np
import pytest

from ui.figures.palette import DIVERGING, MARK, diverging, ink_on, ramp

# the primaries as the common kinds of colour blindness see them (Machado, Oliveira and Fernandes 2009), linear RGB
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def oklab(linear):
    """OKLab of linear RGB (Ottosson 2020): lightness, then green to red and blue to yellow."""
    cones = np.cbrt(np.clip(linear, 0, None) @ np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]).T)
    return cones @ np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                             [0.0259040371, 0.7827717662, -0.8086757660]]).T


def linear(rgb):
    rgb = rgb / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def test_more_weight_is_always_more_ink_for_every_eye():
    colours = linear(ramp(33))
    for matrix in [np.eye(3), *map(np.array, BLINDNESS.values())]:
        steps = np.diff(oklab(colours @ matrix.T)[:, 0])
        assert (steps < -0.008).all()
        assert (steps > -0.04).all()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("colours", [ramp, diverging])
def test_numbers_stand_out_on_every_colour(colours, dark):
    shades = colours(257, dark=dark)
    light = linear(shades) @ [0.2126, 0.7152, 0.0722]
    for text, luminance in zip(ink_on(shades), light, strict=True):
        white, black = 1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05
        assert (white if text == "#ffffff" else black) == max(white, black) >= 4.5


def apart(one, other, matrix):
    """How far two colours are from each other in OKLab, for an eye."""
    shades = np.array([[int(colour[at:at + 2], 16) for at in (1, 3, 5)] for colour in (one, other)], float)
    return float(np.linalg.norm(np.subtract(*oklab(linear(shades) @ matrix.T))))


def test_the_two_signs_are_apart_from_each_other_and_from_the_accent_for_every_eye():
    for matrix in [np.eye(3), *map(np.array, BLINDNESS.values())]:
        for negative, _, positive in DIVERGING.values():
            assert apart(negative, positive, matrix) > 0.14
            assert min(apart(negative, MARK, matrix), apart(positive, MARK, matrix)) > 0.09

"""Colours: one sequential ramp for every weight, and the few others that mean something."""
import numpy as np

from transformer.basics.design import DESIGN, colour

# From paper to ink in equal OKLab steps (lightness 0.98 to 0.21, mint through blue): the order survives every kind of
# colour blindness and a grey printer.
SEQUENTIAL = tuple(DESIGN["sequential"])
MARK = colour("mark")  # only the newest token, the chosen head, the chosen candidate
BAR = colour("plus")     # a plain quantity; the positive one of two signs
NEGATIVE = colour("minus")  # the negative one, under the page's own text
MUTED = colour("off")    # left out, or not allowed; legible on white and on black
ALLOWED = SEQUENTIAL[7]  # a mask that says yes, under white ticks


def faint(shade: str, part: float) -> str:
    """A colour that lets so much of what is behind it through, as plotly and CSS know it."""
    return f"rgba({', '.join(str(int(shade[i:i + 2], 16)) for i in (1, 3, 5))}, {part:g})"


FORBIDDEN, CLEAR = faint(MUTED, 0.22), faint(MUTED, 0)
ZERO = {dark: colour("paper", dark=dark) for dark in (True, False)}  # by dark: the page itself, behind sticky labels
# by dark: labels at full contrast; None is the theme's own grey
INK = {dark: colour("ink", dark=dark) for dark in (True, False)} | {None: None}
# From negative, wine red, to positive, blue, through the page's own lightness; distinct from each other and from the
# mark for every kind of colour blindness.
DIVERGING = {dark: tuple(DESIGN["diverging"][dark]) for dark in (True, False)}
CYCLIC = tuple(DESIGN["cyclic"])  # for angles (matplotlib's twilight)
CATEGORICAL = tuple(DESIGN["series"])  # Okabe and Ito


def ramp(samples: int, *, dark: bool | None = None) -> np.ndarray:
    """The sequential colours as (samples, 3) uint8, in reverse on a dark page, so that zero is nearest the page."""
    return _between(SEQUENTIAL[::-1 if dark else 1], samples)


def colorscale(scale: str, *, dark: bool | None = None) -> list[list]:
    """A plotly colour scale over [0, 1]; `"sqrt"` bends the scale, not the data, so hover and colour bar stay exact."""
    at = np.linspace(0, 1, 33)
    where = {"sqrt": at**2, "linear": at}[scale]
    return [[float(w), f"rgb({r}, {g}, {b})"] for w, (r, g, b) in zip(where, ramp(len(at), dark=dark), strict=True)]


def diverging(samples: int, *, dark: bool | None = None) -> np.ndarray:
    """The diverging colours as (samples, 3) uint8; the middle, no difference, is near the page."""
    return _between(DIVERGING[bool(dark)], samples)


def diverging_scale(*, dark: bool | None = None) -> list[list]:
    """The diverging colours as a plotly colour scale."""
    at = np.linspace(0, 1, 33)
    return [[float(w), f"rgb({r}, {g}, {b})"] for w, (r, g, b) in zip(at, diverging(len(at), dark=dark), strict=True)]


def _between(colours: tuple[str, ...], samples: int) -> np.ndarray:
    stops = np.array([[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in colours])
    at = np.linspace(0, len(stops) - 1, samples)
    return np.stack([np.interp(at, range(len(stops)), channel) for channel in stops.T], axis=1).round().astype(np.uint8)


def ink_on(shades: np.ndarray) -> list[str]:
    """Black or white text, whichever has the higher contrast (WCAG 2.2, "contrast ratio") on each of the colours
    (n, 3) uint8."""
    light = luminance(shades)
    return ["#000000" if black >= white else "#ffffff"
            for black, white in zip((light + 0.05) / 0.05, 1.05 / (light + 0.05), strict=True)]


def luminance(shades: np.ndarray) -> np.ndarray:
    """The relative luminance (n,) of sRGB colours (n, 3) in 0 to 255 (WCAG 2.2)."""
    channels = np.asarray(shades) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]

"""Colours: one sequential ramp for every weight, and the few others that mean something."""
import numpy as np

from transformer.attention_view.shared import SHARED

_SHARED = SHARED["palette"]  # also for the scripts, which draw attention
# From paper to ink in equal OKLab steps (lightness 0.98 to 0.21, mint through blue): the order survives every kind of
# colour blindness and a grey printer.
SEQUENTIAL = tuple(_SHARED["ramp"])
ACCENT = _SHARED["accent"]  # only the newest token, the chosen head, the chosen candidate
BAR = _SHARED["bar"]     # a plain quantity; the positive one of two signs
NEGATIVE = "#c2376b"     # the negative one, under the page's own text
MUTED = "#8c929b"        # left out, or not allowed; legible on white and on black
ALLOWED = "#03588a"      # a mask that says yes, under white ticks
FORBIDDEN = "rgba(140, 146, 155, 0.22)"
CLEAR = "rgba(0, 0, 0, 0)"
ZERO = {True: "#0b1016", False: "#ffffff"}  # by dark: the page itself, behind sticky labels
# by dark: labels at full contrast; None is the theme's own grey
INK = {True: _SHARED["ink"]["dark"], False: _SHARED["ink"]["light"], None: None}
# From negative, wine red, to positive, blue, through the page's own lightness; distinct from each other and from the
# accent for every kind of colour blindness.
DIVERGING = {dark: tuple(_SHARED["signed"]["dark" if dark else "light"]) for dark in (True, False)}
# Cyclic colours for angles (matplotlib's twilight).
CYCLIC = ("#e2d9e2", "#9ebbc9", "#6785be", "#5e43a5", "#421257", "#301437", "#59184b", "#8e2c50", "#b25652", "#c6896c",
          "#e2d9e2")
CATEGORICAL = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito


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

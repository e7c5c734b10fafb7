"""What every plotly figure here shares: its title with the source under it, the sizes, the buttons."""
from functools import cache

import plotly.graph_objects as go
import plotly.io
from plotly.basedatatypes import BaseFigure

from ui.figures.labels import plotly_text
from ui.figures.palette import INK

TEXT = 14  # px, the least that is read from the back row; NOTE is for what stands beside
NOTE = 13

# For st.plotly_chart(config=): the picture button and nothing else; three times the pixels, for a projector or a paper.
PLOTLY_CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d", "select2d",
                               "lasso2d"],
    "toImageButtonOptions": {"format": "png", "scale": 3, "filename": "heads-up"},
}


class Finished(BaseFigure):
    """A plotly figure that goes to the browser as it was written: plotly would check every property of it, which takes
    most of the time that a step takes to draw. Its `data` and `layout` are checked; the tests ask for them."""

    def __init__(self, data: list[dict], layout: dict):
        self._data, self._layout, self._frame_objs = data, layout, ()  # all that `to_dict` reads

    @property
    def data(self) -> tuple:
        return go.Figure(self._data, self._layout).data

    @property
    def layout(self) -> go.Layout:
        return go.Figure(self._data, self._layout).layout


@cache
def _template(name: str) -> dict:
    return go.Figure(layout={"template": name}).to_dict()["layout"]["template"]


def framed(traces: list[dict], *, xaxis: dict, yaxis: dict, title: str, source: str, dark: bool | None, height: int,
           top: int = 0, bottom: int = 0, **layout) -> Finished:
    """A figure with its title, its source in small type, and room in pixels above and below for its labels."""
    head = 10 + 26 * bool(title) + 26 * bool(source)
    ink = {"color": INK[dark]}
    # The background is left to Streamlit's theme, so that an exported picture has one too.
    return Finished(traces, {
        "template": _template(plotly.io.templates.default),
        "title": {"text": plotly_text(title), "font": {"size": 17}, "x": 0, "xref": "container", "xanchor": "left",
                  "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 4},
                  "subtitle": {"text": plotly_text(source), "font": {"size": NOTE} | ink}},
        "xaxis": _inked(xaxis, ink), "yaxis": _inked(yaxis, ink), "font": {"size": TEXT} | ink,
        "height": height + head + top + bottom, "margin": {"l": 8, "r": 8, "t": head + top, "b": bottom},
        "hoverlabel": {"font": {"size": TEXT + 1}, "align": "left"}, "bargap": 0, "barmode": "overlay"} | layout)


def axis(title: str = "", *, standoff: int = 8, **settings) -> dict:
    """An axis with labels and nothing else, for `framed`."""
    return {"showgrid": False, "zeroline": False, "showline": False, "ticks": "", "tickmode": "array",
            "fixedrange": True, "tickfont": {"size": TEXT},
            "title": {"text": title, "font": {"size": TEXT}, "standoff": standoff}} | settings


def picked_number(event) -> int | None:
    """The number of what was clicked, in what `st.plotly_chart(on_select=)` has kept, or None."""
    try:
        number = event["selection"]["points"][0]["customdata"]
    except (TypeError, KeyError, IndexError):
        return None
    return number if isinstance(number, int) and number >= 0 else None


def _inked(settings: dict, ink: dict) -> dict:
    title = settings["title"]
    return settings | {"tickfont": settings["tickfont"] | ink, "title": title | {"font": title["font"] | ink}}

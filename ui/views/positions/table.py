"""A table of positions: its curves, its numbers, and how alike positions are."""

from dataclasses import dataclass

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.positions import similarity
from ui import figures
from ui.components.position_curves import show_positions
from ui.page.presentation import chart_size, columns, enlarged, settings
from ui.state.caches import chart

PAGE, MOST, WIDEST, CURVES = "positions", 512, 512, 12
PAIR = "feature pair"  # the column of rotary positions, whose later ones hardly turn
VIEWS = ["Sinusoidal", "Rotary", "Trained", "Left out"]


@dataclass(frozen=True)
class Table:
    """A row of numbers for each position, with the texts of its figures."""

    values: torch.Tensor  # (T, features)
    name: str
    value: str
    source: str
    column: str = "dimension"


def opened_settings(place: DeltaGenerator, **named: str) -> DeltaGenerator:
    """The box of a view's settings, behind a line that sums up those of these names."""
    summary = ", ".join(words.format(st.session_state[f"{PAGE}_{name}"]) for name, words in named.items())
    return place.popover(f"Settings: {summary}", icon=":material/tune:", key=f"{PAGE}_opened")


def show_curves(table: Table, key: str, sets: DeltaGenerator, *, dark: bool) -> None:
    """Chosen dimensions of a table over the positions; sets: the box of the settings, which has their chooser."""
    state, width = st.session_state, table.values.shape[1]
    chosen = f"{PAGE}_{'pairs' if table.column == PAIR else 'dims'}"
    state[chosen] = [dim for dim in state[chosen] if dim < width]
    dims = sets.multiselect(f"{table.column.capitalize()}s to draw", range(width), key=chosen, max_selections=CURVES)
    if not dims:
        st.info(f"Open *Settings* and choose a {table.column} to see its curve.")
        return
    show_positions(table.values.numpy(), dims, column=table.column, title=table.name, value=table.value,
                   source=table.source, dark=dark, key=f"{PAGE}_{key}_curves", page=PAGE)
    st.caption(figures.HOW_TO_ZOOM)


def show_matrix(values: torch.Tensor, key: str, *, across: str, down: str, value: str, title: str, source: str,
                dark: bool, angle: bool = False) -> None:
    """A heat map of numbers (rows, columns)."""
    numbers = values.numpy()
    figure = figures.number_heatmap(numbers, across=across, down=down, value=value, title=title, source=source,
                                    angle=angle, dark=dark)
    st.plotly_chart(enlarged(PAGE, figure), key=f"{PAGE}_{key}", config=figures.PLOTLY_CONFIG, **chart_size(PAGE),
                    alt=figures.describe_numbers(numbers, across=across, down=down, value=value))


def show_similarities(table: Table, *, dark: bool, likeness: str = "") -> None:
    """Every position against every other, and one of them against all. likeness: says what their product is, where
    that is the cosine too."""
    places = len(table.values)
    st.session_state[f"{PAGE}_place"] = min(st.session_state[f"{PAGE}_place"], places - 1)
    left, right = columns(PAGE, 2)
    with left:
        if likeness:
            measure = "cosine"
        else:
            with settings(PAGE, "similarity"):
                st.segmented_control("Similarity", ["product", "cosine"], key=f"{PAGE}_measure", required=True)
            measure: str = st.session_state[f"{PAGE}_measure"]
        matrix = similarity(table.values, cosine=measure == "cosine")
        show_matrix(matrix, "similarity", across="position", down="position", value=measure,
               title="Similarity between positions", source=table.source, dark=dark)
    with right:
        with settings(PAGE, "place"):
            place = st.slider("Position", 0, places - 1, key=f"{PAGE}_place")
        series = {f"position {place}": matrix[place].tolist()}
        up = f"{measure} with position {place}"
        curve = chart(figures.lines, series, across="position", up=up, dark=dark, height=470,
                      title=f"Position {place} and all others", source=table.source)
        st.vega_lite_chart(enlarged(PAGE, curve),
                           key=f"{PAGE}_similarity_curve", **chart_size(PAGE),
                           alt=figures.describe_lines(series, across="position", up=up))
    if likeness:
        st.caption(figures.markdown_text(likeness))

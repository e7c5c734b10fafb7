"""Positions that a formula gives: sinusoidal and rotary."""

from math import pi

import numpy as np
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.analysis.positions import along_diagonals, rotary_products
from transformer.model.positions import sinusoids
from transformer.model.rotary import rotary_angles
from ui import figures
from ui.page.presentation import chart_size, columns, enlarged
from ui.state.caches import chart
from ui.views.positions.table import (
    MOST,
    PAGE,
    WIDEST,
    Table,
    opened_settings,
    show_curves,
    show_matrix,
    show_similarities,
)

BASES = [10, 100, 1_000, 10_000, 100_000, 1_000_000]
LAYOUTS = ["interleaved", "halves"]


def show_sinusoids(sets: DeltaGenerator, *, dark: bool) -> None:
    """The sines and cosines of the paper, by count, width and base. sets: the place of the button of the settings."""
    box = opened_settings(sets, count="{:,} positions", d_model="d_model {}", base="base {:,}")
    with box:
        (first, second), (third, fourth) = st.columns(2), st.columns(2)
    count = first.number_input("Positions", 2, MOST, step=1, key=f"{PAGE}_count")
    d_model = second.number_input("d_model", 2, WIDEST, step=2, key=f"{PAGE}_d_model")
    base = third.selectbox("Base", BASES, key=f"{PAGE}_base", format_func="{:,}".format,
                           help="10,000 in the paper. The longest wavelength is nearly 2π times this.")
    layout = fourth.selectbox("Layout", LAYOUTS, key=f"{PAGE}_layout",
                              help="interleaved: sin, cos, sin, cos, as in the paper. halves: all sines, then all "
                                   "cosines. The same numbers in another order, which makes no difference to a model.")
    values = sinusoids(count, d_model, layout=layout, base=base)
    table = Table(values, "Sinusoidal positions", "value added to the vector",
                  f"formula · {count} positions, d_model {d_model}, base {base:,}, {layout}")
    left, right = columns(PAGE, [3, 2], gap="large")
    with left:
        show_curves(table, "sinusoids", box, dark=dark)
        for at, wave in (("2i", "sin"), ("2i+1", "cos")):
            st.latex(rf"PE_{{(pos,\,{at})}}=\{wave}\!\left(pos\,/\,base^{{2i/d_{{model}}}}\right)")
        st.caption("Each dimension is a wave. Low dimensions change fast and separate neighbours; high ones change "
                   "slowly and separate near from far. The vector of a position is added to the embedding of the "
                   "token there (Vaswani et al. 2017, section 3.5).")
    with right:
        show_matrix(values, "matrix", across="dimension", down="position", value="value", title="The whole matrix",
               source=table.source, dark=dark)
        waves = [2 * pi * base ** (2 * pair / d_model) for pair in range((d_model + 1) // 2)]
        series = {"wavelength": waves}
        curve = chart(figures.lines, series, across="pair of sine and cosine", up="positions", log=True, height=360,
                      title="Wavelength, on a logarithmic scale", source=table.source,
                      rules={f"the {count} positions shown": count}, dark=dark)
        st.vega_lite_chart(enlarged(PAGE, curve), key=f"{PAGE}_wavelengths", **chart_size(PAGE),
                           alt=figures.describe_lines(series, across="pair of sine and cosine", up="wavelength"))
        st.caption(f"From 2π = {waves[0]:.2f} positions to {waves[-1]:,.0f}. Waves above the dashed line are longer "
                   f"than the range shown.")
    show_similarities(table, dark=dark)
    st.caption("The product of two positions is a sum of cosines of their distance. So it is constant along a "
               "diagonal and largest at distance 0.")


def show_rotary(sets: DeltaGenerator, *, dark: bool) -> None:
    """The angles that queries and keys are turned by, and what is left of them in a product. sets: as above."""
    with opened_settings(sets, count="{:,} positions", width="head of {}", base="base {:,}"):
        (first, second), (third, fourth) = st.columns(2), st.columns(2)
        same = st.toggle("q = k", key=f"{PAGE}_same", help="The key equals the query: the product is largest at "
                                                           "distance 0 and decays with distance.")
    count = first.number_input("Positions", 2, MOST, step=1, key=f"{PAGE}_count")
    width = second.number_input("Width of a head", 2, 256, step=2, key=f"{PAGE}_width",
                                help="Rotary positions rotate pairs of features, so the width is even.")
    base = third.selectbox("Base", BASES, key=f"{PAGE}_base", format_func="{:,}".format)
    seed = fourth.number_input("Seed of q and k", 0, 999_999, step=1, key=f"{PAGE}_seed",
                               help="Query and key are random, drawn from the seed.")
    if width % 2:
        st.error(f"A head of {width} features has one feature without a partner; choose an even width.")
        return
    angles, products = rotary_angles(torch.arange(count), width, base=base), rotary_products(count, width, base=base,
                                                                                             seed=seed, same=same)
    source = f"formula · {count} positions, head of {width}, base {base:,}"
    source_of = f"{source} · seed {seed}{' · q = k' if same else ''}"
    left, right = columns(PAGE, 2, gap="large")
    with left:
        show_matrix(angles, "angles", across="pair of features", down="position", value="angle in radians", angle=True,
               title="Rotation of each pair", source=source, dark=dark)
        st.caption(f"Feature i and feature i + {width // 2} of every query and key form a point in the plane, rotated "
                   f"by position × rate; each pair has its own rate (Su et al. 2021, section 3.2.2). Nothing is added "
                   f"to the embeddings. Colours follow the angle; hover for its value.")
    with right:
        show_matrix(products, "products", across="key's position", down="query's position", value="q·k / √d",
               title="One query and one key, at all pairs of positions", source=source_of, dark=dark)
        st.caption(f"{'The same vector as q and as k' if same else 'The same q and the same k'}, rotated to every "
                   f"position. Along each diagonal the product is constant "
                   f"(largest difference {along_diagonals(products):.1e}, which is rounding; overall it ranges from "
                   f"{products.min():.2f} to {products.max():.2f}): attention sees the distance between two tokens, "
                   f"not their positions.")
    offsets = np.arange(-(count - 1), count)
    by_distance = {"q·k / √d": [float(products.diagonal(int(offset))[0]) for offset in offsets]}
    across = "distance: the key's position minus the query's"
    curve = chart(figures.lines, by_distance, across=across, up="q·k / √d", first=float(offsets[0]),
                  title="The same by distance", source=source_of, dark=dark)
    st.vega_lite_chart(enlarged(PAGE, curve), key=f"{PAGE}_distance", **chart_size(PAGE),
                       alt=figures.describe_lines(by_distance, across=across, up="q·k / √d"))

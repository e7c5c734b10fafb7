"""The curves of a positional encoding, on the page of positions and beside the attention of every step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from ui import figures
from ui.page.presentation import chart_size, enlarged
from ui.state.caches import chart


def show_positions(encoding: np.ndarray, dims: Sequence[int], *, key: str, column: str = "dim",
                   tokens: Sequence[str] | None = None, page: str | None = None, **options: Any) -> None:
    """Dimensions of an encoding (positions, d_model); the options are those of `figures.position_curves`.
    page: on which it is enlarged while presenting."""
    places = len(encoding)
    curves = chart(figures.position_curves, dims, column=column, tokens=tokens is not None,
                   dotted=places <= figures.DOTTED, upright=tokens is not None and places > figures.FLAT, **options)
    curves = figures.with_positions(curves, encoding, dims, column=column, tokens=tokens)
    st.vega_lite_chart(enlarged(page, curves) if page else curves, key=key, **(chart_size(page) if page else {}),
                       alt=figures.describe_positions(encoding, dims))

"""The tensors of a checkpoint in numbers, as a histogram and as a picture; and the circuits of its heads."""

import numpy as np
import streamlit as st

from transformer.analysis.tensors import StoredTensor, histogram, stored_tensors
from transformer.checkpoints.checkpoint import Checkpoint
from ui import figures
from ui.choices.head import head_controls, head_in_range, origin
from ui.page.link import Field, quiet, switch
from ui.page.presentation import chart_size, columns, enlarged, settings
from ui.state.caches import chart, circuits, summaries
from ui.state.page_state import Kept, PageState

MOST_CELLS = 128  # along each side of the picture; in a larger one, a cell stands for several
MOST_LINES = 16   # heads in one picture of singular values


class WeightsState(PageState):
    """What is kept of this view."""

    tensor: Field[str | None] = Field(None, lambda value: value[:200], lambda value: value or None)
    picture = quiet(switch(False))
    tensor_row: Kept[list[int]] = Kept([])  # of the table, the one that was clicked last


def show_weights(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    """The table, the chosen tensor, and the circuits of the heads."""
    kept = stored_tensors(ckpt.description)
    result = summaries(ckpt)
    st.caption(f"Everything training has learned: {len(kept)} tensors, {sum(tensor.count for tensor in kept):,} "
               f"numbers.")
    with settings(page, "table"):
        chosen = _table(page, kept, result)
    _show_tensor(page, ckpt, chosen, dark=dark)
    st.header("Matrices of a head", anchor=False)
    _show_circuits(page, ckpt, dark=dark)


def _table(page: str, kept: list[StoredTensor], result: dict) -> StoredTensor:
    """Draws the table of all tensors and returns the chosen one."""
    state, names = WeightsState(page), [tensor.name for tensor in kept]
    if state.tensor not in names:
        state.tensor = max(kept, key=lambda tensor: len(tensor.shape) == 2).name
    table = {"tensor": names, "shape": [" × ".join(map(str, tensor.shape)) for tensor in kept],
               "stored as": [tensor.dtype for tensor in kept], "elements": [tensor.count for tensor in kept]}
    for name in ("mean", "spread", "norm", "least", "most"):
        table[name] = [getattr(result[tensor.name], name) for tensor in kept]
    table["also used as"] = [", ".join(tensor.shared) for tensor in kept]
    event = st.dataframe(table, hide_index=True, height=300, key=f"{page}_tensors", on_select="rerun",
                         selection_mode="single-row", width="stretch",
                         column_config={"elements": st.column_config.NumberColumn(format="localized"), **{
                             name: st.column_config.NumberColumn(format="%.4g")
                             for name in ("mean", "spread", "norm", "least", "most")}})
    rows = event["selection"]["rows"]
    if rows and rows != state.tensor_row:
        state.tensor = names[rows[0]]
    state.tensor_row = rows
    st.caption("Spread: standard deviation of the elements. Norm: Frobenius norm. Click a heading to sort, a row to "
               "look inside. Computed in float32.")
    chosen = st.selectbox("Tensor", names, key=WeightsState.tensor.key(page))
    return kept[names.index(chosen)]


def _show_tensor(page: str, ckpt: Checkpoint, tensor: StoredTensor, *, dark: bool) -> None:
    values = ckpt.model.state_dict()[tensor.name]
    left, right = columns(page, 2, gap="large")
    with left:
        counts, edges = histogram(values)
        figure = chart(figures.tensor_histogram, counts.tolist(), edges.tolist(), title=tensor.name,
                       source=origin(ckpt), dark=dark)
        st.vega_lite_chart(enlarged(page, figure), key=f"{page}_histogram", **chart_size(page),
                           alt=figures.describe_histogram(counts.tolist(), edges.tolist()))
        if near := float((values.abs() < 1e-6).float().mean()):
            st.caption(f"{near:.1%} of the elements are within a millionth of 0.")
    with right:
        with settings(page, "picture"):
            wanted = st.toggle("Show as a picture", key=WeightsState.picture.key(page),
                               help="The matrix in colour, from negative to positive")
        if not wanted:
            return
        _show_picture(page, ckpt, tensor.name, np.atleast_2d(values.numpy()), dark=dark)


def _show_picture(page: str, ckpt: Checkpoint, name: str, values: np.ndarray, *, dark: bool) -> None:
    with settings(page, "range"):
        rows, across = _range(page, "Rows", values.shape[0]), _range(page, "Columns", values.shape[1])
    part = values[slice(*rows), slice(*across)]
    pooled, block = figures.strongest(part, most=MOST_CELLS)
    figure = figures.number_heatmap(pooled, across="column", down="row", value="weight", title=name,
                                    source=origin(ckpt), height=420, dark=dark, first=(rows[0], across[0]),
                                    step=block)
    st.plotly_chart(enlarged(page, figure), key=f"{page}_matrix", config=figures.PLOTLY_CONFIG, **chart_size(page),
                    alt=figures.describe_numbers(pooled, across="column", down="row", value="weight"))
    st.caption("Each cell is one element." if block == (1, 1) else
               f"Each cell stands for {block[0]:d} × {block[1]:d} elements and shows the largest in magnitude. "
               f"Narrow rows and columns to {MOST_CELLS} or fewer to see each.")


def _range(page: str, label: str, size: int) -> tuple[int, int]:
    """Draws the slider for a range along one side, if it is long enough, and returns the range."""
    if size < 2:
        return 0, size
    low, high = st.slider(label, 0, size - 1, (0, size - 1), key=f"{page}_{label.lower()}_{size}")
    return low, high + 1


def _show_circuits(page: str, ckpt: Checkpoint, *, dark: bool) -> None:
    kind, layer, head = head_in_range(page, ckpt.config)
    with settings(page, "head"):
        head_controls(page, ckpt.config)
    result = circuits(ckpt, kind)
    heads = sorted({head, *range(min(ckpt.config.n_heads, MOST_LINES))})
    for place, name, title, values in zip(columns(page, 2, gap="large"), ("qk", "ov"), (
            "W_q W_kᵀ: what the scores compare", "W_v W_o: what the head moves"),
            (result.query_key, result.value_output), strict=True):
        series = {f"head {at}": values[layer, at] for at in heads if at != head}
        with place:
            figure = chart(figures.spectrum, values[layer, head], others=series, name=f"head {head}",
                           title=title, source=f"{kind}, layer {layer} · {origin(ckpt)}", dark=dark)
            alt = figures.describe_lines({f"head {head}": values[layer, head]}, across="number", up="singular value")
            st.vega_lite_chart(enlarged(page, figure), key=f"{page}_{name}", **chart_size(page), alt=alt)
            st.html(figures.plain_table(
                ["head", "largest", "norm", "effective rank"],
                [[("● " if at == head else "") + str(at), f"{row[0]:.3f}", f"{np.sqrt((row ** 2).sum()):.3f}",
                  f"{effective_rank(row):.1f} of {len(row)}"] for at, row in enumerate(values[layer])],
                label=title, numbers={1, 2, 3}))
    st.caption("Each product is a d_model × d_model matrix of rank at most d_head (Elhage et al. 2021, QK and OV "
               "circuits): the left one determines which pairs score high, the right one what a head writes. A steep "
               "fall means few directions matter. Biases, the scale 1/√d_head, norms and rotations are left out, so "
               "sizes are not comparable between models. Effective rank: the exponential of the entropy of the "
               "normalised singular values (Roy and Vetterli 2007).")


def effective_rank(values: np.ndarray) -> float:
    """The effective rank: from 1, with one singular value, to their number, if all are equal; 0 if all are 0."""
    total = float(values.sum())
    if not total:
        return 0.0
    shares = values.astype(np.float64) / total
    return float(np.exp(-(shares * np.log(np.where(shares > 0, shares, 1))).sum()))

"""Figures: arrays and labels in, a chart (plotly, altair) or HTML out. All text that comes in is plain text; escaping
happens here.

Each figure has a sentence for `alt=` beside it, `describe_...`, and the plotly ones are shown with `PLOTLY_CONFIG`.
"""
from ui.figures.amounts import amount_bars, describe_amounts, share_bar
from ui.figures.attention import MOST as MOST_IN_GRID
from ui.figures.attention import attention_heatmap, describe_attention, describe_mask, mask_matrix, weight_grid
from ui.figures.beam import beam_figure, describe_beam, hypotheses_table, picked_node
from ui.figures.chart import HOW_TO_ZOOM
from ui.figures.curves import describe_lines, describe_widths, lines, spectrum, width_curves
from ui.figures.depth_table import DepthCell, DepthColumn, Following, depth_candidates, depth_table, describe_depths
from ui.figures.difference import describe_difference, difference_heatmap, difference_tiles, measures_table, paired
from ui.figures.flow import Dot, Thread, describe_flow, flow_picture
from ui.figures.frame import PLOTLY_CONFIG, TEXT, enlarged, picked_number, shortened
from ui.figures.head_maps import (
    amount_card,
    change_card,
    describe_head_maps,
    head_maps,
    heads_table,
    role_card,
    switch_card,
)
from ui.figures.histograms import describe_histogram, describe_lengths, length_histogram, tensor_histogram
from ui.figures.html_table import Caption
from ui.figures.labels import (
    axis_label,
    exact_label,
    head_label,
    markdown_text,
    part_of_one,
    plain_label,
    spoken_label,
    words_label,
)
from ui.figures.loss import describe_loss, guessing_label, loss_curve, with_losses
from ui.figures.masks import describe_mask_grid, mask_grid
from ui.figures.matrix import (
    head_blocks,
    matrix_style,
    number_matrix,
    place_said,
    side_by_side,
    spelled_cell,
    spelled_sum,
)
from ui.figures.model_table import parts_table, products_table
from ui.figures.numbers import describe_numbers, describe_token_matrix, number_heatmap, strongest, token_matrix
from ui.figures.pattern import pattern
from ui.figures.positions import DOTTED, FLAT, describe_positions, position_curves, with_positions
from ui.figures.probabilities import (
    candidate_rows,
    contribution_chips,
    describe_classes,
    describe_probability_change,
    probability_change,
    some_percent,
    won_chips,
)
from ui.figures.space_map import PICKED, PRESENTED_ROOM, ROOM, Points, describe_space_map, space_map
from ui.figures.sweep import Panel, describe_sweep, sweep_curves, sweep_results
from ui.figures.tables import (
    attention_table,
    bar_table,
    batch_table,
    named_matrix,
    number_table,
    plain_table,
    signed_number,
)
from ui.figures.token_rows import sample_card, token_chips

__all__ = ["DOTTED", "FLAT", "HOW_TO_ZOOM", "MOST_IN_GRID", "PICKED", "PLOTLY_CONFIG", "PRESENTED_ROOM", "ROOM",
           "TEXT", "Caption", "DepthCell", "DepthColumn", "Dot", "Following", "Panel", "Points", "Thread",
           "amount_bars", "amount_card", "attention_heatmap", "attention_table", "axis_label", "bar_table",
           "batch_table", "beam_figure", "candidate_rows", "change_card", "contribution_chips", "depth_candidates",
           "depth_table", "describe_amounts", "describe_attention", "describe_beam", "describe_classes",
           "describe_depths", "describe_difference", "describe_flow", "describe_head_maps", "describe_histogram",
           "describe_lengths", "describe_lines", "describe_loss", "describe_mask", "describe_mask_grid",
           "describe_numbers", "describe_positions", "describe_probability_change", "describe_space_map",
           "describe_sweep", "describe_token_matrix", "describe_widths", "difference_heatmap", "difference_tiles",
           "enlarged", "exact_label", "flow_picture", "guessing_label", "head_blocks", "head_label", "head_maps",
           "heads_table", "hypotheses_table", "length_histogram", "lines", "loss_curve", "markdown_text", "mask_grid",
           "mask_matrix", "matrix_style", "measures_table", "named_matrix", "number_heatmap", "number_matrix",
           "number_table", "paired", "part_of_one", "parts_table", "pattern", "picked_node",
           "picked_number", "place_said", "plain_label", "plain_table", "position_curves", "probability_change",
           "products_table", "role_card", "sample_card", "share_bar", "shortened", "side_by_side", "signed_number",
           "some_percent", "space_map", "spectrum", "spelled_cell", "spelled_sum", "spoken_label", "strongest",
           "sweep_curves", "sweep_results", "switch_card", "tensor_histogram", "token_chips", "token_matrix",
           "weight_grid", "width_curves", "with_losses", "with_positions", "won_chips", "words_label"]

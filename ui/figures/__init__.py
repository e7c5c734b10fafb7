"""Figures: arrays and labels in, a chart out. All text that comes in is plain text; escaping happens here.

Each figure has a sentence for `alt=` beside it, `describe_...`, and the plotly ones are shown with `PLOTLY_CONFIG`.
"""
from ui.figures.amounts import amount_bars, describe_amounts, share_bar
from ui.figures.attention import attention_heatmap, describe_attention, describe_mask, mask_matrix
from ui.figures.bar_table import bar_table, signed_number
from ui.figures.beam import beam_figure, describe_beam, hypotheses_table, picked_node
from ui.figures.blocks import head_blocks
from ui.figures.candidate_rows import candidate_rows, percent, some_percent
from ui.figures.chart import HOW_TO_ZOOM
from ui.figures.chips import token_chips
from ui.figures.classes import contribution_chips, describe_classes, won_chips
from ui.figures.depth_table import depth_candidates, depth_table, describe_depths
from ui.figures.diagram import describe_diagram, model_diagram
from ui.figures.difference import describe_difference, difference_heatmap, measures_table, paired
from ui.figures.difference_tiles import difference_tiles
from ui.figures.enlarged import enlarged
from ui.figures.frame import PLOTLY_CONFIG, TEXT
from ui.figures.head_maps import amount_card, change_card, describe_head_maps, head_maps, heads_table, role_card
from ui.figures.labels import (
    axis_label,
    head_label,
    markdown_text,
    part_of_one,
    plain_label,
    spoken_label,
    words_label,
)
from ui.figures.lengths import describe_lengths, length_histogram
from ui.figures.lines import describe_lines, lines
from ui.figures.loss import describe_loss, guessing_label, loss_curve, with_losses
from ui.figures.mask_grid import describe_mask_grid, mask_grid
from ui.figures.matrix import matrix_style, number_matrix, side_by_side
from ui.figures.named_matrix import named_matrix
from ui.figures.number_heatmap import describe_numbers, number_heatmap, strongest
from ui.figures.number_table import batch_table, number_table
from ui.figures.plain_table import plain_table
from ui.figures.positions import DOTTED, FLAT, describe_positions, position_curves, with_positions
from ui.figures.probability_change import describe_probability_change, probability_change
from ui.figures.sample import sample_card
from ui.figures.spectrum import spectrum
from ui.figures.spelled import spelled_cell, spelled_sum
from ui.figures.table import attention_table
from ui.figures.tensor_histogram import describe_histogram, tensor_histogram
from ui.figures.token_matrix import describe_token_matrix, token_matrix
from ui.figures.weight_grid import MOST as MOST_IN_GRID
from ui.figures.weight_grid import weight_grid
from ui.figures.widths import describe_widths, width_curves

__all__ = ["DOTTED", "FLAT", "HOW_TO_ZOOM", "MOST_IN_GRID", "PLOTLY_CONFIG", "TEXT", "amount_bars", "amount_card",
           "attention_heatmap", "attention_table", "axis_label", "bar_table", "batch_table", "beam_figure",
           "candidate_rows", "change_card", "contribution_chips", "depth_candidates", "depth_table",
           "describe_amounts", "describe_attention", "describe_beam", "describe_classes", "describe_depths",
           "describe_diagram", "describe_difference", "describe_head_maps", "describe_histogram", "describe_lengths",
           "describe_lines", "describe_loss", "describe_mask", "describe_mask_grid", "describe_numbers",
           "describe_positions", "describe_probability_change", "describe_token_matrix", "describe_widths",
           "difference_heatmap", "difference_tiles", "enlarged", "guessing_label",
           "head_blocks", "head_label", "head_maps",
           "heads_table", "hypotheses_table", "length_histogram", "lines", "loss_curve", "markdown_text", "mask_grid",
           "mask_matrix", "matrix_style", "measures_table", "model_diagram", "named_matrix", "number_heatmap",
           "number_matrix", "number_table", "paired", "part_of_one", "percent", "picked_node", "plain_label",
           "plain_table", "position_curves", "probability_change", "role_card", "sample_card", "share_bar",
           "side_by_side", "signed_number", "some_percent", "spectrum", "spelled_cell", "spelled_sum",
           "spoken_label", "strongest",
           "tensor_histogram", "token_chips", "token_matrix", "weight_grid", "width_curves", "with_losses",
           "with_positions", "won_chips", "words_label"]

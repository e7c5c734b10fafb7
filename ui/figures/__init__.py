"""Figures: arrays and labels in, a chart out. All text that comes in is plain text; escaping happens here.

Each figure has a sentence for `alt=` beside it, `describe_...`, and the plotly ones are shown with `PLOTLY_CONFIG`.
"""
from ui.figures.attention import attention_heatmap, describe_attention, describe_mask, mask_matrix
from ui.figures.candidates import candidate_bars, describe_candidates, picked_candidate
from ui.figures.chips import token_chips
from ui.figures.frame import PLOTLY_CONFIG
from ui.figures.grid import describe_grid, head_grid, picked_head
from ui.figures.labels import axis_label, head_label, plain_label
from ui.figures.lines import describe_lines, lines
from ui.figures.mask_grid import describe_mask_grid, mask_grid
from ui.figures.number_heatmap import describe_numbers, number_heatmap
from ui.figures.number_table import batch_table, number_table
from ui.figures.positions import describe_positions, position_curves
from ui.figures.table import attention_table

__all__ = ["PLOTLY_CONFIG", "attention_heatmap", "attention_table", "axis_label", "batch_table", "candidate_bars",
           "describe_attention", "describe_candidates", "describe_grid", "describe_lines", "describe_mask",
           "describe_mask_grid", "describe_numbers", "describe_positions", "head_grid", "head_label", "lines",
           "mask_grid", "mask_matrix", "number_heatmap", "number_table", "picked_candidate", "picked_head",
           "plain_label", "position_curves", "token_chips"]

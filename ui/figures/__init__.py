"""Figures: arrays and labels in, a chart out. All text that comes in is plain text; escaping happens here.

Each figure has a sentence for `alt=` beside it, `describe_...`, and the plotly ones are shown with `PLOTLY_CONFIG`.
"""
from ui.figures.attention import attention_heatmap, describe_attention, describe_mask, mask_matrix
from ui.figures.candidates import candidate_bars, describe_candidates, picked_candidate
from ui.figures.chips import token_chips
from ui.figures.diagram import describe_diagram, model_diagram
from ui.figures.frame import PLOTLY_CONFIG, TEXT
from ui.figures.grid import describe_grid, head_grid, picked_head
from ui.figures.labels import axis_label, head_label, plain_label
from ui.figures.positions import describe_positions, position_curves
from ui.figures.table import attention_table

__all__ = ["PLOTLY_CONFIG", "TEXT", "attention_heatmap", "attention_table", "axis_label", "candidate_bars",
           "describe_attention", "describe_candidates", "describe_diagram", "describe_grid", "describe_mask",
           "describe_positions", "head_grid", "head_label", "mask_matrix", "model_diagram", "picked_candidate",
           "picked_head", "plain_label", "position_curves", "token_chips"]

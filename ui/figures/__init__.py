"""Figures: arrays and labels in, a chart out. All text that comes in is plain text; escaping happens here.

Each figure has a sentence for `alt=` beside it, `describe_...`, and the plotly ones are shown with `PLOTLY_CONFIG`.
"""
from ui.figures.attention import attention_heatmap, describe_attention, describe_mask, mask_matrix
from ui.figures.candidates import candidate_bars, describe_candidates, picked_candidate
from ui.figures.chips import token_chips
from ui.figures.classes import class_bars, contribution_chips, describe_classes, picked_class, won_chips
from ui.figures.frame import PLOTLY_CONFIG
from ui.figures.grid import describe_grid, head_grid, picked_head
from ui.figures.labels import axis_label, head_label, plain_label
from ui.figures.loss import describe_loss, loss_curve
from ui.figures.positions import describe_positions, position_curves
from ui.figures.table import attention_table

__all__ = ["PLOTLY_CONFIG", "attention_heatmap", "attention_table", "axis_label", "candidate_bars", "class_bars",
           "contribution_chips", "describe_attention", "describe_candidates", "describe_classes", "describe_grid",
           "describe_loss", "describe_mask", "describe_positions", "head_grid", "head_label", "loss_curve",
           "mask_matrix", "picked_candidate", "picked_class", "picked_head", "plain_label", "position_curves",
           "token_chips", "won_chips"]

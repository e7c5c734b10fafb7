"""The default of the switched-heads view is true of the shipped weights."""

from copy import deepcopy
from dataclasses import replace

import torch

from transformer.analysis.ablation import compare_paths, switch_heads
from ui.views.heads.switched_heads import DEMONSTRATIONS, seen_in

MODEL = "translate"


def test_every_sentence_shown_is_another_without_its_head_as_the_page_says(ckpt):
    assert DEMONSTRATIONS and seen_in(ckpt) == DEMONSTRATIONS
    changes = [compare_paths(ckpt, one.text, switch_heads(ckpt.config, one.head), max_steps=60)
               for one in DEMONSTRATIONS]
    said = [(change.before[-1].output, change.after[-1].output) for change in changes]
    assert all(before != after for before, after in said)
    assert said[0] == ("J'ai froid.", "Je suis froid.")
    assert "parce qu'elle était" in said[1][0] and "parce qu'il était" in said[1][1]


def test_weights_that_a_head_makes_no_difference_to_show_none(translator):
    model = deepcopy(translator.model)
    for layer in model.decoder.layers:
        torch.nn.init.zeros_(layer.cross.out_proj.weight)
    assert seen_in(replace(translator, model=model)) == []

"""The default of the switched-heads view is true of the shipped weights."""

from pathlib import Path

import pytest

import transformer
from transformer.analysis.ablation import compare_paths, switch_heads
from ui.views.heads.switched_heads import DEMONSTRATIONS, seen_in

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def translate():
    return transformer.load(ROOT / "checkpoints" / "translate")


def test_every_sentence_shown_is_another_without_its_head(translate):
    assert DEMONSTRATIONS and seen_in(translate) == DEMONSTRATIONS
    for one in DEMONSTRATIONS:
        change = compare_paths(translate, one.text, switch_heads(translate.config, one.head), max_steps=60)
        assert change.before[-1].output != change.after[-1].output, one.label


def test_each_says_what_the_page_says_it_does(translate):
    changes = [compare_paths(translate, one.text, switch_heads(translate.config, one.head), max_steps=60)
               for one in DEMONSTRATIONS]
    said = [(change.before[-1].output, change.after[-1].output) for change in changes]
    assert said[0] == ("J'ai froid.", "Je suis froid.")
    assert "aussi grand que" in said[1][0] and "aussi grande que" in said[1][1]


def test_weights_that_a_head_makes_no_difference_to_show_none(translator):
    assert seen_in(translator) == []

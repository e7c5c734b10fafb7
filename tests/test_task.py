"""A model's task follows from its architecture, and one entry has all that follows from the task."""

from math import log
from typing import get_args

import pytest

from tests.rows import each_row
from transformer.config import ModelConfig, RunConfig, Task, TrainConfig
from transformer.presets import PRESETS
from transformer.task import LEARNED, TASKS, does, unit_of

SHAPES = {
    "translation": {},
    "text": {"encoder_layers": 0},
    "classes": {"decoder_layers": 0, "pooling": "max", "n_classes": 3},
    "reads": {"decoder_layers": 0, "head": "none"},
}


@pytest.mark.parametrize("task", SHAPES)
def test_the_task_follows_from_the_stacks_and_the_head(task):
    config = ModelConfig(**SHAPES[task])
    assert config.task == task
    assert set(config.stacks) == set(TASKS[task].stacks)
    assert config.kinds == tuple(kind for kind in ("encoder", "decoder", "cross") if config.layers(kind))


@pytest.mark.parametrize(("task", "answers"), [("translation", 8_000), ("text", 8_000), ("classes", 3), ("reads", 0)])
def test_guessing_at_random_costs_the_logarithm_of_the_answers(task, answers):
    assert ModelConfig(**SHAPES[task]).guessing_loss == (log(answers) if answers else None)


def test_an_encoder_that_fills_in_pieces_guesses_among_its_vocabulary():
    assert ModelConfig(decoder_layers=0, head="masked", vocab_size=30).guessing_loss == log(30)


def test_a_kind_that_a_model_has_not_has_no_layers():
    decoder = ModelConfig(encoder_layers=0, decoder_layers=3)
    assert [decoder.layers(kind) for kind in ("encoder", "decoder", "cross")] == [0, 3, 0]
    both = ModelConfig(encoder_layers=2, decoder_layers=3)
    assert [both.layers(kind) for kind in ("encoder", "decoder", "cross")] == [2, 3, 3]


def test_every_task_is_known_and_every_trained_one_has_a_preset_that_learns_it():
    assert set(TASKS) == set(get_args(Task))
    assert set(LEARNED) == set(get_args(TrainConfig.model_fields["task"].annotation))
    for training, task in LEARNED.items():
        assert PRESETS[task.preset].train.task == training


@each_row("name", PRESETS)
def test_a_preset_has_the_shape_that_its_training_needs(name):
    config: RunConfig = PRESETS[name]
    assert TASKS[config.model.task].training == config.train.task


def test_what_a_model_does_in_a_word():
    assert [does(ModelConfig(**shape)) for shape in SHAPES.values()] == [
        "translates", "writes", "classifies", "reads"]
    assert does(ModelConfig(decoder_layers=0, head="masked")) == "fills in masked pieces"
    assert (unit_of("classification"), unit_of("translation"), unit_of(None)) == ("text", "token", "token")

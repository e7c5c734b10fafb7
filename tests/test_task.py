"""A model's task follows from its architecture, and one entry has all that follows from the task."""

from math import log
from typing import get_args

from tests.rows import each_row
from transformer.settings.config import ModelConfig, Task, TrainConfig
from transformer.settings.presets import PRESETS
from transformer.settings.task import LEARNED, TASKS, does, unit_of

SHAPES = {
    "translation": {},
    "text": {"encoder_layers": 0},
    "classes": {"decoder_layers": 0, "pooling": "max", "n_classes": 3},
    "reads": {"decoder_layers": 0, "head": "none"},
}


@each_row(("task", "answers"), [("translation", 8_000), ("text", 8_000), ("classes", 3), ("reads", 0)])
def test_the_task_follows_from_the_stacks_and_the_head_and_guessing_costs_the_logarithm_of_the_answers(task, answers):
    config = ModelConfig(**SHAPES[task])
    assert config.guessing_loss == (log(answers) if answers else None)
    assert config.task == task
    assert set(config.stacks) == set(TASKS[task].stacks)
    assert config.kinds == tuple(kind for kind in ("encoder", "decoder", "cross") if config.layers(kind))


def test_a_kind_that_a_model_has_not_has_no_layers():
    for encoder, kinds in ((0, [0, 3, 0]), (2, [2, 3, 3])):
        config = ModelConfig(encoder_layers=encoder, decoder_layers=3)
        assert [config.layers(kind) for kind in ("encoder", "decoder", "cross")] == kinds


def test_every_task_is_known_and_every_trained_one_has_a_preset_that_learns_it():
    assert set(TASKS) == set(get_args(Task))
    assert set(LEARNED) == set(get_args(TrainConfig.model_fields["task"].annotation))
    for training, task in LEARNED.items():
        assert PRESETS[task.preset].train.task == training
    for name, config in PRESETS.items():
        assert TASKS[config.model.task].training == config.train.task, name


def test_what_a_model_does_in_a_word():
    assert [does(ModelConfig(**shape)) for shape in SHAPES.values()] == [
        "translates", "writes", "classifies", "reads"]
    masked = ModelConfig(decoder_layers=0, head="masked", vocab_size=30)
    assert does(masked) == "fills in masked pieces" and masked.guessing_loss == log(30)
    assert (unit_of("classification"), unit_of("translation"), unit_of(None)) == ("text", "token", "token")

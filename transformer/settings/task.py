"""Tasks of models, and all that follows from each: one entry a task."""

from dataclasses import dataclass

from transformer.settings.config import ModelConfig


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task of `ModelConfig.task`, with its words."""

    training: str | None  # what `TrainConfig.task` calls learning it; None for what is only imported
    stacks: tuple[str, ...]  # that a model for it has
    title: str  # of a choice among tasks
    does: str  # what a model for it does, in a list
    model: str  # what such a model is, without a full stop
    preset: str | None = None  # what a new run begins with
    unit: str = "token"  # what losses and speeds count


TASKS = {
    "translation": Task(training="translation", stacks=("encoder", "decoder"), title="Translate", does="translates",
                        model="An encoder-decoder transformer that translates", preset="translate"),
    "text": Task(training="language-model", stacks=("decoder",), title="Write", does="writes",
                 model="A decoder-only transformer that continues a text", preset="shakespeare"),
    "classes": Task(training="classification", stacks=("encoder",), title="Classify", does="classifies",
                    model="An encoder that predicts which of a few classes a text belongs to",
                    preset="pooled-classifier", unit="text"),
    "reads": Task(training=None, stacks=("encoder",), title="Read", does="reads", model="An encoder that reads text"),
}
LEARNED = {task.training: task for task in TASKS.values() if task.training}  # by `TrainConfig.task`


def unit_of(training: str | None) -> str:
    """The unit of losses and speeds in a training; a token if the task is unknown."""
    return LEARNED[training].unit if training in LEARNED else "token"


def does(config: ModelConfig) -> str:
    """What a model does, in a word or two."""
    return "fills in masked pieces" if config.head == "masked" else TASKS[config.task].does

"""Arguments and options that several commands have."""

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer.inference.sampling_settings import SETTINGS

if TYPE_CHECKING:
    from transformer.checkpoints.checkpoint import Checkpoint
    from transformer.model.changes import Change as ChangeValue

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON line, last.")]
Change = Annotated[list[str] | None, typer.Option(
    help='What is changed inside the model, as JSON; repeatable. {"how": "scale", "site": "cross.0.z", "heads": [1], '
         '"factor": 0} switches a head off.')]
Corpus = Annotated[str | None, typer.Option(help="A corpus or file; by default the one it was trained on.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps")]
Folder = Annotated[Path, typer.Argument(help="A checkpoint folder, or a name from `headsup list`.")]
Preset = Annotated[str, typer.Option(help="A named configuration; see transformer/settings/presets.py.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="Any setting as key=value; repeatable.")]


def opened(folder: Path, device: str) -> "Checkpoint":
    """The checkpoint that a command is given, on the device it names. Raises ValueError where one is not there."""
    from transformer.checkpoints.checkpoint import load
    from transformer.training.trainer import choose_device

    return load(folder, device=choose_device(device))


def changes(given: list[str] | None) -> "list[ChangeValue]":
    """The changes of `--change`, each option one or a list of some. Raises ValueError for what is no JSON of them."""
    from transformer.inference.changed import parsed

    return [one for text in given or () for one in parsed(text)]


def with_sampling(**defaults: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command that takes `**sampling` an option for each setting of sampling. defaults: where they differ from
    those of `Sampling`."""
    def add(command: Callable[..., None]) -> Callable[..., None]:
        parameters = dict(signature(command).parameters)
        del parameters["sampling"]
        for setting in SETTINGS:
            type_ = setting.type if setting.required else setting.type | None
            default = defaults.get(setting.name, setting.off if setting.required else None)
            option = Annotated[type_, typer.Option(help=setting.help)]
            command.__annotations__[setting.name] = option
            parameters[setting.name] = Parameter(
                setting.name, Parameter.KEYWORD_ONLY, default=default, annotation=option)
        command.__signature__ = signature(command).replace(parameters=list(parameters.values()))
        return command

    return add

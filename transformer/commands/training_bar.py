"""The bar of a training in a shell."""

from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from transformer.commands.output import console
from transformer.settings.task import LEARNED

if TYPE_CHECKING:
    from transformer.training.trainer import Trainer


def run_with_bar(trainer: "Trainer", minutes: float | None) -> str:
    """Train under a bar that says the newest numbers -> how it ended."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[numbers]}")]
    newest: dict[str, Any] = {}
    labels = f"{LEARNED[trainer.config.train.task].unit}s"
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("step", total=trainer.config.train.steps, completed=trainer.step, numbers="")

        def watch(row: dict[str, Any]) -> None:
            newest.update(row)
            named = (("loss", "loss", ".3f"), ("held-out", "validation_loss", ".3f"),
                     ("right", "validation_accuracy", ".1%"), (f"{labels}/s", "tokens_per_sec", ",.0f"))
            numbers = " ".join(f"{name} {newest[key]:{form}}" for name, key, form in named if key in newest)
            progress.update(bar, completed=trainer.step, numbers=numbers)
            if "validation_loss" in row:
                progress.console.print(f"step {trainer.step}: {numbers}")

        return trainer.run(minutes=minutes, watch=watch)

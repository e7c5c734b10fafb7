"""The command line: `headsup COMMAND`, or `python -m transformer COMMAND`."""

import sys
from typing import Annotated

import typer

from transformer.basics.paths import version
from transformer.basics.resource_errors import said
from transformer.commands import checkpoints, measure, runs, serve, train, use
from transformer.commands.output import console

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
ANY = {"allow_extra_args": True, "ignore_unknown_options": True}  # a script of ui/ reads them
for command in (serve.app, serve.serve, serve.rehearse):
    app.command(add_help_option=False, context_settings=ANY)(command)
for command in (train.train, train.check, runs.follow, runs.stop, measure.evaluate, measure.roles, measure.contexts,
                measure.ablate, measure.lens, measure.known, use.translate, use.write, use.sites, use.diagram,
                checkpoints.export, checkpoints.publish):
    app.command()(command)
app.command("import")(checkpoints.import_)
app.command("list")(checkpoints.list_)


def print_version(asked: bool) -> None:
    """Prints the version and ends, if asked to."""
    if asked:
        print(version())
        raise typer.Exit


@app.callback()
def about(version: Annotated[bool, typer.Option("--version", is_eager=True, callback=print_version,
                                                help="Print the version and exit.")] = False) -> None:
    """Train, measure and use the models of Heads Up, or serve its pages."""


def main() -> int:
    """Run a command; what a user can mend is one sentence, not a traceback."""
    try:
        with said():
            app()
        return 0
    except ValueError as error:
        why = str(error)
    except OSError as error:
        if error.filename is None:  # nothing that a user has named
            raise
        why = f"{error.filename}: {error.strerror}"
    console.print("error", style="bold red", end="")
    console.print(f": {why}", markup=False, highlight=False, soft_wrap=True)  # a log has all of it on one line
    return 2


if __name__ == "__main__":
    sys.exit(main())

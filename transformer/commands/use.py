"""Translations and texts, and the sites at which they can be changed."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from transformer.commands.options import AsJson, Change, Device, Folder, changes, opened, with_sampling
from transformer.commands.output import report, table


def translate(
    folder: Folder,
    texts: Annotated[list[str] | None, typer.Argument(help="Sentences; by default lines of standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file of sentences, one per line.")] = None,
    beam: Annotated[int, typer.Option(help="Beam width; 1 is greedy.")] = 1,
    change: Change = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Translate sentences, one a line."""
    from transformer.inference.beam_search import translate as run

    ckpt = opened(folder, device)
    translations = run(ckpt, _sentences(texts or [], file), beam=beam, change=changes(change))
    if as_json:
        report({"translations": translations}, True)
    else:
        print("\n".join(translations))


def _sentences(texts: list[str], file: Path | None) -> list[str]:
    """What to translate: sentences typed, the lines of a file, or those of standard input."""
    if file is None:
        for text in texts:
            if len(text) < 256 and Path(text).is_file():
                raise ValueError(f"{text} is a file, and arguments are sentences; --file {text} translates its lines")
        return texts or sys.stdin.read().splitlines()
    if texts:
        raise ValueError("sentences and --file were both given; choose one")
    try:
        return file.read_text("utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text: byte {error.start:,} is wrong; save it as UTF-8") from None


@with_sampling(temperature=0.8)
def write(
    folder: Folder,
    prompt: Annotated[str, typer.Argument(help="The beginning of the text.")] = "",
    steps: Annotated[int, typer.Option(help="Most tokens to write.")] = 200,
    change: Change = None,
    device: Device = "auto",
    as_json: AsJson = False,
    **sampling: float | None,
) -> None:
    """Go on with a text, token by token."""
    from transformer.inference.decoding import Sampling
    from transformer.inference.decoding import steps as run

    ckpt = opened(folder, device)
    path = list(run(ckpt, prompt, max_steps=steps, sampling=Sampling.of(sampling), change=changes(change)))
    text = path[-1].whole if path else prompt
    if as_json:
        report({"text": text, "steps": len(path)}, True)
    else:
        print(text)


def sites(folder: Folder, as_json: AsJson = False) -> None:
    """List the sites of a model, which `run` reads and changes: name, shape, formula, and the line that computes it."""
    from transformer.checkpoint import describe
    from transformer.model.sites import SITES, classic_name, lines, places

    config = describe(folder).config
    rows = [{"site": place.name, "axes": ", ".join(place.axes), "formula": SITES[place.site].formula,
             "line": lines()[place.site], "TransformerLens": classic_name(place, config) or ""}
            for place in places(config).values()]
    if as_json:
        report({"rows": rows}, True)
    else:
        print("\n".join(table(rows)))

"""Translations and texts, the sites at which they can be changed, and a drawing of what a model is made of."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer.commands.options import AsJson, Change, Device, Folder, changes, opened, with_sampling
from transformer.commands.output import report, table
from transformer.inference.sampling_settings import given
from transformer.text.lines import lines_of

if TYPE_CHECKING:
    from transformer.settings.config import ModelConfig


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
        for text in translations:
            print(" ".join(lines_of(text)))  # a line for each, whatever it holds


def _sentences(texts: list[str], file: Path | None) -> list[str]:
    """What to translate: sentences typed, the lines of a file, or those of standard input."""
    if file is None:
        for text in texts:
            if len(text) < 256 and Path(text).is_file():
                raise ValueError(f"{text} is a file, and arguments are sentences; --file {text} translates its lines")
        return texts or lines_of(sys.stdin.read())
    if texts:
        raise ValueError("sentences and --file were both given; choose one")
    try:
        return lines_of(file.read_text("utf-8"))
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

    chosen = Sampling(**given(sampling))
    path = list(run(opened(folder, device), prompt, max_steps=steps, sampling=chosen, change=changes(change)))
    for one, why in path[-1].missed if path else ():
        print(f"note: {one} changed nothing: {why}", file=sys.stderr)
    text = path[-1].whole if path else prompt
    if as_json:
        report({"text": text, "steps": len(path)}, True)
    else:
        print(text)


def sites(folder: Folder, as_json: AsJson = False) -> None:
    """List the sites of a model, which `run` reads and changes: name, shape, formula, and the line that computes it."""
    from transformer.checkpoints.checkpoint import describe
    from transformer.model.sites import SITES, classic_name, lines, places

    config = describe(folder).config
    rows = [{"site": place.name, "axes": ", ".join(place.axes), "formula": SITES[place.site].formula,
             "line": lines()[place.site], "TransformerLens": classic_name(place, config) or ""}
            for place in places(config).values()]
    if as_json:
        report({"rows": rows}, True)
    else:
        print("\n".join(table(rows)))


def diagram(
    model: Annotated[str, typer.Argument(help="A checkpoint folder, a name from `headsup list`, or a preset such as "
                                              "paper-base.")],
    out: Annotated[Path | None, typer.Option(help="The SVG file to write; by default standard output.")] = None,
    apart: Annotated[int, typer.Option(help="Draw stacks of at most so many layers layer by layer; by default equal "
                                            "layers are drawn once.")] = 1,
    transparent: Annotated[bool, typer.Option("--transparent", help="Leave out the white ground.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw the architecture of a model for a paper or slides: SVG, with the shape and the share of the parameters of
    every part."""
    from transformer.diagram.drawing import architecture

    drawing = architecture(_config(model), apart=apart, transparent=transparent)
    if out is not None:
        path = drawing.save(out)
        report({"file": str(path), "bytes": path.stat().st_size, "model": drawing.description}, as_json)
    elif as_json:
        report({"svg": drawing.svg, "model": drawing.description}, True)
    else:
        print(drawing.svg, end="")


def _config(model: str) -> "ModelConfig":
    """The configuration of a checkpoint, or else of the preset of that name."""
    from transformer.basics.paths import of_name
    from transformer.checkpoints.checkpoint import describe
    from transformer.settings.presets import PRESETS

    if Path(model).exists() or of_name(model) is not None or len(Path(model).parts) > 1:
        return describe(model).config
    if model in PRESETS:
        return PRESETS[model].model
    raise ValueError(f"there is no checkpoint and no preset {model!r}; `headsup list` shows the checkpoints, and the "
                     f"presets are {', '.join(PRESETS)}")

"""Checkpoints: which there are, made of runs, taken in from elsewhere, handed on."""

from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer.commands.options import AsJson
from transformer.commands.output import console, counting, report, table
from transformer.settings.config import Precision
from transformer.settings.task import does

if TYPE_CHECKING:
    from transformer.checkpoints.checkpoint import Description


def list_(
    places: Annotated[list[Path] | None, typer.Argument(help="Folders of checkpoints; by default all that the pages "
                                                             "offer.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which checkpoints there are: those that come with the app, and those kept, uploaded and imported."""
    from transformer.basics.paths import places as offered
    from transformer.checkpoints.checkpoint import CheckpointError, describe, find

    checkpoints: list[Description] = []
    for place in places or offered():
        for folder in find(place):
            try:
                checkpoints.append(describe(folder))
            except CheckpointError as error:
                console.print(f"left out: {error}", highlight=False, markup=False, soft_wrap=True)
    if as_json:
        report({"checkpoints": [{"id": about.id, "folder": str(about.folder), "kinds": about.config.kinds, **about.meta}
                                for about in checkpoints]}, True)
    elif checkpoints:
        print("\n".join(table([_row(about) for about in checkpoints])))
    else:
        console.print(f"no checkpoints in {', '.join(map(str, places or offered()))}", highlight=False, soft_wrap=True)


def _row(about: "Description") -> dict[str, object]:
    config = about.config
    layers = "+".join(map(str, config.stacks.values()))
    return {"checkpoint": about.id, "task": does(config), "layers": layers, "heads": config.n_heads,
            "d_model": config.d_model, "parameters": about.meta.get("parameters", ""),
            "step": "" if about.step is None else about.step, "quality": about.quality, "folder": str(about.folder)}


def import_(
    sources: Annotated[list[str], typer.Argument(
        metavar="SOURCE...", help="A Hugging Face folder, a GGUF file, a name such as openai-community/gpt2 or "
                                  "EleutherAI/pythia-70m@step1000, the zip of a checkpoint, or smollm2, a language "
                                  "model of 135 million parameters that is fetched (93 MB); several folders or names "
                                  "become the training steps of one checkpoint.")],
    out: Annotated[Path | None, typer.Option(
        help="The checkpoint folder; by default imports/NAME in HEADSUP_HOME.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Leave the tokenizer out and show ids.")] = False,
    precision: Annotated[Precision | None, typer.Option(
        help="Precision of the large weights; by default as stored, or float32 where quantised.")] = None,
    languages: Annotated[str | None, typer.Option(
        help="The languages that a multilingual translator reads and writes, as two of its own codes: "
             "eng_Latn,fra_Latn for NLLB, en,fr for M2M100, en_XX,fr_XX for mBART.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare with the transformers package.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a checkpoint of somebody else's model, such as a Llama, Qwen, Gemma, Pythia, T5, BART or BERT, or take one
    in that was sent as a zip."""
    from transformer.checkpoints.checkpoint import describe, snapshots
    from transformer.huggingface.gguf_header import is_gguf
    from transformer.huggingface.importing import default_out, import_model
    from transformer.huggingface.language_codes import two_codes
    from transformer.huggingface.published_models import PUBLISHED
    from transformer.huggingface.training_steps import import_steps
    from transformer.intake.receiving import take_in

    source, *others = sources
    file = isfile(source)  # False for what is no name of a file, which `Source` refuses
    zipped = not others and file and not is_gguf(Path(source))
    for name, value in (("precision", precision), ("languages", languages)):
        if value is not None and (others or zipped):
            raise ValueError(f"--{name} is for one model that is imported; leave it out")
    if check and (source in PUBLISHED or (file and not zipped)):
        raise ValueError("--check compares with a Hugging Face folder or a model by name, and this is a GGUF file; "
                         "leave it out")
    if others:
        if check:
            raise ValueError("--check compares one model; import one of the steps alone to check it")
        with counting("import", numbers=True) as watch:
            folder = import_steps(sources, out, ids=ids, watch=watch)
    elif zipped:
        place = out or default_out(Path(source).stem)
        if check or (out and out.exists()):
            raise ValueError(f"{out} already exists; choose another place with --out" if out and out.exists() else
                             "--check compares with a Hugging Face folder; unpack the zip and import that")
        folder = take_in(Path(source), place.parent, name=place.name, ids=ids)
    else:
        folder = import_model(source, out, ids=ids, precision=precision,
                              languages=None if languages is None else two_codes(languages))
    about = describe(folder)
    comparison = {}
    if check:
        from transformer.huggingface.comparison import compare

        comparison = compare(folder, source)
    steps = {"steps": [int(one.name) for one in snapshots(folder)] + [about.step]} if others else {}
    report({"id": about.id, "folder": str(folder), "kinds": about.config.kinds, **about.meta, **steps, **comparison},
           as_json)


def export(
    run: Annotated[Path, typer.Argument(help="A run folder, or a checkpoint folder inside it.")],
    out: Annotated[Path | None, typer.Option(help="The checkpoint folder to write, such as checkpoints/mine.")] = None,
    huggingface: Annotated[Path | None, typer.Option(help="Write a Hugging Face folder here instead.")] = None,
    processor: Annotated[str, typer.Option(help="The device it was trained on, for the model card.")] = "a CPU",
    as_json: AsJson = False,
) -> None:
    """Make a checkpoint to share of a run's best weights: half precision, measured, with its model card and curves.

    Or, with --huggingface, a Llama, GPT-NeoX or GPT-2 that the transformers package loads, of a decoder alone.
    """
    if out is not None and huggingface is None:
        report(_export(run, out, processor), as_json)
    elif huggingface is not None and out is None:
        report(_export_huggingface(run, huggingface), as_json)
    else:
        raise ValueError("export writes one thing: give either --out for a checkpoint or --huggingface for a "
                         "Hugging Face folder")


def publish(
    folders: Annotated[list[Path], typer.Argument(help="Checkpoint folders; the first is shown first.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("heads-up.html"),
    as_json: AsJson = False,
) -> None:
    """Write one HTML file that runs models in any browser, from a disk or a static host, with no server behind it."""
    from transformer.publishing.page import publish as write

    size = write(folders, out).stat().st_size
    report({"file": str(out), "bytes": size, "checkpoints": [str(folder) for folder in folders]}, as_json)


def _best(run: Path) -> Path:
    return run / "best" if (run / "best").exists() else run


def _export_huggingface(run: Path, out: Path) -> dict[str, object]:
    from transformer.checkpoints.checkpoint import load
    from transformer.huggingface.exporting import about_export, export_model

    ckpt = load(_best(run))
    why_not = about_export(export_model(ckpt, out)).get("tokenizer_left_out")
    return {"id": ckpt.id, "folder": str(out), "tokenizer": f"left out: {why_not}" if why_not else "gives the same ids"}


def _export(run: Path, out: Path, processor: str) -> dict[str, object]:
    from transformer.checkpoints import checkpoint
    from transformer.evaluation.quality import evaluate as measure
    from transformer.jobs import run_files
    from transformer.training.model_card import model_card
    from transformer.training.runs import kept_files

    folder = _best(run)
    ckpt = checkpoint.load(folder)
    ckpt.model.half().float()  # measured as it will be shipped
    rows = run_files.read(folder.parent / "metrics.jsonl")
    with counting("evaluate") as watch:
        quality = measure(ckpt, as_typed=ckpt.config.task == "translation", watch=watch)
    quality.pop("checkpoint")
    card = model_card(out.name, ckpt, quality, rows, processor=processor).encode()
    checkpoint.save(out, ckpt.model, tokenizer=ckpt.tokenizer, source_tokenizer=ckpt.source_tokenizer, half=True,
                    train=ckpt.description.train, meta={**ckpt.meta, "metrics": quality},
                    files={**kept_files(folder.parent), "README.md": card})
    size = (out / "model.safetensors").stat().st_size
    return {"id": checkpoint.describe(out).id, "bytes": size, **quality}

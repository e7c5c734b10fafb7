"""The command line: python -m transformer COMMAND."""

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from transformer.jobs.commands import follow, stop, train_on_cluster
from transformer.jobs.lock import check_free
from transformer.shortage import said
from transformer.tables import lines
from transformer.task import LEARNED

console = Console(stderr=True)  # progress and errors; results go to standard output
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="Train, measure and use the models of Heads Up.")

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON line, last.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps")]


def report(result: dict[str, object], as_json: bool) -> None:
    if as_json:
        print(orjson.dumps(result).decode(), flush=True)
    else:
        print("\n".join(lines(result)), flush=True)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="The run folder.")],
    preset: Annotated[str, typer.Option(help="A named configuration; see transformer/presets.py.")] = "translate",
    steps: Annotated[int | None, typer.Option(help="Optimizer steps, the schedule's length.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop early after so many minutes; resume goes on.")] = None,
    device: Device = "auto",
    set_: Annotated[list[str], typer.Option("--set", help="Any setting, as key=value; again for more.")] = [],  # noqa: B006
    resume: Annotated[bool, typer.Option(help="Go on from the last save in --out.")] = False,
    cluster: Annotated[bool, typer.Option("--cluster", help="On the cluster RAY_API_SERVER_ADDRESS names.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="So many workers of the cluster.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, or go on with one that was stopped."""
    from transformer.config import RunConfig, read_settings
    from transformer.jobs import run_files
    from transformer.jobs.process import go_first
    from transformer.presets import preset as find_preset
    from transformer.training.size import check_least
    from transformer.training.trainer import Trainer, choose_device

    if cluster:
        train_on_cluster(out, preset=preset, steps=steps, minutes=minutes, device=device, pairs=set_, resume=resume,
                         processes=processes)
        return
    if processes is not None:
        raise ValueError("--processes is for --cluster; several on this machine: torchrun --nproc-per-node "
                         f"{processes} -m transformer train ...")
    if resume:
        if not (out / "config.json").exists():
            raise ValueError(f"{out} holds no run to resume; leave --resume out to start one")
        config = RunConfig.model_validate_json((out / "config.json").read_bytes())
    else:
        if (out / "metrics.jsonl").exists():
            check_free(out, "training")
            raise ValueError(f"{out} holds a run already; add --resume to go on with it, or choose another --out")
        config = find_preset(preset)
    config = config.set(read_settings(set_) | ({"steps": steps} if steps else {}))
    go_first()
    chosen = choose_device(device)
    check_least(config, chosen)  # before the corpus is read, which takes a while
    trainer = Trainer(out, config, device=chosen)
    if not trainer.first:  # of several processes one speaks
        console.quiet, as_json = True, False
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[numbers]}")]
    seen: dict[str, object] = {}
    counted = f"{LEARNED[config.train.task].unit}s"  # labels, that is
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("step", total=config.train.steps, completed=trainer.step, numbers="")

        def watch(row: dict[str, object]) -> None:
            seen.update(row)
            named = ("loss", "loss", 3), ("held-out", "validation_loss", 3), (f"{counted}/s", "tokens_per_sec", 0)
            numbers = " ".join(f"{name} {seen[key]:,.{digits}f}" for name, key, digits in named if key in seen)
            progress.update(bar, completed=trainer.step, numbers=numbers)
            if "validation_loss" in row:
                progress.console.print(f"step {trainer.step}: {numbers}")

        state = trainer.run(minutes=minutes, watch=watch)
    why = run_files.read_json(out / "status.json").get("why")
    report({"state": state, **({"why": why} if why else {}), "step": trainer.step,
            "best_validation_loss": trainer.best, "seconds": trainer.seconds, "folder": str(out)}, as_json)


@app.command()
def check(
    preset: Annotated[str, typer.Option(help="A named configuration; see transformer/presets.py.")] = "translate",
    steps: Annotated[int | None, typer.Option(help="Optimizer steps of the run that is checked.")] = None,
    device: Device = "auto",
    set_: Annotated[list[str], typer.Option("--set", help="Any setting, as key=value; again for more.")] = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Say what a run would be, by its first ten steps: its data, parameters, memory and time, and what does not fit."""
    from transformer.config import read_settings
    from transformer.jobs.process import go_first
    from transformer.presets import preset as find_preset
    from transformer.training.check import check as run
    from transformer.training.check import summary
    from transformer.training.trainer import choose_device

    go_first()
    config = find_preset(preset).set(read_settings(set_) | ({"steps": steps} if steps else {}))
    found = run(config, device=choose_device(device), watch=lambda said: console.print(said, highlight=False))
    if as_json:
        report(found, True)
    else:
        print("\n".join(summary(found)), flush=True)
    if any(problem["level"] == "error" for problem in found["problems"]):
        raise typer.Exit(1)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="A run folder, or one checkpoint folder of it.")],
    out: Annotated[Path | None, typer.Option(help="The checkpoint folder to write, such as checkpoints/mine.")] = None,
    huggingface: Annotated[Path | None, typer.Option(help="Write a Hugging Face GPT-2 folder here instead.")] = None,
    processor: Annotated[str, typer.Option(help="What it was trained on, for the model card.")] = "a CPU",
    as_json: AsJson = False,
) -> None:
    """Make a checkpoint to share of a run's best weights: half precision, measured, with its model card and curves.

    Or, with --huggingface, a GPT-2 that the transformers package loads, of a decoder alone.
    """
    from transformer import checkpoint
    from transformer.card import model_card
    from transformer.jobs import run_files
    from transformer.quality import evaluate as measure

    if (out is None) == (huggingface is None):
        raise ValueError("export writes one thing: give --out for a checkpoint, or --huggingface for a GPT-2 folder")
    folder = run / "best" if (run / "best").exists() else run
    ckpt = checkpoint.load(folder)
    if huggingface is not None:
        from transformer.huggingface.exporting import about_export, export_model

        why_not = about_export(export_model(ckpt, huggingface)).get("tokenizer_left_out")
        report({"id": ckpt.id, "folder": str(huggingface),
                "tokenizer": f"left out: {why_not}" if why_not else "gives the same ids"}, as_json)
        return
    ckpt.model.half().float()  # measured as it will be shipped
    rows = run_files.read((run if folder != run else run.parent) / "metrics.jsonl")
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("evaluate", total=None)
        quality = measure(ckpt, watch=lambda done, of: progress.update(bar, completed=done, total=of))
    quality.pop("checkpoint")
    curves = folder.parent / "attention"
    files = {f"attention/{path.name}": path.read_bytes() for path in sorted(curves.glob("*"))} | {
        "metrics.jsonl": b"".join(orjson.dumps(row) + b"\n" for row in rows),
        "README.md": model_card(out.name, ckpt, quality, rows, processor=processor).encode()}
    checkpoint.save(out, ckpt.model, tokenizer=ckpt.tokenizer, source_tokenizer=ckpt.source_tokenizer, half=True,
                    train=ckpt.description.train, meta={**ckpt.meta, "metrics": quality}, files=files)
    size = (out / "model.safetensors").stat().st_size
    report({"id": checkpoint.describe(out).id, "bytes": size, **quality}, as_json)


app.command()(follow)
app.command()(stop)


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(help="A Hugging Face folder, a name such as openai-community/gpt2, or the "
                                               "zip of a checkpoint.")],
    out: Annotated[Path | None, typer.Option(help="The checkpoint folder; else imports/NAME in HEADSUP_HOME.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Leave the tokenizer out and show ids.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare with what transformers computes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a checkpoint of somebody else's GPT-2, BERT, RoBERTa, DistilBERT or Marian (opus-mt) model, or take one in
    that was sent as a zip."""
    from transformer.checkpoint import describe
    from transformer.huggingface.importing import default_out, import_model
    from transformer.intake.taking import take_in

    if Path(source).is_file():
        place = out or default_out(Path(source).stem)
        if check or (out and out.exists()):
            raise ValueError(f"{out} is there already; choose another place with --out" if out and out.exists() else
                             "--check compares with a Hugging Face folder; unpack the zip and import that")
        folder = take_in(Path(source), place.parent, name=place.name, ids=ids)
    else:
        folder = import_model(source, out, ids=ids)
    about = describe(folder)
    compared = {}
    if check:
        from transformer.huggingface.comparing import compare

        compared = compare(folder, source)
    report({"id": about.id, "folder": str(folder), "kinds": about.config.kinds, **about.meta, **compared}, as_json)


@app.command("list")
def list_(
    places: Annotated[list[Path] | None, typer.Argument(help="Folders that hold checkpoints; else all that the pages "
                                                             "offer.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which checkpoints there are: those that come with the app, and those kept, uploaded and imported."""
    from transformer.checkpoint import CheckpointError, Description, describe, find
    from transformer.places import places as offered
    from transformer.tables import checkpoint_row, table

    found: list[Description] = []
    for place in places or offered():
        for folder in find(place):
            try:
                found.append(describe(folder))
            except CheckpointError as error:
                console.print(f"left out: {error}", highlight=False, markup=False, soft_wrap=True)
    if as_json:
        report({"checkpoints": [{"id": about.id, "folder": str(about.folder), "kinds": about.config.kinds, **about.meta}
                                for about in found]}, True)
    elif found:
        print("\n".join(table([checkpoint_row(about) for about in found])))
    else:
        console.print(f"no checkpoints in {', '.join(map(str, places or offered()))}", highlight=False, soft_wrap=True)


@app.command()
def evaluate(
    folder: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    split: Annotated[str | None, typer.Option(help="test, validation or train; else the held-out one.")] = None,
    beam: Annotated[int, typer.Option(help="Beam width; 1 is greedy.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Only the first so many sentences.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure a checkpoint: BLEU and chrF of a translation, nats and bits a character of text, accuracy of classes."""
    from transformer.checkpoint import load
    from transformer.quality import evaluate as measure
    from transformer.training.trainer import choose_device

    ckpt = load(folder, device=choose_device(device))
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("evaluate", total=None)
        result = measure(ckpt, split=split, beam=beam, limit=limit,
                         watch=lambda done, of: progress.update(bar, completed=done, total=of))
    report(result, as_json)


@app.command()
def roles(
    folder: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    limit: Annotated[int, typer.Option(help="Held-out sentences, or windows of text, to measure on.")] = 200,
    seed: Annotated[int, typer.Option(help="Which sentences, and which untrained weights.")] = 0,
    corpus: Annotated[str | None, typer.Option(help="A corpus or file; else what it was trained on.")] = None,
    cache: Annotated[Path, typer.Option(help="Where the word alignment is kept once learned.")] = Path("runs/analysis"),
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say what each head does over held-out sentences, beside the same architecture untrained."""
    from transformer.analysis.head_roles import measure_roles
    from transformer.checkpoint import load
    from transformer.held_out import held_out, word_aligner
    from transformer.training.trainer import choose_device

    ckpt = load(folder, device=choose_device(device))
    sentences = held_out(ckpt, limit=limit, seed=seed, name=corpus)
    aligner = word_aligner(ckpt, cache, name=corpus) if ckpt.config.task == "translation" else None
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("measure", total=None)
        found = measure_roles(ckpt, sentences, aligner=aligner, seed=seed,
                              watch=lambda done, of: progress.update(bar, completed=done, total=of)).summary()
    if as_json:
        report(found, True)
        return
    for kind, measures in found["roles"].items():
        for name, row in measures.items():
            heads = {(layer, head): value for layer, values in enumerate(row["trained"])
                     for head, value in enumerate(values)}
            if row["queries"]:
                (layer, head), most = max(heads.items(), key=lambda item: item[1])
                print(f"{kind:>8} {name:<14} most in layer {layer} head {head}: {most:.3f}; looking at all alike "
                      f"{row['even']:.3f}")
    for name, why in found["notes"].items():
        print(f"not measured: {name}, as {why}")


@app.command()
def ablate(
    folder: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    out: Annotated[Path, typer.Option(help="The folder for results, one inside it for each checkpoint.")],
    what: Annotated[str, typer.Option(help="off, or uniform: looking at everything alike.")] = "off",
    limit: Annotated[int, typer.Option(help="The first so many held-out sentences; 0 takes all.")] = 200,
    corpus: Annotated[str | None, typer.Option(help="A corpus or file; else what it was trained on.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Switch each head off in turn and measure what it changes; the same command goes on where it was stopped."""
    from transformer.ablation_job import read, run
    from transformer.checkpoint import load
    from transformer.jobs import run_files
    from transformer.jobs.process import go_first
    from transformer.training.trainer import choose_device

    go_first()
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console, transient=True) as progress:
        bar = progress.add_task("head", total=None)
        done = run(load(folder, device=choose_device(device)), out, what=what, limit=limit or None, corpus=corpus,
                   watch=lambda done, of, row: progress.update(bar, completed=done, total=of))
    found = read(done)
    about = {"folder": str(done), "state": run_files.read_json(done / "status.json").get("state"), "what": what}
    if found is not None:
        about |= {"done": found.done, "of": found.of, "n": found.n, **found.baseline}
        about |= {"heads": run_files.read(done / "heads.jsonl")} if as_json else {}
    report(about, as_json)


@app.command()
def translate(
    folder: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    texts: Annotated[list[str] | None, typer.Argument(help="Sentences; else lines of standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file of sentences, one a line.")] = None,
    beam: Annotated[int, typer.Option(help="Beam width; 1 is greedy.")] = 1,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Translate sentences, one a line."""
    from transformer.checkpoint import load
    from transformer.inference.search import translate as run
    from transformer.training.trainer import choose_device

    ckpt = load(folder, device=choose_device(device))
    out = run(ckpt, _sentences(texts or [], file), beam=beam)
    if as_json:
        report({"translations": out}, True)
    else:
        print("\n".join(out))


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


@app.command()
def write(
    folder: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    prompt: Annotated[str, typer.Argument(help="What the text begins with.")] = "",
    steps: Annotated[int, typer.Option(help="At most so many tokens.")] = 200,
    temperature: Annotated[float, typer.Option(help="0 always takes the likeliest token.")] = 0.8,
    top_k: Annotated[int | None, typer.Option(help="Only among the k likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Only among the likeliest that make up this probability.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Go on with a text, token by token."""
    from transformer.checkpoint import load
    from transformer.inference.decoding import steps as run
    from transformer.training.trainer import choose_device

    ckpt = load(folder, device=choose_device(device))
    made = list(run(ckpt, prompt, max_steps=steps, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed))
    text = made[-1].whole if made else prompt
    if as_json:
        report({"text": text, "steps": len(made)}, True)
    else:
        print(text)


def main() -> int:
    """Run a command; what a user can mend is one sentence, not a traceback."""
    try:
        with said():
            app()
    except ValueError as error:  # on one line, however long, so that a log has all of it in one
        console.print("error", style="bold red", end="")
        console.print(f": {error}", markup=False, highlight=False, soft_wrap=True)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs in a folder: named, listed, renamed, deleted, read as curves, and promoted to checkpoints."""

import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from transformer.basics.folders import TOLD, written_ns
from transformer.basics.resource_errors import said
from transformer.basics.spreadsheet import table_of
from transformer.jobs import ray_cluster, run_files
from transformer.jobs.launch import Progress, alive, progress
from transformer.jobs.queue import locked, record, ticket
from transformer.settings.config import ModelConfig, TrainConfig

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST_NAME = 60
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Settings that a run itself fills in when it has read its corpus and knows its device.
FILLED_IN = {"vocab_size", "src_vocab_size", "n_classes", "micro_tokens", "pad_id", "unk_id", "bos_id", "eos_id",
             "start_id"}


@dataclass(frozen=True)
class Run:
    """A run folder, described without reading its weights or its whole curve."""

    folder: Path
    now: Progress
    task: str | None
    corpus: str | None
    shape: str  # layers x d_model, heads
    best: float | None  # held-out loss, nats per token, or per text if texts have a class
    seconds: float  # of training
    device: str | None
    processes: int
    owner: str | None
    started: float | None  # seconds since 1970, by the clock of the machine that started it
    ticket: int
    # Of the newest evaluation on held-out text, 0 to 1: tokens, or texts, predicted right; whole answers without a
    # wrong token, of a translation.
    accuracy: float | None = None
    exact: float | None = None
    gpu: str | None = None  # its name, of a run on one

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def processor(self) -> str | None:
        """What it trains on, to read: the GPU by its name, else the device."""
        return f"{self.gpu} ({self.device})" if self.gpu else self.device


def guessing_loss(folder: Path) -> float | None:
    """The loss of guessing at random, by the configuration of a run or a checkpoint; None if that cannot be read."""
    try:
        return ModelConfig.model_validate(run_files.read_json(folder / "config.json").get("model")).guessing_loss
    except ValueError:
        return None


def check_name(name: str) -> str:
    """Returns a run's name without spaces around it. Raises ValueError for one that not every system takes."""
    name = name.strip()
    if not name:
        raise ValueError("the run has no name; type one, such as my-first-run")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"the name has {len(name):,} characters; at most {LONGEST_NAME} are allowed. Please shorten "
                         "it")
    if not NAME.fullmatch(name):
        raise ValueError("a name has letters from a to z, digits, '.', '-' and '_', and starts with a letter or a "
                         f"digit; {name!r} has something else")
    return name


def free_name(runs: Path, name: str) -> str:
    """The name, or the first of name-2, name-3, ... that no run has."""
    taken = {path.name.lower() for path in runs.iterdir()} if runs.is_dir() else set()
    free, number = name, 1
    while free.lower() in taken:
        number += 1
        free = f"{name[:LONGEST_NAME - 5]}-{number}"
    return free


def describe(folder: Path) -> Run:
    """Describe a run folder; what is damaged or missing is None or empty."""
    config, about = run_files.read_json(folder / "config.json"), record(folder)
    model, train = (part if isinstance(part := config.get(name), dict) else {} for name in ("model", "train"))
    status, rows = run_files.read_json(folder / "status.json"), run_files.tail(folder / "metrics.jsonl")
    layers = [model.get("encoder_layers"), model.get("decoder_layers")]
    shape = (f"{'+'.join(str(count) for count in layers if count)} × {model.get('d_model')}, "
             f"{model.get('n_heads')} heads") if model else ""
    best = [value for value in (status.get("best"), _newest(rows, "best")) if isinstance(value, int | float)]
    started = about.get("time")
    if not isinstance(started, int | float):  # a run from a shell starts when it writes its settings
        started = None
        with suppress(OSError):
            started = (folder / "config.json").stat().st_mtime
    corpus = train.get("corpus") or _corpus_argument(about)
    return Run(folder, progress(folder), _text(train.get("task")), _text(corpus), shape, min(best, default=None),
               _newest(rows, "seconds") or 0.0, _text(status.get("device")),
               next((count for count in (about.get("processes"), status.get("world_size"))
                     if type(count) is int and count > 0), 1), _text(about.get("owner")), started,
               ticket(about), _newest(rows, "validation_accuracy"), _newest(rows, "validation_exact"),
               _text(status.get("gpu")))


def _corpus_argument(about: dict[str, object]) -> str | None:
    """The corpus that a run was started with; None if it is the preset's."""
    words = about.get("arguments")
    return next((word.removeprefix("corpus=") for word in reversed(words if isinstance(words, list) else [])
                 if isinstance(word, str) and word.startswith("corpus=")), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _newest(rows: list[dict[str, object]], name: str) -> float | None:
    """The last value of a number, which not every row has: evaluations have rows of their own."""
    value = next((row[name] for row in reversed(rows) if name in row), None)
    return float(value) if isinstance(value, int | float) else None


def find(runs: Path) -> list[Path]:
    """Run folders that are not hidden, newest first."""
    folders = [path for path in runs.iterdir() if path.is_dir() and not path.name.startswith(".")] if (
        runs.is_dir()) else []
    return sorted(filter(is_run, folders), key=lambda path: written_ns(path) or 0, reverse=True)


def is_run(folder: Path) -> bool:
    """Whether a run was started in a folder."""
    return any((folder / name).exists() for name in ("config.json", "launch.json"))


def rename(folder: Path, name: str) -> Path:
    """Rename a run that has ended, and return its folder. Raises ValueError for a name that is taken or invalid."""
    new = folder.with_name(check_name(name))
    with locked(folder.parent):
        _must_have_ended(folder)
        if new.exists() and new != folder:
            raise ValueError(f"there is a run {new.name} already; choose another name")
        return folder.rename(new)


def delete(folder: Path) -> None:
    """Remove a run that has ended, with all it saved. Raises ValueError if it is under way."""
    with locked(folder.parent):
        _must_have_ended(folder)
        gone = folder.with_name(f".{folder.name}.deleted")  # renamed first, so that nobody finds half of it
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _must_have_ended(folder: Path) -> None:
    if not folder.is_dir():
        raise ValueError(f"there is no run {folder.name} any more")
    if alive(folder) or progress(folder).under_way:
        raise ValueError(f"the run {folder.name} is under way; stop it first")


def as_csv(folder: Path) -> str:
    """All metrics of a run as CSV, a row for each time that something was measured."""
    return table_of(run_files.read(folder / "metrics.jsonl"))


def metrics(folder: Path | str) -> "DataFrame":
    """The metrics of a run, or of the run that a checkpoint came from, as a tidy pandas table with a row for each step.

    Columns, NaN where a step did not measure them: `step`; `loss`, of training, and `validation_loss`, held out, in
    nats per token (per text if texts have a class), and `best`, the lowest of the latter; `accuracy` and
    `validation_accuracy`, the share of tokens (texts) that were the likeliest prediction, and `validation_exact`, that
    of translations without a wrong token; `seconds` of training, `time` since 1970 in seconds, `epoch` in passes over
    the corpus, `tokens` learned from; `tokens_per_sec`, `lr`, `grad_norm`; on a GPU
    `gpu_util` and `peak_share` (0 to 1), `gpu_memory` and `gpu_memory_total` in bytes. Raises ValueError for a folder
    without metrics.
    """
    from transformer.basics.data_frames import pandas

    path = Path(folder) / "metrics.jsonl"
    if not path.is_file():
        raise ValueError(f"{path.parent} has no metrics.jsonl; name a run, or a checkpoint that kept its own")
    by_step: dict[float, dict[str, float]] = {}
    for row in run_files.read(path):
        numbers = {name: value for name, value in row.items() if run_files.is_number(value)}
        if "step" in numbers:  # an evaluation has a row of its own beside that of its training step
            by_step.setdefault(numbers["step"], {}).update(numbers)
    return pandas().DataFrame([by_step[step] for step in sorted(by_step)], columns=None if by_step else ["step"])


def events(folder: Path | str) -> "DataFrame":
    """The events of a run, or of a checkpoint that kept its recorded attention, as a tidy pandas table by step.

    Columns: `step`, `until` (None while it lasts), `words`; of a head `kind`, `layer`, `head`, `measure`, its `value`
    then, `untrained` (the same head with random weights), `even` (one that looks at all it may see alike) and the
    `threshold` that was reached; of an alert its name in `alert`. Raises ValueError for a damaged record.
    """
    from transformer.training import events

    return events.events(folder)


def head_measures(folder: Path | str) -> "DataFrame":
    """Every measure of every head at every step that recorded attention, as a tidy pandas table.

    Columns: `step`, `kind`, `layer`, `head`, `measure`, `value` (NaN where no query counts), `untrained` and `even` as
    in `events`, and `queries`, how many it is a mean over. Raises ValueError for a folder without recorded attention.
    """
    from transformer.training import events

    return events.head_measures(folder)


def settings_of(folder: Path) -> dict[str, object]:
    """The settings of a run by name, as JSON has them; before it has read its corpus, without those that it fills in.
    Empty if they cannot be read."""
    config = run_files.read_json(folder / "config.json")
    begun = bool(config)
    if not begun:
        about = record(folder)
        config = about.get("config")
        if config is None and isinstance(words := about.get("arguments"), list):
            with suppress(ValueError):
                config = ray_cluster.read_arguments([str(word) for word in words])[0].model_dump(mode="json")
    if not isinstance(config, dict) or not config:
        return {}
    settings = {}
    for part, defaults in zip(("model", "train"), _defaults(), strict=True):
        given = config.get(part)
        settings |= defaults | ({name: value for name, value in given.items() if name in defaults}
                                if isinstance(given, dict) else {})
    return settings if begun else {name: value for name, value in settings.items() if name not in FILLED_IN}


@cache
def _defaults() -> tuple[dict[str, object], dict[str, object]]:
    return ModelConfig().model_dump(mode="json"), TrainConfig().model_dump(mode="json")


def differing(settings: Iterable[dict[str, object]]) -> list[str]:
    """The names of the settings in which runs differ; one that a run has not chosen yet is no difference."""
    known, differ = {}, {}
    for name, value in ((name, value) for one in settings for name, value in one.items()):
        if known.setdefault(name, written := orjson.dumps(value)) != written:
            differ[name] = None
    return [name for part in _defaults() for name in part if name in differ]


def differences(folders: Iterable[Path | str]) -> "DataFrame":
    """The settings in which runs differ as a pandas table: a row for each `setting`, a column for each run by its name.

    A setting that a run has not chosen yet, as the size of its vocabulary while it is queued, is None. Raises
    ValueError for a folder that is not a run.
    """
    from transformer.basics.data_frames import pandas

    settings = {folder.name: settings_of(folder) for folder in _runs(folders)}
    names = differing(settings.values())
    return pandas().DataFrame({run: [own.get(name) for name in names] for run, own in settings.items()},
                              index=pandas().Index(names, name="setting"), dtype=object)


def compare(folders: Iterable[Path | str]) -> "DataFrame":
    """Runs as a pandas table, a row for each: how it stands, its results, and all its settings.

    Columns: `run`, `state`, `step`, `steps`; `best`, the lowest held-out loss in nats per token (per text if texts have
    a class); of the newest evaluation `accuracy`, the share of tokens or texts predicted right, and `exact`, that of
    translations without a wrong token; `seconds` of training, `device`, `started` in seconds since 1970; then a column
    for each setting. What a run does not have is None or NaN. Raises ValueError for a folder that is not a run.
    """
    from transformer.basics.data_frames import pandas

    rows = []
    for folder in _runs(folders):
        run = describe(folder)
        rows.append({"run": run.name, "state": run.now.state, "step": run.now.step, "steps": run.now.steps,
                     "best": run.best, "accuracy": run.accuracy, "exact": run.exact, "seconds": run.seconds,
                     "device": run.device, "started": run.started, **settings_of(folder)})
    return pandas().DataFrame(rows, columns=None if rows else ["run"])


def _runs(folders: Iterable[Path | str]) -> list[Path]:
    folders = [Path(folder) for folder in folders]
    for folder in folders:
        if not is_run(folder):
            raise ValueError(f"{folder} is not a run; name folders that `train` has made")
    return folders


def to_keep(folder: Path) -> Path | None:
    """The weights of a run that a checkpoint is made of: the best, or those saved last before the first evaluation;
    None before the first save."""
    saved = [folder / name for name in ("best", "last")]
    return next((path for path in saved if (path / "manifest.json").exists()), None)


def kept_files(folder: Path) -> dict[str, bytes]:
    """What a checkpoint of a run keeps beside its weights: recorded attention, what the run has said of itself, and
    its metrics; path -> content."""
    attention = sorted(path for path in (folder / "attention").glob("*") if not path.name.startswith("."))
    told = [folder / name for name in (*TOLD, "metrics.jsonl")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in (*attention, *told) if path.is_file()}


@said()
def promote(folder: Path, out: Path, *, processor: str) -> Path:
    """Make a checkpoint of a run's `to_keep` weights, in half precision, with its curve, attention and model card.

    `headsup export` does the same and measures it on the test split first. Raises ValueError if the run has saved
    nothing yet, `out` exists, or there is no room for it.
    """
    from transformer.checkpoints import checkpoint
    from transformer.training.model_card import model_card

    kept = to_keep(folder)
    if kept is None:
        raise ValueError(f"the run {folder.name} has saved no weights yet; wait for its first save, or stop it, which "
                         "saves")
    if out.exists():
        raise ValueError(f"there is a checkpoint {out.name} already; choose another name")
    ckpt = checkpoint.load(kept)
    ckpt.model.half().float()
    rows = run_files.read(folder / "metrics.jsonl")
    card = model_card(out.name, ckpt, {}, rows, processor=processor).encode()
    checkpoint.save(out, ckpt.model, tokenizer=ckpt.tokenizer, source_tokenizer=ckpt.source_tokenizer, half=True,
                    train=ckpt.description.train, meta=ckpt.meta, files={**kept_files(folder), "README.md": card})
    return out

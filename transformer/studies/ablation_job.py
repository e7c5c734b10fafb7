"""A job that switches off every head of a model in turn; `headsup ablate` runs it.

Its folder, OUT/<checkpoint id>/<off or uniform>-<sentences or all>, holds job.json (what is measured), baseline.json
(the model as it is) and heads.jsonl (a row for each head, appended as each is done), beside the files of every job, by
which `transformer.jobs.launch` tells how it stands (`progress`), stops it (`stop`) and reads its log (`log_tail`).
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from transformer.analysis.ablation import SWITCHES, Head, Measurement, all_heads, effects, measure
from transformer.basics import data_frames
from transformer.basics.formatting import brief
from transformer.basics.resource_errors import in_words
from transformer.checkpoints.checkpoint import Checkpoint, describe
from transformer.evaluation.held_out import corpus_of, held_out_sentences
from transformer.jobs import run_files
from transformer.jobs.launch import ASKED_TO_STOP, alive, start
from transformer.jobs.lock import alone
from transformer.jobs.process import identify
from transformer.jobs.queue import RECORD, StopFlag, locked
from transformer.settings.config import ModelConfig
from transformer.text.user_corpus import is_user_corpus

JOB, BASELINE, ROWS = "job.json", "baseline.json", "heads.jsonl"
Watch = Callable[[int, int, dict[str, object]], None]  # heads done, of, the row that was just made


@dataclass(frozen=True)
class HeadEffects:
    """The measurements in a folder so far; NaN for heads that are not done."""

    checkpoint: str
    what: str
    n: int  # sentences
    tokens: int
    baseline: dict[str, float | None]  # loss, and bleu or accuracy where the model has them
    values: dict[str, dict[str, NDArray]]  # kind -> change, se, and more of ROWS -> (layers, H)
    done: int
    of: int

    __repr__ = brief

    def frame(self) -> "data_frames.DataFrame":
        """A tidy pandas table with a row for each head; NaN for one that is not done.

        Columns: `kind`, `layer`, `head`; `change` of the held-out loss without it and its standard error `se`, in nats
        per token (per text if texts have a class); of a translator `bleu_change` (BLEU is 0 to 100) and `other`, how
        many translations change; of a classifier `accuracy_change` and `accuracy_se` (0 to 1).
        """
        return data_frames.pandas().DataFrame([
            {"kind": kind, "layer": layer, "head": head} | {name: value[layer, head] for name, value in values.items()}
            for kind, values in self.values.items() for layer, head in np.ndindex(values["change"].shape)])


def place(out: Path, id: str, *, what: str = "off", limit: int | None = 200, corpus: str | None = None) -> Path:
    """The folder of a measurement: there is one for each checkpoint, switch and sample."""
    return out / id / f"{what}-{limit or 'all'}{f'-{Path(corpus).stem}' if corpus else ''}"


def launch(ckpt: Path, out: Path, *, what: str = "off", limit: int | None = 200, corpus: str | None = None,
           owner: str | None = None, at_once: int | None = None) -> Path:
    """Start the job that switches the heads of a checkpoint folder, or resume it, and return its folder.

    Nothing is started if it is under way or has finished. owner: whose it is. at_once: how many may be under way in
    `out`. Raises ValueError for another switch than off or uniform, if that limit is reached, and as `describe` does.
    """
    folder = place(out, describe(ckpt).id, what=_checked(what, limit), limit=limit, corpus=corpus)
    with locked(out):
        if alive(folder) or run_files.read_json(folder / "status.json").get("state") == "finished":
            return folder
        others = [other for other in under_way(out) if other != folder]
        if at_once is not None and len(others) >= at_once:
            which = ", ".join(f"{other.parent.name}, {other.name}" for other in others)
            raise ValueError(f"{len(others)} of these measurements under way here, at most {at_once}: {which}; wait "
                             "until one has ended")
        folder.mkdir(parents=True, exist_ok=True)
        for name in (ASKED_TO_STOP, "status.json"):
            (folder / name).unlink(missing_ok=True)
        command = [sys.executable, "-m", "transformer", "ablate", str(ckpt.resolve()), "--out", str(out.resolve()),
                   "--what", what, "--limit", str(limit or 0), "--json"]
        if corpus:
            command += ["--corpus", str(Path(corpus).resolve()) if is_user_corpus(corpus) else corpus]
        start(folder, command, {"owner": owner})
    return folder


def under_way(out: Path) -> list[Path]:
    """The folders of `out` whose job is running on this machine."""
    return [path.parent for path in sorted(out.glob(f"*/*/{RECORD}")) if alive(path.parent)]


def run(ckpt: Checkpoint, out: Path, *, what: str = "off", limit: int | None = 200, corpus: str | None = None,
        watch: Watch = lambda done, of, row: None) -> Path:
    """Switch each head in turn on the first `limit` held-out sentences, as `evaluate --limit`, and return the folder.

    corpus: for a checkpoint that does not say what it was trained on. Heads that have a row are not measured again.
    SIGTERM, Ctrl-C, or a file named stop in the folder end it early, between two batches; the head that it was at is
    measured again next time. Raises ValueError if another process is working on it, or the folder is of another corpus.
    """
    folder = place(out, ckpt.id, what=_checked(what, limit), limit=limit, corpus=corpus)
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder, "switching heads in"), _stoppable(folder) as stopping:
        heads, rows = all_heads(ckpt.config), _rows(folder, ckpt.config)
        run_files.replace(folder / ROWS, b"".join(orjson.dumps(row) + b"\n" for row in rows))  # no torn last line
        done = {Head(row["kind"], row["layer"], row["head"]) for row in rows}

        def status(state: str, *, why: str | None = None) -> None:
            run_files.write_status(folder / "status.json", {
                "state": state, "why": why, "step": len(done), "steps": len(heads), "time": time.time(),
                "device": str(ckpt.device), "pid": os.getpid(), **(identify(os.getpid()) or {})})

        def check_stop(*_: int) -> None:
            if stopping.is_set() or (folder / ASKED_TO_STOP).exists():
                raise _Stopped

        status("running")
        try:
            sentences = held_out_sentences(ckpt, limit=limit, seed=None, name=corpus)
            _write_job(folder, {"checkpoint": ckpt.id, "what": what, "limit": limit, "n": len(sentences),
                            "tokens": sum(sentence.tokens for sentence in sentences),
                            "corpus_sha256": corpus_of(ckpt, corpus).sha256,
                            "config": ckpt.config.model_dump(mode="json")})
            baseline = _read_baseline(folder)
            if baseline is None:
                baseline = measure(ckpt, sentences, watch=check_stop)
                _write_baseline(folder, baseline)
            left = [head for head in heads if head not in done]
            began = time.monotonic()
            measured = effects(ckpt, sentences, baseline, left, what=what, watch=check_stop)
            for head, row in zip(left, measured, strict=True):
                run_files.append(folder / ROWS, {**row, "seconds": time.monotonic() - began})
                began = time.monotonic()
                done.add(head)
                status("running")
                watch(len(done), len(heads), row)
            status("finished")
        except _Stopped:
            status("stopped")
        except BaseException as error:
            status("failed", why=in_words(error) or str(error) or type(error).__name__)
            raise
    return folder


def read(folder: Path) -> HeadEffects | None:
    """Read the measurements so far; None before the model has been measured as it is."""
    job, baseline = run_files.read_json(folder / JOB), _read_baseline(folder)
    if not job or baseline is None:
        return None
    config = ModelConfig.model_validate(job["config"])
    rows, heads = _rows(folder, config), all_heads(config)
    names = ["change", "se", *(["bleu_change", "other"] if baseline.outputs is not None else []),
             *(["accuracy_change", "accuracy_se"] if baseline.right is not None else [])]
    layers = {kind: 1 + max(head.layer for head in heads if head.kind == kind) for kind in config.kinds}
    values = {kind: {name: np.full((layers[kind], config.n_heads), np.nan) for name in names} for kind in config.kinds}
    for row in rows:
        for name in names:
            value = row.get(name)
            values[row["kind"]][name][row["layer"], row["head"]] = value if run_files.is_number(value) else np.nan
    return HeadEffects(job["checkpoint"], job["what"], job["n"], job["tokens"], _baseline_values(baseline), values,
                       len({(row["kind"], row["layer"], row["head"]) for row in rows}), len(heads))


def _rows(folder: Path, config: ModelConfig) -> list[dict[str, Any]]:
    """The rows of the model's heads; a damaged file may hold others."""
    heads = all_heads(config)
    return [row for row in run_files.read(folder / ROWS)
            if (row.get("kind"), row.get("layer"), row.get("head")) in heads]


def _baseline_values(baseline: Measurement) -> dict[str, float | None]:
    return {"loss": baseline.loss, **({} if baseline.bleu is None else {"bleu": baseline.bleu}),
            **({} if baseline.right is None else {"accuracy": float(baseline.right.mean())})}


def _checked(what: str, limit: int | None) -> str:
    if what not in SWITCHES:
        raise ValueError(f"heads are switched {what!r}; choose {' or '.join(SWITCHES)}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit}; choose at least 1 sentence")
    return what


def _write_baseline(folder: Path, baseline: Measurement) -> None:
    run_files.write_json(folder / BASELINE, {
        "nats": baseline.nats.tolist(), "tokens": baseline.tokens.tolist(), "outputs": baseline.outputs,
        "bleu": baseline.bleu, "right": None if baseline.right is None else baseline.right.tolist()})


def _read_baseline(folder: Path) -> Measurement | None:
    values = run_files.read_json(folder / BASELINE)
    if not values:
        return None
    right = values["right"] if values["right"] is None else np.array(values["right"])
    return Measurement(np.array(values["nats"]), np.array(values["tokens"]), values["outputs"], right, values["bleu"])


def _write_job(folder: Path, job: dict[str, object]) -> None:
    """Write what is measured into job.json. Raises ValueError if the folder was begun with something else."""
    before = run_files.read_json(folder / JOB)
    if before and before != job:
        differ = ", ".join(sorted(key for key in job if before.get(key) != job[key]))
        raise ValueError(f"{folder} was begun with another {differ}; delete it to start again")
    run_files.write_json(folder / JOB, job)


class _Stopped(Exception):
    """The job was asked to end."""


@contextmanager
def _stoppable(folder: Path) -> Iterator[StopFlag]:
    """A flag that SIGTERM and Ctrl-C set; an earlier request to stop is forgotten."""
    stopping = StopFlag()
    main = threading.current_thread() is threading.main_thread()  # no other may handle signals
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGTERM, signal.SIGINT)
              } if main else {}
    (folder / ASKED_TO_STOP).unlink(missing_ok=True)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)

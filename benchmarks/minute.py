"""How long the quick tasks take, from the press that starts one to what it can do then.

    python benchmarks/minute.py [--only reverse]

Each is started as the page starts it, with the process that stands by. It prints the seconds until the first point of
the curve, until the first picture of attention, until unseen texts are right as often as the task promises, and until
the head that it is about has formed; then how often the finished model is right on the test split, taking the likeliest
token, and the same of the run that lacks what is needed. Goals: docs/measured.md.
"""

import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from transformer.checkpoints.checkpoint import Checkpoint, load
from transformer.inference.beam_search import translate
from transformer.jobs import launch, run_files
from transformer.settings.quick_tasks import QUICK
from transformer.text.corpora import PairCorpus, corpus
from transformer.text.corpus_catalogue import find_source
from transformer.training.runs import events

FIRST, PICTURE = 3.0, 3.0  # seconds, goals
CLOSING = ")]}>"
LINES = 500  # of running text
STANDS_BY = 12.0  # seconds that the process gets to be ready


def train(folder: Path, name: str, settings: dict[str, object]) -> dict[str, float | None]:
    """Trains one as the page does; returns the seconds from the press to what is seen."""
    launch.prepare()
    time.sleep(STANDS_BY)
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    pressed = time.time()
    launch.launch(folder, ["--preset", name, *words], devices=("cpu",))
    while launch.progress(folder).under_way:
        time.sleep(0.2)
    if (now := launch.progress(folder)).state != "finished":
        raise SystemExit(f"{folder.name} {now.state}: {now.why}\n{launch.log_tail(folder)}")
    rows = run_files.read(folder / "metrics.jsonl")
    pictures = sorted(path.stat().st_mtime - pressed for path in (folder / "attention").glob("*.safetensors"))
    exact = [row["time"] - pressed for row in rows if row.get("validation_exact", 0) >= QUICK[name].right]
    formed = events(folder)
    formed = formed[formed["measure"] == QUICK[name].measure]
    times = {row["step"]: row["time"] - pressed for row in rows}
    return {"first point": rows[0]["time"] - pressed, "first picture": pictures[0],
            "longest wait": max(b - a for a, b in pairwise(pictures) if b < 5),
            "right": exact[0] if exact else None,
            "formed": min((times[min(times, key=lambda at: abs(at - step))] for step in formed["step"]), default=None),
            "finished": rows[-1]["time"] - pressed}


def right(ckpt: Checkpoint, name: str) -> float:
    """The share of unseen texts that a model gets right; of running text, of the tokens that the rule tells."""
    text = corpus(name)
    if isinstance(text, PairCorpus):
        pairs = text.split("test")
        written = translate(ckpt, [source for source, _ in pairs])
        return sum(one == references[0] for one, (_, references) in zip(written, pairs, strict=True)) / len(pairs)
    told = [told_right(ckpt, name, line) for line in text.split("validation").split("\n")[1:LINES]]
    return sum(hits for hits, _ in told) / sum(count for _, count in told)


@torch.no_grad()
def told_right(ckpt: Checkpoint, name: str, line: str) -> tuple[int, int]:
    """Of a line, how many of the tokens that the rule tells are predicted, and how many there are."""
    source = find_source(name)
    ids = ckpt.tokenizer.encode(f"\n{line}")[:ckpt.config.max_len]
    logits = ckpt.model(None, torch.tensor([ids]))[0]  # (T, V)
    if name == "brackets":  # among the brackets that close, the right one
        closing = [ckpt.tokenizer.encode(one)[0] for one in CLOSING]
        places = [at for at in range(len(ids) - 1) if ids[at + 1] in closing]
        guesses = [closing[int(logits[at, closing].argmax())] for at in places]
    else:
        places = [query + 1 for query, _ in source.links(line, line) if query + 2 < len(ids)]
        guesses = [int(logits[at].argmax()) for at in places]
    return sum(guess == ids[at + 1] for guess, at in zip(guesses, places, strict=True)), len(places)


def main(only: Annotated[list[str] | None, typer.Option(help="One of the tasks; again for more.")] = None) -> None:
    """Train each task, and print a table."""
    for name, about in QUICK.items():
        if only and name not in only:
            continue
        with TemporaryDirectory() as home:
            runs = Path(home) / "runs"
            runs.mkdir()
            row = {"task": name, **train(runs / name, name, {})}
            row["test"] = right(load(runs / name / "best"), name)
            if about.beside:
                train(runs / "beside", name, about.beside)
                row["beside"] = right(load(runs / "beside" / "best"), name)
        took = row["right"] if row["right"] is not None else row["formed"]
        row["met"] = (took is not None and took <= about.seconds and row["test"] >= about.right
                      and row["first point"] <= FIRST)
        print(", ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                        for key, value in row.items()), flush=True)


if __name__ == "__main__":
    typer.run(main)

"""What each setting of a training gains: small translators trained for equally long on a part of eng-fra.

    python -m benchmarks.settings OUT [--minutes 4] [--only NAME ...] [--json]

Each has 10,000 English sentences, d_model 128, 3 + 2 layers, and so many minutes by the clock: the steps that they make
are measured first, so a setting pays for the time that it takes. Held-out loss and BLEU (1,000 sentences) are those of
the best weights. The folder keeps each run, so that a benchmark that was stopped goes on with the next.
"""

import argparse
import time
from itertools import islice
from pathlib import Path

import orjson
import torch

from transformer import checkpoint
from transformer.config import RunConfig
from transformer.evaluation import evaluate
from transformer.presets import preset
from transformer.text.corpora import corpus
from transformer.training.trainer import Trainer

SENTENCES, TESTED = 10_000, 1_000
SMALL = {"d_model": 128, "d_ff": 512, "encoder_layers": 3, "decoder_layers": 2, "vocab_size": 4_000, "dropout": 0.1,
         "batch_tokens": 3_000, "lr": 0.005, "weight_decay": 0.01, "warmup": 100,
         "eval_every": 50, "save_every": 10_000}
TOGETHER = {"ema": 0.998, "subword_sampling": 0.3, "weight_decay": 0.1, "dropout": 0.2}
CHANGES: dict[str, dict[str, object]] = {
    "none": {},
    "ema=0.998": {"ema": 0.998},
    "subword_sampling=0.3": {"subword_sampling": 0.3},
    "weight_decay=0.1": {"weight_decay": 0.1},
    "dropout=0.2": {"dropout": 0.2},
    "these four": TOGETHER,
    "these four, as_typed=0.1, joined=0.06": {**TOGETHER, "as_typed": 0.1, "joined": 0.06},
    "these four, r_drop=1": {**TOGETHER, "r_drop": 1.0},
    "these four, hold=0.7": {**TOGETHER, "hold": 0.7},
    "these four, distill of two": {**TOGETHER, "distill": ["these four", "these four, hold=0.7"]},
}


def corpus_file(out: Path) -> Path:
    """A part of the training sentences of eng-fra, as a corpus of its own."""
    file = out / "part.tsv"
    if not file.exists():
        pairs = islice(corpus("eng-fra").splits["train"].items(), SENTENCES)
        file.write_text("".join(f"{source}\t{target}\n" for source, targets in pairs for target in targets), "utf-8")
    return file


def trained(folder: Path, config: RunConfig) -> float:
    """Trains in a folder, or goes on there; returns the seconds that it took."""
    began = time.perf_counter()
    trainer = Trainer(folder, config, device=torch.device("cpu"))
    trainer.run()
    return time.perf_counter() - began


def measured(out: Path, name: str, minutes: float) -> dict[str, object]:
    """One row of the table."""
    folder = out / name.replace(" ", "_").replace(",", "")
    done = folder / "measured.json"
    if done.exists():
        return orjson.loads(done.read_bytes())
    changes = dict(CHANGES[name])
    if "distill" in changes:
        changes["distill"] = [str(out / one.replace(" ", "_").replace(",", "") / "best") for one in changes["distill"]]
    config = preset("translate").set({**SMALL, "corpus": str(corpus_file(out)), **changes})
    short, long = (trained(folder / f"{steps}", config.set({"steps": steps, "eval_every": steps})) for steps in (5, 35))
    steps = round(60 * minutes / ((long - short) / 30))
    seconds = trained(folder / "run", config.set({"steps": steps}))
    found = evaluate(checkpoint.load(folder / "run" / "best"), limit=TESTED, as_typed=True)
    losses = [row["validation_loss"] for row in map(orjson.loads, (folder / "run" / "metrics.jsonl").open())
              if "validation_loss" in row]
    row = {"setting": name, "steps": steps, "minutes": round(seconds / 60, 1), "held_out_loss": min(losses),
           **{key: found[key] for key in ("bleu", "bleu_as_typed", "bleu_joined")}}
    done.write_bytes(orjson.dumps(row))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--only", nargs="+", choices=CHANGES, default=CHANGES)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        row = measured(given.out, name, given.minutes)
        print(orjson.dumps(row).decode() if given.json else
              " | ".join(f"{one:.2f}" if isinstance(one, float) else str(one) for one in row.values()), flush=True)


if __name__ == "__main__":
    main()

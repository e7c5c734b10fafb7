"""What each setting of a training gains: small translators trained for equally long on a part of eng-fra.

    python -m benchmarks.settings OUT [--steps 1000] [--seed 1] [--device cpu] [--only NAME ...] [--json]

Each reads up to 10,000 English sentences with all their translations, at d_model 80 and 3 + 2 layers. A setting whose
steps take longer has fewer of them; the minutes of the processor say how equal it was, as a busy machine does not add
to them. Held-out loss and BLEU (1,000 sentences) are those of the best weights. The folder keeps each run: a benchmark
that was stopped goes on with the next.
"""

import argparse
import time
from itertools import islice
from pathlib import Path

import orjson
import torch

from transformer.checkpoints import checkpoint
from transformer.evaluation.quality import evaluate
from transformer.settings.presets import preset
from transformer.text.corpora import corpus
from transformer.training.trainer import Trainer

SENTENCES, TESTED = 10_000, 1_000
SMALL = {"d_model": 80, "d_ff": 320, "encoder_layers": 3, "decoder_layers": 2, "vocab_size": 2_000, "dropout": 0.1,
         "batch_tokens": 3_000, "lr": 0.005, "weight_decay": 0.01, "warmup": 50, "eval_every": 50, "save_every": 10_000,
         "precision": "float32", "compile": False}
TWO = {"ema": 0.99, "weight_decay": 0.1}
LONGER = {"r_drop": 2, "distill": 5 / 3}  # times a step of the others: two passes, and those of two teachers
CHANGES: dict[str, dict[str, object]] = {
    "none": {},
    "ema=0.99": {"ema": 0.99},
    "weight_decay=0.1": {"weight_decay": 0.1},
    "dropout=0.2": {"dropout": 0.2},
    "subword_sampling=0.3": {"subword_sampling": 0.3},
    "ema, weight_decay": TWO,
    "ema, weight_decay, dropout=0.2": {**TWO, "dropout": 0.2},
    "ema, weight_decay, subword_sampling=0.3": {**TWO, "subword_sampling": 0.3},
    "ema, weight_decay, r_drop=1": {**TWO, "r_drop": 1.0},
    "ema, weight_decay, as_typed=0.1, joined=0.06": {**TWO, "as_typed": 0.1, "joined": 0.06},
    "ema, weight_decay, hold=0.7": {**TWO, "hold": 0.7},
    "ema, weight_decay, distill of two": {**TWO, "distill": ["ema, weight_decay", "ema, weight_decay, hold=0.7"]},
}


def corpus_file(out: Path) -> Path:
    """A part of the training sentences of eng-fra, as a corpus of its own."""
    file = out / "part.tsv"
    if not file.exists():
        pairs = islice(corpus("eng-fra").splits["train"].items(), SENTENCES)
        file.write_text("".join(f"{source}\t{target}\n" for source, targets in pairs for target in targets), "utf-8")
    return file


def measured(out: Path, name: str, steps: int, *, seed: int = 1, device: str = "cpu") -> dict[str, object]:
    """One row of the table."""

    def place(name: str) -> Path:
        return out / f"{steps}_steps_seed_{seed}" / name.replace(" ", "_").replace(",", "")

    done = place(name) / "measured.json"
    if done.exists():
        return orjson.loads(done.read_bytes())
    changes, fewer = dict(CHANGES[name]), steps
    for longer in LONGER.keys() & changes:
        fewer = round(fewer / LONGER[longer])
    if "distill" in changes:
        changes["distill"] = [str(place(one) / "best") for one in changes["distill"]]
    config = preset("translate-small").set({**SMALL, "corpus": str(corpus_file(out)), "steps": fewer, "seed": seed,
                                            **changes})
    began = time.process_time()
    if Trainer(place(name), config, device=torch.device(device)).run() != "finished":
        raise SystemExit(f"{name} is not finished; the same command goes on with it")
    minutes = (time.process_time() - began) / 60
    found = evaluate(checkpoint.load(place(name) / "best"), limit=TESTED, as_typed=True)
    rows = map(orjson.loads, (place(name) / "metrics.jsonl").read_bytes().splitlines())
    row = {"setting": name, "steps": fewer, "processor_minutes": round(minutes, 1),
           "held_out_loss": min(row["validation_loss"] for row in rows if "validation_loss" in row),
           **{key: found[key] for key in ("bleu", "bleu_as_typed", "bleu_joined")}}
    done.write_bytes(orjson.dumps(row))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="+", choices=CHANGES, default=CHANGES)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        row = measured(given.out, name, given.steps, seed=given.seed, device=given.device)
        print(orjson.dumps(row).decode() if given.json else
              " | ".join(f"{one:.2f}" if isinstance(one, float) else str(one) for one in row.values()), flush=True)


if __name__ == "__main__":
    main()

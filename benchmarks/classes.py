"""A classifier beside word counts on five splits of its corpus: accuracies, their means and spreads.

`python -m benchmarks.classes [preset] [--splits 5] [--set key=value]`; minutes a split on one thread.
"""

import argparse
import hashlib
import json
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from transformer.checkpoints import checkpoint
from transformer.evaluation.quality import class_quality
from transformer.settings.config import read_settings
from transformer.settings.presets import preset
from transformer.text.corpora import LabelledCorpus, corpus
from transformer.text.labelled import SPLITS, split_of
from transformer.training import tasks
from transformer.training.trainer import Trainer


def dealt(whole: LabelledCorpus, number: int) -> LabelledCorpus:
    """The corpus with its texts dealt to the three splits in another way; number 0 is its own."""
    items = [item for items in whole.splits.values() for item in items]
    splits: dict[str, list] = {name: [] for name, _ in SPLITS}
    for item in items:
        salted = item[0] if number == 0 else hashlib.sha256(f"{number} {item[0]}".encode()).hexdigest()
        splits[split_of(salted)].append(item)
    return replace(whole, splits=splits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", nargs="?", default="pooled-classifier")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    torch.set_num_threads(1)
    config = preset(given.preset).set(read_settings(given.set))
    whole, rows = corpus(config.train.corpus), []
    for number in range(given.splits):
        split = dealt(whole, number)
        tasks.corpus = lambda name, split=split: split  # what the training reads
        with tempfile.TemporaryDirectory() as folder:
            if Trainer(Path(folder) / "run", config, device=torch.device("cpu")).run() != "finished":
                raise SystemExit("stopped: the splits so far are printed above")
            found = class_quality(checkpoint.load(Path(folder) / "run" / "best"), split, "test")
        rows.append({"split": number, **{name: found[name] for name in ("accuracy", "baseline", "majority", "n")}})
        print(json.dumps(rows[-1]), flush=True)
    summary = {name: {"mean": statistics.mean(row[name] for row in rows),
                      "spread": statistics.stdev([row[name] for row in rows]) if len(rows) > 1 else None}
               for name in ("accuracy", "baseline", "majority")}
    better = [row["accuracy"] - row["baseline"] for row in rows]
    print(json.dumps({"preset": given.preset, "splits": len(rows), **summary, "least_gain": min(better),
                      "mean_gain": statistics.mean(better)}), flush=True)


if __name__ == "__main__":
    main()

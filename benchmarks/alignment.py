"""Alignment error rate on the hand-aligned pairs: every cross-attention head, the best heads together, IBM Model 1, and
eflomal where its command is there (pip install eflomal, in an environment of its own: --eflomal BIN/eflomal-align).

python -m benchmarks.alignment [--checkpoint translate] [--eflomal PATH]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from transformer.analysis.alignment import words
from transformer.analysis.alignment_error import (
    READ,
    AlignedPair,
    attention_between_words,
    error_rate,
    model1_links,
    read_aligned,
)
from transformer.basics.paths import home
from transformer.evaluation.held_out import ALIGNED_FROM, corpus_of, word_aligner


def eflomal(command: str, pairs: Sequence[AlignedPair], training: Sequence[tuple[str, str]]) -> dict[str, float]:
    """AER of eflomal in each direction, and of what both have, learned from the training pairs and these."""
    texts = [*((pair.source, pair.target) for pair in pairs), *training]
    with TemporaryDirectory() as folder:
        for side, name in enumerate(("source", "target")):
            (Path(folder) / name).write_text("".join(" ".join(words(text[side])) + "\n" for text in texts))
        subprocess.run([command, "-s", "source", "-t", "target", "-f", "forward", "-r", "reverse", "--overwrite"],
                       cwd=folder, check=True, capture_output=True)
        found = {}
        for direction in ("forward", "reverse"):
            lines = (Path(folder) / direction).read_text().splitlines()[:len(pairs)]
            found[direction] = [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines]
    found["both"] = [one & other for one, other in zip(found["forward"], found["reverse"], strict=True)]
    return {direction: error_rate(pairs, links) for direction, links in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="translate")
    parser.add_argument("--eflomal")
    options = parser.parse_args()
    ckpt, pairs = transformer.load(options.checkpoint), read_aligned()
    attention = attention_between_words(ckpt, pairs)
    result: dict[str, object] = {"pairs": len(pairs)}
    for read in READ:
        heads, error = attention.best_combination(read)
        result[read] = {"heads": attention.errors(read).round(3).tolist(), "together": [heads, round(error, 3)]}
    result["model1"] = round(error_rate(pairs, model1_links(word_aligner(ckpt, home() / "analysis"), pairs)), 3)
    if options.eflomal:
        training = [(source, targets[0]) for source, targets in corpus_of(ckpt).split("train")[:ALIGNED_FROM]]
        result["eflomal"] = {name: round(error, 3) for name, error in eflomal(options.eflomal, pairs, training).items()}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

"""Processor milliseconds of a published model's steps, computed by node as a browser would.

    python -m benchmarks.browser_model [checkpoints/translate checkpoints/write] [--json]

A step: the next token and all heads' weights of all layers, those of the encoder too; a page draws from no more.
`translate` at 20 tokens of the target and as many of the source (goal 60 ms), `write` at 100 (goal 30 ms), and models
of random weights of the size that the shipped ones may grow to. opening: from bytes to a model that can compute; start:
the first step. Needs node.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import orjson
import torch
import typer

from transformer.checkpoints.checkpoint import NO_TOKENIZER, Checkpoint, Description, load
from transformer.model.models import Transformer
from transformer.publishing.weights import pack
from transformer.settings.config import ModelConfig
from transformer.text.tokenizer import IdsTokenizer

LENGTHS = {"translation": 20, "text": 100}  # tokens behind which a step is timed
GOALS = {"translation": 60, "text": 30}  # milliseconds
SHAPES = {
    "random translate": {"d_model": 256, "n_heads": 8, "encoder_layers": 6, "decoder_layers": 3, "d_ff": 768,
                         "vocab_size": 8_000},
    "random write": {"d_model": 320, "n_heads": 8, "encoder_layers": 0, "decoder_layers": 6, "d_ff": 1_280,
                     "vocab_size": 69, "positions": "rotary"}}


def random_model(name: str, shape: dict[str, object]) -> Checkpoint:
    """A checkpoint of random weights that reads ids."""
    config = ModelConfig(**shape, max_len=256)
    model = Transformer(config, generator=torch.Generator().manual_seed(1)).half().float().eval()
    tokenizer = IdsTokenizer(config.vocab_size, pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    description = Description(Path(name), f"{name}@00000000", config, None, NO_TOKENIZER, {})
    return Checkpoint(description, model, tokenizer, tokenizer)


def measure(ckpt: Checkpoint) -> dict[str, object]:
    """Milliseconds: opening, and median and 95th percentile of start and of steps."""
    length = LENGTHS[ckpt.config.task]
    source = length - 1 if ckpt.config.encoder_layers else length - 10
    text = " ".join(str(5 + at % 50) for at in range(source)) if not ckpt.reads_text else "I am cold. " * length
    while len(ckpt.source_tokenizer.encode(text)) > source:
        text = text[:-1]
    with TemporaryDirectory() as folder:
        path = Path(folder, "packed")
        path.write_bytes(packed := pack(ckpt))
        script = Path(__file__).with_name("browser_model.js")
        printed = subprocess.run(["node", script, path, text, str(length)], capture_output=True, text=True, check=True)
    taken = orjson.loads(printed.stdout)
    found = {name: {"p50": float(np.median(taken[name])), "p95": float(np.percentile(taken[name], 95))}
             for name in ("start", "step")}
    return {"model": ckpt.description.name, "parameters": sum(one.numel() for one in ckpt.model.parameters()),
            "bytes": len(packed), "tokens": length, "opening": taken["opening"], **found,
            "goal": GOALS[ckpt.config.task]}


def main(folders: Annotated[list[Path] | None, typer.Argument()] = None,
         as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON line, last.")] = False,
         ) -> None:
    """Time published models' steps in node."""
    chosen = [load(folder) for folder in folders or ()] or [
        *(load(Path("checkpoints", name)) for name in ("translate", "write")),
        *(random_model(*one) for one in SHAPES.items())]
    rows = []
    for ckpt in chosen:
        rows.append(row := measure(ckpt))
        step, start = row["step"], row["start"]
        print(f"{row['model']}, {row['parameters']:,} parameters, {row['bytes']:,} bytes: opening {row['opening']:.0f} "
              f"ms; start {start['p50']:.0f} ms, 95th percentile {start['p95']:.0f}; a step at {row['tokens']} tokens "
              f"{step['p50']:.1f} ms, 95th percentile {step['p95']:.1f} (goal {row['goal']})")
    if as_json:
        print(orjson.dumps({"benchmark": "browser_model", "unit": "ms", "rows": rows}).decode())


if __name__ == "__main__":
    typer.run(main)

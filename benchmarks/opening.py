"""How long an imported model takes to open, draw its first picture and step with every head; and its memory.

    headsup import smollm2; python benchmarks/opening.py smollm2
    python benchmarks/opening.py --random     # 1.1 billion random parameters in TinyLlama's shape, bfloat16

What a page does between a click and its picture, without the browser. Each figure is of a process of its own.
"""

import gc
import resource
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated

import orjson
import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from transformer.attention_view.heads import Pooled
from transformer.attention_view.message import live
from transformer.attention_view.message_fields import Selection

PROMPT = "The cat sat on the mat and looked at the dog. The dog looked back. " * 20
SHAPE = {"hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
         "intermediate_size": 5632, "vocab_size": 32_000, "max_position_embeddings": 2048}


def made(folder: Path) -> Path:
    """Imports a Llama of random weights in bfloat16, in shards as published ones are."""
    import transformers

    torch.manual_seed(1)
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE, dtype="bfloat16")).to(torch.bfloat16)
    theirs.save_pretrained(folder / "theirs", max_shard_size="1GB")
    del theirs
    gc.collect()
    return transformer.import_model(folder / "theirs", folder / "ours", ids=True)


def prompt(ckpt: transformer.Checkpoint, tokens: int) -> str:
    """A text of about that many tokens; ids if the model has no tokenizer."""
    if not ckpt.reads_text:
        return " ".join(str(id) for id in range(10, 10 + tokens))
    words = PROMPT.split()
    count = next(i for i in range(1, len(words)) if len(ckpt.source_tokenizer.encode(" ".join(words[:i]))) >= tokens)
    return " ".join(words[:count])


def measure(name: str, *, tokens: int, steps: int) -> dict[str, object]:
    torch.set_num_threads(1)  # as the app does
    began = perf_counter()
    ckpt = transformer.load(name)
    opened = perf_counter() - began
    text, look = prompt(ckpt, tokens), Selection("decoder", 0, 0)
    began = perf_counter()
    step = transformer.start(ckpt, text)
    pooled = Pooled.of(step, "decoder", None)
    live(step, look, pooled)
    first, each = perf_counter() - began, []
    for _ in range(steps):
        began = perf_counter()
        step = transformer.next_step(ckpt, step)
        pooled = Pooled.of(step, "decoder", pooled)
        live(step, look, pooled)
        each.append(perf_counter() - began)
    config = ckpt.config
    return {"model": ckpt.id, "parameters": sum(one.numel() for one in ckpt.model.parameters()),
            "heads": config.decoder_layers * config.n_heads, "tokens": len(step.tokens) - steps,
            "opened_s": opened, "first_picture_s": first, "step_s": median(each), "slowest_step_s": max(each),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 * 1.024}


def main(
    checkpoint: Annotated[str, typer.Argument(help="A checkpoint's name or folder.")] = "smollm2",
    random: Annotated[bool, typer.Option("--random", help="1.1 billion random parameters in its place.")] = False,
    tokens: Annotated[int, typer.Option(min=1, help="Of the prompt.")] = 60,
    steps: Annotated[int, typer.Option(min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Times opening a model, its first picture and its steps."""
    with TemporaryDirectory() as folder:
        if random:  # in another process, so that its memory is not counted
            import multiprocessing

            with multiprocessing.get_context("spawn").Pool(1) as others:
                checkpoint = str(others.apply(made, [Path(folder)]))
        found = measure(checkpoint, tokens=tokens, steps=steps)
    if as_json:
        print(orjson.dumps(found).decode())
        return
    for name, value in found.items():
        print(f"{name:16} {value:,.3f}" if isinstance(value, float) else f"{name:16} {value}")


if __name__ == "__main__":
    typer.run(main)

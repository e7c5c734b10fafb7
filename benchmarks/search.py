"""Many sentences translated at once, greedily and by beam search, against Hugging Face's Marian with the same weights.

    python benchmarks/search.py [--json] [--only opus-mt] [--sentences 64]

Both sides read the same padded sources on one CPU thread and keep no attention. Before a clock starts, they must have
written the same ids. What ours does before the first step, putting the weights in another order, is timed with it.
"""

import platform
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import orjson
import torch
import transformers
import typer
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent))

from step import SHAPES, build, cpu_name, measure

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.beam_search import search
from transformer.model.packed import pack

PENALTY = 0.0  # by length: the two know different ones


def write(ckpt: Checkpoint, src: Tensor, beam: int, tokens: int) -> list[list[int]]:
    """Ours, as `translate` does it for many sentences."""
    return search(replace(ckpt, model=pack(ckpt.model)), src, beam=beam, max_steps=tokens, length_penalty=PENALTY)


def generate(theirs: transformers.MarianMTModel, src: Tensor, beam: int, tokens: int) -> Tensor:
    """Marian's `generate`."""
    return theirs.generate(src, attention_mask=torch.ones_like(src), do_sample=False, num_beams=beam,
                           max_new_tokens=tokens, early_stopping=False, length_penalty=PENALTY)


def main(
    sentences: Annotated[int, typer.Option(min=1, help="Sentences, all in one batch.")] = 16,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens to write for each, at most.")] = 40,
    source: Annotated[int, typer.Option(min=2, help="Tokens to read, the end token included.")] = 24,
    beam: Annotated[list[int], typer.Option(help="Hypotheses that are kept; again for more.")] = [1, 4],  # noqa: B006
    only: Annotated[list[str], typer.Option(help="Of translate and opus-mt.")] = ["translate", "opus-mt"],  # noqa: B006
    repeats: Annotated[int, typer.Option(min=1, help="How often each side is timed.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON line, last.")] = False,
) -> None:
    """Time our search against Marian's `generate`."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    about = {"torch": torch.__version__, "transformers": transformers.__version__, "python": platform.python_version(),
             "cpu": cpu_name(), "threads": torch.get_num_threads(), "sentences": sentences, "tokens": tokens,
             "source": source, "repeats": repeats}
    print(*(f"{name} {value}" for name, value in about.items()), sep=", ")
    print(f"\n{'medians in milliseconds':30} {'ours':>9} {'generate':>9} {'generate / ours':>16}")
    rows = []
    for name in only:
        ckpt, theirs = build(**SHAPES[name], max_len=tokens + source)
        generator = torch.Generator().manual_seed(2)
        src = torch.randint(4, ckpt.config.vocab_size, (sentences, source), generator=generator)
        src[:, -1] = ckpt.config.eos_id
        for width in beam:
            ours, peer = partial(write, ckpt, src, width, tokens), partial(generate, theirs, src, width, tokens)
            read = [[id for id in row if id not in (ckpt.config.pad_id, ckpt.config.eos_id)]
                    for row in peer()[:, 1:].tolist()]
            assert read == ours(), f"{name}, beam {width}: the two write different sentences"
            times = measure({"ours": ours, "peer": peer}, repeats)
            ratio = times["peer"] / times["ours"]
            rows.append({"name": f"{name}, beam {width}", "unit": "ms", **times, "ratio": ratio})
            print(f"{rows[-1]['name']:30} {times['ours']:9.0f} {times['peer']:9.0f} {ratio:16.2f}")
    if as_json:
        print(orjson.dumps({**about, "rows": rows}).decode())


if __name__ == "__main__":
    typer.run(main)

"""Times maps of activation patching, beside the same map by hooks written by hand on a model of transformers, and one
pass with everything captured beside `attend`.

python -m benchmarks.patching [--positions 30]
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from benchmarks.step import SHAPES, build_llama
from transformer.analysis.patching import EstimateError, TextPair, estimate, patch_heads, patch_positions, read_pair
from transformer.analysis.token_inputs import inputs_of_text
from transformer.basics.paths import ROOT

TOLERANCE = 1e-3  # of the share of the way back
SENTENCES = ("I like red wine.", "I like white wine.", "J'aime le vin")


def seconds(work: Callable[[], object], times: int = 1) -> tuple[float, object]:
    """The median of the seconds that work takes, and what it returned last."""
    taken, made = [], None
    for _ in range(times):
        began = perf_counter()
        made = work()
        taken.append(perf_counter() - began)
    return median(taken), made


@torch.inference_mode()
def by_hooks(theirs: torch.nn.Module, pair: TextPair) -> Tensor:
    """The map of the residual stream by a hook on each layer of their model, all positions of a layer in one pass."""
    clean, other = pair.clean.batch.tgt, pair.other.batch.tgt
    layers, length, kept = theirs.model.layers, other.shape[1], {}
    handles = [layer.register_forward_pre_hook(lambda module, given, at=at: kept.update({at: given[0][0]}))
               for at, layer in enumerate(layers)]
    theirs(clean, logits_to_keep=1)
    for handle in handles:
        handle.remove()
    out, at = torch.zeros(len(layers), length), torch.arange(length)
    for number, layer in enumerate(layers):
        def patch(module: object, given: tuple, number: int = number) -> tuple:
            x = given[0].clone()
            x[at, at] = kept[number]
            return x, *given[1:]

        handle = layer.register_forward_pre_hook(patch)
        logits = theirs(other.expand(length, -1), logits_to_keep=1).logits[:, 0]
        handle.remove()
        out[number] = pair.recovered(pair.metric.of(logits, pair.logits(pair.clean)))
    return out


def smollm2(positions: int) -> dict[str, object]:
    """A map of 30 layers by so many positions in SmolLM2-135M's shape, random weights."""
    ours, theirs = build_llama(**SHAPES["smollm2"])
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(4, ours.config.vocab_size, (positions,), generator=generator).tolist()
    changed = [*ids]
    changed[positions // 3] = (ids[positions // 3] + 1_000) % ours.config.vocab_size
    pair = read_pair(*(inputs_of_text(ours, " ".join(map(str, one))) for one in (ids, changed)))
    taken, exact = seconds(lambda: patch_positions(pair, "decoder"))
    hooks, peer = seconds(lambda: by_hooks(theirs, pair))
    worst = (exact - peer).abs().max().item()
    assert worst <= TOLERANCE, f"maps differ by {worst:.1e}, over {TOLERANCE:.0e}"
    heads, _ = seconds(lambda: patch_heads(pair, "decoder"))
    guessed, estimates = seconds(lambda: estimate(pair), 3)
    error = EstimateError.of(estimates.positions["decoder", "resid_pre"], exact)
    return {"map": f"{exact.shape[0]} x {exact.shape[1]}", "seconds": taken, "by_hooks": hooks, "differ": worst,
            "heads_seconds": heads, "estimate_seconds": guessed, "estimate_correlation": error.correlation}


def translate() -> dict[str, object]:
    """All maps of one pair of sentences in `translate`, and one pass with everything captured beside `attend`."""
    ckpt = transformer.load(ROOT / "checkpoints" / "translate")
    clean, other, target = SENTENCES
    read, pair = seconds(lambda: read_pair(*(inputs_of_text(ckpt, text, target) for text in (clean, other))), 5)
    one, _ = seconds(lambda: patch_positions(pair, "encoder"), 5)

    def everything() -> None:
        for kind, part in estimate(pair).positions:
            patch_positions(pair, kind, part)
        for kind in ckpt.config.kinds:
            patch_heads(pair, kind)

    everything_seconds, _ = seconds(everything, 3)
    capture, attend = [], []
    for _ in range(60):  # in turns
        capture.append(seconds(lambda: transformer.run(ckpt, clean, target, capture="*"))[0])
        attend.append(seconds(lambda: transformer.attend(ckpt, clean, target))[0])
    return {"read_seconds": read, "map_seconds": one, "all_maps_seconds": everything_seconds,
            "run_ms": 1e3 * median(capture), "attend_ms": 1e3 * median(attend),
            "run_to_attend": median(capture) / median(attend)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=30)
    options = parser.parse_args()
    print(json.dumps({"threads": torch.get_num_threads(), "translate": translate(),
                      "smollm2": smollm2(options.positions)}, indent=1))


if __name__ == "__main__":
    main()

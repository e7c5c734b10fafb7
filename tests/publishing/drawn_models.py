"""Small models of every shape, drawn so that each value of each field of ModelConfig comes up."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import torch

from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.model.models import Transformer
from transformer.settings.config import PARTS, ModelConfig
from transformer.text.tokenizer import SentencePieceTokenizer, train

LAYERS = 2
COUNT = 70

# By field, the values that are drawn; each comes up, since they are drawn from in turn.
ROTARY = {
    "base": [10_000.0, 50.0], "dim": [None, 4, 6], "layout": ["halves", "interleaved"],
    "scaling": [None, "linear", "dynamic", "llama3", "yarn", "longrope"], "attention_factor": [1.0, 1.3]}
LONGER = {"factor": [2.5, 4.0], "learned_len": [7, 12]}
OF_SCALING = {
    "linear": LONGER, "dynamic": LONGER, "longrope": LONGER,
    "llama3": LONGER | {"low_freq_factor": [1.0, 0.5], "high_freq_factor": [4.0, 2.0]},
    "yarn": LONGER | {"beta_fast": [32.0, 0.5], "beta_slow": [1.0, 0.1], "truncate": [True, False]}}
EVERYWHERE = {
    "d_model": [24, 32], "n_heads": [4, 2, 3], "head_dim": [None, 8, 10], "kv_heads": [None, 1, 2],
    "d_ff": [32, 21, 0], "max_len": [40, 33], "dropout": [0.1, 0.0], "attention_dropout": [None, 0.2],
    "output_dropout": [0.0, 0.1], "norm_position": ["pre", "post", "both", "output"],
    "norm_kind": ["layer", "rms", "scale"], "norm_eps": [1e-5, 1e-2], "first_norm": [True, True, False],
    "final_norm": [True, True, False], "parallel": [None, None, "one", "two"], "shared_layers": [False, False, True],
    "biases": [PARTS, (), ("q", "up", "norm"), ("k", "v", "head"), ("out", "down", "norm")],
    "activation": ["relu", "gelu", "gelu_tanh", "silu"], "gated": [False, True], "residual_scale": [1.0, 0.6],
    "init": ["xavier_uniform", "normal"], "qk_norm": [None, None, "head", "heads", "row"],
    "qk_norm_kind": ["rms", "layer"], "attention_scale": [None, 0.4], "qkv_clip": [None, None, 0.8],
    "score_cap": [None, None, 1.5], "window": [None, 1, 3, 5], "window_layers": [None, (1,), (0,)],
    "positions": ["sinusoidal", "learned", "rotary", "alibi", "relative", "disentangled", "none", "rotary", "rotary"],
    "embedding_dim": [None, None, 12], "embedding_norm": [False, True], "embedding_scale": [True, False, 1.7],
    "widen_first": [False, True], "type_vocab": [0, 2], "logits_scale": [1.0, 0.7], "logits_cap": [None, 3.0],
    "pad_id": [0, 0, None], "unk_id": [1, None], "bos_id": [2, None]}
OF_POSITIONS = {
    "sinusoidal": {"sinusoid_layout": ["interleaved", "halves", "fairseq"]},
    "alibi": {"alibi_max": [8.0, 3.0], "alibi_scale": [1.0, 0.5], "alibi_rounded": [False, True]},
    "relative": {"relative_buckets": [32, 8, 4], "relative_distance": [128, 9]},
    "disentangled": {"relative_buckets": [32, 8, 6], "relative_distance": [32, 20]}}
WRITES = {"tie_embeddings": [True, False], "logits_bias": [False, True], "end_ids": [(), (9, 12)],
          "start_id": [2, 5], "banned_ids": [(), (4, 7, 11)]}
OF_TASK = {
    "translation": WRITES | {"encoder_layers": [LAYERS], "decoder_layers": [LAYERS], "forced_bos_id": [None, 6],
                             "parallel": [None]},
    "text": WRITES | {"encoder_layers": [0], "decoder_layers": [LAYERS], "eos_id": [3, None]},
    "classes": {"encoder_layers": [LAYERS], "decoder_layers": [0], "n_classes": [3, 9],
                "pooling": ["max", "mean", "first"], "pooler": [None, "tanh", "relu", "gelu", "gelu_tanh", "silu"],
                "pooler_norm": [False, True]},
    "masked": {"encoder_layers": [LAYERS], "decoder_layers": [0], "head": ["masked"], "tie_embeddings": [True, False],
               "head_activation": [None, "relu", "gelu", "gelu_tanh", "silu"], "logits_bias": [True, False]},
    "none": {"encoder_layers": [LAYERS], "decoder_layers": [0], "head": ["none"]}}
TASKS = ["translation", "text", "classes", "text", "translation", "masked", "none"]


class Dice:
    """Draws from lists in turn: all of a list, in a random order, before one of it comes again."""

    def __init__(self, seed: int) -> None:
        self.random, self.left = Random(seed), {}

    def draw(self, name: str, values: list[object]) -> object:
        if not self.left.get(name):
            self.left[name] = self.random.sample(values, len(values))
        return self.left[name].pop()

    def all(self, about: str, options: dict[str, list[object]]) -> dict[str, object]:
        return {name: self.draw(f"{about} {name}", values) for name, values in options.items()}


def configs(count: int, sizes: tuple[int, int], seed: int = 25) -> Iterator[ModelConfig]:
    """So many configurations, with vocabularies of these sizes."""
    dice = Dice(seed)
    for number in range(count):
        task = TASKS[number % len(TASKS)]
        drawn = dice.all("", EVERYWHERE | {"vocab_size": [*sizes]}) | dice.all(task, OF_TASK[task])
        drawn |= dice.all(drawn["positions"], OF_POSITIONS.get(drawn["positions"], {}))
        # what does not go together
        if drawn["head_dim"] is None and drawn["d_model"] % drawn["n_heads"]:
            drawn["head_dim"] = 8
        if drawn["kv_heads"] and drawn["n_heads"] % drawn["kv_heads"]:
            drawn["kv_heads"] = None
        if task == "translation" or drawn["norm_position"] in ("post", "output") or not drawn["d_ff"]:
            drawn["parallel"] = None
        if drawn["positions"] == "sinusoidal" and drawn["embedding_dim"]:
            drawn["widen_first"] = True
        if task == "translation":
            drawn["pad_id"] = 0
            drawn["src_vocab_size"] = None if drawn["tie_embeddings"] else sum(sizes) - drawn["vocab_size"]
        if drawn["positions"] == "rotary":
            width = drawn["head_dim"] or drawn["d_model"] // drawn["n_heads"]
            drawn["rotary"] = _rotary(dice, width)
            if drawn["window"] and dice.draw("window_rotary", [True, False]):
                drawn["window_rotary"] = _rotary(dice, width)
        yield ModelConfig(**drawn)


def _rotary(dice: Dice, width: int) -> dict[str, object]:
    drawn = dice.all("rotary", ROTARY)
    drawn |= dice.all(drawn["scaling"], OF_SCALING.get(drawn["scaling"], {}))
    if drawn["scaling"] == "longrope":
        for name, most in (("short", 1.5), ("long", 4.0)):
            drawn[f"{name}_factors"] = [round(dice.random.uniform(1, most), 2)
                                        for _ in range((drawn["dim"] or width) // 2)]
    return drawn


def checkpoint(config: ModelConfig, known: Sequence[SentencePieceTokenizer], seed: int, *, half: bool) -> Checkpoint:
    """A checkpoint with weights so strong that no part of the model is without effect. known: tokenizers, of which
    those of its sizes are taken."""
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(config, generator=generator).requires_grad_(False).eval()
    for name, parameter in model.named_parameters():
        if "norm" in name and name.endswith("weight"):
            parameter.uniform_(0.5, 1.5, generator=generator)
        elif parameter.dim() < 2:
            parameter.normal_(std=0.3, generator=generator)
        else:
            spread = 0.7 if any(table in name for table in ("positions.", "types.", "buckets.")) else 1.3
            parameter.normal_(std=spread * parameter.shape[-1] ** -0.5, generator=generator)
        if half:
            parameter.copy_(parameter.half().float())
    by_size = {one.vocab_size: one for one in known}
    tokenizer, source = (by_size[size or config.vocab_size] for size in (None, config.src_vocab_size))
    kinds = {"kind": tokenizer.kind, "standardise": False, "shared": tokenizer is source}
    description = Description(Path(f"drawn-{seed}"), f"drawn-{seed}@00000000", config, None, kinds, {"step": seed})
    return Checkpoint(description, model, tokenizer, source)


def every(tokenizer: SentencePieceTokenizer, *, half: bool) -> list[Checkpoint]:
    """A model of every shape, of this tokenizer's vocabulary or of a smaller one. half: every second one's weights."""
    known = [tokenizer, train(["I am cold. We can go home."], kind="char", vocab_size=30, verbatim=True)]
    drawn = configs(COUNT, tuple(one.vocab_size for one in known))
    return [checkpoint(config, known, seed, half=half and seed % 2 == 0) for seed, config in enumerate(drawn)]

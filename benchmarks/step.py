"""Forty decoded tokens with every attention weight in memory, against Hugging Face's Marian with the same weights.

    python benchmarks/step.py [--json] [--layers 6 --d-model 512 --n-heads 8 --d-ff 2048 --vocab-size 8000]

Both sides read the same source on one CPU thread, decode the same forced tokens with their caches, and end up with all
weights of encoder, decoder and cross-attention. Before a clock starts, logits and weights of the two must agree.
"""

import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated

import orjson
import torch
import transformers
import typer
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from transformer.checkpoint import Checkpoint, Description
from transformer.config import ModelConfig
from transformer.model.models import Transformer
from transformer.tokenizer import Piece

SHAPES = {
    "translate": {"layers": 3, "d_model": 160, "n_heads": 4, "d_ff": 640, "vocab_size": 4_000},  # comes with the app
    "opus-mt": {"layers": 6, "d_model": 512, "n_heads": 8, "d_ff": 2048, "vocab_size": 8_000},  # theirs has 58,101
}
TOLERANCE = 1e-4
MARIAN_NAMES = {
    "src_embedding.tokens": "encoder.embed_tokens", "tgt_embedding.tokens": "decoder.embed_tokens",
    "attention_norm": "self_attn_layer_norm", "attention.": "self_attn.",
    "cross_norm": "encoder_attn_layer_norm", "cross.": "encoder_attn.",
    "feed_forward_norm": "final_layer_norm", "feed_forward.up": "fc1", "feed_forward.down": "fc2",
}
Weights = dict[str, Tensor]  # kind -> (layers, H, Tq, Tk)


class Numbers:
    """A tokenizer for a model that learned no language: a text is its ids, written out."""

    def pieces(self, text: str) -> list[Piece]:
        return [Piece(word, int(word), 0, 0, False) for word in text.split()]

    def piece(self, id: int) -> str:
        return str(id)


def build(layers: int, d_model: int, n_heads: int, d_ff: int, vocab_size: int) -> tuple[Checkpoint, torch.nn.Module]:
    """Our model as Marian builds its own (post-norm, sines then cosines, SiLU, padding as the start), and theirs."""
    config = ModelConfig(d_model=d_model, n_heads=n_heads, encoder_layers=layers, decoder_layers=layers, d_ff=d_ff,
                         vocab_size=vocab_size, max_len=256, norm="post", sinusoid_layout="halves", activation="silu",
                         start_id=0)
    generator = torch.Generator().manual_seed(1)
    ours = Transformer(config, generator=generator).eval().requires_grad_(False)
    for parameter in ours.parameters():
        if parameter.dim() == 1:  # biases and norms start as 0 and 1, where one in the wrong place would go unseen
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    theirs = transformers.MarianMTModel(transformers.MarianConfig(
        d_model=d_model, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=n_heads,
        decoder_attention_heads=n_heads, encoder_ffn_dim=d_ff, decoder_ffn_dim=d_ff, vocab_size=vocab_size,
        max_position_embeddings=config.max_len, activation_function="silu", scale_embedding=True,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=config.eos_id, forced_eos_token_id=None,
        attn_implementation="eager")).eval().requires_grad_(False)
    copied = {}
    for name, value in ours.state_dict().items():
        for mine, marian in MARIAN_NAMES.items():
            name = name.replace(mine, marian)
        copied["lm_head.weight" if name == "output.weight" else f"model.{name}"] = value
    missing, unexpected = theirs.load_state_dict(copied, strict=False)
    assert not unexpected, f"Marian has no place for {unexpected}"
    computed = {"final_logits_bias", "model.shared.weight", *(f"model.{x}.embed_positions.weight" for x in ("encoder", "decoder"))}
    assert set(missing) <= computed, f"no weights of ours for Marian's {set(missing) - computed}"
    about = Description(Path("random"), "random", config, None, None)
    return Checkpoint(about, ours, Numbers(), Numbers()), theirs


class Task:
    """A source and the ids that every side is made to decode after it."""

    def __init__(self, ckpt: Checkpoint, theirs: torch.nn.Module, *, tokens: int, source: int):
        self.ckpt, self.theirs, config = ckpt, theirs, ckpt.config
        generator = torch.Generator().manual_seed(2)
        words = torch.randint(4, config.vocab_size, (source - 1,), generator=generator).tolist()  # 0 to 3 are special
        self.text = " ".join(map(str, words))
        self.src = torch.tensor([[*words, config.eos_id]])
        self.forced = torch.randint(4, config.vocab_size, (tokens,), generator=generator).tolist()

    def steps(self) -> Iterator[transformer.Step]:
        return transformer.steps(self.ckpt, self.text, max_steps=len(self.forced), forced=dict(enumerate(self.forced)))

    def ours_at_the_end(self) -> Weights:
        """All steps, then the last one's weights, which have a row for every query so far."""
        for step in self.steps():
            last = step
        return dict(last.attentions)

    def ours_at_every_step(self) -> list[Weights]:
        """Every step's weights, each with a row for every query so far: the rows of old queries again and again."""
        return [dict(step.attentions) for step in self.steps()]

    def generate(self, **options: object) -> transformers.generation.GenerateEncoderDecoderOutput:
        """Marian's `generate`; each step's weights have one row, the newest query's."""
        def force(read: Tensor, scores: Tensor) -> Tensor:
            chosen = torch.zeros_like(scores)
            chosen[:, self.forced[read.shape[1] - 1]] = 1.0
            return chosen

        return self.theirs.generate(self.src, attention_mask=torch.ones_like(self.src), do_sample=False, num_beams=1,
                                    max_new_tokens=len(self.forced), eos_token_id=None, logits_processor=[force],
                                    output_attentions=True, return_dict_in_generate=True, **options)

    @torch.inference_mode()
    def loop(self) -> list[object]:
        """Marian's forward, once for the encoder and once a token; each token's weights have one row."""
        encoded = self.theirs.get_encoder()(self.src, output_attentions=True)
        read, past, outputs = self.theirs.config.decoder_start_token_id, None, [encoded]
        for id in self.forced:
            output = self.theirs(encoder_outputs=encoded, decoder_input_ids=torch.tensor([[read]]), past_key_values=past,
                                 use_cache=True, output_attentions=True)
            read, past = id, output.past_key_values
            outputs.append(output)
        return outputs

    def check(self) -> float:
        """The largest difference between our logits and weights and theirs. Raises AssertionError over TOLERANCE."""
        def by_kind(encoder: tuple, decoder: list[tuple], cross: list[tuple]) -> Weights:
            tokens = len(decoder)
            grown = [[torch.nn.functional.pad(x, (0, tokens - x.shape[-1])) for x in step] for step in decoder]
            return {"encoder": torch.cat(encoder), "decoder": torch.cat([torch.cat(step) for step in grown], dim=2),
                    "cross": torch.cat([torch.cat(step) for step in cross], dim=2)}

        generated, (encoded, *looped) = self.generate(output_logits=True), self.loop()
        assert generated.sequences[0, 1:].tolist() == self.forced, "generate did not decode the forced tokens"
        steps = list(self.steps())
        worst = 0.0
        for marian in (
            {"logits": torch.cat(generated.logits),
             **by_kind(generated.encoder_attentions, generated.decoder_attentions, generated.cross_attentions)},
            {"logits": torch.cat([x.logits[:, -1] for x in looped]),
             **by_kind(encoded.attentions, [x.decoder_attentions for x in looped], [x.cross_attentions for x in looped])},
        ):
            mine = {"logits": torch.stack([step.logits for step in steps]), **steps[-1].attentions}
            for name, value in mine.items():
                assert value.shape == marian[name].shape, f"{name}: ours {value.shape}, Marian's {marian[name].shape}"
                worst = max(worst, (value - marian[name]).abs().max().item())
                assert worst <= TOLERANCE, f"{name}: ours and Marian's differ by {worst:.1e}, over {TOLERANCE:.0e}"
        return worst


def measure(sides: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each side; they take turns, so that what else the machine does falls on all of them."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(repeats):
        for name, side in sides.items():
            began = perf_counter()
            side()
            taken[name].append(1e3 * (perf_counter() - began))
    return {name: median(times) for name, times in taken.items()}


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())

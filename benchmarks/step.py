"""Forty decoded tokens with every attention weight in memory, against Hugging Face's Marian or Llama with the same
weights.

    python benchmarks/step.py [--only opus-mt]
    python benchmarks/step.py --only smollm2 --model runs/imports/smollm2     # after `headsup import smollm2`

Both sides read the same source, or prompt, on one CPU thread, decode the same forced tokens with their caches, and end
up with all weights of every kind of attention. Before a clock starts, logits and weights of the two must agree.
Beside the times stands how long reading every weight from memory once a token would take by itself: no decoding of one
text is faster. Of a decoder, the next step with its weights is timed by itself too, behind texts of several lengths:
theirs returns the newest row, ours is read as that row, or as the whole matrix so far.

B batch, H heads, S source length, T target length.
"""

import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Annotated

import torch
import transformers
import typer
from torch import Tensor
from torch.nn.functional import pad

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from transformer.checkpoints.checkpoint import Checkpoint, save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from transformer.text.tokenizer import Piece

SHAPES = {
    # comes with the app
    "translate": {"layers": 4, "decoder_layers": 2, "d_model": 256, "n_heads": 4, "d_ff": 1_024, "vocab_size": 8_000},
    "opus-mt": {"layers": 6, "d_model": 512, "n_heads": 8, "d_ff": 2048, "vocab_size": 8_000},  # full size: 58,101
    # a Llama, by its grouped heads: SmolLM2-135M
    "smollm2": {"layers": 30, "d_model": 576, "n_heads": 9, "kv_heads": 3, "d_ff": 1536, "vocab_size": 49_152},
}
TOLERANCE = 1e-4
LENGTHS = [16, 128, 512]
MARIAN_NAMES = {
    "src_embedding.tokens": "encoder.embed_tokens", "tgt_embedding.tokens": "decoder.embed_tokens",
    "attention_norm": "self_attn_layer_norm", "attention.": "self_attn.",
    "cross_norm": "encoder_attn_layer_norm", "cross.": "encoder_attn.",
    "feed_forward_norm": "final_layer_norm", "feed_forward.up": "fc1", "feed_forward.down": "fc2",
}
Weights = dict[str, Tensor]  # kind -> (layers, H, Tq, Tk)


class Numbers:
    """A tokenizer for random weights: a text is a list of ids."""

    end_id = None  # appends nothing to a text

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def pieces(self, text: str) -> list[Piece]:
        return [Piece(word, int(word), 0, 0, False) for word in text.split()]

    def piece(self, id: int) -> str:
        return str(id)


def build(*, layers: int, d_model: int, n_heads: int, d_ff: int, vocab_size: int, decoder_layers: int | None = None,
          max_len: int = 256) -> tuple[Checkpoint, transformers.MarianMTModel]:
    """Our model as Marian builds its own (post-norm, sines then cosines, SiLU, padding as the start), and theirs; of
    `layers` in the encoder, and in the decoder too unless it has others."""
    decoder_layers = decoder_layers or layers
    config = ModelConfig(d_model=d_model, n_heads=n_heads, encoder_layers=layers, decoder_layers=decoder_layers,
                         d_ff=d_ff, vocab_size=vocab_size, max_len=max_len, norm_position="post",
                         sinusoid_layout="halves", activation="silu", start_id=0)
    generator = torch.Generator().manual_seed(1)
    model = Transformer(config, generator=generator).requires_grad_(False)
    for parameter in model.parameters():
        if parameter.dim() == 1:  # biases and norms start as 0 and 1, where one in the wrong place would go unseen
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    with TemporaryDirectory() as folder:
        save(Path(folder) / "random", model, tokenizer=None)
        ours = transformer.load(Path(folder) / "random")
    theirs = transformers.MarianMTModel(transformers.MarianConfig(
        d_model=d_model, encoder_layers=layers, decoder_layers=decoder_layers, encoder_attention_heads=n_heads,
        decoder_attention_heads=n_heads, encoder_ffn_dim=d_ff, decoder_ffn_dim=d_ff, vocab_size=vocab_size,
        max_position_embeddings=max_len, activation_function="silu", scale_embedding=True, pad_token_id=config.pad_id,
        decoder_start_token_id=config.start_id, eos_token_id=config.eos_id, forced_eos_token_id=None,
        attn_implementation="eager")).eval().requires_grad_(False)
    copied = {}
    for name, value in model.state_dict().items():
        for part, marian in MARIAN_NAMES.items():
            name = name.replace(part, marian)
        copied["lm_head.weight" if name == "output.weight" else f"model.{name}"] = value
    missing, unexpected = theirs.load_state_dict(copied, strict=False)
    assert not unexpected, f"Marian has no place for {unexpected}"
    missing = [name for name in missing if "embed_positions" not in name]  # sinusoids, which it makes as we do
    assert set(missing) <= {"final_logits_bias", "model.shared.weight"}, f"we have no weights for Marian's {missing}"
    return replace(ours, tokenizer=Numbers(), source_tokenizer=Numbers()), theirs


def made_llama(folder: Path, *, layers: int, d_model: int, n_heads: int, kv_heads: int, d_ff: int, vocab_size: int,
               max_len: int = 256) -> tuple[Path, transformers.LlamaForCausalLM]:
    """Ours with random weights as it is imported into a folder, and theirs."""
    torch.manual_seed(1)
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=d_model, num_hidden_layers=layers, num_attention_heads=n_heads, num_key_value_heads=kv_heads,
        intermediate_size=d_ff, vocab_size=vocab_size, max_position_embeddings=max_len, tie_word_embeddings=True,
        attn_implementation="eager")).eval().requires_grad_(False)
    theirs.save_pretrained(folder / "theirs")
    return transformer.import_model(folder / "theirs", folder / "ours", ids=True), theirs


def build_llama(**shape: int) -> tuple[Checkpoint, transformers.LlamaForCausalLM]:
    """Ours and theirs, of the same random weights."""
    with TemporaryDirectory() as folder:
        place, theirs = made_llama(Path(folder), **shape)
        ours = transformer.load(place)
    return replace(ours, tokenizer=Numbers(), source_tokenizer=Numbers()), theirs


def opened(folder: Path) -> tuple[Checkpoint, transformers.PreTrainedModel]:
    """A decoder that was imported, and theirs with the same weights."""
    ours = transformer.load(folder)
    with TemporaryDirectory() as there:
        transformer.export_model(ours, Path(there) / "theirs")
        theirs = transformers.AutoModelForCausalLM.from_pretrained(Path(there) / "theirs", attn_implementation="eager")
    return replace(ours, tokenizer=Numbers(), source_tokenizer=Numbers()), theirs.eval().requires_grad_(False)


class Task:
    """A source or a prompt, and the ids that every side is made to decode after it."""

    def __init__(self, ckpt: Checkpoint, theirs: torch.nn.Module, *, tokens: int, source: int):
        self.ckpt, self.theirs, config = ckpt, theirs, ckpt.config
        generator = torch.Generator().manual_seed(2)
        words = torch.randint(4, config.vocab_size, (source - 1,), generator=generator).tolist()  # 0 to 3 are special
        self.text, self.decoder = " ".join(map(str, words)), not config.encoder_layers
        self.src = torch.tensor([words if self.decoder else [*words, config.eos_id]])
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
        first = self.src.shape[1] if self.decoder else 1

        def force(read: Tensor, scores: Tensor) -> Tensor:
            chosen = torch.zeros_like(scores)
            chosen[:, self.forced[read.shape[1] - first]] = 1.0
            return chosen

        return self.theirs.generate(self.src, attention_mask=torch.ones_like(self.src), do_sample=False, num_beams=1,
                                    max_new_tokens=len(self.forced), eos_token_id=None, logits_processor=[force],
                                    output_attentions=True, return_dict_in_generate=True, **options)

    @torch.inference_mode()
    def loop(self) -> list[object]:
        """Their forward, once for the encoder or the prompt and once a token; each token's weights have one row."""
        if self.decoder:
            read, past, outputs = self.src, None, []
            for id in self.forced:
                output = self.theirs(read, past_key_values=past, use_cache=True, output_attentions=True)
                read, past = torch.tensor([[id]]), output.past_key_values
                outputs.append(output)
            return outputs
        encoded = self.theirs.get_encoder()(self.src, output_attentions=True)
        read, past, outputs = self.theirs.config.decoder_start_token_id, None, [encoded]
        for id in self.forced:
            output = self.theirs(encoder_outputs=encoded, decoder_input_ids=torch.tensor([[read]]),
                                 past_key_values=past, use_cache=True, output_attentions=True)
            read, past = id, output.past_key_values
            outputs.append(output)
        return outputs

    @torch.inference_mode()
    def newest(self, length: int) -> dict[str, float]:
        """Median milliseconds of processor time of the next step with its weights behind a text of some length: ours as
        the newest "row" or as "all" rows, and "peer". All take turns. Raises AssertionError where their rows differ."""
        generator = torch.Generator().manual_seed(length)
        ids = torch.randint(4, self.ckpt.config.vocab_size, (length,), generator=generator).tolist()
        row = whole = transformer.start(self.ckpt, " ".join(map(str, ids)))
        past = self.theirs(torch.tensor([ids]), use_cache=True).past_key_values
        taken: dict[str, list[float]] = {"row": [], "all": [], "peer": []}
        for id in self.forced:
            began = process_time()
            row = transformer.next_step(self.ckpt, row, id)
            newest = row.row("decoder")
            taken["row"].append(process_time() - began)
            began = process_time()
            whole = transformer.next_step(self.ckpt, whole, id)
            whole.attentions["decoder"]
            taken["all"].append(process_time() - began)
            began = process_time()
            output = self.theirs(torch.tensor([[id]]), past_key_values=past, use_cache=True, output_attentions=True)
            taken["peer"].append(process_time() - began)
            worst = (newest - torch.cat(output.attentions)[:, :, 0]).abs().max().item()
            assert worst <= TOLERANCE, f"rows differ by {worst:.1e}, over {TOLERANCE:.0e}"
        return {name: 1_000 * median(times[1:]) for name, times in taken.items()}  # the first is a warm-up

    def check(self) -> float:
        """The largest difference between our logits and weights and theirs. Raises AssertionError over TOLERANCE."""
        steps, generated, looped = list(self.steps()), self.generate(output_logits=True), self.loop()
        written = generated.sequences[0, -len(self.forced):].tolist()
        assert written == self.forced, "generate did not decode the forced tokens"
        ours = {"logits": torch.stack([step.logits for step in steps]), **steps[-1].attentions}
        worst = 0.0
        for theirs in self._theirs(generated, looped):
            for name, value in ours.items():
                assert value.shape == theirs[name].shape, f"{name}: {value.shape}, theirs {theirs[name].shape}"
                worst = max(worst, (value - theirs[name]).abs().max().item())
                assert worst <= TOLERANCE, f"{name}: ours and theirs differ by {worst:.1e}, over {TOLERANCE:.0e}"
        return worst

    def _theirs(self, generated: object, looped: list[object]) -> list[Weights]:
        """What `generate` and the loop of forward computed, in our form."""
        if self.decoder:
            return [{"logits": torch.cat(generated.logits), "decoder": together(generated.attentions)},
                    {"logits": torch.cat([output.logits[:, -1] for output in looped]),
                     "decoder": together([output.attentions for output in looped])}]
        encoded, *looped = looped
        return [
            {"logits": torch.cat(generated.logits), "encoder": torch.cat(generated.encoder_attentions),
             "decoder": together(generated.decoder_attentions), "cross": together(generated.cross_attentions)},
            {"logits": torch.cat([output.logits[:, -1] for output in looped]), "encoder": torch.cat(encoded.attentions),
             "decoder": together([output.decoder_attentions for output in looped]),
             "cross": together([output.cross_attentions for output in looped])},
        ]


def together(rows: list[tuple[Tensor, ...]]) -> Tensor:
    """Weights given some queries at a time, a (1, H, queries, Tk) for each layer -> (layers, H, Tq, last Tk)."""
    keys = rows[-1][0].shape[-1]
    return torch.cat([pad(torch.cat(layers), (0, keys - layers[0].shape[-1])) for layers in rows], dim=2)


def measure(sides: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each side; they take turns, so that what else the machine does falls on all of them."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for repeat in range(repeats + 1):
        for name, side in sides.items():
            began = perf_counter()
            side()
            if repeat:  # the first is a warm-up
                taken[name].append(1_000 * (perf_counter() - began))
    return {name: median(times) for name, times in taken.items()}


def floor(ckpt: Checkpoint, tokens: int) -> float:
    """Milliseconds to read all weights that a token meets, once a token: the sum of each, on as many threads."""
    model = ckpt.model
    parts = [model.decoder, model.output] if ckpt.config.decoder_layers else [model]
    weights = list({id(one): one for part in parts for one in part.parameters()}.values())
    taken = []
    for _ in range(5):
        began = perf_counter()
        for weight in weights:
            weight.sum()
        taken.append(1_000 * (perf_counter() - began))
    return tokens * min(taken)


def row(name: str, ours: float, peer: float) -> str:
    return f"{name:60}{ours:10.1f}{peer:10.1f}{peer / ours:14.2f}"


def main(
    tokens: Annotated[int, typer.Option(min=1, help="Tokens to decode.")] = 40,
    source: Annotated[int, typer.Option(min=1, help="Tokens to read, the end token included.")] = 24,
    only: Annotated[list[str], typer.Option(help=f"Of {', '.join(SHAPES)}; again for more.")] = [],  # noqa: B006
    repeats: Annotated[int, typer.Option(min=1, help="How often each side is timed.")] = 9,
    model: Annotated[Path | None, typer.Option(help="An imported decoder, in place of random weights.")] = None,
    lengths: Annotated[list[int], typer.Option(help="Tokens before a decoder's next step.")] = LENGTHS,
) -> None:
    """Time our steps with all attention weights against Hugging Face's."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, transformers "
          f"{transformers.__version__}, one thread, {tokens} tokens after {source}, {repeats} times")
    for name, shape in SHAPES.items():
        if only and name not in only:
            continue
        decoder, longest = "kv_heads" in shape, tokens + max([source, *lengths])
        if model and decoder:
            pair = opened(model)
        else:
            pair = build_llama(**shape, max_len=longest) if decoder else build(**shape, max_len=tokens + source)
        task = Task(*pair, tokens=tokens, source=source)
        print(f"\n{name}: {', '.join(f'{key} {size:,}' for key, size in shape.items())}")
        print(f"logits and weights agree, the largest difference is {task.check():.1e}")
        print(f"reading the weights once a token takes {floor(task.ckpt, tokens):,.0f} ms")
        print(f"{'medians in milliseconds':60}{'ours':>10}{'peer':>10}{'peer / ours':>14}")
        taken = measure({"end": task.ours_at_the_end, "generate": task.generate, "every": task.ours_at_every_step,
                         "loop": task.loop}, repeats)
        for reads, ours in (("weights read after the last step", "end"),
                            ("all weights so far read at every step", "every")):
            for against, peer in (("generate", "generate"), ("loop of forward", "loop")):
                print(row(f"{reads}, against {against}", taken[ours], taken[peer]))
        for length in lengths if decoder else ():
            newest = task.newest(length)
            for reads in ("row", "all"):
                print(row(f"processor, next step behind {length} tokens, read as {reads}", newest[reads],
                          newest["peer"]))


if __name__ == "__main__":
    typer.run(main)

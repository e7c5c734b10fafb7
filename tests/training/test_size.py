"""What a training takes, what there is, and the pieces that its batches are read in."""

from pathlib import Path

import pytest
import torch

from tests.choices import choices
from tests.rows import each_row
from tests.training import made_up
from transformer.basics.paths import ROOT
from transformer.checkpoints import checkpoint
from transformer.evaluation.quality import cross_entropy, held_out_loss, label_logits
from transformer.model.models import Transformer
from transformer.settings.config import RunConfig, TrainConfig
from transformer.settings.presets import PRESETS, preset
from transformer.text.batches import Batch
from transformer.training import memory_size, trainer
from transformer.training.memory_size import (
    SHARE,
    Peak,
    TooLarge,
    check_least,
    choose_micro_tokens,
    device_memory,
    estimated_activations,
    kept_memory,
    parameters_by_part,
)
from transformer.training.optim import make_optimizers

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SMALL = {"d_model": 32, "n_heads": 2, "d_ff": 48, "vocab_size": 90}
MONSTER = {"encoder_layers": 96, "decoder_layers": 96, "n_heads": 128, "d_model": 65_536, "batch_tokens": 4_000_000}
SHAPES = {"translation": {}, "text": made_up.WRITES, "classes": {**made_up.CLASSIFIES, "word_dropout": 0.0}}


@pytest.fixture
def left(monkeypatch):
    """left(bytes): so much memory is there."""
    return lambda count: monkeypatch.setattr(memory_size, "device_memory", lambda device: count)


def small(name: str) -> RunConfig:
    """A preset with its kinds of layers, norms, positions and dropout, and little of each."""
    shrunk = {stack: min(2, getattr(preset(name).model, stack)) for stack in ("encoder_layers", "decoder_layers")}
    sources = {"src_vocab_size": 80} if preset(name).model.src_vocab_size else {}
    return preset(name).set({**shrunk, **SMALL, **sources})


# What it takes


@each_row("name", PRESETS)
def test_the_parts_add_up_to_all_parameters(name):
    config = small(name).model
    model = Transformer(config)
    parts = parameters_by_part(config)
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())
    cross = [layer.cross for layer in model.decoder.layers] if "cross" in config.kinds else []
    norms = sum(p.numel() for layer in model.decoder.layers for p in layer.cross_norm.parameters()) if cross else 0
    assert parts.get("cross attention", 0) == sum(p.numel() for one in cross for p in one.parameters()) + norms
    tied = config.tie_embeddings and config.decoder_layers
    assert parts.get("output", 0) == (0 if tied else sum(p.numel() for p in model.output.parameters())) + (
        config.vocab_size if tied and config.logits_bias else 0)
    assert parts["embeddings"] >= 90 * 32


def test_a_shape_has_only_its_own_parts():
    assert list(parameters_by_part(preset("shakespeare").model)) == ["embeddings", "decoder"]
    assert list(parameters_by_part(preset("sentiment").model)) == ["embeddings", "encoder", "output"]


@pytest.mark.parametrize("optimizer", choices(TrainConfig, "optimizer"))
def test_weights_gradients_and_optimizer_take_what_they_take(optimizer):
    config = small("translate-small").set({"optimizer": optimizer, "decoder_layers": 1})
    model = Transformer(config.model)
    optimizers = make_optimizers(model, config.train)
    model(torch.tensor([[5, 6]]), torch.tensor([[2, 7]])).sum().backward()
    for one in optimizers:
        one.step()
    kept = kept_memory(config)
    assert kept["weights"] == sum(4 * p.numel() for p in model.parameters())
    assert kept["gradients"] == sum(4 * p.grad.numel() for p in model.parameters())
    states = [value for one in optimizers for state in one.state.values() for value in state.values()]
    assert kept["optimizer"] == sum(4 * value.numel() for value in states if value.dim())
    assert kept_memory(config, processes=2) == kept | {"gradients": 2 * kept["gradients"]}


def test_an_average_and_teachers_take_weights_of_their_own():
    config = small("translate-small")
    kept = kept_memory(config)
    assert kept_memory(config.set({"ema": 0.9})) == kept | {"weights": 2 * kept["weights"]}
    teacher = ROOT / "checkpoints" / "translate"
    taught = kept_memory(config.set({"distill": [str(teacher)] * 2}))
    numbers = sum(p.numel() for p in checkpoint.load(teacher).model.parameters())
    assert taught == kept | {"weights": kept["weights"] + 2 * 4 * numbers}


def saved_for_backward(config: RunConfig, *, rows: int, length: int) -> int:
    """Bytes that the forward pass of such a batch keeps beside the parameters, each storage once."""
    model, known, found = Transformer(config.model).train(), set(), {}
    known |= {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    ids = torch.randint(4, 80, (rows, length))
    batch = {"translation": Batch(ids, ids, ids, ids.numel()), "language-model": Batch(None, ids, ids, ids.numel()),
             "classification": Batch(ids, None, torch.zeros(rows, dtype=torch.long), rows)}[config.train.task]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = cross_entropy(*label_logits(model, batch), label_smoothing=config.train.label_smoothing)
    assert loss.requires_grad
    return sum(found.values())


@each_row("name", PRESETS)
@each_row("length", [8, 31])
def test_the_estimate_is_what_the_backward_pass_is_left_or_somewhat_more(name, length):
    config, rows = small(name), 248 // length
    kept = saved_for_backward(config, rows=rows, length=length)
    logits = 4 * 2 * rows * length * config.model.vocab_size * bool(config.model.decoder_layers)  # made in it
    estimate = estimated_activations(config.model, positions=rows * length, length=length, device=CPU)
    assert 0.95 * kept < estimate < 1.75 * kept + logits


def test_the_estimate_grows_with_what_it_depends_on():
    def estimate(positions=100, length=10, device=CPU, **changes):
        config = small("translate-small").set({"attention_dropout": 0.1, **changes}).model
        return estimated_activations(config, positions=positions, length=length, device=device)

    for more in ({"positions": 120}, {"d_ff": 49}, {"decoder_layers": 3}, {"vocab_size": 9_000}, {"length": 20}):
        assert estimate(**more) > estimate()
    for device, changes in ((GPU, {}), (CPU, {"attention_dropout": 0.0})):  # whose kernels make the weights again
        assert estimate(length=20, device=device, **changes) == estimate(length=10, device=device, **changes)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel counts no peak here")
def test_the_peak_is_what_was_in_use_in_between_and_has_gone():
    peak = Peak(CPU)
    torch.ones(60_000_000 // 4)  # freed at once
    assert 55e6 < peak.read() < 120e6


def test_the_cpu_says_how_much_memory_it_has_and_what_others_use_of_a_gpu_is_not_there(monkeypatch):
    assert 0 < device_memory(CPU) < 1e15
    monkeypatch.setattr(memory_size.gpu, "usage", lambda device: {"gpu_memory": 5e9, "gpu_memory_total": 16e9})
    assert device_memory(GPU) == 11e9


@pytest.fixture
def made_up_texts(monkeypatch):
    made_up.use(monkeypatch)


# What does not fit


def test_a_monster_is_refused_without_a_single_weight_unless_nobody_knows_how_much_there_is(left, monkeypatch):
    left(24_000_000_000)
    made = []
    real = torch.nn.Linear.__init__

    def counted(self, *arguments, **options):
        real(self, *arguments, **options)
        made.append(self.weight.device.type)

    monkeypatch.setattr(torch.nn.Linear, "__init__", counted)
    with pytest.raises(TooLarge, match=r"gradients and optimizer take 59\.\d TB, ") as refused:
        check_least(preset("translate-small").set(MONSTER), CPU)
    assert "and cpu has 24.0 GB left; lower d_model, d_ff or the number of layers" in str(refused.value)
    assert set(made) == {"meta"}
    assert len(made) < 30  # a layer stands for all like it
    left(None)
    check_least(preset("translate-small").set(MONSTER), CPU)


@each_row("name", PRESETS)
def test_every_preset_as_it_stands_may_start_beside_eight_gigabytes(left, name):
    left(8_000_000_000)
    check_least(preset(name), CPU)


def test_rows_too_long_for_the_memory_are_refused_with_what_to_lower(left):
    left(8_000_000_000)
    with pytest.raises(TooLarge, match=r"reading a row of 65,536 tokens .* TB more.*; lower max_len"):
        check_least(preset("gpt2").set({"max_len": 65_536}), CPU)


def test_a_vocabulary_counts_only_once_the_corpus_is_read(left):
    left(2_000_000_000)
    large = preset("translate-small").set({"vocab_size": 1_000_000})
    check_least(large, CPU)
    with pytest.raises(TooLarge, match="weights, gradients and optimizer take 2"):
        choose_micro_tokens(large, CPU, length=20)


def test_what_processes_on_one_machine_take_together_has_to_fit(left):
    config = preset("paper-base")
    alone = sum(kept_memory(config).values())
    left(6 * alone)
    check_least(config, CPU, processes=2)
    with pytest.raises(TooLarge):
        check_least(config, CPU, processes=6)
    check_least(config, GPU, processes=6)  # each has its own


@pytest.mark.usefixtures("made_up_texts")
def test_a_run_too_large_is_refused_before_its_model_is_made(tmp_path, left, monkeypatch):
    left(10_000)
    monkeypatch.setattr(trainer, "Transformer", lambda *_, **__: pytest.fail("made"))
    with pytest.raises(TooLarge, match="cpu has 10.0 kB left"):
        made_up.make(tmp_path)
    assert not (tmp_path / "config.json").exists()


# Pieces


@each_row("name", ["postnorm-small", "word-level", "translate", "gpt-lab", "shakespeare", "pooled-classifier",
                   "sentiment"])
def test_what_trains_on_a_laptop_is_read_in_one_piece(left, name):
    left(8_000_000_000)
    config = preset(name)
    assert choose_micro_tokens(config, CPU, length=min(64, config.model.max_len)) == config.train.batch_tokens


@each_row("name", ["gpt2", "paper-base", "annotated"])
@each_row("there", [6_000_000_000, 100_000_000_000])
def test_large_batches_are_halved_until_a_piece_fits(left, name, there):
    left(there)
    config = preset(name)
    length = 1_024 if name == "gpt2" else 100
    found = choose_micro_tokens(config, CPU, length=length)
    kept = sum(kept_memory(config).values())
    assert config.train.batch_tokens / 64 < found < config.train.batch_tokens
    piece = estimated_activations(config.model, positions=found, length=length, device=CPU)
    assert kept + piece < 6_000_000_000
    assert found == length or piece <= min(memory_size.LARGEST_PIECE, SHARE * there - kept)


def test_how_much_is_left_over_does_not_change_the_pieces(left):
    found = set()
    for there in (12_000_000_000, 13_500_000_000, 200_000_000_000):
        left(there)
        found.add(choose_micro_tokens(preset("paper-base"), CPU, length=100))
    assert len(found) == 1


def test_on_a_gpu_a_batch_is_one_piece_where_it_fits(left):
    config = preset("gpt2")
    left(140_000_000_000)
    assert choose_micro_tokens(config, GPU, length=1_024) == config.train.batch_tokens
    left(12_000_000_000)
    assert choose_micro_tokens(config, GPU, length=1_024) < config.train.batch_tokens


@pytest.mark.parametrize("positions", [1, 7, 12, 20, 1_000])
def test_pieces_are_whole_rows_and_all_of_them(positions):
    batch = Batch(torch.arange(20).view(5, 4), torch.arange(35).view(5, 7), torch.arange(35).view(5, 7), 31)
    pieces = batch.cut(positions)
    for whole, *parts in zip(batch[:3], *(piece[:3] for piece in pieces), strict=True):
        assert torch.equal(torch.cat(parts), whole)
    assert {piece.tokens for piece in pieces} == {31}
    assert all(len(piece.labels) == 1 or piece.tgt.numel() <= positions for piece in pieces)
    assert len(batch.cut(35)) == 1


@pytest.mark.usefixtures("made_up_texts")
@pytest.mark.parametrize(("accumulate", "smoothing"), [
    (1, 0.1), (3, 0.0), *(pytest.param(*row, marks=pytest.mark.rare("both are in make test, each without the other"))
                          for row in ((1, 0.0), (3, 0.1)))])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_in_pieces_teaches_what_it_teaches_whole(tmp_path, shape, smoothing, accumulate):
    settings = {**SHAPES[shape], "dropout": 0.0, "label_smoothing": smoothing, "accumulate": accumulate, "steps": 3,
                "batch_tokens": 80}  # without dropout, which draws anew for each piece
    whole = made_up.make(tmp_path / "whole", **settings)
    pieces = made_up.make(tmp_path / "pieces", **settings, micro_tokens=17)
    batch = whole.task.batches[0]
    assert len(batch.cut(17)) > 2
    for _ in range(3):
        one, other = whole.train_step(), pieces.train_step()
        assert (one.tokens, one.right) == (other.tokens, other.right)
        assert one.loss / one.tokens == pytest.approx(other.loss / other.tokens, abs=1e-5)
        assert one.grad_norm == pytest.approx(other.grad_norm, rel=1e-4)
    for mine, others in zip(whole.model.parameters(), pieces.model.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, others.grad, atol=1e-5, rtol=1e-3)
    held_out = whole.task.held_out
    assert held_out_loss(whole.model, held_out, micro_tokens=9) == pytest.approx(
        held_out_loss(whole.model, held_out), abs=1e-6)


@pytest.mark.usefixtures("made_up_texts")
def test_no_pass_reads_more_than_a_piece(tmp_path):
    run = made_up.make(tmp_path, micro_tokens=20, steps=6, eval_every=3)
    seen = []
    real = run.model.hidden
    run.model.hidden = lambda src, tgt: seen.append(max(src.numel(), tgt.numel())) or real(src, tgt)
    run.run()
    assert max(seen) <= 20
    assert len(seen) > 6


@pytest.mark.slow
@pytest.mark.usefixtures("made_up_texts")
def test_a_run_keeps_its_pieces_when_the_memory_has_changed(tmp_path, left):
    def started(folder):
        left(400_000)
        run = made_up.make(folder, steps=6)
        assert run.config.train.micro_tokens < made_up.TINY.train.batch_tokens
        return run

    started(tmp_path / "whole").run()
    for then in (350_000, 8_000_000_000):
        folder = tmp_path / str(then)
        made_up.stop_after(started(folder), 4).run()
        left(then)
        assert made_up.make(folder, steps=6).run() == "finished"
        made_up.assert_same(made_up.outcome(folder), made_up.outcome(tmp_path / "whole"))


@pytest.mark.usefixtures("made_up_texts")
def test_pieces_that_no_longer_fit_are_refused_until_smaller_ones_are_set(tmp_path, left):
    made_up.stop_after(made_up.make(tmp_path), 3).run()
    left(400_000)
    with pytest.raises(TooLarge, match=r"80 positions at once take .*; set micro_tokens to \d+ or less"):
        made_up.make(tmp_path)
    run = made_up.make(tmp_path, micro_tokens=16)
    assert (run.step, run.config.train.micro_tokens) == (3, 16)

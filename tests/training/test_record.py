"""What a run keeps to be watched by, and how much room that takes."""

import sys

import pytest
import torch

from transformer.jobs import run_files
from transformer.model.models import Transformer
from transformer.settings.presets import preset
from transformer.text.batches import Batch, Prefetched
from transformer.training.gpu import operations, peak, usage
from transformer.training.record import MOST_ATTENTION, SAMPLE_CHARACTERS, attention_steps, log_steps


@pytest.mark.parametrize("total", [1, 7, 300, 100_000])
def test_attention_is_kept_at_up_to_80_steps_and_fewer_where_each_is_large(total):
    assert attention_steps(total, 1_000) == log_steps(total, 80)
    for size in (300_000, 3_000_000, 50_000_000):
        steps = attention_steps(total, size)
        assert {1, total} <= steps
        assert len(steps) * size <= max(MOST_ATTENTION, 2 * size)


def samples(folder):
    return run_files.read(folder / "samples.jsonl")


@pytest.fixture
def trained(tmp_path):
    """trained("sentiment", corpus, steps=2): the folder of a tiny run."""
    from transformer.training.trainer import Trainer

    def trained(name, content, ending, **settings):
        corpus = tmp_path / f"corpus{ending}"
        corpus.write_text(content)
        config = preset(name).set({
            "corpus": str(corpus), "steps": 4, "eval_every": 2, "warmup": 1, "d_model": 16, "n_heads": 2, "d_ff": 16,
            "encoder_layers": preset(name).model.encoder_layers and 1, "max_len": 32, "batch_tokens": 64,
            "decoder_layers": preset(name).model.decoder_layers and 1, "vocab_size": 60, **settings})
        folder = tmp_path / "run"
        Trainer(folder, config, device=torch.device("cpu")).run()
        return folder

    return trained


PAIRS = "".join(f"I see {n} dogs.\tje vois {n} chiens.\nI see {n} dogs.\til y a {n} chiens.\n" for n in range(30))


def test_every_evaluation_of_a_translator_says_held_out_sentences(trained):
    found = samples(trained("translate-small", PAIRS, ".tsv", optimizer="adamw"))
    assert [row["step"] for row in found] == [2, 4]
    for row in found:
        assert 1 <= len(row["samples"]) <= 4
        for sample in row["samples"]:
            assert sample.keys() == {"text", "output", "reference"}
            assert f"{sample['text']}\t{sample['reference']}\n" in PAIRS


def test_every_evaluation_of_a_writer_goes_on_from_held_out_text(trained):
    text = "".join(f"line {n} of many\n" for n in range(200))
    found = samples(trained("shakespeare", text, ".txt", optimizer="adamw"))
    assert [row["step"] for row in found] == [2, 4]
    held_out = text[int(len(text) * 0.9):]
    for sample in found[-1]["samples"]:
        assert sample["text"] + sample["goes on"] in held_out
        assert 0 < len(sample["output"]) <= SAMPLE_CHARACTERS + 5


def test_each_text_is_gone_on_with_in_its_own_way_and_the_same_at_every_step(trained):
    found = samples(trained("shakespeare", "abcdefghij\n" * 400, ".txt", optimizer="adamw", lr=1e-9))  # learns nothing
    first, second = (row["samples"] for row in found)
    alike = [one == other for one, other in zip(*(sample["output"] for sample in first), strict=False)]
    assert sum(alike) < len(alike) / 2
    assert [sample["output"] for sample in first] == [sample["output"] for sample in second]


def test_every_evaluation_of_a_classifier_names_classes(trained):
    found = samples(trained("sentiment", "text,label\nso good,yes\nso bad,no\n", ".csv"))
    assert {sample["class"] for sample in found[0]["samples"]} == {"yes", "no"}
    assert {sample["output"] for row in found for sample in row["samples"]} <= {"yes", "no"}


def test_samples_change_no_bit_of_the_training(trained, monkeypatch):
    folder = trained("shakespeare", "abc def\n" * 200, ".txt", optimizer="adamw", dropout=0.3)
    before = (folder / "last" / "model.safetensors").read_bytes()[-4_000:]
    monkeypatch.setattr("transformer.training.trainer.record_samples", lambda *_: None)
    folder.rename(folder.with_name("with"))
    assert (trained("shakespeare", "abc def\n" * 200, ".txt", optimizer="adamw", dropout=0.3) / "last"
            / "model.safetensors").read_bytes()[-4_000:] == before


def test_metrics_are_mirrored_for_tensorboard(trained):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = trained("sentiment", "text,label\nso good,yes\nso bad,no\n", ".csv", tensorboard=True, steps=20)
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    rows = [row for row in run_files.read(folder / "metrics.jsonl") if "loss" in row]
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [
        (row["step"], pytest.approx(row["loss"])) for row in rows]
    assert "validation_loss" in events.Tags()["scalars"]


def test_after_a_crash_tensorboard_shows_each_step_once(trained):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def train(steps):
        return trained("sentiment", "text,label\nso good,yes\nso bad,no\n", ".csv", tensorboard=True, steps=steps)

    def shown(folder):
        events = EventAccumulator(str(folder / "tensorboard"))
        events.Reload()
        return {name: [event.step for event in events.Scalars(name)] for name in events.Tags()["scalars"]}

    def written(folder, name):
        return [row["step"] for row in run_files.read(folder / "metrics.jsonl") if name in row]

    folder = train(4)
    for last in (4, 6):  # saved; what comes after it, a crash leaves behind
        mirror = run_files.tensorboard(folder)
        for step in range(last + 1, 20):
            row = {"step": step, "time": 0.0, "loss": 1.0, "lr": 1.0, "validation_loss": 1.0}
            run_files.append(folder / "metrics.jsonl", row)
            mirror(row)
        train(last + 2)
    found = shown(folder)
    assert {"loss", "lr", "validation_loss"} <= set(found)
    for name, steps in found.items():
        assert steps == written(folder, name), name
        assert len(set(steps)) == len(steps), name


def test_without_tensorboard_its_mirror_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match="pip install tensorboard"):
        run_files.tensorboard(tmp_path)


def test_operations_are_six_a_parameter_and_position_and_those_of_the_scores():
    config = preset("shakespeare").set({"d_model": 16, "n_heads": 2, "d_ff": 32, "decoder_layers": 1,
                                        "vocab_size": 10}).model
    model = Transformer(config)
    batch = Batch(None, torch.zeros(3, 7, dtype=torch.long), torch.zeros(3, 7, dtype=torch.long), 21)
    parameters = sum(p.numel() for p in model.decoder.parameters()) + 16 * 10
    assert operations(model, batch) == 6 * 21 * parameters + 12 * 3 * 7 * 7 * 16


def test_known_gpus_have_a_peak_and_of_others_and_of_none_there_is_nothing_to_say():
    for name, expected in (("NVIDIA H100 80GB HBM3", 989e12), ("NVIDIA H100 PCIe", 756e12),
                           ("NVIDIA A100-SXM4-80GB", 312e12), ("Voodoo 2", None)):
        assert peak(name) == expected
    assert usage(torch.device("cpu")) == {}


def test_batches_are_made_ahead_and_are_the_same_in_any_order():
    indices = []

    class Numbered:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            indices.append(index)
            if index > 20:
                raise IndexError(index)
            return Batch(None, torch.tensor([index]), torch.tensor([index]), 1)

    batches = Prefetched(Numbered())
    assert [int(batches[i].tgt) for i in (0, 1, 2, 9, 3, 20)] == [0, 1, 2, 9, 3, 20]
    assert {0, 1, 2, 3, 4, 9, 20} <= set(indices)
    with pytest.raises(IndexError):
        batches[21]
    batches.close()
    assert int(batches[5].tgt) == 5  # it can be taken up again
    batches.close()

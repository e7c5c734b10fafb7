"""Recorded attention read back, whole, half written, damaged or too large."""

import json
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from tests.rows import each_row
from transformer.measures.matrices import PLACES, measure_heads
from transformer.training import forming
from transformer.training.forming import forming_stamp, read_forming, thinned

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
MODEL = {"d_model": 16, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 2, "d_ff": 32, "vocab_size": 30}
PINNED = [{"source": ["a", "b", "c"], "target": ["<s>", "d"]}]
SHAPES = {"0.encoder": (1, 2, 3, 3), "0.decoder": (2, 2, 2, 2), "0.cross": (2, 2, 2, 3)}


def tensors(seed: int) -> dict[str, np.ndarray]:
    random, found = np.random.default_rng(seed), {}
    for name, shape in SHAPES.items():
        weights = random.dirichlet(np.ones(shape[-1]), shape[:-1])
        if name == "0.decoder":
            weights = np.tril(weights)
            weights /= weights.sum(-1, keepdims=True)
        found[name] = np.round(np.sqrt(weights) * 255).astype(np.uint8)
    return found


@pytest.fixture
def run(tmp_path) -> Path:
    """A run folder with snapshots at steps 0, 1 and 10."""
    folder = tmp_path / "tiny"
    (folder / "attention").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model": MODEL, "train": {}}))
    (folder / "status.json").write_text(json.dumps({"state": "running"}))
    (folder / "attention" / "pinned.json").write_text(json.dumps(PINNED))
    for step in (10, 0, 1):
        (folder / "attention" / f"{step}.safetensors").write_bytes(save(tensors(step)))
    rows = [{"step": 1, "loss": 3.0}, {"step": 5, "loss": 2.0}, {"step": 5, "validation_loss": 2.5},
            {"step": 10, "loss": float(1)}, {"step": 12, "loss": 0.5}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 13, "lo')
    return folder


@pytest.mark.parametrize("name", ["translate", "write", "classify"])
def test_the_checkpoints_that_come_with_the_app_are_read(name):
    found = read_forming(CHECKPOINTS / name)
    files = CHECKPOINTS / name / "attention"
    assert found.steps == tuple(sorted(int(path.stem) for path in files.glob("*.safetensors")))
    assert found.name.startswith(f"{name}@") and not found.live and found.notes == ()
    assert sum(cells.nbytes for cells in found.cells.values()) < forming.MOST_BYTES
    assert found.training and found.validation
    for place in (0, len(found.steps) // 2, len(found.steps) - 1):
        step = found.steps[place]
        stored = load_file(files / f"{step}.safetensors")
        assert set(stored) == {f"{sentence}.{kind}" for sentence, kind in found.cells}
        for (sentence, kind), measures in found.measures.items():
            cells = stored[f"{sentence}.{kind}"]
            assert (found.cells[sentence, kind][place] == cells).all()
            assert cells.shape[2:] == tuple(map(len, found.sentences[sentence].axes(kind)))
            weights = (cells / 255.0) ** 2
            weights /= weights.sum(-1, keepdims=True)
            np.testing.assert_allclose(found.weights(sentence, kind, step), weights, atol=1e-6)
            expected, names = measure_heads(weights, kind=kind), list(found.rows[sentence, kind])
            assert measures.shape[1] == len(names) and set(PLACES) <= set(names)
            for measure in PLACES:
                np.testing.assert_allclose(measures[place, names.index(measure)], expected[measure], atol=1e-5)


def test_losses_stand_beside_the_snapshots_they_belong_to(run):
    found = read_forming(run)
    assert found.live and found.name == "run tiny" and found.steps == (0, 1, 10)
    assert found.training == ((1, 3.0), (5, 2.0), (10, 1.0), (12, 0.5)) and found.validation == ((5, 2.5),)
    assert found.losses == ((None, None), (3.0, None), (1.0, 2.5))
    assert found.heads == {"encoder": (1, 2), "decoder": (2, 2), "cross": (2, 2)}


def test_a_new_snapshot_changes_the_stamp_and_a_new_loss_does_not(run):
    before = forming_stamp(run)
    with open(run / "metrics.jsonl", "a") as file:
        file.write("\n" + json.dumps({"step": 14, "loss": 0.4}) + "\n")
    assert forming_stamp(run) == before
    (run / "attention" / "20.safetensors").write_bytes(save(tensors(20)))
    assert forming_stamp(run) != before
    assert read_forming(run).steps == (0, 1, 10, 20)


def test_a_run_that_has_recorded_nothing_yet_is_none(run, tmp_path):
    assert read_forming(tmp_path / "nowhere") is None
    for path in (run / "attention").glob("*.safetensors"):
        path.unlink()
    assert read_forming(run) is None
    (run / "attention" / "0.safetensors").write_bytes(save(tensors(0)))
    (run / "attention" / "pinned.json").unlink()  # written a moment after the first snapshot
    assert read_forming(run) is None
    shutil.rmtree(run / "attention")
    assert read_forming(run) is None


def with_header(content: bytes, change) -> bytes:
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    change(header)
    made = json.dumps(header).encode()
    return struct.pack("<Q", len(made)) + made + content[8 + length:]


GOOD = save(tensors(5))
DEEP = json.loads("[" * 500 + "]" * 500)
DAMAGED = {
    "empty": (b"", "ends in the middle"), "cut": (GOOD[:-5], "not whole"),
    "cut in the header": (GOOD[:40], "ends in the middle"),
    "no JSON": (struct.pack("<Q", 4) + b"\xff\xfe{]", "header"), "a list": (struct.pack("<Q", 2) + b"[]", "header"),
    "huge header": (struct.pack("<Q", 2 ** 63) + GOOD[8:], "ends in the middle"),
    "oversize": (GOOD + bytes(300_000), "more than"),
    "another shape": (with_header(GOOD, lambda header: header["0.cross"].update(shape=[0, 2**62])), "should be U8"),
    "beyond the end": (with_header(GOOD, lambda header: header["0.cross"].update(data_offsets=[10**9, 10**9 + 24])),
                       "not whole"),
    "another type": (with_header(GOOD, lambda header: header["0.cross"].update(dtype="F32")), "F32"),
    "a deep type": (with_header(GOOD, lambda header: header["0.cross"].update(dtype=DEEP)), "header"),
    "a long type": (with_header(GOOD, lambda header: header["0.cross"].update(dtype="U" * 9_000)), "header"),
    "another name": (with_header(GOOD, lambda header: header.update({"../../etc/x": header.pop("0.cross")})), "header"),
    "no weights": (save({name: np.zeros_like(found) for name, found in tensors(5).items()}), "sum to 0.00")}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_snapshot_is_left_out_with_a_note(run, content):
    data, why = content
    (run / "attention" / "5.safetensors").write_bytes(data)
    (run / "attention" / ".6.safetensors.tmp").write_bytes(b"half")
    found = read_forming(run)
    assert found.steps == (0, 1, 10)
    (note,) = found.notes
    assert note.startswith("attention/5.safetensors is left out") and why in note


def test_a_folder_whose_every_snapshot_is_damaged_says_so(run):
    for path in (run / "attention").glob("*.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(ValueError, match="none of the 3 snapshots of tiny can be read"):
        read_forming(run)


def test_what_is_not_a_file_is_not_opened(run):
    os.mkfifo(run / "attention" / "7.safetensors")
    (run / "attention" / "8.safetensors").mkdir()
    assert read_forming(run).steps == (0, 1, 10)


@each_row(("name", "content"), [
    *(("attention/pinned.json", pinned) for pinned in (
        "{", "[]", "{}", "[1]", '[{"source": null}]', json.dumps(PINNED * 6), "[" * 100_000, " " * 2_000_000,
        *(json.dumps([{"source": source, "target": ["b"]}]) for source in (["a"] * 257, [1], None)))),
    *(("config.json", config) for config in ("", "[]", "{}", json.dumps({"model": MODEL | {"n_heads": -1}})))])
def test_pinned_sentences_and_a_configuration_that_cannot_be_read_are_said(run, name, content):
    before = (run / name).read_text()
    (run / name).write_text(content)
    with pytest.raises(ValueError, match=Path(name).name):
        read_forming(run)
    (run / name).write_text(before)


def test_more_than_the_limit_is_thinned_and_keeps_the_ends(run, monkeypatch):
    for step in range(2, 10):
        (run / "attention" / f"{step}.safetensors").write_bytes(save(tensors(step)))
    size = sum(found.nbytes for found in tensors(0).values())
    monkeypatch.setattr(forming, "MOST_BYTES", 4 * size + 1)
    found = read_forming(run)
    assert len(found.steps) == 4 and found.steps[0] == 0 and found.steps[-1] == 10
    assert "11 snapshots" in found.notes[0] and "4 of them" in found.notes[0]
    monkeypatch.setattr(forming, "MOST_BYTES", size)
    with pytest.raises(ValueError, match=f"takes {size} bytes"):
        read_forming(run)


def test_metrics_that_are_missing_damaged_or_too_large_leave_the_attention(run, monkeypatch):
    (run / "metrics.jsonl").write_bytes(b'\xff\xfe\n{"step": "x", "loss": 1}\n{"step": 2, "loss": null}\n[1]\n'
                                        b'{"step": 3, "loss": 1e999}\n{"step": 4, "loss": true}\n')
    assert read_forming(run).training == ()
    monkeypatch.setattr(forming, "MOST_METRICS", 10)
    assert "no loss is shown" in read_forming(run).notes[0]
    (run / "metrics.jsonl").unlink()
    found = read_forming(run)
    assert found.training == () and found.losses == ((None, None),) * 3


def test_a_long_curve_is_thinned_by_the_logarithm_of_the_step():
    points = tuple((step, 1 / step) for step in range(1, 100_001))
    kept = thinned(points, 200)
    assert len(kept) <= 200 and kept[0] == points[0] and kept[-1] == points[-1]
    assert list(kept) == sorted(set(kept)) and set(kept) <= set(points)
    assert sum(step <= 1_000 for step, _ in kept) > 80
    assert thinned(points[:200], 200) == points[:200]


@pytest.mark.parametrize(("sentence", "kind", "measure", "weight_on"), [
    # what is to be written comes from the other end of the source
    ({"source": ["a", "b", "</s>"], "target": ["<s>", "b", "a"], "source_ids": [4, 5, 3], "target_ids": [2, 5, 4],
      "links": [[0, 1], [1, 0]]}, "cross", "alignment", {0: 1, 1: 0}),
    ({"source": None, "target": ["x", "y", "x", "y"], "target_ids": [7, 8, 7, 8], "random": True},
     "decoder", "induction", {2: 1, 3: 2}),
    ({"source": None, "target": ["(", "[", "]"], "target_ids": [7, 8, 9]}, "decoder", "bracket", {1: 1, 2: 0})])
def test_what_a_task_is_about_is_measured_on_each_sentence(tmp_path, sentence, kind, measure, weight_on):
    folder, layers = tmp_path / "run", {"encoder_layers": 1 if sentence["source"] else 0, "decoder_layers": 1}
    (folder / "attention").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model": MODEL | layers, "train": {}}))
    (folder / "attention" / "pinned.json").write_text(json.dumps([sentence]))
    random, cells = np.random.default_rng(1), {}
    sides = {"encoder": ("source", "source"), "decoder": ("target", "target"), "cross": ("target", "source")}
    for name, (queries, keys) in sides.items():
        if sentence[queries] and sentence[keys]:
            weights = random.dirichlet(np.ones(len(sentence[keys])), (1, 2, len(sentence[queries])))
            weights = np.tril(weights) if name == "decoder" else weights
            cells[f"0.{name}"] = np.round(np.sqrt(weights / weights.sum(-1, keepdims=True)) * 255).astype(np.uint8)
    (folder / "attention" / "0.safetensors").write_bytes(save(cells))
    found = read_forming(folder)
    rows = found.rows[0, kind]
    weights = found.weights(0, kind, 0)[0]
    expected = np.mean([weights[:, query, key] for query, key in weight_on.items()], axis=0)
    np.testing.assert_allclose(found.measures[0, kind][0, list(rows).index(measure), 0], expected, atol=1e-6)
    even = np.mean([1 / (query + 1 if kind == "decoder" else 3) for query in weight_on])
    assert rows[measure] == pytest.approx(even)


def test_what_can_be_measured_only_later_is_taken_of_all_steps(run):
    before = read_forming(run)
    assert "alignment" not in before.rows[0, "cross"]
    linked = [PINNED[0] | {"source_ids": [4, 5, 6], "target_ids": [2, 7], "links": [[0, 2], [1, 0]]}]
    (run / "attention" / "pinned.json").write_text(json.dumps(linked))
    (run / "attention" / "20.safetensors").write_bytes(save(tensors(20)))
    after, anew = read_forming(run, known=before), read_forming(run)
    assert "alignment" in after.rows[0, "cross"] and after.steps == (0, 1, 10, 20)
    for key in anew.rows:
        assert list(after.rows[key]) == list(anew.rows[key])
        np.testing.assert_array_equal(after.measures[key], anew.measures[key])

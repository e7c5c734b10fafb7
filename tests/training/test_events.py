"""Events of heads: crossings of a role's share in made attention, and those of a run, which its record gives again."""

import shutil

import numpy as np
import orjson
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tests.training import made_up
from tests.training.made_up import CLASSIFIES, WRITES, make, stop_after
from transformer.measures.catalogue import BY_NAME, MEASURES, measures_of
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from transformer.settings.presets import preset
from transformer.text.corpora import corpus
from transformer.training import links, tasks
from transformer.training.event_file import EVENTS_FILE, read_events, sentence
from transformer.training.events import HeadEvents, head_events
from transformer.training.record import link_pinned
from transformer.training.recorded import Pinned, PinnedTokens, RecordedMeasures, read_recorded
from transformer.training.runs import events, head_measures
from transformer.training.tasks import pinned_attention

SHAPES = {"translation": {}, "text": WRITES, "classes": CLASSIFIES}


@pytest.fixture(autouse=True)
def corpora(monkeypatch):
    made_up.use(monkeypatch)


def tokens(length, **more):
    side = tuple(f"t{at}" for at in range(length))
    return PinnedTokens(Pinned(side, side), {name: tuple(range(length)) for name in ("source", "target")}, **more)


def looking(kind, length, at, weight, heads=(1, 1)):
    """A snapshot in which every head puts that much weight on the key `at(query)`, and the rest evenly."""
    cells = np.zeros((*heads, length, length))
    for query in range(length):
        allowed = range(query + 1 if kind == "decoder" else length)
        cells[..., query, allowed] = (1 - weight) / len(allowed)
        if (key := at(query)) in allowed:
            cells[..., query, key] += weight
        cells[..., query, :] /= cells[..., query, :].sum(-1, keepdims=True)
    return {f"0.{kind}": np.round(255 * np.sqrt(cells)).astype(np.uint8)}


def run(kind, weights, at=lambda query: query - 1, *, untrained=None, length=12):
    config = ModelConfig(d_model=8, n_heads=1, vocab_size=30, **({
        "decoder": {"encoder_layers": 0, "decoder_layers": 1}, "encoder": {
            "encoder_layers": 1, "decoder_layers": 0, "pooling": "max", "n_classes": 2}}[kind]))
    measures = RecordedMeasures(config, [tokens(length)])
    found = HeadEvents(measures, None if untrained is None else measures(looking(kind, length, at, untrained)))
    for step, weight in enumerate(weights):
        found.add(10 * step, measures(looking(kind, length, at, weight)))
    return [event for event in found.events if event["measure"] == "previous"]


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_a_head_gains_a_role_once_it_crosses_its_share(kind):
    (event,) = run(kind, [0.0, 0.1, 0.8, 0.9], untrained=0.0)
    assert (event["step"], event["until"], event["kind"]) == (20, None, kind)
    assert event["value"] >= event["threshold"] >= 0.4
    assert sentence(event) == f"{kind[0].upper()}0H0 looks at the previous token from step 20 on"


def test_a_crossing_and_back_is_said_once_and_what_is_lost_ends():
    (event,) = run("decoder", [0.0, 0.8, 0.45, 0.8, 0.45, 0.9], untrained=0.0)  # not back half of the way
    assert (event["step"], event["until"]) == (10, None)
    (event,) = run("decoder", [0.0, 0.8, 0.0, 0.0], untrained=0.0)
    assert (event["step"], event["until"]) == (10, 20)
    (event,) = run("decoder", [0.0, 0.8, 0.0, 0.8], untrained=0.0)  # the same event goes on
    assert (event["step"], event["until"]) == (10, None)


def test_what_random_weights_do_too_and_what_a_short_text_does_is_no_event():
    assert not run("decoder", [0.6, 0.65, 0.7], untrained=0.6)
    assert run("decoder", [0.6, 0.65, 0.95], untrained=0.6)
    assert not run("decoder", [0.0, 0.9], untrained=0.0, length=2)  # one query that counts
    assert not run("encoder", [0.0, 0.9], untrained=0.0, length=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_heads", [1, 4])
def test_the_events_of_a_run_are_those_of_its_recorded_attention_whose_measures_are_means(tmp_path, shape, n_heads):
    """Means over the queries of all pinned sentences but the random one; induction is of that one."""
    run = tmp_path / "run"
    trainer = make(run, **SHAPES[shape], steps=6, eval_every=3, save_every=2, n_heads=n_heads)
    trainer.run()
    found = [event for event in read_events(run) if event["alert"] is None]
    assert found == head_events(run)
    assert len(events(run)) == len(read_events(run))
    table = head_measures(run)
    assert {*table["kind"]} == {*trainer.config.model.kinds} and {*table["head"]} == {*range(n_heads)}
    assert table["value"].notna().any()
    assert {*table["measure"]} == {measure.name for kind in trainer.config.model.kinds for measure in measures_of(kind)}
    pinned = orjson.loads((run / "attention" / "pinned.json").read_bytes())
    assert [row["random"] for row in pinned] == [False] * (len(pinned) - 1) + [True]
    table = table.set_index(["step", "kind", "layer", "head", "measure"])["value"]
    for step in (0, 6):
        stored = load_file(run / "attention" / f"{step}.safetensors")
        for kind in {name.split(".")[1] for name in stored}:
            weights = [(stored[f"{at}.{kind}"] / 255.0) ** 2 for at in range(len(pinned))]
            weights = [one / one.sum(-1, keepdims=True) for one in weights]
            choice = [[query for query in range(one.shape[2]) if (query if kind == "decoder" else one.shape[3] - 1)]
                      for one in weights]
            first = np.concatenate([one[:, :, rows, 0] for one, rows in zip(weights[:-1], choice, strict=False)], -1)
            ids = pinned[-1][f"{'target' if kind == 'decoder' else 'source'}_ids"]
            for layer, head in np.ndindex(first.shape[:2]):
                assert table[step, kind, layer, head, "first"] == pytest.approx(first[layer, head].mean(), abs=1e-6)
                if kind != "cross":  # each token after its first time, and what came after that
                    again = [(query, ids.index(token) + 1) for query, token in enumerate(ids)
                             if ids.index(token) < query]
                    expected = np.mean([weights[-1][layer, head, query, key] for query, key in again])
                    assert table[step, kind, layer, head, "induction"] == pytest.approx(expected, abs=1e-6)


def test_what_a_head_does_is_said_in_the_words_of_today(tmp_path):
    rows = [{"step": step, "words": "as it was once called", "kind": "cross", "layer": 0, "head": 1, "measure": name}
            for step, name in enumerate(BY_NAME)]
    (tmp_path / EVENTS_FILE).write_bytes(b"\n".join(map(orjson.dumps, rows)))
    for event, measure in zip(read_events(tmp_path), MEASURES, strict=True):
        assert event["words"] == (measure.role.words if measure.role else "as it was once called")


def test_damaged_events_are_left_out(tmp_path):
    good = {"step": 3, "words": "looks", "kind": "cross", "layer": 0, "head": 1, "measure": "gone"}
    bad = [{**good, "layer": -1}, {**good, "step": "x"}, {**good, "kind": "memory"}, {**good, "words": None}, 3, None]
    lines = [orjson.dumps(row) for row in (good, *bad, {"step": 1, "words": "idle", "alert": "idle"})]
    (tmp_path / EVENTS_FILE).write_bytes(b"\n".join([*lines, b"\xff{", b'{"step": 9, "wor']))
    assert [(event["step"], event["alert"]) for event in read_events(tmp_path)] == [(1, "idle"), (3, None)]
    escapes = {**good, "words": "looks\x1b]0;here\x07\x1b[2J at\u202e\nit"}
    (tmp_path / EVENTS_FILE).write_bytes(orjson.dumps(escapes))
    assert read_events(tmp_path)[0]["words"] == "looks ]0;here [2J at it"


def test_a_resumed_run_forgets_attention_of_later_steps(tmp_path):
    stop_after(make(tmp_path / "run", steps=4, save_every=2), 2).run()
    attention = tmp_path / "run" / "attention"
    shutil.copy(attention / "0.safetensors", attention / "3.safetensors")
    trainer = make(tmp_path / "run", steps=4, save_every=2)
    assert max(int(path.stem) for path in attention.glob("*.safetensors")) == 2
    trainer.run()


def test_a_run_from_before_there_were_random_tokens_and_ids_goes_on(tmp_path):
    stop_after(make(tmp_path / "run", steps=4, save_every=2), 2).run()
    attention = tmp_path / "run" / "attention"
    rows = orjson.loads((attention / "pinned.json").read_bytes())[:-1]
    (attention / "pinned.json").write_bytes(orjson.dumps([{side: row[side] for side in ("source", "target")}
                                                          for row in rows]))
    for path in attention.glob("*.safetensors"):
        save_file({name: one for name, one in load_file(path).items() if int(name.split(".")[0]) < len(rows)}, path)
    make(tmp_path / "run", steps=4, save_every=2).run()
    assert {*load_file(attention / "4.safetensors")} == {*load_file(attention / "0.safetensors")}
    table = head_measures(tmp_path / "run")
    assert table["step"].max() == 4 and not {"induction", "rare", "alignment"} & {*table["measure"]}
    assert read_events(tmp_path / "run") == head_events(tmp_path / "run")


def test_a_snapshot_that_cannot_be_read_is_left_out(tmp_path):
    trainer = make(tmp_path / "run", steps=4)
    trainer.run()
    path = tmp_path / "run" / "attention" / "2.safetensors"
    path.write_bytes(path.read_bytes()[:40])
    trainer.events.recorded(2)
    trainer.events.recorded(3_000)
    for name in ("01", "٣", "003"):  # none of ours
        (path.parent / f"{name}.safetensors").write_bytes((path.parent / "4.safetensors").read_bytes())
    table = head_measures(tmp_path / "run")
    assert not table.duplicated(["step", "kind", "layer", "head", "measure"]).any()
    assert 2 not in {*head_measures(tmp_path / "run")["step"]}


@pytest.mark.slow
def test_a_run_that_starts_from_a_checkpoint_is_held_against_random_weights(tmp_path):
    make(tmp_path / "first", steps=4).run()
    make(tmp_path / "second", steps=4, seed=5, start_from=str(tmp_path / "first" / "last")).run()
    recorded = read_recorded(tmp_path / "second")
    fresh = Transformer(recorded.config, generator=torch.Generator().manual_seed(5))
    task = make(tmp_path / "third", steps=4, start_from=str(tmp_path / "first" / "last")).task
    again = [*pinned_attention(fresh, [*task.pinned])]
    for at, by_kind in enumerate(again):
        for kind, cells in by_kind.items():
            assert (recorded.untrained()[f"{at}.{kind}"] == cells.numpy()).all()
    assert not all((one == other).all() for one, other in zip(
        recorded.untrained().values(), recorded.snapshot(0).values(), strict=True))


def test_words_of_pinned_pairs_are_aligned_once_that_delays_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "SECONDS", 1e9)  # never
    make(tmp_path / "run", steps=4).run()
    assert "alignment" not in {*head_measures(tmp_path / "run")["measure"]}
    monkeypatch.setattr(links, "SECONDS", 1e-6)
    task = make(tmp_path / "run", steps=4).task
    assert link_pinned(tmp_path / "run", task, seconds=0.0) and not link_pinned(tmp_path / "run", task, seconds=9.0)
    table = head_measures(tmp_path / "run")
    assert table[table["measure"] == "alignment"]["value"].notna().all()
    assert {*table[table["measure"] == "alignment"]["step"]} == {*table["step"]}


@pytest.mark.parametrize(("name", "source", "target", "expected"), [
    ("reverse", "abcd", "dcba", {(0, 3), (1, 2), (2, 1), (3, 0)}),
    ("sort", "3121", "1123", {(0, 1), (0, 3), (1, 1), (1, 3), (2, 2), (3, 0)}),
    ("add", "427+081", "0508", {(1, 0), (1, 4), (2, 1), (2, 5), (3, 2), (3, 6)})])
def test_the_links_of_a_synthetic_corpus_are_those_of_its_rule(name, source, target, expected, monkeypatch):
    monkeypatch.setattr(tasks, "corpus", corpus)
    task = tasks.prepare(preset(name).set({"pinned": (f"{source}\t{target}",)}))
    assert {*map(tuple, links.rule_links(task, task.pinned[0]))} == expected

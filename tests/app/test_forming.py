"""Attention as it forms, without a browser: what is sent, what the address chooses, and what cannot be shown."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from streamlit.testing.v1 import AppTest

import transformer
from tests.messages import unpacked
from transformer.checkpoints.checkpoint import describe, snapshots
from transformer.jobs import run_files
from transformer.measures.catalogue import measures_of
from transformer.settings.quick_tasks import QUICK
from ui.components import training_screen

from .page import ROOT, components, plain

CHECKPOINTS = ROOT / "checkpoints"
RECORDED = {folder.parent.name: sorted(int(file.stem) for file in folder.glob("*.safetensors"))
            for folder in sorted(CHECKPOINTS.glob("*/attention"))}  # steps
LATE = RECORDED["translate"][-9]
MODEL = json.loads((CHECKPOINTS / "translate" / "config.json").read_text())["model"]


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    """Opens the folder's view by an address: `opened(folder, forming_step=10)`."""

    def opened(folder: Path, **params: object) -> AppTest:
        at = AppTest.from_file(str(ROOT / "tests" / "app" / "forming_app.py"), default_timeout=300)
        at.query_params.update({"folder": str(folder)} | {name: str(value) for name, value in params.items()})
        return at.run()

    return opened


def received(at: AppTest) -> tuple[dict, dict[str, np.ndarray]]:
    """What the view was sent of the attention: the header, and the arrays by name."""
    (view,) = components(at, "training_screen")
    header, arrays = unpacked(view.bytes)
    return header, {name: array for name, array in arrays.items() if name.startswith(("cells/", "measures/"))}


def address(at: AppTest) -> dict[str, str]:
    return {name: value[0] if isinstance(value, list) else value for name, value in at.query_params.items()
            if name != "folder"}


def told(at: AppTest, number: int, *, need: bool = False, **selection: object) -> AppTest:
    """The browser says what it shows; its callback does not run here, so it is called."""
    chosen = received(at)[0]["selection"] | selection | {"number": number, "need": need}
    at.session_state["forming_forming"] = {"selection": chosen}
    for name in ("step", "kind", "layer", "head", "sentence"):
        at.session_state[f"forming_forming_{name}"] = chosen[name]
    at.session_state["forming_forming_answered"] = number
    if need:
        del at.session_state["forming_forming_sent"]
    return at.run()


@pytest.mark.parametrize("name", RECORDED)
def test_every_checkpoint_opens_at_its_newest_step_with_what_was_recorded(opened, name):
    at = opened(CHECKPOINTS / name)
    header, arrays = received(at)
    selection = header["selection"]
    assert selection["step"] is None and header["steps"] == RECORDED[name]
    assert not header["live"] and not header["notes"]
    key = f"{selection['sentence']}/{selection['kind']}"
    assert set(arrays) == {f"cells/{key}", f"measures/{key}"} and header["sent"] == {key: header["steps"]}
    newest = load_file(CHECKPOINTS / name / "attention" / f"{header['steps'][-1]}.safetensors")
    cells = newest[f"{selection['sentence'] - 1}.{selection['kind']}"]
    assert (arrays[f"cells/{key}"][-1] == cells).all()
    weights = (cells / 255.0) ** 2
    first = (weights / weights.sum(-1, keepdims=True))[..., selection["kind"] == "decoder":, 0].mean(-1)
    rows = [row["name"] for row in header["measures"][key]]
    np.testing.assert_allclose(arrays[f"measures/{key}"][-1][rows.index("first")], first, atol=1e-5)
    assert not address(at)  # nobody has chosen anything
    if name == "translate":
        nats = math.log(MODEL["vocab_size"])
        assert header["guessing"] == [pytest.approx(nats), f"guessing at random: {nats:.2g}"]


def test_an_address_chooses_what_is_seen(opened):
    at = opened(CHECKPOINTS / "translate", forming_step=LATE + 1, forming_kind="encoder", forming_layer=2,
                forming_head=1, forming_sentence=2)
    assert received(at)[0]["selection"] == {"step": LATE, "kind": "encoder", "layer": 2, "head": 1, "sentence": 2}
    assert address(at) == {"forming_step": str(LATE), "forming_kind": "encoder", "forming_layer": "2",
                           "forming_head": "1", "forming_sentence": "2"}


@pytest.mark.parametrize("params", [
    {"forming_step": -5, "forming_layer": 99, "forming_head": 99, "forming_sentence": 99, "forming_kind": "memory"},
    {"forming_step": "<b>", "forming_layer": "x", "forming_head": "1e999", "forming_sentence": "0", "forming_kind": ""},
    {"forming_step": "9" * 400, "forming_layer": "nan", "forming_head": "-1", "forming_sentence": "٣"}])
def test_hostile_addresses_are_brought_into_range(opened, params):
    header, _ = received(opened(CHECKPOINTS / "translate", **params))
    selection = header["selection"]
    assert selection["step"] in (None, *header["steps"]) and selection["kind"] == "cross"
    assert 0 <= selection["layer"] < MODEL["decoder_layers"] and 0 <= selection["head"] < MODEL["n_heads"]
    assert 1 <= selection["sentence"] <= 2


def test_snapshots_are_sent_once_and_again_when_the_browser_asks(opened):
    at = opened(CHECKPOINTS / "translate")
    assert received(at)[1]
    at.run()
    assert not received(at)[1] and received(at)[0]["sent"] == {"1/cross": []}
    assert received(at)[0]["measures"] == {}  # what they are is said once too
    told(at, 1, kind="decoder", layer=1)
    assert set(received(at)[1]) == {"cells/1/decoder", "measures/1/decoder"}
    assert address(at)["forming_kind"] == "decoder" and address(at)["forming_layer"] == "1"
    told(at, 2, kind="cross")
    assert not received(at)[1]
    told(at, 3, need=True)
    header, arrays = received(at)
    assert set(arrays) == {"cells/1/cross", "measures/1/cross"} and header["answered"] == 3


@pytest.fixture
def copied(tmp_path) -> Callable[[str], Path]:
    """copied("classify"): that checkpoint's files, as of a run."""
    def copied(name: str) -> Path:
        folder = shutil.copytree(CHECKPOINTS / name, tmp_path / "run", ignore=shutil.ignore_patterns("snapshots"))
        (folder / "manifest.json").unlink()
        return folder

    return copied


def test_new_snapshots_of_a_live_run_are_sent_alone_and_it_is_shown_though_its_settings_are_gone(opened, copied,
                                                                                                 tmp_path):
    folder = copied("classify")
    (folder / "status.json").write_text('{"state": "running"}')
    held = tmp_path / "504.safetensors"
    shutil.move(folder / "attention" / "504.safetensors", held)
    at = opened(folder)
    header, _ = received(at)
    assert header["live"] and header["name"] == "run run" and header["steps"][-1] == 436
    shutil.move(held, folder / "attention" / "504.safetensors")
    header, arrays = received(at.run())
    assert header["steps"][-1] == 504 and header["sent"] == {"1/encoder": [504]}
    assert arrays["cells/1/encoder"].shape == (1, 2, 4, 12, 12)
    assert header["selection"]["step"] is None
    (folder / "config.json").unlink()
    assert received(at.run())[0]["steps"] == header["steps"]


def test_what_others_than_the_view_choose_is_given_to_it_once(opened):
    at = opened(CHECKPOINTS / "translate")
    given = received(at)[0]["given"]
    at.session_state["forming_forming_step"] = LATE
    assert received(at.run())[0]["given"] == given + 1
    assert received(at.run())[0]["given"] == given + 1


def test_a_folder_with_nothing_recorded_says_so(opened, tmp_path):
    at = opened(tmp_path)
    assert "No attention recorded yet" in at.info[0].value and not at.get("bidi_component")
    (tmp_path / "status.json").write_text('{"state": "running"}')
    assert at.run().info[0].value.startswith("No attention")
    shutil.copytree(CHECKPOINTS / "classify" / "attention", tmp_path / "attention")
    shutil.copy(CHECKPOINTS / "classify" / "config.json", tmp_path)
    assert not at.run().info and received(at)[0]["live"]


def test_what_cannot_be_read_is_said_beside_the_rest_or_in_its_place(opened, copied):
    folder = copied("classify")
    (folder / "attention" / "504.safetensors").write_bytes(b"half")
    header, _ = received(opened(folder))
    assert header["steps"][-1] == 436 and "504.safetensors" in header["notes"][0]
    (folder / "attention" / "pinned.json").write_text("[{")
    assert "pinned.json" in plain(opened(folder).error[0].value)
    (folder / "config.json").write_text("{}")
    assert "config.json" in plain(opened(folder).error[0].value)


def test_samples_that_are_no_texts_are_left_out(tmp_path):
    good = {"text": "I am", "output": "Je suis"}
    for row in ({"step": 1, "samples": [None]}, {"step": 2, "samples": [{"text": 5, "output": [1]}, 3, good]},
                {"step": "x", "samples": [good]}, {"step": 3, "samples": 3}):
        run_files.append(tmp_path / "samples.jsonl", row)
    assert training_screen._samples(tmp_path) == [{"step": 2, "samples": [good | {"right": None}]}]


def test_tokens_are_sent_as_they_are_and_read_as_a_sentence(opened, copied):
    folder = copied("translate")
    pinned = json.loads((folder / "attention" / "pinned.json").read_text())
    pinned[0]["source"] = ["<b>x</b>", "$y$", "\u202e", ":red[z]", "</s>"]
    (folder / "attention" / "pinned.json").write_text(json.dumps(pinned))
    header, _ = received(opened(folder))
    assert header["sentences"][0]["source"] == pinned[0]["source"]
    assert header["sentences"][1]["label"] == "Do you know where he lives? → Sais-tu où il vit ?"


@pytest.mark.parametrize("name", QUICK)
def test_what_a_quick_task_is_about_is_the_first_curve(name):
    quick, about = QUICK[name], {one.measure for one in QUICK.values()}
    rows = {one.name: 0.25 for one in measures_of(quick.kind) if one.name not in about - {quick.measure}}
    sent = training_screen._measures(quick.kind, rows)
    assert [one["name"] for one in sent] == list(rows)
    drawn = sorted((one for one in sent if one["drawn"] is not None), key=lambda one: one["drawn"])
    assert [one["drawn"] for one in drawn] == list(range(training_screen.CURVES)) and drawn[0]["name"] == quick.measure
    assert drawn[0]["share"] and drawn[0]["unit"] and drawn[0]["title"]


@pytest.mark.parametrize(("corpus", "sample", "right"), [
    ("reverse", {"output": "cba ", "reference": "cba"}, True),
    ("reverse", {"output": "abc", "reference": "cba"}, False),
    ("eng-fra", {"output": "Je suis là.", "reference": "Je suis ici."}, None),  # as right as the one expected
    ("eng-fra", {"output": "Je suis ici.", "reference": "Je suis ici."}, True),
    ("sentiment", {"output": "positive", "class": "negative"}, False),
    ("tiny-shakespeare", {"output": "ord", "goes on": "rning"}, None),
    ("reverse", {"output": "cba", "reference": 5}, None)])
def test_an_answer_is_called_wrong_only_where_no_other_is_right(tmp_path, corpus, sample, right):
    (tmp_path / "config.json").write_text(json.dumps({"train": {"corpus": corpus}}))
    run_files.append(tmp_path / "samples.jsonl", {"step": 1, "samples": [{"text": "abc"} | sample]})
    [row] = training_screen._samples(tmp_path)
    assert row["samples"] == [{"text": "abc", "output": sample["output"], "right": right}]


def test_what_the_shipped_translator_wrote_is_what_its_weights_write(opened):
    folder = CHECKPOINTS / "translate"
    rows, newest = received(opened(folder))[0]["samples"], transformer.load(folder)
    steps = [0, *(int(part.name) for part in snapshots(folder)), describe(folder).step]
    assert [row["step"] for row in rows] == steps
    assert not any(one["output"] for one in rows[0]["samples"])  # random weights
    for path, row in ((snapshots(folder)[0], rows[1]), (folder, rows[-1])):
        ckpt = newest if path == folder else transformer.load(path)
        texts = [one["text"] for one in row["samples"]]
        assert transformer.translate(ckpt, texts, max_steps=40) == [one["output"] for one in row["samples"]]


def test_all_is_sent_again_when_more_can_be_measured(opened, copied):
    folder = copied("translate")
    at = opened(folder)
    before, _ = received(at)
    assert "alignment" not in [row["name"] for row in before["measures"]["1/cross"]]
    path = folder / "attention" / "pinned.json"
    path.write_text(json.dumps([row | {"links": [[0, 0], [1, 2]]} for row in json.loads(path.read_text())]))
    at.run()
    header, arrays = received(at)
    rows = [row["name"] for row in header["measures"]["1/cross"]]
    assert "alignment" in rows and header["of"] != before["of"] and header["sent"]["1/cross"] == header["steps"]
    assert arrays["measures/1/cross"].shape[:2] == (len(header["steps"]), len(rows))

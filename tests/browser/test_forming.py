"""Attention as it forms, in a browser: moved through by keyboard and pointer, it says and saves what was recorded."""

import csv
import json
import re
import shutil
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import expect
from safetensors.numpy import load_file

from transformer.basics.paths import ROOT
from transformer.checkpoints.openings import OPENINGS
from transformer.training.event_file import read_events, sentence

from .conftest import on_cell, on_tile, reached, saved

TRANSLATE = ROOT / "checkpoints" / "translate"
STEPS = sorted(int(path.stem) for path in (TRANSLATE / "attention").glob("*.safetensors"))  # recorded
*_, MIDDLE = (step for step in STEPS if step < STEPS[-1] / 5)
CONFIG = json.loads((TRANSLATE / "config.json").read_text())["model"]
LAYERS, HEADS = CONFIG["decoder_layers"], CONFIG["n_heads"]
TOP, RIGHT = LAYERS - 1, HEADS - 1  # the last layer, the last head
HEAD = OPENINGS["translation"].layer, OPENINGS["translation"].head  # that is shown until somebody chooses another


@pytest.fixture
def opened(visit):
    """Opens the view of a run or a checkpoint: `opened(forming_step=10)`."""
    def opened(run="checkpoints/translate", **params):
        page = visit(f"/train?{urlencode({'view': 'watch', 'run': run} | params)}")
        page.locator(".forming[data-drawn]").wait_for()
        return page

    return opened


@pytest.fixture
def live(theirs, tmp_path):
    """The folder of a run that is under way, with all but its last two snapshots, and where those are."""
    shutil.copytree(TRANSLATE / "attention", theirs / "attention")
    shutil.copy(TRANSLATE / "config.json", theirs)
    for step in STEPS[-2:]:
        shutil.move(theirs / "attention" / f"{step}.safetensors", tmp_path / f"{step}")
    return theirs, tmp_path


def recorded(step, kind, layer, head, *, sentence=1, folder=TRANSLATE):
    cells = load_file(folder / "attention" / f"{step}.safetensors")[f"{sentence - 1}.{kind}"][layer, head]
    weights = (cells / 255.0) ** 2
    return weights / weights.sum(-1, keepdims=True)


def drawn(page, kind, sentence, step, layer, head):
    expect(page.locator(f'.forming[data-drawn="{kind},{sentence},{step},{layer},{head}"]')).to_have_count(1)


def table(page):
    """The measures of the chosen head at the chosen step: where they are of, and the numbers."""
    cells = page.locator(".forming td.here").evaluate_all(
        "cells => cells.map((cell) => [{ ...cell.dataset }, cell.textContent])")
    of = {(found["kind"], int(found["layer"]), int(found["head"]), int(found["step"])) for found, _ in cells}
    assert len(of) == 1
    return of.pop(), {found["measure"]: float(value) for found, value in cells}


def expected(weights):
    """The measures of cross-attention, written out. The last source tokens are "." and "</s>"."""
    targets, sources = weights.shape
    aligned = [int((i + 0.5) * sources / targets) for i in range(targets)]
    entropy = np.mean([-sum(w * np.log(w) for w in row if w > 0) for row in weights])
    return {"entropy": entropy, "evenness": entropy / np.log(sources),
            "distance": np.mean([np.abs(np.arange(sources) - j) @ weights[i] for i, j in enumerate(aligned)]),
            "punctuation": np.mean(weights[:, -2]), "end": np.mean(weights[:, -1]),
            "diagonal": np.mean([weights[i, j] for i, j in enumerate(aligned)]),
            "previous": np.mean([weights[i, j - 1] for i, j in enumerate(aligned) if j]),
            "first": np.mean(weights[:, 0])}


def test_training_is_moved_through_by_keys_and_by_dragging_and_the_table_follows(opened, complaints):
    page = opened(forming_step=MIDDLE, forming_layer=1, forming_head=2)
    slider = page.get_by_role("slider", name="Training step")
    slider.focus()
    at = STEPS.index(MIDDLE)
    for key, to in [("ArrowRight", at + 1), ("ArrowLeft", at), ("ArrowLeft", at - 1), ("PageUp", at + 4), ("Home", 0)]:
        page.keyboard.press(key)
        drawn(page, "cross", 1, STEPS[to], 1, 2)
        of, found = table(page)
        assert of == ("cross", 1, 2, STEPS[to])
        assert found == pytest.approx(expected(recorded(STEPS[to], "cross", 1, 2)), abs=1e-4)
        assert f"snapshot {to + 1} of {len(STEPS)}" in slider.get_attribute("aria-valuetext")
    reached(page, forming_step=0, forming_layer=1)
    page.keyboard.press("End")
    drawn(page, "cross", 1, STEPS[-1], 1, 2)
    page.wait_for_function("!new URLSearchParams(location.search).has('forming_step')")
    page.keyboard.press("Escape")
    assert not slider.evaluate("slider => slider.getRootNode().activeElement === slider")
    box = page.locator("[data-part=loss] .u-over").bounding_box()
    last = page.locator(".forming").evaluate("root => root.view.loss.chart.plot.scales.x.max")
    late = STEPS[-4]
    page.mouse.click(box["x"] + box["width"] * late / last, box["y"] + box["height"] / 2)
    drawn(page, "cross", 1, late, 1, 2)
    reached(page, forming_step=late)
    page.reload()
    drawn(page, "cross", 1, late, 1, 2)
    assert not complaints


def test_an_event_and_its_mark_on_the_curve_lead_to_its_step_and_its_head(opened):
    page = opened(forming_step=0, forming_kind="decoder")
    event = next(event for event in read_events(TRANSLATE) if event["measure"] == "alignment")
    page.get_by_role("button", name=sentence(event), exact=True).click()
    step = max(step for step in STEPS if step <= event["step"])
    drawn(page, "cross", 1, step, event["layer"], event["head"])
    reached(page, forming_step=step, forming_kind="cross", forming_layer=event["layer"], forming_head=event["head"])
    assert page.locator(".forming .events li").count() == len(read_events(TRANSLATE))
    *_, event = read_events(TRANSLATE)  # no other mark is near
    box = page.locator("[data-part=loss] .u-over").bounding_box()
    last = page.locator(".forming").evaluate("root => root.view.loss.chart.plot.scales.x.max")
    page.mouse.click(box["x"] + box["width"] * event["step"] / last, box["y"] + 4)
    step = min(STEPS, key=lambda step: abs(step - event["step"]))
    drawn(page, event["kind"], 1, step, event["layer"], event["head"])


@pytest.mark.rare("every step of a training")
def test_the_newest_events_are_in_sight_at_every_step(opened):
    page, events = opened(forming_step=0), read_events(TRANSLATE)
    page.get_by_role("slider", name="Training step").focus()
    for at, step in enumerate(STEPS):
        drawn(page, "cross", 1, step, *HEAD)
        reached = [event for event in events if event["step"] <= step]
        newest = [sentence(event) for event in reached if event["step"] == reached[-1]["step"]]
        assert page.locator(".forming .events [aria-current]").all_inner_texts() == newest
        if newest:
            assert page.locator(".forming .events").evaluate("""(list, words) => {
              const button = [...list.querySelectorAll("[aria-current]")].at(-1);
              const [outer, inner] = [list.getBoundingClientRect(), button.getBoundingClientRect()];
              return inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
            }"""), step
        if at + 1 < len(STEPS):
            page.keyboard.press("ArrowRight")


def test_heads_kinds_and_sentences_are_chosen_and_their_weights_said(opened):
    page = opened(forming_step=MIDDLE, forming_kind="cross", forming_sentence=2)
    view = page.locator(".forming")
    view.locator(".grid").click(position=on_tile(view, TOP, RIGHT))
    drawn(page, "cross", 2, MIDDLE, TOP, RIGHT)
    reached(page, forming_layer=TOP, forming_head=RIGHT)
    expect(page.get_by_role("heading", name=f"layer {TOP}, head {RIGHT}")).to_be_visible()
    weights = recorded(MIDDLE, "cross", TOP, RIGHT, sentence=2)
    for query, key in [(0, 0), (7, 5), (3, 7)]:
        view.locator("[data-part=head] canvas").first.hover(position=on_cell(view, query, key))
        readout = page.locator(f'.readout[data-query="{query}"][data-key="{key}"]')
        expect(readout).to_have_count(1)
        assert float(readout.get_attribute("data-weight")) == pytest.approx(weights[query, key], abs=1e-6)
    assert "Sais" not in readout.inner_text() and "tu" in readout.inner_text()
    page.get_by_role("radio", name="Decoder").click()
    drawn(page, "decoder", 2, MIDDLE, TOP, RIGHT)
    page.get_by_label("Sentence", exact=True).select_option("1")
    drawn(page, "decoder", 1, MIDDLE, TOP, RIGHT)
    reached(page, forming_kind="decoder", forming_sentence=1)
    _, found = table(page)
    weights = recorded(MIDDLE, "decoder", TOP, RIGHT)
    assert found["previous"] == pytest.approx(np.diag(weights, -1).mean(), abs=1e-4)
    assert found["diagonal"] == pytest.approx(np.diag(weights)[1:].mean(), abs=1e-4)
    page.locator(".forming").evaluate(  # lost on the way
        "(root, middle) => root.view.store.get('1/cross')?.delete(middle)", MIDDLE)
    page.get_by_role("radio", name="Cross").click()
    drawn(page, "cross", 1, MIDDLE, TOP, RIGHT)
    assert table(page)[1] == pytest.approx(expected(recorded(MIDDLE, "cross", TOP, RIGHT)), abs=1e-4)
    where = page.locator(".forming").evaluate("""root => {
      const canvas = root.view.parts.measures[1].canvas;
      canvas.scrollIntoView({ block: "center" });
      const box = canvas.getBoundingClientRect();
      return [box.left + 44 + (box.width - 58), box.top, box.height, root.view.most.value];
    }""")
    highest = max(((layer, head) for layer in range(LAYERS) for head in range(HEADS)),
                  key=lambda at: expected(recorded(STEPS[-1], "cross", *at))["diagonal"])
    value = expected(recorded(STEPS[-1], "cross", *highest))["diagonal"]
    x, y = where[0] - 1, where[1] + 12 + (where[2] - 36) * (1 - value / where[3])
    page.mouse.move(x, y)
    readout = page.locator(".readout[data-diagonal]")
    expect(readout).to_have_count(1)
    assert float(readout.get_attribute("data-diagonal")) == pytest.approx(value, abs=1e-5)
    page.mouse.click(x, y)
    drawn(page, "cross", 1, MIDDLE, *highest)
    page.emulate_media(reduced_motion="reduce")  # one snapshot a second
    page.get_by_role("slider", name="Training step").focus()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator('.forming[data-drawn="cross,1,{},{},{}"]'.format(MIDDLE, *highest))).to_have_count(0)
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Escape")
    page.emulate_media(reduced_motion="null")
    page.get_by_role("button", name="Play").click()
    drawn(page, "cross", 1, STEPS[-1], *highest)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_live_run_goes_on_without_losing_the_readers_place(opened, live):
    (folder, kept), page = live, opened("theirs")
    older, newer, newest = STEPS[-3:]
    drawn(page, "cross", 1, older, *HEAD)
    expect(page.get_by_role("button", name="Follow newest")).to_have_attribute("aria-pressed", "true")
    shutil.move(kept / f"{newer}", folder / "attention" / f"{newer}.safetensors")
    drawn(page, "cross", 1, newer, *HEAD)
    page.get_by_role("slider", name="Training step").focus()
    page.keyboard.press("ArrowLeft")
    drawn(page, "cross", 1, older, *HEAD)
    shutil.move(kept / f"{newest}", folder / "attention" / f"{newest}.safetensors")
    slider = page.get_by_role("slider", name="Training step")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(f"of {len(STEPS)}"))
    drawn(page, "cross", 1, older, *HEAD)
    page.get_by_role("button", name="Follow newest").click()
    drawn(page, "cross", 1, newest, *HEAD)


@pytest.mark.rare("seconds: a message that is lost, two files, and a projector")
def test_what_was_lost_is_asked_again_files_say_what_they_are_of_and_a_curve_is_sharp_on_a_projector(opened):
    page = opened(forming_step=MIDDLE, forming_layer=1, forming_head=2, forming_kind="decoder")
    page.locator(".forming").evaluate("""root => {
      const { view } = root, send = view.send;
      view.send = () => { view.send = send; };
    }""")
    page.get_by_role("radio", name="Cross").click()
    drawn(page, "cross", 1, MIDDLE, 1, 2)
    saves = page.get_by_label("Save", exact=True)
    name, text = saved(page, lambda: saves.select_option("csv"))
    assert re.fullmatch(rf"translate@\w{{8}}-forming-cross-sentence1-step{MIDDLE}\.csv", name)
    lines = text.decode("utf-8").splitlines()
    assert all(part in lines[1] for part in ("translate@", f"step {MIDDLE}", "kind cross", "sentence 1: I am cold."))
    rows = list(csv.DictReader(lines[2:]))
    assert len(rows) == len(STEPS) * LAYERS * HEADS
    (row,) = [row for row in rows if (row["step"], row["layer"], row["head"]) == (str(MIDDLE), "1", "2")]
    assert {name: float(row[name]) for name in expected(np.eye(2))} == pytest.approx(
        expected(recorded(MIDDLE, "cross", 1, 2)), abs=1e-5)
    _, picture = saved(page, lambda: saves.select_option("png-light"))
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(picture[16:20], "big") == 2480
    for presented in (False, True):
        if presented:
            page.keyboard.press("f")
            reached(page, present=1)
        canvas = page.locator("[data-part=loss] canvas")
        points, seen = canvas.evaluate("canvas => canvas.width"), canvas.bounding_box()["width"]
        assert points == pytest.approx(seen * page.evaluate("devicePixelRatio"), abs=2), presented

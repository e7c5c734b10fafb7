"""Heads switched off on the Heads page: a text before and after, and every head in turn in a process of its own."""

import csv
import io
import json
import time

import numpy as np
import pytest
import torch

import transformer
from tests.app.heads_checkpoints import WITHOUT_TOKENIZER, make
from tests.markup import Markup
from tests.waiting import until
from transformer.analysis.ablation import Head, all_heads, compare_paths, switch_heads
from transformer.basics.spreadsheet import MARK
from transformer.jobs import run_files
from transformer.jobs.launch import progress
from transformer.jobs.process import identify
from transformer.studies import ablation_job
from ui.access import quotas, visitors
from ui.components.head_maps import switched_heads as switched_heads_of
from ui.views.heads import switched_heads
from ui.views.heads.head_ablation import as_csv
from ui.views.heads.switch_state import read_heads, write_heads
from ui.views.heads.switched_heads import DEMONSTRATIONS, Demonstration

from .conftest import at_home
from .page import TOLD, chips, components, html_of, matrix, press, put, said, table_of, words

PAGE = "heads"
ELSEWHERE = [Demonstration("I am cold.", Head("cross", 9, 9))]  # of weights with more heads
pytestmark = pytest.mark.usefixtures("few_corpora", "lasting")


@pytest.fixture
def visit_switch(visit):
    """Opens the view with all its boxes open."""
    return lambda ckpt, **params: visit(PAGE, view="switch", checkpoint=ckpt.id, each="open", chances="open",
                                        seen="open", **params)


def button(at, name):
    return next((one for one in at.button if one.key == f"heads_{name}"), None)


def probabilities(at):
    """Before, after and the change, by row."""
    return Markup(html_of(at, 'aria-label="probabilities of each')).grid().astype(float)


def maps(at, *, switches=False):
    """The maps of effects, or those of the switches."""
    found = [json.loads(view.json) for view in components(at, "head_maps")]
    return [one for one in found if ("answered" in one) == switches]


def test_both_paths_are_shown_and_the_first_token_that_differs_is_marked(made, visit_switch):
    ckpt, text = made("translator"), "a dog is cold."
    change = [transformer.scale("D0H1", 0), transformer.scale("X1H0", 0)]
    before, after = (list(transformer.steps(ckpt, text, max_steps=60, change=one)) for one in (None, change))
    differs = next(at for at, (one, two) in enumerate(zip(before, after, strict=False)) if one.id != two.id)
    at = visit_switch(ckpt, text=text, heads="decoder:0:1,cross:1:0")
    assert not at.error
    for label, path in (("tokens before", before), ("tokens after", after)):
        assert [chip.replace("␣", " ") for chip in chips(at, label)] == [step.piece.replace("▁", " ") for step in path]
        assert f'class="predicted" data-position="{differs}"' in table_of(at, label)
    assert f"First difference: step {differs}." in words(at)
    forced = transformer.steps(ckpt, text, max_steps=len(before), change=change,
                               forced={step.index: step.id for step in before})
    found = probabilities(at)
    for step, after_it, (one, other, by) in zip(before, forced, found, strict=True):
        assert one == pytest.approx(float(step.logits.softmax(-1)[step.id]), rel=1e-4)
        assert other == pytest.approx(float(after_it.logits.softmax(-1)[step.id]), rel=1e-4)
        assert by == pytest.approx(other - one, abs=1e-6)
    assert [link.proto.page for link in at.get("page_link") if link.proto.query_string] == ["translate"] * 2


def test_the_attention_before_and_after_is_that_of_attend(made, visit_switch):
    ckpt = made("classifier")
    change = transformer.uniform("encoder.0", heads=[1])
    text = "a dog is tall, too."
    at = visit_switch(ckpt, text=text, heads="encoder:0:1", what="uniform", seen_kind="encoder", seen_layer="1",
                      seen_head="0")
    one, other = (transformer.attend(ckpt, text, change=given) for given in (None, change))
    for name, reading in (("before", one), ("after", other)):
        weights = reading.attentions["encoder"][1, 0].numpy()
        assert np.abs(matrix(at, f"heads_seen_{name}") - weights).max() < 1e-6
    difference = (other.attentions["encoder"] - one.attentions["encoder"])[1, 0].numpy()
    assert np.abs(matrix(at, "heads_seen_difference") - difference).max() < 1e-6
    expected = torch.stack([one.logits.exp(), other.logits.exp()], 1)
    assert np.allclose(probabilities(at)[:, :2], expected[expected[:, 0].argsort(descending=True)], rtol=1e-5)
    (chart,) = at.get("vega_lite_chart")
    assert chart.proto.alt.startswith("Probabilities of 2 before and after.")
    assert at.query_params["what"] == "uniform"


def test_a_head_pressed_goes_into_the_address_and_all_on_again_empties_it(made, visit_switch):
    at = visit_switch(made("writer"), text="a dog")
    at.session_state["heads_heads"] = read_heads("decoder:1:0,decoder:1:1")
    at.run()
    assert at.query_params["heads"] == "decoder:1:0,decoder:1:1"
    assert [card["title"] for card in maps(at, switches=True)[0]["cards"]] == ["Decoder · 2 off"]
    assert maps(at, switches=True)[0]["crossed"] == ["decoder:1:0", "decoder:1:1"]
    press(at, "heads_all_on")
    assert "heads" not in at.query_params and not maps(at, switches=True)[0]["crossed"]
    assert [card["title"] for card in maps(at, switches=True)[0]["cards"]] == ["Decoder"]


def test_what_is_no_switch_switches_nothing():
    for sent in (None, "x", {}, {"heads": "decoder:0:0", "sent": 1}, {"heads": ["decoder:0:0"]},
                 {"heads": ["decoder:0:0"], "sent": "1"}, {"heads": ["decoder:0:0"], "sent": -1}):
        assert switched_heads_of({"switch": sent}) is None
    assert switched_heads_of({"switch": {"heads": ["decoder:0:1", None], "sent": 3}}) == (["decoder:0:1", "None"], 3)
    assert read_heads(",".join(["decoder:0:1", "None", "<b>", "decoder:0:-1"])) == [Head("decoder", 0, 1)]


def test_a_text_that_cannot_be_read_is_said(made, visit_switch):
    for text, said_of_it in (("  ", "Type a text above"), ("a " * 60, "the model reads at most 60")):
        at = visit_switch(made("writer"), text=text, heads="decoder:1:0")
        assert said_of_it in words(at)
        assert button(at, "effects_start") is not None


def test_heads_in_an_address_read_back_as_they_were_written_and_hostile_ones_come_into_range(made, visit_switch):
    ckpt = made("translator")
    heads = "decoder:0:1,decoder:9:9,<b>:0:0,cross:-1:0,cross:1e9:0,:::,encoder:0:0:0,decoder:0:1," + "x," * 3_000
    at = visit_switch(ckpt, heads=heads, what="on", limit="1e99", seen_kind="?", seen_layer="99", seen_head="99")
    assert not at.error
    assert at.query_params["heads"] == "decoder:0:1"
    assert "what" not in at.query_params and at.query_params["limit"] == "50"
    heads = [Head("encoder", 0, 3), Head("cross", 11, 11)]
    assert read_heads(write_heads(heads)) == heads
    assert read_heads("") == []


@pytest.mark.parametrize("name", WITHOUT_TOKENIZER)
def test_an_import_without_a_tokenizer_is_switched_on_ids(name, made_without_tokenizer, visit_switch):
    ckpt = made_without_tokenizer(name)
    at = visit_switch(ckpt, text="5 6 7 8", heads=f"{ckpt.config.kinds[0]}:0:0")
    assert not at.error
    assert at.get("plotly_chart")
    assert "does not name its training corpus" in words(at) and button(at, "effects_start") is None


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A home, a translator in it, and the folder of its finished job."""
    home = tmp_path_factory.mktemp("measured")
    ckpt = make(home, "translator")
    return home, ckpt, ablation_job.run(ckpt, home / "analysis", limit=50)


@pytest.fixture
def done(measured):
    """That translator and that folder, in that home."""
    home, *found = measured
    with at_home(home):
        yield found


def test_what_was_measured_is_drawn_for_everybody(done, visit_switch):
    ckpt, folder = done
    at = visit_switch(ckpt, limit="50", heads="cross:1:0")
    found = ablation_job.read(folder)
    (sent,) = maps(at)
    assert [(card["name"], card["kind"]) for card in sent["cards"]] == [
        (name, kind) for name in ("change", "bleu_change") for kind in ("encoder", "decoder", "cross")]
    assert sent["crossed"] == ["cross:1:0"]
    for card in sent["cards"][:3]:
        kinds = found.values[card["kind"]]
        assert card["maps"][0]["faint"] == (np.abs(kinds["change"]) <= 2 * kinds["se"]).tolist()
    (html,) = [element.value for element in at.get("html") if "effects of the heads" in element.value]
    value = found.values["cross"]["change"][1, 0]
    assert f'data-kind="cross" data-layer="1" data-head="0" data-measure="change">{value:.6g}<' in html
    assert f"loss {found.baseline['loss']:.4g}" in sent["origin"] and f"{found.n} sentences" in sent["origin"]
    assert button(at, "effects_start") is None  # nothing is left to do
    rows = list(csv.DictReader(io.StringIO(as_csv(folder).removeprefix(MARK))))
    assert len(rows) == len(all_heads(ckpt.config))
    assert float(rows[-1]["change"]) == found.values["cross"]["change"][1, 1]


def test_a_job_is_started_with_what_was_chosen_unless_the_teacher_forbids_it(own_home, visit_switch, monkeypatch):
    started = []
    monkeypatch.setattr("ui.views.heads.head_ablation.launch", lambda *given, **more: started.append((given, more)))
    ckpt = make(own_home, "classifier")
    press(visit_switch(ckpt, limit="50", what="uniform"), "heads_effects_start")
    assert started == [((ckpt.description.folder, own_home / "analysis"), {
        "what": "uniform", "limit": 50, "corpus": None, "owner": visitors.digest("my own key"),
        "at_once": quotas.MEASUREMENTS})]
    (own_home / "others-may-start").write_text("no")
    at = visit_switch(ckpt, limit="50")
    assert button(at, "effects_start").disabled and "only the teacher can measure heads on this server" in words(at)


@pytest.mark.rare("a process of its own; what it is started with is tested above, and the job beside the library")
def test_a_job_started_here_is_watched_until_it_has_finished(own_home, visit_switch):
    ckpt = make(own_home, "classifier")
    at = visit_switch(ckpt, limit="50")
    folder = ablation_job.place(own_home / "analysis", ckpt.id, limit=50)
    assert "It takes about" in words(at)
    press(at, "heads_effects_start")
    at.run()
    until(lambda: not progress(folder).under_way, lambda: (folder / "log.txt").read_text())
    at.run()
    assert progress(folder).state == "finished", (folder / "log.txt").read_text()
    (sent,) = maps(at)
    assert [card["name"] for card in sent["cards"]] == ["change", "accuracy_change"]


def begun(home, ckpt, *, state="running", owner=None, rows=2, alive=True, **status):
    """A job as a process of somebody else leaves it half-way."""
    folder = ablation_job.place(home / "analysis", ckpt.id, limit=50)
    ablation_job.run(ckpt, home / "analysis", limit=50)
    run_files.replace(folder / "heads.jsonl", b"".join((folder / "heads.jsonl").read_bytes().splitlines(True)[:rows]))
    about = identify(1) or {"pid": 1}
    run_files.write_json(folder / "status.json", {"state": state, "step": rows, "steps": 6, "why": None, **(
        about if alive else {}), **status})
    run_files.write_json(folder / "launch.json", {"owner": owner, "time": time.time(), **(about if alive else {})})
    return folder


@pytest.mark.parametrize(("owner", "stops"), [("f" * 32, False), (None, True)], ids=["another's", "a shell's"])
def test_a_job_is_stopped_by_whom_a_run_would_be(owner, stops, own_home, visit_switch, accepted_part):
    ckpt = make(own_home, "classifier")
    begun(own_home, ckpt, owner=owner)
    at = visit_switch(ckpt, limit="50")
    assert button(at, "effects_stop").disabled != stops
    accepted_part("heads.switch.told", f"a job of {'a shell' if stops else 'another'} half-way", said(at, *TOLD))
    (sent,) = maps(at)
    waiting = [cell for card in sent["cards"] for row in card["maps"][0]["shades"] for cell in row if cell < 0]
    assert len(waiting) == 2 * 2  # of four heads two are measured, in two maps


def test_no_more_than_two_are_under_way_at_once(own_home, visit_switch, monkeypatch):
    ckpt = make(own_home, "classifier")
    for name in ("one@1", "two@2"):
        folder = own_home / "analysis" / name / "off-50"
        folder.mkdir(parents=True)
        run_files.write_json(folder / "launch.json", {"time": time.time(), **identify(1)})
    at = visit_switch(ckpt, limit="50")
    press(at, "heads_effects_start")
    assert "at most 2: one@1, off-50, two@2, off-50" in words(at)
    assert not ablation_job.place(own_home / "analysis", ckpt.id, limit=50).exists()


def test_a_job_that_failed_says_why_with_the_end_of_its_log(own_home, visit_switch, accepted_part):
    ckpt = make(own_home, "classifier")
    folder = begun(own_home, ckpt, state="failed", alive=False, why="no room on the disk")
    (folder / "log.txt").write_text("reading\nOSError: no room on the disk\n")
    at = visit_switch(ckpt, limit="50")
    accepted_part("heads.switch.told", "a job that failed", said(at, *TOLD, "code"))
    assert button(at, "effects_start").label == "Go on"


def test_a_large_model_is_not_timed_before_a_start(own_home, visit_switch, monkeypatch, accepted_part):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1_000)
    monkeypatch.setattr("ui.views.heads.head_ablation.measure", lambda *_: pytest.fail("a large model was timed"))
    at = visit_switch(make(own_home, "classifier"), limit="50")
    accepted_part("heads.switch.told", "a large model", said(at, *TOLD))
    assert not button(at, "effects_start").disabled


def test_only_sizes_that_the_split_has_are_offered_and_all_of_it_once(made, visit_switch):
    ckpt = made("translator")
    count = len(transformer.evaluation.held_out.held_out_sentences(ckpt, limit=None))
    assert count < 50
    at = visit_switch(ckpt, limit="2000")
    sizes = at.button_group(key="heads_limit")
    assert sizes.options == [f"all {count}"] and sizes.value == 50


def test_a_change_of_accuracy_has_its_error_and_an_old_one_without_it_says_so(own_home, visit_switch, accepted_part):
    ckpt = make(own_home, "classifier")
    folder = ablation_job.run(ckpt, own_home / "analysis", limit=50)
    rows = run_files.read(folder / "heads.jsonl")
    (sent,) = maps(visit_switch(ckpt, limit="50"))
    (card,) = [card for card in sent["cards"] if card["name"] == "accuracy_change"]
    for row in rows:
        (hint, faint) = (card["maps"][0][name][row["layer"]][row["head"]] for name in ("hints", "faint"))
        assert f"standard error {100 * row['accuracy_se']:.2g}" in hint
        assert faint == (abs(row["accuracy_change"]) <= 2 * row["accuracy_se"])
    old = [{name: value for name, value in row.items() if name != "accuracy_se"} for row in rows]
    run_files.replace(folder / "heads.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in old))
    at = visit_switch(ckpt, limit="50")
    (sent,) = maps(at)
    assert not np.any([card["maps"][0]["faint"] for card in sent["cards"] if card["name"] == "accuracy_change"])
    accepted_part("heads.switch.told", "an old measurement of a classifier", said(at, *TOLD))
    assert "classes to predict" not in sent["origin"]


def test_the_measurement_of_the_other_switch_is_named(done, visit_switch, accepted_part):
    ckpt, _ = done
    at = visit_switch(ckpt, limit="50")
    accepted_part("heads.switch.told", "measured with each head off", said(at, *TOLD))
    at = visit_switch(ckpt, limit="50", what="uniform")
    accepted_part("heads.switch.told", "not measured with each head uniform", said(at, *TOLD))


def test_it_opens_on_a_sentence_that_the_head_matters_to_and_shows_an_address_as_it_is(visit, shipped):
    ckpt, (first, second) = shipped("translate"), DEMONSTRATIONS
    at = visit(PAGE, view="switch")
    assert at.text_input(key="heads_text").value == first.text
    assert at.session_state["heads_heads"] == [first.head]
    change = compare_paths(ckpt, first.text, switch_heads(ckpt.config, first.head), max_steps=60)
    assert f"First difference: step {change.differs}." in words(at)
    put(at, "heads_demonstration", 1)
    assert at.text_input(key="heads_text").value == second.text and "First difference" in words(at)
    press(at, "heads_all_on")
    assert not at.session_state["heads_heads"] and "First difference" not in words(at)
    at = visit(PAGE, view="switch", text="I like red wine.")
    assert at.text_input(key="heads_text").value == "I like red wine." and not at.session_state["heads_heads"]


@pytest.mark.parametrize("kind", ["translator", "writer", "classifier"])
def test_other_weights_claim_nothing_and_ask_for_heads(kind, made, visit_switch, monkeypatch):
    monkeypatch.setattr(switched_heads, "DEMONSTRATIONS", ELSEWHERE)
    ckpt = made(kind, corpus=False)  # for which no other test has asked which sentences show something
    at = visit_switch(ckpt)
    assert not at.error and not at.session_state["heads_heads"] and "First difference" not in words(at)
    there = {(card["kind"], layer, head) for card in maps(at, switches=True)[0]["cards"]
             for layer, row in enumerate(card["maps"][0]["texts"]) for head, _ in enumerate(row)}
    assert there == {*map(tuple, all_heads(ckpt.config))}
    assert not [one for one in at.button_group if one.key == "heads_demonstration"]

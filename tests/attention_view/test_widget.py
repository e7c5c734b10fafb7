"""The live view of a notebook, without a notebook: what its picture asks for, what Python sets, and what is sent."""

import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

import transformer
from tests.messages import unpacked
from tests.rows import each_row
from transformer.attention_view import notebook
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.notebook import show
from transformer.inference import decoding_tree
from transformer.inference.decoding import Sampling

pytest.importorskip("anywidget", reason="pip install anywidget")
TEXT = "I am cold."


class Reader:
    """Somebody at the picture of a view: asks for what a click or a key asks for."""

    def __init__(self, view):
        self.view, self.numbers, self.asked = view, {"_look": 0, "_move": 0}, 0

    @property
    def sent(self):
        return unpacked(self.view.message)

    def look(self, **parts):
        self.numbers["_look"] += 1
        selection = self.sent[0]["selection"] | parts
        self.view.set_state({"_look": {"number": self.numbers["_look"], **json.loads(json.dumps(selection))}})

    def move(self, index, *choices, again=False):
        self.numbers["_move"] += not again
        self.asked += 1
        number, steps = self.numbers["_move"], self.sent[0]["step_view"]["steps"]
        self.view.set_state({"_move": {
            "index": index, "number": number, "decoding": steps["decoding"], "from": steps["index"],
            "choices": [{"number": number, "at": at, "nth": nth} for at, nth in choices], "asked": self.asked}})

    def branch(self, nth):
        self.asked += 1
        self.view.set_state({"_branch": {"branch": nth, "number": self.asked}})


@pytest.fixture
def step(translator):
    return list(transformer.steps(translator, TEXT, max_steps=6))[-1]


@pytest.fixture
def view(step):
    return show(step)


@pytest.fixture
def reader(view):
    return Reader(view)


@pytest.fixture
def heard(view):
    """What Python is told of: [(name, new value)]."""
    found = []
    view.observe(lambda change: found.append((change["name"], change["new"])), ["selection", "step"])
    return found


def test_python_hears_what_is_looked_at_once_and_is_sent_the_head_in_full(view, reader, heard, step):
    reader.look(kind="encoder", layer=1, head=1, pair=[2, 0])
    assert heard == [("selection", Selection("encoder", 1, 1, pair=(2, 0)))]
    header, arrays = reader.sent
    assert header["answered"] == 1 and header["selection"]["pair"] == [2, 0]
    np.testing.assert_allclose(arrays["weights"], step.attentions["encoder"][1, 1], atol=1e-6)
    assert not any(name.endswith(("/decoder", "/cross")) for name in arrays)  # of what nobody looks at nothing is sent


@pytest.mark.parametrize("asked", [{"layer": 1, "head": 1}, {"kind": "decoder"}, {"view": "lines", "lit": (1,)},
                                   {"pair": (1, 1)}, {"of": "mean_heads"}, {"tokens": "words"}, {"order": "previous"}])
def test_the_picture_follows_a_selection_that_python_sets(view, reader, heard, asked):
    reader.look(head=1)
    heard.clear()
    view.selection = asked
    assert len(heard) == 1
    sent = reader.sent[0]
    assert {name: sent["selection"][name] for name in asked} == json.loads(json.dumps(asked))
    assert sent["answered"] == 1  # nothing newer than what was asked for: the picture takes it over
    view.selection = Selection("cross")
    assert reader.sent[0]["selection"]["kind"] == "cross" and view.selection == Selection("cross")


@each_row(("asked", "why"), [
    ({"layer": 2}, "layer is 2; there are 2, counted from 0"), ({"head": -1}, "head is -1; there are 2"),
    ({"kind": "middle"}, "kind is 'middle'; choose from encoder, decoder, cross"),
    ({"pair": (0, 99)}, "pair is .* keys, counted from 0"), ({"view": "film"}, "choose from matrix, lines"),
    ({"stage": "scores", "of": "mean_heads"}, "some need a single head"), ({"layers": 1}, "has no layers; it has kind"),
    (5, "of type int"), (None, "of type NoneType")])
def test_a_selection_of_what_is_not_there_is_refused_and_nothing_changes(view, reader, heard, asked, why):
    before = view.message, view.selection
    with pytest.raises(ValueError, match=why):
        view.selection = asked
    assert (view.message, view.selection) == before and heard == []


def test_moving_forwards_runs_the_model_and_python_hears_of_the_step(translator, heard):
    view = show(transformer.start(translator, TEXT))
    reader, found = Reader(view), []
    view.observe(lambda change: found.append(change["new"]), "step")
    reader.move(2)
    expected = list(transformer.steps(translator, TEXT, max_steps=3))[-1]
    assert [one.index for one in found] == [2] and view.step.tokens == expected.tokens
    header, arrays = reader.sent
    assert header["step_view"]["steps"] | {"index": 2, "answered": 1, "going": False} == header["step_view"]["steps"]
    np.testing.assert_allclose(arrays["weights"], expected.attentions["cross"][0, 0], atol=1e-5)
    reader.move(0)
    assert view.step.index == 0 and header["step_view"]["text"]["written"] == expected.output
    assert reader.sent[0]["kinds"]["cross"]["ahead"]["queries"] == [*map(expected.label, expected.tokens[1:])]


def test_a_candidate_branches_and_a_branch_is_gone_back_to(view, reader, step):
    other = step.path()[1].top(2)[1]
    reader.move(2, (1, 1))
    assert view.step.tokens[-1] == other.id and view.step.index == 2
    row = next(row for row in reader.sent[0]["step_view"]["rows"] if row["part"] == "target")
    assert row["picked"] == [2]
    assert len(reader.sent[0]["step_view"]["branches"]) == 2
    reader.branch(0)
    assert view.step.tokens == step.path()[2].tokens
    reader.branch(5)  # of what is not there nothing comes
    assert view.step.tokens == step.path()[2].tokens


def test_what_was_written_by_itself_is_not_marked_as_chosen_and_what_was_not_is(translator):
    step = list(transformer.steps(translator, TEXT, max_steps=4))[-1]
    rows = lambda view: Reader(view).sent[0]["step_view"]["rows"][1]["picked"]  # noqa: E731
    assert rows(show(step)) == []
    first = transformer.start(translator, TEXT)
    other = transformer.next_step(translator, first, id=first.top(2)[1].id)
    assert rows(show(other)) == [1]
    hot = Sampling(temperature=3.0, seed=5)
    *_, step = transformer.steps(translator, TEXT, max_steps=4, sampling=hot)
    view = show(step, sampling=hot)
    assert view.step is step and rows(view) == []
    Reader(view).move(step.index + 1)
    assert view.step.id == transformer.next_step(translator, step, sampling=hot).id


def test_a_long_way_is_gone_a_portion_at_a_time_and_can_be_left(translator, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(decoding_tree, "monotonic", lambda: next(clock))
    view = show(transformer.start(translator, TEXT))
    reader = Reader(view)
    reader.move(6)
    seen = reader.sent[0]["step_view"]["steps"]
    assert seen["going"] and seen["answered"] == 0 and 0 < seen["index"] < 6
    reader.move(view.step.index)  # stop
    assert not reader.sent[0]["step_view"]["steps"]["going"] and view.step.index == seen["index"]
    reader.move(6)
    while reader.sent[0]["step_view"]["steps"]["going"]:
        reader.move(6, again=True)
    assert view.step.index == 6 and reader.sent[0]["step_view"]["steps"]["answered"] == reader.numbers["_move"]


def test_the_picture_follows_a_step_that_python_sets_on_this_text_and_on_another(view, reader, heard, step, writer):
    view.selection = {"pair": (5, 0)}
    heard.clear()
    view.step = step.path()[1]
    assert sorted(name for name, _ in heard) == ["selection", "step"] and view.selection.pair is None
    steps = reader.sent[0]["step_view"]["steps"]
    assert (steps["index"], steps["decoding"], len(reader.sent[0]["step_view"]["branches"])) == (1, 1, 0)
    view.step = transformer.start(writer, "We")
    sent = reader.sent[0]
    assert (sent["about"]["checkpoint"], sent["step_view"]["steps"]["decoding"]) == (writer.id, 2)
    assert view.selection.kind == "decoder"
    late = {"index": 5, "number": 9, "decoding": 1, "from": 0, "choices": [], "asked": 1}
    view.set_state({"_move": late})  # asked for before the text was another
    assert view.step.index == 0 and reader.sent[0]["step_view"]["steps"]["answered"] == 9


@pytest.mark.parametrize("asked", [{"tokens": "words"}, {"special": "hidden"}])
def test_of_weights_from_elsewhere_it_is_not_known_what_is_a_word(asked):
    weights = show([torch.eye(3)[None, None]], ["a", "b", "c"], live=True)
    before = weights.message, weights.selection
    with pytest.raises(ValueError, match="choose from"):
        weights.selection = asked
    assert (weights.message, weights.selection) == before


def test_what_is_no_step_is_refused(view, step, translator):
    for bad in (None, 5, "I am cold."):
        with pytest.raises(ValueError, match="give one that start or next_step made"):
            view.step = bad
    assert view.step is step
    reading = show(transformer.attend(translator, TEXT, "Go"))
    assert reading.step is None
    with pytest.raises(ValueError, match="read at once, and has no steps"):
        reading.step = step


def test_what_looks_on_while_it_is_told_may_set_the_other(view, reader, step):
    view.observe(lambda _: setattr(view, "step", step.path()[0]), "selection")
    reader.look(layer=1)
    assert view.step.index == 0 and reader.sent[0]["step_view"]["steps"]["index"] == 0
    assert reader.sent[0]["selection"]["layer"] == 1


def test_every_source_is_drawn_live(translator, writer, classifier):
    weights = [torch.rand(1, 2, 3, 3).softmax(-1)]
    for view in (show(transformer.attend(translator, TEXT, "Go")), show(transformer.attend(classifier, TEXT)),
                 show(transformer.attend(writer, TEXT).words()), show(weights, list("abc")),
                 show([one - 0.3 for one in weights], list("abc")), show(weights, list("abc"), include_heads=[1]),
                 show(weights, list("abc"), sentence_b_start=1)):
        reader = Reader(view)
        for kind in reader.sent[0]["kinds"]:
            view.selection = {"kind": kind}
            header, arrays = reader.sent
            assert "step_view" not in header
            assert arrays["weights"].shape == tuple(len(header["kinds"][kind][side]) for side in ("queries", "keys"))
        assert header["whole_pieces"] == (not hasattr(view._drawn, "words"))


def test_values_that_are_no_weights_are_drawn_on_their_scale_in_a_long_text_too():
    size = 500
    values = torch.randn(1, 1, 2, size, size, generator=torch.Generator().manual_seed(1))
    header, arrays = Reader(show(list(values), ["a"] * size)).sent
    (kind,) = header["kinds"]
    assert header["kinds"][kind]["open"] == {"signed": True, "most": pytest.approx(float(values.abs().max()))}
    assert arrays[f"grid/{kind}"].min() < 128 < arrays[f"grid/{kind}"].max()
    assert ExternalWeights(list(values), ["a"] * size).tensors().scales.keys() == {kind}


def test_it_is_saved_as_the_page_that_a_notebook_without_it_has(view, step, tmp_path):
    view.selection = {"layer": 1}
    saved = view.save(tmp_path / "heads.html").read_text("utf-8")
    assert saved == view.page == view.data == show(step, kind="cross", layer=1, live=False).page
    assert repr(view).startswith("View of Step 5 of 'I am cold.'") and "\n" not in repr(view)
    assert view.height == 720 and show(step, height=400).height == 400


def test_what_is_installed_decides_unless_it_is_said_and_the_module_asks_the_network_for_nothing(step, view,
                                                                                                 monkeypatch):
    assert type(show(step)).__name__ == "View"
    assert type(show(step, live=False)).__name__ == "Picture"
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    assert type(show(step)).__name__ == "Picture"
    with pytest.raises(ValueError, match="pip install anywidget"):
        show(step, live=True)
    text = view._esm.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://", text)
    assert text.count("export default") == 1 and len(text) < 330_000


def test_a_model_that_fails_further_on_says_so_in_the_picture(view, reader, monkeypatch, step):
    def fail(*_, **__):
        raise ValueError("this model reads no further")

    monkeypatch.setattr(type(step), "next", fail)
    reader.move(step.index + 3)
    sent = reader.sent[0]["step_view"]
    assert sent["bars"]["note"] == "this model reads no further" and sent["steps"]["answered"] == 1
    reader.move(0)
    assert reader.sent[0]["step_view"]["bars"]["note"] == ""
    assert view.step.index == 0 and asdict(replace(view.selection))["kind"] == "cross"

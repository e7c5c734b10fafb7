"""Translate, without a browser."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from tests.labels import labels_of
from transformer.attention_view.message import token_labels
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import OPENINGS
from transformer.inference import decoding
from transformer.inference.decoding import Sampling, Step
from transformer.inference.decoding_tree import FORESEEN
from transformer.inference.sampling import Candidate
from transformer.inference.sampling_settings import SETTINGS
from transformer.text.word_pieces import BEGINS, INSIDE, alternatives
from ui.choices.text_box import as_learned
from ui.figures import plain_label
from ui.views.stepper import controller

from .page import chips, has_step_view, move, numbers_table, picture, plain, put, send_move, step_view_of, whole_page

OPENING = {"step": "0"}  # the first step, where no other is given
PAGE, TEXT = "translate", "She is not as tall as her brother."
FIRST = "I like red wine."
ALIGNS = OPENINGS["translation"]
HOSTILE = [
    "😀 👩‍👩‍👧 🇫🇷 Я не знаю.", "שלום עולם 我很冷。", "<b>bold</b> &lt; $x$ and $$y$$", "the the a`b`c <s>",
    "<img src=x onerror=alert(1)> :red[hot] :smile: **no**", "\u202eevil tab\there a\u0000b", "I am \u4dbe."]


def write(at: AppTest, text: str) -> AppTest:
    return put(at, "translate_text", text)


def at_step(ckpt: Checkpoint, text: str, index: int, **options) -> Step:
    """The library's step, or the text's last where it ends before."""
    *_, step = transformer.steps(ckpt, text, max_steps=index + 1, **options)
    return step


def alternatives_to(step: Step, candidates: list[Candidate]) -> list[str]:
    """The labels of candidates, of which two may look alike."""
    return alternatives(step.axes("decoder")[0], [one.piece for one in candidates], BEGINS)


def written(step: Step) -> list[str]:
    """The target's chips at a step, as far as the token it predicts."""
    return labels_of(step)


def test_a_class_that_opens_the_same_text_has_it_decoded_once(visit, monkeypatch, ckpt):
    asked = []
    step = decoding.next_step
    monkeypatch.setattr(decoding, "next_step",
                        lambda *args, **options: asked.append(args) or step(*args, **options))
    one = visit(PAGE, text="We go home together.")
    count = len(asked)
    other = visit(PAGE, text="We go home together.")
    assert count and len(asked) == count
    assert chips(other, "target tokens") == chips(one, "target tokens")
    move(other, PAGE, 0, number=1)  # what one of them does is not seen by the others
    assert chips(visit(PAGE, text="We go home together."), "target tokens") == chips(one, "target tokens")
    visit(PAGE, text="We go home together.", temperature="1")
    assert len(asked) > count  # another sampling is another text


# the main interaction


def test_it_opens_with_an_example_at_its_last_step_or_as_far_as_one_waits_for(visit, ckpt):
    at = visit(PAGE)
    *_, last = transformer.steps(ckpt, FIRST)
    assert at.text_input(key="translate_text").value == FIRST
    assert at.query_params == {"checkpoint": ckpt.id, "text": FIRST, "temperature": "0", "step": str(last.index),
                               "kind": "cross", "layer": str(ALIGNS.layer), "head": str(ALIGNS.head)}
    assert len(chips(at, "source tokens")) == len(last.source) + 1
    assert chips(at, "target tokens") == written(last)
    assert (step_view_of(at)["steps"]["index"], step_view_of(at)["steps"]["last"]) == (last.index, last.index)
    at = visit(PAGE, text=":red[hot] **no**")
    steps = step_view_of(at)["steps"]
    assert 0 < steps["index"] <= FORESEEN
    assert at.query_params["step"] == str(steps["index"])


@pytest.mark.parametrize("step", [0, 3])
def test_all_that_is_to_come_is_known_before_it_is_stepped_to(open_page, ckpt, step):
    at, path = open_page(text=TEXT, step=str(step)), list(transformer.steps(ckpt, TEXT))
    assert chips(at, "target tokens") == written(path[-1])
    assert step_view_of(at)["steps"]["last"] == len(path) - 1
    text = step_view_of(at)["text"]
    assert (text["written"], text["written"] + text["coming"]) == (path[step].output, path[-1].output)
    assert picture(at)[0]["kinds"]["cross"]["ahead"]["queries"] == [
        *labels_of(path[-1])[len(path[step].tokens):-1]]


@pytest.mark.parametrize(("kind", "layer", "head", "index"), [
    ("cross", 0, 0, 0), ("cross", 1, 3, 4), ("encoder", 0, 1, 2), ("decoder", 1, 2, 5)])
def test_the_weights_shown_are_the_librarys(open_page, ckpt, kind, layer, head, index):
    at = open_page(text=TEXT, kind=kind, layer=str(layer), head=str(head), step=str(index))
    step = at_step(ckpt, TEXT, index)
    expected = step.attentions[kind][layer, head].numpy()
    which, table = numbers_table(at, PAGE)
    assert which == (kind, layer, head)
    assert table.shape == expected.shape
    assert np.allclose(table, expected, atol=1e-6, rtol=0)
    header, arrays = picture(at)
    assert np.allclose(arrays["weights"], expected, atol=1e-6, rtol=0)
    assert {"kind": kind, "layer": layer, "head": head}.items() <= header["selection"].items()
    assert (header["kinds"][kind]["queries"], header["kinds"][kind]["keys"]) == token_labels(step, kind)[:2]


def test_every_figure_says_which_checkpoint_it_is_of(open_page, ckpt):
    at = open_page()
    assert picture(at)[0]["about"] == {"checkpoint": ckpt.id, "step": ckpt.meta["step"], "text": FIRST,
                                       "output": transformer.start(ckpt, FIRST).output}
    at.session_state["translate_details"] = "Mask"
    at.run()
    (chart,) = at.get("plotly_chart")
    assert ckpt.id in chart.proto.spec
    assert "training step" in chart.proto.spec
    assert chart.proto.alt


@pytest.mark.parametrize("params", [
    {"of": "mean_heads"}, {"of": "mean_all"}, {"of": "rollout", "kind": "encoder"}, {"of": "rollout", "kind": "cross"},
    {"stage": "moved", "pair": "1:2"}, {"stage": "scores", "scale": "linear"}, {"view": "lines", "lit": "0,2"}])
def test_what_of_the_attention_is_looked_at_is_in_the_link(open_page, ckpt, params):
    at = open_page(text=TEXT, step="3", **params)
    selection = picture(at)[0]["selection"]
    if params == {"of": "rollout", "kind": "cross"}:  # there is none: queries and keys are different tokens
        assert selection["of"] == "head"
        return
    assert params.items() <= at.query_params.items()
    shown = {"pair": selection["pair"] and ":".join(map(str, selection["pair"])), "lit": selection["lit"] and "0,2"}
    assert params.items() <= (selection | shown).items()


@pytest.mark.parametrize("wrong", [
    {"view": "<b>", "of": "nobody", "stage": "", "scale": "log", "pair": "9:999", "lit": "77"},
    {"pair": "1", "lit": ",,,,"}, {"pair": "a:b:c", "layer": "²", "head": "9" * 50}])
def test_what_a_link_cannot_mean_is_brought_into_range(open_page, wrong):
    at = open_page(text=TEXT, step="1", **wrong)
    selection = picture(at)[0]["selection"]
    assert {"view": "matrix", "of": "head", "stage": "weights", "scale": "sqrt"}.items() <= selection.items()
    assert selection["pair"] is None or max(selection["pair"]) <= 8
    assert (selection["layer"], selection["head"]) == (
        (0, 3) if "layer" in wrong else (ALIGNS.layer, ALIGNS.head))


def test_a_text_opens_though_the_one_before_it_takes_long(open_page, monkeypatch):
    monkeypatch.setattr(controller, "TURN", 0.05)
    at = open_page()
    with controller.turn(at.session_state["translate_decoding"].step.ckpt):
        for text in ("Go on.", "I see. " * 29 + "I see."):  # the second waits for nobody
            write(at, text)
            assert at.session_state["translate_decoding"].step.text == text


def test_another_text_starts_another_decoding_and_a_move_is_answered_once(open_page, ckpt):
    at = move(open_page(text=TEXT), PAGE, 3, number=1)
    *_, last = transformer.steps(ckpt, "Do you know where he lives?")
    write(at, last.text).run()
    assert (at.query_params["text"], at.query_params["step"]) == (last.text, str(last.index))
    assert "choices" not in at.query_params
    assert chips(at, "target tokens") == written(last)
    assert move(at, PAGE, 2, number=2).query_params["step"] == "2"


def test_presses_meant_for_the_text_before_count_from_where_the_new_one_opens(open_page, ckpt):
    at = open_page(text=TEXT, step="5")
    before = at.session_state["translate_decodings"]
    write(at, FIRST)
    *_, last = transformer.steps(ckpt, FIRST)
    for number, index in enumerate((4, 3, 2), 1):  # three arrows back, seen by the server one by one
        move(at, PAGE, index, number=number, start=5, decoding=before, choices=[])
        assert at.query_params["step"] == str(last.index - number)
    for index, back in ((1, 2), (0, 3), (5, 0)):  # or seen together with the text
        at = open_page(text=TEXT, step="3")
        send_move(at, PAGE, index, number=1, start=3)
        write(at, FIRST)
        assert at.query_params["step"] == str(last.index - back)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_sampling_setting_has_a_widget_that_redraws_the_bars(open_page, ckpt, setting):
    at = open_page(text=TEXT, step="2", temperature="1")
    value = setting.type(setting.offered[0] + 4 * setting.offered[2])
    [widget] = [one for one in (*at.slider, *at.number_input) if one.key == f"translate_{setting.name}"]
    widget.set_value(value).run()
    sampling = Sampling.of({"temperature": 1.0, setting.name: value})
    step, bars = at_step(ckpt, TEXT, 2, temperature=1.0), step_view_of(at)["bars"]
    kept = [bar for bar in bars["rows"] if not bar["excluded"]]
    expected = [one for one in step.top(10, sampling) if one.probability]
    said = [plain_label(bar["label"]).removeprefix(INSIDE) for bar in kept]  # exact where two would look alike
    assert said == [plain_label(one.piece) for one in expected]
    assert np.allclose([bar["probability"] for bar in kept], [one.probability for one in expected], atol=1e-6)
    assert len(kept) == 10 or bars["rest"] == pytest.approx(0, abs=1e-6)  # "all others" has nothing that is left out
    assert all(bar["probability"] > 0 for bar in bars["rows"])  # those left out show what they would have


def test_the_bars_are_the_librarys_and_the_token_said_is_marked(open_page, ckpt):
    bars, step = step_view_of(open_page(text=TEXT, step="2"))["bars"], at_step(ckpt, TEXT, 2)
    expected = step.top(10)
    assert [bar["label"] for bar in bars["rows"]] == alternatives_to(step, expected)
    assert np.allclose([bar["probability"] for bar in bars["rows"]], [c.probability for c in expected], atol=1e-6)
    assert [bar["chosen"] for bar in bars["rows"]] == [c.id == step.id for c in expected]
    assert bars["rest"] == pytest.approx(1 - sum(c.probability for c in expected), abs=1e-6)


def test_a_candidate_chosen_is_marked_and_both_branches_stay_while_others_open_other_checkpoints(
        open_page, ckpt, open_others, reopen):
    at, said = open_page(text=TEXT), transformer.start(ckpt, TEXT).top(10)[3]
    move(at, PAGE, 1, number=1, choices=[{"number": 1, "at": 0, "nth": 3}])
    other = at_step(ckpt, TEXT, 100, forced={0: said.id})
    before = step_view_of(at.run())
    open_others()
    assert step_view_of(at.run()) == before
    reopen()
    assert step_view_of(at.run()) == before
    (row,) = [row for row in before["rows"] if row["part"] == "target"]
    assert row["picked"] == [1]  # after the start token
    assert before["branches"] == [other.output, at_step(ckpt, TEXT, 100).output]
    assert at.query_params["choices"] == f"0:{said.id}"
    move(at, PAGE, 3, number=2, start=1)  # and a press goes on from there
    assert step_view_of(at)["steps"]["index"] == 3 and len(step_view_of(at)["branches"]) == 2
    assert chips(at, "target tokens") == written(other)


def test_a_change_of_temperature_keeps_the_tokens_already_chosen_and_decodes_what_comes_after(open_page, visit, ckpt):
    at = open_page(text=TEXT, step="4")
    before = written(at_step(ckpt, TEXT, 4))[:-1]  # what has been read
    put(at, "translate_temperature", 2.0)
    assert at.query_params["step"] == "4"
    assert chips(at, "target tokens")[: len(before)] == before
    move(at, PAGE, 6, number=1)
    again = visit(PAGE, **at.query_params)
    assert (chips(again, "target tokens"), again.query_params) == (chips(at, "target tokens"), at.query_params)
    at = open_page(text=TEXT)
    put(at, "translate_temperature", 1.5)
    *_, last = transformer.steps(ckpt, TEXT, temperature=1.5)
    assert last.output != at_step(ckpt, TEXT, 100).output
    assert chips(at, "target tokens") == written(last)
    put(at, "translate_temperature", 0.0)
    assert chips(at, "target tokens") == written(at_step(ckpt, TEXT, 100))


def test_a_link_whose_settings_have_no_effect_says_so_and_keeps_them_for_a_temperature(open_page, ckpt):
    said = "No effect at temperature 0, which always chooses the likeliest token: Top-k, Seed."
    at = open_page(text=TEXT, top_k="5", seed="7", step="5")
    assert not at.error and said in [one.value for one in at.caption]
    assert not any(one.label in ("Top-k", "Top-p", "Min-p", "Seed") for one in [*at.slider, *at.number_input])
    assert chips(at, "target tokens") == written(at_step(ckpt, TEXT, 100))
    put(at, "translate_temperature", 2.0)
    assert said not in [one.value for one in at.caption] and at.slider(key="translate_top_k").value == 5
    assert {"top_k": "5", "seed": "7", "step": "5"}.items() <= at.query_params.items()


def test_the_positions_of_this_sentence_are_drawn(open_page):
    at = open_page(text=TEXT)
    at.session_state["translate_details"] = "Positions"
    at.run()
    assert [chart.proto.alt for chart in at.get("vega_lite_chart")]
    put(at, "translate_dimensions", [])
    assert at.info[-1].value == "Choose a dimension to see its curve."


# reference translations


def test_references_stand_beside_a_sentence_of_the_corpus(open_page, monkeypatch):
    at = open_page(text="I am cold.")
    assert step_view_of(at)["text"]["reference"] == {
        "label": "French reference translations", "note": "Of the test split, not seen in training.",
        "texts": [f"J'ai froid {i}." for i in range(8)], "more": 9}
    write(at, "Go on.")
    assert step_view_of(at)["text"]["reference"] == {
        "label": "French reference translations", "note": "The model saw it in training.",
        "texts": ["Continue.", "Poursuis !"], "more": 1}
    assert not {"reference", "note"} & set(step_view_of(open_page(text="Go on!"))["text"])
    monkeypatch.setattr("ui.views.translate.translations.sentences", lambda name: None)
    text = step_view_of(open_page(text="I am cold."))["text"]
    assert text["note"].startswith("Reference translations are shown where")
    assert "reference" not in text


# what people type


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_text_asks_for_one(open_page, text):
    at = write(open_page(), text)
    (info,) = at.info
    assert info.value == "Type a sentence in English above and press Enter, or choose an example."
    assert not has_step_view(at)
    assert write(at, "Go on.").query_params["text"] == "Go on."


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_in_a_link_is_read(open_page, ckpt, text):
    at, step = open_page(text=text), transformer.start(ckpt, as_learned(ckpt, text))
    assert not at.error and at.text_input(key="translate_text").value == at.query_params["text"] == text
    assert len(chips(at, "source tokens")) == len(step.source) + 1
    unknown = [place for place, piece in enumerate(step.source) if piece.unknown]
    assert [row["unknown"] for row in step_view_of(at)["rows"]] == [unknown, []]
    assert "<img" not in "".join(element.value for element in at.get("html"))
    assert not [shown for shown in at.markdown if "$x" in shown.value or "onerror" in shown.value]
    expected = step.attentions["cross"][ALIGNS.layer, ALIGNS.head]
    assert np.allclose(numbers_table(at, PAGE)[1], expected, atol=1e-6, rtol=0)


def test_an_example_is_taken_by_a_click(open_page):
    at = open_page()
    put(at, "translate_example", 3)
    assert at.query_params["text"] == TEXT
    assert at.button_group(key="translate_example").value is None


# links


def test_a_link_to_an_unknown_checkpoint_says_so_and_replaces_nothing(open_page, ckpt):
    at = open_page(text=TEXT, checkpoint="nobodys@`<b>`", step="2")
    (error,) = at.error
    assert "nobodys@ʼ<b>ʼ" in error.value
    assert "Ask the sender of the link" in error.value
    assert not has_step_view(at)
    assert at.query_params["checkpoint"] == "nobodys@`<b>`"
    (instead,) = [button for button in at.button if button.label.endswith("instead")]
    instead.click().run()
    assert not at.error
    assert at.query_params["checkpoint"] == ckpt.id
    assert at.query_params["text"] == TEXT
    at = open_page(checkpoint=f"{ckpt.id.partition('@')[0]}@00000000")
    assert "other weights" in at.error[0].value
    assert not has_step_view(at)


def test_a_text_too_long_for_a_link_or_for_the_model_is_said(open_page):
    at = write(open_page(), "the " * 240)
    assert not at.error
    assert "text" not in at.query_params
    assert any(caption.value.startswith("This text is too long for a link") for caption in at.caption)
    move(at, PAGE, 1, number=1)
    assert at.text_input(key="translate_text").value == "the " * 240
    at = write(open_page(), "dog " * 2_500)
    (error,) = at.error
    assert "reads at most 256" in error.value
    assert not has_step_view(at)
    write(at, "Go on.")
    assert not at.error
    assert has_step_view(at)


# checkpoints that are not whole; tests/test_checkpoint.py has every damage


def broken_copy(home: Path, name: str, breaking: Callable[[Path], None]) -> None:
    shutil.copytree(ROOT / "checkpoints" / PAGE, home / "uploads" / name)
    breaking(home / "uploads" / name)


def truncate(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])


def flip(folder: Path) -> None:
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)


@pytest.mark.parametrize(("breaking", "said"), [
    (truncate, "broken/model.safetensors is damaged"),
    (lambda folder: (folder / "manifest.json").unlink(), "broken has no manifest.json")])
def test_a_damaged_checkpoint_is_named_and_the_others_work(open_page, home, ckpt, breaking, said):
    broken_copy(home, "broken", breaking)
    at = open_page()
    assert not at.error
    picker = at.selectbox(key="translate_checkpoint")
    assert picker.value == ckpt.id
    assert said in plain(picker.help)
    linked = open_page(checkpoint="broken@00000000")
    assert "is not on this server" in linked.error[0].value
    assert any(said in plain(caption.value) for caption in linked.caption)


def test_a_checkpoint_found_damaged_when_opened_is_said_and_another_can_be_chosen(open_page, home, ckpt):
    broken_copy(home, "broken", flip)
    at = open_page()
    (bad,) = (id for id in at.selectbox(key="translate_checkpoint").options if id.startswith("broken@"))
    put(at, "translate_checkpoint", bad)
    assert "broken/model.safetensors is damaged" in plain(at.error[0].value)
    assert not has_step_view(at)
    put(at, "translate_checkpoint", ckpt.id)
    assert not at.error
    assert has_step_view(at)


def test_uploads_do_not_take_the_place_of_what_came_with_the_app(open_page, home, ckpt):
    broken_copy(home, PAGE, flip)
    at = open_page()
    assert at.selectbox(key="translate_checkpoint").options == [ckpt.id]
    assert not at.error
    assert has_step_view(at)
    broken_copy(home, "aaa", lambda folder: None)
    at = open_page()
    assert at.selectbox(key="translate_checkpoint").value == ckpt.id
    assert len(at.selectbox(key="translate_checkpoint").options) == 2


def test_without_any_checkpoint_the_page_says_what_to_do(open_page, tmp_path, monkeypatch):
    monkeypatch.setattr("transformer.basics.paths.ROOT", tmp_path / "nowhere")
    at = open_page()
    assert "headsup train" in at.error[-1].value


# several visitors


def test_visitors_do_not_see_each_others_text(visit):
    first, second = visit(PAGE, text="My secret garden."), visit(PAGE, step="0")
    move(first, PAGE, 2, number=1)
    second.run()
    third = visit("write")
    assert "secret" in whole_page(first)
    for at in (second, third):
        assert "secret" not in whole_page(at)
        assert "secret" not in str(at.query_params)
    assert second.query_params["step"] == "0"
    assert move(second, PAGE, 1, number=1).query_params["step"] == "1"
    assert first.query_params["step"] == "2"

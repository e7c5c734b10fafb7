"""Write, without a browser: what differs from Translate."""

from itertools import count

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from tests.labels import labels_of
from transformer.inference.decoding import Sampling
from ui.choices.text_box import as_learned
from ui.components import attention_view

from .page import chips, has_step_view, move, numbers_table, put, step_view_of

OPENING = {"step": "0"}
PAGE, TEXT = "write", "ROMEO:\nO, she doth teach"


def write(at: AppTest, text: str) -> AppTest:
    return put(at, "write_text", text)


def drawn_after(step: transformer.Step, text: str) -> list[str]:
    """The chips from the first token that the model wrote to the one it predicts now."""
    prompt = len(transformer.start(step.ckpt, text).tokens)
    return labels_of(step)[prompt:]


def test_it_opens_with_forty_letters_written_and_so_does_a_text_typed(visit, ckpt, open_page):
    at = visit(PAGE)
    *_, step = transformer.steps(ckpt, TEXT, temperature=0.8, max_steps=41)
    assert at.text_area(key="write_text").value == TEXT
    assert at.query_params == {"checkpoint": ckpt.id, "text": TEXT, "temperature": "0.8", "step": "40",
                               "kind": "decoder", "layer": "2", "head": "1"}
    assert chips(at, "tokens")[len(TEXT):] == drawn_after(step, TEXT)
    assert step_view_of(at)["text"]["written"] == TEXT + step.output
    assert step_view_of(at)["steps"]["last"] is None  # it can go on
    at = write(open_page(temperature="0"), "KING ")
    path = list(transformer.steps(ckpt, "KING ", max_steps=43))
    assert at.query_params["step"] == "40"
    assert chips(at, "tokens")[5:] == drawn_after(path[40], "KING ")
    assert chips(move(at, PAGE, 42, number=1), "tokens")[5:] == drawn_after(path[42], "KING ")


def test_a_text_that_is_too_long_draws_no_other_in_its_place(open_page):
    at = write(open_page(), "KING " * 4_001)
    assert ["20,005 characters; at most 20,000" in error.value for error in at.error] == [True]
    assert not has_step_view(at)
    assert has_step_view(write(at, "KING "))


def test_the_weights_shown_are_the_librarys(open_page, ckpt):
    at = open_page(text=TEXT, temperature="0", layer="3", head="5", step="6")
    *_, step = transformer.steps(ckpt, TEXT, max_steps=7)
    which, table = numbers_table(at, PAGE)
    assert which == ("decoder", 3, 5)
    expected = step.attentions["decoder"][3, 5].numpy()
    assert table.shape == expected.shape == (len(step.tokens),) * 2
    assert np.allclose(table, expected, atol=1e-6, rtol=0)
    assert not table[~step.masks["decoder"].numpy()].any()


def test_sampling_redraws_the_bars_without_running_the_model(open_page, ckpt, monkeypatch):
    at = open_page(text=TEXT, temperature="0", step="2")
    *_, step = transformer.steps(ckpt, TEXT, max_steps=3)

    def forbidden(*_, **__):
        raise AssertionError("the model was run")

    monkeypatch.setattr("transformer.inference.decoding.next_step", forbidden)
    monkeypatch.setattr("transformer.inference.decoding_tree.start", forbidden)
    put(at, "write_temperature", 1.5)
    put(at, "write_top_k", 3)
    expected = step.top(10, Sampling(temperature=1.5, top_k=3))
    bars = step_view_of(at)["bars"]["rows"]
    assert np.allclose([bar["probability"] for bar in bars[:3]], [c.probability for c in expected[:3]], atol=1e-6)
    assert [bar["excluded"] for bar in bars] == [False] * 3 + [True] * 7


def test_nothing_and_spaces_alone_are_texts_here(open_page, ckpt, visit):
    at = move(write(open_page(), ""), PAGE, 4, number=1)
    *_, step = transformer.steps(ckpt, "", temperature=0.8, max_steps=5)
    assert chips(at, "tokens")[1:][: step.index + 1] == drawn_after(step, "")
    assert at.query_params["text"] == ""
    again = chips(visit(PAGE, **at.query_params), "tokens")  # which has not been further
    assert again == chips(at, "tokens")[: len(again)] == ["↵", *drawn_after(step, "")]
    at = write(open_page(), "  \n")
    assert chips(at, "tokens")[:3] == ["␣", "␣", "↵"]


def test_a_full_context_ends_the_text(open_page, ckpt):
    longest = ckpt.config.max_len
    at = open_page(text="a" * (longest - 1), choices="0:20", step="300")
    assert at.query_params["step"] == "1"
    assert len(chips(at, "tokens")) == longest + 1
    assert move(at, PAGE, 2, number=1).query_params["step"] == "1"


@pytest.mark.parametrize("text", ["😀 é", "Я не знаю.", "שלום", "KING 王", "$x$ the the", "a`b` \u202eevil",
                                  "<b>x</b> <img src=x onerror=alert(1)>"])
def test_any_text_in_a_link_is_read(open_page, ckpt, text):
    at = open_page(text=text, temperature="0", layer="0", head="0")
    assert not at.error
    step = transformer.start(ckpt, as_learned(ckpt, text))
    assert len(chips(at, "tokens")) == len(step.tokens) + 1
    assert step_view_of(at)["text"]["written"] == step.whole
    assert step_view_of(at)["rows"][0]["unknown"] == [
        place for place, piece in enumerate(ckpt.tokenizer.pieces(step.text)) if piece.unknown]
    assert at.query_params["text"] == text
    assert "<img" not in "".join(element.value for element in at.get("html"))
    assert np.allclose(numbers_table(at, PAGE)[1], step.attentions["decoder"][0, 0], atol=1e-6, rtol=0)


@pytest.mark.parametrize(("temperature", "said"), [("0.8", "at temperature 0.8"), ("0", None)])
def test_probabilities_after_temperature_say_so_wherever_they_stand(open_page, temperature, said):
    for present in ({}, {"present": "1"}):
        bars = step_view_of(open_page(text=TEXT, temperature=temperature, **present))["bars"]
        assert bars["label"] == (f"next tokens {said}" if said else "next tokens")
        assert bars["note"] == (said.capitalize() if said else "")


def test_a_long_move_is_drawn_in_portions_and_ends_where_it_was_to(open_page, ckpt, monkeypatch):
    at, drawn, show = open_page(text="KING ", step="0"), [], attention_view.show_step_view
    clock = count(step=100)
    monkeypatch.setattr("transformer.inference.decoding_tree.monotonic", lambda: next(clock))
    monkeypatch.setattr("ui.views.stepper.controller.show_step_view",
                        lambda *given, **more: drawn.append(given[2].steps) or show(*given, **more))
    move(at, PAGE, 5, number=1)
    assert [(one["index"], one["going"], one["answered"]) for one in drawn] == [
        (1, True, 0), (2, True, 0), (3, True, 0), (4, True, 0), (5, False, 1)]
    assert at.query_params["step"] == "5"
    assert at.session_state["write_decoding"].step.output == list(transformer.steps(
        ckpt, "KING ", max_steps=6, temperature=0.8))[5].output


@pytest.mark.parametrize("index", [0, 3])
def test_while_what_comes_next_is_hidden_the_text_so_far_ends_before_it(open_page, ckpt, index):
    at = open_page(text="KING", temperature="0", step=str(index))
    *_, step = transformer.steps(ckpt, "KING", max_steps=index + 1)
    at.session_state["write_hide"] = True
    at.run()
    assert step_view_of(at)["text"]["written"] == f"KING{step.parent.output if step.parent else ''}"
    assert not step_view_of(at)["branches"] and step.piece not in step_view_of(at)["said"]

"""Write, without a browser: what differs from Translate."""

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Sampling
from ui.components import attention_view
from ui.figures import plain_label

PAGE, TEXT = "write", "ROMEO:\nO, she doth teach"


@pytest.fixture(scope="session")
def ckpt(shipped) -> Checkpoint:
    return shipped(PAGE)


@pytest.fixture
def open_write(visit) -> Callable[..., AppTest]:
    """Opens the page at the first step, or at the one given."""
    return lambda **params: visit(PAGE, **{"step": "0"} | params)


def write(at: AppTest, text: str) -> AppTest:
    at.text_area(key="write_text").set_value(text).run()
    assert not at.exception, at.exception[0].message
    return at


def drawn_after(step: transformer.Step, text: str) -> list[str]:
    """The chips from the first token that the model wrote to the one it predicts now."""
    prompt = len(transformer.start(step.ckpt, text).tokens)
    return [plain_label(step.label(id), longest=None) for id in (*step.tokens[prompt:], step.id)]


def test_it_opens_with_an_example_and_forty_letters_written(visit, ckpt, chips, step_view_of):
    at = visit(PAGE)
    *_, step = transformer.steps(ckpt, TEXT, temperature=0.8, max_steps=41)
    assert at.text_area(key="write_text").value == TEXT
    assert at.query_params == {"checkpoint": ckpt.id, "text": TEXT, "temperature": "0.8", "step": "40",
                               "kind": "decoder", "layer": "2", "head": "1"}
    assert chips(at, "tokens")[len(TEXT):] == drawn_after(step, TEXT)
    assert step_view_of(at)["text"]["written"] == TEXT + step.output
    assert step_view_of(at)["steps"]["last"] is None  # it can go on


def test_a_text_typed_opens_with_forty_letters_written_and_goes_on_from_there(open_write, ckpt, move, chips):
    at = write(open_write(temperature="0"), "KING ")
    path = list(transformer.steps(ckpt, "KING ", max_steps=43))
    assert at.query_params["step"] == "40"
    assert chips(at, "tokens")[5:] == drawn_after(path[40], "KING ")
    assert chips(move(at, PAGE, 42, number=1), "tokens")[5:] == drawn_after(path[42], "KING ")


def test_a_text_that_is_too_long_draws_no_other_in_its_place(open_write):
    at = write(open_write(), "KING " * 4_001)
    assert ["20,005 characters; at most 20,000" in error.value for error in at.error] == [True]
    assert not at.expander
    assert write(at, "KING ").expander


@pytest.mark.parametrize(("layer", "head", "index"), [(0, 0, 0), (3, 5, 6)])
def test_the_weights_shown_are_the_librarys(open_write, ckpt, numbers, layer, head, index):
    at = open_write(text=TEXT, temperature="0", layer=str(layer), head=str(head), step=str(index))
    *_, step = transformer.steps(ckpt, TEXT, max_steps=index + 1)
    which, table = numbers(at, PAGE)
    assert which == ("decoder", layer, head)
    expected = step.attentions["decoder"][layer, head].numpy()
    assert table.shape == expected.shape == (len(step.tokens),) * 2
    assert np.allclose(table, expected, atol=1e-6, rtol=0)
    assert not table[~step.masks["decoder"].numpy()].any()


def test_moves_draw_what_the_library_draws_with_that_seed(open_write, ckpt, move, chips, step_view_of):
    at = open_write(text=TEXT, temperature="1.3", top_k="20", seed="11")
    path = list(transformer.steps(ckpt, TEXT, temperature=1.3, top_k=20, seed=11, max_steps=13))
    for number, index in enumerate([12, 5], start=1):
        move(at, PAGE, index, number=number)
        step = path[min(index, len(path) - 1)]
        assert chips(at, "tokens")[len(TEXT):][: step.index + 1] == drawn_after(step, TEXT)
        assert step_view_of(at)["text"]["written"] == TEXT + step.output
        assert at.query_params["step"] == str(step.index)


def test_the_link_brings_back_exactly_this_text(open_write, visit, move, chips):
    at = move(open_write(), PAGE, 15, number=1)
    at.slider(key="write_temperature").set_value(1.6).run()
    at.number_input(key="write_seed").set_value(123).run()
    move(at, PAGE, 25, number=2)
    again = visit(PAGE, **at.query_params)
    assert chips(again, "tokens") == chips(at, "tokens")
    assert again.query_params == at.query_params


def test_sampling_redraws_the_bars_without_running_the_model(open_write, ckpt, step_view_of, monkeypatch):
    at = open_write(text=TEXT, temperature="0", step="2")
    *_, step = transformer.steps(ckpt, TEXT, max_steps=3)

    def forbidden(*_, **__):
        raise AssertionError("the model was run")

    monkeypatch.setattr("ui.views.stepper.decoding_tree.next_step", forbidden)
    monkeypatch.setattr("ui.views.stepper.decoding_tree.start", forbidden)
    at.slider(key="write_temperature").set_value(1.5).run()
    at.slider(key="write_top_k").set_value(3).run()
    assert not at.exception
    expected = step.top(10, Sampling(temperature=1.5, top_k=3))
    bars = step_view_of(at)["bars"]["rows"]
    assert np.allclose([bar["probability"] for bar in bars[:3]], [c.probability for c in expected[:3]], atol=1e-6)
    assert [bar["excluded"] for bar in bars] == [False] * 3 + [True] * 7


def test_a_text_is_written_from_nothing(open_write, ckpt, move, visit, chips):
    at = move(write(open_write(), ""), PAGE, 4, number=1)
    *_, step = transformer.steps(ckpt, "", temperature=0.8, max_steps=5)
    assert chips(at, "tokens")[1:][: step.index + 1] == drawn_after(step, "")
    assert at.query_params["text"] == ""
    again = chips(visit(PAGE, **at.query_params), "tokens")  # which has not been further
    assert again == chips(at, "tokens")[: len(again)] == ["↵", *drawn_after(step, "")]


def test_spaces_alone_are_a_text_here(open_write, ckpt, chips):
    at = write(open_write(), "  \n")
    assert chips(at, "tokens")[:3] == ["␣", "␣", "↵"]


def test_ten_thousand_characters_say_the_number_and_the_limit(open_write):
    at = write(open_write(), "To be or not to be. " * 500)
    (error,) = at.error
    assert "10,000 tokens" in error.value and "at most 256" in error.value
    assert not write(at, "KING ").error


def test_a_full_context_ends_the_text(open_write, ckpt, move, chips):
    longest = ckpt.config.max_len
    at = open_write(text="a" * (longest - 1), choices="0:20", step="300")
    assert at.query_params["step"] == "1"
    assert len(chips(at, "tokens")) == longest + 1
    assert move(at, PAGE, 2, number=1).query_params["step"] == "1"


@pytest.mark.parametrize("text", ["😀 é", "Я не знаю.", "שלום", "我很冷。", "$x$ the the", "a`b` \u202eevil",
                                  "<b>x</b> <img src=x onerror=alert(1)>"])
def test_any_text_in_a_link_is_read(open_write, ckpt, numbers, chips, step_view_of, text):
    at = open_write(text=text, temperature="0", layer="0", head="0")
    assert not at.error
    step = transformer.start(ckpt, text)
    assert len(chips(at, "tokens")) == len(step.tokens) + 1
    assert step_view_of(at)["text"]["written"] == step.whole
    assert at.query_params["text"] == text
    assert "<img" not in "".join(element.value for element in at.get("html"))
    assert np.allclose(numbers(at, PAGE)[1], step.attentions["decoder"][0, 0], atol=1e-6, rtol=0)


def test_characters_it_never_saw_are_marked(open_write, step_view_of, chips):
    at = write(open_write(), "KING 王")
    (row,) = step_view_of(at)["rows"]
    assert row["unknown"] == [5]
    assert chips(at, "tokens")[5] == "王"


def test_hostile_values_in_a_link_are_brought_into_range(open_write, ckpt):
    at = open_write(text="KING ", kind="cross", layer="nan", head="999", step="-3", top_k="77", seed="x",
                    temperature="9")
    expected = {"kind": "decoder", "layer": "0", "head": str(ckpt.config.n_heads - 1), "step": "0", "top_k": "50",
                "temperature": "2"}
    assert expected.items() <= at.query_params.items()
    assert "seed" not in at.query_params


def test_a_link_to_a_translator_says_that_it_does_not_fit(open_write, shipped):
    at = open_write(checkpoint=shipped("translate").id)
    assert "does not fit here" in at.error[0].value


def test_translate_and_write_keep_their_own_text(visit):
    at = visit("translate", text="Go on.")
    at.query_params.clear()
    at.switch_page("pages/write.py").run()
    write(at, "KING ")
    at.query_params.clear()
    at.switch_page("pages/translate.py").run()
    assert not at.exception
    assert at.text_input(key="translate_text").value == "Go on."


@pytest.mark.parametrize(("temperature", "said"), [("0.8", "at temperature 0.8"), ("0", None)])
def test_probabilities_after_temperature_say_so_wherever_they_stand(open_write, step_view_of, temperature, said):
    for present in ({}, {"present": "1"}):
        bars = step_view_of(open_write(text=TEXT, temperature=temperature, **present))["bars"]
        assert bars["label"] == (f"next tokens {said}" if said else "next tokens")
        assert bars["note"] == (said.capitalize() if said else "")


def test_a_long_move_is_drawn_in_portions_and_ends_where_it_was_to(open_write, move, ckpt, monkeypatch):
    at, drawn, show = open_write(text="KING ", step="0"), [], attention_view.show_step_view
    clock = count(step=100)
    monkeypatch.setattr("ui.views.stepper.decoding_tree.monotonic", lambda: next(clock))
    monkeypatch.setattr("ui.views.stepper.controller.show_step_view",
                        lambda *given, **more: drawn.append(given[2].steps) or show(*given, **more))
    move(at, PAGE, 5, number=1)
    assert [(one["index"], one["going"], one["answered"]) for one in drawn] == [
        (1, True, 0), (2, True, 0), (3, True, 0), (4, True, 0), (5, False, 1)]
    assert at.query_params["step"] == "5"
    assert at.session_state[f"{PAGE}_decoding"].step.output == list(transformer.steps(
        ckpt, "KING ", max_steps=6, temperature=0.8))[5].output

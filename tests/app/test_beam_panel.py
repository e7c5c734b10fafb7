"""Beam search on Translate, without a browser; tests/browser/test_beam.py clicks it."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import transformer
from tests.rows import each_row
from transformer.inference.beam_tree import beam_tree
from ui.figures import plain_label

from .page import plot, put, table_of

PAGE, TEXT = "translate", "I like red wine."
HOSTILE = ["<img src=x onerror=alert(1)> $x$", ":red[hot] **no** \u202eשלום a\tb"]


def hypotheses(at) -> list[list[str]]:
    html = table_of(at, "finished hypotheses")
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html.partition("<tbody>")[2])
    return [[unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td.*?</td>", row)] for row in rows]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_nothing_is_searched_before_it_is_opened(visit, monkeypatch):
    monkeypatch.setattr("ui.views.translate.beam.beam_tree", None)
    at = visit(PAGE, text=TEXT)
    assert "beam" not in at.query_params
    assert not at.get("plotly_chart")


@pytest.mark.parametrize("width", [1, 4, 8])
def test_the_tree_drawn_is_the_librarys(visit, ckpt, width):
    at = visit(PAGE, text=TEXT, beam=str(width), step="1")
    tree = beam_tree(ckpt, TEXT, width=width)
    boxes = plot(at, "translate_beam_tree")["data"][-1]
    assert list(boxes["customdata"]) == [node.place for node in tree.nodes]
    assert list(boxes["y"]) == [node.rank for node in tree.nodes]
    for node, text in zip(tree.nodes[1:], boxes["hovertext"][1:], strict=True):
        assert number(re.search(r"log-probability (\S+?)<", text)[1]) == pytest.approx(node.log_probability, abs=1e-4)
    assert [row[1] for row in hypotheses(at)] == [tree.output(node) for node in tree.hypotheses()]
    assert [number(row[4]) for row in hypotheses(at)] == pytest.approx(
        [node.penalised for node in tree.hypotheses()], abs=1e-4)
    assert hypotheses(at)[0][1] == transformer.translate(ckpt, [TEXT], beam=width)[0]
    assert at.query_params["beam"] == str(width)


def test_the_step_shown_is_ringed_where_the_search_has_been(visit, ckpt):
    first, off = (visit(PAGE, text=TEXT, beam="2", step="0", **choices) for choices in ({}, {"choices": "0:300"}))
    ring = [trace for trace in plot(first, "translate_beam_tree")["data"] if trace.get("name") == "here"]
    place = beam_tree(ckpt, TEXT, width=2).find([transformer.start(ckpt, TEXT).id])
    assert [list(trace["y"]) for trace in ring] == [[place.rank]]
    assert not [trace for trace in plot(off, "translate_beam_tree")["data"] if trace.get("name") == "here"]


def test_width_and_penalty_are_chosen_and_in_the_address(visit, ckpt):
    at = visit(PAGE, text=TEXT, beam="2")
    put(at, "translate_beam_width", 5)
    put(at, "translate_beam_penalty", 2.0)
    assert {"beam": "5", "penalty": "2"}.items() <= at.query_params.items()
    tree = beam_tree(ckpt, TEXT, width=5, length_penalty=2.0)
    assert [row[1] for row in hypotheses(at)] == [tree.output(node) for node in tree.hypotheses()]
    again = visit(PAGE, **at.query_params)
    assert hypotheses(again) == hypotheses(at)
    assert again.query_params == at.query_params


def test_a_search_is_not_done_again_for_another_head_or_copy_of_the_model(visit, monkeypatch, reopen):
    at = visit(PAGE, text=TEXT, beam="2")
    before = hypotheses(at)
    monkeypatch.setattr("ui.views.translate.beam.beam_tree", None)
    at.session_state["translate_selection"] = replace(at.session_state["translate_selection"], head=2)
    at.run()
    reopen()
    at.run()
    assert at.query_params["head"] == "2"
    assert hypotheses(at) == before


@each_row(("beam", "penalty", "address"), [
    ("99", "1e9", {"beam": "8", "penalty": "2"}), ("-3", "-1", {"beam": "1", "penalty": "0"}),
    ("0", "x", {"beam": "1"}), ("inf", "nan", {"beam": "8"}), ("nan", "1", {}), ("<b>", "1", {})])
def test_hostile_values_in_a_link_are_brought_into_range(visit, beam, penalty, address):
    found = visit(PAGE, text=TEXT, beam=beam, penalty=penalty).query_params
    assert {name: found[name] for name in ("beam", "penalty") if name in found} == address


def test_an_empty_text_and_one_too_long_say_so_with_the_search_open_and_another_is_searched(visit, ckpt):
    at = visit(PAGE, text="", beam="4")
    assert at.info[0].value.startswith("Type a sentence in English")
    put(at, "translate_text", "dog " * 2_500)
    assert "the model reads at most 256" in at.error[0].value
    assert not at.get("plotly_chart")
    put(at, "translate_text", "Go on.")
    assert not at.error
    assert hypotheses(at)[0][1] == transformer.translate(ckpt, ["Go on."], beam=4)[0]
    assert np.isfinite([number(row[2]) for row in hypotheses(at)]).all()


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_searched_and_none_of_it_is_markup(visit, ckpt, text):
    at = visit(PAGE, text=text, beam="3")
    assert not at.error
    assert hypotheses(at)[0][1].removesuffix(" (cut short)") == plain_label(
        transformer.translate(ckpt, [text], beam=3)[0], longest=None).replace("␣", " ")
    assert "<img" not in "".join(element.value for element in at.get("html"))


def test_a_long_search_is_drawn_around_the_step_shown(visit, made, lasting):
    ckpt, text = made("translator", max_len=120), "a dog is cold."  # a tiny one goes on as long as it can
    tree = beam_tree(ckpt, text, width=3)
    end = tree.depth
    assert end > 80
    for index, depths in ((0, (0, 40)), (40, (21, 61)), (end - 5, (end - 40, end))):
        at = visit(PAGE, checkpoint=ckpt.id, text=text, beam="3", step=str(index))
        places = list(plot(at, "translate_beam_tree")["data"][-1]["customdata"])
        assert places == [node.place for node in tree.nodes if depths[0] <= node.depth <= depths[1]]
        assert any(caption.value.startswith(f"The search took {end} steps.") for caption in at.caption)

"""The tree of a beam search: it is the search that `translate` does, and every node is a step like any other."""

import math

import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.inference.beam_tree import beam_tree
from transformer.inference.decoding import steps

TEXTS = ["I am cold.", "Go on.", "We can go home."]


MODELS = [{}, "translate"]  # a tiny one, and the one that comes with the app


@pytest.fixture
def tree(ckpt):
    return beam_tree(ckpt, TEXTS[0], width=4, length_penalty=0.6, max_steps=20)


@each_row("width", [1, 2, 5, 8])
def test_the_best_hypothesis_is_the_translation(ckpt, width):
    for text in TEXTS:
        tree = beam_tree(ckpt, text, width=width, max_steps=20)
        assert [tree.output(tree.best)] == transformer.translate(ckpt, [text], beam=width, max_steps=20)
        assert tree.hypotheses()[0] is tree.best


@each_row("length_penalty", [0.0, 2.0])
@each_row("max_steps", [1, 3, 9])
def test_a_search_cut_short_is_the_translation_cut_short(ckpt, length_penalty, max_steps):
    options = {"max_steps": max_steps, "length_penalty": length_penalty}
    tree = beam_tree(ckpt, TEXTS[2], width=3, **options)
    assert [tree.output(tree.best)] == transformer.translate(ckpt, [TEXTS[2]], beam=3, **options)
    assert tree.depth <= max_steps


def test_scores_are_those_of_one_forward_pass_over_the_path(tree):
    for node in tree.nodes[1:]:
        path = tree.path(node)
        last = tree.step(node)
        found = [step.logits.log_softmax(-1)[step.id].item() for step in last.path()]
        assert [before.log_probability for before in path] == pytest.approx(found, abs=2e-5)
        assert node.total == pytest.approx(sum(found), abs=1e-4)
        assert node.penalised == pytest.approx(node.total / ((5 + len(path)) / 6) ** 0.6)


@torch.no_grad()
def test_a_nodes_step_is_the_one_that_forced_decoding_makes(ckpt, tree):
    for node in (tree.best, *[node for node in tree.nodes if node.state == "pruned"][:12]):
        ids = tree.ids(node)
        *_, forced = steps(ckpt, TEXTS[0], forced=dict(enumerate(ids)), max_steps=len(ids))
        step = tree.step(node)
        assert (step.index, step.tokens, step.id) == (forced.index, forced.tokens, node.id)
        assert step.output == tree.output(node)
        for kind in ckpt.config.kinds:
            assert torch.allclose(step.attentions[kind], forced.attentions[kind], atol=1e-6)


def test_paths_share_the_steps_they_have_in_common(tree, monkeypatch):
    made, next_step = [], transformer.inference.beam_tree.next_step
    monkeypatch.setattr("transformer.inference.beam_tree.next_step", lambda *given: made.append(1) or next_step(*given))
    for node in tree.nodes:
        tree.step(node)
    assert len(made) == len({node.parent for node in tree.nodes} - {None, 0})


@each_row("width", [1, 4, 8])
def test_each_depth_has_what_was_kept_and_at_most_as_many_that_lost(ckpt, width):
    tree = beam_tree(ckpt, TEXTS[2], width=width, max_steps=20)
    for depth in range(1, tree.depth + 1):
        column = [node for node in tree.nodes if node.depth == depth]
        assert [node.rank for node in column] == sorted(node.rank for node in column)
        assert [node.total for node in column] == sorted((node.total for node in column), reverse=True)
        kept = [node for node in column if node.state in ("kept", "open")]
        assert len(kept) <= width
        assert sum(node.state == "pruned" for node in column) <= width
        assert all(node.rank < width for node in column if node.state == "ended")
        assert not any(node.state == "open" for node in column) or depth == tree.depth
    kept = {node.place for node in tree.nodes if node.state == "kept"}
    assert {node.parent for node in tree.nodes} - {None} <= kept


def test_the_best_path_runs_from_the_root_to_the_best_hypothesis_and_a_node_is_found_by_what_it_has_written(tree):
    assert [node for node in tree.nodes if node.best] == [tree.nodes[0], *tree.path(tree.best)]
    assert tree.best.penalised == max(node.penalised for node in tree.nodes if node.state == "ended")
    assert all(tree.find(tree.ids(node)) is node for node in tree.nodes)
    assert tree.find([*tree.ids(tree.best), 0]) is None
    assert tree.find([-1]) is None


def test_fewer_words_than_beams_draws_no_node_that_was_never_begun(translator):
    tree = beam_tree(translator, TEXTS[0], width=64, max_steps=3)
    assert all(math.isfinite(node.total) for node in tree.nodes)
    assert [tree.output(tree.best)] == transformer.translate(translator, [TEXTS[0]], beam=64, max_steps=3)


@each_row(("text", "options", "message"), [
    ("", {}, "nothing to read"), ("Go on.", {"width": 0}, "width is 0; choose a whole number from 1 to 64"),
    ("Go on.", {"width": 65}, "width is 65; choose a whole number from 1 to 64"),
    ("Go on.", {"max_steps": 0}, "max_steps is 0; choose"),
    ("Go on. " * 20, {}, "the model reads at most 40")])
def test_what_cannot_be_searched_says_why(translator, writer, text, options, message):
    with pytest.raises(ValueError, match=message):
        beam_tree(translator, text, **options)
    with pytest.raises(ValueError, match="does not translate"):
        beam_tree(writer, "Go on.")

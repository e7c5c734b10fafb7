"""Alignment error against the formula on small sets, and attention between words against sums by hand."""

import numpy as np
import pytest

import transformer
from transformer.analysis.alignment import words
from transformer.analysis.alignment_error import (
    AlignedPair,
    HeadAlignment,
    attention_between_words,
    error_rate,
    read_aligned,
)
from transformer.checkpoints.openings import OPENINGS
from transformer.text.corpora import corpus


def pair(sure: set, possible: set = frozenset()) -> AlignedPair:
    return AlignedPair("a b c", "x y z", frozenset(sure), frozenset(sure) | frozenset(possible))


def test_the_error_is_that_of_och_and_ney():
    one = pair({(0, 0), (1, 1)}, {(2, 1)})
    assert error_rate([one], [{(0, 0), (1, 1)}]) == 0
    assert error_rate([one], [{(0, 0), (1, 1), (2, 1)}]) == 0  # what is possible is never wrong
    assert error_rate([one], [{(0, 0)}]) == pytest.approx(1 - 2 / 3)
    assert error_rate([one], [{(2, 2)}]) == 1
    assert error_rate([one, one], [{(0, 0)}, {(0, 0), (1, 1)}]) == pytest.approx(1 - 6 / 7)


def test_a_file_is_read_and_what_points_outside_is_refused(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("# a heading\nGo on.\tContinue !\t0-0 1?0 2-1\n")
    [found] = read_aligned(path)
    assert found.sure == {(0, 0), (2, 1)} and found.possible == {(0, 0), (1, 0), (2, 1)}
    path.write_text("Go.\tVa !\t0-0 2-1\n")
    with pytest.raises(ValueError, match=r"line 1 of pairs.tsv links word 2 to 1, and there is no such word"):
        read_aligned(path)


@pytest.mark.slow
def test_the_shipped_pairs_are_of_the_test_part(shipped):
    found = read_aligned()
    test = dict(corpus("eng-fra").split("test"))
    assert len(found) == 200 and len({one.source for one in found}) == 200
    assert all(one.target == test[one.source][0] for one in found)
    assert all(one.sure and one.sure <= one.possible for one in found)
    errors = attention_between_words(shipped("translate"), found).errors("output")
    assert np.unravel_index(errors.argmin(), errors.shape) == (OPENINGS["translation"].layer,
                                                               OPENINGS["translation"].head)
    assert errors.min() < 0.16


def test_attention_between_words_adds_keys_and_averages_rows(shipped):
    ckpt = shipped("translate")
    aligned = [AlignedPair("I like red wine.", "J'aime le vin rouge.", frozenset(), frozenset()),
               AlignedPair("Go.", "Va !", frozenset(), frozenset())]
    found = attention_between_words(ckpt, aligned)
    reading = transformer.attend(ckpt, aligned[0].source, aligned[0].target)
    weights, tokens = reading.attentions["cross"].numpy(), reading.tokens
    row = {word: tokens["tgt"].index(piece) for word, piece in ((2, "aime"), (4, "▁vin"), (5, "▁rouge"))}
    keys = {2: tokens["src"].index("▁red"), 3: tokens["src"].index("▁wine")}
    assert words(aligned[0].target)[4] == "vin" and words(aligned[0].source)[2] == "red"
    for word, at in row.items():
        for source, key in keys.items():
            np.testing.assert_allclose(found.weights["input"][0][:, :, word, source], weights[:, :, at, key], atol=1e-5)
            np.testing.assert_allclose(found.weights["output"][0][:, :, word, source], weights[:, :, at - 1, key],
                                       atol=1e-5)
    assert found.weights["input"][1].shape[2:] == (2, 2)
    with pytest.raises(ValueError, match="has no cross-attention, so it aligns nothing"):
        attention_between_words(shipped("write"), aligned)


def test_heads_are_judged_by_what_they_look_at_most_and_combined_on_other_pairs():
    generator = np.random.default_rng(0)
    pairs = [pair({(0, 0), (1, 1), (2, 2)})] * 8
    noise = [generator.random((1, 3, 3, 3)) for _ in pairs]
    for weights in noise:
        weights[0, 1] = np.eye(3) * 0.9  # knows it all
        weights[0, 2] = 0
        weights[0, 2, :, 0] = 1  # a sink
    found = HeadAlignment(pairs, {"output": noise})
    errors = found.errors("output")
    assert errors[0, 1] == 0 and errors[0, 2] == pytest.approx(2 / 3)
    assert found.best_combination("output") == ([(0, 1)], 0.0)

"""Contexts of heads against each text read alone: measures by hand, bands, the sample, and HeadVis' file."""

from functools import cache, partial
from math import log

import numpy as np
import pytest
import torch

import transformer
from tests.analysis import texts
from transformer.analysis.head_contexts import head_contexts, headvis_file, score_heads
from transformer.analysis.sample import read_texts

TEXTS = ["I am cold.", "Go on.", "He is tall.", "We can go home.", "Who is it?", "I see a dog and a cat.",
         "A dog is it.", "He can see.", "We go.", "I am a cat.", "Is he cold?", "Who can go on?", "It is a dog.",
         "On a dog.", "A tall cat.", "We see it.", "He and I go.", "I can go home.", "Go home.", "Is it a cat?",
         "I am it.", "A cat can see a dog."]
MODELS = [("translator", "encoder"), ("translator", "decoder"), ("translator", "cross"), ("writer", "decoder"),
          ("classifier", "encoder")]
BY_HAND = ("peak", "first", "distance", "entropy")
read = partial(texts.sentences, texts=TEXTS)
attend = cache(transformer.attend)


def alone(ckpt, sentence, kind, layer, head) -> torch.Tensor:
    """The weights (Tq, Tk) of a head on what the sentence has, by the library's own pass over one text."""
    weights = attend(ckpt, sentence.text, sentence.target).attentions[kind][layer, head]
    queries, keys = (len(side) for side in (sentence.src if kind == "encoder" else sentence.tgt,
                                            sentence.tgt if kind == "decoder" else sentence.src))
    return weights[:queries, :keys]


def by_hand(weights: torch.Tensor, kind: str, measure: str, least: int = 5) -> list[float]:
    """A measure of each query; NaN where it isn't counted."""
    queries, keys = weights.shape
    out = []
    for query, row in enumerate(weights.double().tolist()):
        beside = query if kind != "cross" else int((query + .5) * keys / queries)
        value = {"peak": max(row if kind == "cross" else row[1:], default=0.0), "first": row[0],
                 "distance": sum(weight * abs(key - beside) for key, weight in enumerate(row)),
                 "entropy": -sum(weight * log(weight) for weight in row if weight > 0)}[measure]
        left_out = (query + 1 if kind == "decoder" else keys) < least or (kind != "cross" and query == 0)
        out.append(float("nan") if left_out else value)
    return out


@pytest.mark.parametrize(("name", "kind"), MODELS)
def test_every_measure_is_that_of_each_text_read_alone(request, name, kind):
    ckpt = request.getfixturevalue(name)
    sentences = read(ckpt)
    scores = score_heads(ckpt, sentences)
    rows = scores.rows[kind]
    assert len({*rows}) == len(rows) and [*rows] == sorted(rows)
    weights = [alone(ckpt, sentence, kind, 1, 0) for sentence in sentences]
    for measure in BY_HAND:
        every = [by_hand(one, kind, measure) for one in weights]
        assert len(rows) == sum(np.isfinite(one).sum() for one in every)  # fewer than are drawn
        for row, value in zip(rows, scores.drawn[kind][measure][:, 1, 0].tolist(), strict=True):
            assert value == pytest.approx(every[row.text][row.query], abs=1e-5)
        for one, value, query in zip(every, scores.highest[kind][measure][:, 1, 0].tolist(),
                                     scores.queries[kind][measure][:, 1, 0].tolist(), strict=True):
            if query < 0:
                assert np.isnan(value) and np.isnan(one).all()
            else:
                assert value == pytest.approx(np.nanmax(one), abs=1e-5) == pytest.approx(one[query], abs=1e-5)
    largest = [np.nanmax(by_hand(one, kind, "peak", least=2)) for one in weights]
    assert scores.peaks[kind][:, 1, 0].tolist() == pytest.approx(largest, abs=1e-5)


@pytest.mark.parametrize(("name", "kind"), MODELS)
def test_the_ten_highest_and_three_of_each_lower_band_are_shown_with_their_weights(request, name, kind):
    ckpt = request.getfixturevalue(name)
    sentences = read(ckpt) * 2
    scores = score_heads(ckpt, sentences)
    found = head_contexts(ckpt, scores, kind, 0, 1, "first")
    highest, drawn = scores.highest[kind]["first"][:, 0, 1], scores.drawn[kind]["first"][:, 0, 1]
    bands = [one.band for one in found.contexts]
    assert bands == [5] * bands.count(5) + [4] * 3 + [3] * 3 + [2] * 3 + [1] * 3 and 2 <= bands.count(5) <= 10
    best = highest[highest.isfinite()].sort(descending=True).values
    assert [one.score for one in found.contexts if one.band == 5] == best[:bands.count(5)].tolist()
    assert [one.score for one in found.contexts] == sorted((one.score for one in found.contexts), reverse=True)
    fifths = np.array_split(drawn.sort().values.numpy(), 5)
    assert found.edges[-1] == (pytest.approx(fifths[-1][0], abs=0.02), float(best[0]))
    for (low, high), fifth in zip(found.edges[:-1], fifths[:-1], strict=True):
        assert (low, high) == pytest.approx((fifth[0], fifth[-1]), abs=0.02)  # where a fifth of them is no whole number
    for one in found.contexts:
        low, high = found.edges[one.band - 1]
        assert low <= one.score <= high
        weights = alone(ckpt, sentences[one.row.text], kind, 0, 1)
        assert float(weights[one.row.query, 0]) == pytest.approx(one.score, abs=1e-5)
        most = weights.topk(min(8, weights.shape[1]), dim=-1).values
        torch.testing.assert_close(one.weights, most, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(weights.gather(1, one.keys), most, atol=1e-5, rtol=1e-4)
        assert sum(one.looks_at.values()) == pytest.approx(float(most[one.row.query].sum()), abs=1e-5)
        assert [len(side) for side in found.sides(one)] == list(weights.shape)
    assert len({one.row.text for one in found.contexts[:bands.count(5)]}) == bands.count(5)
    rows = [one.row for one in found.contexts]
    assert [one.row for one in head_contexts(ckpt, scores, kind, 0, 1, "first").contexts] == rows
    other = [one.row for one in head_contexts(ckpt, scores, kind, 0, 1, "first", seed=1).contexts]
    assert other != rows and other[:bands.count(5)] == rows[:bands.count(5)]
    said = found.summary()
    assert said["head"] == {"encoder": "E0H1", "decoder": "D0H1", "cross": "X0H1"}[kind]
    assert [one["score"] for one in said["contexts"]] == [one.score for one in found.contexts]
    assert said["contexts"][0]["token"] == found.sides(found.contexts[0])[0][rows[0].query]


@pytest.mark.parametrize(("name", "kind"), MODELS)
def test_the_file_has_the_fields_the_texts_and_the_weights_of_headvis(request, name, kind):
    ckpt = request.getfixturevalue(name)
    sentences = read(ckpt) * 3
    scores = score_heads(ckpt, sentences)
    file = headvis_file(ckpt, scores, kind, 1, 1)
    assert [*file] == ["sequences", "qk_distance_histogram", "top_query_tokens", "top_key_tokens", "histogram",
                       "statistics", "origin"]
    assert [one["interval"] for one in file["sequences"]] == [5] * 10 + [4] * 3 + [3] * 3 + [2] * 3 + [1] * 3
    peaks = scores.peaks[kind][:, 1, 1]
    assert [one["max_activation"] for one in file["sequences"][:10]] == pytest.approx(
        peaks.sort(descending=True).values[:10].tolist(), abs=1e-4)
    for one in file["sequences"]:
        sentence = sentences[one["sequence_id"]]
        weights = alone(ckpt, sentence, kind, 1, 1)
        before = len(sentence.src) if kind == "cross" else 0
        whole = torch.zeros(before + weights.shape[0], before + weights.shape[0])
        whole[before:, :weights.shape[1]] = weights
        size = one["seq_len"]
        assert size == len(one["tokens"]) == len(whole)
        kept = torch.zeros(size * size)
        kept[torch.tensor(one["attention_indices"])] = torch.tensor(one["attention_values"])
        kept = kept.view(size, size)
        torch.testing.assert_close(kept[kept > 0], whole[kept > 0], atol=1e-4, rtol=0)
        for row, all_of_it in zip(kept, whole, strict=True):
            left_out = [0.0, *all_of_it[row == 0].tolist()]
            least = all_of_it.sort(descending=True).values[7] if size > 7 else 0
            assert (row > 0).sum() <= 8 and max(left_out) <= max(0.005, float(least)) + 1e-4
        assert one["max_activation"] == pytest.approx(
            float((weights if kind == "cross" else weights[1:, 1:]).max()), abs=1e-4)
        assert "▁" not in "".join(one["tokens"])
    total = sum(sum(one["attention_values"]) for one in file["sequences"])
    assert sum(file["qk_distance_histogram"]["bin_values"]) == pytest.approx(total, abs=0.01)
    for name in ("top_query_tokens", "top_key_tokens"):
        assert sum(token["weight"] for token in file[name]) == pytest.approx(total, abs=0.05)
    assert sum(file["histogram"]["bin_values"]) == len(sentences) and len(file["histogram"]["bin_edges"]) == 51
    assert file["statistics"] == {"n_samples": 22, "mean_max_activation": pytest.approx(float(peaks.mean()), abs=1e-4)}


def test_a_distance_is_in_the_bar_of_its_power_of_two(writer):
    scores = score_heads(writer, read_texts(writer, ["I see a dog and a cat."]))
    file = headvis_file(writer, scores, "decoder", 0, 0)
    (one,), bars = file["sequences"], file["qk_distance_histogram"]
    expected = [0.0] * (len(bars["bin_edges"]) - 1)
    for cell, weight in zip(one["attention_indices"], one["attention_values"], strict=True):
        distance = abs(cell // one["seq_len"] - cell % one["seq_len"])
        expected[0 if distance == 0 else distance.bit_length()] += weight
    assert bars["bin_edges"][:5] == [0, 1, 2, 4, 8] and bars["bin_values"] == pytest.approx(expected, abs=1e-3)


def test_induction_is_found_in_the_texts_themselves(writer):
    sentences = read_texts(writer, ["I see a dog and I see a cat.", "Go on."])
    scores = score_heads(writer, sentences)
    weights, ids = alone(writer, sentences[0], "decoder", 1, 0), sentences[0].tgt
    after = [sum(float(weights[query, key + 1]) for key in range(query) if ids[key] == ids[query]) * (query >= 4)
             for query in range(len(ids))]
    assert float(scores.highest["decoder"]["induction"][0, 1, 0]) == pytest.approx(max(after), abs=1e-5)
    assert after[int(scores.queries["decoder"]["induction"][0, 1, 0])] == pytest.approx(max(after), abs=1e-5)


def test_of_texts_that_are_all_short_queries_with_two_keys_are_taken(writer):
    scores = score_heads(writer, read_texts(writer, ["Go ", "He "]))
    found = head_contexts(writer, scores, "decoder", 0, 0, "first")
    assert [*scores.rows["decoder"]] == [(0, 1), (1, 1)]
    assert {one.band for one in found.contexts} <= {1, 2, 3, 4, 5} and found.contexts


def test_where_nothing_counts_there_is_no_context(writer):
    scores = score_heads(writer, read_texts(writer, ["Go on and on", "He is it."]))
    found = head_contexts(writer, scores, "decoder", 0, 0, "bracket")
    assert not found.contexts and [*found.edges] == [None] * 5


def test_what_is_not_there_is_refused(writer, translator):
    scores = score_heads(writer, read_texts(writer, TEXTS[:3]))
    for kind, layer, head in (("cross", 0, 0), ("decoder", 2, 0), ("decoder", 0, 2), ("decoder", -1, 0)):
        for asked in (head_contexts, headvis_file):
            with pytest.raises(ValueError, match=r"there is no .* head .*; it has D0H0 to D1H1"):
                asked(writer, scores, kind, layer, head)
    with pytest.raises(ValueError, match="no measure 'alignment' of decoder attention here: choose one of "):
        head_contexts(writer, scores, "decoder", 0, 0, "alignment")
    with pytest.raises(ValueError, match="no measure 'alignment' of cross attention here: no word alignment was given"):
        head_contexts(translator, score_heads(translator, read(translator)), "cross", 0, 0, "alignment")
    with pytest.raises(ValueError, match="no texts to find contexts in"):
        score_heads(writer, [])


@pytest.mark.parametrize("settings", [
    {"encoder_layers": 0, "norm_kind": "rms", "positions": "rotary"},
    {"encoder_layers": 0, "decoder_layers": 1, "n_heads": 1}, {"encoder_layers": 0, "pad_id": None},
    {"decoder_layers": 0, "head": "masked"}, {"encoder_layers": 0, "window": 4}])
def test_other_models_have_contexts_too(make_checkpoint, settings):
    ckpt = make_checkpoint(**settings)
    sentences = read_texts(ckpt, TEXTS)
    kind = ckpt.config.kinds[0]
    told = []
    scores = score_heads(ckpt, sentences, largest=1_000, watch=lambda done, of: told.append((done, of)))
    assert told[-1] == (len(TEXTS), len(TEXTS)) and len(told) > 1
    for one in head_contexts(ckpt, scores, kind, 0, 0).contexts:
        rows = by_hand(alone(ckpt, sentences[one.row.text], kind, 0, 0), kind, "peak")
        assert one.score == pytest.approx(rows[one.row.query], abs=1e-5)

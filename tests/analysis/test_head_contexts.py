"""Contexts of heads against each text read alone: scores by hand, bands, the sample, and HeadVis' file."""

import numpy as np
import pytest
import torch

import transformer
from transformer.analysis.head_contexts import BANDS, PEAK, head_contexts, score_heads
from transformer.analysis.sample import read_texts

TEXTS = ["I am cold.", "Go on.", "He is tall.", "We can go home.", "Who is it?", "I see a dog and a cat.",
         "A dog is it.", "He can see.", "We go.", "I am a cat.", "Is he cold?", "Who can go on?", "It is a dog.",
         "On a dog.", "A tall cat.", "We see it.", "He and I go.", "I can go home.", "Go home.", "Is it a cat?",
         "I am it.", "A cat can see a dog."]
MODELS = [("translator", "encoder"), ("translator", "decoder"), ("translator", "cross"), ("writer", "decoder"),
          ("classifier", "encoder")]


def read(ckpt) -> list:
    return read_texts(ckpt, TEXTS, TEXTS[::-1] if ckpt.config.task == "translation" else None)


def alone(ckpt, sentence, kind, layer, head) -> torch.Tensor:
    """The weights (Tq, Tk) of a head on what the sentence has, by the library's own pass over one text."""
    weights = transformer.attend(ckpt, sentence.text, sentence.target).attentions[kind][layer, head]
    asks, asked = (len(side) for side in (sentence.src if kind == "encoder" else sentence.tgt,
                                          sentence.tgt if kind == "decoder" else sentence.src))
    return weights[:asks, :asked]


def by_hand(weights: torch.Tensor, kind: str, measure: str) -> list[float]:
    """A measure of each query; NaN where it isn't counted."""
    queries, keys = weights.shape
    out = []
    for query in range(queries):
        seen = query + 1 if kind == "decoder" else keys
        row = weights[query].double()
        beside = query if kind != "cross" else int((query + .5) * keys / queries)
        value = {"peak": row.max() if kind == "cross" else row[1:].max(), "first": row[0],
                 "distance": sum(row[key] * abs(key - beside) for key in range(keys)),
                 "entropy": -sum(weight * weight.log() for weight in row if weight > 0)}[measure]
        left_out = seen < 2 or (kind != "cross" and query == 0)
        out.append(float("nan") if left_out else float(value))
    return out


@pytest.mark.parametrize(("name", "kind"), MODELS)
def test_a_text_has_the_score_of_its_strongest_query(request, name, kind):
    ckpt = request.getfixturevalue(name)
    sentences = read(ckpt)
    scores = score_heads(ckpt, sentences)
    for measure in ("peak", "first", "distance", "entropy"):
        values, queries = scores.of(kind, measure)
        assert values.shape == queries.shape == (len(sentences), ckpt.config.layers(kind), ckpt.config.n_heads)
        for at in (0, 5, 13):
            rows = by_hand(alone(ckpt, sentences[at], kind, 1, 0), kind, measure)
            assert float(values[at, 1, 0]) == pytest.approx(np.nanmax(rows), abs=1e-5)
            assert rows[int(queries[at, 1, 0])] == pytest.approx(np.nanmax(rows), abs=1e-5)


@pytest.mark.parametrize(("name", "kind"), MODELS)
def test_ten_of_the_highest_band_and_three_of_each_other_are_shown_with_their_weights(request, name, kind):
    ckpt = request.getfixturevalue(name)
    sentences = [*read(ckpt)] * 3
    scores = score_heads(ckpt, sentences)
    found = head_contexts(ckpt, scores, kind, 0, 1, "first")
    every = scores.of(kind, "first")[0][:, 0, 1]
    assert [one.band for one in found.contexts] == [5] * 10 + [4] * 3 + [3] * 3 + [2] * 3 + [1] * 3
    assert [one.score for one in found.contexts[:10]] == every.sort(descending=True).values[:10].tolist()
    assert [one.score for one in found.contexts] == sorted((one.score for one in found.contexts), reverse=True)
    assert [count for _, _, count in found.edges] == [13, 13, 14, 13, 13]
    for one in found.contexts:
        low, high, _ = found.edges[one.band - 1]
        assert low <= one.score <= high
        weights = alone(ckpt, sentences[one.sentence], kind, 0, 1)
        most = weights.topk(min(8, weights.shape[1]), dim=-1).values
        torch.testing.assert_close(one.weights, most, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(weights.gather(1, one.keys), most, atol=1e-5, rtol=1e-4)
        assert sum(one.row().values()) == pytest.approx(float(most[one.query].sum()), abs=1e-5)
        assert [len(side) for side in found.sides(one.sentence)] == list(weights.shape)
    again = head_contexts(ckpt, scores, kind, 0, 1, "first")
    assert [one.sentence for one in again.contexts] == [one.sentence for one in found.contexts]
    other = head_contexts(ckpt, scores, kind, 0, 1, "first", seed=1)
    assert [one.sentence for one in other.contexts[:10]] == [one.sentence for one in found.contexts[:10]]
    assert [one.sentence for one in other.contexts] != [one.sentence for one in found.contexts]


@pytest.mark.parametrize(("name", "kind"), MODELS)
def test_the_file_has_the_fields_and_weights_of_headvis(request, name, kind):
    ckpt = request.getfixturevalue(name)
    sentences = read(ckpt)
    scores = score_heads(ckpt, sentences)
    found = head_contexts(ckpt, scores, kind, 1, 1)
    file = found.headvis()
    assert [*file] == ["sequences", "qk_distance_histogram", "top_query_tokens", "top_key_tokens", "histogram",
                       "statistics", "headvis"]
    for one, sequence, detail in zip(found.contexts, file["sequences"], file["headvis"]["sequences"], strict=True):
        sentence = sentences[one.sentence]
        weights = alone(ckpt, sentence, kind, 1, 1)
        before = len(sentence.src) if kind == "cross" else 0
        whole = torch.zeros(before + weights.shape[0], before + weights.shape[0])
        whole[before:, :weights.shape[1]] = weights
        size = sequence["seq_len"]
        assert size == len(sequence["tokens"]) == len(whole)
        kept = torch.zeros(size * size)
        kept[torch.tensor(sequence["attention_indices"])] = torch.tensor(sequence["attention_values"])
        kept = kept.view(size, size)
        torch.testing.assert_close(kept[kept > 0], whole[kept > 0], atol=1e-4, rtol=0)
        assert (kept > 0).sum(1).max() <= 8 and float(whole[kept == 0].max()) <= max(0.005, float(
            whole.sort(descending=True).values[:, 8 if size > 8 else -1].max())) + 1e-5
        peaks = weights if kind == "cross" else weights[1:, 1:]
        assert sequence["max_activation"] == pytest.approx(float(peaks.max()), abs=1e-4)
        assert detail["query"] == before + one.query and 1 <= sequence["interval"] <= BANDS
        pieces = found.sides(one.sentence)[1] * (kind == "cross") + found.sides(one.sentence)[0]
        assert sequence["tokens"] == [piece.replace("▁", " ") for piece in pieces]
    distances = file["qk_distance_histogram"]
    total = sum(sum(sequence["attention_values"]) for sequence in file["sequences"])
    assert sum(distances["bin_values"]) == pytest.approx(total, abs=0.01)
    assert sum(token["weight"] for token in file["top_key_tokens"]) == pytest.approx(total, abs=0.05)
    assert sum(file["histogram"]["bin_values"]) == len(sentences)
    assert file["statistics"] == {"n_samples": len(found.contexts), "mean_max_activation": pytest.approx(
        float(scores.of(kind, "peak")[0][:, 1, 1].mean()), abs=1e-4)}


def test_induction_is_found_in_the_texts_themselves(writer):
    sentences = read_texts(writer, ["I see a dog and I see a cat.", "Go on."])
    scores = score_heads(writer, sentences)
    values, queries = scores.of("decoder", "induction")
    weights, ids = alone(writer, sentences[0], "decoder", 1, 0), sentences[0].tgt
    after = [sum(float(weights[query, key + 1]) for key in range(query) if ids[key] == ids[query])
             for query in range(len(ids))]
    assert float(values[0, 1, 0]) == pytest.approx(max(after), abs=1e-5)
    assert after[int(queries[0, 1, 0])] == pytest.approx(max(after), abs=1e-5)


def test_texts_in_which_nothing_counts_have_no_score(writer):
    sentences = read_texts(writer, ["Go on", "He is"])
    scores = score_heads(writer, sentences)
    found = head_contexts(writer, scores, "decoder", 0, 0, "bracket")
    assert not found.contexts and [*found.edges] == [None] * 5
    assert not found.headvis()["sequences"]


def test_what_is_not_there_is_refused(writer, translator):
    scores = score_heads(writer, read_texts(writer, TEXTS[:3]))
    for kind, layer, head in (("cross", 0, 0), ("decoder", 2, 0), ("decoder", 0, 2), ("decoder", -1, 0)):
        with pytest.raises(ValueError, match=r"there is no .* head .*; it has D0H0 to D1H1"):
            head_contexts(writer, scores, kind, layer, head)
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
    one = head_contexts(ckpt, scores, kind, 0, 0, PEAK.name).contexts[0]
    rows = by_hand(alone(ckpt, sentences[one.sentence], kind, 0, 0), kind, "peak")
    assert one.score == pytest.approx(np.nanmax(rows), abs=1e-5)

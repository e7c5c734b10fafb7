"""Head roles over a sample, compared with each query computed by itself, one sentence at a time; and known matrices."""

from math import log

import numpy as np
import orjson
import pytest
import torch

from transformer.analysis.alignment import WordAligner, words
from transformer.analysis.roles import ROWS, SHORT, measure_roles, read_weights, untrained
from transformer.analysis.sample import Sentence, batches, pad_sentences, read_texts
from transformer.inference.reading import attend
from transformer.measures.catalogue import BY_NAME, MEASURES
from transformer.measures.measure import BatchMeasures
from transformer.measures.tokens import Tokens
from transformer.measures.totals import Totals

PAIRS = [("I am cold.", "He is tall."), ("Go on.", "We can go home, can we?"), ("Who is it?", "I see a dog."),
         ("We, we can go home.", "a cat.")]
TEXTS = ["I am cold.\nGo on.", "Who is it? I see a dog, and a cat.", "we go. we go."]


def one_by_one(ckpt, sentences, aligner=None):
    """kind -> measure -> the values of every query that counts, (layers, H) each, and the number of its keys."""
    found = {kind: {} for kind in ckpt.config.kinds}
    for sentence in sentences:
        reading = attend(ckpt, sentence.text, sentence.target) if sentence.src else None
        if reading is None:
            weights = {"decoder": torch.stack([x[0] for x in dict(read_weights(
                ckpt.model, None, torch.tensor([sentence.tgt])))["decoder"]])}
        else:
            weights = reading.attentions
        for kind, w in weights.items():
            ids = list(sentence.tgt if kind == "decoder" else sentence.src)
            pieces = [ckpt.tokenizer.piece(i) for i in ids]
            queries, keys = w.shape[-2:]
            for q in range(queries):
                seen = range(q + 1) if kind == "decoder" else range(keys)
                if len(seen) < 2:
                    continue
                row = w[:, :, q].double()
                middle = int((q + 0.5) * keys / queries) if kind == "cross" else q
                note = found[kind].setdefault
                nats = -(row * row.log()).nan_to_num().sum(-1)
                note("entropy", []).append((nats, log(len(seen))))
                note("evenness", []).append((nats / log(len(seen)), 1.0))
                away = torch.tensor([abs(k - middle) for k in range(keys)]).double()
                note("distance", []).append((row @ away, np.mean([abs(k - middle) for k in seen])))
                asked = {"first": [0], "diagonal": [middle], "previous": [middle - 1],
                         "end": [k for k in seen if ids[k] == ckpt.config.eos_id],
                         "punctuation": [k for k in seen if pieces[k] in ".,?"]}
                if kind == "cross":
                    for name, back in (("alignment", 0), ("alignment_read", 1)):
                        asked[name] = linked(aligner, ckpt, sentence, q - back)
                else:
                    asked |= {"next": [q + 1], "same": [k for k in seen if ids[k] == ids[q] and k != q]}
                for name, places in asked.items():
                    if places := [k for k in places if k in seen]:
                        note(name, []).append((row[..., places].sum(-1), len(places) / len(seen)))
    return found


def linked(aligner, ckpt, sentence, piece):
    """The source pieces of the words that a target piece's word comes from."""
    if aligner is None or not 0 <= piece < len(sentence.tgt) - 1:
        return []
    sides = []
    for text in (sentence.text, sentence.target):  # one piece a character here
        starts, at = [], 0
        for word in words(text):
            at = text.lower().index(word, at)
            starts.append(range(at, at + len(word)))
            at += len(word)
        sides.append(starts)
    [at] = [at for at, place in enumerate(sides[1]) if piece in place] or [None]
    if at is None:
        return []
    return [k for other in aligner.align(words(sentence.text), words(sentence.target))[at] for k in sides[0][other]]


def check(roles, expected, kinds):
    assert set(roles.values) == set(kinds)
    for kind in kinds:
        assert list(roles.values[kind]) == [measure.name for measure in MEASURES if kind in measure.kinds]
        for name, value in roles.values[kind].items():
            if name == "induction":
                continue
            rows = expected[kind].get(name)
            if not rows:
                assert np.isnan(value).all() and roles.queries[kind][name] == 0
                assert (roles.best[kind][name] == -1).all()
                continue
            assert roles.queries[kind][name] == len(rows)
            np.testing.assert_allclose(value, torch.stack([row for row, _ in rows]).mean(0), rtol=1e-5, atol=1e-6)
            assert roles.even[kind][name] == pytest.approx(np.mean([even for _, even in rows]))


@pytest.mark.parametrize("largest", [1, 4_000_000])
def test_roles_are_means_over_every_query_of_every_sentence(translator, largest):
    sentences = read_texts(translator, *zip(*PAIRS, strict=True))
    aligner = WordAligner.learn([(words(s), words(t)) for s, t in PAIRS])
    roles = measure_roles(translator, sentences, aligner=aligner, largest=largest)
    check(roles, one_by_one(translator, sentences, aligner), ("encoder", "decoder", "cross"))
    assert roles.tokens == sum(len(s) + len(t) + 2 for s, t in PAIRS)
    assert not {"alignment", "alignment_read", "punctuation"} & roles.notes.keys()


def test_targets_may_start_with_padding(make_checkpoint):
    ckpt = make_checkpoint(start_id=0, bos_id=None)  # as Marian's do
    sentences = read_texts(ckpt, *zip(*PAIRS, strict=True))
    check(measure_roles(ckpt, sentences), one_by_one(ckpt, sentences), ("encoder", "decoder", "cross"))


def test_roles_of_a_decoder_and_of_an_encoder_alone_with_classes_or_padding_or_without(writer, classifier,
                                                                                       make_checkpoint):
    for ckpt in (writer, classifier, make_checkpoint(encoder_layers=0, pad_id=None),
                 *(make_checkpoint(decoder_layers=0, head=head) for head in ("masked", "none"))):
        sentences = read_texts(ckpt, TEXTS)
        check(measure_roles(ckpt, sentences), one_by_one(ckpt, sentences), ckpt.config.kinds)


def test_the_baseline_is_the_same_architecture_untrained(translator):
    sentences = read_texts(translator, *zip(*PAIRS, strict=True))
    roles = measure_roles(translator, sentences, seed=3)
    random = measure_roles(type(translator)(translator.description, untrained(translator.config, seed=3),
                                            translator.tokenizer, translator.source_tokenizer), sentences)
    other = measure_roles(translator, sentences, seed=4)
    for kind, found in roles.untrained.items():
        for name, value in found.items():
            np.testing.assert_array_equal(value, random.values[kind][name] if name != "induction" else value)
    assert not np.array_equal(roles.untrained["cross"]["first"], other.untrained["cross"]["first"])
    assert not np.array_equal(roles.untrained["cross"]["first"], roles.values["cross"]["first"])


@pytest.mark.slow
def test_the_best_sentence_has_the_largest_mean_of_those_long_enough(translator):
    sentences = read_texts(translator, *zip(*PAIRS, strict=True))
    roles = measure_roles(translator, sentences)
    for kind in ("encoder", "cross"):
        for name in ("entropy", "first"):
            alone = [measure_roles(translator, [sentence]).values[kind][name] for sentence in sentences]
            np.testing.assert_array_equal(roles.best[kind][name], np.argmax(alone, axis=0))
    short = read_texts(translator, ["Go", "We can go home."], ["a", "He is tall."])
    assert (measure_roles(translator, short).best["cross"]["entropy"] == 1).all()  # two queries show nothing
    assert measure_roles(translator, short[:1]).sentence("cross", "entropy", 0, 0) is short[0]


def test_an_induction_head_is_told_from_a_previous_token_head(writer):
    length, begin = 4, 1
    total = Totals(writer.config)
    size = begin + 2 * length
    after = torch.zeros(1, size, size, dtype=torch.bool)
    for i in range(length):
        after[0, begin + length + i, begin + i + 1] = True
    perfect, previous = after.float(), torch.eye(size).roll(1, 0)[None]
    allowed = torch.ones(1, size, size, dtype=torch.bool).tril()
    row = torch.arange(5, 5 + length)
    ids = torch.cat([torch.tensor([2]), row, row])[None]
    batch = BatchMeasures([BY_NAME["induction"]], Tokens("decoder", allowed, query_ids=ids, key_ids=ids))
    total.add("decoder", [torch.stack([perfect, previous], 1)], batch, [-1])
    # a previous-token head finds the token after the first occurrence in the last query of the first copy alone
    np.testing.assert_allclose(total.means()["decoder"]["induction"][0], [1, 0])
    assert total.even()["decoder"]["induction"] == pytest.approx(np.mean([1 / (begin + length + i + 1)
                                                                         for i in range(length)]))


def test_induction_is_measured_on_tokens_that_come_twice(writer, translator, monkeypatch):
    from transformer.analysis import roles as module

    read = []
    monkeypatch.setattr(module, "read_weights", lambda model, src, tgt: read.append((src, tgt)) or
                        read_weights(model, src, tgt))
    roles = measure_roles(writer, read_texts(writer, TEXTS), seed=5)
    _, tgt = read[-1]
    count = tgt.shape[1] // 2
    assert torch.equal(tgt[:, :count], tgt[:, count:])
    assert all(len(set(row)) == count for row in tgt[:, :count].tolist())
    weights = torch.stack(dict(read_weights(writer.model, None, tgt))["decoder"])
    expected = torch.stack([weights[:, :, :, count + i, i + 1] for i in range(count)]).mean((0, 2))
    np.testing.assert_allclose(roles.values["decoder"]["induction"], expected, rtol=1e-5)
    assert roles.queries["decoder"]["induction"] == 16 * count
    measure_roles(translator, read_texts(translator, *zip(*PAIRS, strict=True)))
    src, tgt = read[-1]
    assert set(src[:, -1].tolist()) == {translator.config.eos_id} and set(tgt[:, 0].tolist()) == {
        translator.config.start_id}
    assert src.shape[1] <= translator.config.max_len and tgt.shape[1] <= translator.config.max_len


def test_the_summary_goes_to_json_and_progress_is_told(writer):
    seen = []
    roles = measure_roles(writer, read_texts(writer, TEXTS), largest=1, watch=lambda done, of: seen.append((done, of)))
    assert seen == [(done, len(TEXTS) + ROWS) for done in range(1, len(TEXTS) + ROWS + 1)]
    said = orjson.loads(orjson.dumps(roles.summary()))
    assert said["sentences"] == 3 and said["roles"]["decoder"]["next"]["trained"][0][0] is None
    assert any(text.startswith(said["roles"]["decoder"]["previous"]["best"][0][0]) for text in TEXTS)


def test_the_table_has_every_head_and_measure_once_or_notes_say_why_not(translator):
    roles = measure_roles(translator, read_texts(translator, *zip(*PAIRS, strict=True)))
    table = roles.frame().set_index(["kind", "measure", "layer", "head"]).sort_index()
    assert not table.index.has_duplicates
    assert len(table) == sum(values.size for measures in roles.values.values() for values in measures.values())
    for kind, name in (("decoder", "previous"), ("cross", "diagonal"), ("encoder", "entropy")):
        rows = table.loc[kind, name]
        assert rows.trained.to_numpy().reshape(2, 2).tolist() == roles.values[kind][name].tolist()
        assert rows.untrained.to_numpy().reshape(2, 2).tolist() == roles.untrained[kind][name].tolist()
        assert set(rows.even) == {roles.even[kind][name]} and set(rows.queries) == {roles.queries[kind][name]}
        assert set(rows.unit) == {BY_NAME[name].unit_in(kind)}
    assert table.loc["cross", "alignment"].trained.isna().all()
    assert roles.notes["alignment"] == roles.notes["alignment_read"] == "no word alignment was given"
    assert table.loc["decoder", "rare"].trained.isna().all() and "training corpus" in roles.notes["rare"]


def test_what_cannot_be_measured_is_said(translator, writer):
    with pytest.raises(ValueError, match="no sentences"):
        measure_roles(translator, [])
    with pytest.raises(ValueError, match="2 sentences and 0 translations"):
        read_texts(translator, ["a", "b"])
    with pytest.raises(ValueError, match="nothing to read"):
        read_texts(translator, [""], ["a"])
    with pytest.raises(ValueError, match="at least 3"):
        read_texts(writer, ["a"])


def test_batches_hold_every_sentence_once_and_stay_small(translator):
    config = translator.config
    sentences = [Sentence("", "", tuple(range(4, 4 + n)), (2, *range(4, 4 + n)), None) for n in (9, 3, 7, 3, 5)]
    found = list(batches(config, sentences, largest=2 * 2 * 2 * 6 ** 2))
    assert sorted(at for chosen in found for at in chosen) == list(range(5))
    assert found == [[1, 3], [4], [2], [0]]
    src, tgt, labels, real = pad_sentences(config, [sentences[1], sentences[4]])
    assert real.tolist() == [[True] * 4 + [False] * 2, [True] * 6]
    assert src.tolist() == [[4, 5, 6, 0, 0], [4, 5, 6, 7, 8]] and tgt.shape == (2, 6) and labels is None


def test_an_example_is_short_where_there_is_a_short_one(translator):
    sentences = read_texts(translator, *zip(*PAIRS, ("Go on.", "a cat."), ("I go.", "we go."), strict=True))
    short = [one for one in sentences if max(len(one.src), len(one.tgt)) <= SHORT]
    assert 0 < len(short) < len(sentences)
    found, of_short = measure_roles(translator, sentences), measure_roles(translator, short)
    longer = 0
    for kind, measures in found.values.items():
        for name in measures:
            for layer, head in np.ndindex(measures[name].shape):
                best = found.sentence(kind, name, layer, head)
                example = found.sentence(kind, name, layer, head, short=True)
                assert example == (of_short.sentence(kind, name, layer, head) or best)
                longer += example != best
    assert longer


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_rare_tokens_are_measured_by_how_often_they_came_in_training(translator, kind):
    sentences, size = read_texts(translator, *zip(*PAIRS, strict=True)), translator.config.vocab_size
    counts = {"src": torch.arange(size), "tgt": torch.arange(size).flip(0)}
    roles = measure_roles(translator, sentences, counts=counts)
    side = "tgt" if kind == "decoder" else "src"
    surprisal = -((counts[side] + 1) / (counts[side] + 1).sum()).double().log()
    each, even = [], []
    for sentence in sentences:
        weights = attend(translator, sentence.text, sentence.target).attentions[kind].double()
        keys = surprisal[torch.tensor(getattr(sentence, side))]
        for query in range(weights.shape[2]):
            seen = query + 1 if kind == "decoder" else len(keys)
            if seen > 1:
                each.append(weights[:, :, query] @ keys)
                even.append(float(keys[:seen].mean()))
    np.testing.assert_allclose(roles.values[kind]["rare"], torch.stack(each).mean(0), rtol=1e-5)
    assert roles.even[kind]["rare"] == pytest.approx(np.mean(even)) and roles.queries[kind]["rare"] == len(each)

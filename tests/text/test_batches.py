"""Batches read everything as often as they should, and batch number n is always the same."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.rows import each_row
from transformer.text.batches import Batch, LabelledBatches, PairBatches, WindowBatches, by_length, pad

PAD, START, EOS = 0, 2, 3


def made_up_pairs(count=101, longest=17):
    random = np.random.default_rng(5)

    def sentence():
        return random.integers(4, 30, random.integers(1, longest)).tolist()

    return [(sentence(), sentence()) for _ in range(count)]


def pair_batches(pairs, *, batch_tokens=60, seed=1):
    return PairBatches(pairs, batch_tokens=batch_tokens, pad_id=PAD, start_id=START, eos_id=EOS, seed=seed)


def rows(batch):
    """The pairs of a batch, as they were given."""
    assert (batch.tgt[:, 0] == START).all()
    assert batch.tokens == (batch.labels != PAD).sum()
    more = batch.labels[:, 1:] != PAD  # what is said at one place is read at the next
    assert torch.equal(batch.tgt[:, 1:][more], batch.labels[:, :-1][more])
    sources, targets = ([[id for id in row if id != PAD] for row in side.tolist()]
                        for side in (batch.src, batch.labels))
    assert all(row[-1] == EOS for row in sources + targets)
    return [(source[:-1], target[:-1]) for source, target in zip(sources, targets, strict=True)]


def same(one, other):
    return all(a is b is None or torch.equal(a, b) for a, b in zip(one[:3], other[:3], strict=True))


def test_rows_are_padded_on_the_right():
    found = pad([[5, 6, 7], [8], []], 9)
    assert found.dtype == torch.int64
    assert found.tolist() == [[5, 6, 7], [8, 9, 9], [9, 9, 9]]


@each_row("budget", [1, 10, 60, 10_000])
def test_lengths_are_cut_within_the_budget_and_no_earlier(budget):
    lengths = np.sort(np.random.default_rng(1).integers(1, 20, 50))
    cuts = by_length(lengths, budget)
    assert [i for cut in cuts for i in range(50)[cut]] == list(range(50))
    for cut, after in pairwise(cuts):
        count = cut.stop - cut.start
        assert count == 1 or count * lengths[cut].max() <= budget
        assert (count + 1) * lengths[after.start] > budget


@each_row("batch_tokens", [1, 60, 100_000])
@each_row("epoch", [0, 1, 7])
def test_an_epoch_has_every_pair_exactly_once(epoch, batch_tokens):
    pairs = made_up_pairs()
    batches = pair_batches(pairs, batch_tokens=batch_tokens)
    found = [row for i in range(len(batches)) for row in rows(batches[epoch * len(batches) + i])]
    assert sorted(found) == sorted(pairs)


def test_a_batch_stays_within_its_budget_of_positions():
    batches = pair_batches(made_up_pairs())
    for i in range(3 * len(batches)):
        batch = batches[i]
        widest = max(batch.src.shape[1], batch.tgt.shape[1])
        assert len(batch.tgt) * widest <= 60 or len(batch.tgt) == 1
    assert len(batches) < 50
    long = pair_batches([([5] * 100, [6] * 90), ([5], [6]), ([7], [8])], batch_tokens=10)
    assert sorted(len(long[i].tgt) for i in range(len(long))) == [1, 2]  # what is longer has a batch of its own


def test_the_decoder_reads_the_start_and_says_the_rest_and_the_end_on_any_device():
    batch = pair_batches([([5, 6], [7, 8, 9])])[0]
    assert batch.src.tolist() == [[5, 6, EOS]]
    assert batch.tgt.tolist() == [[START, 7, 8, 9]]
    assert batch.labels.tolist() == [[7, 8, 9, EOS]]
    assert batch.tokens == 4
    moved = batch.to(torch.device("meta"))
    assert [x.device.type for x in moved[:3]] == ["meta"] * 3 and moved.tokens == 4
    assert Batch(None, batch.tgt, batch.labels, 4).to(torch.device("meta")).src is None


def test_batches_hold_pairs_of_similar_length_and_every_epoch_has_an_order_and_neighbours_of_its_own():
    batches = pair_batches(made_up_pairs(1000), batch_tokens=300)
    every = [batches[i] for i in range(len(batches))]
    filled = sum(batch.tokens for batch in every) / sum(batch.labels.numel() for batch in every)
    shuffled = sum(len(target) + 1 for _, target in made_up_pairs(1000)) / (1000 * 17)
    assert filled > shuffled + 0.1
    pairs = made_up_pairs(1000, longest=6)
    batches = pair_batches(pairs)
    epochs = [[rows(batches[e * len(batches) + i]) for i in range(len(batches))] for e in (0, 1)]
    assert epochs[0] != epochs[1]
    assert sorted(map(sorted, epochs[0])) != sorted(map(sorted, epochs[1]))


@pytest.mark.parametrize("make", [
    lambda seed: pair_batches(made_up_pairs(), seed=seed),
    lambda seed: WindowBatches(list(range(500)), batch_tokens=64, max_len=16, seed=seed),
    lambda seed: labelled_batches(word_dropout=0.3, seed=seed),
], ids=["pairs", "windows", "classes"])
def test_a_batch_depends_on_its_number_and_the_seed_alone(make):
    one, other = make(1), make(1)
    numbers = [0, 1, len(one) - 1, len(one), 3 * len(one) + 2]
    before = [one[n] for n in numbers]
    assert all(same(other[n], batch) for n, batch in reversed(list(zip(numbers, before, strict=True))))
    assert all(same(one[n], batch) for n, batch in zip(numbers, before, strict=True))
    assert not all(same(make(2)[n], batch) for n, batch in zip(numbers, before, strict=True))


def test_evaluation_reads_every_pair_once_and_always_in_the_same_order():
    pairs = made_up_pairs()
    batches = pair_batches(pairs)
    found = batches.in_order()
    assert sorted(row for batch in found for row in rows(batch)) == sorted(pairs)
    assert all(same(a, b) for a, b in zip(found, pair_batches(pairs, seed=9).in_order(), strict=True))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: pair_batches([]), "no sentence pairs to learn from"),
    (lambda: WindowBatches([5], batch_tokens=64, max_len=16, seed=1), "the text has 1 token; at least 2"),
    (lambda: LabelledBatches([], batch_tokens=40, pad_id=0, unk_id=1, seed=3), "no texts to learn from")])
def test_too_little_to_learn_from_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@each_row("length", [2, 3, 16, 17, 18, 100, 128, 129, 130, 500])
def test_evaluation_predicts_every_token_but_the_first_once(length):
    ids = list(range(length))
    found = WindowBatches(ids, batch_tokens=64, max_len=16, seed=1).in_order()
    predicted = [pair for batch in found for pair in torch.stack([batch.tgt, batch.labels], -1).flatten(0, 1).tolist()]
    assert sorted(predicted) == [[i, i + 1] for i in range(length - 1)]
    assert sum(batch.tokens for batch in found) == length - 1
    for batch in found:
        assert batch.src is None
        assert batch.tokens == batch.labels.numel()
        assert batch.tgt.shape[1] <= 16
        assert batch.tgt.numel() <= 64
        assert (batch.tgt[:, 0] % 16 == 0).all()  # windows stand side by side


@each_row("length", [17, 18, 500])
def test_windows_to_learn_from_may_start_anywhere_and_as_many_make_an_epoch_as_there_are_tokens(length):
    batches = WindowBatches(list(range(length)), batch_tokens=64, max_len=16, seed=1)
    assert len(batches) == max(1, length // 64)
    starts = set()
    for i in range(800):
        batch = batches[i]
        assert batch.tgt.shape == batch.labels.shape == (4, 16)
        assert torch.equal(batch.labels, batch.tgt + 1)
        starts |= set(batch.tgt[:, 0].tolist())
    assert starts == set(range(length - 16))


LABELLED = [([5 + i % 7] * (1 + i % 9), i % 3) for i in range(50)]


def labelled_batches(**changes):
    return LabelledBatches(LABELLED, **{"batch_tokens": 40, "pad_id": PAD, "unk_id": 1, "seed": 3, **changes})


def labelled_rows(batches):
    return sorted((tuple(i for i in ids if i), label) for batch in batches
                  for ids, label in zip(batch.src.tolist(), batch.labels.tolist(), strict=True))


def test_an_epoch_has_every_text_once_with_its_class():
    batches = labelled_batches()
    expected = sorted((tuple(ids), label) for ids, label in LABELLED)
    assert labelled_rows(batches[i] for i in range(len(batches))) == expected
    assert labelled_rows(batches.in_order()) == expected
    assert all(batches[i].src.numel() <= 40 and batches[i].tokens == len(batches[i].labels)
               for i in range(len(batches)))


def test_word_dropout_hides_its_share_and_no_padding_and_nothing_when_evaluating():
    whole, dropped = labelled_batches(), labelled_batches(word_dropout=0.3)
    hidden = real = 0
    for i in range(10 * len(whole)):
        before, after = whole[i].src, dropped[i].src
        changed = before != after
        assert torch.all(after[changed] == 1)
        assert not changed[before == 0].any()
        hidden, real = hidden + int(changed.sum()), real + int((before != 0).sum())
    assert hidden / real == pytest.approx(0.3, abs=0.03)
    assert all(np.array_equal(a.src, b.src) for a, b in zip(whole.in_order(), dropped.in_order(), strict=True))

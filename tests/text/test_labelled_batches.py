"""Batches of texts with a class."""

import numpy as np
import pytest
import torch

from transformer.text.batches import LabelledBatches

ITEMS = [([5 + i % 7] * (1 + i % 9), i % 3) for i in range(50)]


def make(**changes):
    return LabelledBatches(ITEMS, **{"batch_tokens": 40, "pad_id": 0, "unk_id": 1, "seed": 3, **changes})


def rows(batches):
    return sorted((tuple(i for i in ids if i), label) for batch in batches
                  for ids, label in zip(batch.src.tolist(), batch.labels.tolist(), strict=True))


def test_an_epoch_has_every_text_once_with_its_class():
    batches = make()
    expected = sorted((tuple(ids), label) for ids, label in ITEMS)
    assert rows(batches[i] for i in range(len(batches))) == expected
    assert rows(batches.in_order()) == expected
    assert all(batches[i].src.numel() <= 40 and batches[i].tokens == len(batches[i].labels)
               for i in range(len(batches)))


def test_a_batch_is_a_function_of_its_number():
    one, other = make(word_dropout=0.3), make(word_dropout=0.3)
    for i in (0, 7, 31, 7):
        assert torch.equal(one[i].src, other[i].src)
    assert any(not torch.equal(one[i].src, one[i + len(one)].src) for i in range(len(one)))


def test_word_dropout_hides_its_share_and_no_padding_and_nothing_when_evaluating():
    whole, dropped = make(), make(word_dropout=0.3)
    hidden = real = 0
    for i in range(10 * len(whole)):
        before, after = whole[i].src, dropped[i].src
        changed = before != after
        assert torch.all(after[changed] == 1)
        assert not changed[before == 0].any()
        hidden, real = hidden + int(changed.sum()), real + int((before != 0).sum())
    assert hidden / real == pytest.approx(0.3, abs=0.03)
    assert all(np.array_equal(a.src, b.src) for a, b in zip(whole.in_order(), dropped.in_order(), strict=True))


def test_no_texts_are_refused():
    with pytest.raises(ValueError, match="no texts to learn from"):
        LabelledBatches([], batch_tokens=40, pad_id=0, unk_id=1, seed=3)

"""Pairs drawn anew for every epoch: the shares that are asked for, by the seed alone."""

import random
from functools import cache

import pytest

from tests.rows import each_row
from transformer.text.augmentation import AugmentedPairs, Names, typed, without_mark
from transformer.text.tokenizer import train

NAMED = [(f"{name} sees the Bread, {name}.", f"{name} voit le Bread, {name} !")
         for name in ("Tom", "Mary", "Marcel", "Zoé", "Oskar", "Boston", "Tokyo", "Paris", "Jackson", "Rome", "Canada",
                      "Alice", "Lincoln", "Kobe", "Nara", "Nagoya", "Hawaii")]
TEXTS = [(f"The {thing} is {how} today.", f"Le {chose} est {comment} aujourd'hui !")
         for thing, chose in (("cat", "chat"), ("dog", "chien"), ("wind", "vent"), ("bread", "pain"), ("book", "livre"))
         for how, comment in (("red", "rouge"), ("big", "grand"), ("old", "vieux"), ("cold", "froid"))] * 20


@cache
def tokenizer_of(kind):
    return train([case(side) for pair in TEXTS + NAMED for side in pair for case in (str, str.lower)], kind=kind,
                 vocab_size=140, seed=1)


def augmented(kind="unigram", max_len=200, texts=TEXTS, **settings):
    tokenizer = tokenizer_of(kind)
    plain = [tuple(map(tokenizer.encode, pair)) for pair in texts]
    return AugmentedPairs(texts, plain, source_tokenizer=tokenizer, tokenizer=tokenizer, max_len=max_len, **settings)


def texts_of(pairs, kind="unigram"):
    return [tuple(map(tokenizer_of(kind).decode, pair)) for pair in pairs]


@pytest.mark.parametrize("settings", [{"as_typed": 0.3}, {"joined": 0.3}, {"subword_sampling": 0.3},
                                      {"other_names": 0.5},
                                      {"as_typed": 0.2, "joined": 0.2, "other_names": 0.4, "subword_sampling": 0.5}])
def test_an_epoch_depends_on_its_number_and_the_seed_alone(settings):
    one, other = augmented(texts=NAMED * 6, seed=4, **settings), augmented(texts=NAMED * 6, seed=4, **settings)
    epochs = [one(0), one(1)]
    assert [other(1), other(0)] == epochs[::-1]
    assert epochs[0] != epochs[1]
    assert augmented(texts=NAMED * 6, seed=5, **settings)(0) != epochs[0]


def test_without_a_share_or_without_names_all_pairs_are_as_they_were():
    assert texts_of(augmented()(3)) == texts_of(augmented(other_names=1.0)(0)) == TEXTS


def test_a_share_of_pairs_is_as_people_type_them_on_both_sides():
    changed = [(pair, was) for pair, was in zip(texts_of(augmented(as_typed=0.25)(0)), TEXTS, strict=True)
               if pair != was]
    assert 0.18 < len(changed) / len(TEXTS) < 0.32
    for pair, was in changed:
        lower, bare = (tuple(change(side) for side in was) for change in (str.lower, without_mark))
        assert pair in (lower, bare, tuple(map(str.lower, bare)))
    assert {pair == tuple(map(str.lower, was)) for pair, was in changed} == {True, False}


def test_a_share_of_pairs_has_one_or_two_others_after_them():
    pairs = texts_of(augmented(joined=0.4)(0))
    longer = [(pair, was) for pair, was in zip(pairs, TEXTS, strict=True) if pair != was]
    assert 0.3 < len(longer) / len(TEXTS) < 0.5
    assert {pair[0].count(".") for pair, _ in longer} == {2, 3}
    assert all(side.startswith(before) for pair, was in longer for side, before in zip(pair, was, strict=True))
    assert all(pair[0].count(".") == pair[1].count("!") for pair, _ in longer)


def test_what_does_not_fit_is_as_it_was():
    longest = max(len(tokenizer_of("unigram").encode(side)) for pair in TEXTS for side in pair) + 1
    drawn = augmented(max_len=longest, joined=0.5)(0)
    assert texts_of(drawn) == TEXTS


@pytest.mark.parametrize(("kind", "alpha"), [("unigram", 0.5), ("bpe", 0.03)])
def test_pieces_are_cut_in_other_ways_that_read_the_same(kind, alpha):
    drawn = augmented(kind, subword_sampling=alpha)(0)
    assert texts_of(drawn, kind) == TEXTS
    best = [tuple(map(tokenizer_of(kind).encode, pair)) for pair in TEXTS]
    assert 0.05 < sum(pair == was for pair, was in zip(drawn, best, strict=True)) / len(best) < 0.95


def test_all_three_ways_to_type_occur():
    pair, drawn = ("Go on!", "Continue !"), random.Random(1)
    assert {typed(pair, drawn) for _ in range(50)} == {
        ("go on!", "continue !"), ("Go on", "Continue"), ("go on", "continue")}


@each_row(("text", "bare"), [
    ("Va\u202f!", "Va"), ("Why?!", "Why"), ("Wait…  ", "Wait"), ("A. B.", "A. B"), ("...", "..."), ("", ""),
    ("no mark", "no mark")])
def test_the_mark_that_ends_a_text_goes_with_the_space_before_it(text, bare):
    assert without_mark(text) == bare


def test_a_share_of_pairs_has_other_names_the_same_on_both_sides():
    texts = TEXTS[:100] + NAMED * 20
    pairs = texts_of(augmented(texts=texts, other_names=0.5)(0))
    assert pairs[:100] == TEXTS[:100]
    others = [pair for pair, was in zip(pairs, texts, strict=True) if pair != was]
    assert 0.4 < len(others) / (20 * len(NAMED)) < 0.6
    for source, target in others:
        name = source.split()[0]
        assert (source, target) == (f"{name} sees the Bread, {name}.", f"{name} voit le Bread, {name} !")


def test_names_are_what_both_sides_spell_alike_and_others_are_as_often_made_up_as_known():
    names = Names(TEXTS + NAMED)
    assert names.known == sorted(source.split()[0] for source, _ in NAMED)
    assert names.of(("Bread is what Tom and Anna like", "Tom et Annie aiment Bread")) == ["Tom"]
    drawn = random.Random(2)
    made = [names.exchanged((name, name), drawn)[0] for _ in range(200) for name in ("Tom", "Oskar")]
    assert {name[0] for name in made[1::2]} == set("AOH") and not {name[0] for name in made[::2]} & set("AOH")
    assert 0.45 < sum(name in names.known for name in made) / len(made) < 0.95  # of so few, many come out again
    assert set(names.known) < set(made)
    assert all(1 < len(name) <= 12 and name[0].isupper() and name[1:].islower() for name in made)

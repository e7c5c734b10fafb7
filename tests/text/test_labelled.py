"""Texts with a class: cut from a play or from pairs of sentences, and never in two splits."""

import hashlib

import pytest

from transformer.text.corpora import corpus
from transformer.text.labelled import by_ending, by_speaker, passages, split_of, split_texts

PLAY = """ANNE:
Good day: to you,
old friend.

BEN:
And to you.

TITUS:

BEN:
Farewell.


ANNE:
No, my lord.

Third Citizen:
No, my lord.
"""


def test_a_passage_is_a_speech_without_its_heading_and_the_most_frequent_speakers_are_kept():
    assert passages(PLAY) == [("ANNE", "Good day: to you,\nold friend."), ("BEN", "And to you."), ("BEN", "Farewell."),
                              ("ANNE", "No, my lord."), ("Third Citizen", "No, my lord.")]
    names, items = by_speaker("CLEO:\nOne.\n\nCLEO:\nTwo.\n\n" + PLAY, speakers=2)
    assert names == ["ANNE", "BEN"]
    assert {name for _, name in items} == {"ANNE", "BEN"}
    assert len(items) == 4


def test_a_sentence_ends_as_its_first_translation_does_and_of_each_way_to_end_there_are_as_many_as_of_the_rarest():
    pairs = [("Call a doctor.", "Appelez un médecin\u202f!"), ("Call a doctor.", "Appelle un médecin."),
             ("Who is it?", "« Qui est-ce ? »"), ("I see it.", "Je le vois."), ("Odd", "Sans marque")]
    names, items = by_ending("\n".join(map("\t".join, pairs)))
    assert names == ["statement", "question", "exclamation"]
    assert items == [("I see it", "statement"), ("Who is it", "question"), ("Call a doctor", "exclamation")]
    lines = [f"It is {i}.\tC'est {i}." for i in range(20)] + [f"Is it {i}?\tEst-ce {i} ?" for i in range(5)] + [
        "Go.\tVa !"] * 3
    _, items = by_ending("\n".join(lines))
    assert sorted(label for _, label in items) == ["exclamation", "question", "statement"]


@pytest.mark.slow
def test_the_ends_of_eng_fra_and_the_speakers_of_tiny_shakespeare_are_those_that_results_are_stated_for():
    found = corpus("endings")
    assert [len(found.split(name)) for name in ("train", "validation", "test")] == [6_104, 772, 813]
    assert not any(text.endswith((".", "?", "!")) for name in found.splits for text, _ in found.split(name))
    found = corpus("speakers")
    plays = corpus("tiny-shakespeare").text
    assert len(passages(plays)) == 7_097
    counts = {name: sum(label == name for name_ in found.splits for _, label in found.splits[name_])
              for name in found.classes}
    assert counts == {"GLOUCESTER": 211, "DUKE VINCENTIO": 189, "MENENIUS": 161, "ROMEO": 160, "PETRUCHIO": 155,
                      "CORIOLANUS": 148, "KING RICHARD III": 137, "ISABELLA": 127, "JULIET": 124, "LEONTES": 124}
    assert list(counts) == list(found.classes)
    assert {name: len(items) for name, items in found.splits.items()} == {"train": 1_227, "validation": 153,
                                                                           "test": 156}
    assert all(text in plays and not text.startswith(name) for items in found.splits.values() for text, name in items)


def test_the_split_goes_by_the_hash_of_the_text_alone_so_that_the_same_words_never_fall_on_two_sides():
    for text in map(str, range(400)):
        share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32
        assert split_of(text) == ("train" if share < 0.8 else "validation" if share < 0.9 else "test")
    splits = split_texts([(str(i % 500), name) for i in range(1000) for name in ("ANNE", "BEN")])
    found = [{text for text, _ in items} for items in splits.values()]
    assert sum(map(len, found)) == len(set.union(*found)) == 500
    assert [len(items) / 2000 for items in splits.values()] == pytest.approx([0.8, 0.1, 0.1], abs=0.05)

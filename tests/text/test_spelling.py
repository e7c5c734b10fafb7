"""Spellings and signs read as a model learned them, by Python and by the script of a published file."""

import random
import unicodedata

import pytest

from tests.node import answering, needs_node
from tests.rows import each_row
from transformer.evaluation.unfamiliar_text import read_as, read_familiar
from transformer.text.spelling import ALIKE, learned_spellings, respell

TEXTS = ['The color of "it" is gray, John\'s too - a well-known color.'] * 20 + [
    "A centre: a center, a center, a center."]
PAIRS = {"colour": "color", "grey": "gray", "centre": "center", "theatre": "theater"}


def test_a_spelling_is_read_as_one_that_the_texts_have_much_more_often_and_never_the_other_way():
    found = learned_spellings(TEXTS, pairs=PAIRS)
    words = {one: other for one, other in found.items() if one.isalnum()}
    assert words == {"colour": "color", "grey": "gray", "centre": "center"}
    assert learned_spellings(["a centre, a center"], pairs=PAIRS).keys().isdisjoint({"centre", "center"})
    other_way = learned_spellings(["the colour"], pairs=PAIRS)
    assert other_way["color"] == "colour"
    assert "colour" not in other_way


def test_a_sign_is_read_as_the_first_like_it_that_the_texts_have_often():
    found = learned_spellings(TEXTS)
    assert {found[sign] for sign in ALIKE[0][0] if sign != '"'} == {'"'}
    assert (found["’"], found["–"], found["—"], found["\u202f"], found["\u200b"]) == ("'", "-", ", ", " ", "")
    assert "…" not in found  # they have no three dots
    assert '"' not in found
    of_dashes = learned_spellings(["'Tis he--'tis she, and 'tis it"] * 10)
    assert (of_dashes["“"], of_dashes['"'], of_dashes["—"]) == ("'", "'", "--")
    assert learned_spellings(["He said “no” and ‘yes’, \"so\" and 'so'."] * 20).keys().isdisjoint("“”‘’")


@each_row(("typed", "read", "said"), [
    ("My neighbour has a grey colour.", "My neighbor has a gray color.", "Read as “neighbor”, “gray” and “color”."),
    ("He said “hello” to me.", 'He said "hello" to me.', "Read with straight quotes."),
    ("The neighbours’ GREY house — Colourful!", "The neighbors' GRAY house, Colorful!",
     "Read as “neighbors”, “GRAY” and “Colorful”, with straight quotes and commas for dashes."),
    ("“Grey” and “grey”", '"Gray" and "gray"', "Read as “Gray” and “gray”, with straight quotes."),
    ("An honour, a favourite theatre, a centre.", "An honor, a favorite theater, a center.",
     "Read as “honor”, “favorite”, “theater” and 1 more."),
    ("Ten\u00a0thousand\u2009people", "Ten thousand people", ""),
    ("Four hours, our tour.", "Four hours, our tour.", ""),
    ("1914–1918", "1914-1918", "Read with plain hyphens."),
    ("", "", ""),
])
def test_the_translator_reads_what_people_type_as_its_sentences_spell_it(shipped, typed, read, said):
    text, found = respell(typed, read_familiar(shipped("translate")).spellings)
    assert (text, read_as(found)) == (read, said)
    assert respell(text, read_familiar(shipped("translate")).spellings) == (text, {})  # nothing is left to read


@pytest.mark.parametrize("name", ["translate", "write", "classify", "punctuate"])
def test_what_is_read_as_another_is_not_itself_read_as_something_else(shipped, name):
    spellings = read_familiar(shipped(name)).spellings
    assert len(spellings) > 50
    assert not [one for one in spellings if spellings[one] in spellings]


@needs_node
@pytest.mark.slow
def test_a_published_file_reads_every_text_as_python_does(shipped):
    draw = random.Random(46)
    with answering("twins.js") as ask:
        for name in ("translate", "write"):
            spellings = read_familiar(shipped(name)).spellings
            parts = [*spellings, *(word.upper() for word in spellings), *map(str.capitalize, spellings), " ", " ", ".",
                     "é", "İ", "ß", "e\u0301", "_", "x", "hasOwnProperty", "constructor", "😀", "²", "٣", "ǅ"]
            texts = [*parts, *("".join(draw.choices(parts, k=draw.randrange(1, 9))) for _ in range(3_000))]
            expected = []
            for typed in texts:
                text, found = respell(typed, spellings)
                expected.append([text, [[*pair] for pair in found.items()], read_as(found)])
            for typed, one, other in zip(texts, expected, ask({"texts": texts, "spellings": spellings}), strict=True):
                assert one == other, [typed, [*map(unicodedata.name, typed)]]

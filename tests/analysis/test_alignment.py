"""IBM Model 1, compared with Koehn's small corpus and NLTK's table; and saved tables."""

import numpy as np
import pytest

from transformer.analysis.alignment import WordAligner, word_links, words

HOUSE = [("the house", "das haus"), ("the book", "das buch"), ("a book", "ein buch")]
SENTENCES = [("I am cold .", "J' ai froid ."), ("I am hungry .", "J' ai faim ."), ("he is cold .", "il a froid ."),
             ("the the dog", "le chien"), ("the cat is here", "le chat est ici"), ("go", "va"), ("go on", "continue"),
             ("the dog is here", "le chien est ici")]
REPEATED = [*SENTENCES, ("no , no", "non , non"), ("the cat and the dog", "le chat et le chien")]


def split(pairs):
    return [(left.split(), right.split()) for left, right in pairs]


def by_hand(pairs, iterations):
    """The same model word by word: Koehn 2010, figure 4.3, with a NULL word on the source side."""
    table, targets = {}, {word for _, right in pairs for word in right}
    for left, right in pairs:
        table |= {(word, other): 1 / len(targets) for word in right for other in (None, *left)}
    for _ in range(iterations):
        count, total = dict.fromkeys(table, 0.0), {}
        for left, right in pairs:
            for word in right:
                whole = sum(table[word, other] for other in (None, *left))
                for other in (None, *left):
                    share = table[word, other] / whole
                    count[word, other] += share
                    total[other] = total.get(other, 0.0) + share
        table = {(word, other): value / total[other] for (word, other), value in count.items()}
    return table


@pytest.mark.parametrize("pairs", [HOUSE, REPEATED])
@pytest.mark.parametrize("iterations", [1, 5])
def test_the_table_is_the_one_worked_out_word_by_word(pairs, iterations):
    pairs = split(pairs)
    aligner = WordAligner.learn(pairs, iterations=iterations)
    for (word, other), value in by_hand(pairs, iterations).items():
        assert aligner.probability(word, other) == pytest.approx(value, rel=1e-12)


@pytest.mark.slow
def test_the_table_and_the_alignments_are_those_of_nltk():
    translate = pytest.importorskip("nltk.translate")
    pairs = split(SENTENCES)  # no target word twice in a sentence: there NLTK counts otherwise
    bitext = [translate.AlignedSent(right, left) for left, right in pairs]
    theirs, ours = translate.IBMModel1(bitext, 5), WordAligner.learn(pairs, iterations=5)
    for (left, right), sentence in zip(pairs, bitext, strict=True):
        for word in right:
            for other in (None, *left):
                assert ours.probability(word, other) == pytest.approx(theirs.translation_table[word][other], rel=1e-9)
        found = ours.align(left, right)
        for word, other in sentence.alignment:
            assert other in found[word] if other is not None else found[word] == ()


def test_words_are_told_apart_by_what_they_stand_beside():
    aligner = WordAligner.learn(split(HOUSE), iterations=20)
    assert aligner.align(["the", "book"], ["das", "buch"]) == [(0,), (1,)]
    assert aligner.align(["a", "a"], ["ein", "nie"]) == [(0, 1), ()]
    assert sum(aligner.probability(word, "book") for word in ("das", "haus", "ein", "buch")) == pytest.approx(1)
    assert aligner.probability("haus", "book") == aligner.probability("haus", "never") == 0
    aligner = WordAligner.learn(split([("a", "x A"), ("b", "x B"), ("c", "x C")]))
    assert aligner.align(["a"], ["x", "A"]) == [(), (0,)]


def test_a_saved_table_aligns_as_before(tmp_path):
    aligner = WordAligner.learn(split(SENTENCES))
    aligner.save(tmp_path / "cache" / "alignment.safetensors")
    again = WordAligner.load(tmp_path / "cache" / "alignment.safetensors")
    assert (again.pairs, again.iterations) == (aligner.pairs, aligner.iterations) == (8, 5)
    for left, right in split(SENTENCES):
        assert again.align(left, right) == aligner.align(left, right)
    (tmp_path / "other").write_bytes(b"not a table")
    with pytest.raises(ValueError, match="not a saved word alignment"):
        WordAligner.load(tmp_path / "other")
    with pytest.raises(ValueError, match="no pairs"):
        WordAligner.learn([([], ["a"])])


def test_pieces_are_linked_by_the_words_they_belong_to():
    aligner = WordAligner.learn(split(HOUSE), iterations=20)
    #     "the book": the | bo | ok        "Das Buch": D | as | Buch, and the empty piece of an end token
    links = word_links(aligner, "the book", "Das Buch", [(0, 3), (3, 6), (6, 8)], [(0, 1), (1, 3), (3, 8), (8, 8)])
    np.testing.assert_array_equal(links, [[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]])
    assert words("J'ai FROID, non ?") == ["j", "'", "ai", "froid", ",", "non", "?"]

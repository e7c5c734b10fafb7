"""The people of the load benchmark notice what they are there to notice."""

from urllib.parse import urlencode

from benchmarks import people


def test_a_sentence_is_known_as_it_is_and_in_an_address():
    sentence = people.SENTENCE.format(number=117)
    for said in (sentence, urlencode({"text": sentence, "step": 3}), sentence.replace(" ", "%20")):
        assert people.NAMED.findall(f"\x12{said}\x00".encode()) == [b"117"]


def test_few_figures_have_a_spread_too():
    assert people.spread([]) == {"median_ms": 0.0, "p95_ms": 0.0}
    assert people.spread([5.0]) == {"median_ms": 5.0, "p95_ms": 5.0}
    assert people.spread([1.0] * 100)["p95_ms"] == 1.0

"""Terms explained where they stand, as HTML: no page, no browser."""

import pytest

from ui.page.terms import TERMS, term, with_terms


@pytest.mark.parametrize("name", TERMS)
def test_every_term_is_one_short_sentence(name):
    assert TERMS[name].endswith(".")
    assert len(TERMS[name]) <= 120
    assert TERMS[name].count(". ") == 0


@pytest.mark.parametrize("name", ["head", "layer"])
def test_what_has_a_number_says_where_counting_begins(name):
    assert "counted from 0" in TERMS[name]


def test_each_term_is_explained_once_at_its_first_place_and_as_it_is_written_there():
    html = with_terms("Heads look at tokens; a head at a token.", "head", "token")
    assert html.count("<dfn") == 2
    assert html.startswith('<dfn class="term"')
    assert ">Heads</dfn> look at " in html
    assert html.endswith("; a head at a token.")


def test_a_term_inside_another_word_or_in_code_is_left_alone():
    for text in ("overhead", "`head`", "head_choice", "keyboard"):
        assert with_terms(text, "head", "key") == text


def test_the_sentence_of_one_term_is_not_dressed_with_another():
    html = with_terms("A query and a key.", "query", "key")
    assert html.count("<dfn") == 2
    assert html.replace(term("query"), "query").replace(term("key"), "key") == "A query and a key."


def test_signs_of_html_are_escaped():
    assert "<s>" not in term("<s>")
    assert "&lt;/s&gt;</dfn>" in with_terms("It ends with &lt;/s&gt;.", "</s>")

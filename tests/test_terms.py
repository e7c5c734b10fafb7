"""Terms explained where they stand, as HTML: no page, no browser."""

from tests.rows import each_row
from ui.page.terms import TERMS, term, with_terms


@each_row("name", TERMS)
def test_every_term_is_one_short_sentence(name):
    assert TERMS[name].endswith(".")
    assert len(TERMS[name]) <= 120
    assert TERMS[name].count(". ") == 0
    assert name not in ("head", "layer") or "counted from 0" in TERMS[name]


def test_each_term_is_explained_once_at_its_first_place_and_as_it_is_written_there():
    html = with_terms("Heads look at tokens; a head at a token.", "head", "token")
    assert html.count("<dfn") == 2
    assert html.startswith('<dfn class="term"')
    assert ">Heads</dfn> look at " in html
    assert html.endswith("; a head at a token.")


def test_terms_inside_words_code_or_other_terms_are_left_alone_and_html_is_escaped():
    for text in ("overhead", "`head`", "head_choice", "keyboard"):
        assert with_terms(text, "head", "key") == text
    html = with_terms("A query and a key.", "query", "key")
    assert html.count("<dfn") == 2
    assert html.replace(term("query"), "query").replace(term("key"), "key") == "A query and a key."
    assert "<s>" not in term("<s>")
    assert "&lt;/s&gt;</dfn>" in with_terms("It ends with &lt;/s&gt;.", "</s>")

"""What the pages call the two languages of a model that translates: what the model says, never more."""

import pytest

import transformer
from tests.app.heads_checkpoints import make
from transformer.checkpoints.checkpoint import save
from transformer.training.model_card import model_card
from ui.figures import markdown_text

from .page import has_step_view, plain, step_view_of, words

pytestmark = pytest.mark.usefixtures("few_corpora")


@pytest.fixture
def place(home):
    """place(languages): a translator that says so, or says nothing."""
    def place(languages=None):
        ckpt = make(home, "translator", corpus=False)
        save(ckpt.description.folder, ckpt.model, tokenizer=ckpt.tokenizer,
             meta={"languages": list(languages)} if languages else {})
        return transformer.load(ckpt.description.folder)

    return place


def said(at) -> str:
    """All that a page says in words, in a step view too."""
    fields = [f"{plain(one.label)} {one.placeholder}" for one in (*at.text_input, *at.text_area)]
    shown = words(at, "markdown", "caption", "info", "text_input", "text_area")
    return " ".join([shown, *fields, str(step_view_of(at)) if has_step_view(at) else ""])


def labels(at) -> list[str]:
    """What the two rows of tokens on Translate are called."""
    return [row["label"] for row in step_view_of(at)["rows"]]


PAGES = [("translate", {}), ("masks", {}), ("heads", {"view": "roles"}), ("heads", {"view": "switch"}),
         ("heads", {"view": "lens"}), ("checkpoints", {"view": "compare"})]


@pytest.mark.parametrize("languages", [("German", "Danish"), None])
@pytest.mark.parametrize(("page", "params"), PAGES)
def test_a_page_names_the_languages_of_the_model_and_no_others(page, params, languages, place, visit):
    at = visit(page, checkpoint=place(languages).id, **params)
    assert not [error.value for error in at.error]
    assert ("German" in said(at)) == bool(languages)
    others = ("English", "French", "I am cold", "I like red wine") if languages else ("English", "French")
    assert not [word for word in others if word in said(at)]


def test_translate_names_both_rows_and_an_example_comes_back_with_a_model_that_reads_it(place, visit):
    assert labels(visit("translate", checkpoint=place().id, text="a dog")) == ["Source", "Target"]
    at = visit("translate", checkpoint=place(("German", "Danish")).id)
    assert at.text_input(key="translate_text").value == "" and "Type a sentence in German above" in at.info[0].value
    at.selectbox(key="translate_checkpoint").select_index(0)
    at.run()
    assert at.text_input(key="translate_text").value == "I like red wine."
    assert labels(at) == ["English", "French"]


@pytest.mark.parametrize("names", [("English", "German"), ("[x](http://a.bc/x) **b**", "<b>עברית</b>")])
def test_languages_named_with_a_file_are_those_of_every_page_and_of_the_card(names, home, visit):
    ckpt = make(home, "translator")
    train = ckpt.description.train.replace(languages=names)
    save(ckpt.description.folder, ckpt.model, tokenizer=ckpt.tokenizer, train=train,
         meta={"step": 7, "parameters": 1, "seconds": 5.0, "validation_loss": 1.0})
    ckpt = transformer.load(ckpt.description.folder)
    assert ckpt.description.languages == names
    at = visit("translate", checkpoint=ckpt.id, text="Go on.")
    assert labels(at) == list(names)
    assert step_view_of(at)["text"]["reference"]["label"] == f"{names[1]} reference translations"
    assert at.text_input(key="translate_text").label == markdown_text(f"A sentence in {names[0]}")
    card = model_card("mine", ckpt, {}, [], processor="a CPU")
    assert all(mark not in card for mark in ("[x](http", "**b**", "<b>"))
    assert "translates" in card and ("עברית" if "עברית" in names[1] else "English to German") in card

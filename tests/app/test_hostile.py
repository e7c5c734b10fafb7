"""Whatever stands in an address or in somebody's file is opened or refused, and is read as markdown nowhere: on every
page and every view of it, from the tables that the pages themselves have."""

from collections.abc import Iterator
from itertools import cycle

import pytest
from streamlit.testing.v1 import AppTest

from transformer.checkpoints.checkpoint import Description, describe, save
from ui.figures import markdown_text
from ui.lessons.stop_links import fields_of
from ui.page.pages import PAGES, stepper_of

from .addresses import addresses
from .heads_checkpoints import KINDS

ACTS = "![x](http://example.org/x.png) :red[hot] *a* $x$ <b>"  # all that markdown would act on
# What the fields of an address are given, one after another.
VALUES = {
    "signs": [ACTS], "numbers": ["nan", "1e300", "-7", "0x1"],
    "shapes": ["", "\u202e\x00\u2028", ":::,-1:9,x:y," * 4, "../../etc/passwd", "x" * 60],
}
ALL = [value for values in VALUES.values() for value in values]
# Elements whose texts are shown as they are (HTML, which is not, is read as markdown is: a sign of it has to be escaped
# there too), and what all others are told besides their words.
AS_THEY_ARE = {"iframe", "bidi_component", "arrow_data_frame", "arrow_vega_lite_chart", "plotly_chart", "code", "json",
               "text"}
NO_WORDS = {"id", "form_id", "key", "value", "default", "query_param_key", "url", "page", "icon", "element_id",
            "anchor", "set_value", "raw_values", "placeholder", "data", "shortcut", "file_name", "accept"}


def words(message) -> Iterator[str]:
    """The texts of a message to the browser that its widget reads as markdown."""
    for field, value in message.ListFields():
        if field.name in NO_WORDS | AS_THEY_ARE:
            continue
        for part in value if field.is_repeated else [value]:
            if field.type == field.TYPE_MESSAGE and not field.message_type.GetOptions().map_entry:
                yield from words(part)
            elif field.type == field.TYPE_STRING:
                yield part


def _read(element) -> Iterator[str]:
    plain = element.proto.options if element.type in ("selectbox", "multiselect") else ()  # which show them as they are
    return (found for found in words(element.proto) if found not in plain)


def acting(at: AppTest, text: str) -> list[str]:
    """What on the page reads that text as markdown."""
    return [found for element in at if getattr(element, "proto", None) is not None and element.type not in AS_THEY_ARE
            for found in _read(element) if text in found]


def hostile(page: str, number: int) -> dict[str, str]:
    """An address that has every text field act and gives all others any value, another for each view of a page."""
    return {name: ACTS if field.long and field.widget else ALL[(at + number) % len(ALL)]
            for at, (name, field) in enumerate(fields_of(page).items())}


@pytest.mark.usefixtures("lasting")
@pytest.mark.parametrize(("number", "page", "view"), [(number, *address) for number, address in enumerate(addresses())])
def test_whatever_an_address_says_the_page_opens_and_acts_on_none_of_it(number, page, view, visit, made):
    model = {"checkpoint": made("translator").id} if page in ("heads", "checkpoints") else {}  # which reads in no time
    assert not acting(visit(page, **hostile(page, number) | view | model), ACTS)


@pytest.mark.rare("three times the visits, and a second visit each; what a field reads again is in tests/test_link.py")
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize(("page", "view"), [*addresses()])
def test_whatever_an_address_says_the_page_opens_and_says_what_it_made_of_it(page, view, values, visit):
    at = visit(page, **dict(zip(fields_of(page), cycle(values), strict=False)) | view)
    assert not acting(at, ACTS)
    once = dict(at.query_params)
    assert dict(visit(page, **once).query_params) == once  # what it wrote is what it shows


@pytest.fixture
def theirs(made, home):
    """A tiny checkpoint of a kind that says of itself all that it can say in markdown."""
    def theirs(kind: str) -> Description:
        ckpt = made(kind)
        meta = {"metrics": {"bleu": 1.5, "n": 3, "split": ACTS}} | dict.fromkeys(
            ("corpus", "device", "license", "saved", "imported_from", "family", "quantisation", "precision"), ACTS)
        if ckpt.classes:
            meta["classes"] = [f"{at} {ACTS}" for at in range(len(ckpt.classes))]
        save(home / "uploads" / "theirs", ckpt.model, tokenizer=ckpt.tokenizer, meta=meta)
        return describe(home / "uploads" / "theirs")

    return theirs


@pytest.mark.usefixtures("few_corpora")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_a_checkpoint_says_of_itself_is_read_as_markdown(kind, theirs, visit):
    about = theirs(kind)
    for page, view in addresses():
        if page in PAGES and PAGES[page].shows(about.config):
            at = visit(page, checkpoint=about.id, text=ACTS, **view)
            assert about.id in at.query_params.values() or "checkpoint" not in at.query_params, (page, view)
            assert not acting(at, ACTS), (page, view)
    assert about.id in visit(stepper_of(about.config).name, checkpoint=about.id).query_params.values()


def test_what_would_be_read_as_markdown_is_found():
    def page(text):
        import streamlit as st

        st.radio(":red[x]", ["a"], captions=[text])
        st.html(text)

    at = AppTest.from_function(page, kwargs={"text": ACTS}).run()
    assert acting(at, ACTS)
    assert not acting(AppTest.from_function(page, kwargs={"text": markdown_text(ACTS)}).run(), ACTS)

"""What somebody typed, named or sent is text on every page: no link, no picture, no request comes of it."""

from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import expect

from transformer.basics.folders import write_manifest
from transformer.checkpoints.checkpoint import save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig

from .conftest import settle, windows

PICTURE, ADDRESS = "![](http://evil.example/x.png)", "http://evil.example/y"
CLASSES = ["[click me](http://evil.example/a)", f"{ADDRESS} {PICTURE}"]
CARD = f"""# A card
{PICTURE} ![by name][it] ![it] <img src="http://evil.example/z.png">

[it]: http://evil.example/w.png
"""
SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 24, "max_len": 60, "tie_embeddings": False}
LINKS, PICTURES = "[data-testid=stMain] a[href^='http://evil']", "[data-testid=stMain] :is(img, source)"


@pytest.fixture(scope="module")
def hostile(beside, tiny_tokenizer):
    """Checkpoints that a teacher may have brought in: one that reads ids, and one with classes and a card that try."""
    ids, names = beside("imports/reads-ids"), beside("checkpoints/bad-names")
    save(ids, Transformer(ModelConfig(**SIZES, encoder_layers=0, vocab_size=50)), tokenizer=None)
    model = Transformer(ModelConfig(**SIZES, decoder_layers=0, vocab_size=tiny_tokenizer.vocab_size, pooling="max",
                                    n_classes=2), generator=torch.Generator().manual_seed(1))
    save(names, model, tokenizer=tiny_tokenizer, meta={"step": 1, "classes": CLASSES},
         files={"README.md": CARD.encode()})
    write_manifest(names)
    return {"ids": "reads-ids", "names": "bad-names"}


def nothing_of_it(page, complaints, *, links=False):
    expect(page.get_by_test_id("stException")).to_have_count(0)
    for kind in (PICTURES, *([] if links else [LINKS])):
        assert page.locator(kind).evaluate_all("all => all.map((one) => one.outerHTML)") == []
    assert complaints == []


@pytest.mark.rare("tests/app/test_hostile.py has the same without a browser")
def test_what_is_typed_named_or_written_on_a_card_is_text(visit, hostile, complaints):
    typed = f"{PICTURE} {ADDRESS} [click me](http://evil.example/a)"
    page = visit(f"/write?checkpoint={hostile['ids']}&text={quote(typed, safe='')}")
    expect(page.get_by_test_id("stAlert")).to_contain_text("reads ids")
    nothing_of_it(page, complaints)
    for view in ("classify?", "heads?view=direct&", "heads?view=attribution&"):
        visit(f"/{view}checkpoint={hostile['names']}&text=I+am+cold.")
        expect(page.get_by_test_id("stMain")).to_contain_text("evil.example")
        nothing_of_it(page, complaints)
    visit(f"/checkpoints?checkpoint={hostile['names']}")
    page.get_by_text("The model card").click()
    expect(page.get_by_text("A card", exact=False).first).to_be_visible()
    nothing_of_it(settle(page), complaints, links=True)  # which nobody follows by looking


def test_what_a_text_is_read_as_is_said_whole_on_every_screen(visit):
    page = visit(f"/translate?text={quote('My neighbour’s favourite theatre has a grey colour — “really”.')}")
    line = page.locator("[class*=_unlike] p")
    for size in windows(page):
        expect(line).to_contain_text("2 more, with straight quotes and commas for dashes.")
        assert line.evaluate("line => line.scrollWidth <= line.clientWidth"), size
        below = page.locator(".controls").bounding_box()["y"]
        assert line.evaluate("line => line.getBoundingClientRect().bottom") <= below, size

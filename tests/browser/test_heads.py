"""Clicking in the maps of the Heads page, in Chromium."""

import re
import shutil
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import expect

import transformer
from tests.app.heads_checkpoints import make
from tests.waiting import ROOT
from transformer.studies import ablation_job

from .conftest import address, chips, choose_option, reached, settle, windows


@pytest.fixture(scope="module")
def kept(app):
    """A tiny translator among the checkpoints that the app under test keeps, and where its measurements lie."""
    *_, home = app
    ckpt = make(home, "translator")
    yield ckpt, home / "analysis"
    for folder in (ckpt.description.folder, home / "analysis"):  # other tests see the same home
        shutil.rmtree(folder, ignore_errors=True)


def cell(page, card, kind, layer, head, *, number=0):
    return page.locator(f'.head-maps [data-at="{card}/{number}/{kind}:{layer}:{head}"]')


def test_a_head_clicked_or_reached_by_keys_opens_on_its_best_sentence(visit, kept, complaints):
    ckpt, _ = kept
    page = visit(f"/heads?view=roles&checkpoint={ckpt.id}&role_kind=cross&role=diagonal&role_layer=0&role_head=0")
    page.locator(".head-maps .list [data-card=end]").click()
    reached(page, role="end")
    cell(page, "end", "cross", 1, 1).click()
    reached(page, role="end", role_layer=1, role_head=1)
    assert cell(page, "end", "cross", 1, 1).get_attribute("aria-pressed") == "true"
    assert page.get_by_role("heading", name="Cross, layer 1, head 1").is_visible()
    page.get_by_text("These weights as a table").click()
    cells = settle(page).locator("td[data-kind=cross][data-layer='1'][data-head='1'][data-query]")
    cells.first.wait_for()
    text = page.locator(".st-key-heads_role_best [data-testid=stText]").first.text_content()
    source, target = re.fullmatch(r"(?s)(.*) → (.*)", text).groups()
    weights = transformer.attend(ckpt, source, target).attentions["cross"][1, 1].numpy()
    found = np.array([float(value) for value in cells.all_text_contents()]).reshape(weights.shape)
    assert np.abs(found - weights).max() < 1e-5
    assert not complaints
    cell(page, "end", "cross", 0, 0).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    reached(page, role="end", role_layer=1, role_head=0)
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.dataset.at") == "end/0/cross:1:0"


def test_a_click_on_an_effect_switches_that_head_in_the_text_above(visit, kept):
    ckpt, analysis = kept
    ablation_job.run(ckpt, analysis, limit=50)
    page = visit(f"/heads?view=switch&checkpoint={ckpt.id}&limit=50&each=open&text=a dog is cold.")
    cell(page, "change", "cross", 1, 0).click()
    reached(page, heads="cross:1:0")
    after = list(transformer.steps(ckpt, "a dog is cold.", max_steps=60, change=transformer.scale("X1H0", 0)))
    assert len(chips(page, "tokens after")) == len(after)
    assert "crossed" in cell(page, "change", "cross", 1, 0).get_attribute("class")
    cell(page, "change", "cross", 1, 0).click()
    page.get_by_test_id("stMain").get_by_text("Click heads to switch them off").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    assert settle(page).evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.rare("a moment between two runs of one view")
def test_while_heads_are_measured_nothing_of_another_measurement_is_seen(visit, kept):
    page = visit(f"/heads?{urlencode({'view': 'roles', 'role_on': 'own', 'role_texts': 'I am cold.'})}")
    page.locator(".st-key-heads_role_maps").wait_for()
    for view in ("Lens", "Roles"):
        choose_option(page, "What to ask of the heads", view)
        settle(page)
    page.evaluate("""() => {
      window.seen = { work: 0, both: 0 };
      const look = () => {
        const work = document.querySelector(".stMain [data-testid=stProgress]");
        window.seen.work += Boolean(work);
        window.seen.both += Boolean(work && document.querySelector(".st-key-heads_role_maps"));
        requestAnimationFrame(look);
      };
      look();
    }""")
    page.get_by_role("button", name="Your own texts").click()
    chosen = page.locator("[data-testid=stPopoverBody] [role=radio][aria-checked=true]")
    expect(chosen.first).to_have_text("Your own texts")  # what they are measured on, after another view too
    box = page.get_by_role("textbox", name="Your texts")
    expect(box).to_have_value("I am cold.")  # that of the link, though the box opens only now
    box.fill("\n".join(f"I have {count} red dogs, and she is not as tall as her brother." for count in range(60)))
    page.get_by_role("button", name="Measure", exact=True).click()
    page.wait_for_function("window.seen.work && !document.querySelector('.stMain [data-testid=stProgress]')")
    page.locator(".st-key-heads_role_maps").wait_for()
    assert page.evaluate("window.seen.both") == 0


def test_a_clicked_head_shows_where_it_looks_and_opens_in_translate(visit, complaints):
    page = visit("/heads?view=direct&text=I+like+red+wine.&position=4&effect=decoder-0-0")
    reached(page, effect="decoder-0-0")
    page.locator('.head-maps [data-at="effect/0/cross:1:2"]').click()
    reached(page, effect="cross-1-2")
    expect(page.locator(".bar-table figcaption").first).to_contain_text("Where cross, layer 1, head 2 looks")
    page.get_by_role("link", name="Open this head in Translate").click()
    page.wait_for_url("**/translate?*checkpoint=*")
    reached(page, step=4, kind="cross", layer=1, head=2)
    assert address(page)["text"] == "I like red wine."
    expect(page.locator(".controls > output")).to_contain_text("step 4")
    assert complaints == []


@pytest.mark.rare("the texts of every checkpoint in every window")
@pytest.mark.parametrize("name", sorted(path.parent.name for path in (ROOT / "checkpoints").glob("*/roles.json")))
def test_the_text_of_the_head_that_does_it_most_is_shown_whole(visit, shipped, name):
    page = visit(f"/heads?view=roles&checkpoint={shipped(name).id}")
    text = page.locator(".st-key-heads_role_best [data-testid=stText]").first
    for _ in windows(page):
        assert text.evaluate("text => text.scrollHeight <= text.clientHeight && text.scrollWidth <= text.clientWidth")


def test_a_node_or_a_head_of_the_flow_is_clicked_or_reached_by_keys(visit, complaints):
    link = {"view": "flow", "text": "I like red wine.", "position": "5", "threshold": "2"}
    page = visit(f"/heads?{urlencode(link)}")
    node = page.locator('.flow [data-id="decoder-1-mlp_out-5"]')
    node.click()
    reached(page, node="decoder-1-mlp_out-5")
    page.get_by_text("Decoder layer 1 feed-forward, “vin” (5)", exact=True).wait_for()
    settle(page)
    assert node.get_attribute("aria-pressed") == "true"
    node.focus()
    page.keyboard.press("ArrowDown")
    focused = "document.activeElement.shadowRoot.activeElement.dataset.id"
    below = page.evaluate(focused)
    assert below != "decoder-1-mlp_out-5" and below in page.locator(".flow g.dot").evaluate_all(
        "all => all.map((one) => one.dataset.id)")
    page.keyboard.press("Enter")
    reached(page, node=below)
    settle(page)
    assert page.evaluate(focused) == below
    edge = page.locator(".flow g.thread-of[data-id]").last  # the strongest is in front
    words = edge.get_attribute("aria-label")
    edge.focus()
    assert page.locator(".flow .readout").text_content() == words
    page.keyboard.press("Enter")
    reached(page, edge=edge.get_attribute("data-id"))
    page.get_by_role("heading", name=words.partition(",")[0], exact=True).wait_for()
    assert page.get_by_role("link", name="Open this head in Translate").is_visible()
    assert not complaints
    page.set_viewport_size({"width": 390, "height": 844})
    assert settle(page).evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.rare("clicks in a fourth map of this page")
def test_a_clicked_point_is_asked_about(visit, kept, complaints):
    ckpt, _ = kept
    page = visit(f"/heads?view=spaces&checkpoint={ckpt.id}&text=a dog is cold.")
    own = page.locator(".st-key-heads_space_map svg.marks .role-mark path[fill='#0072b2']")
    own.last.wait_for()
    settle(page)
    own.last.click(force=True)
    page.wait_for_url("**point=own-*")
    at = int(address(page)["point"].removeprefix("own-"))
    token = [*"a dog is cold.".replace(" ", "␣"), "</s>"][at]
    expect(settle(page).locator(".st-key-heads_space_point")).to_contain_text(f"{token} (your text, position {at})")
    assert not complaints

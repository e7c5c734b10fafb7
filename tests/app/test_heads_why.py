"""Why this token: the sentences against the library, their links, and what cannot be said of some models."""

import re
from urllib.parse import parse_qsl

import pytest

import transformer
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.analysis.tuned_lens import read_tuned_lens
from transformer.analysis.why import why
from transformer.openings import opening_of
from ui.figures import percent, signed_number
from ui.views.heads.why import told_apart

from .heads_checkpoints import WITHOUT_TOKENIZER, make_without_tokenizer
from .page import go, plain, press, step_view_of, words

PAGE, OPENING = "heads", {"view": "why"}
HEADINGS = ["How sure", "Since when", "Written by", "Rests on", "Without it", "Agreement"]
SENTENCE = re.compile(r"\*\*([\w ]+)\.\*\* (.+)", re.DOTALL)


def sentences(at) -> dict[str, str]:
    """The sentences by their headings."""
    assert not at.error, [error.value for error in at.error]
    found = dict(match.groups() for one in at.markdown if (match := SENTENCE.fullmatch(plain(one.value))))
    assert list(found) == HEADINGS
    return found


def links(at) -> dict[str, tuple[str, dict[str, str]]]:
    """The page and the address of each link to another page, by its words."""
    return {link.proto.label: (link.proto.page.rpartition("/")[2], dict(parse_qsl(link.proto.query_string)))
            for link in at.get("page_link") if link.proto.label.startswith("See ")}


def test_the_numbers_are_those_of_the_library(open_page, shipped):
    ckpt = shipped("translate")
    at = open_page(text="I am cold.", position="3")
    *_, step = transformer.steps(ckpt, "I am cold.", max_steps=4)
    story, said = why(inputs_of_step(step), tuned=read_tuned_lens(ckpt)), sentences(at)
    sure, without = story.predicted, story.without
    assert said["How sure"] == (f"It predicts “␣froid” at {percent(sure.probability)}, {sure.margin:.2f} logits ahead "
                                f"of “␣un” ({percent(sure.other)}).")
    assert said["Since when"] == ("It leads only after the last of 2 decoder layers on both the logit lens and the "
                                  "tuned lens.")
    assert said["Written by"].startswith(
        f"Cross-attention layer 1 · head 0 does most for it against “␣un” ({signed_number(story.wrote.adds)} logits), "
        "looking most at “␣cold” (")
    values = story.rests.integrated
    assert said["Rests on"].startswith(
        f"By integrated gradients, “␣cold” counts most ({signed_number(values[2])} nats), then “.” (")
    with_off = without.of(story.wrote.head)
    assert said["Without it"] == (
        f"With that head off, it falls from {percent(sure.probability)} to {percent(with_off.probability)}. Without "
        f"cross-attention layer 1 · head 3, it falls furthest, to {percent(without.tried[0].probability)}.")
    assert said["Agreement"] == ("The evidence disagrees: cross-attention layer 1 · head 0 adds most, but "
                                 "cross-attention layer 1 · head 3 is needed most.")


def test_it_says_where_all_agree(open_page):
    said = sentences(open_page(text="I like red wine.", position="5"))
    assert said["Agreement"] == "All point to the same place: cross-attention layer 1 · head 1 and “␣red”."


@pytest.mark.parametrize("name", ["translate", "write", "classify", "punctuate"])
def test_the_links_of_every_model_s_first_example_lead_to_what_is_said(open_page, shipped, name):
    ckpt = shipped(name)
    at = open_page(checkpoint=ckpt.id, text=opening_of(ckpt.description).examples[0].text)
    said, found = sentences(at), links(at)
    step, without = ("See the step" if ckpt.config.decoder_layers else "See the text"), "See it without"
    assert set(found) == {step, without}
    shown, after = (re.findall(r"[\d.]+%", said[one]) for one in ("How sure", "Without it"))
    token = re.search("“(.+?)”", said["How sure"])[1]
    for link, probability in ((step, shown[0]), (without, after[1])):
        page, params = found[link]
        assert params["checkpoint"] == ckpt.id
        there = go(at, page, **params)
        assert not there.error
        assert there.query_params.get("step") == params.get("step")
        bars = {row["label"]: row["probability"] for row in step_view_of(there)["bars"]["rows"]}
        assert percent(bars[token.replace("␣", "▁")]) == probability
    for view, button in (("lens", "See the lens"), ("direct", "See direct effects"),
                         ("attribution", "See attribution"), ("switch", "See the switches")):
        at = open_page(checkpoint=ckpt.id, text=opening_of(ckpt.description).examples[0].text)
        assert next(one for one in at.button if one.key == f"heads_why_to_{view}").label == button
        press(at, f"heads_why_to_{view}")
        assert at.query_params["view"] == view and not at.error


def test_the_direct_effects_open_at_the_head_that_is_named(open_page):
    at = press(open_page(text="I am cold.", position="3"), "heads_why_to_direct")
    assert at.query_params["effect"] == "cross-1-0" and at.query_params["position"] == "3"
    at = press(open_page(text="I am cold.", position="3"), "heads_why_to_switch")
    assert at.query_params["heads"] == "cross:1:3"


def test_without_the_head_the_same_tokens_come_before(open_page, shipped):
    ckpt = shipped("translate")
    at = open_page(text="I like red wine.", position="5")
    _, params = links(at)["See it without"]
    change = transformer.Change.from_json({"how": "scale", "site": "X1H1", "factor": 0})
    first = next(transformer.steps(ckpt, "I like red wine.", max_steps=1, change=change))
    own = next(transformer.steps(ckpt, "I like red wine.", max_steps=1))
    assert first.id != own.id and params["choices"] == f"0:{own.id}"


@pytest.mark.parametrize("text", [
    "**b** _i_ `c` $x^2$ [l](http://x.y) :smile: <b>x</b> ~~s~~ ![i](http://x/y.png)",
    "\u202eabc\u200b\ufeff", "😀👨‍👩‍👧‍👦 é̀",
    "״שלום״ مرحبا", "”“ \" '", "</s> <pad> <unk>", "a", "\n\n\n", "aaaa " * 20])
@pytest.mark.parametrize("name", ["translate", "write", "classify"])
def test_any_text_is_told_as_text(open_page, shipped, name, text):
    at = open_page(checkpoint=shipped(name).id, text=text)
    if at.info or "nothing to read" in words(at, "error"):  # the classifier drops punctuation
        return
    sentences(at)
    for one in at.markdown:
        if one.value.startswith("**How") or "Why does" in one.value:
            assert not re.search(r"(?<!\\)[<$`\[]", one.value)


@pytest.mark.parametrize("settings", [
    {"decoder_layers": 1, "n_heads": 1, "encoder_layers": 0}, {"norm_position": "post"}, {"d_ff": 0},
    {"encoder_layers": 0, "decoder_layers": 12, "n_heads": 4}, {"encoder_layers": 0, "norm_kind": "rms"},
    {"decoder_layers": 0, "pooling": "first", "n_classes": 2}, {"encoder_layers": 0, "pad_id": None}], ids=str)
def test_every_kind_of_model_has_its_story(open_page, place, settings):
    ckpt = place(**settings)
    said = sentences(open_page(checkpoint=ckpt.id, text="I am cold."))
    if not ckpt.config.d_ff:
        assert "feed-forward" not in said["Written by"]
    if ckpt.config.decoder_layers == 1:
        assert "layers" not in said["Since when"]


@pytest.mark.parametrize("name", ["one head", "many heads", "masked", "many classes"])
def test_a_model_that_reads_ids_has_its_story(open_page, home, name):
    ckpt = make_without_tokenizer(home, **WITHOUT_TOKENIZER[name])
    said = sentences(open_page(checkpoint=ckpt.id, text="5 6 7 8"))
    if name == "many heads":
        assert re.search(r"\(1[23] of 144 tried\)", said["Without it"])


def test_what_a_masked_model_has_not_is_said(open_page, place):
    ckpt = place(decoder_layers=0, head="masked")
    at = open_page(checkpoint=ckpt.id, text="I am cold.", position="3")
    said = sentences(at)
    assert said["Written by"] == ("Direct effects are of one prediction from a text; this model makes one at every "
                                  "position.")
    assert "Attribution is of one prediction" in said["Rests on"]
    assert said["Without it"].startswith(("Of all heads, encoder", "Of all heads, layer", "No single head"))
    assert said["Agreement"] == "There is one answer to each question here, so nothing can disagree."
    assert {one.key for one in at.button} >= {"heads_why_to_lens", "heads_why_to_switch"}
    assert not {one.key for one in at.button} & {"heads_why_to_direct", "heads_why_to_attribution"}
    story = why(inputs_of_text(ckpt, "I am cold."), position=3)
    assert percent(story.predicted.probability) in said["How sure"]


def test_capped_logits_are_no_sum(open_page, place):
    said = sentences(open_page(checkpoint=place(encoder_layers=0, logits_cap=30.0).id, text="I am cold."))
    assert said["Written by"] == "This model caps its logits, so they are no sum of what its parts add."


def test_an_encoder_that_predicts_nothing_has_no_story(open_page, place):
    at = open_page(checkpoint=place(decoder_layers=0, head="none").id, text="I am cold.")
    assert at.session_state["heads_view"] == "roles" and "Why" in words(at, "caption")


def test_a_large_model_is_asked_on_request(open_page, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1)
    at = open_page(text="I am cold.")
    assert "How sure" not in words(at)
    sentences(press(at, "heads_why_begin"))


def test_a_class_that_is_not_the_likeliest_is_told_as_such(open_page, shipped):
    ckpt = shipped("punctuate")
    text = "The door is open"
    logits = transformer.attend(ckpt, text).logits
    last = int(logits.argmin())
    said = sentences(open_page(checkpoint=ckpt.id, text=text, **{"class": ckpt.classes[last]}))
    assert said["How sure"] == (
        f"It puts “{ckpt.classes[last]}” at {percent(float(logits[last].exp()))}, rank 3; "
        f"“{ckpt.classes[int(logits.argmax())]}” leads at {percent(float(logits.max().exp()))}, "
        f"{float(logits.max() - logits[last]):.2f} logits ahead.")
    assert said["Since when"].startswith("It does not lead in the end.")


@pytest.mark.parametrize("position", ["0", "7", "19"])
def test_a_token_of_the_text_itself_is_explained_and_shown(open_page, shipped, position):
    at = open_page(checkpoint=shipped("write").id, text="To be, or not to be", position=position)
    said, found = sentences(at), links(at)
    token = re.search("“(.+?)”", said["How sure"])[1]
    for link, sentence, at_place in (("See the step", "How sure", 0), ("See it without", "Without it", 1)):
        page, params = found[link]
        there = go(at, page, **params)
        bars = {row["label"]: row["probability"] for row in step_view_of(there)["bars"]["rows"]}
        shown = re.findall(r"[\d.]+%", said[sentence].partition(". Without")[0])
        assert percent(bars[token.replace("␣", "▁").replace("↵", "\n")]) == shown[min(at_place, len(shown) - 1)]


def test_a_text_too_long_for_a_link_has_the_views_of_this_page(open_page, shipped):
    at = open_page(checkpoint=shipped("classify").id, text="é word " * 150)
    sentences(at)
    press(at, "heads_why_to_lens")
    assert at.session_state["heads_view"] == "lens" and at.text_area(key="heads_text").value.startswith("é word é")


def test_tokens_are_told_apart(shipped):
    tokenizer = shipped("write").tokenizer
    ids = tokenizer.encode("to be, to be ")
    names = [plain(name) for name in told_apart([tokenizer.piece(id) for id in ids], ids, tokenizer)]
    assert names[-3:] == ["“b” in “be” at position 10", "“e” in “be” at position 11", "“␣”"]
    assert "“␣” before “be” at position 9" in names and "“,”" in names


def test_while_presenting_links_go_on_presenting(open_page):
    at = open_page(text="I am cold.", present="1")
    assert all(params["present"] == "1" for _, params in links(at).values())

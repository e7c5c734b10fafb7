"""Why this token: the sentences against the library, their links, and what cannot be said of some models."""

import re
from html import unescape
from urllib.parse import parse_qsl

import pytest

import transformer
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.analysis.tuned_lens import read_tuned_lens
from transformer.analysis.why import why
from transformer.basics.formatting import in_percent
from transformer.model import sites
from transformer.text.word_pieces import SPACES
from ui.figures import part_of_one, signed_number
from ui.views.heads.why import told_apart

from .page import go, plain, press, put, step_view_of, words

PAGE, OPENING = "heads", {"view": "why"}
pytestmark = pytest.mark.usefixtures("lasting")
HEADINGS = ["How sure", "Since when", "Written by", "Rests on", "Without it", "Taken together"]
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
    sure, without, values = story.predicted, story.without, story.rests.integrated
    given = {"How sure": [in_percent(sure.probability), f"{sure.margin:.2f}", in_percent(sure.other)],
             "Written by": [signed_number(story.wrote.adds)], "Rests on": [signed_number(values[2])],
             "Without it": [in_percent(one.probability)
                            for one in (sure, without.of(story.wrote.head), without.tried[0])]}
    for heading, numbers in given.items():
        places = [said[heading].find(number) for number in numbers]
        assert -1 not in places and places == sorted(places), heading
    for one, heading in ((story.wrote.head, "Written by"), (without.tried[0].head, "Without it")):
        assert f"ross, layer {one.layer}, head {one.head}" in said[heading]
    shown = " ".join(unescape(re.sub("<[^>]*>", " ", words(at, "html").partition("nats</th>")[2])).split())
    rows = (f"{at} {token.strip(SPACES)} {signed_number(value)} {part_of_one(looks)}" for at, (
        token, value, looks) in enumerate(zip(story.rests.tokens, values, story.wrote.looks, strict=True)))
    assert shown.startswith(f"{sites.label(*story.wrote.head)} looks, share {' '.join(rows)}")


MODELS = {  # what a story differs by, in a model and in an address
    "an encoder-decoder": ("translator", {}), "norms after": ("translator", {"norm_position": "post"}),
    "attention alone": ("translator", {"d_ff": 0}), "one layer of one head": ("writer", {
        "decoder_layers": 1, "n_heads": 1}), "twelve layers": ("writer", {"decoder_layers": 12, "n_heads": 4}),
    "no padding": ("writer", {"pad_id": None, "norm_kind": "rms"}), "capped logits": ("writer", {"logits_cap": 30.0}),
    "classes": ("classifier", {}), "masked": ("classifier", {
        "corpus": False, "head": "masked", "n_classes": None, "pooling": None})}


def test_every_kind_of_model_has_its_story(open_page, made, made_without_tokenizer, accepted):
    told = {}
    for name, (kind, changes) in MODELS.items():
        told[name] = sentences(open_page(checkpoint=made(kind, **changes).id, text="a dog is", position="2"))
    for name in ("one head", "many heads", "masked", "many classes"):
        told[f"ids, {name}"] = sentences(open_page(checkpoint=made_without_tokenizer(name).id, text="5 6 7 8"))
    told["not the likeliest class"] = sentences(open_page(checkpoint=made("classifier").id, text="a dog is", **{
        "class": "a" if "“a”" not in told["classes"]["How sure"].partition(" at ")[0] else "t"}))
    accepted("heads.why.models", "\n".join(
        "\n".join([f"# {name}", *(f"{title}: {text}" for title, text in said.items())]) for name, said in told.items()))


def assert_leads_to(at, link: tuple[str, dict[str, str]], token: str, probability: str) -> None:
    """That page gives the token that probability."""
    page, params = link
    there = go(at, page, **params)
    assert not there.error and there.query_params.get("step") == params.get("step")
    bars = {row["label"]: row["probability"] for row in step_view_of(there)["bars"]["rows"]}
    assert in_percent(bars[token.replace("␣", "▁").replace("↵", "\n")]) == probability


@pytest.mark.parametrize("kind", ["translator", "writer", "classifier"])
def test_the_links_lead_to_what_is_said(open_page, made, kind):
    ckpt = made(kind)
    at = open_page(checkpoint=ckpt.id, text="a dog is", target="o dog" if kind == "translator" else "")
    said, found = sentences(at), links(at)
    step, without = ("See the step" if ckpt.config.decoder_layers else "See the text"), "See it without"
    assert set(found) == {step, without}
    assert all(params["checkpoint"] == ckpt.id for _, params in found.values())
    story = at.session_state["heads_kept_why"][1]
    for view, label, name, head in (("lens", "See the lens", "effect", None),
                                    ("direct", "See direct effects", "effect", "-".join(map(str, story.wrote.head))),
                                    ("attribution", "See attribution", "heads", None),
                                    ("switch", "See the switches", "heads",
                                     ":".join(map(str, story.without.tried[0].head)))):
        assert at.button(key=f"heads_why_to_{view}").label == label
        press(at, f"heads_why_to_{view}")
        assert at.query_params["view"] == view and not at.error
        assert head is None or at.query_params[name] == head
        put(at, "heads_view", "why")
    shown, after = (re.findall(r"[\d.]+%", said[one]) for one in ("How sure", "Without it"))
    token = re.search("“(.+?)”", said["How sure"])[1]
    assert_leads_to(at, found[step], token, shown[0])
    assert_leads_to(at, found[without], token, after[1] if "falls" in said["Without it"] else after[0])


def test_without_the_head_the_same_tokens_come_before(open_page, shipped):
    ckpt = shipped("translate")
    at = open_page(text="I like red wine.", position="5")
    _, params = links(at)["See it without"]
    change = transformer.Change.from_json({"how": "scale", "site": "X1H1", "factor": 0})
    first = next(transformer.steps(ckpt, "I like red wine.", max_steps=1, change=change))
    own = next(transformer.steps(ckpt, "I like red wine.", max_steps=1))
    assert first.id != own.id and params["choices"] == f"0:{own.id}"


def told_as_text(at) -> None:
    """The sentences, if there are any, have nothing that acts."""
    if at.info or "nothing to read" in words(at, "error"):  # the classifier drops punctuation
        return
    sentences(at)
    for one in at.markdown:
        if one.value.startswith("**How") or "Why does" in one.value:
            assert not re.search(r"(?<!\\)[<$`\[]", one.value)


SIGNS = "**b** _i_ `c` $x^2$ [l](y) :a: <b>d</b> ~~s~~"


@pytest.mark.parametrize("kind", ["translator", "writer", "classifier"])
def test_any_text_is_told_as_text_and_one_of_little_is_told_too(open_page, made, kind):
    told_as_text(open_page(checkpoint=made(kind, letters=SIGNS).id, text=SIGNS, target=SIGNS))
    for text in ("</s> <pad> <unk>", "a", "\n\n\n", "aaaa " * 11):
        told_as_text(open_page(checkpoint=made(kind).id, text=text))


@pytest.mark.parametrize("text", ["**b** `c` <b>", "\u202ea\u200b 😀 ״ש״ م ”“ \""])
def test_any_text_in_pieces_of_several_letters_is_told_as_text(open_page, shipped, text):
    told_as_text(open_page(checkpoint=shipped("translate").id, text=text))


def test_a_masked_model_is_asked_about_the_position_chosen(open_page, made):
    ckpt = made("classifier", corpus=False, head="masked", n_classes=None, pooling=None)
    at = open_page(checkpoint=ckpt.id, text="a dog is", position="3")
    story = why(inputs_of_text(ckpt, "a dog is"), position=3)
    assert in_percent(story.predicted.probability) in sentences(at)["How sure"]
    assert {one.key for one in at.button} >= {"heads_why_to_lens", "heads_why_to_switch"}
    assert not {one.key for one in at.button} & {"heads_why_to_direct", "heads_why_to_attribution"}


def test_a_large_model_is_asked_on_request(open_page, made, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1)
    at = open_page(checkpoint=made("writer").id, text="a dog is")
    assert "How sure" not in words(at)
    sentences(press(at, "heads_why_begin"))


def test_a_class_that_is_not_the_likeliest_is_told_as_such(open_page, shipped):
    ckpt, text = shipped("punctuate"), "The door is open"
    logits = transformer.attend(ckpt, text).logits
    first, last = int(logits.argmax()), int(logits.argmin())
    said = sentences(open_page(checkpoint=ckpt.id, text=text, **{"class": ckpt.classes[last]}))
    assert said["How sure"] == (
        f"It puts “{ckpt.classes[last]}” at {in_percent(float(logits[last].exp()))}, rank 3; “{ckpt.classes[first]}” "
        f"leads at {in_percent(float(logits[first].exp()))}, {float(logits[first] - logits[last]):.2f} logits ahead.")


@pytest.mark.parametrize(("name", "text", "position"), [("writer", "a dog is tall.", "0"),
                                                        ("write", "To be, or not to be", "7")])
def test_a_token_of_the_text_itself_is_explained_and_shown(open_page, made, shipped, name, text, position):
    ckpt = made(name) if name == "writer" else shipped(name)
    at = open_page(checkpoint=ckpt.id, text=text, position=position)
    said, found = sentences(at), links(at)
    token = re.search("“(.+?)”", said["How sure"])[1]
    for link, sentence, at_place in (("See the step", "How sure", 0), ("See it without", "Without it", 1)):
        shown = re.findall(r"[\d.]+%", said[sentence].partition(". Without")[0])
        assert_leads_to(at, found[link], token, shown[min(at_place, len(shown) - 1)])


def test_a_text_too_long_for_a_link_has_the_views_of_this_page(open_page, made):
    at = open_page(checkpoint=made("classifier", max_len=300).id, text="é" * 260)
    sentences(at)
    press(at, "heads_why_to_lens")
    assert at.session_state["heads_view"] == "lens" and at.text_area(key="heads_text").value == "é" * 260


def test_while_presenting_links_go_on_presenting(open_page, made):
    at = open_page(checkpoint=made("translator").id, text="a dog is", present="1")
    assert all(params["present"] == "1" for _, params in links(at).values())


def test_tokens_are_told_apart(shipped):
    tokenizer = shipped("write").tokenizer
    ids = tokenizer.encode("to be, to be ")
    names = [plain(name) for name in told_apart([tokenizer.piece(id) for id in ids], ids, tokenizer)]
    assert names[-3:] == ["“b” in “be” at position 10", "“e” in “be” at position 11", "“␣”"]
    assert "“␣” before “be” at position 9" in names and "“,”" in names

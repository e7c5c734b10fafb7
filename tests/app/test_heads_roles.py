"""Roles of heads on the Heads page: maps beside random weights, the head on its best sentence, texts of one's own."""

import json
import re
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

import transformer
from tests.app.heads_checkpoints import WITHOUT_TOKENIZER, make
from tests.markup import Markup
from tests.rows import each_row
from transformer.analysis.roles import measure_roles
from transformer.analysis.sample import read_texts
from transformer.evaluation.held_out import held_out_sentences, word_aligner
from transformer.studies.roles_file import read_roles
from transformer.text.corpus_catalogue import SOURCES
from ui.choices.head import plain_name

from .page import TOLD, components, html_of, matrix, plain, press, put, said, words

PAGE = "heads"
pytestmark = pytest.mark.usefixtures("few_corpora", "lasting")


@pytest.fixture
def visit_roles(visit):
    return lambda ckpt, **params: visit(PAGE, view="roles", checkpoint=ckpt.id, **params)


def maps(at):
    """What the maps were sent."""
    (found,) = components(at, "head_maps")
    return json.loads(found.json)


def grid(at):
    """The weights of the head's picture, (Tq, Tk); 0 where they are masked."""
    cells = Markup(html_of(at, 'class="weight-grid')).all("//td[@data-query]")
    found = np.zeros(1 + np.max([[int(data["data-query"]), int(data["data-key"])] for data, _ in cells], axis=0))
    for data, _ in cells:
        found[int(data["data-query"]), int(data["data-key"])] = float(data.get("data-weight") or 0)
    return found


def numbers(at):
    """The table of numbers, opened: (kind, layer, head, column) -> value."""
    at.session_state["heads_role_numbers"] = True
    cells = Markup(html_of(at.run(), "roles of the heads")).all("//td[@data-measure]")
    return {(data["data-kind"], int(data["data-layer"]), int(data["data-head"]), data["data-measure"]):
            float(text.replace("–", "nan")) for data, text in cells}


@pytest.mark.parametrize("kind", ["translator", "writer", "classifier"])
def test_a_checkpoint_opens_with_its_maps_and_says_what_they_are_of(kind, made, visit_roles):
    ckpt = made(kind)
    at = visit_roles(ckpt)
    assert not at.error
    sent = maps(at)
    expected = held_out_sentences(ckpt, limit=200)
    assert sent["source"].startswith(f"{kind}, {len(expected):,} ") and "@" not in sent["source"]
    assert ckpt.id in sent["origin"] and "training step 7" in sent["origin"]
    assert f"{len(expected):,} " in sent["origin"] and "seed 0" in sent["origin"]
    for card in sent["cards"]:
        assert [one["caption"] for one in card["maps"]] == ["trained", "random weights"]
        assert all(np.shape(one["shades"]) == (2, 2) for one in card["maps"])
        assert card["scale"]["marks"][0]["text"].startswith("uniform ")
    names = {card["name"] for card in sent["cards"]}
    assert names >= ({"diagonal", "alignment", "alignment_read", "end"} if kind == "translator" else
                     {"previous", "first", "same", "induction", "punctuation"})
    assert ("next" in names) == (kind == "classifier")


def test_every_number_is_the_library_s_and_random_weights_stand_beside(made, visit_roles, tmp_path):
    ckpt = made("translator")
    at = visit_roles(ckpt, role="diagonal", role_kind="cross", role_layer="1", role_head="0", role_sample="50")
    expected = measure_roles(ckpt, held_out_sentences(ckpt, limit=50), aligner=word_aligner(ckpt, tmp_path))
    assert f"**{expected.values['cross']['diagonal'][1, 0]:.2f}** · random weights" in words(at, "markdown")
    assert maps(at)["chosenCard"] == "diagonal"
    found = numbers(at)
    for name in ("alignment", "alignment_read", "diagonal", "end", "entropy"):
        for place in np.ndindex(2, 2):
            assert found["cross", *place, name] == pytest.approx(expected.values["cross"][name][place], rel=1e-5)
            assert found["cross", *place, f"{name}, random weights"] == pytest.approx(
                expected.untrained["cross"][name][place], rel=1e-5)


def test_a_head_opens_on_its_best_sentence_and_the_link_leads_to_the_same_picture(made, visit, visit_roles):
    ckpt = made("translator")
    at = visit_roles(ckpt, role="diagonal", role_kind="cross", role_layer="1", role_head="1")
    expected = measure_roles(ckpt, held_out_sentences(ckpt, limit=200)).sentence("cross", "diagonal", 1, 1)
    weights = transformer.attend(ckpt, expected.text, expected.target).attentions["cross"][1, 1].numpy()
    assert expected.text in words(at)
    assert grid(at).shape == weights.shape and np.abs(grid(at) - weights).max() < 1e-5
    assert not at.get("plotly_chart")
    (link,) = [link.proto for link in at.get("page_link") if link.proto.query_string]
    assert link.page == "translate"
    there = visit("translate", **dict(parse_qsl(link.query_string)))
    assert not there.error
    assert [there.query_params[name] for name in ("kind", "layer", "head")] == ["cross", "1", "1"]
    decoding = there.session_state["translate_decoding"]
    assert (*decoding.step.tokens, decoding.step.id)[1:] == expected.labels
    assert np.abs(decoding.step.attentions["cross"][1, 1].numpy() - weights).max() < 1e-4


def test_the_choosers_and_the_address_move_together_and_a_hostile_one_is_brought_into_range(made, visit_roles):
    ckpt = made("translator")
    at = visit_roles(ckpt, role="punctuation", role_kind="encoder", role_layer="0", role_head="1", role_sample="50")
    assert maps(at)["chosen"] == ["encoder", 0, 1] and maps(at)["chosenCard"] == "punctuation"
    at.session_state["heads_role"] = "first"
    at.run()
    assert at.query_params["role"] == "first" and maps(at)["chosenCard"] == "first"
    assert at.query_params["role_sample"] == "50" and at.query_params["role_head"] == "1"
    at = visit_roles(ckpt, role="<b>", role_kind="../x", role_layer="1e99", role_head="-7", role_sample="nan",
                     role_on="/etc/passwd", role_texts="\x00" * 50)
    assert not at.error and maps(at)["chosen"] == ["cross", 1, 0]
    assert at.query_params["role_on"].endswith("mine.tsv") and at.query_params["role_sample"] == "50"


def test_own_texts_are_measured_with_the_model_s_translation_where_none_is_given(made, visit_roles, accepted_part):
    ckpt = made("translator", corpus=False)
    at = visit_roles(ckpt, role_texts="a dog is cold. | o dog is cold.\nwe can go home.", role_kind="cross",
                     role="diagonal")
    accepted_part("heads.roles.told", "texts of one's own", said(at, *TOLD))
    other = transformer.translate(ckpt, ["we can go home."])[0]
    expected = measure_roles(ckpt, read_texts(ckpt, ["a dog is cold.", "we can go home."], ["o dog is cold.", other]))
    assert numbers(at)["cross", 0, 0, "diagonal"] == pytest.approx(
        float(expected.values["cross"]["diagonal"][0, 0]), rel=1e-5)
    assert "typed here" in maps(at)["origin"]
    assert "alignment" not in {card["name"] for card in maps(at)["cards"]}


@each_row(("typed", "why"), [
    ("", "Type some texts under"), (" \n ", "Type some texts under"), ("a dog\n" + "it " * 60, "line 2: this text has"),
    ("a dog\n" * 300, "300 lines; at most 200")])
def test_own_texts_that_cannot_be_measured_are_said(made, visit_roles, typed, why):
    at = visit_roles(made("writer", corpus=False), role_on="own", role_texts=typed)
    assert why in words(at)
    assert not components(at, "head_maps")


@pytest.mark.parametrize("name", WITHOUT_TOKENIZER)
def test_an_import_without_a_tokenizer_is_measured_on_ids(name, made_without_tokenizer, visit_roles, accepted_part):
    ckpt = made_without_tokenizer(name)
    config = ckpt.config
    at = visit_roles(ckpt, role_texts="5 6 7 8 9 5 6\n7 8 9 10 11 12", role="previous")
    assert not at.error
    kind = "decoder" if config.decoder_layers else "encoder"
    read = ("5 6 7 8 9 5", "7 8 9 10 11") if config.decoder_layers else ("5 6 7 8 9 5 6", "7 8 9 10 11 12")
    weights = [transformer.attend(ckpt, text).attentions[kind][0, 0] for text in read]  # a last token is only predicted
    shares = torch.cat([one.diagonal(-1) for one in weights])
    assert numbers(at)[kind, 0, 0, "previous"] == pytest.approx(float(shares.mean()), rel=1e-5)
    accepted_part("heads.roles.told", f"ids, {name}", said(at, *TOLD))
    put(at, "heads_role_texts", "5 hello")
    (error,) = at.error
    assert "line 1: " in plain(error.value) and "whole numbers" in error.value


def test_a_corpus_that_is_not_here_is_said_and_own_texts_are_offered(own_home, visit_roles, accepted_part):
    ckpt = make(own_home, "writer")
    (own_home / "data" / "mine.txt").unlink()
    at = visit_roles(ckpt)
    accepted_part("heads.roles.told", "a corpus that is not here", said(at, *TOLD))
    assert "ROMEO" in at.text_area(key="heads_role_texts").value


def test_it_is_said_whether_the_texts_were_seen_in_training(own_home, visit_roles, monkeypatch):
    ckpt = make(own_home, "translator")
    assert "mine.tsv, test split, not seen in training" in maps(visit_roles(ckpt, role_sample="50"))["origin"]
    path = own_home / "data" / "mine.tsv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]))
    at = visit_roles(ckpt, role_sample="50")
    assert "mine.tsv, train split, which it was trained on: nothing is held out" in maps(at)["origin"]
    monkeypatch.setattr("ui.choices.held_out_corpus.SOURCES", SOURCES)  # one that names no corpus is offered these
    at = visit_roles(make(own_home, "writer", corpus=False), role_sample="50")
    assert "tiny-shakespeare, validation split, which it may have seen in training" in maps(at)["origin"]


def test_a_large_model_is_measured_when_it_is_asked_to_and_once_for_all(made, visit_roles, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1_000)
    ckpt = made("classifier", dropout=0.22)  # that no other test has measured
    at = visit_roles(ckpt, role_sample="50")
    assert not components(at, "head_maps")
    press(at, "heads_role_measure")
    assert maps(at)["cards"]
    monkeypatch.setattr("ui.views.heads.sample.measure_roles", None)
    assert maps(visit_roles(ckpt, role_sample="50")) == maps(at)


def test_many_tokens_are_drawn_in_a_box_that_scrolls_and_a_long_text_is_cut_to_what_can_be_drawn(made, visit_roles,
                                                                                                monkeypatch):
    ckpt, text = made("writer", corpus=False), "a dog is cold. the cat is tall, too. we can go home!"
    weights = transformer.attend(ckpt, text[:-1]).attentions["decoder"][1, 0].numpy()
    at = visit_roles(ckpt, role_texts=text, role="previous", role_layer="1", role_head="0")
    assert np.nanmax(np.abs(matrix(at, "heads_role_heatmap") - weights)) < 1e-6
    monkeypatch.setattr("ui.views.heads.page_layout.LARGEST", 8)
    at = visit_roles(ckpt, role_texts=text, role="previous", role_layer="1", role_head="0")
    assert grid(at).shape == (8, 8) and np.abs(grid(at) - weights[:8, :8]).max() < 1e-5
    assert "the first 8 of each are drawn" in words(at)


@pytest.mark.parametrize("name", ["translate", "write", "classify"])
def test_a_shipped_checkpoint_opens_on_its_maps_with_nothing_read_and_measured(name, visit, shipped, monkeypatch):
    monkeypatch.setattr("ui.views.heads.sample.measure_roles", None)
    monkeypatch.setattr("transformer.evaluation.held_out.corpus", None)
    ckpt = shipped(name)
    at = visit(PAGE, checkpoint=ckpt.id)
    kept = read_roles(ckpt, corpus=ckpt.description.train.corpus, limit=200, seed=0)
    sent, kind = maps(at), ckpt.config.kinds[-1]
    assert sent["source"].startswith(plain_name(ckpt))
    assert {card["name"] for card in sent["cards"]} == {one for one, count in kept.queries[kind].items() if count}
    assert f"{kept.tokens:,} tokens · seed 0" in sent["origin"] and ckpt.id in sent["origin"]
    assert at.button_group(key="heads_role_sample").value == 200


def test_induction_is_shown_on_random_tokens_that_stand_twice(made, visit_roles, accepted_part):
    at = visit_roles(made("writer"), role="induction", role_sample="50")
    accepted_part("heads.roles.told", "induction", said(at, *TOLD))
    html = html_of(at, 'class="weight-grid')
    labels = re.findall(r'<th scope="col"[^>]*><bdi>([^<]*)', html)
    assert len(labels) == 16 and labels[:8] == labels[8:]
    assert not [link for link in at.get("page_link") if link.proto.query_string]

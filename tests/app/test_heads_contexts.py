"""One head on the Heads page: the heads in order, the contexts against the library, their links and the file."""

import json
import re
from html import unescape
from urllib.parse import parse_qsl

import numpy as np
import pytest

import transformer
from tests.app.heads_checkpoints import WITHOUT_TOKENIZER
from transformer.analysis.head_contexts import head_contexts, headvis_file, score_heads
from transformer.analysis.roles import measure_roles
from transformer.evaluation.held_out import held_out_sentences
from transformer.model.sites import label
from ui.figures import part_of_one, plain_label
from ui.views.heads.contexts import LISTED, _file, _near

from .page import press, put, table_of, values, words

PAGE = "heads"
KINDS = {"E": "encoder", "D": "decoder", "X": "cross"}
pytestmark = pytest.mark.usefixtures("few_corpora", "lasting")


@pytest.fixture
def visit_contexts(visit):
    return lambda ckpt, **params: visit(PAGE, view="contexts", checkpoint=ckpt.id, role_sample="50", **params)


def listed(at) -> list[str]:
    """The heads of the list, as it names them, in its order."""
    return [button.key.removeprefix("heads_found_") for button in at.button if "_found_" in (button.key or "")]


def shown(at) -> list[str]:
    """What each context is said to be, in the order of the page."""
    found = [re.search(r'aria-label="([\d.&lgt; ]+: “.*?)"', element.value) for element in at.get("html")]
    return [unescape(one[1]) for one in found if one]


def said(found) -> list[str]:
    """The same, of the library's contexts."""
    out = []
    for one in found.contexts:
        queries, keys = found.sides(one)
        looks = [f"{plain_label(keys[key])} {part_of_one(weight)}" for key, weight in [*one.looks_at.items()][:3]]
        out.append(f"{part_of_one(one.score, 3) if one.score < 1 else f'{one.score:.2f}'}: "
                   f"“{plain_label(queries[one.row.query])}” at position {one.row.query} "
                   f"looks at {', '.join(looks)}")
    return out


HEADS = [("translator", "cross", "diagonal"), ("translator", "decoder", "first"), ("translator", "encoder", "same"),
         ("writer", "decoder", "entropy"), ("classifier", "encoder", "distance")]


@pytest.mark.parametrize(("name", "kind", "measure"), HEADS)
@pytest.mark.parametrize("by", ["measure", "peak"])
def test_the_contexts_are_those_of_the_library(name, kind, measure, by, made, visit_contexts):
    ckpt = made(name)
    at = visit_contexts(ckpt, role=measure, role_kind=kind, role_layer="0", role_head="1", queries_by=by)
    assert not at.error
    scores = score_heads(ckpt, held_out_sentences(ckpt, limit=50))
    found = head_contexts(ckpt, scores, kind, 0, 1, "peak" if by == "peak" else measure)
    assert shown(at) == said(found) and len(found.contexts) > 12
    assert f"## {kind.capitalize()}, layer 0, head 1" in values(at, "markdown")
    assert f"{name}: {len(scores.sentences)} " in words(at, "caption")
    low, _ = found.edges[-1]
    assert f"**Highest fifth** of queries: {'largest weight' if by == 'peak' else ''}" in words(at)
    assert f" {part_of_one(low, 3) if low < 1 else f'{low:.2f}'} to " in words(at)
    assert json.loads(_file(ckpt, scores, (kind, 0, 1))) == headvis_file(ckpt, scores, kind, 0, 1)
    at.session_state["heads_contexts_table"] = True
    table = unescape(table_of(at.run(), "contexts of the head"))
    assert all(line.split(": ", 1)[1] in table for line in said(found))


@pytest.mark.parametrize("order", ["most", "least", "unlike"])
def test_all_heads_are_in_the_order_that_is_asked_for(order, made, visit_contexts):
    ckpt = made("translator")
    at = visit_contexts(ckpt, role="first", heads_by=order)
    roles = measure_roles(ckpt, held_out_sentences(ckpt, limit=50))
    every = {(kind, layer, head): (float(measures["first"][layer, head]),
                                   float(roles.untrained[kind]["first"][layer, head]))
             for kind, measures in roles.values.items() for layer, head in np.ndindex(measures["first"].shape)}
    by = {"most": lambda pair: -pair[0], "least": lambda pair: pair[0], "unlike": lambda pair: -abs(pair[0] - pair[1])}
    ranked = sorted(every, key=lambda head: by[order](every[head]))
    assert listed(at) == [label(*head) for head in ranked[:LISTED]]
    value, random = every[ranked[0]]
    first = next(button for button in at.button if button.key == f"heads_found_{label(*ranked[0])}")
    assert f"{part_of_one(value)} · untrained {part_of_one(random)}" in first.label
    assert [at.query_params[f"role_{part}"] for part in ("kind", "layer", "head")] == list(map(str, ranked[0]))


def test_a_head_of_the_list_is_chosen_and_in_the_link(made, visit_contexts):
    ckpt = made("translator")
    at = visit_contexts(ckpt, role="first")
    kind, layer, head = KINDS[listed(at)[2][0]], listed(at)[2][1], listed(at)[2][3]
    press(at, f"heads_found_{listed(at)[2]}")
    chosen = {"role": "first", "role_kind": kind, "role_layer": layer, "role_head": head}
    assert chosen.items() <= at.query_params.items()
    assert f"## {kind.capitalize()}, layer {layer}, head {head}" in words(at)
    assert shown(visit_contexts(ckpt, **chosen)) == shown(at)


def test_one_that_is_not_among_the_first_stays_in_the_list(made, visit_contexts, monkeypatch):
    ckpt = made("translator")
    monkeypatch.setattr("ui.views.heads.contexts.LISTED", 100)
    every = listed(visit_contexts(ckpt, role="first"))
    monkeypatch.setattr("ui.views.heads.contexts.LISTED", 2)
    assert listed(visit_contexts(ckpt, role="first")) == every[:2]
    kind, layer, _, head = every[-1]
    at = visit_contexts(ckpt, role="first", role_kind=KINDS[kind], role_layer=layer, role_head=head)
    assert listed(at) == [*every[:2], every[-1]] and f"the chosen one, number {len(every)}" in words(at)


def test_a_measure_that_a_kind_has_not_leads_to_another_head(made, visit_contexts):
    at = visit_contexts(made("translator"), role="first", role_kind="encoder", role_layer="0", role_head="1")
    put(at, "heads_role", "alignment")
    assert at.query_params["role_kind"] == "cross" and at.query_params["role"] == "alignment"
    assert "alignment with the word to be written" in words(at)
    put(at, "heads_role_kind", "decoder")
    assert at.query_params["role"] == "previous" and "## Decoder, layer" in words(at)


@pytest.mark.parametrize(("name", "kind"), [("translator", "cross"), ("writer", "decoder"), ("classifier", "encoder")])
def test_each_context_opens_at_its_query_with_the_head_selected(name, kind, made, visit, visit_contexts):
    ckpt = made(name)
    at = visit_contexts(ckpt, role="first", role_kind=kind, role_layer="1", role_head="0")
    scores = score_heads(ckpt, held_out_sentences(ckpt, limit=50))
    found = head_contexts(ckpt, scores, kind, 1, 0, "first")
    links = [link.proto for link in at.get("page_link") if link.proto.query_string]
    assert len(links) == len(found.contexts)
    one = found.contexts[3]
    sentence = found.sentences[one.row.text]
    there = visit(links[3].page, **dict(parse_qsl(links[3].query_string, keep_blank_values=True)))
    assert not there.error
    assert [there.query_params[part] for part in ("kind", "layer", "head")] == [kind, "1", "0"]
    weights = transformer.attend(ckpt, sentence.text, sentence.target).attentions[kind][1, 0, one.row.query]
    assert one.looks_at[0] == pytest.approx(float(weights[0]), abs=1e-5) == pytest.approx(one.score, abs=1e-5)
    if kind == "encoder":
        assert there.query_params["text"] == sentence.text
        return
    step = there.session_state[f"{links[3].page}_decoding"].step
    assert step.attentions[kind][1, 0, -1][0] == pytest.approx(one.score, abs=1e-4)
    assert list(step.tokens)[-1] == sentence.tgt[one.row.query]


def test_the_roles_lead_to_a_head_s_contexts_which_are_read_once_for_all_heads_and_visitors(made, visit,
                                                                                          visit_contexts, monkeypatch):
    at = visit(PAGE, view="roles", checkpoint=made("writer").id, role="first", role_layer="1", role_head="0",
               role_sample="50")
    press(at, "heads_to_contexts")
    assert at.query_params["view"] == "contexts" and at.query_params["role"] == "first"
    assert "## Decoder, layer 1, head 0" in words(at) and shown(at)
    monkeypatch.setattr("ui.views.heads.contexts.score_heads", None)
    assert shown(visit_contexts(made("writer"), role="first", role_layer="1", role_head="1"))
    at = visit_contexts(made("writer"), role="induction")
    assert shown(at) and "The number above is of random tokens" in words(at)


def test_a_large_model_is_read_when_it_is_asked_to(made, visit_contexts, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1_000)
    at = visit_contexts(made("classifier", dropout=0.21))  # that no other test has read
    press(at, "heads_role_measure")
    assert listed(at) and not shown(at)
    press(at, "heads_find_contexts")
    assert shown(at)
    press(at, f"heads_found_{listed(at)[-1]}")
    assert shown(at)


@pytest.mark.parametrize("name", WITHOUT_TOKENIZER)
def test_an_import_without_a_tokenizer_has_contexts_in_ids(name, made_without_tokenizer, visit):
    ckpt = made_without_tokenizer(name)
    at = visit(PAGE, view="contexts", checkpoint=ckpt.id, role_texts="5 6 7 8 9 5 6\n7 8 9 10 11 12", queries_by="peak")
    assert not at.error and shown(at) and len(listed(at)) == min(
        LISTED, ckpt.config.n_heads * ckpt.config.layers(ckpt.config.kinds[0]))


def test_texts_of_a_few_tokens_show_what_there_is_and_one_token_says_why_there_is_nothing(made_without_tokenizer,
                                                                                         made, visit):
    id = made_without_tokenizer("encoder that only reads").id
    for typed in ("5 6 7", "5 6"):
        at = visit(PAGE, view="contexts", checkpoint=id, role_texts=typed, role="bracket")
        assert not at.error and shown(at)
    at = visit(PAGE, view="contexts", checkpoint=id, role_texts="5")
    assert "too short to measure a head on" in words(at) and not listed(at)
    at = visit(PAGE, view="roles", checkpoint=made("classifier").id, role_on="own", role_texts="a")
    assert at.info or at.error


def test_a_measure_that_no_query_has_says_so(made, visit):
    ckpt = made("writer", corpus=False)
    at = visit(PAGE, view="contexts", checkpoint=ckpt.id, role_on="own", role_texts="a dog", role="induction")
    assert "No query of these texts can be measured by “Induction”" in words(at)
    put(at, "heads_queries_by", "peak")
    assert shown(at)


def test_on_a_projector_a_few_of_each_band_are_shown(made, visit_contexts):
    at = visit_contexts(made("writer"), present="1")
    assert len(shown(at)) == 6
    assert len([line for line in values(at, "markdown") if " fifth** of queries" in line]) == 5


def test_of_a_long_text_what_is_around_the_query_and_its_keys_is_drawn():
    tokens = ["x"] * 200
    assert _near(tokens[:40], {}) == {*range(40)}
    assert _near(tokens, {100: 1.0, 3: 0.4, 50: 0.01}) == {*range(12), *range(92, 109)}

"""Imported checkpoints on the pages of their kind: ids where there is no tokenizer, encoders of every sort, of which
Classify and Heads say what they do."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import transformer
from tests.app.heads_checkpoints import corpus_file, make_without_tokenizer
from transformer.text.corpora import corpus
from transformer.text.corpus_catalogue import SOURCES
from ui.figures import plain_label
from ui.lessons.stop_links import fields_of
from ui.views.heads.roles import _listed

from .page import chips, components, figure_of, numbers_table, options, press, put, said, table_cells

pytestmark = pytest.mark.usefixtures("few_corpora", "lasting")
HEADLESS = {"n_classes": None, "pooling": None}
ENCODER = {"encoder_layers": 2, "decoder_layers": 0, "norm_position": "post", "positions": "learned",
           "embedding_norm": True, "type_vocab": 2}


@pytest.fixture
def place(own_home):
    """place(...): a model without a tokenizer among the imports."""
    return partial(make_without_tokenizer, own_home)


def test_a_decoder_without_a_tokenizer_goes_on_with_ids_and_a_word_is_an_error(place, visit):
    ckpt = place(encoder_layers=0, decoder_layers=2, pad_id=None)
    at = visit("write", checkpoint=ckpt.id, text="5 6 7", step="2", temperature="0")
    made = [step.piece for step in transformer.steps(ckpt, "5 6 7", max_steps=3)]
    assert at.query_params["checkpoint"] == ckpt.id
    assert chips(at, "tokens")[:6] == ["5", "6", "7", *made]
    put(at, "write_text", "hello")
    assert ["reads ids, whole numbers from 0 to 29" in error.value for error in at.error] == [True]


@pytest.mark.parametrize(("page", "settings"), [
    ("write", {"encoder_layers": 0, "decoder_layers": 2, "pad_id": None}), ("classify", {**ENCODER, "head": "none"}),
    ("translate", {"encoder_layers": 1, "decoder_layers": 1})])
def test_a_page_begins_with_ids_where_ids_are_read(place, visit, page, settings):
    at = visit(page, checkpoint=place(**settings).id)
    assert not at.error
    assert at.session_state[f"{page}_text"] == "1 2 3"
    at.selectbox(key=f"{page}_checkpoint").select_index(0).run()
    assert at.session_state[f"{page}_text"] not in ("1 2 3", "")


@pytest.mark.parametrize(("settings", "said"), [
    ({"head": "none"}, "only its attention can be shown"),
    ({"head": "masked"}, "Predictions at each position"),
    ({"pooling": "first", "pooler": "tanh", "n_classes": 3}, "First-token pooling"),
], ids=["no head", "masked", "classes"])
def test_an_encoder_of_any_sort_shows_its_attention(place, visit, settings, said):
    ckpt = place(**ENCODER, **settings)
    at = visit("classify", checkpoint=ckpt.id, text="5 6 7")
    assert at.query_params["checkpoint"] == ckpt.id
    assert any(said in element.value for element in (*at.markdown, *at.info))
    (kind, layer, head), weights = numbers_table(at, "classify")
    expected = transformer.attend(ckpt, "5 6 7").attentions[kind][layer, head].numpy()
    assert abs(weights - expected).max() < 1e-4


def test_what_a_masked_model_would_put_is_what_the_library_says(place, visit):
    ckpt = place(**ENCODER, head="masked")
    at = visit("classify", checkpoint=ckpt.id, text="5 6 7")
    (table,) = at.dataframe
    values, ids = transformer.attend(ckpt, "5 6 7").logits.softmax(-1).max(-1)
    assert table.value["1."].tolist() == [str(id) for id in ids.tolist()]
    assert table.value["probability 1"].tolist() == pytest.approx(values.tolist(), abs=1e-6)


def maps(at) -> str:
    """What the maps of heads are sent."""
    return " ".join(view.json for view in components(at, "head_maps"))


@pytest.mark.parametrize(("head", "question", "views"), [
    ("none", "Where does it look?", ["Roles", "One head", "Switch off", "Spaces"]),
    ("masked", "What fits at each position?",
     ["Roles", "One head", "Switch off", "Spaces", "Why", "Lens", "Flow", "Patching", "Neurons"])])
def test_an_encoder_is_asked_what_it_can_answer(head, question, views, made, visit):
    ckpt = made("classifier", corpus=False, head=head, **HEADLESS)
    at = visit("classify", checkpoint=ckpt.id)
    assert options(at, "classify_show")[0] == question
    told = said(at).replace("[speakers]", "")  # what that view is called in an address
    assert not [word for word in ("passage", "Capulet", "speak", "Romeo") if word in told]
    assert not any("Romeo" in option for option in options(at, "classify_example"))
    assert at.text_area(key="classify_text").value
    at = visit("heads", view="lens", checkpoint=ckpt.id)
    assert options(at, "heads_view") == views
    assert at.session_state["heads_view"] == ("lens" if "Lens" in views else "roles")
    assert ("this encoder makes none" in said(at)) == (head == "none")


def test_a_classifier_of_another_corpus_is_tried_on_texts_of_it(made, visit, home):
    ckpt = made("classifier")
    at = visit("classify", checkpoint=ckpt.id)
    known = corpus(str(corpus_file(home / "data", "classifier")))
    texts = [text for split in known.splits.values() for text, _ in split]
    assert options(at, "classify_show")[0] == "Which class?"
    assert at.text_area(key="classify_text").value in texts
    put(at, "classify_example", 1)
    assert at.text_area(key="classify_text").value in texts


def test_the_lens_reads_what_a_masked_model_predicts_at_each_position(made, visit):
    ckpt = made("classifier", corpus=False, head="masked", **HEADLESS)
    at = visit("heads", view="lens", checkpoint=ckpt.id, text="a dog is tall", position="1")
    assert not [error.value for error in at.error]
    assert "this encoder makes one at every position" in said(at)
    probabilities = transformer.attend(ckpt, "a dog is tall").logits.softmax(-1).max(-1).values.tolist()
    table = [cell for cell in table_cells(figure_of(at, "depths")) if "depth" in cell]
    deepest = max(int(cell["depth"]) for cell in table)
    last = [float(cell["value"]) for cell in table if int(cell["depth"]) == deepest]
    assert last == pytest.approx(probabilities[:len(last)], rel=1e-4)  # as many as are shown at once


def test_a_model_that_predicts_is_offered_every_view_of_heads(made, visit):
    at = visit("heads", checkpoint=made("writer").id)
    assert len(options(at, "heads_view")) == len(fields_of("heads")["view"].options)


def test_an_encoder_is_measured_on_texts_of_ones_own_at_once_or_on_any_at_hand(made, visit, monkeypatch):
    ckpt = made("classifier", corpus=False, head="none", **HEADLESS)
    at = visit("heads", view="roles", checkpoint=ckpt.id)
    assert len(at.text_area(key="heads_role_texts").value.splitlines()) == 3
    assert maps(at)
    at.text_area(key="heads_role_texts").set_value("a dog is tall")
    press(at, "heads_role_own")
    assert "1 text typed here" in maps(at) and ", 1 text\"" in maps(at) and "1 texts" not in maps(at)
    names = [source.name for source in SOURCES if source.measured_on != "train" and not source.synthetic]
    monkeypatch.setattr("ui.choices.held_out_corpus.SOURCES", SOURCES)
    for name in (names[0], names[-1]):
        at = visit("heads", view="roles", checkpoint=ckpt.id, role_on=name, role_sample="50")
        assert not [error.value for error in at.error]
        assert len(options(at, "heads_role_on")) == len(names) + 1
        assert "which it may have seen in training" in maps(at)


def test_many_heads_that_rest_on_one_token_are_counted_and_the_token_named(tiny_tokenizer):
    values = np.linspace(0.2, 0.99, 12).reshape(3, 4)
    first = tiny_tokenizer.encode("a")[0]
    found = SimpleNamespace(values={"encoder": {"first": values, "end": values}},
                            sentences=[SimpleNamespace(src=(first, 9)), SimpleNamespace(src=(first, 8, 7))])
    heads = [divmod(at, 4) for at in range(11, 4, -1)]
    listed = _listed(found, "encoder", "first", tiny_tokenizer, heads)
    name = plain_label(tiny_tokenizer.piece(first))
    assert listed.startswith(f"7 of 12 heads: a sink on {name}; strongest E2H3 (0.99), E2H2 (")
    assert listed.count(" (") == 4
    assert "sink" not in _listed(found, "encoder", "end", tiny_tokenizer, heads)
    assert _listed(found, "encoder", "first", tiny_tokenizer, heads[:2]) == "E2H3 (0.99), E2H2 (0.92)"

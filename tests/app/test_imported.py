"""Imported checkpoints on the pages of their kind: ids where there is no tokenizer, encoders of every sort."""

from functools import partial

import pytest

import transformer
from tests.app.heads_checkpoints import make_without_tokenizer

from .page import chips, numbers_table, put

ENCODER = {"encoder_layers": 2, "decoder_layers": 0, "norm_position": "post", "positions": "learned",
           "embedding_norm": True, "type_vocab": 2}


@pytest.fixture
def place(home):
    """place(...): a model without a tokenizer among the imports."""
    return partial(make_without_tokenizer, home)


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

"""Two texts read as one: the tokens between them, their segments, and the logits, compared with the transformers
package."""

import json

import pytest
import torch

import transformer
from tests.huggingface.random_models import save_random
from tests.huggingface.test_huggingface import BERT, DISTILBERT, bpe, word_pieces
from tests.rows import each_row
from transformer.huggingface.comparison import open_theirs
from transformer.huggingface.importing import import_model
from transformer.inference.reading import attend

PAIRS = [("I am cold.", "go on"), (" Go  on, then! ", "[MASK] am I?"), ("on", "x\ud800 [SEP] 🙂")]
NARROW = {**BERT, "embedding_size": 20}


def byte_pieces(folder):
    """RoBERTa's kind of tokenizer, with what it puts around texts."""
    import transformers as hf

    bpe(folder)
    vocab = folder / "vocab.json"
    pieces = [*json.loads(vocab.read_text()), "<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocab.write_text(json.dumps({piece: id for id, piece in enumerate(pieces)}))
    return hf.RobertaTokenizer.from_pretrained(str(folder))


MODELS = {  # class, configuration, settings, tokenizer
    "bert classes": ("BertForSequenceClassification", "BertConfig", BERT, word_pieces),
    "bert masked": ("BertForMaskedLM", "BertConfig", BERT, word_pieces),
    "bert of one segment": ("BertModel", "BertConfig", {**BERT, "type_vocab_size": 1}, word_pieces),
    "electra classes": ("ElectraForSequenceClassification", "ElectraConfig", NARROW, word_pieces),
    "albert": ("AlbertModel", "AlbertConfig", NARROW, word_pieces),
    "distilbert classes": ("DistilBertForSequenceClassification", "DistilBertConfig", DISTILBERT, word_pieces),
    "roberta classes": ("RobertaForSequenceClassification", "RobertaConfig", {**BERT, "type_vocab_size": 1},
                        byte_pieces)}


@pytest.fixture(scope="module", params=MODELS)
def imported(request, tmp_path_factory):
    """Our checkpoint, their model, and their tokenizer."""
    name, config, settings, made = MODELS[request.param]
    folder = tmp_path_factory.mktemp("pairs")
    tokenizer = made(folder / "theirs")
    save_random(folder / "theirs", name, config, {**settings, "vocab_size": len(tokenizer),
                                                  "pad_token_id": tokenizer.pad_token_id,
                                                  "max_position_embeddings": 330}, seed=3, spread=0.3)
    tokenizer.save_pretrained(folder / "theirs")
    ckpt = transformer.load(import_model(folder / "theirs", folder / "ours"))
    return ckpt, open_theirs(ckpt, folder / "theirs"), tokenizer


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@torch.no_grad()
def test_a_pair_is_read_as_theirs(imported, pair):
    ckpt, theirs, tokenizer = imported
    encoded = tokenizer(*(text.replace("\ud800", "\ufffd") for text in pair), return_token_type_ids=True)
    reading = attend(ckpt, pair)
    assert reading.ids["src"] == encoded.input_ids
    assert reading.text == " / ".join(pair)
    segments = ckpt.config.type_vocab
    assert reading.types == (encoded.token_type_ids if segments > max(encoded.token_type_ids) else None)
    given = {"token_type_ids": torch.tensor([encoded.token_type_ids])} if segments > 1 else {}
    other = theirs(torch.tensor([encoded.input_ids]), output_attentions=True, **given)
    expected = other.last_hidden_state[0] if reading.logits is None else other.logits[0]
    found = reading.hidden if reading.logits is None else reading.logits
    if ckpt.config.n_classes:
        expected = expected.log_softmax(-1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    torch.testing.assert_close(reading.attentions["encoder"], torch.cat(other.attentions), rtol=0, atol=1e-4)


@each_row(("pair", "message"), [
    (("I", " "), "the second text of the pair is empty"), (("I",), "a tuple of 1 is given"),
    (("I", "a", "b"), "a tuple of 3 is given"), (("I", 5), "the second text is of type int"),
    (("I", "am " * 400), "reads at most")])
def test_what_is_no_pair_is_refused(imported, pair, message):
    with pytest.raises(ValueError, match=message):
        attend(imported[0], pair)


def test_a_model_without_pairs_says_so(writer, translator, make_checkpoint):
    for ckpt in (writer, translator, make_checkpoint(decoder_layers=0, pooling="max", n_classes=3)):
        with pytest.raises(ValueError, match="reads one text at a time"):
            attend(ckpt, ("one", "two"))

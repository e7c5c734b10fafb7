"""Tokenizers of published encoders: sentencepiece files alone, word pieces, one tokenizer.json."""

from itertools import pairwise

import pytest
import sentencepiece
import torch

import transformer
from tests.huggingface.test_huggingface import BERT, TEXTS, word_pieces
from transformer.huggingface.importing import import_model
from transformer.inference.reading import attend

SPECIAL = {  # of the file's first pieces
    "spiece": {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]},
    "spm": {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]", "bos_piece": "[CLS]",
            "eos_piece": "[SEP]", "unk_piece": "[UNK]"}}
HOSTILE = [*TEXTS[:-1], "“It's”\t\u202eright\u202c ``to'' left\u0000", "e\u0301 ﬁ ½ \u200d\u00a0x", "[CLS] <unk> [SEP]"]


def sentence_pieces(folder, name):
    folder.mkdir(exist_ok=True)
    lines = [*["I am cold. Go on, then! It's here.", "0123456789 [] <> Ça va ?"] * 9]
    (folder / "lines.txt").write_text("\n".join(lines))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "lines.txt"), model_prefix=str(folder / name), vocab_size=70, hard_vocab_limit=False,
        minloglevel=2, **SPECIAL[name])


def one_file(folder):
    """ModernBERT's, a tokenizer.json of bytes with a frame."""
    import transformers as hf
    from tokenizers import ByteLevelBPETokenizer, processors

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS[:-1] * 4, vocab_size=290, min_frequency=1,
                                special_tokens=["[CLS]", "[SEP]", "[MASK]", "[PAD]"])
    trained.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 1)])
    hf.PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, cls_token="[CLS]", sep_token="[SEP]",
                               mask_token="[MASK]", pad_token="[PAD]").save_pretrained(folder)


MADE = {"electra": ("Electra", word_pieces), "albert": ("Albert", lambda folder: sentence_pieces(folder, "spiece")),
        "deberta": ("DebertaV2", lambda folder: sentence_pieces(folder, "spm")), "modernbert": ("ModernBert", one_file)}


@pytest.mark.parametrize("name", MADE)
def test_texts_and_pairs_are_read_as_theirs(tmp_path, name):
    import transformers as hf

    family, made = MADE[name]
    made(tmp_path / "theirs")
    settings = {**BERT, "vocab_size": 320, "pad_token_id": 3 if name == "modernbert" else 0, "embedding_size": 24,
                "max_position_embeddings": 99}
    torch.manual_seed(1)
    getattr(hf, f"{family}Model")(getattr(hf, f"{family}Config")(**settings)).save_pretrained(tmp_path / "theirs")
    theirs = hf.AutoTokenizer.from_pretrained(str(tmp_path / "theirs"))
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    assert ckpt.reads_text
    assert ckpt.reads_pairs
    for text in HOSTILE:
        assert ckpt.tokenizer.encode(text) == theirs(text).input_ids, text
    for pair in pairwise(HOSTILE):
        reading = attend(ckpt, pair)
        assert reading.ids["src"] == theirs(*pair).input_ids
        assert (reading.types is None) == (not ckpt.config.type_vocab)

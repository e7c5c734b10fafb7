"""Pieces form words as a reader would cut them, whatever the tokenizer; no character is split."""

import random

import pytest

from tests.rows import each_row
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer
from transformer.text.tokenizer import KINDS, IdsTokenizer, train
from transformer.text.word_pieces import BEGINS, ENDS, GOES_ON, NONE, alternatives, piece_labels, word_text, words_of

LINES = ["We have to go home before it gets dark.", "Il faut qu'il aille chez nous, n'est-ce pas?", "3.14 (or so)"]


def cut(pieces, mark, special=()):
    return [word_text([pieces[at] for at in word], NONE if word[0] in special else mark)
            for word in words_of(pieces, mark, special)]


@each_row(("pieces", "mark", "words"), [
    (["▁rou", "ge", ".", "</s>"], BEGINS, ["rouge", ".", "</s>"]),
    (["▁qu", "'", "il", "▁", "à"], BEGINS, ["qu", "'", "il", "à"]),
    (["J'", "ai", "▁1", "2", "▁", "!"], BEGINS, ["J'", "ai", "12", "!"]),
    (["I", "▁", "a", "m", ",", "▁", "▁", "s", "o", "\n", "S", "o", "▁"], BEGINS,
     ["I", "am", ",", "▁", "so", "\n", "So", "▁"]),
    (["[CLS]", "un", "##believ", "##able", ",", "[MASK]", "[SEP]"], GOES_ON,
     ["[CLS]", "unbelievable", ",", "[MASK]", "[SEP]"]),
    (["un", "believ", "able</w>", "news</w>", "!</w>"], ENDS, ["unbelievable", "news", "!"]),
    (["17", "4", "1"], NONE, ["17", "4", "1"]),
    (["▁ar", "e\u0301", "t", "\u0301e", "\u0301"], BEGINS, ["are\u0301t\u0301e\u0301"]),
    (["👩", "\u200d", "👧", "👍", "\U0001f3fd", "▁❤", "\ufe0f", "a"], BEGINS,
     ["👩\u200d👧", "👍\U0001f3fd", "❤\ufe0f", "a"]),
    (["🇫", "🇷"], BEGINS, ["🇫🇷"]),
    (["▁سل", "ام", "!", "▁שלו", "ם"], BEGINS, ["سلام", "!", "שלום"]),
    (["▁مي", "\u200c", "خوا", "هم"], BEGINS, ["مي\u200cخواهم"]),
    (["▁我", "喜欢", "红酒", "。"], BEGINS, ["我", "喜欢", "红酒", "。"]),
    (["a", "<20><F0><9F>", "<98>", "<80>", "b"], BEGINS, ["a", "😀", "b"]),
    (["▁caf", "<0xC3>", "<0xA9>", "s"], BEGINS, ["cafés"]),
    (["▁x", "<C3>", "▁y"], BEGINS, ["x", "\ufffd", "y"]),
    (["\u0301"], BEGINS, ["\u0301"]), ([""], BEGINS, [""]), ([], BEGINS, [])])
def test_pieces_make_words(pieces, mark, words):
    special = [at for at, piece in enumerate(pieces) if piece in ("</s>", "[CLS]", "[MASK]", "[SEP]")]
    assert cut(pieces, mark, special) == words


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_sentencepiece_gives_the_words_of_a_text(kind):
    tokenizer = train(LINES * 4, kind=kind, vocab_size=60, verbatim=kind == "char")
    ids = tokenizer.encode("Il faut home.")
    words = cut([tokenizer.piece(id) for id in ids], tokenizer.word_mark)
    assert words[:2] == ["Il", "faut"]
    assert "".join(words[2:]) == "home." or kind == "word"  # a word that no text had is one unknown piece
    assert tokenizer.special == {0, 2, 3}


def test_tokenizers_of_hugging_face_say_themselves_how_their_pieces_make_words():
    tokenizers = pytest.importorskip("tokenizers")
    special = {"special_tokens": ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]}
    made = {"##": tokenizers.BertWordPieceTokenizer(), "▁": tokenizers.ByteLevelBPETokenizer(),
            "</w>": tokenizers.CharBPETokenizer(unk_token="[UNK]")}
    ids = {"pad_id": 3, "unk_id": 0, "bos_id": None, "eos_id": 2}
    for mark, one in made.items():
        one.train_from_iterator([*LINES, "déjà vu 👩‍👧"], vocab_size=400, min_frequency=1, **special)
        read = HuggingFaceTokenizer(one.to_str().encode(), **ids)
        words = cut([read.piece(id) for id in read.encode("it gets dark 👧, déjà.")], read.word_mark)
        assert read.word_mark == mark
        assert [*words[:3], words[-3], words[-1]] == ["it", "gets", "dark", ",", "."]
        assert mark != "▁" or words == ["it", "gets", "dark", "👧", ",", "déjà", "."]
        assert read.special == {1, 2, 3}  # neither the unknown piece nor the mask, which stands for a word


def test_ids_without_a_tokenizer_make_no_words():
    tokenizer = IdsTokenizer(20, pad_id=0, unk_id=None, bos_id=None, eos_id=3)
    assert cut(["1", "2"], tokenizer.word_mark) == ["1", "2"]
    assert tokenizer.special == {0, 3}


def test_words_hold_every_piece_once_and_in_order():
    """Over hundreds of made-up texts of awkward characters."""
    random.seed(4)
    parts = ["▁", "a", "B7", "'", "\n", "é", "\u0301", "👩", "\u200d", "\U0001f3fd", "🇫", "ש", "我", "<C3>", "<A9>", 
             "##x", "x</w>", "", "\ud800", "▁▁", "<20>", "\u202e", " "]
    for _ in range(400):
        pieces = random.choices(parts, k=random.randint(0, 9))
        special = {at for at in range(len(pieces)) if random.random() < 0.1}
        for mark in (BEGINS, GOES_ON, ENDS, NONE):
            words = words_of(pieces, mark, special)
            assert [at for word in words for at in word] == [*range(len(pieces))]
            assert all(len(word) == 1 for word in words if special.intersection(word))
            assert all(cut(pieces, mark, special)[at] or pieces[word[0]] == "" for at, word in enumerate(words))


@each_row(("pieces", "mark", "expected"), [
    (["<s>", "▁un", "believ", "able", "'", "s", "▁", "▁?", "▁1", "9"], BEGINS,
     ["<s>", "un", "·believ", "·able", "'", "s", "▁", "?", "1", "·9"]),
    (["The", "▁▁", "▁a▁b", "▁私", "は"], BEGINS, ["The", "▁▁", "a▁b", "私", "は"]),  # a script without spaces
    (["[CLS]", "un", "##believ", "##able", "!", "##"], GOES_ON, ["[CLS]", "un", "·believ", "·able", "!", "##"]),
    (["un", "able</w>", "!</w>", "</w>"], ENDS, ["un", "·able", "!", "</w>"]),
    (["▁", "a", "b"], BEGINS, ["▁", "a", "·b"]),
    (["▁a", "<F0><9F>", "<99><82>", "b"], BEGINS, ["a", "🙂¹⁄₂", "🙂²⁄₂", "b"]),
    (["▁a", "b"], NONE, ["▁a", "b"]), ([], BEGINS, []), (["", "▁a"], BEGINS, ["", "a"])])
def test_labels_mark_what_goes_on_inside_a_word_and_not_what_begins_one(pieces, mark, expected):
    assert piece_labels(pieces, mark) == expected


def test_of_what_may_come_next_two_that_would_look_alike_are_exact():
    assert alternatives(["▁J", "'"], ["▁aime", "aime", "ai"], BEGINS) == ["▁aime", "aime", "ai"]
    assert alternatives(["▁un"], ["▁able", "able"], BEGINS) == ["able", "·able"]


@each_row(("pieces", "expected"), [
    (["▁I", "▁", "<F0><9F>", "<99><82>", "!"], ["▁I", "▁", "🙂¹⁄₂", "🙂²⁄₂", "!"]),
    (["<0xF0>", "<0x9F>", "<0x99>", "<0x82>"], ["🙂¹⁄₄", "🙂²⁄₄", "🙂³⁄₄", "🙂⁴⁄₄"]),
    (["<20><D7>", "<A9><D7>", "<9C>"], ["▁ש¹⁄₂", "ש²⁄₂ל¹⁄₂", "ל²⁄₂"]),  # right to left, two characters cut
    (["a", "<F0><9F>"], ["a", "<F0><9F>"]),  # not all there yet
    (["<FF>", "<C3>", "<A9>"], ["<FF>", "é¹⁄₂", "é²⁄₂"]),
    (["<pad>", "<F0", ""], ["<pad>", "<F0", ""]),
])
def test_bytes_are_seen_as_the_characters_they_are_part_of(pieces, expected):
    assert piece_labels(pieces) == expected

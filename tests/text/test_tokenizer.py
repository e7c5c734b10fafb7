"""Tokenizers: decoding gives the text back, offsets point at what was typed, and mistakes are explained."""

import hashlib

import pytest

from tests.rows import each_row
from transformer.text.corpora import corpus
from transformer.text.tokenizer import KINDS, Piece, SentencePieceTokenizer, load, train

LINES = ["Hello, world!", "I am cold.", "Go on.", "I  am a café 😀 owner.", "Ça va\u202f? Don't go.",
         "  Who is it?"] * 4
SIZES = {"unigram": 40, "bpe": 60, "char": 100, "word": 100}
TYPED = ["I am cold.", "  Hello   world ", "café 😀😀 日本 owner", "Ça va\u202f? Oui\u00a0!", "cafe\u0301 ﬁn ½",
         "İstanbul — DON'T, go…", "one\ntwo\t\n\nthree", "<s> </s><pad><unk>", "a▁b\0c", "\ud800 broken",
         "?!", "   ", ""]


@pytest.fixture(scope="module", params=[(kind, verbatim) for kind in KINDS for verbatim in (False, True)], ids=str)
def tokenizer(request) -> SentencePieceTokenizer:
    kind, verbatim = request.param
    return train(LINES, kind=kind, vocab_size=SIZES[kind], verbatim=verbatim)


@pytest.fixture(scope="module")
def words() -> SentencePieceTokenizer:
    return train(LINES, kind="word", vocab_size=100, standardise=True)


def test_special_tokens_have_their_fixed_ids_and_every_id_has_a_label(tokenizer):
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2, 3)
    assert [tokenizer.piece(id) for id in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]
    labels = [tokenizer.piece(id) for id in range(tokenizer.vocab_size)]
    assert len(set(labels)) == tokenizer.vocab_size
    assert tokenizer.piece(tokenizer.vocab_size) == f"<{tokenizer.vocab_size}>"


@each_row("text", TYPED)
def test_a_text_is_read_alike_in_every_way_and_offsets_leave_out_only_space(tokenizer, text):
    ids, pieces, end = tokenizer.encode(text), tokenizer.pieces(text), 0
    assert tokenizer.encode_batch([text, text]) == [ids, ids]
    assert [piece.id for piece in pieces] == ids
    assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & set(ids)  # also where they are spelled out
    for piece in pieces:
        assert end <= piece.start <= piece.end <= len(text)
        assert not text[end : piece.start].strip("\0\ud800 \t\n")
        end = piece.end
    assert not text[end:].strip("\0\ud800 \t\n")


def test_offsets_count_characters_not_bytes_and_a_word_carries_the_space_before_it():
    tokenizer = train(LINES, kind="char", vocab_size=100, verbatim=True)
    text = "é😀 日 é"
    assert [text[piece.start : piece.end] for piece in tokenizer.pieces(text)] == ["é", "😀", " ", "日", " ", "é"]
    assert [piece.text for piece in tokenizer.pieces(text)] == ["é", "😀", "▁", "日", "▁", "é"]
    tokenizer = train(LINES, kind="word", vocab_size=100)
    assert tokenizer.pieces(" I   am zzz")[1:] == [
        Piece("▁am", tokenizer.encode("am")[0], 2, 7, False),
        Piece("▁zzz", tokenizer.unk_id, 7, 11, True),
    ]


def test_only_what_the_vocabulary_lacks_is_unknown_and_decoding_ignores_specials_and_ids_outside_it(tokenizer):
    for piece in tokenizer.pieces("Go on. 日"):
        assert piece.unknown == (piece.id == tokenizer.unk_id)
    assert tokenizer.pieces("Go on. 日")[-1].unknown
    assert not tokenizer.pieces("Go on.")[0].unknown
    ids = tokenizer.encode("I am")
    noisy = [2, -5, *ids, 3, 0, 0, tokenizer.vocab_size, 10**12]
    assert tokenizer.decode(noisy) == tokenizer.decode(ids)
    assert tokenizer.decode([]) == ""


def test_standardised_text_keeps_the_offsets_of_what_was_typed(words):
    text = "Don't — GO, İzmir"
    pieces = words.pieces(text)
    assert [piece.text for piece in pieces] == ["▁dont", "▁go", "▁i̇zmir"]
    assert [text[piece.start : piece.end] for piece in pieces] == ["Don't", " — GO", " İzmir"]
    assert words.encode("don't go") == words.encode("DONT GO!") == words.encode("“Don’t” go…")
    assert words.decode(words.encode("Hello, WORLD!")) == "hello world"


@each_row("kind", ["unigram", "bpe", "char"])
def test_verbatim_text_comes_back_exactly(kind):
    tokenizer = train(LINES, kind=kind, vocab_size=SIZES[kind], verbatim=True)
    for text in ("Go on.\n\n  Who  is it?\n", " I", "\n", "it? \n a ", "Ça va\u202f?"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.decode(tokenizer.encode("a日a")) == "a⁇a"
    assert "\n" in {tokenizer.piece(id) for id in tokenizer.encode("a\nb")}


def test_other_text_is_read_alike_whichever_spaces_and_accents_were_typed():
    tokenizer = train(LINES, kind="bpe", vocab_size=60)
    assert tokenizer.encode("Ça  va\u202f?") == tokenizer.encode("C\u0327a\nva\u00a0?") == tokenizer.encode(" Ça va ? ")
    assert tokenizer.decode(tokenizer.encode("Ça va\u202f?")) == "Ça va ?"


def test_a_saved_tokenizer_loads_as_it_was(tmp_path, words):
    words.save(tmp_path / "tokenizer.model")
    loaded = load(tmp_path / "tokenizer.model", kind="word", standardise=True)
    assert loaded.digest == words.digest == hashlib.sha256((tmp_path / "tokenizer.model").read_bytes()).hexdigest()
    assert loaded.encode("Hello, WORLD!") == words.encode("Hello, WORLD!")
    assert (loaded.kind, loaded.standardise, loaded.vocab_size) == ("word", True, words.vocab_size)


def test_one_long_line_is_not_dropped():
    tokenizer = train([" ".join(LINES * 40)], kind="bpe", vocab_size=60, verbatim=True)
    assert tokenizer.unk_id not in tokenizer.encode("Hello, world!")


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_too_large_is_as_large_as_the_text_yields_and_training_twice_gives_the_same(kind):
    first, second = (train(iter(LINES), kind=kind, vocab_size=SIZES[kind]) for _ in range(2))
    assert first.digest == second.digest
    most = train(LINES, kind=kind, vocab_size=50_000)
    if kind in ("char", "word"):
        assert 6 < most.vocab_size < 100
        return
    assert len(LINES) < most.vocab_size < 500
    assert most.digest == train(iter(LINES), kind=kind, vocab_size=most.vocab_size).digest
    assert all(most.decode(most.encode(line)) == " ".join(line.split()) for line in LINES)


@each_row(("lines", "kind", "size", "message"), [
    (LINES, "bpe", 8, "8 pieces is too small.*ask for"), (LINES, "bpe", 0, "0 pieces leaves no room"),
    *((lines, "bpe", 50, "no text to train") for lines in ([], [""], ["   ", ""])),
    (LINES, "wordpiece", 50, "'wordpiece'; choose one of unigram, bpe, char, word")])
def test_what_no_tokenizer_can_be_made_of_is_refused(lines, kind, size, message):
    with pytest.raises(ValueError, match=message):
        train(lines, kind=kind, vocab_size=size)


def test_a_damaged_or_missing_file_is_refused_by_name(tmp_path, words):
    path = tmp_path / "tokenizer.model"
    words.save(path)
    for content in (path.read_bytes()[:200], b"", b"not a model"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="tokenizer.model cannot be used.*damaged"):
            load(path, kind="word")
    path.unlink()
    with pytest.raises(ValueError, match="tokenizer.model cannot be read"):
        load(path, kind="bpe")


def test_shakespeare_comes_back_exactly():
    text = corpus("tiny-shakespeare").text[:60_000]
    tokenizer = train(text.split("\n"), kind="bpe", vocab_size=512, verbatim=True)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert "".join(text[piece.start : piece.end] for piece in tokenizer.pieces(text)) == text

"""Tokenizers of a published page, run by node, give what Python's give, on texts made to break them."""

import base64
import io
import json
import random
from itertools import product

import pytest
from sentencepiece import SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from tests.node import answering, needs_node
from transformer.basics.paths import ROOT
from transformer.publishing.tokenizers import charsmap_rules, published
from transformer.text.corpora import corpus
from transformer.text.tokenizer import KINDS, IdsTokenizer, SentencePieceTokenizer, Tokenizer, load, train

pytestmark = needs_node

LINES = ["Hello, world!", "I am cold.", "Go on.", "I  am a café 😀 owner.", "Ça va\u202f? Don't go.", "  Who is it?",
         "한국어 각 각", "<s> is no mark", "ﬁn ½ ㎏", "the then there these"] * 4
SIZES = {"unigram": 90, "bpe": 110, "char": 100, "word": 100}
HARD = [
    "", " ", "   ", "\0", "a\0b", "\ud800", "\udc00\ud800", "\ud83d", "\u202f", "\u00a0", "\u3000", "▁", "▁▁a", " ▁ ",
    "<s>", "</s>", "<pad>", "<unk>", "<0x0A>", "\n", "\r\n", "\t", "\n\n", "\x01", "\x1c", "\x7f", "\x85", "\u200b",
    "\u200d", "\ufeff", "👩\u200d👩\u200d👧", "🏴\U000e0067\U000e007f", "e\u0301", "é", "\u0301", "ê\u0300",
    "a\u0323\u0302", "각", "가\u11a8", "\u1100\u1161\u11a8", "ᄀ", "ﾡￂ", "Ｈｅｌｌｏ", "ｶﾞ", "ガ", "ß", "ẞ", "İ",
    "I\u0307", "ŉ", "ﬃ", "½", "㎏", "℀", "ﷺ", "…", "¨", "´", "שלום", "\u202eabc\u202c", "مرحبا", "ﻼ", "日本語",
    "\U0001d400", "\U0001ccd6\u0301", "\ufffd", "\uffff", "\U0010ffff", "\u0344", "\u2126", "\u212b", "x" * 30, "—",
    "“Don’t”", "?!", "don't", "¿", "\u061c", "\u2028", "1,234.5",
]


def hostile(count: int) -> list[str]:
    """Texts of what tokenizers stumble over, of sentences, and of any characters at all."""
    draw = random.Random(25)
    pairs = corpus("eng-fra").split("validation")[:2000]
    sentences = [line for source, targets in pairs for line in (source, targets[0])]

    def part() -> str:
        kind = draw.random()
        if kind < 0.45:
            return draw.choice(HARD)
        if kind < 0.7:
            words = draw.choice(sentences).split()
            return " ".join(words[:draw.randint(1, 4)])
        if kind < 0.8:
            return chr(draw.randrange(0x110000))
        if kind < 0.9:
            return chr(draw.randrange(*draw.choice(((0, 0x500), (0x1E00, 0x2600), (0xF900, 0x10000)))))
        return draw.choice(" .,aeiost\u0300\u0301\u0308\u11a8\u1161")

    drawn = [*HARD, *("".join(part() for _ in range(draw.randint(1, 8))) for _ in range(count - len(HARD)))]
    return [*map(as_typed, drawn)]


def as_typed(text: str) -> str:
    """The text as a browser has it: two halves of a character that have met are one, though not in Python."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def trained(kind: str, **options: bool) -> Tokenizer:
    return train(LINES, kind=kind, vocab_size=SIZES[kind], **options)


def shipped(name: str) -> Tokenizer:
    about = json.loads((ROOT / "checkpoints" / name / "config.json").read_text())["tokenizer"]
    return load(ROOT / "checkpoints" / name / "tokenizer.model", kind=about["kind"], standardise=about["standardise"])


def trained_elsewhere(kind: str, **options: object) -> Tokenizer:
    model = io.BytesIO()
    SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=model, model_type=kind, minloglevel=2,
                               vocab_size=SIZES[kind], hard_vocab_limit=False, character_coverage=1.0, num_threads=1,
                               **options)
    return SentencePieceTokenizer(model.getvalue(), kind=kind)


def drawn(kind: str, seed: int) -> Tokenizer:
    """A model over three letters that training would not make: equal scores, close scores, letters that are no pieces,
    symbols that overlap pieces."""
    draw = random.Random(seed)
    model = ModelProto.FromString(trained(kind, verbatim=True).model)
    del model.pieces[4:]
    longer = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("ab한", repeat=size)]
    for piece in draw.sample(longer, 40):
        score = draw.choice([-1.0, -2.0, -3.0, -draw.uniform(1, 1.01), -draw.uniform(1, 20)])
        model.pieces.add(piece=piece, score=score, type=draw.choices([1, 4], [10, 1])[0])
    return SentencePieceTokenizer(model.SerializeToString(), kind=kind)


def case(name: str, tokenizer: Tokenizer, texts: list[str]) -> dict[str, object]:
    draw = random.Random(name)
    description, scores = published(tokenizer)
    outside = [-1, -2, tokenizer.vocab_size, 10**9]
    of_texts = [[piece.id for piece in tokenizer.pieces(text)] for text in texts[:200]]
    drawn = [draw.choices([*range(tokenizer.vocab_size), *outside], k=draw.randint(0, 12)) for _ in range(400)]
    special = [draw.choices([*range(6), *outside], k=draw.randint(0, 5)) for _ in range(400)]
    return {"name": name, "description": description, "scores": base64.b64encode(scores).decode(),
            "fields": {"kind": tokenizer.kind, "vocabSize": tokenizer.vocab_size, "padId": tokenizer.pad_id,
                       "unkId": tokenizer.unk_id, "bosId": tokenizer.bos_id, "eosId": tokenizer.eos_id,
                       "wordMark": tokenizer.word_mark, "special": sorted(tokenizer.special)},
            "count": len(texts), "pieces": [tokenizer.pieces(text) for text in texts],
            "decoded": [[ids, tokenizer.decode(ids)] for ids in [*of_texts, *drawn, *special]],
            "labels": [[id, tokenizer.piece(id)] for id in [*range(tokenizer.vocab_size), *outside]]}


@pytest.fixture(scope="module")
def check():
    """check(texts, cases): fails where a script makes something else of a text."""
    with answering("tokenizers.js") as ask:
        yield lambda texts, cases: ask({"texts": texts, "cases": cases})


@pytest.mark.parametrize("count", [
    pytest.param(3_000, marks=pytest.mark.slow),
    pytest.param(10_000, marks=pytest.mark.rare("more texts that are drawn in the same way"))])
def test_every_tokenizer_cuts_joins_and_names_as_in_python(check, count):
    """So many texts of each kind, and a tenth of them where a kind comes with other options."""
    texts = hostile(count)
    cases = [case(name, shipped(name), texts) for name in ("translate", "write", "classify")]
    cases.append(case("bpe", trained("bpe"), texts))
    for kind in KINDS:
        for verbatim, standardise in product((False, True), repeat=2):
            tokenizer = trained(kind, verbatim=verbatim, standardise=standardise)
            cases.append(case(f"{kind}, {verbatim=}, {standardise=}", tokenizer, texts[:count // 10]))
    check(texts, cases)


@pytest.mark.slow
def test_every_character_has_the_form_that_it_has_in_python(check):
    characters = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(characters[at:at + 100]) for at in range(0, len(characters), 100)]
    check(texts, [case(name, shipped(name), texts) for name in ("translate", "classify")])


ELSEWHERE = {
    "symbols": {"user_defined_symbols": ["<mask>", "th", "the", "t\u0301", "▁", "▁a", "한", "\n"],
                "control_symbols": ["<cls>"]},
    "no space in front": {"add_dummy_prefix": False},
    "all spaces": {"remove_extra_whitespaces": False},
    "no unknown text": {"unk_surface": ""},
    "other ids": {"pad_id": -1, "bos_id": -1, "eos_id": 0, "unk_id": 2, "unk_piece": "???"},
    "lower case": {"normalization_rule_name": "nmt_nfkc_cf"},
    "no rules": {"normalization_rule_name": "identity"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "unigram")) for kind in KINDS])
def test_sentencepiece_models_of_other_settings_are_run_too(kind, check):
    texts = hostile(200)
    tokenizers = {name: trained_elsewhere(kind, **options) for name, options in ELSEWHERE.items()}
    check(texts, [case(name, tokenizer, texts) for name, tokenizer in tokenizers.items()])


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_ties_fall_as_in_python(kind, check):
    draw = random.Random(1)
    texts = ["".join(draw.choices("ab한? ", [9, 9, 9, 1, 1], k=draw.randint(1, 30))) for _ in range(200)]
    check(texts, [case(f"{seed}", drawn(kind, seed), texts) for seed in range(6)])
    # sums of scores pass sentencepiece's limit
    texts = ["?" * questions + "".join(draw.choices("ab한", k=10_000)) for questions in (0, 3_200, 4_000)]
    check(texts, [case("long", drawn(kind, 0), texts)])


def test_rules_that_do_not_treat_a_class_alike_are_run_as_they_are(tmp_path, check):
    (tmp_path / "rules.tsv").write_text("41\t61\n41 301\te1\n62 301 302\t78 79\n20AC\t\n5F\t20\n")
    texts = ["A\u0301a\u0301A", "b\u0301\u0302b\u0301b", "€", " € ", "_a__b_", "€_€"]
    tokenizer = trained_elsewhere("char", normalization_rule_tsv=str(tmp_path / "rules.tsv"))
    assert not published(tokenizer)[0]["classes"]
    check(texts, [case("rules", tokenizer, texts)])


@pytest.mark.slow
def test_a_long_text_takes_as_long_as_its_parts(check):
    """What grew with the square would not end in time."""
    texts = ["the then " * 2_000, "a" * 20_000, "qé" * 10_000, "e\u0301" * 5_000, " " * 20_000,
             as_typed("".join(hostile(1000)))]
    check(texts, [case(kind, trained(kind), texts) for kind in KINDS])


def test_ids_are_read_and_words_that_are_none_refused_as_in_python(check):
    tokenizer = IdsTokenizer(1200, pad_id=None, unk_id=None, bos_id=0, eos_id=2)
    texts = ["", "1 2,3", " 0007\u2003,\x1c\x85 1199\n", "5\u00a06"]
    check(texts, [case("ids", tokenizer, texts)])
    empty = case("ids", tokenizer, []) | {"count": 1}
    for text in ("1200", "a", "1\ufeff2", "-1", "²", "1234567890", "\ud800"):
        for read in (lambda text: tokenizer.encode(text), lambda text: check([text], [empty])):
            with pytest.raises((ValueError, AssertionError), match="whole numbers from 0 to 1,199"):
                read(text)


@pytest.mark.parametrize(("options", "why"), [
    ({"byte_fallback": True}, "spells unknown characters as bytes"),
    ({"treat_whitespace_as_suffix": True}, "has the space at the end of its pieces"),
    ({"denormalization_rule_tsv": "rules.tsv"}, "changes the characters that it writes"),
])
def test_a_sentencepiece_model_that_does_what_training_here_never_does_is_refused(options, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.tsv").write_text("41\t61\n")
    model = io.BytesIO()
    SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=model, model_type="bpe", vocab_size=400,
                               hard_vocab_limit=False, minloglevel=2, **options)
    with pytest.raises(ValueError, match=f"{why}.*Train one here"):
        published(SentencePieceTokenizer(model.getvalue(), kind="bpe"))


def test_a_tokenizer_of_another_maker_is_refused():
    pytest.importorskip("tokenizers")
    from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer

    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    content = json.dumps({"version": "1.0", "model": model}).encode()
    with pytest.raises(ValueError, match="its tokenizer is of kind huggingface, and unigram, bpe"):
        published(HuggingFaceTokenizer(content, pad_id=None, unk_id=0, bos_id=None, eos_id=None))


def double_array(**units: int) -> bytes:
    """Rules of a double array whose units are given by place, as u1=..., and one form, "x"."""
    array = [units.get(f"u{place}", 1 << 31) for place in range(256)]
    return (1024).to_bytes(4, "little") + b"".join(unit.to_bytes(4, "little") for unit in array) + b"x\0"


def test_damaged_rules_for_characters_are_refused():
    a, half = ord("a"), 0xC3
    rule = {"u0": 1 << 10, f"u{1 ^ a}": (1 ^ a ^ 2) << 10 | 1 << 8 | a, "u2": 1 << 31}
    assert charsmap_rules(double_array(**rule)) == {"a": "x"}
    with pytest.raises(ValueError, match="rules for characters go round in circles, or past 1,000,000 places"):
        charsmap_rules(double_array(u0=1 << 10, **{f"u{1 ^ a}": (1 ^ 1 ^ a) << 10 | a}))
    rule = {"u0": 1 << 10, f"u{1 ^ half}": (1 ^ half ^ 2) << 10 | 1 << 8 | half, "u2": 1 << 31}
    with pytest.raises(ValueError, match="rules for characters are of no characters"):
        charsmap_rules(double_array(**rule))

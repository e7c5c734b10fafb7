"""Tokenizers of a published page, run by node, give what Python's give, on texts made to break them."""

import base64
import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from transformer.publish.tokenizers import published
from transformer.text.corpora import corpus
from transformer.text.tokenizer import KINDS, Tokenizer, load, train

ROOT = Path(__file__).resolve().parents[2]
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node on the PATH")

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
    # two halves of a character that have met are one in a browser, though not in Python
    return [text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for text in drawn]


def trained(kind: str, **options: bool) -> Tokenizer:
    return train(LINES, kind=kind, vocab_size=SIZES[kind], **options)


def shipped(name: str) -> Tokenizer:
    about = json.loads((ROOT / "checkpoints" / name / "config.json").read_text())["tokenizer"]
    return load(ROOT / "checkpoints" / name / "tokenizer.model", kind=about["kind"], standardise=about["standardise"])


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


def check(folder: Path, texts: list[str], cases: list[dict[str, object]]) -> None:
    (folder / "cases.json").write_text(json.dumps({"texts": texts, "cases": cases}))
    command = [NODE, "tests/js/tokenizers.js", folder / "cases.json"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[:3000]


def test_every_tokenizer_cuts_joins_and_names_as_in_python(tmp_path):
    texts = hostile(10_000)
    cases = [case(name, shipped(name), texts) for name in ("translate", "write", "classify")]
    for kind in KINDS:
        for options in ({}, {"verbatim": True}, {"standardise": True}, {"verbatim": True, "standardise": True}):
            of = texts if not options else texts[:2000]
            cases.append(case(f"{kind} {[*options]}", trained(kind, **options), of))
    check(tmp_path, texts, cases)

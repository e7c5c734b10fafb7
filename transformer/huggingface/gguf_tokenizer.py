"""The tokenizer of a GGUF file, as the `tokenizer.json` of the tokenizers package.

Radford et al. 2019, section 2.2 (byte-level BPE); Kudo and Richardson 2018 (sentencepiece). Text is first split as in
llama.cpp, by the name under tokenizer.ggml.pre.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import orjson

from transformer.checkpoints.weights import Refused, clean
from transformer.huggingface.gguf_header import Value
from transformer.huggingface.sentencepiece_export import SPACE, merges
from transformer.text.split_patterns import BLOOM, FALCON, GPT4O, LLAMA3, QWEN2, TEKKEN

TEXT, UNKNOWN, CONTROL, WHOLE, UNUSED = 1, 2, 3, 4, 5  # kinds of pieces; 6 is a byte
LONGEST_PIECE = 2_000  # characters; merges are looked for at every place of one

SPLITS = {**dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "smaug-bpe", "dbrx"), LLAMA3),
          **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "megrez", "stablelm2"), QWEN2), "tekken": TEKKEN,
          **dict.fromkeys(("gpt-4o", "llama4"), GPT4O), "bloom": BLOOM}
SPLITS = {name: (pattern,) for name, pattern in SPLITS.items()} | {"falcon": FALCON}
DIGITS = ("smollm", "codeshell", "refact", "starcoder", "command-r", "exaone", "minerva-7b")  # one by one, then GPT-2's
AS_GPT2 = ("default", "gpt-2", "phi-2", "olmo", "mpt", "trillion")
NFC = ("qwen2", "deepseek-r1-qwen", "megrez")


def tokenizer_json(file: str, notes: Mapping[str, Value], architecture: str) -> bytes | None:
    """The file, of byte-level BPE or sentencepiece's BPE; None if there is no tokenizer, or one of another kind or with
    an unknown way of splitting.

    Raises Refused for one that is damaged.
    """
    kind = notes.get("tokenizer.ggml.model")
    if kind not in ("gpt2", "llama") or (kind == "gpt2" and split_of(notes) not in (*SPLITS, *DIGITS, *AS_GPT2)):
        return None
    about = _About(file, notes)
    content = _byte_level(about) if kind == "gpt2" else _sentencepiece(about, gemma=architecture.startswith("gemma"))
    return orjson.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": about.added(),
                         "post_processor": about.framing(usual=kind == "llama"), **content})


def split_of(notes: Mapping[str, Value]) -> str:
    """llama.cpp's name of the way in which a text is split before pieces are merged."""
    return clean(notes.get("tokenizer.ggml.pre", "default"), longest=30)


class _About:
    """The metadata of a tokenizer, checked to be lists of the same length."""

    def __init__(self, file: str, notes: Mapping[str, Value]) -> None:
        self.file, self.notes = file, notes
        self.pieces: list[str] = self._list("tokens", str) or []
        if not self.pieces:
            raise self.broken("it has no pieces")
        if len(set(self.pieces)) < len(self.pieces):
            raise self.broken("it has a piece twice")
        if max(map(len, self.pieces)) > LONGEST_PIECE:
            raise self.broken(f"it has a piece of more than {LONGEST_PIECE:,} characters")
        self.kinds: list[int] = self._list("token_type", int, length=len(self.pieces)) or [TEXT] * len(self.pieces)
        self.scores: list[float] | None = self._list("scores", float, length=len(self.pieces))

    def broken(self, why: str) -> Refused:
        return Refused(f"the tokenizer of {clean(self.file)} is damaged ({why}); copy the file again, or import "
                       "without it (--ids)")

    def _list(self, key: str, kind: type, *, length: int | None = None) -> list | None:
        values = self.notes.get(f"tokenizer.ggml.{key}")
        if values is None:
            return None
        if (not isinstance(values, list) or not all(type(one) is kind for one in values)
                or length not in (None, len(values)) or (kind is float and not all(map(isfinite, values)))):
            raise self.broken(f"its {key} do not add up")
        return values

    def flag(self, key: str, default: bool) -> bool:
        value = self.notes.get(f"tokenizer.ggml.{key}")
        return value if isinstance(value, bool) else default

    def piece(self, name: str) -> int | None:
        """The id of a special token."""
        id = self.notes.get(f"tokenizer.ggml.{name}_token_id")
        return id if type(id) is int and 0 <= id < len(self.pieces) else None

    def special(self) -> set[int]:
        """Ids of pieces that are not text."""
        ends = {id for name in ("bos", "eos") if (id := self.piece(name)) is not None}
        return {id for id, kind in enumerate(self.kinds) if kind == CONTROL} | ends

    def added(self) -> list[dict[str, object]]:
        """Pieces that are found in a text before all else: special tokens, and pieces that are never split."""
        special = self.special() | {id for id, kind in enumerate(self.kinds) if kind == UNKNOWN}
        return [{"id": id, "content": piece, "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False, "special": id in special}
                for id, piece in enumerate(self.pieces) if piece and (id in special or self.kinds[id] == WHOLE)]

    def merges(self) -> list[list[str]] | None:
        """Pairs of pieces that are merged, the first before the others; None if the file has no list."""
        listed = self._list("merges", str)
        if listed is None:
            return None
        pairs, known = [_pair(line) for line in listed], set(self.pieces)
        if wrong := [line for line, pair in zip(listed, pairs, strict=True)
                     if len(pair) != 2 or not {*pair, "".join(pair)} <= known]:
            raise self.broken(f"it merges {clean(wrong[0], longest=40)!r}, which are not two of its pieces")
        return pairs

    def framing(self, *, usual: bool) -> dict[str, object] | None:
        """The special tokens around a text; by default one before it."""
        def one(name: str, wanted: bool) -> list[dict[str, dict[str, Any]]]:
            id = self.piece(name) if wanted else None
            return [] if id is None else [{"SpecialToken": {"id": self.pieces[id], "type_id": 0}}]

        before = one("bos", self.flag("add_bos_token", usual))
        after = one("eos", self.flag("add_eos_token", False))
        if not before and not after:
            return None
        ids = {part["SpecialToken"]["id"] for part in before + after}
        texts = [[{"Sequence": {"id": text, "type_id": which}}] for which, text in enumerate("AB")]
        return {"type": "TemplateProcessing", "single": [*before, *texts[0], *after],
                "pair": [*before, *texts[0], *after, *before, *texts[1], *after],
                "special_tokens": {id: {"id": id, "ids": [self.pieces.index(id)], "tokens": [id]} for id in ids}}


def _pair(line: str) -> list[str]:
    """The two pieces of a merge, separated by a space; a piece may itself begin with one."""
    at = line.find(" ", 1)
    return [line[:at], line[at + 1:]] if at > 0 else [line]


def _bpe(vocab: Sequence[str], pairs: list[list[str]], unknown: str | None, *, bytes_too: bool) -> dict[str, object]:
    return {"type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": bytes_too, "byte_fallback": bytes_too, "ignore_merges": False,
            "vocab": {piece: id for id, piece in enumerate(vocab)}, "merges": pairs}


def _byte_level(about: _About) -> dict[str, object]:
    pairs = about.merges()
    if pairs is None:
        raise about.broken("it has no merges")
    named = split_of(about.notes)
    level = {"type": "ByteLevel", "add_prefix_space": about.flag("add_space_prefix", False), "trim_offsets": True,
             "use_regex": named not in SPLITS}
    first = []
    if named in SPLITS:
        first = [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
                 for pattern in SPLITS[named]]
    elif named in DIGITS:
        first = [{"type": "Digits", "individual_digits": True}]
    return {"normalizer": {"type": "NFC"} if named in NFC else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*first, level]},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": _bpe(about.pieces, pairs, None, bytes_too=False)}


def _sentencepiece(about: _About, *, gemma: bool) -> dict[str, object]:
    if gemma:  # whose scores are not the order of its merges, and whose runs of spaces are written as spaces
        about.pieces = [SPACE * len(piece) if piece and not piece.strip(" ") else piece for piece in about.pieces]
        if len(set(about.pieces)) < len(about.pieces):
            raise about.broken("it has a piece twice")
    text = {piece: -float(id) if gemma or about.scores is None else about.scores[id]
            for id, piece in enumerate(about.pieces) if about.kinds[id] in (TEXT, WHOLE, UNUSED)}
    pairs, unknown = about.merges(), about.piece("unknown")
    try:
        pairs = merges(text) if pairs is None else pairs
    except ValueError as error:
        raise about.broken(str(error)) from None
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    before = [{"type": "Prepend", "prepend": SPACE}] if about.flag("add_space_prefix", not gemma) else []
    return {"normalizer": {"type": "Sequence", "normalizers": [*before, spaces]}, "pre_tokenizer": None,
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}, *([{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if before else [])]},
            "model": _bpe(about.pieces, pairs, None if unknown is None else about.pieces[unknown], bytes_too=True)}

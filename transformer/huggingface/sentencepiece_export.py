"""A sentencepiece tokenizer as the `tokenizer.json` of the tokenizers package, if both cut alike.

Kudo and Richardson 2018 (sentencepiece), Kudo 2018 (unigram), Sennrich et al. 2016 (BPE).
"""

from collections.abc import Mapping
from importlib.util import find_spec

import orjson

from transformer.text.tokenizer import SentencePieceTokenizer

SPACE = "▁"
MOST_MERGED = 20_000_000  # characters of all merges; SmolLM2's 49,152 pieces have 758,312
TEXTS = ("", " ", "a", " a  b ", "\n", "\n\n a\n", "a\r\n\tb", "ROMEO:\nO, she doth teach", "I am cold.", "Ça va ?",
         "é ꙮꙮ\nꙮ x", "ﬁ ½ Ａ", "e\u0301 🙂👩\u200d👧", f"{SPACE}a{SPACE}{SPACE}", "<s> </s> <pad> <unk>",
         "<s>\n</s>", "\0", "a\u00a0b\u202fc", "xx" * 40)


def tokenizer_json(tokenizer: SentencePieceTokenizer) -> tuple[bytes | None, str | None]:
    """The file, if it gives the same ids for every piece and for texts that are hard to cut; else None, and the
    reason."""
    if tokenizer.standardise:
        return None, "its tokenizer takes away capitals and punctuation first"
    if tokenizer.kind == "word":
        return None, "its tokenizer reads several unknown words as one piece"
    if not find_spec("tokenizers"):
        return None, "to check whether it would cut texts the same way, `pip install transformers`"
    from tokenizers import Tokenizer

    content = orjson.dumps(_written(tokenizer))
    theirs = Tokenizer.from_str(content.decode())
    theirs.encode_special_tokens = True
    alike = all(theirs.encode(text, add_special_tokens=False).ids == tokenizer.encode(text)
                for text in (*TEXTS, *_spelled(tokenizer)))
    return (content, None) if alike else (None, "the tokenizers package would cut some texts differently")


def _spelled(tokenizer: SentencePieceTokenizer) -> list[str]:
    """Each piece twice, the second overlapping the first as far as it fits, where BPE could merge either."""
    pieces = [tokenizer.piece(id).replace(SPACE, " ") for id in range(tokenizer.vocab_size)]
    return [piece + piece[shared:] for piece in pieces for shared in range(len(piece))
            if piece.endswith(piece[:shared])] + ["".join(pieces), " ".join(pieces[::-1])]


def _written(tokenizer: SentencePieceTokenizer) -> dict[str, object]:
    special = [tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id]
    pieces = [tokenizer.piece(id) for id in range(tokenizer.vocab_size)]
    if tokenizer.kind == "unigram":  # it would read a special token spelled in a text without spaces
        pieces = [piece.replace("<", "< ") if id in special else piece for id, piece in enumerate(pieces)]
    # What is cut out before all else: the newline, and special tokens unless split_special_tokens is set.
    added = [{"id": id, "content": piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": id in special} for id, piece in enumerate(pieces) if id in special or piece == "\n"]
    if tokenizer.kind == "unigram":
        model = {"type": "Unigram", "unk_id": tokenizer.unk_id, "byte_fallback": False,
                 "vocab": [[piece, tokenizer.score(id)] for id, piece in enumerate(pieces)]}
    else:
        model = {"type": "BPE", "dropout": None, "unk_token": pieces[tokenizer.unk_id], "fuse_unk": True,
                 "continuing_subword_prefix": None, "end_of_word_suffix": None, "byte_fallback": False,
                 "ignore_merges": False, "vocab": {piece: id for id, piece in enumerate(pieces)},
                 "merges": merges({piece: tokenizer.score(id) for id, piece in enumerate(pieces)
                                   if id not in special}) if tokenizer.kind == "bpe" else []}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}, "pre_tokenizer": None,
            "post_processor": None, "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "Fuse"}]}, "model": model}


def merges(score: Mapping[str, float]) -> list[list[str]]:
    """Every two pieces that make a third, in the order in which they are merged: by the third's score, best first.
    Raises ValueError where they are more than any tokenizer has."""
    found, left = [], MOST_MERGED
    for whole in score:
        pairs = [(whole[:at], whole[at:]) for at in range(1, len(whole))
                 if whole[:at] in score and whole[at:] in score]
        found += pairs
        left -= len(whole) * len(pairs)
        if left < 0:
            raise ValueError(f"its pieces combine in too many ways, with more than {MOST_MERGED:,} characters")
    return [list(pair) for pair in sorted(found, key=lambda pair: -score["".join(pair)])]

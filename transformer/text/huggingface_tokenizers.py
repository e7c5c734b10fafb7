"""Tokenizers of Hugging Face folders: one `tokenizer.json`, or Marian's two sentencepiece models."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from transformer.basics.json_depth import is_shallow
from transformer.text.rust_errors import refuse_panics
from transformer.text.split_patterns import check_patterns
from transformer.text.tokenizer import Piece, SentencePieceTokenizer
from transformer.text.word_pieces import BEGINS, ENDS, GOES_ON, NONE

if TYPE_CHECKING:
    import tokenizers

SPACE = "Ġ"  # of byte-level BPE
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")  # no text has them, and č, ć, ğ would be them
LARGEST = 64_000_000  # bytes of a tokenizer file; the largest vocabularies in use take a third of it
MOST_PIECES, MOST_GROWTH, MOST_PUT_IN = 1_000_000, 100, 100
SURROGATES = re.compile("[\ud800-\udfff]")  # a browser can send them, UTF-8 cannot hold them


def read_bytes(path: Path) -> bytes:
    """A tokenizer's file. Raises ValueError if it cannot be read, or is larger than any tokenizer."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"the tokenizer {path.name} has {path.stat().st_size:,} bytes; the limit is {LARGEST:,}. "
                             "Please import without it")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"the tokenizer {path.name} cannot be read ({error.strerror}); put the file back") from error


def read_object(content: bytes, name: str) -> dict:
    """A JSON object. Raises ValueError for anything else."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the tokenizer {name} is not readable JSON ({error}); copy it again") from None
    if not isinstance(value, dict):
        raise ValueError(f"the tokenizer {name} should hold a JSON object; copy it again")
    if not is_shallow(value):
        raise ValueError(f"the tokenizer {name} is nested too deeply; do not use it")
    return value


def spelled_size(about: Mapping[str, Any], name: str = "tokenizer.json") -> int:
    """One more than the largest id in a tokenizer.json. Raises ValueError for ids that no vocabulary has, because the
    tokenizers package allocates memory for all up to the largest."""
    if not isinstance(entries := about.get("added_tokens") or [], list):
        raise ValueError(f"the tokenizer {name} should list its added_tokens; copy it again")
    model = about["model"] if isinstance(about.get("model"), dict) else {}
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict | list):
        raise ValueError(f"the tokenizer {name} has no vocabulary; copy it again")
    ids = [*(vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))),
           *(entry.get("id") if isinstance(entry, dict) else None for entry in entries)]
    if wrong := [id for id in ids if type(id) is not int or not 0 <= id < MOST_PIECES]:
        raise ValueError(f"the tokenizer {name} gives a piece the id {str(wrong[0])[:40]}, and ids are whole numbers "
                         f"from 0 to {MOST_PIECES - 1:,}; copy it again")
    return max(ids, default=-1) + 1


def _growth(part: object) -> int:
    """The factor by which a step of a tokenizer, and those in it, can lengthen a text by what it inserts."""
    if not isinstance(part, dict):
        return 1
    own = max(1, len(str(part["content"]))) if part.get("type") == "Replace" else 1
    own += len(str(part.get("prepend") or ""))
    if part.get("type") == "Precompiled":
        own = max(own, _longest(part.get("precompiled_charsmap")))
    inner = [one for value in part.values() for one in (value if isinstance(value, list) else [value])]
    return min(own * prod(_growth(one) for one in inner), MOST_GROWTH + 1)


def _longest(charsmap: object) -> int:
    """The most characters that sentencepiece's table of normal forms writes for one. The table has a trie, after its
    size in four bytes, and then the forms, each followed by a NUL."""
    try:
        table = base64.b64decode(charsmap if isinstance(charsmap, str) else "")
    except binascii.Error:
        return 1  # the package says so
    forms = table[4 + int.from_bytes(table[:4], "little"):]
    return max((len(form.decode("utf-8", "replace")) for form in forms.split(b"\0")), default=1)


def _put_in(tokenizer: "tokenizers.Tokenizer") -> list[int]:
    """The ids that a tokenizer puts around a text and around two. Raises ValueError for too many."""
    step = tokenizer.post_processor  # asked of the package: a file may spell one in several ways
    ids = [] if step is None else list(islice(_ids_in(orjson.loads(step.__getstate__())), MOST_PUT_IN + 1))
    if len(ids) > MOST_PUT_IN:
        raise ValueError(f"tokenizer.json puts more than {MOST_PUT_IN} tokens around a text; do not use it")
    return ids


def _ids_in(step: Mapping) -> Iterator[int]:
    """The ids that a step and those in it insert, and -1 for each place of a text."""
    for part in (*step.get("single", ()), *step.get("pair", ())):
        token = part.get("SpecialToken")
        yield from step["special_tokens"].get(token["id"], {}).get("ids", ()) if token else (-1,)
    yield from (step[name][1] for name in ("cls", "sep") if name in step)
    for inner in step.get("processors", ()):
        yield from _ids_in(inner)


@cache
def _byte_of() -> dict[str, int]:
    """The byte of each character of byte-level BPE. Radford et al. 2019, section 2.2."""
    printed = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + i): byte for i, byte in enumerate(others)}


def byte_level_label(token: str) -> str:
    """A token of byte-level BPE as text, with "▁" for a space, and in hex where its bytes are no whole character."""
    if not all(char in _byte_of() for char in token):
        return token
    spelled = bytes(_byte_of()[char] for char in token)
    try:
        return spelled.decode().replace(" ", BEGINS)
    except UnicodeDecodeError:
        return "".join(f"<{byte:02X}>" for byte in spelled)


def is_byte_level(tokens: Sequence[str]) -> bool:
    """Whether tokens are evidently those of byte-level BPE: with its space, or text only when their characters are
    read as bytes. The letters of many languages are such characters too."""
    if any(token.startswith(BEGINS) or token.endswith(ENDS) or re.match(r"##\w", token) for token in tokens):
        return False
    text = "".join(tokens)
    if SPACE in text:
        return True
    found = _decoded(text)
    if found is None or found.isascii() or CONTROLS.search(found):
        return False
    return any(char > SPACE for char in text) or any(not (_decoded(token) or "").isascii() for token in tokens)


def _decoded(token: str) -> str | None:
    """A token of byte-level BPE as text; None where its bytes are none."""
    try:
        return bytes(_byte_of()[char] for char in token).decode()
    except (KeyError, UnicodeDecodeError):
        return None


def _word_mark(about: Mapping[str, Any], *, byte_level: bool) -> str:
    """The mark of words in the pieces of a tokenizer.json."""
    model = about.get("model") or {}
    around = orjson.dumps([about.get(step) for step in ("normalizer", "pre_tokenizer", "decoder")]).decode()
    if byte_level or "▁" in around or "Metaspace" in around:
        return BEGINS
    if model.get("end_of_word_suffix") == ENDS:
        return ENDS
    return GOES_ON if model.get("continuing_subword_prefix") == GOES_ON else NONE


class HuggingFaceTokenizer:
    """A `tokenizer.json`, run by the tokenizers package. Special tokens spelled in a text are read as such.

    side: which of the tokens around a text belong to its ids. A "text" read by itself has all of them, BERT's [CLS] and
    [SEP], Llama's <s>. The "source" of an encoder-decoder has all but the last, its `end_id`, which follows every
    translated text. The "target" has those in front, or `first_id` in their place: the language that is written. Raises
    ValueError if `content` is not such a file, ImportError if the package is not installed.
    """

    kind, standardise = "huggingface", False

    def __init__(self, content: bytes, *, side: Literal["text", "source", "target"] = "text",
                 first_id: int | None = None, pad_id: int | None, unk_id: int | None, bos_id: int | None,
                 eos_id: int | None) -> None:
        import tokenizers

        about = read_object(content, "tokenizer.json")
        spelled_size(about)
        for step in ("normalizer", "pre_tokenizer", "decoder"):
            if _growth(about.get(step)) > MOST_GROWTH:
                raise ValueError(f"tokenizer.json has a {step} that makes a text more than {MOST_GROWTH} times longer; "
                                 "do not use it")
        check_patterns(about.get("normalizer"), about.get("pre_tokenizer"), about.get("decoder"))
        try:
            with refuse_panics():
                self._tokenizer = tokenizers.Tokenizer.from_str(content.decode())
                self._tokenizer.no_truncation()
                self._tokenizer.no_padding()
        except Exception as error:
            raise ValueError(f"tokenizer.json is not a tokenizer ({str(error)[:120]}); copy it again") from None
        self._content, self.side = content, side
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = pad_id, unk_id, bos_id, eos_id
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        self.vocab_size: int = max((*vocabulary.values(), *_put_in(self._tokenizer)), default=-1) + 1
        self.digest = hashlib.sha256(content).hexdigest()
        self.begins, self.ends = self._frame()  # ids before and after every text
        if side == "target" and first_id is not None:
            self.begins = (first_id,)
        self.end_id = self.ends[-1] if self.ends else None
        added = about.get("added_tokens") or []
        self._added = {one["id"] for one in added}
        special = {one["id"] for one in added if one.get("special")}
        silent = {*special, pad_id, bos_id, eos_id}
        self._silent = {id for id in silent if id is not None and id != unk_id}
        hides = {id for id in special if (self._tokenizer.id_to_token(id) or "").strip("<[|]>").lower() == "mask"}
        self.special = frozenset(self._silent - hides)  # a mask stands for a word
        decoder = about.get("decoder") or {}
        self._byte_level = "ByteLevel" in [decoder.get("type"), *(d.get("type") for d in decoder.get("decoders", []))]
        self.word_mark = _word_mark(about, byte_level=self._byte_level)

    def encode(self, text: str) -> list[int]:
        """Ids of a text; none for an empty one if tokens are put after a text."""
        return [id for id, _ in self._encode(text)]

    def bare(self, text: str) -> list[int]:
        """Ids of a text alone, with nothing put around it."""
        return list(self._run(text, framed=False).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without special tokens and ids outside the vocabulary."""
        return self._tokenizer.decode([id for id in ids if 0 <= id < self.vocab_size and id not in self._silent],
                                      skip_special_tokens=False)

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with their place in it; special tokens around it have no place. Their ids are those of
        `encode`."""
        return self._pieces(self._encode(text))

    def pair(self, first: str, second: str) -> tuple[list[Piece], list[int]]:
        """The pieces of two texts framed as one, each with its place in its own, and the segment of each piece, 0 or 1.
        Raises ValueError if the tokenizer puts nothing after texts."""
        if not self.ends:
            raise ValueError("this checkpoint's tokenizer puts nothing between two texts; give one")
        encoding = self._run(first, second, framed=True)
        return self._pieces(zip(encoding.ids, encoding.offsets, strict=True)), list(encoding.type_ids)

    def _pieces(self, found: Iterable[tuple[int, tuple[int, int]]]) -> list[Piece]:
        return [Piece(self.piece(id), id, start, end, id == self.unk_id) for id, (start, end) in found]

    def piece(self, id: int) -> str:
        """Label of an id: the piece, "▁" for a space, bytes that are no whole character in hex, "<id>" outside the
        vocabulary."""
        token = self._tokenizer.id_to_token(id) if 0 <= id < self.vocab_size else None
        if token is None:
            return f"<{id}>"
        if id in self._added:
            return token if id in self.special else token.replace(" ", "▁")
        return byte_level_label(token) if self._byte_level else token

    def save(self, path: Path) -> None:
        """Write the tokenizer.json, the bytes whose sha256 is `digest`."""
        path.write_bytes(self._content)

    def _frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        encoding = self._run("a", framed=True)
        own = [at for at, frames in enumerate(encoding.special_tokens_mask) if not frames]
        return (tuple(encoding.ids[:own[0]]), tuple(encoding.ids[own[-1] + 1:])) if own else ((), tuple(encoding.ids))

    def _encode(self, text: str) -> list[tuple[int, tuple[int, int]]]:
        """Each id with the place that it was read from."""
        if self.side == "target":
            encoding = self._run(text, framed=False)
            return [*((id, (0, 0)) for id in self.begins), *zip(encoding.ids, encoding.offsets, strict=True)]
        if (self.ends or self.side == "source") and not text.strip():
            return []
        encoding = self._run(text, framed=True)
        whole = [*zip(encoding.ids, encoding.offsets, strict=True)]
        return whole[:-1] if self.ends and self.side == "source" else whole

    def _run(self, text: str, pair: str | None = None, *, framed: bool) -> "tokenizers.Encoding":
        try:
            with refuse_panics():
                return self._tokenizer.encode(SURROGATES.sub("\ufffd", text), pair and SURROGATES.sub("\ufffd", pair),
                                              add_special_tokens=framed)
        except Exception as error:
            raise ValueError(f"the checkpoint's tokenizer fails on this text ({str(error)[:120]}); try "
                             "another") from None


class MarianTokenizer:
    """A tokenizer of Marian or M2M100: a sentencepiece model cuts the text, and a vocabulary of its own gives the ids.

    A language code at the beginning of a text, such as Marian's ">>fra<<", is one piece. The vocabulary maps pieces to
    ids, or is {"pieces": that map, "cut_out": tokens that are found before all else, "begins": id}, where the last is
    put in front of every text, as in M2M100; the argument begins replaces it. Raises ValueError for files that are
    damaged or have no <unk>.
    """

    kind, standardise, word_mark, end_id = "marian", False, BEGINS, None

    def __init__(self, model: bytes, vocabulary: bytes, *, vocabulary_file: str = "vocab.json",
                 begins: int | None = None, pad_id: int | None, bos_id: int | None, eos_id: int | None) -> None:
        self._sentencepiece = SentencePieceTokenizer(model, kind="unigram")
        self._vocabulary, self._file = vocabulary, vocabulary_file
        about = read_object(vocabulary, vocabulary_file)
        if not isinstance(about.get("pieces"), dict):
            about = {"pieces": about, "cut_out": [token for token in ("</s>", "<unk>", "<pad>") if token in about]}
        ids, cut_out, first = about["pieces"], about.get("cut_out"), about.get("begins")
        if not all(type(id) is int and 0 <= id < 1_000_000 for id in ids.values()) or "<unk>" not in ids:
            raise ValueError(f"the tokenizer {vocabulary_file} should give each piece a number, <unk> among them; "
                             "copy it again")
        self._ids, self._pieces = ids, {id: piece for piece, id in ids.items()}
        if not (isinstance(cut_out, list) and all(isinstance(token, str) and token in ids for token in cut_out)
                and (first is None or first in self._pieces)):
            raise ValueError(f"the tokenizer {vocabulary_file} cuts out or begins with what is no piece; copy it again")
        self.begins = first if begins is None or first is None else begins
        self._cut_out = re.compile("|".join(map(re.escape, sorted(filter(None, cut_out), key=len, reverse=True))) or
                                   "(?!)")
        self.vocab_size = max(self._pieces) + 1
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = pad_id, ids["<unk>"], bos_id, eos_id
        self.digest = hashlib.sha256(model + vocabulary).hexdigest()
        silent = {pad_id, bos_id, eos_id, *(ids[token] for token in cut_out)}
        self._silent = {id for id in silent if id is not None and id != self.unk_id}
        codes = {id for piece, id in ids.items() if re.fullmatch(">>.*<<", piece)}
        self.special = frozenset(self._silent | codes)

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without the end token; none of an empty one."""
        return [piece.id for piece in self.pieces(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without padding, the end token and ids outside the vocabulary."""
        pieces = [self._pieces[id] for id in ids if id in self._pieces and id not in self._silent]
        return "".join(pieces).replace("▁", " ").strip()

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with their character offsets in it; their ids are those of `encode`."""
        if not text.strip():
            return []
        pieces = [] if self.begins is None else [Piece(self.piece(self.begins), self.begins, 0, 0, False)]
        cuts = [(0, 0), *(match.span() for match in self._cut_out.finditer(text)), (len(text), len(text))]
        for (_, start), (end, after) in pairwise(cuts):
            pieces += self._cut(text[start:end], start) if start < end else []
            pieces += [self._numbered(text[end:after], end)] if end < after else []
        return pieces

    def piece(self, id: int) -> str:
        """Label of an id: the piece with its "▁", "<id>" outside the vocabulary."""
        return self._pieces.get(id, f"<{id}>")

    def save(self, path: Path) -> None:
        """Write the sentencepiece model, and the vocabulary beside it."""
        self._sentencepiece.save(path)
        path.with_name(self._file).write_bytes(self._vocabulary)

    def _cut(self, text: str, offset: int) -> list[Piece]:
        code = re.match(">>.*?<<", text, re.DOTALL) if self.begins is None else None
        start = code.end() if code else 0
        ids = [self._numbered(code[0], offset)] if code else []
        return ids + [self._numbered(piece.text, piece.start + start + offset, piece.end + start + offset)
                        for piece in self._sentencepiece.pieces(text[start:])]

    def _numbered(self, piece: str, start: int, end: int | None = None) -> Piece:
        id = self._ids.get(piece, self.unk_id)
        return Piece(piece, id, start, start + len(piece) if end is None else end, piece not in self._ids)

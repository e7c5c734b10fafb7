"""The tokenizer of a Hugging Face folder, as one that a checkpoint can store."""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import orjson

from transformer.huggingface.folder import ABOUT, SENTENCEPIECE, Refused, read_json
from transformer.huggingface.language_codes import CODE, chosen_languages
from transformer.huggingface.tokenizer_conversion import FILES, convert
from transformer.settings.config import ModelConfig
from transformer.text.huggingface_tokenizers import (
    HuggingFaceTokenizer,
    MarianTokenizer,
    read_bytes,
    read_object,
    spelled_size,
)
from transformer.text.tokenizer import TokenizerFile, load

TokenizerChoice = tuple[TokenizerFile | None, TokenizerFile | None, Mapping[str, int | None], str | None]
Languages = tuple[str, str] | None
NOTHING: Mapping[str, object] = MappingProxyType({})


def tokenizers_of(folder: Path, config: Mapping[str, object], model: ModelConfig, *, wanted: bool,
                  languages: Languages = None) -> TokenizerChoice:
    """The tokenizers of the target and of the source, the settings that they add to the configuration, and the reason
    if there are none.

    languages: the codes of source and target, for a model of many (`chosen_languages`); the added settings then have
    the token that is written first, as `forced_bos_id`, or as `start_id` if the decoder starts with a language. Raises
    Refused for a tokenizer that is damaged or has more pieces than the model, and for a language that it does not have.
    """
    if not wanted:
        return None, None, {}, "it was left out on request"
    target, source, settings, why_not = _reader(folder, config)(folder, config, model, languages)
    for tokenizer, size in ((target, model.vocab_size), (source, model.src_vocab_size or model.vocab_size)):
        if tokenizer is not None and tokenizer.vocab_size > size:
            raise _too_many(folder.name, tokenizer.vocab_size, size)
    return target, source, settings, why_not


def _reader(folder: Path, config: Mapping[str, object]):
    if config.get("model_type") == "marian":
        return _marian
    if config.get("model_type") == "m2m_100" and (folder / "vocab.json").is_file():
        return _m2m100
    return _ours if (folder / SENTENCEPIECE).is_file() else _one


def _too_many(name: str, count: int, size: int) -> Refused:
    return Refused(f"the tokenizer of {name} has {count:,} pieces and the model {size:,}; they do not belong "
                   "together (--ids imports without the tokenizer)")


def _marian(folder: Path, config: Mapping[str, object], model: ModelConfig, languages: Languages) -> TokenizerChoice:
    files = [folder / name for name in ("source.spm", "target.spm", "vocab.json")]
    if missing := [path.name for path in files if not path.is_file()]:
        return None, None, {}, f"there is no {missing[0]}"
    special = {"pad_id": model.pad_id, "bos_id": None, "eos_id": model.eos_id}
    own = folder / "target_vocab.json"
    written = own if own.is_file() and tokenizer_settings(folder).get("separate_vocabs") else files[2]
    source = MarianTokenizer(read_bytes(files[0]), read_bytes(files[2]), **special)
    target = MarianTokenizer(read_bytes(files[1]), read_bytes(written), vocabulary_file=written.name, **special)
    return target, source, {"unk_id": target.unk_id if target.unk_id < model.vocab_size else None}, None


def _m2m100(folder: Path, config: Mapping[str, object], model: ModelConfig, languages: Languages) -> TokenizerChoice:
    """One sentencepiece model, and a vocabulary to which the languages are added in the order of transformers."""
    if not (folder / "sentencepiece.bpe.model").is_file():
        return None, None, {}, "there is no sentencepiece.bpe.model"
    if not find_spec("transformers"):
        return None, None, {}, "its files need `pip install transformers` to be read"
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    cut, vocabulary = (read_bytes(folder / name) for name in ("sentencepiece.bpe.model", "vocab.json"))
    pieces, settings = read_object(vocabulary, "vocab.json"), tokenizer_settings(folder)
    known = FAIRSEQ_LANGUAGE_CODES.get(str(settings.get("language_codes", "m2m100")))
    if known is None:
        raise Refused(f"the languages {str(settings['language_codes'])[:60]} of {folder.name} are not known")
    codes = {f"__{code}__": len(pieces) + place for place, code in enumerate(known)}
    codes = {code: id for code, id in codes.items() if id < model.vocab_size}
    if not codes:
        raise _too_many(folder.name, len(pieces) + len(known), model.vocab_size)
    forced = config.get("forced_bos_token_id")
    read, spoken = chosen_languages(codes, settings, asked=languages, written=forced)
    about = {"pieces": pieces | codes, "begins": codes[read],
             "cut_out": [token for token in ("<s>", "</s>", "<unk>", "<pad>") if token in pieces] + list(codes)}
    source, target = (MarianTokenizer(cut, orjson.dumps(about), begins=begins, pad_id=model.pad_id,
                                      bos_id=model.bos_id, eos_id=model.eos_id) for begins in (None, codes[spoken]))
    return target, source, {"unk_id": source.unk_id, "forced_bos_id": codes[spoken]}, None


def _one(folder: Path, config: Mapping[str, object], model: ModelConfig, languages: Languages) -> TokenizerChoice:
    if not any((folder / name).is_file() for name in FILES):
        return None, None, {}, "there is none in the folder"
    for name in ("vocab.json", "added_tokens.json", "tokenizer.json"):
        if (folder / name).is_file():
            about = read_object(read_bytes(folder / name), name)
            spelled_size(about if name == "tokenizer.json" else {"model": {"vocab": about}}, name)
            if name != "added_tokens.json" and (count := _own_size(about)) > model.vocab_size:
                raise _too_many(folder.name, count, model.vocab_size)
    settings = tokenizer_settings(folder)
    content, why_not = convert(folder, {"tokenizer_class": config.get("tokenizer_class")} | settings,
                                 str(config.get("model_type")))
    if content is None:
        return None, None, {}, why_not
    return of_content(content, model, name=folder.name, config=config, said=settings, languages=languages)


def of_content(content: bytes, model: ModelConfig, *, name: str, config: Mapping[str, object] = NOTHING,
               said: Mapping[str, object] = NOTHING, languages: Languages = None) -> TokenizerChoice:
    """`tokenizers_of` a tokenizer.json; said: the tokenizer_config.json beside it."""
    about = read_object(content, "tokenizer.json")
    content = _without_spare(name, about, model) or content
    inner = found if isinstance(found := about.get("model"), dict) else {}
    unk_id = _unknown(inner, model)
    settings = {"unk_id": unk_id, "eos_id": model.eos_id}
    forced = config.get("forced_bos_token_id")
    if model.encoder_layers and model.decoder_layers and (codes := _codes(about)):
        starts = model.start_id in codes.values()  # mBART of 2020 starts with the language that it writes
        read, spoken = chosen_languages(codes, said, asked=languages, written=model.start_id if starts else forced)
        if _read_from(about.get("post_processor"), codes, read):
            content = orjson.dumps(about)
        forced = None if starts else codes[spoken]
        settings["start_id" if starts else "forced_bos_id"] = codes[spoken]
    special = {"pad_id": model.pad_id, "bos_id": model.bos_id}
    if not find_spec("tokenizers"):
        tokenizer = _Kept(content)
        return tokenizer, tokenizer, settings, "ids are shown until the tokenizers package is installed"

    def made(side: Literal["text", "source", "target"]) -> HuggingFaceTokenizer:
        return HuggingFaceTokenizer(content, side=side, first_id=forced if type(forced) is int else None,
                                    unk_id=unk_id, eos_id=settings["eos_id"], **special)

    if model.encoder_layers and model.decoder_layers:
        target, source = made("target"), made("source")
    else:
        target = source = made("text")
        if model.eos_id is None and model.encoder_layers and target.end_id is not None:
            settings["eos_id"] = target.end_id  # BERT's configuration does not call its [SEP] an end
            target = source = made("text")
    if source.vocab_size > model.vocab_size:
        raise _too_many(name, source.vocab_size, model.vocab_size)
    return target, source, settings, None


def _own_size(about: dict) -> int:
    """One more than the largest id that was not added later, of a tokenizer.json or a vocab.json."""
    return spelled_size({"model": about["model"] if isinstance(about.get("model"), dict) else {"vocab": about}})


def _without_spare(name: str, about: dict, model: ModelConfig) -> bytes | None:
    """The tokenizer.json without added tokens for which the model has no row, such as Gemma 3's for images; None if it
    has none. Raises Refused if its own pieces are too many."""
    if (count := _own_size(about)) > model.vocab_size:
        raise _too_many(name, count, model.vocab_size)
    added = _list(about.get("added_tokens"))
    kept = [one for one in added if one["id"] < model.vocab_size]  # `spelled_size` has looked at them
    if len(kept) == len(added):
        return None
    about["added_tokens"] = kept
    return orjson.dumps(about)


def _unknown(inner: dict, model: ModelConfig) -> int | None:
    """The id of the unknown token: by its name, as in BPE and WordPiece, or by its place, as in Unigram."""
    unknown_id = inner.get("unk_id")
    if isinstance(vocabulary := inner.get("vocab"), dict):
        unknown_id = vocabulary.get(str(inner.get("unk_token")))
    return unknown_id if type(unknown_id) is int and 0 <= unknown_id < model.vocab_size else None


def _list(value: object) -> list:
    return value if isinstance(value, list) else []


def _codes(about: dict) -> dict[str, int]:
    """Token -> id of each language of a tokenizer.json that puts one around a text; else none."""
    codes = {one["content"]: one["id"] for one in _list(about.get("added_tokens"))
             if one.get("special") and isinstance(one.get("content"), str) and CODE.fullmatch(one["content"])}
    return codes if any(_frames(about.get("post_processor"), codes)) else {}


def _frames(step: object, codes: Mapping[str, int]) -> list[dict]:
    """The places of a language in what is put around a text."""
    if not isinstance(step, dict):
        return []
    inner = [frame for one in _list(step.get("processors")) for frame in _frames(one, codes)]
    parts = [part.get("SpecialToken") for part in [*_list(step.get("single")), *_list(step.get("pair"))]
             if isinstance(part, dict)]
    return inner + [part for part in parts if isinstance(part, dict) and str(part.get("id")) in codes]


def _read_from(step: object, codes: Mapping[str, int], language: str) -> bool:
    """Puts that language around a text; whether another was there."""
    places = [part for part in _frames(step, codes) if part["id"] != language]
    for part in places:
        part["id"] = language
    _know(step, codes, language)
    return bool(places)


def _know(step: object, codes: Mapping[str, int], language: str) -> None:
    if isinstance(step, dict):
        for one in _list(step.get("processors")):
            _know(one, codes, language)
        if isinstance(step.get("special_tokens"), dict):
            step["special_tokens"][language] = {"id": language, "ids": [codes[language]], "tokens": [language]}


def _ours(folder: Path, config: Mapping[str, object], model: ModelConfig, languages: Languages) -> TokenizerChoice:
    """The sentencepiece tokenizer of a checkpoint that was exported."""
    about = read_json(folder / ABOUT).get("tokenizer")
    if not isinstance(about, dict):
        raise Refused(f"{ABOUT} does not say which tokenizer {SENTENCEPIECE} is; export the checkpoint again")
    tokenizer = load(folder / SENTENCEPIECE, kind=str(about.get("kind")), standardise=about.get("standardise") is True)
    return tokenizer, tokenizer, {"unk_id": tokenizer.unk_id}, None


def tokenizer_settings(folder: Path) -> dict[str, object]:
    """A folder's tokenizer_config.json, if it is there."""
    path = folder / "tokenizer_config.json"
    return read_json(path) if path.is_file() else {}


class _Kept:
    """A tokenizer.json that is stored and not run."""

    kind, standardise = "huggingface", False

    def __init__(self, content: bytes) -> None:
        self.content, self.digest = content, hashlib.sha256(content).hexdigest()
        self.vocab_size = spelled_size(read_object(content, "tokenizer.json"))

    def save(self, path: Path) -> None:
        path.write_bytes(self.content)

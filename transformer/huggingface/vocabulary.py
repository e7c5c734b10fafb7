"""Which tokenizer a Hugging Face folder brings, as one that a checkpoint can keep."""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from transformer.config import ModelConfig
from transformer.huggingface.folder import ABOUT, SENTENCEPIECE, Refused, read_json
from transformer.text.huggingface import (
    HuggingFaceTokenizer,
    MarianTokenizer,
    read_bytes,
    read_object,
    spelled_size,
)
from transformer.text.panics import panics
from transformer.text.tokenizer import Tokenizer, load

# The classes of transformers that read a folder for us, by what tokenizer_config.json names without "Fast".
READERS = {"GPT2Tokenizer": "GPT2Tokenizer", "BertTokenizer": "BertTokenizer", "DistilBertTokenizer": "BertTokenizer",
           "RobertaTokenizer": "RobertaTokenizer", "XLMRobertaTokenizer": "XLMRobertaTokenizer",
           "CamembertTokenizer": "CamembertTokenizer", "ElectraTokenizer": "BertTokenizer",
           "AlbertTokenizer": "AlbertTokenizer", "DebertaV2Tokenizer": "DebertaV2Tokenizer",
           "PreTrainedTokenizer": "PreTrainedTokenizerFast",
           "TokenizersBackend": "PreTrainedTokenizerFast"}
USUAL = {"gpt2": "GPT2Tokenizer", "bert": "BertTokenizer", "distilbert": "BertTokenizer",
         "roberta": "RobertaTokenizer", "xlm-roberta": "XLMRobertaTokenizer", "camembert": "CamembertTokenizer",
         "electra": "BertTokenizer", "albert": "AlbertTokenizer", "deberta-v2": "DebertaV2Tokenizer",
         "modernbert": "PreTrainedTokenizer"}
FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model",
         "spm.model")
Found = tuple[Tokenizer | None, Tokenizer | None, dict[str, object], str | None]


def tokenizers_of(folder: Path, config: Mapping[str, object], model: ModelConfig, *, wanted: bool) -> Found:
    """The tokenizers of what is written and of what is read, what they add to the configuration, and why there are none
    where there are none. Raises Refused for one that is damaged or has more pieces than the model."""
    if not wanted:
        return None, None, {}, "it was left out on request"
    read = _marian if config.get("model_type") == "marian" else _ours if (folder / SENTENCEPIECE).is_file() else _one
    target, source, settings, why_not = read(folder, config, model)
    for tokenizer, size in ((target, model.vocab_size), (source, model.src_vocab_size or model.vocab_size)):
        if tokenizer is not None and tokenizer.vocab_size > size:
            raise _too_many(folder, tokenizer.vocab_size, size)
    return target, source, settings, why_not


def _too_many(folder: Path, count: int, size: int) -> Refused:
    return Refused(f"the tokenizer of {folder.name} has {count:,} pieces and the model {size:,}; they do not belong "
                   "together (--ids imports without the tokenizer)")


def _marian(folder: Path, config: Mapping[str, object], model: ModelConfig) -> Found:
    files = [folder / name for name in ("source.spm", "target.spm", "vocab.json")]
    if missing := [path.name for path in files if not path.is_file()]:
        return None, None, {}, f"there is no {missing[0]}"
    special = {"pad_id": model.pad_id, "bos_id": None, "eos_id": model.eos_id}
    own = folder / "target_vocab.json"
    written = own if own.is_file() and tokenizer_settings(folder).get("separate_vocabs") else files[2]
    source = MarianTokenizer(read_bytes(files[0]), read_bytes(files[2]), **special)
    target = MarianTokenizer(read_bytes(files[1]), read_bytes(written), vocabulary_file=written.name, **special)
    return target, source, {"unk_id": target.unk_id if target.unk_id < model.vocab_size else None}, None


def _one(folder: Path, config: Mapping[str, object], model: ModelConfig) -> Found:
    if not any((folder / name).is_file() for name in FILES):
        return None, None, {}, "there is none in the folder"
    for name in ("vocab.json", "added_tokens.json", "tokenizer.json"):
        if (folder / name).is_file():
            about = read_object(read_bytes(folder / name), name)
            count = spelled_size(about if name == "tokenizer.json" else {"model": {"vocab": about}}, name)
            if count > model.vocab_size:
                raise _too_many(folder, count, model.vocab_size)
    content, why_not = _content(folder, str(config.get("model_type")))
    return (None, None, {}, why_not) if content is None else of_content(content, model)


def of_content(content: bytes, model: ModelConfig) -> Found:
    """The same of a tokenizer.json."""
    about = read_object(content, "tokenizer.json")
    inner = about.get("model") if isinstance(about.get("model"), dict) else {}
    unknown = inner["vocab"].get(str(inner.get("unk_token"))) if isinstance(inner.get("vocab"), dict) else None
    unk_id = unknown if type(unknown) is int and 0 <= unknown < model.vocab_size else None
    settings = {"unk_id": unk_id, "eos_id": model.eos_id}
    special = {"pad_id": model.pad_id, "bos_id": model.bos_id, **settings}
    if not find_spec("tokenizers"):
        kept = _Kept(content)
        return kept, kept, settings, "ids are shown until the tokenizers package is installed"
    tokenizer = HuggingFaceTokenizer(content, framed=not model.decoder_layers, **special)
    if tokenizer.eos_id is None and (end := tokenizer.ends_with()) is not None and end < model.vocab_size:
        settings["eos_id"] = end  # BERT's configuration does not call its [SEP] an end
        tokenizer = HuggingFaceTokenizer(content, framed=not model.decoder_layers, **special | settings)
    return tokenizer, tokenizer, settings, None


def _ours(folder: Path, config: Mapping[str, object], model: ModelConfig) -> Found:
    """The sentencepiece tokenizer of a checkpoint that was exported."""
    about = read_json(folder / ABOUT).get("tokenizer")
    if not isinstance(about, dict):
        raise Refused(f"{ABOUT} does not say which tokenizer {SENTENCEPIECE} is; export the checkpoint again")
    tokenizer = load(folder / SENTENCEPIECE, kind=str(about.get("kind")), standardise=about.get("standardise") is True)
    return tokenizer, tokenizer, {"unk_id": tokenizer.unk_id}, None


def tokenizer_settings(folder: Path) -> dict[str, object]:
    """What a folder's tokenizer_config.json says, if it is there."""
    path = folder / "tokenizer_config.json"
    return read_json(path) if path.is_file() else {}


def _content(folder: Path, model_type: str) -> tuple[bytes | None, str | None]:
    """A tokenizer.json as transformers makes it of the folder's files, or as it lies there; else why there is none."""
    named = str(tokenizer_settings(folder).get("tokenizer_class") or USUAL.get(model_type)).removesuffix("Fast")
    if find_spec("transformers") and named in READERS:
        import transformers

        for name in FILES:
            if (folder / name).is_file():
                read_bytes(folder / name)  # no larger than a tokenizer is
        try:
            with panics():
                reader = getattr(transformers, READERS[named])
                loaded = reader.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
                return loaded.backend_tokenizer.to_str().encode(), None
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
            raise Refused(f"the tokenizer of {folder.name} cannot be read ({reason}); copy it again, or import without "
                          "it (--ids)") from None
    if (folder / "tokenizer.json").is_file():
        return read_bytes(folder / "tokenizer.json"), None
    return None, ("its files need `pip install transformers` to be read" if named in READERS else
                  f"a {named[:60]} without a tokenizer.json is not read")


class _Kept:
    """A tokenizer.json that is kept and not run."""

    kind, standardise = "huggingface", False

    def __init__(self, content: bytes) -> None:
        self.content, self.digest = content, hashlib.sha256(content).hexdigest()
        self.vocab_size = spelled_size(read_object(content, "tokenizer.json"))

    def save(self, path: Path) -> None:
        path.write_bytes(self.content)

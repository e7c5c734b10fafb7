"""Converts a folder's tokenizer files to the tokenizer.json that transformers makes of them.

transformers reads copies, in a place of their own, of files no larger than a tokenizer's, with only the settings that
say how text is cut: no code that comes with a folder, no class that is not a tokenizer, no path out of the folder.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import orjson

from transformer.huggingface.folder import Refused
from transformer.huggingface.sentencepiece_export import MOST_MERGED, merges
from transformer.text.huggingface_tokenizers import MOST_PIECES, read_bytes, read_object, spelled_size
from transformer.text.rust_errors import refuse_panics
from transformer.text.tokenizer import load

MODELS = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model")
FILES = ("tokenizer.json", "vocab.txt", "vocab.json", *MODELS)  # any of them makes a tokenizer
BESIDE = ("merges.txt", "added_tokens.json")
MOST_EXTRA = 10_000
LONGEST_PIECE = 2_000  # characters: how pieces merge is found by trying each of their cuts
SETTINGS = {"tokenizer_class", "added_tokens_decoder", "additional_special_tokens", "extra_special_tokens",
            "add_bos_token", "add_eos_token", "add_prefix_space", "do_lower_case", "strip_accents",
            "tokenize_chinese_chars", "trim_offsets", "legacy", "legacy_behaviour", "src_lang", "tgt_lang",
            "split_special_tokens", "split_by_punct", "keep_accents", "remove_space", "vocab_type", "extra_ids"}


def convert(folder: Path, settings: Mapping[str, object], model_type: str) -> tuple[bytes | None, str | None]:
    """A tokenizer.json as transformers makes it, or as it is in the folder; else the reason why there is none. Raises
    Refused for files that are damaged."""
    lying = folder / "tokenizer.json"
    named = settings.get("tokenizer_class")
    named = named if isinstance(named, str) else None
    if not find_spec("transformers"):
        return (read_bytes(lying), None) if lying.is_file() else (
            None, "its files need `pip install transformers` to be read")
    if named and not _runs(named):
        return (read_bytes(lying), None) if lying.is_file() else (
            None, f"a {named[:60]} without a tokenizer.json cannot be read")
    try:
        with TemporaryDirectory() as place:
            _copy(folder, Path(place), settings, model_type)
            with refuse_panics():
                from transformers.models.auto.tokenization_auto import AutoTokenizer

                loaded = AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=False)
                if not hasattr(loaded, "backend_tokenizer"):
                    return None, f"a {type(loaded).__name__} without a tokenizer.json cannot be read"
                return loaded.backend_tokenizer.to_str().encode(), None
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        raise Refused(f"the tokenizer of {folder.name} cannot be read ({reason}); copy it again, or import without "
                      "it (--ids)") from None


def _runs(named: str) -> bool:
    """Whether the name says nothing, or is a tokenizer of transformers that the tokenizers package runs."""
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    name = named.removesuffix("Fast")
    if name in ("PreTrainedTokenizer", "BloomTokenizer") or not name.isidentifier():
        return name.isidentifier()
    transformers = import_module("transformers")  # to read all that it imports takes Pyright half a minute
    tokenizer_class = getattr(transformers, name, None) or getattr(transformers, f"{name}Fast", None)
    return isinstance(tokenizer_class, type) and issubclass(tokenizer_class, TokenizersBackend)


def _copy(folder: Path, place: Path, settings: Mapping[str, object], model_type: str) -> None:
    for name in (*FILES, *BESIDE):
        if (folder / name).is_file():
            _check(folder / name)
            copyfile(folder / name, place / name)
    settings_kept = _kept(settings)
    for id in settings_kept.get("added_tokens_decoder") or {}:
        if not id.isdecimal() or int(id) >= MOST_PIECES:
            raise ValueError(f"tokenizer_config.json gives a token the id {id[:40]}")
    if (extra := settings_kept.get("extra_ids", 0)) not in range(MOST_EXTRA + 1):  # T5's <extra_id_0> and so on
        raise ValueError(f"tokenizer_config.json asks for {str(extra)[:40]} extra_ids, at most {MOST_EXTRA:,}")
    (place / "tokenizer_config.json").write_bytes(orjson.dumps(settings_kept))
    (place / "config.json").write_bytes(orjson.dumps({"model_type": model_type}))
    if (folder / "special_tokens_map.json").is_file():
        about = read_object(read_bytes(folder / "special_tokens_map.json"), "special_tokens_map.json")
        (place / "special_tokens_map.json").write_bytes(orjson.dumps(
            {key: value for key, value in _kept(about).items() if key != "extra_ids"}))


def _kept(settings: Mapping[str, object]) -> dict:
    return {key: value for key, value in settings.items() if key in SETTINGS or key.endswith("_token")}


def _check(path: Path) -> None:
    """Raises ValueError for a file that is larger than a tokenizer's, or would be slow to convert."""
    content = read_bytes(path)
    if path.suffix == ".json":
        about = read_object(content, path.name)
        spelled_size(about if path.name == "tokenizer.json" else {"model": {"vocab": about}}, path.name)
        model = about["model"] if path.name == "tokenizer.json" and isinstance(about.get("model"), dict) else {}
        pieces = model.get("vocab") or about
    elif path.suffix == ".model":
        tokenizer = load(path, kind="bpe")
        pieces = [*map(tokenizer.piece, range(tokenizer.vocab_size))]
    else:
        pieces = content.splitlines()
    longest = max((len(piece if isinstance(piece, str | bytes) else str(piece[0])) for piece in pieces if piece),
                  default=0)
    if longest > LONGEST_PIECE * (4 if path.suffix == ".txt" else 1):
        raise ValueError(f"{path.name} has a piece of {longest:,} characters, at most {LONGEST_PIECE:,}")
    if path.suffix == ".model" and sum(len(piece) ** 2 for piece in pieces) > MOST_MERGED:
        merges({str(piece): 0.0 for piece in pieces})  # transformers will compute them; too many are refused here

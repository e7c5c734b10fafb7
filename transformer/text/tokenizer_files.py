"""The tokenizers in a checkpoint's folder, checked against the model whose ids they give."""

from importlib.util import find_spec
from pathlib import Path

from transformer.settings.config import ModelConfig
from transformer.text import tokenizer as tokenizers
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer, MarianTokenizer, read_bytes

# Files of both sides together, of the source and of the target, by the tokenizer's kind.
TOKENIZER_FILES = {"huggingface": ("tokenizer.json", "source.json", "target.json"),
                   "marian": ("source.spm", "source.spm", "target.spm"),
                   None: ("tokenizer.model", "source.model", "target.model")}


def tokenizers_of(folder: Path, config: ModelConfig, *, kind: str, standardise: bool,
                  shared: bool) -> tuple[tokenizers.Tokenizer, tokenizers.Tokenizer]:
    """The tokenizer of the output and that of the input. Raises ValueError for one that is damaged, or does not fit the
    model."""
    one, source, target = TOKENIZER_FILES.get(kind, TOKENIZER_FILES[None])
    files = [folder / name for name in ([one] if shared else [target, source])]
    special = {name: getattr(config, name) for name in ("pad_id", "unk_id", "bos_id", "eos_id")}
    first = config.forced_bos_id
    if kind == "marian":
        special.pop("unk_id")  # its vocabulary says
        read = [_marian(path, **special) for path in files]
        if shared and config.task == "translation":  # M2M100: one vocabulary, a language in front on either side
            read = [_marian(files[0], begins=first, **special), *read]
    elif kind == "huggingface" and find_spec("tokenizers"):
        sides = ("target", "source") if config.task == "translation" else ("text",)
        read = [HuggingFaceTokenizer(content, side=side, first_id=first, **special)
                for content in map(read_bytes, files) for side in sides]
    elif kind in ("huggingface", "ids"):  # without the package that runs it ids are shown too
        sizes = [config.vocab_size, config.src_vocab_size or config.vocab_size]
        read = [tokenizers.IdsTokenizer(size, **special) for size in dict.fromkeys(sizes)]
    else:
        read = [tokenizers.load(path, kind=kind, standardise=standardise) for path in files]
    _check_fit(read[0], config, config.vocab_size)
    _check_fit(read[-1], config, config.src_vocab_size or config.vocab_size)
    return read[0], read[-1]


def _marian(path: Path, begins: int | None = None, **special: int | None) -> MarianTokenizer:
    own = path.with_name("target_vocab.json")  # only if the two sides have vocabularies of their own
    vocabulary = own if path.name == "target.spm" and own.exists() else path.with_name("vocab.json")
    return MarianTokenizer(read_bytes(path), read_bytes(vocabulary), vocabulary_file=vocabulary.name, begins=begins,
                           **special)


def _check_fit(tokenizer: tokenizers.Tokenizer, config: ModelConfig, size: int) -> None:
    count = tokenizer.vocab_size
    if count > size or (tokenizer.kind in tokenizers.KINDS and count < size):  # others may leave rows unused
        raise ValueError(f"its tokenizer has {count:,} pieces and the model's vocabulary {size:,}; they do not belong "
                         "together, so copy both from the same place")
    for name in ("pad_id", "unk_id", "bos_id", "eos_id"):
        ours, theirs = getattr(config, name), getattr(tokenizer, name)
        if ours is not None and theirs != ours:
            raise ValueError(f"{name} is {ours} in config.json and {theirs} in its tokenizer; they do not belong "
                             "together, so copy both from the same place")

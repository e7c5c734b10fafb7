"""Checkpoints: weights, tokenizer and metadata in a folder that is either whole or absent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import orjson
import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer.basics.folders import is_no_file, sha256, whole_folder
from transformer.basics.json_depth import is_shallow
from transformer.basics.paths import of_name
from transformer.checkpoints.weights import (
    PRECISIONS,
    Refused,
    StoredTensor,
    check_tables,
    clean,
    is_matrix,
    misfit,
    read_header,
    sort_metadata,
)
from transformer.diagram.drawing import Diagram, architecture
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, Precision, TrainConfig
from transformer.text import tokenizer as tokenizers
from transformer.text.corpus_catalogue import find_source
from transformer.text.tokenizer_files import TOKENIZER_FILES, tokenizers_of

FORMAT = 1
LARGEST_JSON = 4_000_000  # bytes
SNAPSHOTS = "snapshots"  # in a run or a checkpoint: a checkpoint folder for each of some steps, by its number
LARGEST_WIDENED = 500_000_000  # parameters that are always widened to float32: 2 GB
COPY = "copy the whole checkpoint folder again"
# Metadata that pages compute with, and its types.
META_TYPES = {
    "step": int, "parameters": int, "train_pairs": int, "seconds": (int, float), "validation_loss": (int, float),
    "corpus": str, "saved": str, "imported_from": str, "family": str, "metrics": dict, "chat": str,
    "quantisation": str, "precision": str}


class CheckpointError(ValueError):
    """A folder is not a whole checkpoint; the message says which file, and what to do."""


NO_TOKENIZER = {"kind": "ids", "standardise": False, "shared": True}


@dataclass(frozen=True)
class Description:
    """All that a folder says without its weights being read."""

    folder: Path
    id: str  # name@hash
    config: ModelConfig
    train: TrainConfig | None
    tokenizer: dict[str, Any]  # kind, standardise, shared; of kind "ids" if it has none
    meta: dict[str, Any] = field(default_factory=dict)  # step, metrics, corpus, classes, device, parameters

    def __repr__(self) -> str:
        config, step = self.config, "" if self.step is None else f", step {self.step:,}"
        layers = ", ".join(f"{config.layers(kind)} {kind}" for kind in config.kinds if kind != "cross")
        return (f"{type(self).__name__} {self.id}: {layers} layers of {config.n_heads} heads, d_model "
                f"{config.d_model}{step}")

    @property
    def name(self) -> str:
        """The id without the hash."""
        return self.id.partition("@")[0]

    @property
    def step(self) -> int | None:
        return self.meta.get("step")

    @property
    def quality(self) -> str:
        """The recorded quality, in the measure of its task; of a translator beside people's (see `evaluate`). Empty if
        there is none, and for a training step, whose last measurement was of an earlier one."""
        if self.folder.parent.name == SNAPSHOTS:
            return ""
        measured = self.meta.get("metrics")
        figures = {name: value for name, value in (measured if isinstance(measured, dict) else {}).items()
                   if isinstance(value, int | float)}
        for name, text in (("bleu", "BLEU {:.2f}"), ("accuracy", "{:.1%} right"), ("loss", "{:.4f} nats")):
            if name in figures:
                people = f", people's {figures['bleu_human']:.2f}" if name == "bleu" and "bleu_human" in figures else ""
                return text.format(figures[name]) + people
        loss = self.meta.get("validation_loss")
        return f"held-out loss {loss:.4f}" if isinstance(loss, int | float) else ""

    @property
    def reads_text(self) -> bool:
        """Whether it has a tokenizer; else it reads and shows ids."""
        return self.tokenizer["kind"] != "ids"

    @property
    def languages(self) -> tuple[str, str] | None:
        """The languages it translates from and to, in English, if the import, the training or the corpus names them."""
        names = self.meta.get("languages")
        if isinstance(names, list) and len(names) == 2 and all(isinstance(name, str) for name in names):
            return names[0], names[1]
        if self.train is None or self.train.languages:
            return self.train and self.train.languages
        source = find_source(self.train.corpus)
        return source.languages if source else None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model to look at: in eval mode, without gradients, shared by everybody.

    >>> ckpt.config.kinds, ckpt.config.n_heads
    (('encoder', 'decoder', 'cross'), 4)
    >>> [piece.text for piece in ckpt.tokenizer.pieces("We go.")]
    ['▁We', '▁go', '.']
    """

    description: Description
    model: Transformer
    tokenizer: tokenizers.Tokenizer  # of the output; ids themselves if the folder has none
    source_tokenizer: tokenizers.Tokenizer  # of the input; the same one if they share

    def __repr__(self) -> str:
        return repr(self.description).replace(type(self.description).__name__, type(self).__name__, 1)

    @property
    def id(self) -> str:
        return self.description.id

    @property
    def config(self) -> ModelConfig:
        return self.description.config

    @property
    def meta(self) -> dict[str, Any]:
        return self.description.meta

    @property
    def reads_text(self) -> bool:
        """Whether it reads and writes text; else ids, because it has no tokenizer or none that is supported."""
        return self.tokenizer.kind != "ids"

    @property
    def reads_pairs(self) -> bool:
        """Whether it reads two texts as one: an encoder alone, with a tokenizer that frames them."""
        return not self.config.decoder_layers and bool(getattr(self.source_tokenizer, "ends", ()))

    @property
    def end_id(self) -> int | None:
        """The id after a text that an encoder-decoder reads: EOS, or what its tokenizer puts there, which is a language
        in mBART."""
        return self.config.eos_id if self.source_tokenizer.end_id is None else self.source_tokenizer.end_id

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of a classifier's classes, or numbers if the checkpoint does not name them; else none."""
        count, names = self.config.n_classes or 0, self.meta.get("classes")
        if isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names):
            return tuple(names)
        return tuple(f"class {i}" for i in range(count))

    @cached_property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def diagram(self, *, apart: int = 1, transparent: bool = False) -> Diagram:
        """The architecture as a drawing in SVG, which a notebook shows; see `transformer.architecture`."""
        return architecture(self.config, apart=apart, transparent=transparent)


def save(folder: Path, model: Transformer, *, tokenizer: tokenizers.TokenizerFile | None,
         source_tokenizer: tokenizers.TokenizerFile | None = None, train: TrainConfig | None = None,
         meta: dict[str, Any] | None = None, half: bool = False, files: dict[str, bytes] | None = None) -> None:
    """Writes a checkpoint atomically. half: weights as float16; files: other files for the folder, by name. The same
    arguments give the same files, except for the day in `saved`, which a meta with saved=None leaves out.

    >>> transformer.save(tmp / "copy", ckpt.model, tokenizer=ckpt.tokenizer)
    >>> transformer.load(tmp / "copy").config == ckpt.config
    True
    """
    tokenizer_entry = None
    with whole_folder(folder) as new:
        if tokenizer is not None and tokenizer.kind != "ids":
            other = source_tokenizer if source_tokenizer and source_tokenizer.digest != tokenizer.digest else None
            one, source, target = TOKENIZER_FILES.get(tokenizer.kind, TOKENIZER_FILES[None])
            tokenizer.save(new / (target if other else one))
            if other:
                other.save(new / source)
            tokenizer_entry = {"kind": tokenizer.kind, "standardise": tokenizer.standardise, "shared": not other}
        config = {"format": FORMAT, "model": model.config.model_dump(mode="json"), "tokenizer": tokenizer_entry,
                  "train": train.model_dump(mode="json") if train else None}
        (new / "config.json").write_bytes(orjson.dumps(config, option=orjson.OPT_INDENT_2))
        if half:
            copy = Transformer(model.config).half()
            copy.load_state_dict(model.state_dict())
            model = copy
        about = {"saved": datetime.now(UTC).date().isoformat(), **(meta or {})}
        if about["saved"] is None:
            del about["saved"]
        about["parameters"] = sum(p.numel() for p in model.parameters())
        metadata = {key: orjson.dumps(value).decode() for key, value in about.items()}
        weights: dict[int, list[str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            weights.setdefault(id(parameter), []).append(name)
        for kept, *others in map(sorted, weights.values()):  # a tied weight has one name; the others refer to it
            metadata |= dict.fromkeys(others, kept)
        named: dict[str, Tensor] = dict(model.named_parameters(remove_duplicate=False))
        places = set()
        for name in map(min, weights.values()):
            value = named[name].data.contiguous()
            # equal ones that are not tied may be one in memory, and are two in a file
            named[name] = value.clone() if value.data_ptr() in places else value
            places.add(value.data_ptr())
        save_file({(name := min(names)): named[name] for names in weights.values()}, str(new / "model.safetensors"),
                  metadata={"format": "pt", **metadata})
        sort_metadata(new / "model.safetensors")
        for name, content in (files or {}).items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(content)


def _read_json(path: Path) -> dict:
    if is_no_file(path):
        raise CheckpointError(f"{path.parent.name}/{path.name} is not a file; {COPY}")
    try:
        if (size := path.stat().st_size) > LARGEST_JSON:
            raise CheckpointError(f"{path.parent.name}/{path.name} has {size:,} bytes, and at most {LARGEST_JSON:,} "
                                  f"are read; {COPY}")
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent.name} has no {path.name}; {COPY}") from None
    except OSError as error:
        raise CheckpointError(f"{path.parent.name}/{path.name} cannot be read ({error.strerror}); {COPY}") from None
    except orjson.JSONDecodeError as error:
        raise CheckpointError(f"{path.parent.name}/{path.name} is not readable JSON ({error}); "
                              "copy the checkpoint folder again") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path.parent.name}/{path.name} should hold a JSON object; copy the folder again")
    if not is_shallow(value):
        raise CheckpointError(f"{path.parent.name}/{path.name} is nested too deeply; copy the folder again")
    return value


def _wrong(error: ValidationError) -> str:
    """The first error of a configuration, as a sentence."""
    first = error.errors()[0]
    where = clean(".".join(map(str, first["loc"])))
    if first["type"] == "extra_forbidden":
        return f"{where} is not a setting that this version knows"
    message = first["msg"].removeprefix("Value error, ")
    if not where:
        return message
    return f"{where} is {clean(first['input'], longest=40)}, and the {message[0].lower()}{message[1:]}"


def _read_meta(metadata: dict[str, str], names: set[str], folder: Path) -> dict[str, Any]:
    """What is known of a checkpoint, by the metadata of its weights. Raises CheckpointError for what pages could not
    compute with."""
    meta = {}
    for key, text in metadata.items():
        if text in names:  # safetensors notes its own format and tied tensors here too
            continue
        try:
            meta[key] = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise CheckpointError(f"{folder.name}/model.safetensors notes {clean(key)!r}, which is not JSON; copy it "
                                  "again") from None
    metrics = meta.get("metrics")
    numbers = metrics if isinstance(metrics, dict) else {}
    wrong = [key for key, kind in META_TYPES.items() if meta.get(key) is not None
             and (not isinstance(meta[key], kind) or isinstance(meta[key], bool))]
    wrong += [key for key, value in meta.items() if not is_shallow(value)]
    wrong += [key for key in ("n", "step") if type(numbers.get(key, 0)) is not int]
    if wrong:
        raise CheckpointError(f"{folder.name}/model.safetensors notes {clean(wrong[0])!r}, and not as what it should "
                              "be; save the checkpoint again")
    return meta


def describe(folder: Path | str) -> Description:
    """Reads a checkpoint's JSON and the header of its weights. Raises CheckpointError if something is missing.

    >>> transformer.describe("checkpoints/translate").name
    'translate'
    """
    given, name = str(folder), Path(folder).name
    folder = (of_name(name) if str(folder) == name and not Path(name).is_dir() else None) or Path(folder).resolve()
    if folder.is_file() or (folder.suffix.lower() == ".gguf" and not folder.exists()):
        raise CheckpointError(f"{name} is a file, and a checkpoint is a folder; import it first: headsup import {name}")
    if not folder.is_dir():
        raise CheckpointError(f"there is no folder {name}; " + (
            f"did you mean {name} alone?" if of_name(name) else "`headsup list` shows the checkpoints"))
    if not (folder / "manifest.json").exists() and (there := sorted(folder.glob("[!.]*/manifest.json"))):
        inside = " or ".join(f"{given}/{path.parent.name}" for path in there[:3])
        raise CheckpointError(f"{folder.name} is no checkpoint, and has some in it; name {inside}")
    config = _read_json(folder / "config.json")
    if "format" not in config and "model_type" in config:
        raise CheckpointError(f"{folder.name} is a Hugging Face folder; import it first: headsup import "
                              f"{folder.name}")
    _read_json(folder / "manifest.json")
    if config.get("format") != FORMAT:
        raise CheckpointError(f"{folder.name} has format {clean(config.get('format'))}, this version reads format "
                              f"{FORMAT}; update Heads Up or save the checkpoint again")
    try:
        model = ModelConfig.model_validate(config.get("model"))
        train = TrainConfig.model_validate(config["train"]) if config.get("train") else None
    except ValidationError as error:
        raise CheckpointError(f"{folder.name}/config.json: {_wrong(error)}; {COPY}") from None
    tokenizer = NO_TOKENIZER if config.get("tokenizer") is None else config["tokenizer"]
    if not (isinstance(tokenizer, dict) and tokenizer.keys() == NO_TOKENIZER.keys()
            and all(type(tokenizer[key]) is type(value) for key, value in NO_TOKENIZER.items())):
        raise CheckpointError(f"{folder.name}/config.json: tokenizer should be null or have kind, standardise and "
                              f"shared; {COPY}")
    if not (folder / "model.safetensors").exists():
        raise CheckpointError(f"{folder.name} has no model.safetensors; {COPY}")
    try:
        header = read_header(folder / "model.safetensors")
    except Refused as error:
        raise CheckpointError(f"{folder.name}/{error}") from None
    meta = _read_meta(header.metadata, {*header.tensors, "pt"}, folder)
    id = f"{_name(folder)}@{sha256(folder / 'manifest.json')[:8]}"
    return Description(folder, id, model, train, tokenizer, meta)


def _name(folder: Path) -> str:
    """The name of a folder, after its run's name if it belongs to a run: step 400 of mine is mine-400."""
    run = folder.parent.parent if folder.parent.name == SNAPSHOTS else folder.parent if folder.name == "best" else None
    return folder.name if run is None else f"{run.name}-{folder.name}"


def snapshots(folder: Path) -> list[Path]:
    """Folders with the weights of earlier steps of a run or a checkpoint, the earliest first."""
    folders = [path for path in (folder / SNAPSHOTS).glob("*") if path.name.isascii() and path.name.isdigit()]
    return sorted((path for path in folders if (path / "config.json").exists()), key=lambda path: int(path.name))


def verify(folder: Path, *, but: frozenset[str] = frozenset()) -> None:
    """Compares every file, except those in `but`, with the manifest. Raises CheckpointError for the first that is
    missing or differs."""
    manifest = _read_json(folder / "manifest.json")
    for name in ("config.json", "model.safetensors"):
        if name not in manifest:
            raise CheckpointError(f"{folder.name}/manifest.json does not list {name}; {COPY}")
    for name, digest in manifest.items():
        if name in but:
            continue
        path = folder / name
        try:
            inside, there = path.resolve().is_relative_to(folder.resolve()), path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            inside, there = True, False
        if not inside:
            raise CheckpointError(f"{folder.name}/manifest.json names a file outside its folder; do not use it")
        if not there:
            raise CheckpointError(f"{folder.name} has no {clean(name)}, which its manifest.json lists; {COPY}")
        if sha256(path) != digest:
            raise CheckpointError(f"{folder.name}/{name} is damaged: it is not the file the manifest lists; {COPY}")


def _lay_out(model: Transformer) -> None:
    """Stores the weights of maps that do not narrow input by input: a CPU then multiplies one token up to eight times
    faster, and many tokens as fast as before."""
    for module in (one for one in model.modules() if isinstance(one, nn.Linear)):
        weight = module.weight
        if len(weight) >= module.in_features and weight.is_cpu and weight.dtype.itemsize > 2:
            weight.data = weight.t().contiguous().t()


def load(folder: Path | str, *, device: str | torch.device = "cpu", precision: Precision | None = None) -> Checkpoint:
    """Opens a checkpoint to look at: eval mode, no gradients. Raises CheckpointError if it is not whole.

    precision: of the large weights in memory; computation is in float32. None: float32; but a model of more than 500
    million parameters stored in half precision is memory-mapped, checked by its header instead of its hash, and read
    when it is needed.

    >>> ckpt = transformer.load("checkpoints/translate")
    >>> ckpt.config.task
    'translation'
    """
    description = describe(folder)
    folder, config = description.folder, description.config
    stored = check_weights(folder, config)
    half = any(one.dtype in ("F16", "BF16") for one in stored.values())
    mapped = half and not precision and sum(prod(one.shape) for one in stored.values()) > LARGEST_WIDENED
    # hashing a mapped file would take longer than all else; its header shows that no byte is missing
    verify(folder, but=frozenset({"model.safetensors"} if mapped else ()))
    weights = {}
    try:
        with safe_open(str(folder / "model.safetensors"), "pt") as file:
            names = list(file.keys())
            weights = {name: file.get_tensor(name) for name in names}
    except SafetensorError as error:
        raise CheckpointError(f"{folder.name}: model.safetensors is damaged ({error}); {COPY}") from None
    for name, weight in weights.items():
        if not (is_matrix(name, weight) and (precision or (mapped and weight.dtype.itemsize == 2))):
            weights[name] = weight.float()
        elif precision:
            weights[name] = weight.to(PRECISIONS[precision])
    model = Transformer.holding(config, weights).to(device)
    _lay_out(model)
    return Checkpoint(description, model, *open_tokenizers(description))


def check_weights(folder: Path, config: ModelConfig) -> Mapping[str, StoredTensor]:
    """Checks the header of a checkpoint's weights against its configuration before anything is allocated. Raises
    CheckpointError."""
    try:
        stored = read_header(folder / "model.safetensors").tensors
        if wrong := misfit(stored, config):
            raise CheckpointError(f"{folder.name}: the weights do not fit config.json ({wrong}); {COPY}")
        check_tables(config, stored)
    except Refused as error:
        raise CheckpointError(f"{folder.name}: {error}") from None
    return stored


def open_tokenizers(described: Description) -> tuple[tokenizers.Tokenizer, tokenizers.Tokenizer]:
    """The tokenizer of the output and that of the input. Raises CheckpointError for one that is damaged, or whose ids
    do not fit the model."""
    try:
        return tokenizers_of(described.folder, described.config, **described.tokenizer)
    except ValueError as error:
        raise CheckpointError(f"{described.folder.name}: {error}") from None


def find(*places: Path) -> list[Path]:
    """Checkpoint folders directly inside some places, by name. Hidden ones are still being written."""
    return sorted((p for place in places if place.is_dir() for p in place.iterdir()
                   if p.is_dir() and not p.name.startswith(".") and (p / "config.json").exists()),
                  key=lambda p: (p.name, str(p)))

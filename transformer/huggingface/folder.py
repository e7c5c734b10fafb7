"""A Hugging Face folder, read as what it says and no more: JSON, and safetensors whose header is checked first."""

import re
from collections.abc import Mapping
from pathlib import Path

import orjson
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer.weights import BYTES, LARGEST_WEIGHT, Refused, Stored, is_shallow, read_header, too_large

LARGEST_JSON = 4_000_000  # bytes
ABOUT, SENTENCEPIECE = "heads-up.json", "heads-up.model"  # in a folder that is an export of ours
GGUF = ("is a GGUF file, which is not read yet; convert it: in transformers, from_pretrained with gguf_file= opens it "
        "and save_pretrained writes the folder to import")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt", "*.h5", "*.msgpack")


def read_json(path: Path) -> dict[str, object]:
    """A JSON object from a file. Raises Refused where there is none."""
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise Refused(f"{path.name} has {path.stat().st_size:,} bytes, and at most {LARGEST_JSON:,} are read")
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        _not_gguf(path.parent)
        raise Refused(f"{path.parent.name or path.parent} has no {path.name}; name a Hugging Face folder with "
                      "config.json and model.safetensors") from None
    except OSError as error:
        raise Refused(f"{path.name} cannot be read ({error.strerror}); copy the folder again") from None
    except orjson.JSONDecodeError as error:
        raise Refused(f"{path.name} is not readable JSON ({error}); copy the folder again") from None
    if not isinstance(value, dict):
        raise Refused(f"{path.name} should hold a JSON object; copy the folder again")
    if not is_shallow(value):
        raise Refused(f"{path.name} is nested too deeply; copy the folder again")
    return value


def _not_gguf(folder: Path) -> None:
    if found := sorted(folder.glob("*.gguf")):
        raise Refused(f"{found[0].name[:60]} {GGUF}") from None


def tensors(folder: Path) -> dict[str, Stored]:
    """All tensors of a folder, out of one file or several. Raises Refused, for a pickle above all."""
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").exists() or not index.exists():
        files = ["model.safetensors"]
    else:
        listed = read_json(index).get("weight_map")
        names = set(listed.values()) if isinstance(listed, dict) and all(
            isinstance(name, str) for name in listed.values()) else set()
        if not names or len(names) > 200 or not all(re.fullmatch(r"[\w-]+\.safetensors", name) for name in names):
            raise Refused(f"{index.name} should name the .safetensors files beside it; copy the folder again")
        files = sorted(names)
    found: dict[str, Stored] = {}
    for name in files:
        if not (folder / name).is_file():
            pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
            _not_gguf(folder)
            if pickles and name == "model.safetensors":
                raise Refused(f"{folder.name} has its weights only as {pickles[0][:60]}, a format that can run code "
                              "when it is opened; ask for model.safetensors, or save it so with save_pretrained")
            raise Refused(f"{folder.name} has no {name}; copy the whole folder again")
        more = read_header(folder / name).tensors
        if twice := found.keys() & more.keys():
            raise Refused(f"{min(twice)[:60]!r} is in two files of {folder.name}; copy the folder again")
        found |= more
    return found


def fit(found: Mapping[str, Stored], expected: Mapping[str, tuple[int, ...]], *, spare: re.Pattern[str],
        folder: str) -> None:
    """Hold what headers say against the names and shapes that a configuration asks for; spare: what may be there
    besides. Raises Refused with the first that is missing, differs or is too many."""
    for name, shape in expected.items():
        if name not in found:
            raise Refused(f"{folder} has no weights {name}, which its config.json asks for; copy the folder again")
        if found[name].shape != shape:
            raise Refused(f"{name} has the shape {found[name].shape} in {folder}, and by its config.json {shape}; the "
                          "two do not belong together")
        if found[name].dtype not in BYTES:
            raise Refused(f"{name} is stored as {found[name].dtype} in {folder}, and {', '.join(BYTES)} are read; save "
                          "it as one of them")
    for name in found.keys() - expected.keys():
        if not spare.fullmatch(name):
            raise Refused(f"{folder} has weights {name[:80]!r}, for which the model of its config.json has no place")


def read(found: Mapping[str, Stored], names: set[str]) -> dict[str, Tensor]:
    """Those tensors as float32. Raises Refused for one with numbers that no weight is."""
    out = {}
    for path in {found[name].file for name in names}:
        try:
            with safe_open(str(path), "pt") as file:
                for name in names:
                    if found[name].file == path:
                        out[name] = file.get_tensor(found[name].name).float()
        except (SafetensorError, OSError) as error:
            raise Refused(f"{path.name} is damaged ({error}); copy it again") from None
    for name, tensor in out.items():
        if tensor.numel() and not (most := float(tensor.abs().max())) <= LARGEST_WEIGHT:  # nan is neither
            raise too_large(name, most)
    return out

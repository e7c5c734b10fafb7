"""Finds the folder that a text means: a folder, or a model by its name on the hub with or without a revision, such as
EleutherAI/pythia-70m@step1000, from the hub's cache on this disk or fetched."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from transformer.checkpoints.weights import clean
from transformer.huggingface.folder import PICKLES, Refused, tensors
from transformer.huggingface.gguf_header import is_gguf
from transformer.huggingface.published_models import PUBLISHED, fetch

WORD = r"[A-Za-z0-9][\w.-]{0,95}"
NAMED = re.compile(rf"({WORD}(?:/{WORD})?)(?:@({WORD}))?", re.ASCII)
# step1000, step1000-tokens4B, stage1-step1000-tokens3B, checkpoint-1000, global_step1000, or the number alone
STEP = re.compile(r"(?:^|[^A-Za-z])(?:step|checkpoint|ckpt|iter)[-_]?(\d{1,12})(?![A-Za-z0-9.])|^(\d{1,12})$")
TEXTS = ("*.json", "*.txt", "*.spm", "*.model", "*.md", "LICENSE*")  # files that are fetched beside weights
LONGEST = 160  # characters of a path in a sentence: it is named to be typed again
TWICE = ("consolidated*", "*.fp16*", "*.bf16*", "*.fp32*")  # the same weights once more, for other programs


@dataclass(frozen=True)
class Source:
    """The meaning of a text: a folder or a GGUF file, or a model's name, of `PUBLISHED` or on the hub with its
    revision."""

    origin: str  # as a checkpoint says it: the folder's name, or the model's with its revision
    folder: Path | None = None  # or file
    name: str = ""
    revision: str | None = None

    @classmethod
    def of(cls, text: str | Path) -> "Source":
        """Raises Refused for a text that is neither a folder nor a name."""
        if (folder := _on_disk(Path(text))) is not None:
            return cls((folder.name if folder.is_dir() else Path(text).stem) or "model", folder)
        if str(text) in PUBLISHED:
            return cls(str(text), None, str(text))
        match = NAMED.fullmatch(str(text))
        if not match or ".." in str(text):
            raise Refused(f"there is no folder {clean(text, longest=LONGEST)}, and it is no model's name such as "
                          "openai-community/gpt2 or EleutherAI/pythia-70m@step1000")
        if not find_spec("huggingface_hub"):
            raise Refused(f"there is no folder {text}, and opening a model by its name needs "
                          "`pip install transformers`")
        return cls(str(text), None, match[1], match[2])

    @property
    def step(self) -> int | None:
        """The training step that the revision, or the folder's name, gives."""
        match = STEP.search(self.folder.name if self.folder else self.revision or "")
        return int(match[1] or match[2]) if match else None

    @property
    def model(self) -> str:
        """The name of the model of which this is a step: its name on the hub, or the parent of a folder."""
        return self.name if self.folder is None else self.folder.parent.name or "model"

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """The folder or file, as long as it is needed; fetched files are deleted afterwards. Raises Refused if there is
        none."""
        if self.name in PUBLISHED:
            with TemporaryDirectory() as place:
                yield fetch(self.name, Path(place))
            return
        folder, why_not = (self.folder, None) if self.folder else self._cached()
        with nullcontext(folder) if folder else TemporaryDirectory() as place:
            yield Path(place) if folder else self._fetched(Path(place), why_not)

    def _cached(self) -> tuple[Path | None, str | None]:
        """Its folder in the hub's cache if it is complete; else what is wrong with it, if it is there.

        The layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
        """
        from huggingface_hub import constants

        place = Path(constants.HF_HUB_CACHE).expanduser() / f"models--{self.name.replace('/', '--')}"
        ref = place / "refs" / (self.revision or constants.DEFAULT_REVISION)
        commit = ref.read_text("utf-8", errors="replace").strip() if ref.is_file() else self.revision or ""
        folder = place / "snapshots" / commit
        if not re.fullmatch(WORD, commit, re.ASCII) or not folder.is_dir():
            return None, None
        try:
            if not any(folder.glob("*.gguf")):
                tensors(folder)
        except Refused as error:
            return None, str(error).replace(folder.name, "it")
        return folder, None

    def _fetched(self, place: Path, why_not: str | None) -> Path:
        from huggingface_hub import HfApi, snapshot_download

        try:
            about = HfApi().model_info(self.name, revision=self.revision)
            files = wanted(self.origin, [file.rfilename for file in about.siblings or ()])
            snapshot_download(self.name, revision=about.sha, local_dir=place, allow_patterns=files)
        except Refused:
            raise
        except Exception as error:  # the package has dozens of them, down to the network's own
            reason = str(error).strip().splitlines() or [type(error).__name__]
            here = f"its copy in the hub's cache on this disk cannot be opened ({why_not})" if why_not else (
                f"there is no folder {self.origin}")
            raise Refused(f"{here}, and it cannot be fetched by that name ({reason[0][:160]})") from None
        return place


def _on_disk(path: Path) -> Path | None:
    """The folder or GGUF file there, else None. Raises Refused for a name that cannot be read."""
    try:
        if not path.is_dir() and not (path.is_file() and is_gguf(path)):
            return None
        resolved = path.resolve()
    except OSError as error:
        raise Refused(f"{clean(path, longest=LONGEST)} cannot be read ({error.strerror}); name another "
                      "folder") from None
    try:
        str(resolved).encode()
    except UnicodeEncodeError:
        raise Refused(f"the name {clean(resolved, longest=LONGEST)} cannot be read, as it is not UTF-8; "
                      "rename it") from None
    return resolved


def wanted(origin: str, files: list[str]) -> list[str]:
    """The files of a model on the hub to fetch: its texts, and its weights once. Raises Refused if they are only
    pickles, or several GGUF files."""
    def those(*patterns: str) -> list[str]:
        return [name for name in files if "/" not in name and any(fnmatch(name, one) for one in patterns)]

    weights = [name for name in those("*.safetensors") if name not in those(*TWICE)]
    if "model.safetensors" in weights:
        weights = ["model.safetensors"]
    if not weights and len(weights := those("*.gguf")) > 1:
        raise Refused(f"{origin} has {len(weights)} GGUF files, such as {clean(weights[0], longest=60)}; download the "
                      "one you want into a folder of its own and import that")
    if not weights:
        pickles = those(*PICKLES)
        raise Refused(f"{origin} has no weights as safetensors on the hub" + (
            f", only {clean(pickles[0], longest=60)}, a format that can run code when it is opened; save it with "
            "save_pretrained and import that folder" if pickles else "; import another model"))
    return [*those(*TEXTS), *weights]

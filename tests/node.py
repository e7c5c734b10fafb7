"""Scripts of tests/js in a process of node that goes on answering, so that it starts once for all tests of a file."""

import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from transformer.basics.paths import ROOT

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on the PATH")


def arrays_in(value: dict) -> object:
    """An array of numbers, where an object is one that `answering` of tests/js/answering.js has packed."""
    if value.keys() == {"type", "bytes"}:
        return np.frombuffer(base64.b64decode(value["bytes"]), value["type"])
    return value


@contextmanager
def answering(script: str) -> Iterator[Callable[[object], object]]:
    """`with answering("published_model.js") as ask: found = ask({...})`; raises AssertionError with what it fails
    with."""
    with tempfile.TemporaryFile() as errors, subprocess.Popen(
            [NODE, "--import", "./tests/js/styles.js", f"tests/js/{script}"], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors, encoding="utf-8") as process:

        def ask(asked: object) -> object:
            print(json.dumps(asked), file=process.stdin, flush=True)
            if not (line := process.stdout.readline()):
                errors.seek(0)
                pytest.fail(f"{script} has ended: {errors.read().decode()}")
            said = json.loads(line, object_hook=arrays_in)
            assert "failed" not in said, said["failed"]
            return said.get("value")

        yield ask
        process.stdin.close()
        assert process.wait(60) == 0

"""Peak memory of the first training steps of presets at full size, each in a `python -m transformer train`.

    python benchmarks/memory.py gpt2 paper-base [--steps 2] [--device cpu] [--most 12] [--json]

The peak is that of the whole process from its start to its last save, as the kernel counts it (VmHWM); `estimated` is
what `transformer.training.memory_size` expects beyond the process itself. A process above `--most` GB is killed.
"""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from transformer.checkpoints.checkpoint import describe
from transformer.settings.config import RunConfig
from transformer.training.memory_size import estimated_activations, kept_memory

ROOT = Path(__file__).resolve().parents[1]
EVERY = 0.05  # seconds between two readings


def peak(process: subprocess.Popen, most: float) -> int:
    """Waits for a process to end and returns its peak memory in bytes; kills it above `most`."""
    found = 0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            found = max([found, *(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))])
        except OSError:  # the process has just ended
            break
        if found > most:
            process.kill()
        time.sleep(EVERY)
    process.wait()
    return found


def measure(preset: str, *, steps: int, device: str, most: float) -> dict[str, object]:
    with TemporaryDirectory() as folder:
        out, began = Path(folder) / "run", time.monotonic()
        command = [sys.executable, "-m", "transformer", "train", "--preset", preset, "--steps", str(steps),
                   "--device", device, "--out", str(out), "--json"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        found = {"preset": preset, "peak_mb": round(peak(process, most) / 1e6),
                 "seconds": round(time.monotonic() - began, 1), "ended_with": process.returncode}
        if process.returncode:
            return found | {"said": process.stderr.read()[-300:]}
        config = RunConfig.model_validate_json((out / "config.json").read_bytes())
        length, micro = config.model.max_len, config.train.micro_tokens
        there = describe(out / "last").step
    estimated = sum(kept_memory(config).values()) + estimated_activations(
        config.model, positions=max(micro, length), length=length, device=torch.device(device))
    return found | {"steps": there, "micro_tokens": micro, "batch_tokens": config.train.batch_tokens,
                    "estimated_mb": round(estimated / 1e6)}


def main(presets: list[str], steps: int = 2, device: str = "cpu",
         most: Annotated[float, typer.Option(help="GB after which a process is killed.")] = 12.0,
         as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Prints the peak of each preset, one after the other."""
    for name in presets:
        found = measure(name, steps=steps, device=device, most=most * 1e9)
        print(orjson.dumps(found).decode() if as_json else found, flush=True)


if __name__ == "__main__":
    typer.run(main)

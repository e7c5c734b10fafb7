"""The presets that want a GPU take their first steps in memory that a laptop has: `make test-faults` measures it.

The peak is that of the whole process from its start to its last save, as the kernel counts it (VmHWM).
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from transformer.checkpoints.checkpoint import describe

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]  # two steps of 25,000 positions on one core
ROOT = Path(__file__).resolve().parents[2]
MOST = 8e9  # bytes, at which the process is killed


def peak(process: subprocess.Popen) -> int:
    """Waits for a process to end -> its peak memory in bytes."""
    found = 0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            found = max([found, *(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))])
        except OSError:  # the process has just ended
            break
        if found > MOST:
            process.kill()
        time.sleep(0.05)
    process.wait()
    return found


@pytest.mark.parametrize("preset", ["gpt2", "paper-base", "annotated"])
def test_two_steps_of_the_large_presets_stay_under_eight_gigabytes(preset, tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "transformer", "train", "--preset", preset, "--steps", "2", "--device", "cpu",
         "--out", str(out), "--json"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = peak(process)
    print(preset, f"{found / 1e9:.2f} GB")
    assert process.returncode == 0, process.stderr.read()[-300:]
    assert describe(out / "last").step == 2
    assert 1e9 < found < MOST

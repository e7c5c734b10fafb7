"""The presets that want a GPU take their first steps in memory that a laptop has: `make test-faults` measures it."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("memory", Path(__file__).parents[2] / "benchmarks" / "memory.py")
memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory)

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]  # two steps of 25,000 positions on one core


@pytest.mark.parametrize("preset", ["gpt2", "paper-base", "annotated"])
def test_two_steps_of_the_large_presets_stay_under_eight_gigabytes(preset):
    found = memory.measure(preset, steps=2, device="cpu", most=8e9)
    print(found)
    assert found["ended_with"] == 0, found
    assert found["steps"] == 2
    assert 1_000 < found["peak_mb"] < 8_000

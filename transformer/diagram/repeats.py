"""Equal layers of a stack, drawn once: which follow one another, and which patterns of them repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

LONGEST_CYCLE = 6  # runs
MOST_FRAMES = 4  # of a stack, beyond which each kind of layer is drawn once


@dataclass(frozen=True)
class Run:
    """Layers of one template that are drawn as one: their numbers, and how many follow one another each time."""

    template: int
    layers: tuple[int, ...]
    together: int  # 0: scattered


@dataclass(frozen=True)
class Cycle:
    """Runs from the bottom up, and how many times they are there."""

    runs: tuple[Run, ...]
    times: int


def drawn_once(templates: Sequence[int], *, apart: int = 1) -> list[Cycle]:
    """The layers of a stack as cycles from the bottom up; a stack of at most `apart` layers layer by layer."""
    if len(templates) <= apart:
        return [Cycle((Run(template, (layer,), 1),), 1) for layer, template in enumerate(templates)]
    runs: list[tuple[int, int]] = [(template, len([*equal])) for template, equal in groupby(templates)]
    cycles: list[Cycle] = []
    at = layer = 0
    while at < len(runs):
        length, times = _longest(runs[at:])
        step = sum(count for _, count in runs[at:at + length])
        made: list[Run] = []
        first = layer
        for template, count in runs[at:at + length]:
            numbers = tuple(first + time * step + one for time in range(times) for one in range(count))
            made.append(Run(template, numbers, count))
            first += count
        cycles.append(Cycle(tuple(made), times))
        at, layer = at + length * times, layer + step * times
    if sum(len(cycle.runs) for cycle in cycles) <= MOST_FRAMES:
        return cycles
    return [Cycle((Run(kind, tuple(at for at, one in enumerate(templates) if one == kind), 0),), 1)
            for kind in sorted({*templates}, key=templates.index)]


def _longest(runs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The length of the cycle that the first runs are, and how many times it is there: what saves most runs."""
    best, saved = (1, 1), 0
    for length in range(2, min(LONGEST_CYCLE, len(runs) // 2) + 1):
        times = 1
        while runs[times * length:(times + 1) * length] == runs[:length]:
            times += 1
        if (times - 1) * length > saved:
            best, saved = (length, times), (times - 1) * length
    return best


def layer_numbers(layers: Sequence[int], *, most: int | None = None) -> str:
    """Numbers of layers in words: "layer 3", "layers 0–11", "layers 0–4, 6–10, 12"; most: ranges, of which the others
    become "…"."""
    ranges: list[list[int]] = []
    for layer in layers:
        if ranges and layer == ranges[-1][1] + 1:
            ranges[-1][1] = layer
        else:
            ranges.append([layer, layer])
    numbers = ", ".join([*(f"{first}–{last}" if last > first else f"{first}" for first, last in ranges[:most]),
                         *["…"] * (most is not None and most < len(ranges))])
    return f"{'layer' if len(layers) == 1 else 'layers'} {numbers}"

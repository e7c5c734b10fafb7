"""What one visitor notices of six others: three paste 100,000 characters, three run the heaviest views, while a seventh
steps through a translation; and what memory is left a minute after all have gone.

    python benchmarks/load.py [--steps 30] [--rounds 2] [--json]

A step: from the press of a button to the end of what the server sends for it. Steps alone and steps among the others
take turns, after a visitor has opened every view once, so that what is read once for all visitors is there. The others
wait for their answer before they ask for more, and run at the lowest priority, for a browser would be on another
computer. Goal: the median among the others within twice the one alone; memory within 20% of what it was before them.
"""

import os
import platform
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Event, Process, Value
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.raw.client import Client, Server, serving

SLOWER, GROWN = 2.0, 1.2  # goals
AWAY = 60                 # seconds after all have left
FORGOTTEN = 5             # seconds after which nothing is computed for them any more, and as long is looked
TEXT = "The quick brown fox jumps over the lazy dog and sees a red house near the river in the morning"
WORDS = TEXT.lower().split()


def words(count: int, chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count))


def paste(visitor: Client, turn: int, chance: random.Random) -> None:
    """100,000 characters, and by turns a passage that is as long as what is read."""
    if not turn:
        visitor.open("classify")
    text = words(24_000, chance)[:100_000] if turn % 2 == 0 else words(1_000, chance)
    visitor.send(classify_text=("string_value", text))


def views(chance: random.Random) -> list[tuple[str, dict[str, str]]]:
    """The heaviest views, of texts that nobody has asked about before."""
    text = words(30, chance)
    lines = "\n".join(f"{words(12, chance)}\t{words(12, chance)}" for _ in range(15))
    return [("heads", {"view": "attribution", "text": text, "all": "open", "steps": "64"}),
            ("heads", {"view": "roles", "role_sample": "500"}),
            ("heads", {"view": "roles", "role_on": "own", "role_texts": lines}),
            ("translate", {"text": text, "beam": "8", "compare": "sentence", "compare_text": words(30, chance)}),
            ("heads", {"view": "lens", "text": text}),
            ("heads", {"view": "direct", "text": text}),
            ("heads", {"view": "switch", "text": text, "heads": "decoder:0:0,cross:1:1"}),
            ("checkpoints", {"view": "test", "draw": str(chance.randrange(10_000))})]


def look(visitor: Client, turn: int, chance: random.Random) -> None:
    found = views(chance)
    page, address = found[turn % len(found)]
    visitor.open(page, **address)


def keep_at_it(server: Server, number: int, answers: object, leave: object) -> None:
    """One of the others, as a process of its own, until told to leave."""
    os.nice(19)
    chance, visitor, turn = random.Random(number), Client(server, {}), 0
    while not leave.is_set():
        if number < 3:
            paste(visitor, turn, chance)
        else:
            look(visitor, 3 * number + turn, chance)
        turn += 1
        with answers.get_lock():
            answers.value += 1
    visitor.close()


@contextmanager
def others(server: Server, answers: object) -> Iterator[None]:
    """All six at work; gone in the middle of it where they do not end by themselves."""
    leave = Event()
    processes = [Process(target=keep_at_it, args=(server, number, answers, leave), daemon=True) for number in range(6)]
    before = answers.value
    for process in processes:
        process.start()
    try:
        while answers.value < before + 6:  # so that all are at it
            assert all(process.is_alive() for process in processes), "one of the others has failed"
            time.sleep(0.1)
        yield
    finally:
        leave.set()
        for process in processes:
            process.terminate()
            process.join()


class Stepper:
    """Who is measured."""

    def __init__(self, server: Server):
        self.visitor, self.pressed = Client(server, {}).open("translate", text="I like red wine with my dinner."), 0

    def step(self) -> float:
        """Milliseconds that one press takes: forward to the fifth step, and back."""
        self.pressed += 1
        at = self.pressed % 10
        move = {"move": {"index": min(at, 10 - at), "number": self.pressed, "choices": []}}
        began = time.perf_counter()
        self.visitor.send(translate_controls=("json_value", orjson.dumps(move).decode()))
        return 1_000 * (time.perf_counter() - began)


def memory(pid: int) -> float:
    """MB in use by a process."""
    return int(next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                    if line.startswith("VmRSS")).split()[1]) / 1_000


def processor(pid: int) -> float:
    """Seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spread(taken: list[float]) -> dict[str, float]:
    return {"median_ms": median(taken), "p95_ms": quantiles(taken, n=20)[-1]}


def measure(steps: int, rounds: int, away: int) -> dict[str, object]:
    alone, among, answers = [], [], Value("i", 0)
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        cold = memory(server.pid)
        chance, first = random.Random(-1), Client(server, {})
        for turn in range(len(views(chance))):
            look(first, turn, chance)
        for turn in range(2):
            paste(first, turn, chance)
        first.close()
        time.sleep(away)
        before = memory(server.pid)
        for _ in range(rounds):
            for taken in (alone, among):
                if taken is alone:
                    stepper = Stepper(server)
                    taken += [stepper.step() for _ in range(steps + 5)][5:]
                else:
                    with others(server, answers):
                        taken += [stepper.step() for _ in range(steps)]
                        most = memory(server.pid)
                    stepper.visitor.close()
        time.sleep(FORGOTTEN)
        busy = processor(server.pid)
        time.sleep(FORGOTTEN)
        busy = (processor(server.pid) - busy) / FORGOTTEN
        time.sleep(away)
        after = memory(server.pid)
    slower = median(among) / median(alone)
    return {"alone": spread(alone), "among": spread(among), "slower": slower, "answers_to_others": answers.value,
            "memory_mb": {"started": cold, "before": before, "among": most, "after": after},
            "grown": after / before, "busy_after": busy, "goals_met": slower <= SLOWER and after / before <= GROWN,
            "steps": len(alone), "machine": platform.processor() or platform.machine(), "cores": os.cpu_count()}


def main(steps: Annotated[int, typer.Option(min=5)] = 30, rounds: Annotated[int, typer.Option(min=1)] = 2,
         away: Annotated[int, typer.Option(min=0)] = AWAY, json: bool = False) -> None:
    """Measure, print, and end with 1 where a goal is missed."""
    found = measure(steps, rounds, away)
    if json:
        print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        print(f"a step alone: median {found['alone']['median_ms']:,.0f} ms, 95th percentile "
              f"{found['alone']['p95_ms']:,.0f} ms")
        print(f"a step among six others, who got {found['answers_to_others']} answers: median "
              f"{found['among']['median_ms']:,.0f} ms, 95th percentile {found['among']['p95_ms']:,.0f} ms: "
              f"{found['slower']:.2f} times as long (goal {SLOWER:g})")
        print("memory: " + ", ".join(f"{name} {mb:,.0f} MB" for name, mb in found["memory_mb"].items())
              + f": {found['grown'] - 1:+.0%} (goal {GROWN - 1:+.0%})")
        print(f"{FORGOTTEN} s after they have left, {found['busy_after']:.0%} of one core is busy")
    raise typer.Exit(not found["goals_met"])


if __name__ == "__main__":
    typer.run(main)

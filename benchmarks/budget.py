"""What users feel, beside its limits.

    python -m benchmarks.budget [--only NAME ...] [--json FILE]

Each figure is a ratio, to a peer or to a fixed piece of work that is timed before and after it, so that a slow machine
changes it little: sums in Python, or a product of matrices in PyTorch. `FIGURES` has the limits. A figure that is over
its limit by more than a fifth is measured again, and is red where it is over both times: the exit status is 1. Without
Chromium what needs a browser is left out. One thread computes.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Annotated

import orjson
import torch
import typer

import transformer
from benchmarks.people import Found, Person, cpu_seconds, total
from tests.raw.client import Server, serving
from transformer.attention_view.heads import Pooled
from transformer.attention_view.message import live
from transformer.attention_view.message_fields import Selection
from transformer.basics.paths import ROOT
from transformer.settings.presets import preset
from transformer.training.trainer import Trainer

ALLOWED = 1.2  # times its limit, beyond which a figure is over
TIMES = 9      # of a piece of work, before a figure and after it
REPEATS = 3
TASK = "reverse"  # of those that are learned while one watches
SMOLLM2 = {"layers": 30, "d_model": 576, "n_heads": 9, "kv_heads": 3, "d_ff": 1536, "vocab_size": 49_152}
SQUARE = torch.ones(512, 512)
PYTHON, PYTORCH, EAGER, RERUN = "sums in Python", "a product in PyTorch", "eager attention", "an empty rerun"


@dataclass(frozen=True)
class Figure:
    """A figure that users feel."""

    what: str
    unit: str
    against: str
    limit: float  # times what it is held against


FIGURES = {
    "step": Figure("a step of Translate, the server's processor", "ms", PYTHON, 2),
    "step-bytes": Figure("the same, on the wire", "kB", "1 kB", 9),
    "step-messages": Figure("the same, messages", "", "one", 12),
    "arrival": Figure("Translate opened, the server's processor", "ms", PYTHON, 11),
    "visit": Figure("a first visit of Home and Translate", "kB", "1 kB", 1_500),
    "draw-128": Figure("a change on Write drawn, 128 tokens", "ms", RERUN, 5.5),
    "draw-1024": Figure("a change on Write drawn, 1,024 tokens", "ms", RERUN, 12),
    "forward-128": Figure("128 tokens read with all weights", "ms", EAGER, 1.6),
    "forward-512": Figure("512 tokens read with all weights", "ms", EAGER, 1.6),
    "generate": Figure("16 tokens written with all weights", "ms", EAGER, 1.2),
    "published": Figure("a published file's first picture", "ms", PYTHON, 150),
    "minute": Figure(f"the task {TASK} trained, from some steps", "ms", PYTORCH, 9_000),
    "opening": Figure("a model of SmolLM2's shape opened", "ms", PYTORCH, 400),
    "first-picture": Figure("its first picture, 60 tokens", "ms", PYTORCH, 150),
    "every-head": Figure("its next step with every head", "ms", PYTORCH, 60),
}
Measured = dict[str, tuple[float, float]]  # name -> measured, and what it is held against


class Left(Exception):
    """Why figures are left out."""


def sums() -> None:
    sum(i * i for i in range(200_000))


def product() -> None:
    SQUARE @ SQUARE


def timed(work: Callable[[], object], clock: Callable[[], float] = process_time) -> float:
    """Milliseconds of something done once."""
    began = clock()
    work()
    return 1_000 * (clock() - began)


@contextmanager
def beside(work: Callable[[], None], clock: Callable[[], float] = process_time) -> Iterator[list[float]]:
    """The milliseconds of a piece of work, before something and after it."""
    taken = [timed(work, clock) for _ in range(TIMES)]
    yield taken
    taken += [timed(work, clock) for _ in range(TIMES)]


def in_turns(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """Median processor milliseconds of two that take turns."""
    taken = [(timed(ours), timed(peer)) for _ in range(REPEATS + 1)][1:]  # the first is a warm-up
    return median(one for one, _ in taken), median(other for _, other in taken)


def app(steps: int = 30, arrivals: int = 5) -> Measured:
    """People on Translate, one after another."""
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        return asyncio.run(visited(server, steps, arrivals))


async def visited(server: Server, steps: int, arrivals: int) -> Measured:
    found, taken = Found(), {"arrival": [], "step": []}

    async def busy(name: str, what: Callable[[], object], count: int) -> None:
        before = total(cpu_seconds, server.pid)
        for _ in range(count):
            await what()
        taken[name].append(1_000 * (total(cpu_seconds, server.pid) - before) / count)

    async with AsyncExitStack() as stack:
        await (person := Person(100, found)).open(server, stack)
        with beside(sums) as pieces:
            for at in range(arrivals):
                await busy("arrival", partial(Person(101 + at, found).open, server, stack), 1)
            await person.step()
            for _ in range(REPEATS):
                await busy("step", person.step, steps)
    if found.errors:
        raise RuntimeError(found.errors[0])
    return {**{name: (median(times), median(pieces)) for name, times in taken.items()},
            "step-bytes": (median(found.sizes) / 1_000, 1.0), "step-messages": (median(found.messages), 1.0)}


def browsers() -> None:
    """Looks for Chromium, and raises `Left` without it."""
    try:
        from benchmarks.draw import executable

        executable()
    except (ImportError, typer.BadParameter) as error:
        raise Left(str(error)) from None


def first_visit() -> Measured:
    browsers()
    from benchmarks import visit

    return {"visit": (sum(row["wire"] for row in visit.measure(list(visit.PAGES))[:-1]) / 1_000, 1.0)}


def drawn(tokens: int) -> Measured:
    """The slowest of the three changes on Write."""
    browsers()
    from benchmarks import draw

    with draw.chromium() as browser:
        taken = draw.live(browser, tokens, REPEATS)
    empty = taken.pop("empty rerun")
    return {f"draw-{tokens}": (max(taken.values()), empty)}


def published() -> Measured:
    browsers()
    from benchmarks.published_page import first_picture
    from transformer.publishing.page import publish

    with TemporaryDirectory() as folder:
        file = publish(ROOT / "checkpoints" / "translate", Path(folder) / "translate.html")
        with beside(sums, perf_counter) as pieces:
            taken = [first_picture(file, Path(folder)) for _ in range(REPEATS)]
    return {"published": (median(taken), median(pieces))}


def minute(few: int = 5, more: int = 40) -> Measured:
    """A quick task, from what some of its steps take; its beginning and end are left out."""
    def run(steps: int) -> None:
        with TemporaryDirectory() as folder:
            Trainer(Path(folder) / "run", config.set({"steps": steps}), device=torch.device("cpu")).run()

    config = preset(TASK)
    run(few)  # a warm-up
    with beside(product) as pieces:
        ends, whole = timed(partial(run, few)), median(timed(partial(run, more)) for _ in range(REPEATS))
    return {"minute": (config.train.steps * (whole - ends) / (more - few), median(pieces))}


@cache
def llama(folder: TemporaryDirectory, **shape: int) -> tuple[Path, torch.nn.Module]:
    """Random weights, as they are imported, and as `transformers` has them."""
    from benchmarks.step import made_llama, transformers

    transformers.logging.disable_progress_bar()
    return made_llama(Path(folder.name), **shape, max_len=600)


@cache
def kept() -> TemporaryDirectory:
    """A folder for the whole run."""
    return TemporaryDirectory()


def read(tokens: int, shape: Mapping[str, int] = SMOLLM2) -> Measured:
    """All weights of a text, ours and theirs."""
    place, theirs = llama(kept(), **shape)
    ckpt = transformer.load(place)
    ids = torch.randint(4, shape["vocab_size"], (tokens,), generator=torch.Generator().manual_seed(2)).tolist()
    text = " ".join(map(str, ids))
    with torch.inference_mode():
        return {f"forward-{tokens}": in_turns(
            lambda: transformer.start(ckpt, text).attentions["decoder"],
            lambda: theirs(torch.tensor([ids]), use_cache=True, output_attentions=True, logits_to_keep=1))}


def written(tokens: int = 16, shape: Mapping[str, int] = SMOLLM2) -> Measured:
    """Tokens with all weights, ours and theirs."""
    from benchmarks.step import Task

    place, theirs = llama(kept(), **shape)
    task = Task(transformer.load(place), theirs, tokens=tokens, source=24)
    return {"generate": in_turns(task.ours_at_the_end, task.loop)}


def opened(shape: Mapping[str, int] = SMOLLM2, tokens: int = 60, steps: int = 5) -> Measured:
    """A model as a page opens it, without the browser."""
    place, _ = llama(kept(), **shape)
    taken: dict[str, list[float]] = {"opening": [], "first-picture": [], "every-head": []}
    text, look = " ".join(str(id) for id in range(10, 10 + tokens)), Selection("decoder", 0, 0)

    def first() -> None:
        nonlocal step, pooled
        step = transformer.start(ckpt, text)
        pooled = Pooled.of(step, "decoder", None)
        live(step, look, pooled)

    def following() -> None:
        nonlocal step, pooled
        step = transformer.next_step(ckpt, step)
        pooled = Pooled.of(step, "decoder", pooled)
        live(step, look, pooled)

    step = pooled = None
    with beside(product) as pieces:
        for _ in range(REPEATS):
            began = process_time()
            ckpt = transformer.load(place)
            taken["opening"].append(1_000 * (process_time() - began))
            taken["first-picture"].append(timed(first))
            taken["every-head"] += [timed(following) for _ in range(steps)]
    return {name: (median(times), median(pieces)) for name, times in taken.items()}


MEASURES: dict[tuple[str, ...], Callable[[], Measured]] = {
    ("step", "step-bytes", "step-messages", "arrival"): app,
    ("visit",): first_visit,
    ("draw-128",): partial(drawn, 128),
    ("draw-1024",): partial(drawn, 1_024),
    ("forward-128",): partial(read, 128),
    ("forward-512",): partial(read, 512),
    ("generate",): written,
    ("published",): published,
    ("minute",): minute,
    ("opening", "first-picture", "every-head"): opened,
}


@dataclass(frozen=True)
class Row:
    """A figure as it was measured."""

    name: str
    measured: float
    calibration: float
    left: str = ""  # why it was not

    @property
    def ratio(self) -> float:
        return self.measured / self.calibration

    @property
    def over(self) -> bool:
        return not self.left and self.ratio > ALLOWED * FIGURES[self.name].limit

    def __str__(self) -> str:
        figure = FIGURES[self.name]
        if self.left:
            return f"{self.name:14} {figure.what:45} left out: {self.left}"
        return (f"{self.name:14} {figure.what:45} {self.measured:9,.1f} {figure.unit:2} {self.calibration:9,.2f} "
                f"{figure.against:20} {self.ratio:9,.2f} {figure.limit:7,g}  {'over' if self.over else 'ok'}")


def rows_of(names: tuple[str, ...], measure: Callable[[], Measured]) -> list[Row]:
    """Figures; those that are over are measured again, and the better counts."""
    try:
        first = {name: Row(name, *found) for name, found in measure().items()}
    except Left as why:
        return [Row(name, 0.0, 1.0, str(why)) for name in names]
    if any(row.over for row in first.values()):
        again = {name: Row(name, *found) for name, found in measure().items()}
        first |= {name: min(row, again[name], key=lambda one: one.ratio) for name, row in first.items() if row.over}
    return [first[name] for name in names]


def main(only: Annotated[list[str], typer.Option(help=f"Of {', '.join(FIGURES)}; again for more.")] = [],  # noqa: B006
         json: Annotated[Path | None, typer.Option(help="A file for the rows.")] = None) -> None:
    """Prints each figure beside its limit; exits with 1 if one is over it twice."""
    if unknown := {*only} - {*FIGURES}:
        raise typer.BadParameter(f"there is no figure {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    began, rows = time.monotonic(), []
    print(f"{'':14} {'what':45} {'measured':>12} {'calibration':>30} {'ratio':>9} {'limit':>7}")
    for names, measure in MEASURES.items():
        if wanted := [name for name in names if not only or name in only]:
            found = [row for row in rows_of(names, measure) if row.name in wanted]
            rows += found
            print(*found, sep="\n", flush=True)
    print(f"{time.monotonic() - began:.0f} s; over is beyond {ALLOWED:g} times the limit, measured twice")
    if json:
        json.write_bytes(orjson.dumps([asdict(row) | {"ratio": row.ratio, "limit": FIGURES[row.name].limit,
                                                      "over": row.over} for row in rows], option=orjson.OPT_INDENT_2))
    sys.exit(any(row.over for row in rows))


if __name__ == "__main__":
    typer.run(main)

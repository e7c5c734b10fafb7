"""How much visitors slow each other down.

    python benchmarks/load.py others [--steps 30] [--rounds 2]
    python benchmarks/load.py room [--phones 200] [--people 50] [--seconds 60] [--workers 2]
    python benchmarks/load.py arrive [--people 100] [--people 40] [--within 1] [--workers 2 | --url URL]
    python benchmarks/load.py people [--people 100] [--seconds 60] [--every 5] [--workers 2 | --url URL]

others: three visitors paste 100,000 characters and three open the heaviest views, while a seventh steps through a
translation. A step lasts from the press of a button to the last message that the server sends for it. Steps alone and
among the others alternate, after one visitor has opened every view, so that everything shared is in memory. The others
wait for each answer, and run at the lowest priority, since browsers would be on other computers. Goals: the median
among the others is at most twice the median alone; a minute after all have left, memory is within 20% of before.

arrive: the first minute of a class. Everybody opens Translate within a second, first with the page's sentence, then
each with their own. Goals for the 95th percentile of the first picture: 5 s for 100 people, 2 s for 40.

people: everybody is on Translate with a sentence of their own and presses an arrow every few seconds on average; the
clock starts when all are there. On a server of one process, of several (--workers), or on one that is already running
(--url; its processor and memory are then unknown). Every answer must contain the visitor's own sentence and nobody
else's. Goals: 95 of 100 steps within a second, no answer mixed up, no errors.

room: a class of phones follows a lecturer who steps every three seconds, while other people step independently; then
all phones vote.
"""

import asyncio
import os
import platform
import random
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from multiprocessing import Event, Process, Value
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.request import urlopen

import orjson
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import people as crowds
from benchmarks.people import Found, Person, cpu_seconds, proportional_mb, resident_mb, spread, total, with_children
from tests.raw.client import Client, Server, serving
from transformer.rooms.room import OPEN, new_key
from transformer.rooms.store import Store
from ui.server.simulated_phones import Phone, PhoneFigures, all_join, all_vote

SLOWER, GROWN = 2.0, 1.2  # goals
P95_MS = 1_000.0
FIRST_MS = 50.0           # for each person, until the first picture
JOIN_S = 10.5             # until all phones have joined that arrive within 10 s
ARRIVE_S, VOTE_S, EVERY_S, PEOPLE_EVERY_S = 10.0, 2.0, 3.0, 5.0
AWAY = 60                 # seconds after everybody has left until memory is read
FORGOTTEN = 5             # seconds until nothing is computed for them any more, and for how long that is watched
TEXT = "The quick brown fox jumps over the lazy dog and sees a red house near the river in the morning"
WORDS = TEXT.lower().split()


def words(count: int, chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count))


def paste(visitor: Client, turn: int, chance: random.Random) -> None:
    """Pastes 100,000 characters and, in turns, the longest passage that is read."""
    if not turn:
        visitor.open("classify")
    text = words(24_000, chance)[:100_000] if turn % 2 == 0 else words(1_000, chance)
    visitor.send(classify_text=("string_value", text))


def views(chance: random.Random) -> list[tuple[str, dict[str, str]]]:
    """The heaviest views, with texts that are new to the server."""
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


def open_view(visitor: Client, turn: int, chance: random.Random) -> None:
    found = views(chance)
    page, address = found[turn % len(found)]
    visitor.open(page, **address)


def keep_at_it(server: Server, number: int, answers: object, leave: object) -> None:
    """Keeps the server busy as one of the six other visitors, in a process of its own, until told to leave."""
    os.nice(19)
    chance, visitor, turn = random.Random(number), Client(server, {}), 0
    while not leave.is_set():
        if number < 3:
            paste(visitor, turn, chance)
        else:
            open_view(visitor, 3 * number + turn, chance)
        turn += 1
        with answers.get_lock():
            answers.value += 1
    visitor.close()


@contextmanager
def others(server: Server, answers: object) -> Iterator[None]:
    """Runs six busy visitors meanwhile, and ends them."""
    leave = Event()
    processes = [Process(target=keep_at_it, args=(server, number, answers, leave), daemon=True) for number in range(6)]
    before = answers.value
    for process in processes:
        process.start()
    try:
        while answers.value < before + 6:  # until each has had an answer
            assert all(process.is_alive() for process in processes), "one of the others has failed"
            time.sleep(0.1)
        yield
    finally:
        leave.set()
        for process in processes:
            process.terminate()
            process.join()


class Stepper:
    """The visitor who is measured."""

    def __init__(self, server: Server):
        self.visitor, self.pressed = Client(server, {}).open("translate", text="I like red wine with my dinner."), 0

    def step(self) -> float:
        """Presses an arrow, forward to the fifth step and back; returns the milliseconds until the answer."""
        self.pressed += 1
        at = self.pressed % 10
        move = {"move": {"index": min(at, 10 - at), "number": self.pressed, "choices": []}}
        began = time.perf_counter()
        self.visitor.send(translate_screen=("json_value", orjson.dumps(move).decode()))
        return 1_000 * (time.perf_counter() - began)


def measure(steps: int, rounds: int, away: int) -> dict[str, object]:
    alone, among, answers = [], [], Value("i", 0)
    with TemporaryDirectory() as folder, serving(Path(folder)) as server:
        cold = total(resident_mb, server.pid)
        chance, first = random.Random(-1), Client(server, {})
        for turn in range(len(views(chance))):
            open_view(first, turn, chance)
        for turn in range(2):
            paste(first, turn, chance)
        first.close()
        time.sleep(away)
        before = total(resident_mb, server.pid)
        for _ in range(rounds):
            for taken in (alone, among):
                if taken is alone:
                    stepper = Stepper(server)
                    taken += [stepper.step() for _ in range(steps + 5)][5:]
                else:
                    with others(server, answers):
                        taken += [stepper.step() for _ in range(steps)]
                        most = total(resident_mb, server.pid)
                    stepper.visitor.close()
        time.sleep(FORGOTTEN)
        busy = total(cpu_seconds, server.pid)
        time.sleep(FORGOTTEN)
        busy = (total(cpu_seconds, server.pid) - busy) / FORGOTTEN
        time.sleep(away)
        after = total(resident_mb, server.pid)
    slower = median(among) / median(alone)
    return {"alone": spread(alone), "among": spread(among), "slower": slower, "answers_to_others": answers.value,
            "memory_mb": {"started": cold, "before": before, "among": most, "after": after},
            "grown": after / before, "busy_after": busy, "goals_met": slower <= SLOWER and after / before <= GROWN,
            "steps": len(alone), "machine": platform.processor() or platform.machine(), "cores": os.cpu_count()}


class Lecturer(Person):
    """The tab that leads the room."""

    async def lead(self, store: Store, room: str) -> None:
        tab = secrets.token_hex(16)
        await self.send(room_bar={"tab": tab})
        store.lead(room, tab)
        await self.send(room_bar={"tab": tab})


async def play(server: Server, phones: int, people: int, seconds: float, scripts: str) -> dict[str, object]:
    """Runs lecturer, phones and other people at once; returns the figures."""
    store, key, met, found = Store(server.home / "rooms.sqlite"), new_key(), PhoneFigures(), Found()
    room = store.open_room(key)
    async with AsyncExitStack() as stack:
        lecturer = Lecturer(1, Found(), f"headsup_room={key}")
        await lecturer.open(server, stack)
        await lecturer.lead(store, room.id)
        others = [Person(100 + number, found) for number in range(people)]
        for at in range(0, people, 10):
            await asyncio.gather(*(one.open(server, stack) for one in others[at:at + 10]))
        phones_ = [Phone(server.url, room.code, met) for _ in range(phones)]
        joined = await all_join(phones_, ARRIVE_S, scripts)
        first, met.later = list(met.first), []
        until, chance, changes = time.perf_counter() + seconds, random.Random(people), {}
        following = [asyncio.create_task(phone.follow(until + 2 * EVERY_S)) for phone in phones_]
        stepping = [asyncio.create_task(one.keep_stepping(PEOPLE_EVERY_S, until, random.Random(chance.random())))
                    for one in others]
        while time.perf_counter() < until:
            began = time.perf_counter()
            await lecturer.step()
            changes[store.rev(room.id)] = began
            await asyncio.sleep(max(0, began + EVERY_S - time.perf_counter()))
        ended = await asyncio.gather(*stepping, return_exceptions=True)
        await asyncio.gather(*following)
        took, late = arrivals(met, changes, phones)
        spec = {"about": "next token", "form": "choice", "ask": "Which?", "choices": ["a", "b", "c", "d"]}
        question = store.ask(room.id, spec, {"right": 0, "values": [1, 0, 0, 0], "said": ""}, {})
        store.set_phase(room.id, question.id, OPEN)
        voted = await all_vote(phones_, question.id, 4, VOTE_S)
        counted = store.answers(room.id, store.question(room.id, question.id), 1)
        for phone in phones_:
            phone.close()
    store.end(room.id)
    found.errors += [repr(one) for one in ended if one is not None] + met.errors + lecturer.found.errors
    return {"phones": phones, "people": people, "seconds": seconds, "joined_s": joined,
            "join": spread([1_000 * one for one in met.joins]),
            "follow": spread([1_000 * one for one in took]), "late": late, "steps_of_lecturer": len(changes),
            "step": spread(found.steps), "steps": len(found.steps),
            "voted_s": voted, "votes": len(counted), "right_counts": sorted(one["value"] for one in counted) == sorted(
                at % 4 for at in range(phones)), "vote": spread([1_000 * one for one in met.votes]),
            "first_bytes": max(first, default=0), "bytes_a_step": sum(met.later) / max(1, len(met.later)),
            "mixed_up": found.mixed, "errors": len(found.errors), "first_error": next(iter(found.errors), None)}


def arrivals(met: PhoneFigures, changes: dict[int, float], phones: int) -> tuple[list[float], int]:
    """Seconds from each press of the lecturer to its revision on each phone; and how many phones skipped a revision."""
    took, late = [], 0
    for rev, began in changes.items():
        there = [when - began for when in met.seen.get(rev, ())]
        took += there
        late += phones - len(there)
    return took, late


def memory_of(server: Server) -> dict[str, float]:
    """MB of all processes of a server: with shared pages counted once (PSS), and for each process (RSS)."""
    return {"rss_mb": total(resident_mb, server.pid), "pss_mb": total(proportional_mb, server.pid)}


def measure_class(server: Server, phones: int, people: int, seconds: float) -> dict[str, object]:
    """Measures one class."""
    with urlopen(f"{server.url}/r") as page:
        script = re.search(r"scripts/([\w.-]+)", page.read().decode())[1]
    load, own, before = os.getloadavg()[0], time.process_time(), memory_of(server)
    found = asyncio.run(play(server, phones, people, seconds, script))
    return found | {"memory_before": before, "memory": memory_of(server), "processes": len(with_children(server.pid)),
                    "own_cpu_s": time.process_time() - own, "load_before": load}


app = typer.Typer(add_completion=False, help="How much visitors slow each other down.")


@app.command("others")
def measure_others(steps: Annotated[int, typer.Option(min=5)] = 30, rounds: Annotated[int, typer.Option(min=1)] = 2,
                   away: Annotated[int, typer.Option(min=0)] = AWAY) -> None:
    """One visitor who steps, alone and among six busy ones; exits with 1 if a goal is missed."""
    found = measure(steps, rounds, away)
    print(f"a step alone: median {found['alone']['median_ms']:,.0f} ms, 95th percentile "
          f"{found['alone']['p95_ms']:,.0f} ms")
    print(f"a step among six others, who got {found['answers_to_others']} answers: median "
          f"{found['among']['median_ms']:,.0f} ms, 95th percentile {found['among']['p95_ms']:,.0f} ms: "
          f"{found['slower']:.2f} times as long (goal {SLOWER:g})")
    print("memory: " + ", ".join(f"{name} {mb:,.0f} MB" for name, mb in found["memory_mb"].items())
          + f": {found['grown'] - 1:+.0%} (goal {GROWN - 1:+.0%})")
    print(f"{FORGOTTEN} s after they have left, {found['busy_after']:.0%} of one core is busy")
    raise typer.Exit(not found["goals_met"])


@app.command("people")
def measure_people(
    people: Annotated[list[int], typer.Option(min=1, help="How many; again for another crowd.")] = (100,),
    seconds: Annotated[float, typer.Option(min=1)] = 60, every: Annotated[float, typer.Option(min=0.1)] = 5,
    workers: Annotated[int, typer.Option(min=0, help="So many processes behind a proxy; 0: one, and none.")] = 0,
    url: Annotated[str, typer.Option(help="A server that runs already.")] = "",
) -> None:
    """A crowd whose people step independently; exits with 1 if a goal is missed."""
    with TemporaryDirectory() as folder, (nullcontext(Server(url.rstrip("/"), Path(folder), 0)) if url else
                                          serving(Path(folder), workers=workers)) as server:
        rows = [crowds.measure(server, count, seconds, every) for count in people]
    met = all(row["step_ms"]["p95_ms"] <= P95_MS and not row["errors"] and not row["mixed_up"] for row in rows)
    for row in rows:
        first, step = row["first_ms"], row["step_ms"]
        print(f"{row['people']} people, {row['steps']} steps in {row['seconds']:g} s: a step "
              f"{step['median_ms']:,.0f} ms, 95th percentile {step['p95_ms']:,.0f} ms (goal {P95_MS:,.0f}); first "
              f"picture {first['median_ms']:,.0f} and {first['p95_ms']:,.0f} ms")
        print(f"  {row['errors']} errors, {row['mixed_up']} mixed up; {row['memory_mb']:,.0f} MB in use, "
              f"{row['resident_mb']:,.0f} MB where each process counts what it shares; a step is "
              f"{row['bytes_a_step'] / 1e3:.1f} kB in {row['messages_a_step']:.0f} messages and "
              f"{row['cpu_ms_a_step']:.1f} ms of the server's processor, {row['server_cpu_s']:.1f} s in all, and of "
              f"the people's {row['own_cpu_s']:.1f} s; load before {row['load_before']:.1f}")
        if row["first_error"]:
            print(f"  first error: {row['first_error']}")
    raise typer.Exit(not met)


@app.command("arrive")
def measure_arrivals(
    people: Annotated[list[int], typer.Option(min=1, help="How many; again for another crowd.")] = (100, 40),
    within: Annotated[float, typer.Option(min=0)] = 1,
    workers: Annotated[int, typer.Option(min=0, help="So many processes behind a proxy; 0: one, and none.")] = 0,
    url: Annotated[str, typer.Option(help="A server that runs already.")] = "",
) -> None:
    """A crowd that opens Translate at once; exits with 1 if a goal is missed."""
    rows = []
    for count in people:
        for own in (False, True):
            with TemporaryDirectory() as folder, (nullcontext(Server(url.rstrip("/"), Path(folder), 0)) if url else
                                                  serving(Path(folder), workers=workers)) as server:
                rows.append(crowds.measure_arrivals(server, count, within, own=own))
    met = all(row["first_ms"]["p95_ms"] <= FIRST_MS * row["people"] and not row["errors"] and not row["mixed_up"]
              for row in rows)
    for row in rows:
        whose, first = "each with their own" if row["own"] else "all with the same", row["first_ms"]
        print(f"{row['people']} people within {row['within']:g} s, {whose} sentence: first picture "
              f"{first['median_ms']:,.0f} ms, 95th percentile {first['p95_ms']:,.0f} (goal "
              f"{FIRST_MS * row['people']:,.0f}); {row['cpu_ms_a_visit']:.0f} ms of the server's processor each; "
              f"{row['errors']} errors, {row['mixed_up']} mixed up; load before {row['load_before']:.1f}")
        if row["first_error"]:
            print(f"  first error: {row['first_error']}")
    raise typer.Exit(not met)


@app.command("room")
def measure_room(
    phones: Annotated[int, typer.Option(min=1)] = 200, people: Annotated[int, typer.Option(min=0)] = 50,
    seconds: Annotated[float, typer.Option(min=6)] = 60,
    workers: Annotated[int, typer.Option(min=0, help="So many processes behind a proxy; 0: one, and none.")] = 2,
) -> None:
    """A class of phones that follow a lecturer, and others who step; exits with 1 if a goal is missed."""
    with TemporaryDirectory() as folder, serving(Path(folder), workers=workers) as server:
        found = measure_class(server, phones, people, seconds)
    met = (found["follow"]["p95_ms"] <= P95_MS and found["step"]["p95_ms"] <= P95_MS and found["joined_s"] <= JOIN_S
           and found["votes"] == phones and found["right_counts"] and not found["errors"] and not found["mixed_up"])
    follow, step, memory_mb = found["follow"], found["step"], found["memory"]
    kept, busy = found["bytes_a_step"] / 1e3, found["processes"]
    print(f"{phones} phones in after {found['joined_s']:.1f} s (goal {JOIN_S:g}), each after "
          f"{found['first_bytes'] / 1e3:.0f} kB; a step of the lecturer's reaches them in "
          f"{follow['median_ms']:,.0f} ms, 95 of 100 in {follow['p95_ms']:,.0f} (goal {P95_MS:,.0f}), in {kept:.1f} kB")
    print(f"  {people} people besides: a step {step['median_ms']:,.0f} ms, 95th percentile {step['p95_ms']:,.0f} (goal "
          f"{P95_MS:,.0f}); {found['votes']} votes in {found['voted_s']:.1f} s, counts right: {found['right_counts']}; "
          f"{found['errors']} errors, {found['mixed_up']} mixed up; {memory_mb['pss_mb']:,.0f} MB in {busy} processes "
          f"({memory_mb['rss_mb']:,.0f} added up); load before {found['load_before']:.1f}")
    if found["first_error"]:
        print(f"  first error: {found['first_error']}")
    raise typer.Exit(not met)


if __name__ == "__main__":
    app()

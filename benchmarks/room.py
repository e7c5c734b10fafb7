"""A class of phones that follow a lecturer who steps, while others step for themselves, all on one server."""

import asyncio
import os
import random
import re
import secrets
import time
from contextlib import AsyncExitStack
from urllib.request import urlopen

from benchmarks.people import Found, Person, spread
from benchmarks.processes import proportional_mb, resident_mb, total, with_children
from tests.raw.client import Server
from transformer.rooms.room import OPEN, new_key
from transformer.rooms.store import Store
from ui.server.simulated_phones import Phone, PhoneFigures, all_join, all_vote

JOIN_S, VOTE_S, EVERY_S, PEOPLE_EVERY_S = 10.0, 2.0, 3.0, 5.0


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
        joined = await all_join(phones_, JOIN_S, scripts)
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


def measure(server: Server, phones: int, people: int, seconds: float) -> dict[str, object]:
    """Measures one class."""
    with urlopen(f"{server.url}/r") as page:
        script = re.search(r"scripts/([\w.-]+)", page.read().decode())[1]
    load, own, before = os.getloadavg()[0], time.process_time(), memory_of(server)
    found = asyncio.run(play(server, phones, people, seconds, script))
    return found | {"memory_before": before, "memory": memory_of(server), "processes": len(with_children(server.pid)),
                    "own_cpu_s": time.process_time() - own, "load_before": load}

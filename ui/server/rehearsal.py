"""A class of phones plays against a running server, an hour before the lesson: they join, follow and vote, and what
they met with is printed. It also warms the server: the first to come to a cold one waits."""

import argparse
import asyncio
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from transformer.basics.formatting import with_stop
from transformer.rooms.room import new_key
from transformer.rooms.store import Store
from ui.server.simulated_phones import Lecturer, Phone, PhoneFigures, all_join

JOIN_S, EVERY_S = 10.0, 3.0
GOALS = {"join": 10.0, "change": 1.0}  # seconds: all are in, 95 of 100 have a change


async def play(url: str, key: str, people: int, seconds: float) -> dict[str, object]:
    """One class. Raises ValueError where the link opens no room, OSError where no server answers."""
    lecturer, met = Lecturer(url, key), PhoneFigures()
    await lecturer.enter()
    phones = [Phone(url, lecturer.code, met) for _ in range(people)]
    joined = await all_join(phones, min(JOIN_S, people / 10))
    until = time.perf_counter() + seconds
    following = [asyncio.create_task(phone.follow(until)) for phone in phones]
    task, changes, at = (await lecturer.state())["task"], {}, 0
    while time.perf_counter() + EVERY_S < until:
        await asyncio.sleep(EVERY_S)
        at += 1
        began = time.perf_counter()
        await lecturer.do("task", task=f"Rehearsal, change {at}" if at % 2 else "")
        changes[(await lecturer.state())["rev"]] = began
    await asyncio.gather(*following)
    await lecturer.do("task", task=task)  # as the lecturer had it
    took = [seen - began for rev, began in changes.items() for seen in met.seen.get(rev, ())]
    missed = len(changes) * people - len(took)
    voted = counted = None
    if (await lecturer.state()).get("view"):
        question = await lecturer.do("ask", about="text", open=True)
        began = time.perf_counter()
        await asyncio.gather(*(phone.vote(question["question"], f"answer {at}") for at, phone in enumerate(phones)))
        voted, counted = time.perf_counter() - began, (await lecturer.state())["answered"]
        await lecturer.do("put away")
    for phone in phones:
        await phone.wire.ask("POST", f"/r/{lecturer.code}/forget", {})
        phone.close()
    return {"people": people, "joined_s": joined, "join_s": spread(met.joins), "change_s": spread(took),
            "missed": missed, "voted_s": voted, "counted": counted, "errors": len(met.errors),
            "first_error": next(iter(met.errors), None)}


def spread(taken: list[float]) -> dict[str, float]:
    return {"median": median(taken) if taken else 0.0,
            "p95": quantiles(taken, n=20, method="inclusive")[-1] if len(taken) > 1 else sum(taken)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="headsup rehearse", description="A class of phones plays against a running "
                                     "server: they join, follow, and vote.")
    parser.add_argument("link", help="the lecturer's link of a room (http://…/lead#…), or the address of a server on "
                        "this computer, which then opens a room for the rehearsal")
    parser.add_argument("--people", type=int, default=60, help="how many phones; 60 if not given")
    parser.add_argument("--seconds", type=float, default=30, help="how long they follow; 30 if not given")
    args = parser.parse_args()
    parts = urlsplit(args.link if "://" in args.link else f"http://{args.link}")
    if not parts.hostname or not 1 <= args.people <= 1_000 or not 4 <= args.seconds <= 3_600:
        parser.error("give a link or an address, 1 to 1,000 phones and 4 to 3,600 seconds")
    url, key, own = f"{parts.scheme}://{parts.netloc}", parts.fragment, None
    room = None
    try:
        if not key:
            key, own = new_key(), Store()
            room = own.open_room(key)
            own.lead(room.id, "rehearsal")
            view = {"page": "translate", "params": {"text": "I like red wine."}, "title": "Translate"}
            own.publish(room.id, view, None, "rehearsal")
        result = asyncio.run(play(url, key, args.people, args.seconds))
    except ValueError as error:
        hint = "" if parts.fragment else " Does the server use another HEADSUP_HOME?"
        sys.exit(f"{with_stop(error)}{hint}")
    except OSError as error:
        sys.exit(f"No server answers at {url}: {with_stop(error)}")
    finally:
        if own and room:
            own.end(room.id)
    tell(result)


def tell(result: dict) -> None:
    """Print what was met with; end with 1 where a class would have noticed."""
    join, change = result["join_s"], result["change_s"]
    print(f"{result['people']} phones were in after {result['joined_s']:.1f} s; each took {join['median']:.2f} s, 95 "
          f"of 100 at most {join['p95']:.2f}.")
    print(f"A change reached half of them in {change['median']:.2f} s and 95 of 100 in {change['p95']:.2f}; "
          f"{result['missed']} saw one late, with the next.")
    if result["voted_s"] is not None:
        print(f"All voted in {result['voted_s']:.1f} s, and {result['counted']} votes count.")
    if result["errors"]:
        print(f"{result['errors']} errors; the first: {result['first_error']}")
    good = (not result["errors"] and change["p95"] <= GOALS["change"] and result["joined_s"] <= 2 * GOALS["join"]
            and result["counted"] in (None, result["people"]))
    print("Ready for class." if good else "Not ready: see docs/serving.md, A class of two hundred.")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

"""Half an hour of a class: twenty visitors who come, look, step, upload and leave, and the memory of the app meanwhile.

HEADSUP_SOAK_MINUTES names another length, for a look in between.
"""

import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.raw.client import Client, serving
from ui.access import visitors
from ui.page.pages import PAGES

MINUTES = float(os.environ.get("HEADSUP_SOAK_MINUTES") or 30)
SETTLED = min(5.0, MINUTES / 4)  # minutes until every page and model has been opened
VISITORS, GROWTH = 20, 1.1
PAUSE = 4.0  # seconds between two things that one visitor does
UPLOAD = 2_000_000  # bytes of a corpus
WORDS = ["I", "like", "red", "wine", "we", "go", "home", "before", "it", "gets", "dark", "she", "is", "not", "tall"]
OPENED = ["", *PAGES, "translate", "translate"]

pytestmark = [pytest.mark.faults, pytest.mark.timeout(60 * MINUTES + 900),
              pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")]


def words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 12)))


def visit(server, number: int, done: Event) -> int:
    """One seat of the class: whoever sits there stays for some things, leaves, and another comes."""
    chance, did = random.Random(number), 0
    while not done.is_set():
        visitor = Client(server, {visitors.VISITOR: f"visitor {number} {did}"})
        try:
            for _ in range(chance.randint(5, 15)):
                page = chance.choice(OPENED)
                address = {"text": words(chance), "step": str(chance.randint(0, 6))} if page in (
                    "translate", "write", "classify") else {}
                if page == "heads":
                    address = {"view": chance.choice(["lens", "direct", "switch"]), "text": words(chance)}
                if page == "train":
                    address = {"view": chance.choice(["watch", "now", "new"])}
                visitor.open(page, **address)
                if address.get("view") == "new" and chance.random() < 0.5:
                    upload(visitor, chance)
                did += 1
                if done.wait(chance.uniform(0.5, 1.5) * PAUSE):
                    break
        finally:
            visitor.close()
    return did


def upload(visitor: Client, chance: random.Random) -> None:
    """A corpus, of which the server keeps one copy on the disk and none in memory."""
    visitor.send(**{"train_translation_corpus_way": ("string_array_value", ["Upload"])})
    name = next((key for key in visitor.ids if key.startswith("train_translation_corpus_file_")), None)
    if name is not None:
        lines = "".join(f"{number} {words(chance)}\t{words(chance)}\n" for number in range(UPLOAD // 100))
        visitor.upload(name, "mine.tsv", lines.encode())


def resident(pid: int) -> int:
    """MB in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) // 1_000


def test_half_an_hour_of_twenty_visitors_takes_no_more_memory(tmp_path):
    done, seen = Event(), []
    with serving(tmp_path) as server, ThreadPoolExecutor(VISITORS) as class_room:
        (server.home / "others-may-start").write_text("yes")
        seats = [class_room.submit(visit, server, number, done) for number in range(VISITORS)]
        try:
            began = time.monotonic()
            while (minutes := (time.monotonic() - began) / 60) < MINUTES:
                done.wait(min(30, 2 * MINUTES))
                assert all(not seat.done() for seat in seats), [seat.exception() for seat in seats if seat.done()]
                seen.append((minutes, resident(server.pid)))
                print(f"{minutes:5.1f} min {seen[-1][1]:,} MB", flush=True)
        finally:
            done.set()
        did = sum(seat.result() for seat in seats)
        uploaded = len(list((server.home / "uploads" / "corpora").glob("*/*")))
    settled = max(memory for minutes, memory in seen if minutes <= SETTLED)
    most = max(memory for minutes, memory in seen if minutes > SETTLED)
    print(f"{did:,} things done, {uploaded:,} corpora uploaded; {settled:,} MB in the first {SETTLED:g} minutes, "
          f"{most:,} MB at most after")
    assert did > VISITORS
    assert uploaded
    assert most <= GROWTH * settled

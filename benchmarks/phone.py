"""What a telephone's browser needs: Home, Translate and twenty steps at 360 x 740, in memory and in bytes.

    python benchmarks/phone.py [--json] [--steps 20] [--most-mb 1000]

Memory is the proportional set size (PSS) of Chromium's processes, by the kernel, at its highest of one look after each
page and step; pages that processes share are divided among them. The heap is what the page's scripts hold after a
collection. Bytes are counted on the wire, as in visit.py, from the step asked for to a second of quiet: a step takes
its messages, its picture and its address. Goals: 1 GB for the browser in all, and 50 kB a step at most.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import psutil
import typer
from playwright.sync_api import CDPSession, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import IDLE, chromium
from benchmarks.processes import proportional_mb, with_children
from benchmarks.visit import QUIET_MS, Forwarder, forwarding
from tests.raw.client import serving

SIZE = {"width": 360, "height": 740}
STEP_GOAL = 50_000  # bytes on the wire, the largest step
TEXT = "She told me that she was going to the old house near the river with her brother."


def browser_memory(pid: int) -> dict[str, float]:
    """MB by kind of Chromium process among the descendants of a process: renderer, gpu-process, browser ..."""
    sizes: dict[str, float] = {}
    for process in with_children(pid):
        try:
            command, size = process.cmdline(), proportional_mb(process)
        except psutil.NoSuchProcess:
            continue
        if not command or "chrom" not in command[0]:
            continue  # Playwright's own
        kind = next((part.removeprefix("--type=") for part in command if part.startswith("--type=")), "browser")
        sizes[kind] = sizes.get(kind, 0.0) + size
    return sizes


def quiet(page: Page, forwarder: Forwarder) -> None:
    """Waits until the script has ended and no bytes have passed for a second."""
    passed = -1
    while forwarder.passed != passed:
        passed = forwarder.passed
        page.wait_for_function(IDLE, timeout=120_000)
        page.wait_for_timeout(QUIET_MS)


def heap(tab: CDPSession) -> int:
    tab.send("HeapProfiler.collectGarbage")
    return int(tab.send("Runtime.getHeapUsage")["usedSize"])


def measure(steps: int) -> dict[str, object]:
    with TemporaryDirectory() as folder, serving(Path(folder)) as server, forwarding(server.url) as (forwarder, url), \
            chromium() as browser:
        page = browser.new_context(viewport=SIZE, device_scale_factor=2, has_touch=True, is_mobile=True).new_page()
        tab = page.context.new_cdp_session(page)
        highest: dict[str, float] = {}
        sizes, heaps = [], {}

        def look() -> None:
            nonlocal highest
            now = browser_memory(os.getpid())
            highest = max(highest, now, key=lambda one: sum(one.values()))

        page.goto(url)
        quiet(page, forwarder)
        look()
        heaps["home"] = heap(tab)
        page.goto(f"{url}/translate?text={TEXT.replace(' ', '+')}&step=0")
        quiet(page, forwarder)
        look()
        heaps["translate"] = heap(tab)
        for _ in range(steps):
            before = forwarder.passed
            page.locator('[data-action="step"]').tap()
            quiet(page, forwarder)
            sizes.append(forwarder.passed - before)
            look()
        heaps["after the steps"] = heap(tab)
        return {"pss": highest, "heap": heaps, "step_bytes": sizes}


def main(steps: int = 20, most_mb: Annotated[int, typer.Option(help="Of the browser in all.")] = 1000,
         json: bool = False) -> None:
    """Measures and prints; exits with 1 if a goal is missed."""
    found = measure(steps)
    memory, largest = sum(found["pss"].values()), max(found["step_bytes"])
    met = memory <= most_mb and largest <= STEP_GOAL
    if json:
        print(orjson.dumps({"benchmark": "phone", **found, "memory": memory, "largest_step": largest,
                            "goal_met": met}).decode())
    else:
        parts = ", ".join(f"{kind} {size:.0f}" for kind, size in sorted(found["pss"].items()))
        print(f"memory: {memory:.0f} MB of PSS in all ({parts}; goal {most_mb})")
        print("heap:", ", ".join(f"{where} {size / 1e6:.1f} MB" for where, size in found["heap"].items()))
        print(f"a step: {sum(found['step_bytes']) / steps / 1e3:.1f} kB on the wire, at most {largest / 1e3:.1f} "
              f"(goal {STEP_GOAL / 1e3:g})")
    raise typer.Exit(not met)


if __name__ == "__main__":
    typer.run(main)

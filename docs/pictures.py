"""Photographs the pages for the README: `python docs/pictures.py [page ...]`, with Playwright and Chromium installed.

Writes docs/stepping.gif, docs/pages/<page>.png, the same page dark, presented and on a phone in <page>-more.png and,
wall beside phone, docs/pages/room.png from the app of this clone, served on a free port with an empty home. Of pages
that are named it writes the pictures alone.
"""

import os
import re
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from shutil import which

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from ui.page.pages import EVERY_PAGE

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 1280, "height": 720}
TRANSLATE = "translate?text=I+like+red+wine.&step=4&kind=cross&layer=1&head=0"
# page -> what is looked at there
LOOKED_AT = {"home": "", "translate": TRANSLATE, "train": "train?run=checkpoints/translate"}
MORE = {"dark": {"viewport": SIZE, "color_scheme": "dark"}, "presented": {"viewport": SIZE},
        "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}}
HIGH, APART = 360, 8  # px, of the pictures beside one another
KEYS_ARE_NAMED = 7_500  # ms, of what is presented
WALL, PHONE = {"width": 900, "height": 720}, {"width": 380, "height": 720}
VOTES = (0, 3, 3, 3, 2)
STEPPING = "translate?text=I+like+red+wine.&step=0&kind=cross&layer=1&head=0&present=1"
STEPS = 7
QUIET = """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-testid="stSkeleton"], [data-testid="stSpinner"]')"""


def settle(page: Page) -> None:
    page.wait_for_function(QUIET, timeout=120_000)
    page.wait_for_timeout(1_500)  # charts paint after the script has ended


def picture(page: Page, width: int) -> Image.Image:
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    return image.resize((width, width * image.height // image.width), Image.Resampling.LANCZOS)


def stepping(page: Page, url: str) -> None:
    """The film of a decoding."""
    page.goto(url + STEPPING)
    settle(page)
    page.mouse.click(5, 400)  # the keys go to the page and not to a field
    frames = [picture(page, 960)]
    for _ in range(STEPS):
        page.keyboard.press("ArrowRight")
        settle(page)
        frames.append(picture(page, 960))
    palette = frames[-1].quantize(128)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(ROOT / "docs" / "stepping.gif", save_all=True, append_images=frames[1:], loop=0,
                   duration=[1_000] * STEPS + [3_000])


def photograph(browser: Browser, url: str, name: str) -> None:
    """A page as it opens and, beside one another, dark, presented and on a phone."""
    address, looks = url + LOOKED_AT.get(name, name), []
    if name != "room":
        page = opened(browser, address, viewport=SIZE)
        picture(page, 640).quantize(192).save(path_of(name), optimize=True)
        page.context.close()
    for look, how in MORE.items():
        presented = f"{address}{'&' if '?' in address else '?'}present=1"
        page = opened(browser, presented if look == "presented" else address, **how)
        if look == "presented":
            page.wait_for_timeout(KEYS_ARE_NAMED)
        size = page.viewport_size
        looks.append(picture(page, HIGH * size["width"] // size["height"]))
        page.context.close()
    beside = Image.new("RGB", (sum(one.width + APART for one in looks) - APART, HIGH), "#999")
    for at, one in enumerate(looks):
        beside.paste(one, (sum(other.width + APART for other in looks[:at]), 0))
    beside.quantize(192).save(path_of(f"{name}-more"), optimize=True)


def opened(browser: Browser, address: str, **how: object) -> Page:
    page = browser.new_context(**how).new_page()
    page.goto(address)
    settle(page)
    return page


def path_of(name: str) -> Path:
    return ROOT / "docs" / "pages" / f"{name}.png"


def room(browser: Browser, url: str) -> None:
    """A question in a room of a few phones, its answer shown."""
    lecturer = browser.new_page(viewport=SIZE)
    lecturer.goto(f"{url}room")
    lecturer.get_by_role("button", name="Open a room").click()
    bar = lecturer.locator(".room-bar").first
    code = bar.locator(".code").inner_text()
    wall = browser.new_page(viewport=WALL)
    wall.goto(f"{url}room?wall={code}")
    phones = [browser.new_context(viewport=PHONE).new_page() for _ in VOTES]
    for phone in phones:
        phone.goto(f"{url}r/{code}")
    lecturer.goto(url + TRANSLATE)
    settle(lecturer)
    bar.get_by_role("button", name="Ask…").click()
    bar.locator("[data-act=cell]").click()
    bar.get_by_role("radio", name="Open").click()
    for phone, choice in zip(phones, VOTES, strict=True):
        phone.locator("button.choice").nth(choice).click()
    bar.get_by_role("radio", name="Answer").click()
    wall.get_by_text("✓ right").first.wait_for()
    phones[1].get_by_text("✓ right").first.wait_for()
    settle(wall)
    both = Image.new("RGB", (SIZE["width"], SIZE["height"]), "white")
    both.paste(Image.open(BytesIO(wall.screenshot())), (0, 0))
    both.paste(Image.open(BytesIO(phones[1].screenshot())), (WALL["width"], 0))
    both.paste("#999", (WALL["width"], 0, WALL["width"] + 1, SIZE["height"]))
    both.resize((640, 360), Image.Resampling.LANCZOS).quantize(192).save(path_of("room"), optimize=True)


def main() -> None:
    wanted = set(sys.argv[1:])
    if wanted - EVERY_PAGE.keys():
        sys.exit(f"no such page: {', '.join(sorted(wanted - EVERY_PAGE.keys()))}; there are {', '.join(EVERY_PAGE)}")
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "ui/server/serve.py", "--port", "0"]
        server = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"HEADSUP_HOME": home}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        try:
            url = next(match[0] for line in server.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+", line)))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
                if not wanted:
                    stepping(browser.new_page(viewport=SIZE), f"{url}/")
                names = wanted or set(EVERY_PAGE)
                for name in sorted(names):
                    photograph(browser, f"{url}/", name)
                if "room" in names:
                    room(browser, f"{url}/")
                browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main()

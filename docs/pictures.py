"""Photographs the pages for the README: `python docs/pictures.py [page ...]`, with Playwright and Chromium installed.

Writes docs/stepping.gif, docs/pages/<page>.png and, wall beside phone, docs/pages/room.png from the app of this clone,
served on a free port with an empty home. Of pages that are named it writes the pictures alone.
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

from ui.page.pages import PAGES

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 1280, "height": 720}
TRANSLATE = "translate?text=I+like+red+wine.&step=4&kind=cross&layer=1&head=0"
LOOKED_AT = {"translate": TRANSLATE, "train": "train?run=checkpoints/translate"}  # page -> what is looked at there
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


def photograph(page: Page, url: str, names: set[str]) -> None:
    for name in names:
        page.goto(url + LOOKED_AT.get(name, name))
        settle(page)
        picture(page, 640).quantize(192).save(ROOT / "docs" / "pages" / f"{name}.png", optimize=True)


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
    both.resize((640, 360), Image.Resampling.LANCZOS).quantize(192).save(ROOT / "docs" / "pages" / "room.png",
                                                                       optimize=True)


def main() -> None:
    wanted = set(sys.argv[1:])
    if wanted - PAGES.keys():
        sys.exit(f"no such page: {', '.join(sorted(wanted - PAGES.keys()))}; there are {', '.join(PAGES)}")
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
                names = wanted or set(PAGES)
                photograph(browser.new_page(viewport=SIZE), f"{url}/", names - {"room"})
                if "room" in names:
                    room(browser, f"{url}/")
                browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main()

"""The pages that are not Streamlit's: of a phone in a room, and of a lecturer's remote. Each is a few lines, one script
that every phone fetches once, and what the room is told."""

from functools import cache
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ui.components.scripts import HERE, kept_script
from ui.server.compression import Kept

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>{title} · Heads Up</title>
<link rel="icon" href="{up}favicon.png"><style>:root {{ color-scheme: light dark }}</style></head>
<body><main class="{face}"><noscript>This page needs JavaScript.</noscript></main>
<script type="module" src="{up}scripts/{script}"></script></body></html>
"""
PAGES = {"/r": ("phone", "Join", "./"), "/r/{code}": ("phone", "Room", "../"), "/lead": ("remote", "Remote", "./")}


def entry(face: str) -> Path:
    """The module of a page."""
    return HERE / "room" / f"{face}.js"


@cache
def _kept(path: str) -> Kept:
    face, title, up = PAGES[path]
    page = _PAGE.format(title=title, face=face, up=up, script=kept_script(face, entry(face)))
    return Kept(page, "text/html", "no-cache")


def pages() -> list[Route]:
    """Their routes; the scripts are kept with those of the components."""
    def route(path: str) -> Route:
        _kept(path)

        async def page(request: Request) -> Response:
            code = request.path_params.get("code", "")
            if code != code.upper():  # a proxy sends all of a room to one worker, by its code as it is written
                return RedirectResponse(f"./{quote(code.upper())}", 303)
            return _kept(path).answer(request)

        return Route(path, page)

    return [route(path) for path in PAGES]

"""Streamlit's page, told where its server is: on a link to a page it would first look below that page."""

import base64
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from transformer.places import ROOT

_TELLS = "<script>window.__streamlit = { BACKEND_BASE_URL: location.origin }</script>"
_PAGE = (Path(get_static_dir()) / "index.html").read_text("utf-8").replace("<head>", f"<head>{_TELLS}", 1)


def hashes(page: str) -> str:
    """How a content security policy allows the scripts that are written into a page."""
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
                    for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL))


SCRIPT_HASHES = hashes(_PAGE)


async def _index(request: Request) -> HTMLResponse:
    return HTMLResponse(_PAGE, headers={"Cache-Control": "no-cache"})


def routes() -> list[Route]:
    """One for the front page and one for every other."""
    return [Route(path, _index) for path in ("/", *(f"/{page.stem}" for page in (ROOT / "pages").glob("*.py")))]

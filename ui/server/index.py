"""Streamlit's page, told where its server is: on a link to a page it would first look below that page."""

import base64
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from transformer.places import ROOT
from ui.server.packing import Kept

_TELLS = "<script>window.__streamlit = { BACKEND_BASE_URL: location.origin }</script>"
_PAGE = (Path(get_static_dir()) / "index.html").read_text("utf-8").replace("<head>", f"<head>{_TELLS}", 1)


def hashes(page: str) -> str:
    """How a content security policy allows the scripts that are written into a page."""
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
                    for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL))


SCRIPT_HASHES = hashes(_PAGE)


_kept = Kept(_PAGE, "text/html", "no-cache")  # without a tag: whoever has no cookie is given one with a whole page


async def _index(request: Request) -> Response:
    return _kept.answer(request)


def routes() -> list[Route]:
    """One for the front page and one for every other."""
    return [Route(path, _index) for path in ("/", *(f"/{page.stem}" for page in (ROOT / "pages").glob("*.py")))]

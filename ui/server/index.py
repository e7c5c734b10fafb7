"""Streamlit's page, told where its server is: on a link to a page it would first look below that page."""

import base64
import hashlib
import re
from pathlib import Path

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from ui.server.compression import Kept

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


class _Name(StringConvertor):
    regex = r"[\w-]+"


register_url_convertor("name", _Name())


def routes() -> list[Route]:
    """For the front page and whatever may be the name of another, which comes after all other routes: Streamlit says
    that there is no such page, and whatever else it may answer under such a name is never asked."""
    return [Route("/", _index), Route("/{page:name}", _index)]

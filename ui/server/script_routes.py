"""The components' scripts, and the font of pages without Streamlit, each under an address with a hash of it: a
browser asks for it once."""

from functools import cache

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ui.components.scripts import scripts
from ui.server.compression import FOREVER, Kept

TYPES = {"js": "text/javascript", "woff2": "font/woff2"}


def routes() -> list[Route]:
    """One for all of them."""
    @cache
    def kept(name: str) -> Kept:
        return Kept(scripts[name], TYPES[name.rpartition(".")[2]], FOREVER)

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        return kept(name).answer(request) if name in scripts else PlainTextResponse("Not Found", 404)

    return [Route("/scripts/{name}", script)]

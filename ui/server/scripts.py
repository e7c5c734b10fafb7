"""The components' scripts, each under an address with a hash of it: a browser asks for it once."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ui.components.scripts import scripts


def routes() -> list[Route]:
    """One for all of them."""
    async def script(request: Request) -> Response:
        text = scripts.get(request.path_params["name"])
        if text is None:
            return PlainTextResponse("Not Found", 404)
        return Response(text, media_type="text/javascript",
                        headers={"Cache-Control": "public, max-age=31536000, immutable"})

    return [Route("/scripts/{name}", script)]

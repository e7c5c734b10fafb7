"""What does not change goes out packed: once for all visitors, and never again to a browser that has kept it.

Streamlit packs answers to single requests itself, but neither its own scripts, which are most of a first visit, nor the
front page: it would do so anew each time.
"""

import gzip
import re
import threading
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

FOREVER = "public, max-age=31536000, immutable"  # under addresses that name their content
LIGHTER = Path(__file__).parent / "lighter"  # what goes out in place of Streamlit's files of the same names
LEAST = 500  # bytes; fewer are not worth it
TEXTUAL = re.compile(r"text/|application/(javascript|json|manifest\+json|xml)|image/svg\+xml")
FILE = re.compile(r"/static/(\w+/)?\w[\w.-]*", re.ASCII)
ACCEPTED = re.compile(r"\s*([\w*-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?")


def takes_gzip(accepted: str) -> bool:
    """Whether a browser that says this in Accept-Encoding reads gzip. What cannot be read counts as not said."""
    qualities = {coding[1].lower(): float(coding[2] or 1) for part in accepted.split(",")
             if (coding := ACCEPTED.fullmatch(part))}
    return max(qualities.get("gzip", qualities.get("*", 0)), qualities.get("x-gzip", 0)) > 0


def packed(content: bytes, media_type: str) -> bytes | None:
    """The content as gzip; None where that gains nothing."""
    if len(content) < LEAST or not TEXTUAL.match(media_type):
        return None
    smaller = gzip.compress(content, mtime=0)
    return smaller if len(smaller) < len(content) else None


class Kept:
    """What does not change while the server runs."""

    def __init__(self, content: str | bytes, media_type: str, cache: str) -> None:
        self._plain, self._type = content.encode() if isinstance(content, str) else content, media_type
        self._packed, self._headers = packed(self._plain, media_type), {"Cache-Control": cache}

    def answer(self, request: Request) -> Response:
        """Packed where the browser takes it."""
        headers = dict(self._headers)
        if self._packed is None:
            return Response(self._plain, media_type=self._type, headers=headers)
        headers["Vary"] = "Accept-Encoding"
        if not takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(self._plain, media_type=self._type, headers=headers)
        return Response(self._packed, media_type=self._type, headers=headers | {"Content-Encoding": "gzip"})


class CompressedFiles(StaticFiles):
    """A folder of files whose names change with their content. Each is packed when it is first asked for; a range is
    one of the file as it is."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory, follow_symlink=True)
        self.all_directories = [LIGHTER, directory]
        self._packed: dict[tuple[str, str], bytes | None] = {}  # (path, tag) -> what goes out
        self._packing = threading.Lock()  # a hundred browsers that come at once wait for one packing

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers.update({"Cache-Control": FOREVER, "Vary": "Accept-Encoding"})
        sent = Headers(scope=scope)
        if not isinstance(answer, FileResponse) or "range" in sent or not takes_gzip(sent.get("accept-encoding", "")):
            return answer
        content = await self._pack(answer)
        if content is None:
            return answer
        headers = MutableHeaders(raw=[pair for pair in answer.raw_headers
                                      if pair[0] not in (b"content-length", b"accept-ranges")])
        headers["etag"], headers["content-encoding"] = f'{answer.headers["etag"][:-1]}-gzip"', "gzip"
        return NotModifiedResponse(headers) if self.is_not_modified(headers, sent) else Response(
            content, headers=dict(headers))

    async def _pack(self, answer: FileResponse) -> bytes | None:
        key = str(answer.path), answer.headers["etag"]

        def pack() -> bytes | None:
            with self._packing:
                if key not in self._packed:
                    self._packed[key] = packed(Path(answer.path).read_bytes(), answer.media_type or "")
                return self._packed[key]

        return self._packed[key] if key in self._packed else await anyio.to_thread.run_sync(pack)


class Compression:
    """ASGI middleware: Streamlit's own scripts, styles, fonts and pictures, as Streamlit would send them, but packed;
    whatever is not found among them is Streamlit's to answer. In all other requests Accept-Encoding says either gzip or
    nothing, for Streamlit looks for the word alone, which also stands in `gzip;q=0`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.files = app, CompressedFiles(Path(get_static_dir()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        accepted = ",".join(Headers(scope=scope).getlist("accept-encoding"))
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}
        if takes_gzip(accepted):
            scope["headers"].append((b"accept-encoding", b"gzip"))
        if FILE.fullmatch(scope["path"]):
            with suppress(HTTPException):
                answer = await self.files.get_response(self.files.get_path(scope), scope)
                return await answer(scope, receive, send)
        await self.app(scope, receive, send)

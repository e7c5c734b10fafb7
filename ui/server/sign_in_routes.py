"""Two pages that are not Streamlit's, because only an answer to a request gives a browser a cookie that no script
reads: the teacher's way in, and the way of one's key into another browser."""

import logging
from collections.abc import Callable
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from transformer.basics.design import document_style
from ui.access import accounts, visitors
from ui.server.middleware import A_YEAR, set_cookie

LONGEST = 1_000  # bytes of what is sent to either page
_log = logging.getLogger(__name__)

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Heads Up</title><link rel="icon" href="./favicon.png">
<style>{style} body {{ font-size: var(--large); line-height: 1.5; max-width: 34rem;
margin: 4rem auto; padding: 0 1rem }} input, button {{ font: inherit; padding: .3rem .6rem }}
.button {{ display: inline-block; padding: .4rem 1rem; border: 1px solid; border-radius: var(--radius) }}</style></head>
<body><main><h1>{title}</h1>{body}</main></body></html>"""

_TEACHER = """<p id="said" role="status">To sign in, open the link that the server printed.</p>
<form method="post"><button name="out" value="1">Sign out</button></form>
<p><a href="./train">Back to Train</a></p>
<script src="./teacher.js"></script>"""
# What follows the # is never sent by the browser, and the code is gone from the bar before it is used. It leads back to
# the page that this browser was at last, which may have asked for the teacher.
_SCRIPT = """let page = null;
try { page = localStorage.getItem("headsup-page"); } catch { /* this browser keeps nothing */ }
const there = page === "home" ? "./" : `./${/^[a-z_]{1,20}$/.test(page ?? "") ? page : "train"}`;
const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname);
  const said = document.getElementById("said");
  said.textContent = "Signing in…";
  fetch(location.pathname, { method: "POST", body: new URLSearchParams({ code }) }).then(async (answer) => {
    if (answer.ok) location.replace(there); else said.textContent = await answer.text();
  });
}
"""
_MOVE = """<p>This makes the runs that you started in another browser yours in this one too. There, open <b>Train</b>,
choose <b>All runs</b>, and ask for a code under <b>My runs in another browser</b>.</p>
<p><b>It replaces the key that this browser keeps:</b> runs that were started from here are then no longer yours, unless
their key is kept somewhere else.</p>
{refused}<form method="post" autocomplete="off"><label>Code <input name="code" required maxlength="20" autofocus
placeholder="ABCDE-FGHJK"></label> <button>Replace the key of this browser</button></form>
<p><a href="./train">Back to Train</a></p>"""


def routes(link: "TeachersLink") -> list[Route]:
    """The two pages, for a server whose teacher comes by that link."""
    async def script(request: Request) -> Response:
        return Response(_SCRIPT, media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    return [Route("/teacher", _page("The teacher", _TEACHER)), Route("/teacher", link.enter, methods=["POST"]),
            Route("/teacher.js", script), Route("/move", _page("My runs in this browser", _MOVE.format(refused=""))),
            Route("/move", _move, methods=["POST"])]


class TeachersLink:
    """The link that signs the teacher in: once, so that it opens nothing to who finds it in a history or a log.
    The next one is printed then. What it opens with is kept as a digest, for all processes of this server."""

    def __init__(self, url: str = "") -> None:
        self.url = url

    def print_at(self, url: str) -> None:
        """Print a new link to the server at this address; the one that it printed before is void. Raises OSError."""
        self.url = url
        self._print(visitors.teachers_code())

    def _print(self, code: str) -> None:
        print(f"Teacher: {self.url}/teacher#{code} signs in one browser, which then controls every run.", flush=True)

    async def enter(self, request: Request) -> Response:
        """Sign in with the code of the link, or out."""
        sent = await _sent(request)
        if "out" in sent:
            response = RedirectResponse("./train", 303)
            sign_teacher_out(request, response)
            return response
        try:
            cookie, following = visitors.teacher_cookie(), visitors.use_teachers_code(sent.get("code", ""))
        except OSError as error:
            _log.error("The teacher's sign-in cannot be written down: %s", error)
            return PlainTextResponse("The server cannot write to its disk: it is full or read-only. This link will "
                                     "work once it can be written to.", 503)
        if following is None:
            return PlainTextResponse("This link has been used or is out of date. The server has printed a new one.",
                                     403)
        self._print(following)
        response = Response(status_code=204)
        set_cookie(response, request.scope, visitors.TEACHER, cookie, seconds=visitors.TEACHER_SECONDS,
                   same_site="strict")
        return response


def sign_teacher_out(request: Request, response: Response) -> None:
    """End the teacher's sign-in that this request comes with, wherever its cookie has been copied to."""
    accounts.end_sign_in(visitors.teachers_sign_in(request.cookies) or "")
    set_cookie(response, request.scope, visitors.TEACHER, "", seconds=0, same_site="strict")


async def _move(request: Request) -> Response:
    code = (await _sent(request)).get("code", "")
    key = visitors.take_moved(code)
    if key is None:
        refused = (f"<p role='alert'>{escape(code[:20])} is not a code, or has expired: each works once, within five "
                   f"minutes.</p>")
        return html("My runs in this browser", _MOVE.format(refused=refused), 403)
    response = RedirectResponse("./train?view=runs", 303)
    set_cookie(response, request.scope, visitors.VISITOR, visitors.signed(key), seconds=A_YEAR, same_site="lax")
    return response


async def _sent(request: Request) -> dict[str, str]:
    """The fields of a form; none where there is more of it than any form here has."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def html(title: str, body: str, status: int = 200) -> HTMLResponse:
    """A page that is not Streamlit's."""
    return HTMLResponse(_PAGE.format(title=title, style=document_style(), body=body), status,
                        headers={"Cache-Control": "no-store"})


def _page(title: str, body: str) -> Callable:
    async def page(request: Request) -> HTMLResponse:
        return html(title, body)

    return page

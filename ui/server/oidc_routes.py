"""Signing in and out by OpenID Connect: the client is the one of `st.login`, as [auth] sets it up. Its claims are
checked more strictly, and kept in a cookie of our own, which can be ended; none of the provider's tokens is kept."""

import logging
import os
import sys
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from streamlit.auth_util import build_logout_url
from streamlit.web.server.starlette import starlette_auth_routes as streamlits

from transformer.basics.formatting import with_stop
from ui.access import accounts, sign_in_settings, visitors
from ui.access.sign_in_settings import REDIRECT, SignIn, in_force
from ui.server.identity_middleware import IdentityMiddleware, sign_in_page
from ui.server.middleware import set_cookie
from ui.server.sign_in_routes import html, sign_teacher_out

AFTER = "headsup_after"  # the cookie that says which page somebody came for
AFTER_SECONDS, LONGEST_PAGE = 900, 2_000
LONGEST_SAID = 500  # characters, in the log
SIGNED = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SignInParts:
    """The routes that a server needs where people sign in; none where they do not."""

    routes: list[Route] = field(default_factory=list)
    middleware: list[Middleware] = field(default_factory=list)
    secrets: dict[str, Any] = field(default_factory=dict)


def begin(names: set[str]) -> SignInParts:
    """Set up signing in as `sign-in.toml` says; names: what the server is called, to which what it is called there is
    added. Exits with one sentence where it cannot be."""
    try:
        settings = sign_in_settings.begin()
        if settings is None:
            return SignInParts()
        secret = visitors.cookie_secret()
    except (ValueError, OSError) as error:
        sys.exit(f"People cannot sign in: {with_stop(error)}")
    # Streamlit signs its own cookies with this; they hold the state of a sign-in that is under way.
    os.environ["STREAMLIT_SERVER_COOKIE_SECRET"] = secret
    if name := urlsplit(settings.auth.get("redirect_uri", "")).hostname:
        names.add(name)  # by which people come back from the provider
    routes = [Route("/sign-in", _sign_in), Route("/sign-in/start", _start), Route(REDIRECT, _back),
              Route("/sign-out", _ask), Route("/sign-out", _sign_out, methods=["POST"])]
    secrets = {"auth": {**settings.auth, "cookie_secret": secret}} if settings.auth else {}
    return SignInParts(routes, [Middleware(IdentityMiddleware)], secrets)


async def _sign_in(request: Request) -> Response:
    failed = "<p role='alert'>You were not signed in. The server's log says why; try again, or ask the teacher.</p>"
    return sign_in_page(in_force(), message=failed if "failed" in request.query_params else "")


async def _start(request: Request) -> Response:
    """To the provider."""
    settings, name = in_force(), request.query_params.get("with", "")
    if name not in settings.providers:
        return RedirectResponse("/sign-in", 303)
    try:
        client, redirect = streamlits._create_oauth_client(name)
        answer = await client.authorize_redirect(request, redirect)
    except Exception:  # whatever goes wrong there, the page says so
        _log.warning("The provider could not be asked to sign somebody in.", exc_info=True)
        return RedirectResponse("/sign-in?failed=1", 303)
    set_cookie(answer, request.scope, AFTER, quote(_page_here(request.query_params.get("to", "")), safe=""),
               seconds=AFTER_SECONDS, same_site="lax")
    return answer


async def _back(request: Request) -> Response:
    """From the provider, with a code that it changes into a token; from its own sign-out, without."""
    settings, state = in_force(), request.query_params.get("state")
    if not settings.auth or not (state or "error" in request.query_params):
        return RedirectResponse("/", 303)
    provider = streamlits._get_provider_by_state(request, state)
    try:
        if provider not in settings.providers:
            raise ValueError("this sign-in was not started here, or it was too long ago")
        claims = await _claims(request, provider)
        cookie = accounts.new_cookie(visitors.cookie_secret(), issuer=claims["iss"], subject=claims["sub"],
                               name=_shown(claims), listed=_listed(claims, settings.claim))
    except Exception as error:  # whatever a provider sends, or somebody in its name
        message = "".join(sign if sign.isprintable() else " " for sign in str(error))  # some of it came in the address
        _log.warning("Somebody was not signed in: %s: %s", type(error).__name__, message[:LONGEST_SAID])
        return RedirectResponse("/sign-in?failed=1", 303)
    answer = RedirectResponse(_page_here(unquote(request.cookies.get(AFTER, ""))), 303)
    set_cookie(answer, request.scope, AFTER, "", seconds=0, same_site="lax")
    _give(answer, request, settings, cookie, seconds=int(settings.hours * 3600))
    return answer


async def _claims(request: Request, provider: str) -> dict[str, Any]:
    """What the provider says of whoever comes back, all checked. Raises what the client raises, and ValueError."""
    client, _ = streamlits._create_oauth_client(provider)
    metadata = await client.load_server_metadata()
    offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
    metadata["id_token_signing_alg_values_supported"] = [one for one in offered if one in SIGNED] or ["RS256"]
    token = await client.authorize_access_token(request, claims_options={
        "iss": {"essential": True, "values": [metadata["issuer"]]},
        "aud": {"essential": True, "values": [client.client_id]}})
    claims = token.get("userinfo")
    if not claims or not all(isinstance(claims[key], str) and claims[key] for key in ("iss", "sub")):
        raise ValueError("the provider did not say who signed in")
    return claims


def _listed(claims: dict[str, Any], claim: str) -> str:
    """The name by which a list may name somebody; an e-mail address only where the provider has seen that it is theirs,
    for in many places people type in their own."""
    value = claims.get(claim)
    if claim == "email" and claims.get("email_verified") not in (True, "true"):
        return ""
    return value if isinstance(value, str) and len(value) <= accounts.NAME_LETTERS else ""


def _shown(claims: dict[str, Any]) -> str:
    return next(value for key in ("email", "preferred_username", "name", "sub")
                if isinstance(value := claims.get(key), str) and value)


async def _ask(request: Request) -> Response:
    person = accounts.person_of(request.headers)
    if person is None:
        return html("You are signed out", f"{await _leave_provider()}<p><a href='/sign-in'>Sign in again</a></p>")
    if not person.sign_in:
        leave = in_force().sign_out
        way = f'<p><a class="button" href="{escape(leave)}">Sign out there</a></p>' if leave else ""
        return html("Sign out", f"<p>Your organisation has signed you in as <b>{escape(person.name)}</b>. Sign out "
                                f"there, and close this window.</p>{way}")
    return html("Sign out", f"<p>You are signed in as <b>{escape(person.name)}</b>.</p><form method='post'>"
                            "<button>Sign out</button></form><p><a href='/'>Back to Heads Up</a></p>")


async def _sign_out(request: Request) -> Response:
    """End this sign-in, in every tab of it."""
    settings = in_force()
    if person := accounts.person_of(request.headers):
        accounts.end_sign_in(person.sign_in)
    answer = RedirectResponse("/sign-out", 303)
    _give(answer, request, settings, "", seconds=0)
    sign_teacher_out(request, answer)
    return answer


async def _leave_provider() -> str:
    """How people leave the provider itself, if there is one and it has a place for that."""
    settings = in_force()
    if len(settings.providers) != 1:
        return ""
    try:
        client, redirect = streamlits._create_oauth_client(settings.providers[0])
        place = (await client.load_server_metadata()).get("end_session_endpoint")
    except Exception:  # it cannot be reached; here, they are signed out
        return ""
    if not isinstance(place, str) or not place.startswith(("https://", "http://")):
        return ""
    url = build_logout_url(place, client.client_id, redirect)
    return (f'<p>On a computer that others use, <a href="{escape(url)}">sign out of '
            f'{escape(urlsplit(place).hostname or "")}</a> as well: else it may sign the next person in as you.</p>')


def _give(answer: Response, request: Request, settings: SignIn, cookie: str, *, seconds: int) -> None:
    """The cookie, for https alone where people come by https."""
    scope = request.scope
    if str(settings.auth.get("redirect_uri", "")).startswith("https://"):
        scope = {**scope, "scheme": "https"}
    set_cookie(answer, scope, accounts.COOKIE, cookie, seconds=seconds, same_site="lax")


def _page_here(to: str) -> str:
    """The path of a page of this server; however it is written, it leads to no other server."""
    plain = to.isascii() and to.isprintable() and "\\" not in to and len(to) <= LONGEST_PAGE
    return to if plain and to.startswith("/") and not to.startswith("//") else "/"

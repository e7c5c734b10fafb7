"""A small OpenID provider: discovery, authorisation with PKCE and a nonce, tokens signed by a key that it publishes. It
keeps to the rules, and breaks the one that a test names."""

import base64
import hashlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from urllib.parse import urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "heads-up", "a secret of this test"
PEOPLE = {
    "ada": {"sub": "a-1", "name": "Ada", "email": "Ada@school.example", "email_verified": True},
    "ben": {"sub": "b-2", "name": "Ben", "email": "ben@school.example", "email_verified": True},
    # who have typed in somebody else's address
    "eve": {"sub": "e-3", "name": "Eve", "email": "ada@school.example", "email_verified": False},
    "fay": {"sub": "f-4", "name": "Fay", "email": "ada@school.example"},  # of which the provider says nothing
}


class Provider:
    """fault: what is wrong with the next tokens: nonce, audience, unsigned, expired, issuer, key, or "" for nothing."""

    def __init__(self, port: int) -> None:
        self.issuer, self.fault = f"http://127.0.0.1:{port}", ""
        self.key, self.other_key = (RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}) for _ in range(2))
        self.codes: dict[str, dict[str, str]] = {}
        self.app = Starlette(routes=[
            Route("/.well-known/openid-configuration", self.discovery), Route("/authorize", self.authorize),
            Route("/token", self.token, methods=["POST"]), Route("/jwks", self.jwks), Route("/leave", self.leave)])

    async def discovery(self, request: Request) -> Response:
        return JSONResponse({
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/jwks",
            "end_session_endpoint": f"{self.issuer}/leave", "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"]})

    async def authorize(self, request: Request) -> Response:
        """Who may sign in chooses who they are, by a link or with `as` in the address."""
        query = dict(request.query_params)
        right = (query.get("client_id") == CLIENT and query.get("response_type") == "code"
                 and query.get("code_challenge_method") == "S256" and "openid" in query.get("scope", "").split()
                 and query.get("redirect_uri", "").endswith("/oauth2callback") and query.get("state"))
        if not right or not query.get("nonce"):
            return PlainTextResponse(f"not as it should be: {query}", 400)
        if (name := query.pop("as", "")) in PEOPLE:
            code = secrets.token_urlsafe(16)
            self.codes[code] = {**query, "as": name}
            return RedirectResponse(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")
        return HTMLResponse("".join(f'<p><a href="/authorize?{escape(urlencode({**query, "as": name}))}">'
                                    f"{PEOPLE[name]['name']}</a></p>" for name in PEOPLE))

    async def token(self, request: Request) -> Response:
        form = await request.form()
        given = request.headers.get("authorization", "").removeprefix("Basic ")
        query = self.codes.pop(str(form.get("code")), None)  # a code works once
        verifier = hashlib.sha256(str(form.get("code_verifier")).encode()).digest()
        if (query is None or base64.b64decode(given).decode() != f"{CLIENT}:{SECRET}"
                or base64.urlsafe_b64encode(verifier).decode().rstrip("=") != query["code_challenge"]):
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": secrets.token_urlsafe(16), "token_type": "Bearer",
                             "id_token": self.id_token(PEOPLE[query["as"]], query["nonce"])})

    def id_token(self, person: dict[str, object], nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **person}
        claims |= {"nonce": {"nonce": "another"}, "audience": {"aud": "somebody-else", "azp": CLIENT},
                   "issuer": {"iss": "https://other.example"},
                   "expired": {"iat": now - 9_000, "exp": now - 8_000}}.get(self.fault, {})
        if self.fault == "unsigned":
            head, body = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
                          for part in ({"alg": "none"}, claims))
            return f"{head}.{body}."
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.other_key if self.fault == "key" else self.key)

    async def jwks(self, request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def leave(self, request: Request) -> Response:
        return PlainTextResponse("You have left the provider.")


@contextmanager
def providing() -> Iterator[Provider]:
    """One that answers while the block runs."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    provider = Provider(bound.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(provider.app, log_level="error"))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join(10)


def sign_in_file(provider: Provider, redirect: str, sign_in: str = "required") -> str:
    """What a server is told of it."""
    return f'''sign_in = "{sign_in}"
teachers = ["ada@school.example"]

[auth]
redirect_uri = "{redirect}"
client_id = "{CLIENT}"
client_secret = "{SECRET}"
server_metadata_url = "{provider.issuer}/.well-known/openid-configuration"
'''

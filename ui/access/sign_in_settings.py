"""The settings of sign-in, from `sign-in.toml` in HEADSUP_HOME: by OpenID Connect, by a header that an organisation's
proxy sets, or, without the file, not at all."""

import logging
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transformer.basics.paths import IS_CLONE, PACKAGE, home

REDIRECT = "/oauth2callback"
SHARED_KEYS, PROVIDER_KEYS = ("redirect_uri",), ("client_id", "client_secret", "server_metadata_url")
MOST_HOURS = 24 * 30
OTHERS = 0o066  # permissions of others than the owner to read or write a file
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SignIn:
    """The settings in the file. required: everybody must sign in. teachers: their names. claim: of a token, the one
    with such a name. providers: the names of ways to sign in, in [auth]. header: the name of the header that is trusted
    from `proxies`. sign_out: the address where people sign out of the proxy."""

    required: bool
    teachers: frozenset[str]
    hours: float
    claim: str
    auth: Mapping[str, Any] = field(default_factory=dict)
    providers: tuple[str, ...] = ()
    header: str = ""
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    sign_out: str = ""

    def lists(self, name: str) -> bool:
        """Whether that is the name of a teacher."""
        return bool(name) and as_listed(name) in self.teachers

    def trusts(self, address: str | None) -> bool:
        """Whether the header is trusted from that address."""
        return within(address, self.proxies)


def within(address: str | None, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Whether an address is in one of the networks; False for a text that is no address."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return False
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in network for network in networks)


def as_listed(name: str) -> str:
    """A name for comparison, in lower case if it is ASCII; beyond that, two letters can become one (the Kelvin sign is
    a k)."""
    name = name.strip()
    return name.lower() if name.isascii() else name


def path() -> Path:
    """The path of the file."""
    return home() / "sign-in.toml"


def read() -> SignIn | None:
    """The settings in the file; None if there is no file. Raises ValueError, with what to write, if they are wrong."""
    try:
        settings = tomllib.loads(path().read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path()} cannot be read: {error}") from None
    try:
        return _parse(settings)
    except ValueError as error:
        raise ValueError(f"{path()}: {error}") from None


def _parse(settings: dict[str, Any]) -> SignIn:
    _check_keys(settings, {"sign_in": str, "teachers": list, "hours": int | float, "claim": str, "auth": dict,
                           "header": dict})
    if settings.get("sign_in") not in ("required", "optional"):
        raise ValueError('write sign_in = "required" or sign_in = "optional"')
    teachers = settings.get("teachers", [])
    if not all(isinstance(name, str) and name.strip() for name in teachers):
        raise ValueError('write teachers as a list of names, such as teachers = ["ada@school.example"]')
    hours = settings.get("hours", 12)
    if isinstance(hours, bool) or not 0 < hours <= MOST_HOURS:
        raise ValueError(f"hours is {hours}; write a number up to {MOST_HOURS}")
    if ("auth" in settings) == ("header" in settings):
        raise ValueError("write either [auth], for OpenID Connect, or [header], for a proxy that signs people in")
    ways = _auth(settings["auth"]) if "auth" in settings else _header(settings["header"])
    return SignIn(settings["sign_in"] == "required", frozenset(map(as_listed, teachers)), float(hours),
                  settings.get("claim", "email"), **ways)


def _auth(auth: dict[str, Any]) -> dict[str, Any]:
    named = {name: one for name, one in auth.items() if isinstance(one, dict) and name != "client_kwargs"}
    for name, provider in (named or {"default": auth}).items():
        if not re.fullmatch(r"[a-z0-9]{1,30}", name):
            raise ValueError(f"[auth.{name}] must be named with lower-case letters and digits only")
        for key in PROVIDER_KEYS:
            if not isinstance(provider.get(key), str) or not provider[key]:
                raise ValueError(f"[auth{f'.{name}' if named else ''}] needs {key}")
        _check_url(provider["server_metadata_url"], "server_metadata_url")
    if unknown := set(auth) - {*named, *SHARED_KEYS, *PROVIDER_KEYS, "client_kwargs"}:
        raise ValueError(f"[auth] has {', '.join(sorted(unknown))}, which Heads Up does not know")
    redirect = auth.get("redirect_uri")
    parts = urlsplit(redirect if isinstance(redirect, str) else "")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path != REDIRECT or parts.query:
        raise ValueError(f"[auth] needs redirect_uri, this server's address as people open it, followed by {REDIRECT}")
    if missing := [name for name in ("authlib", "httpx2") if find_spec(name) is None]:
        install = "-e '.[sign-in]'" if IS_CLONE else f'"{PACKAGE}[sign-in]"'
        raise ValueError(f"[auth] needs {' and '.join(missing)}; `pip install {install}` installs what is needed")
    return {"auth": auth, "providers": tuple(named) or ("default",)}


def _header(header: dict[str, Any]) -> dict[str, Any]:
    _check_keys(header, {"name": str, "proxies": list, "sign_out": str}, "[header]")
    name, proxies = header.get("name", ""), header.get("proxies", [])
    if not re.fullmatch(r"[A-Za-z0-9-]{1,60}", name):
        raise ValueError('[header] needs the name of the header, such as name = "X-Remote-User"')
    if not proxies:
        raise ValueError('[header] needs the addresses that the proxy connects from, such as proxies = ["10.0.0.5"]')
    try:
        networks = tuple(ip_network(one, strict=False) for one in proxies if isinstance(one, str))
    except ValueError as error:
        raise ValueError(f"[header] proxies: {error}") from None
    if len(networks) < len(proxies) or any(network.prefixlen == 0 for network in networks):
        raise ValueError("[header] proxies must be addresses or networks, none of them the whole internet")
    if sign_out := header.get("sign_out", ""):
        _check_url(sign_out, "sign_out")
    return {"header": name.lower(), "proxies": networks, "sign_out": sign_out}


def _check_keys(settings: dict[str, Any], kinds: dict[str, Any], where: str = "it") -> None:
    for key, value in settings.items():
        if key not in kinds:
            raise ValueError(f"{where} has {key}, which Heads Up does not know; it may have {', '.join(kinds)}")
        if not isinstance(value, kinds[key]):
            raise ValueError(f"{key} is {value!r}, which is not what belongs there")


def _check_url(url: str, what: str) -> None:
    """Raises ValueError for an address without encryption: over it, somebody on the way could change who signs in."""
    parts = urlsplit(url)
    is_local = parts.hostname in ("localhost", "::1") or (parts.hostname or "").startswith("127.")
    if not parts.hostname or parts.scheme not in ("https", "http") or (parts.scheme == "http" and not is_local):
        raise ValueError(f"{what} must be an https address")


_last: tuple[object, SignIn] | None = None


def begin() -> SignIn | None:
    """The settings for a server that starts now. Raises ValueError as `read`."""
    global _last
    stamp, settings = _stamp(), read()
    if settings and path().stat().st_mode & OTHERS:
        _log.warning("%s, which says who is a teacher, can be read or written by other users of this computer; make it "
                     "yours alone: chmod 600 %s", path(), path())
    _last = (stamp, settings) if settings else None
    return settings


def current() -> SignIn | None:
    """The settings in the file as it is now, so that somebody taken off the list is no teacher any more. While the file
    is damaged or gone, the last ones; None if there was no file when the server started."""
    global _last
    if _last is None or _last[0] == (stamp := _stamp()):
        return _last and _last[1]
    try:
        settings = read()
        if settings is None:
            raise ValueError(f"{path()} is gone")
    except ValueError as error:
        _log.error("%s; sign-in stays as it was", error)
        settings = _last[1]
    _last = stamp, settings
    return settings


def in_force() -> SignIn:
    """The same, on a server that began with a file."""
    settings = current()
    assert settings is not None
    return settings


def _stamp() -> object:
    try:
        file = path().stat()
        return file.st_mtime_ns, file.st_size, file.st_ino
    except OSError:
        return None

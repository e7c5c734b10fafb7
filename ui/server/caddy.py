"""The proxy in front of several workers: its configuration, written from here and checked before it is used.

A visitor stays with a worker by a cookie, and a room by its code; never by the address, for a whole campus has one.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

COOKIE = "headsup_worker"
ROOM = "X-Headsup-Room"
ALIVE = "/proxy-health"  # at which the proxy itself answers
TRYING = "20s"  # for which a request looks for a worker that answers
FRAMED = "SameSite=None; Secure; Partitioned"  # the cookie says nothing of anybody: in any site's frame it may be sent
HEAD, IDLE = "20s", "2m"  # for a request's first lines; between two requests. Workers wait for what is sent with them.
MISSING = ("several workers need Caddy in front of them, and there is none on the PATH: install it from your system "
           "(Debian and Ubuntu: apt-get install caddy) or from caddyserver.com; without it, `headsup app` serves alone")

_WORKERS = """{indent}reverse_proxy {upstreams} {{
{indent}	lb_policy {policy}
{indent}	lb_try_duration {trying}
{indent}	lb_try_interval 100ms
{indent}	health_uri /_stcore/health
{indent}	health_headers {{
{indent}		Host localhost
{indent}	}}
{indent}	health_interval 2s
{indent}	health_timeout 10s
{indent}	flush_interval -1
{trusted}{indent}	@late status 408
{indent}	handle_response @late {{
{indent}		header Connection close
{indent}		respond "Not all of it has come." 408
{indent}	}}
{indent}}}
"""
# Without `Connection: close` Caddy waits for all of a body before it hands on the answer to what has come of it.

_SITE = r"""{{
	admin off
{options}	servers {{
		timeouts {{
			read_header {head}
			idle {idle}
		}}
	}}
	log {{
		output stderr
		level ERROR
		exclude http.log http.handlers.reverse_proxy
	}}
}}

{address} {{
{bind}	header {{
		Set-Cookie "^({cookie}=[^;]+).*" "$1; Path=/; HttpOnly; {sent}"
		defer
	}}
	respond {alive} 200
	@room path_regexp room ^/r/([\w-]+)
	handle @room {{
		request_header {room} {{re.room.1}}
{by_room}	}}
	handle {{
{by_cookie}	}}
}}
"""


def text(address: str, upstreams: Sequence[str], *, bind: str = "", https: bool = False,
         framed: bool = False) -> str:
    """A Caddyfile that leads an address to workers. https: Caddy gets a certificate for the name in it, and so nobody
    stands before it who could say for whom they ask; framed: pages of other sites, over https, show these."""
    trusted = "" if https else "\t\t\ttrusted_proxies private_ranges\n"

    def workers(policy: str) -> str:
        return _WORKERS.format(indent="\t\t", upstreams=" ".join(upstreams), policy=policy, trying=TRYING,
                               trusted=trusted)

    return _SITE.format(address=address, options="" if https else "\tauto_https off\n", room=ROOM, head=HEAD, idle=IDLE,
                        alive=ALIVE, cookie=COOKIE, sent=FRAMED if https or framed else "SameSite=Lax",
                        bind=f"\tbind {bind}\n" if bind else "",
                        by_room=workers(f"header {ROOM}"), by_cookie=workers(f"cookie {COOKIE}"))


def for_compose() -> str:
    """What stands in deploy/Caddyfile; the name and the workers come from the environment."""
    return text("{$HEADSUP_NAME}", ["{$HEADSUP_WORKERS}"], https=True)


def program() -> str:
    """The path of Caddy. Raises ValueError where it is not."""
    if (found := shutil.which("caddy")) is None:
        raise ValueError(MISSING)
    return found


def write(folder: Path, content: str) -> Path:
    """Put a Caddyfile into a folder for this user alone, and have Caddy check it. Raises ValueError with what Caddy
    says against it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    path = folder / "Caddyfile"
    path.write_text(content, "utf-8")
    checked = subprocess.run([program(), "validate", "--adapter", "caddyfile", "--config", str(path)],
                             env=environment(folder), capture_output=True, encoding="utf-8", errors="replace")
    if checked.returncode:
        raise ValueError(f"Caddy refuses its configuration: {checked.stderr.strip().splitlines()[-1]}")
    return path


def environment(folder: Path) -> dict[str, str]:
    """Which has Caddy write nowhere but there."""
    return {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}


def become(path: Path) -> None:
    """Turn this process into Caddy with that Caddyfile."""
    os.execve(program(), ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)], environment(path.parent))

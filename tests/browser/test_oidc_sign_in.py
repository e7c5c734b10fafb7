"""People sign in at a real provider, in a real browser, and out: over plain http, and behind a proxy over https."""

import re
import shutil
import socket
import ssl
import subprocess

import pytest
from playwright.sync_api import expect

from tests.server.provider import providing, sign_in_file
from tests.waiting import until
from ui.server.workers import hold

from .conftest import go, new_tab, settle

pytestmark = pytest.mark.rare("a provider, and a server of its own for each way")
TEACHES = "Others may start runs"


@pytest.fixture(scope="module")
def provider():
    with providing() as found:
        yield found


@pytest.fixture(scope="module")
def signing(serve, provider, tmp_path_factory):
    """Starts an app on which people sign in, and leads back to `redirect`."""
    def signing(redirect, sign_in, port="0"):
        home = tmp_path_factory.mktemp("people")
        (home / "sign-in.toml").write_text(sign_in_file(provider, redirect, sign_in))
        return serve(home / "log.txt", "ui/server/serve.py", "--port", port, "--shared", HEADSUP_HOME=str(home))[1]

    return signing


@pytest.fixture(scope="module")
def required(signing):
    return signing("http://127.0.0.1:{port}/oauth2callback", "required")


def menu(page):
    """What every page's menu says of who is here."""
    page.get_by_test_id("stMainMenu").get_by_role("button").click()
    page.get_by_text("About", exact=True).click()
    found = page.get_by_role("dialog")
    expect(found.get_by_text("igned in")).to_be_visible()
    return found


def test_two_people_sign_in_and_out(visitor, required):
    for name, teaches in (("Ada", True), ("Ben", False)):
        page = visitor()
        page.goto(f"{required}/write?text=To+be", wait_until="domcontentloaded")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.get_by_role("link", name="Sign in").click()
        page.get_by_role("link", name=name).click()
        page.wait_for_url(f"{required}/write?text=To+be*")
        expect(menu(settle(page))).to_contain_text(re.compile(f"Signed in as {name}.?@school.example", re.IGNORECASE))
        expect(go(page, f"{required}/train?view=new").get_by_text(TEACHES)).to_have_count(int(teaches))
        other = go(page.context.new_page(), f"{required}/write")
        page.get_by_role("link", name="Sign out").evaluate("link => { link.target = ''; link.click(); }")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
        expect(page.get_by_role("link", name="sign out of 127.0.0.1")).to_be_visible()
        expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
        page.goto(f"{required}/train?view=new", wait_until="domcontentloaded")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.go_back()
        expect(page.get_by_text(TEACHES)).to_have_count(0)


def _speaks_tls(port):
    """Whether a proxy has its certificate, which comes after it listens."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (socket.create_connection(("localhost", port), timeout=5) as one,
              context.wrap_socket(one, server_hostname="localhost")):
            return True
    except OSError:
        return False


def test_behind_a_proxy_over_https(chromium, signing, tmp_path):
    if not (caddy := shutil.which("caddy")):
        pytest.skip("no caddy on the PATH")
    held = [hold("127.0.0.1", [0]) for _ in range(2)]
    outside, inside = (one.getsockname()[1] for one in held)
    here = f"https://localhost:{outside}"
    signing(f"{here}/oauth2callback", "optional", str(inside))
    (tmp_path / "Caddyfile").write_text(
        "{\n admin off\n skip_install_trust\n auto_https disable_redirects\n}\n"
        f"{here} {{\n tls internal\n reverse_proxy 127.0.0.1:{inside}\n}}\n")
    with (tmp_path / "caddy.log").open("w") as log:
        proxy = subprocess.Popen([caddy, "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"],
                                 stdout=log, stderr=log, env={"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)})
    page = new_tab(chromium, ignore_https_errors=True)
    try:
        until(lambda: _speaks_tls(outside), (tmp_path / "caddy.log").read_text)
        go(page, f"{here}/train?view=new")  # whoever has not signed in looks
        page.get_by_role("link", name="Sign in").evaluate("link => { link.target = ''; link.click(); }")
        page.get_by_role("link", name="Sign in").click()
        page.get_by_role("link", name="Ada").click()
        page.wait_for_url(f"{here}/**")
        expect(go(page, f"{here}/train?view=new").get_by_text(TEACHES)).to_be_visible()
        (kept,) = [one for one in page.context.cookies() if one["name"] == "headsup_person"]
        assert kept["secure"] and kept["httpOnly"] and kept["sameSite"] == "Lax"
    finally:
        page.context.close()
        proxy.terminate()
        proxy.wait()
        for one in held:
            one.close()

"""What sign-in.toml may say, and what is said where it says something else; and what the gate makes of addresses."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.rows import each_row
from ui.access import accounts, sign_in_settings, visitors
from ui.server import identity_middleware, oidc_routes

OIDC = '''sign_in = "optional"
[auth]
redirect_uri = "https://heads.example/oauth2callback"
client_id = "a"
client_secret = "b"
server_metadata_url = "https://idp.example/.well-known/openid-configuration"
'''
HEADER = 'sign_in = "required"\n[header]\nname = "X-Remote-User"\nproxies = ["10.0.0.0/24", "::1"]\n'


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    monkeypatch.setattr(sign_in_settings, "_last", None)
    return (tmp_path / "sign-in.toml").write_text


def test_without_the_file_nobody_signs_in(write):
    assert sign_in_settings.begin() is None and sign_in_settings.current() is None
    assert oidc_routes.begin(set()) == oidc_routes.SignInParts()


@each_row(("text", "message"), [
    ("sign_in = ", "cannot be read"), ('sign_in = "yes"', 'sign_in = "required" or sign_in = "optional"'),
    ('sign_in = "optional"', "either [auth]"), (OIDC + HEADER.partition("\n")[2], "either [auth]"),
    (f"teacher = 'ada'\n{OIDC}", "teacher, which"), (f"teachers = [1]\n{OIDC}", "list of names"),
    (f"teachers = ['']\n{OIDC}", "list of names"), (f"hours = 0\n{OIDC}", "hours is 0"),
    (f"hours = true\n{OIDC}", "hours is True"), (OIDC.replace('client_id = "a"\n', ""), "needs client_id"),
    (OIDC.replace("https://idp", "http://idp"), "server_metadata_url must be an https address"),
    (OIDC.replace("/oauth2callback", "/"), "redirect_uri"), (OIDC.replace("[auth]", "[auth.my_school]"), "my_school"),
    (OIDC + 'cookie_secret = "x"\n', "cookie_secret, which"),
    (HEADER.replace("X-Remote-User", ""), "name of the header"), (HEADER.replace("10.0.0.0/24", "x"), "proxies"),
    (HEADER.replace("10.0.0.0/24", "0.0.0.0/0"), "whole internet"),
    ('sign_in = "required"\n[header]\nname = "X-User"\n', "addresses that the proxy connects from")])
def test_what_cannot_be_done_is_said_in_a_sentence(write, text, message, capsys):
    write(text)
    with pytest.raises(ValueError, match=r"sign-in\.toml") as error:
        sign_in_settings.begin()
    assert message in str(error.value)
    with pytest.raises(SystemExit, match="People cannot sign in"):
        oidc_routes.begin(set())


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o644, True), (0o620, True)])
def test_a_file_that_others_can_read_or_write_is_warned_of(write, tmp_path, caplog, mode, warned):
    write(HEADER)
    (tmp_path / "sign-in.toml").chmod(mode)
    assert sign_in_settings.begin()
    assert ("chmod 600" in caplog.text) is warned


def test_what_is_missing_is_named_with_what_brings_it(write, monkeypatch):
    write(OIDC)
    monkeypatch.setattr(sign_in_settings, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"authlib and httpx2; `pip install .*sign-in\]"):
        sign_in_settings.begin()


def test_only_the_proxys_addresses_are_trusted_and_letters_that_look_alike_are_on_no_list(write):
    write(HEADER)
    settings = sign_in_settings.begin()
    for address, trusted in (("10.0.0.7", True), ("::ffff:10.0.0.7", True), ("::1", True), ("10.0.1.7", False),
                             ("127.0.0.1", False), ("", False), (None, False), ("x", False)):
        assert settings.trusts(address) == trusted, address
    write(f"teachers = [' Kim@School.example']\n{OIDC}")
    settings = sign_in_settings.begin()
    for name, listed in (("kim@school.EXAMPLE", True), ("\u212aim@school.example", False),
                         ("kim@\u017fchool.example", False), ("", False), ("kim", False)):
        assert settings.lists(name) == listed, name


OURS = "127.0.0.1, 172.16.0.0/12"


@pytest.mark.parametrize(("trusted", "peer", "forwarded", "sender"), [
    (None, "127.0.0.1", ["10.0.0.5"], "127.0.0.1"),
    (OURS, "172.18.0.2", ["10.0.0.5, 192.0.2.1"], "192.0.2.1"),
    (OURS, "127.0.0.1", ["10.0.0.5, 192.0.2.1"], "192.0.2.1"),
    (OURS, "127.0.0.1", ["10.0.0.5", "192.0.2.1"], "192.0.2.1"),
    (OURS, "127.0.0.1", [], ""),
    (OURS, "192.0.2.1", ["10.0.0.5"], "192.0.2.1")])
def test_behind_its_own_proxy_the_sender_is_whom_that_one_names_last(monkeypatch, trusted, peer, forwarded, sender):
    monkeypatch.delenv(identity_middleware.BEHIND, raising=False)
    if trusted:
        monkeypatch.setenv(identity_middleware.BEHIND, trusted)
    headers = [(b"x-forwarded-for", one.encode()) for one in forwarded]
    scope = {"type": "http", identity_middleware.PEER: peer, "headers": headers}
    assert identity_middleware._who_sent(scope) == sender
    assert identity_middleware._who_sent({"type": "http", "headers": []}) is None


def test_a_person_is_the_same_everywhere_and_no_key_leads_to_them():
    pairs = [("https://a", "1"), ("https://a", "2"), ("https://b", "1"), ("https://a\n", "1")]
    one, again = ([accounts.Person(*pair, "", "", "", 0).owner for pair in pairs] for _ in range(2))
    assert one == again
    assert len({*one, visitors.digest('["https://a", "1"]')}) == 5


def test_one_secret_is_made_whoever_asks_first(write, tmp_path):
    start = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: (start.wait(), visitors.cookie_secret())[1], range(8)))
    assert len(set(found)) == 1 and len(found[0]) >= 43
    assert os.stat(tmp_path / "cookie.secret").st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"cookie.secret", visitors.LOCK}


def test_a_connection_is_a_persons_until_they_sign_out_or_their_hours_are_over(write):
    stays, ends, over = (
        accounts.connect(accounts.Person("https://a", "1", "Ada", "", sign_in * 32, time.time() + seconds))
        for sign_in, seconds in (("1", 60), ("2", 60), ("3", -1)))
    accounts.end_sign_in("2" * 32)
    found = [accounts.person_of({accounts.CONNECTION: one}) for one in (stays, ends, over, "made up")]
    assert [one and one.sign_in for one in found] == ["1" * 32, None, None, None]
    accounts.disconnect(stays)
    assert accounts.person_of({accounts.CONNECTION: stays}) is None

"""What goes out packed, and that whoever unpacks it has what was there."""

import gzip
import re
from pathlib import Path

import pytest
from streamlit.file_util import get_static_dir

from tests.rows import each_row
from ui.page.pages import EVERY_PAGE
from ui.server import compression

ROOT = Path(__file__).resolve().parents[2]
NOT_STREAMLITS_EITHER = {"star_filled"}
STATIC = Path(get_static_dir()) / "static"


def named(pattern: str) -> str:
    """The address of one of Streamlit's own files."""
    return f"/static/{next(iter(sorted(STATIC.glob(pattern)))).relative_to(STATIC)}"


SCRIPT, STYLE, FONT = (named(pattern) for pattern in ("js/index.*.js", "css/index.*.css", "media/SourceSansVF-U*"))


def plain(path: str) -> bytes:
    return (STATIC.parent / path[1:]).read_bytes()


@each_row(("accepted", "takes"), [
    ("gzip", True), ("gzip, deflate, br, zstd", True), ("GZIP;q=0.5", True), ("x-gzip", True), ("*", True),
    ("br;q=1.0, gzip;q=0.8, *;q=0.1", True), ("deflate , gzip ; q=0.001", True),
    ("", False), ("identity", False), ("gzip;q=0", False), ("gzip;q=0.000, *", False), ("*;q=0", False),
    ("br", False), ("gzipped", False), ("gzip;q=high", False), ("gzip;q=0.5;q=1", False), ("gzip;q=-1", False),
    (";;;q=,,gzip\x00", False), ("gzip;q=1e9", False), ("é", False), ("," * 60_000, False)])
def test_a_browser_says_what_it_reads(accepted, takes):
    assert compression.takes_gzip(accepted) is takes


def test_what_is_large_and_no_picture_is_packed():
    assert compression.packed(b"x" * (compression.LEAST - 1), "text/css") is None
    assert compression.packed(b"x" * 10_000, "image/png") is None
    assert gzip.decompress(compression.packed(b"x" * 10_000, "text/css")) == b"x" * 10_000


@pytest.mark.parametrize("path", [SCRIPT, STYLE])
def test_streamlits_scripts_and_styles_are_packed_and_the_same_when_unpacked(server, path):
    answer = server.ask("GET", path, Accept_Encoding="gzip, deflate, br")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) == len(answer.body) < len(plain(path)) / 2
    assert gzip.decompress(answer.body) == plain(path)
    assert answer.headers["Cache-Control"] == compression.FOREVER
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert server.ask("GET", path, Accept_Encoding="gzip").body == answer.body
    assert server.ask("POST", path, body=b"x").status == 405


@pytest.mark.parametrize("accepted", ["", "br", "identity", "gzip;q=0", ";;q=\xff"])
def test_who_does_not_read_gzip_gets_the_file_as_it_is(server, accepted):
    for path in (SCRIPT, "/", "/translate", "/nowhere"):
        answer = server.ask("GET", path, Accept_Encoding=accepted)
        assert answer.status == 200
        assert "Content-Encoding" not in answer.headers
        assert answer.body == plain(path) if path == SCRIPT else b"<!DOCTYPE html>" in answer.body


def test_the_page_is_packed_and_gives_a_visitor_a_key_each_time_it_is_asked_for(server):
    whole = server.ask("GET", "/")
    for path in ("/", "/train"):
        answer = server.ask("GET", path, Accept_Encoding="gzip", If_None_Match="*")
        assert answer.status == 200
        assert gzip.decompress(answer.body) == whole.body
        assert answer.headers["Set-Cookie"].startswith("headsup_visitor=")
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.headers["Cache-Control"] == "no-cache"
    assert whole.headers["Vary"] == "Accept-Encoding"


def test_the_components_scripts_are_packed_once_and_kept_under_an_address_of_their_content(server):
    with server.visit() as session:
        names = set(re.findall(r"\./scripts/([\w-]+\.js)", session.open("translate").text))
    assert {name.partition("-")[0] for name in names} == {"shell", "step_view"}
    for name in names:
        whole, answer = (server.ask("GET", f"/scripts/{name}", Accept_Encoding=accepted) for accepted in ("", "gzip"))
        assert b"export default function show" in whole.body or b"export default function component(" in whole.body
        assert "Content-Encoding" not in whole.headers
        assert answer.headers.get_all("Content-Encoding") == ["gzip"]
        assert gzip.decompress(answer.body) == whole.body
        for one in (answer, whole):
            assert one.headers["Cache-Control"] == compression.FOREVER
            assert "Accept-Encoding" in one.headers["Vary"]
            assert one.headers["Content-Type"].startswith("text/javascript")
    assert server.ask("GET", "/scripts/attention_view-0000.js").status == 404


def test_what_makes_films_is_served_beside_the_scripts_that_import_it(server):
    def scripts(pattern: str, text: str) -> dict[str, str]:
        """The scripts that a text leads to, by their names without a hash."""
        return {name.partition("-")[0]: server.ask("GET", f"/scripts/{name}").text
                for name in re.findall(pattern, text)}

    with server.visit() as session:
        entries = scripts(r"\./scripts/(training_screen[\w-]+\.js)", session.open(
            "train", view="watch", run="checkpoints/translate").text)
    make = scripts(r'import\("\./(make-\w+\.js)"\)', entries["training_screen"])
    later = scripts(r'import\("\./([\w-]+\.js)"\)', make["make"])
    assert {*later} == {"gifenc", "mediabunny"}
    assert all(script.startswith("/*! ") for script in later.values())


def test_a_browser_that_has_a_file_gets_no_second_one(server):
    tags = {accepted: server.ask("GET", SCRIPT, Accept_Encoding=accepted).headers["ETag"] for accepted in ("", "gzip")}
    assert tags[""] != tags["gzip"]  # of two contents
    for accepted, tag in tags.items():
        for tag_sent in (tag, f"W/{tag}", f'"another", {tag}', "*"):
            answer = server.ask("GET", SCRIPT, Accept_Encoding=accepted, If_None_Match=tag_sent)
            assert (answer.status, answer.body) == (304, b"")
            assert answer.headers["Cache-Control"] == compression.FOREVER
            assert answer.headers["Vary"] == "Accept-Encoding"
        assert server.ask("GET", SCRIPT, Accept_Encoding=accepted, If_None_Match='"another"').status == 200
    assert server.ask("GET", SCRIPT, Accept_Encoding="gzip", If_None_Match=tags["gzip"]).headers["ETag"] == tags["gzip"]
    assert server.ask("GET", SCRIPT, If_None_Match=tags["gzip"]).status == 200


@pytest.mark.parametrize("path", [SCRIPT, FONT, "/"])
@pytest.mark.parametrize("accepted", ["", "gzip"])
def test_head_says_what_get_would(server, path, accepted):
    got, head = (server.ask(method, path, Accept_Encoding=accepted) for method in ("GET", "HEAD"))
    assert (head.status, head.body) == (200, b"")
    for name in ("Content-Type", "Content-Length", "Content-Encoding", "ETag", "Vary", "Cache-Control"):
        assert head.headers[name] == got.headers[name], name


@pytest.mark.parametrize("accepted", ["", "gzip"])
def test_a_range_is_one_of_the_file_as_it_is(server, accepted):
    answer = server.ask("GET", SCRIPT, Accept_Encoding=accepted, Range="bytes=100-199")
    assert answer.status == 206
    assert "Content-Encoding" not in answer.headers
    assert answer.headers["Content-Range"] == f"bytes 100-199/{len(plain(SCRIPT))}"
    assert answer.body == plain(SCRIPT)[100:200]
    assert server.ask("GET", SCRIPT, Accept_Encoding=accepted, Range=f"bytes={10 ** 12}-").status == 416
    tag = server.ask("GET", SCRIPT, Accept_Encoding="gzip").headers["ETag"]
    whole = server.ask("GET", SCRIPT, Accept_Encoding=accepted, Range="bytes=100-199", If_Range=tag)
    assert (whole.status, whole.body) == (200, plain(SCRIPT))


@each_row("path", [
    "/static/../../streamlit/config.py", "/static/%2e%2e/index.html", "/static//etc/passwd", "/static/", "/static/js",
    "/static/js/gone.js", "/static/js/..%2f..%2findex.html", "/static/..%5c..%5cconfig.py", "/static/js/%00",
    f"/static/{'x' * 5_000}"])
def test_nothing_else_is_found_there(server, path):
    answer = server.ask("GET", path, Accept_Encoding="gzip")
    found = gzip.decompress(answer.body) if answer.headers["Content-Encoding"] else answer.body
    assert answer.status in (301, 307, 400, 404) or b"<title>Streamlit</title>" in found  # its front page, as always
    assert b"root:" not in found and b"def get_option" not in found


def test_every_icon_that_is_named_is_in_the_lighter_font():
    """Otherwise its name stands there in letters: run docs/icons.py."""
    own = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "ui").rglob("*.py")]
    named = {name for file in own for name in re.findall(r":material/(\w+)", file.read_text("utf-8"))}
    named |= {page.icon for page in EVERY_PAGE.values()}
    streamlits = {name for file in STATIC.rglob("*.js")
                  for name in re.findall(r":material/(\w+)", file.read_text("utf-8"))}
    assert len(named) > 10 and len(streamlits) > 50
    assert (named | streamlits) - NOT_STREAMLITS_EITHER <= set((compression.LIGHTER / "icons.txt").read_text().split())
    lighter, = (compression.LIGHTER / "static" / "media").iterdir()
    assert lighter.stat().st_size < (STATIC / "media" / lighter.name).stat().st_size / 5  # and there is one of its name


def test_what_is_packed_already_is_not_packed_again(server):
    """And the lighter font takes the place of Streamlit's."""
    lighter, = (compression.LIGHTER / "static" / "media").iterdir()
    for path, content in ((FONT, plain(FONT)), ("/favicon.png", plain("/favicon.png")),
                          (f"/static/media/{lighter.name}", lighter.read_bytes())):
        answer = server.ask("GET", path, Accept_Encoding="gzip")
        assert "Content-Encoding" not in answer.headers
        assert answer.body == content
        assert answer.headers["Content-Type"] == ("image/png" if path == "/favicon.png" else "font/woff2")

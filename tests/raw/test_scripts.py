"""What a step costs on the way to a browser, and what a browser keeps."""

import gzip
import http.client
import json
import re
import urllib.error
import urllib.request

import pytest

SENTENCE = "The cat sat on the mat."


def test_a_step_sends_numbers_and_no_script(visitor):
    client = visitor().open("translate", text=SENTENCE, step="3")
    move = {"move": {"index": 4, "number": 1, "choices": []}}
    client.send(translate_screen=("json_value", json.dumps(move)))
    assert 0 < client.sizes["bidi_component"] < 9_000
    assert client.sizes.total() < 15_000


def fetched(server, script: str) -> tuple[http.client.HTTPMessage, str]:
    """The headers and the text of a script, which comes packed."""
    request = urllib.request.Request(f"{server.url}/scripts/{script}", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        return answer.headers, gzip.decompress(answer.read()).decode()


def test_a_script_is_kept_under_an_address_of_its_content_and_no_other_is_served(visitor, server):
    text = visitor().open("translate", text=SENTENCE).text
    names = set(re.findall(r"\./scripts/([\w-]+\.js)", text))
    assert {name.partition("-")[0] for name in names} == {"shell", "step_view"}
    for name in names:
        headers, script = fetched(server, name)
        assert headers["Content-Type"].startswith("text/javascript")
        assert "immutable" in headers["Cache-Control"]
        assert "export default function show" in script or "export default function component(" in script
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetched(server, "attention_view-0000.js")


def test_what_makes_films_is_served_beside_the_scripts_that_import_it(visitor, server):
    page = visitor().open("train", view="watch", run="checkpoints/translate")
    (entry,) = set(re.findall(r"\./scripts/(training_screen[\w-]+\.js)", page.text))
    (make,) = set(re.findall(r'import\("\./(make-\w+\.js)"\)', fetched(server, entry)[1]))
    later = set(re.findall(r'import\("\./([\w-]+\.js)"\)', fetched(server, make)[1]))
    assert {name.partition("-")[0] for name in later} == {"gifenc", "mediabunny"}
    assert all(fetched(server, name)[1].startswith("/*! ") for name in later)

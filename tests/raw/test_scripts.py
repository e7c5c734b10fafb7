"""What a step costs on the way to a browser, and what a browser keeps."""

import gzip
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


def test_a_script_is_kept_under_an_address_of_its_content(visitor, server):
    text = visitor().open("translate", text=SENTENCE).text
    addresses = set(re.findall(r"\./(scripts/[\w-]+\.js)", text))
    assert {re.fullmatch(r"scripts/(\w+)-\w+\.js", address)[1] for address in addresses} == {"shell", "step_view"}
    for address in addresses:
        request = urllib.request.Request(f"{server.url}/{address}", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["Content-Type"].startswith("text/javascript")
            assert "immutable" in answer.headers["Cache-Control"]
            body = answer.read()
            body = gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body
            assert b"export default function show" in body or b"export default function component(" in body


def test_no_other_script_is_served(server):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{server.url}/scripts/attention_view-0000.js")


def test_what_makes_films_is_served_beside_the_scripts_that_import_it(visitor, server):
    page = visitor().open("train", view="watch", run="checkpoints/translate")
    leads = re.findall(r"\./scripts/[\w-]+\.js", page.text)

    def script(name):
        with urllib.request.urlopen(f"{server.url}/scripts/{name}") as answer:
            return answer.read().decode()

    (entry,) = {name.rpartition("/")[2] for name in leads if "training_screen" in name}
    (make,) = set(re.findall(r'import\("\./(make-\w+\.js)"\)', script(entry)))
    later = set(re.findall(r'import\("\./([\w-]+\.js)"\)', script(make)))
    assert {name.partition("-")[0] for name in later} == {"gifenc", "mediabunny"}
    assert all(script(name).startswith("/*! ") for name in later)

"""One file that holds models, its policy, and what cannot be published."""

import base64
import hashlib
import json
import re

import pytest

import transformer
from transformer.publishing.page import page, publish

SCRIPT = re.compile(r"<script( type=\"module\")?>(.*?)</script>", re.DOTALL)


def models(text):
    return json.loads(re.search(r'id="models">(.*?)</script>', text, re.DOTALL)[1])["models"]


def test_a_file_takes_little_more_than_the_weights_of_its_model(shipped, tmp_path):
    ckpt = shipped("translate")
    out = publish(ckpt, tmp_path / "heads-up.html")
    weights = (ckpt.description.folder / "model.safetensors").stat().st_size
    assert out.stat().st_size <= 1.6 * weights


def test_its_policy_allows_its_own_scripts_and_style_and_nothing_else(translator):
    text = page(translator)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)[1]
    own = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
           for one in [*(found[1] for found in SCRIPT.findall(text)), style]]
    assert rules["default-src"] == "'none'"
    assert [*rules["script-src"].split(), rules["style-src"]] == own
    assert rules["worker-src"] == "blob:"


def test_models_of_one_task_are_told_apart_and_their_names_stay_text(make_checkpoint, tmp_path, writer):
    names = [one["title"] for one in models(page([writer, make_checkpoint(encoder_layers=0)]))]
    assert len(set(names)) == 2
    assert [one["title"] for one in models(page(writer))] == ["Write"]


def test_what_cannot_be_published_is_refused_with_the_reason(writer, tmp_path, headsup):
    with pytest.raises(ValueError, match="no checkpoint is given; name the folders"):
        publish([], tmp_path / "x.html")
    with pytest.raises(ValueError, match=r"tiny@\w+ is given twice; name each checkpoint once"):
        publish([writer, writer], tmp_path / "x.html")
    code, _, err = headsup("publish", tmp_path / "nothing", "--out", tmp_path / "x.html")
    assert code == 2
    assert "error:" in err
    assert not (tmp_path / "x.html").exists()


def test_the_command_writes_the_file_and_says_how_large_it_is(writer, tmp_path, headsup):
    out = tmp_path / "heads-up.html"
    code, said, _ = headsup("publish", writer.description.folder, "--out", out, "--json")
    assert not code
    assert json.loads(said.splitlines()[-1])["bytes"] == out.stat().st_size
    assert transformer.load(writer.description.folder).id in out.read_text("utf-8")

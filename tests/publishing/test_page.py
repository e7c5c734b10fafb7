"""One file that holds models, its policy, and what cannot be published."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from math import inf

import pytest

import transformer
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import save
from transformer.inference.sampling import Sampling
from transformer.inference.sampling_settings import SETTINGS
from transformer.publishing.page import page, publish, settings

SCRIPT = re.compile(r"<script( type=\"module\" async)?>(.*?)</script>", re.DOTALL)


def models(text):
    return json.loads(re.search(r'id="models">(.*?)</script>', text, re.DOTALL)[1])["models"]


def test_a_setting_that_a_browser_does_not_compute_is_named_as_lacking(writer, monkeypatch):
    assert settings()["lacks"] == []
    later = replace(SETTINGS[-1], name="spin")
    monkeypatch.setattr("transformer.publishing.page.SETTINGS", (*SETTINGS, later))
    assert settings()["lacks"] == ["spin"]
    assert [one["name"] for one in settings()["settings"]] == [one.name for one in SETTINGS]


def test_a_file_takes_little_more_than_the_weights_of_its_model(shipped, tmp_path):
    ckpt = shipped("write")
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


def test_models_of_one_task_are_told_apart_names_of_classes_are_data_and_a_model_that_reads_ids_asks_for_them(
        make_checkpoint, tmp_path, writer):
    titles = [one["title"] for one in models(page([writer, make_checkpoint(encoder_layers=0)]))]
    assert len(set(titles)) == 2
    assert [one["title"] for one in models(page(writer))] == ["Write"]
    names = ["<!-- a", "</script><script>alert(1)</script>", "\\u003c", "a\u2028b", "<!--<script"]
    ckpt = make_checkpoint(decoder_layers=0, pooling="mean", n_classes=len(names))
    save(tmp_path / "named", ckpt.model, tokenizer=ckpt.tokenizer, meta={"step": 1, "classes": names})
    text = page(transformer.load(tmp_path / "named"))
    assert models(text)[0]["classes"] == names
    assert "<" not in re.search(r'id="models">(.*?)</script>', text, re.DOTALL)[1]
    save(tmp_path / "ids", writer.model, tokenizer=None, meta={"step": 1})
    (about,) = models(page(transformer.load(tmp_path / "ids")))
    assert about["invites"] == "Type token ids above and press Enter." and not about["examples"]


def test_what_cannot_be_published_is_refused_with_the_reason(writer, tmp_path):
    with pytest.raises(ValueError, match="no checkpoint is given; name the folders"):
        publish([], tmp_path / "x.html")
    with pytest.raises(ValueError, match=r"tiny@\w+ is given twice; name each checkpoint once"):
        publish([writer, writer], tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_the_command_writes_the_file_and_says_how_large_it_is_or_why_not(writer, tmp_path, headsup):
    out, folder = tmp_path / "heads-up.html", writer.description.folder
    code, said, _ = headsup("publish", folder, "--out", out, "--json")
    assert not code
    assert json.loads(said.splitlines()[-1])["bytes"] == out.stat().st_size
    assert transformer.load(folder).id in out.read_text("utf-8")
    for what, place, why in ((folder, "no/such/x.html", "there is no folder"), (folder, ".", "is a folder; name a"),
                             (tmp_path / "nothing", "x.html", "error:")):
        code, _, err = headsup("publish", what, "--out", tmp_path / place)
        assert code == 2 and why in err, place
    assert not (tmp_path / "x.html").exists()


def test_a_page_that_is_not_written_whole_leaves_the_one_before(writer, tmp_path, monkeypatch):
    out = publish(writer, tmp_path / "x.html")
    before = out.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        publish(writer, out)
    assert out.read_bytes() == before and [*tmp_path.iterdir()] == [out]


def test_one_model_that_is_too_large_is_not_told_to_be_published_apart(writer, monkeypatch):
    monkeypatch.setattr("transformer.publishing.page.LARGEST", 1_000)
    with pytest.raises(ValueError, match="this model takes .* `headsup export` halves a run's weights"):
        page(writer)


SAMPLES = """import { samplingOf } from "./transformer/publishing/js/page/asked.js";
import { scriptFace } from "./transformer/publishing/js/page/run.js";
const [settings, asked] = JSON.parse(process.argv[1]);
const { run } = scriptFace([{ name: "one" }], settings, { run: () => ({ reading: {}, attentions: {} }) });
const said = (options) => run("one", "a", options).then(() => "", (error) => error.message);
console.log(JSON.stringify(await Promise.all(asked.map(async (one) => [await said(one), samplingOf(one, settings)]))));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on the PATH")
def test_what_has_no_effect_at_temperature_0_is_refused_to_scripts_as_in_python_and_left_out_of_what_is_drawn():
    values = {one.name: 3 if one.most == inf else one.most if one.off == one.least else one.offered[0]
              for one in SETTINGS if one.sampled}
    values["seed"] = 7
    asked = [{name: value} for name, value in values.items()] + [values | {"temperature": 0}]
    asked += [one | {"temperature": 0.5} for one in asked] + [{}, {one.name: one.off for one in SETTINGS}]
    done = subprocess.run(["node", "--import", "./tests/js/styles.js", "--input-type=module", "-e", SAMPLES,
                           json.dumps([settings()["settings"], asked])], cwd=ROOT, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    for one, (said, drawn) in zip(asked, json.loads(done.stdout), strict=True):
        if one.get("temperature") or not one.keys() - {"temperature"} or one.get("top_k") == 0:
            assert said == "", one
        else:
            with pytest.raises(ValueError, match=re.escape(said)):
                Sampling(**one)
            assert said, one
        assert Sampling(**drawn) == Sampling.of(one), one

"""The scripts' pure parts, run by node against what Python makes of the same numbers; skipped without node."""

import base64
import json
import os
import random
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.rows import each_row
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.heads import Pooled, combined, one_head, quantise, weights
from transformer.attention_view.message import FINEST, pack, path_of, whole
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.offline_page import text_of
from transformer.attention_view.phone_message import MOST, small
from transformer.attention_view.script_bundle import JS, bare, script
from transformer.attention_view.shared import CHOICES, settled
from transformer.basics.spreadsheet import cell
from transformer.inference.decoding import start, steps
from transformer.inference.reading import attend
from transformer.rooms.questions import KINDS
from transformer.rooms.questions.bars import divergence, overlap, shares
from transformer.text.word_pieces import BEGINS, ENDS, GOES_ON, NONE, word_text, words_of
from ui.components import scripts
from ui.components.scripts import HERE
from ui.figures.labels import exact_label, plain_label, spoken_label

ROOT = Path(__file__).resolve().parents[1]
NODE = shutil.which("node")
TEXT = "I am cold. We can go home. I see a dog."
TOKENS = ["", " ", "▁cold", "\n", "\t\r", "\u00a0!", "\u202e", "\x00\x1b\x7f", "\u200b", "é", "e\u0301", "👩‍👩‍👧",
          "\u3000", "\ud800", "\u2028", "😀", "<b>", "\U0001f3f4\U000e0067\U000e0062\U000e007f"]
COMPUTED = ["=1+1", "+2", "-3", "@x", "＝1", "＋2", "－3", "＠x", " =1", "\t+2", "'-3", "\u200b@x", '"=1', "a,=1",
            "a;+2", "a|-3", "a\n@x", "été", "a-b", "a = b", "1,2", '"', "\x00=1"]
SAID = [".", "▁.", ",", "▁red", " red", "▁", "a b", "(", "'", "</s>"]
MODERN = {"n_heads": 4, "kv_heads": 2, "window": 5, "window_layers": (1,), "attention_scale": 0.22, "score_cap": 3.0}
needs_node = pytest.mark.skipif(NODE is None, reason="no node on the PATH")


@pytest.fixture
def cases(writer, make_checkpoint, tmp_path) -> Path:
    """A file with what Python makes of some numbers."""
    reading = attend(writer, TEXT)
    found = {"message": packed(), "written": {"text": text_of(bytes(range(256))), "bytes": list(range(256))},
             "cells": cells(reading), "head": head(reading), "smooth": smooth(), "small": small_ones(writer),
             "modern": modern(make_checkpoint), "drawn": drawn(), "paths": paths(make_checkpoint), "open": others(),
             "settled": choices(), "forms": sorted({kind.form for kind in KINDS.values()}),
             "words": words(), "spreadsheet": [[text, cell(text)] for text in (*COMPUTED, *SAID)],
             "tokens": [[token, exact_label(token, longest=None), spoken_label(token), plain_label(token, longest=None)]
                        for token in [*TOKENS, *SAID]]}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(found))
    return path


def listed(array: object) -> list[float]:
    return np.asarray(array, np.float64).ravel().tolist()


def words() -> list[list]:
    """Pieces by chance with each mark of words, and the words that they are."""
    dice, found = random.Random(3), []
    parts = [*"aé!'漢字_9\u0301😀 ", "le", "", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    for mark in (BEGINS, GOES_ON, ENDS, NONE) * 40:
        pieces = [part + mark * (dice.random() < 0.4) if mark == ENDS else mark * (dice.random() < 0.4) + part
                  for part in dice.choices(parts, k=12)]
        special = sorted(dice.sample(range(12), 2))
        together = [[*one] for one in words_of(pieces, mark, special)]
        found.append([pieces, mark, special, together,
                      [word_text([pieces[at] for at in one], mark) for one in together]])
    return found


def packed() -> dict[str, object]:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.arange(5, dtype=np.uint8),
              "c": np.array([[65_535]], np.uint16),
              "lower": np.tril(np.arange(1, 19, dtype=np.float32).reshape(2, 3, 3))}
    arrays["short"] = np.array([[2**23 - 1, -(2**23 - 1), 1_234_567, 1, 0]], np.float32)
    message = base64.b64encode(pack({"text": "é"}, arrays, lower={"lower"}, short={"short"})).decode()
    return {"message": message,
            "arrays": {name: {"shape": array.shape, "values": listed(array)} for name, array in arrays.items()}}


def cells(reading) -> dict[str, object]:
    every = weights(reading, "decoder").numpy()  # (L, H, Tq, Tk)
    fine = quantise(every, FINEST)
    pooled = Pooled.of(reading, "decoder", most=16)
    combine = {of: listed(combined(reading, "decoder", of, 1).weights) for of in ("mean_heads", "mean_all", "rollout")}
    return {"shape": [2, *every.shape], "cells": listed(np.stack([fine >> 8, fine & 255])), "weights": listed(every),
            "block": pooled.block, "causal": True, "combined": combine,
            "pooled": {"shape": pooled.cells.shape, "cells": listed(pooled.cells)}}


def head(reading) -> dict[str, object]:
    one = one_head(reading, "decoder", 1, 1)
    q, k, _ = (rows[1, 1] for rows in reading.projections("decoder"))
    scores = q @ k.T / q.shape[-1] ** 0.5
    return {"shape": one.weights.shape, "width": q.shape[-1], "scores": listed(scores),
            **{name: listed(getattr(one, name)) for name in ("q", "k", "weights", "moved")}}


def modern(make_checkpoint) -> dict[str, object]:
    """Files of models with shared keys and values, a window in a layer, a cap, and a bias of each layer's own."""
    decoder = attend(make_checkpoint(encoder_layers=0, positions="alibi", **MODERN), TEXT)
    encoder = attend(make_checkpoint(decoder_layers=0, positions="disentangled", head="none", window=4,
                                     window_layers=(0,), attention_scale=0.2), TEXT)
    return {kind: {"message": base64.b64encode(whole(reading, Selection(kind), exact=False)).decode(),
                   "scores": [listed(reading.scores[kind][layer, 1].nan_to_num(neginf=-1e9)) for layer in range(2)],
                   "weights": [listed(reading.attentions[kind][layer, 1]) for layer in range(2)],
                   "mask": [listed(reading.mask(kind, layer)) for layer in range(2)]}
            for kind, reading in (("decoder", decoder), ("encoder", encoder))}


def choices() -> list[list[object]]:
    """Every combination of the choices that exclude one another, and what is made of it with a rollout and without."""
    names = ("of", "stage", "tokens", "special")
    every = [dict(zip(names, words, strict=True)) for words in product(*(CHOICES[name] for name in names))]
    return [[asked, rolls, settled(asked, rolls=rolls)] for asked in every for rolls in (True, False)]


PATHS = {"four heads, a long text": (2, 2, 4, "We can go home. " * 32), "four heads of three kinds": (2, 2, 4, None),
         "270 heads": (30, 9, 2, "I am cold. We"), "1,024 heads": (32, 32, 2, "I am cold. We")}


def paths(make_checkpoint) -> dict[str, object]:
    """Files of whole decodings, of few heads and of many, of few tokens and of many."""
    found = {}
    for name, (layers, heads, width, prompt) in PATHS.items():
        sizes = {"n_heads": heads, "head_dim": width, "d_model": heads * width, "decoder_layers": layers,
                 "max_len": 520, "encoder_layers": layers if prompt is None else 0}
        *_, step = steps(make_checkpoint(**sizes), prompt or "I am cold.", max_steps=3)
        message = whole(step, Selection("decoder"), path=path_of(step), newest=True)
        found[name] = {"message": base64.b64encode(message).decode(), "tokens": len(step.axes("decoder")[0]),
                       "last": {kind: listed(step.attentions[kind][-1, -1, -1]) for kind in step.kinds}}
    return found


def others() -> dict[str, object]:
    """Files of values that are no attention weights, of weights in half precision, and of one head alone in full."""
    scores = torch.randn(3, 4, 7, 7, generator=torch.Generator().manual_seed(3)) * 4
    exact = scores.masked_fill(~torch.ones(7, 7).tril().bool(), float("-inf")).softmax(-1)
    many = exact.repeat(20, 1, 1, 1)
    found = {"difference": exact - exact.roll(1, 0), "shifted": exact - 0.3, "large": exact * 50, "half": exact * 0.5,
             "tiny": (exact - exact.roll(1, 0)) * 1e-6, "many": many - many.roll(1, 0), "bfloat16": exact.bfloat16(),
             "float16": exact.half(), "weights": exact}
    out = {}
    for name, values in found.items():
        shown = ExternalWeights(values[:, None], list("abcdefg")).tensors()
        kind = shown.kinds[0]
        sent = {way: base64.b64encode(whole(shown, Selection(kind, 1, 2), exact=way == "exact")).decode()
                for way in ("exact", "pooled")}
        out[name] = {**sent, "kind": kind, "values": listed(values.float()), "most": float(values.abs().max())}
    return out


def small_ones(writer) -> list[dict[str, object]]:
    """A text that fits on a phone, and one of which only the end does, each with its weights."""
    found = []
    step = start(writer, TEXT)
    one, pooled = one_head(step, "decoder", 1, 1), Pooled.of(step, "decoder")
    for most in (MOST, 16):
        message = small(step, Selection("decoder", 1, 1), pooled, one, most=most)
        found.append({"message": base64.b64encode(message).decode(), "weights": listed(one.weights[-most:, -most:]),
                      "tokens": len(one.weights)})
    return found


def drawn() -> dict[str, object]:
    """Bars as a model has them and as they were drawn, and how far apart they are."""
    model, bars = [0.0, 0.7, 0.2, 0.1], [3.0, 0.0, 1.0, 4.0]
    given = shares(bars)
    return {"model": model, "bars": bars, "shares": given, "kl": divergence(model, given),
            "overlap": overlap(model, given)}


def smooth() -> dict[str, object]:
    """Kingma and Ba 2015, algorithm 1: the average divided by what its weights add up to."""
    values, weight, average, averages = np.random.default_rng(1).uniform(2, 4, 40), 0.9, 0.0, []
    for n, value in enumerate(values, 1):
        average = weight * average + (1 - weight) * value
        averages.append(average / (1 - weight ** n))
    return {"values": listed(values), "weight": weight, "smoothed": averages}


ALONE = re.compile(r"globalThis|\bmock\.|\b(?:before|after)(?:Each)?\(")  # what files in one process would share


@pytest.mark.slow
@needs_node
def test_the_scripts_compute_what_python_does(cases):
    tests = sorted((ROOT / "tests" / "js").glob("*.test.js"))
    alone = [path for path in tests if ALONE.search(path.read_text("utf-8"))]
    together = cases.with_name("together.mjs")
    together.write_text("".join(f'import "{path.as_uri()}";\n' for path in tests if path not in alone))
    command = [NODE, "--import", "./tests/js/styles.js", "--test", together, *alone]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {"HEADSUP_CASES": str(cases)},
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


VENDOR = JS / "vendor"
LATER = [JS / "export" / "film" / "make.js", JS / "export" / "figures" / "page.js", *VENDOR.glob("*/*.js")]
AT_ONCE = [path for folder in (JS, HERE) for path in sorted(folder.rglob("*.js"))
           if "vendor" not in path.parts and path not in LATER]


PARSE = """
const { SourceTextModule } = require("node:vm");
const wrong = [];
for (const [name, text] of JSON.parse(require("node:fs").readFileSync(0, "utf8"))) {
  try { new SourceTextModule(text); } catch (error) { wrong.push(`${name}: ${error.message}`); }
}
console.log(JSON.stringify(wrong));
"""


@pytest.mark.slow
def test_every_module_is_one_script_with_what_it_imports():
    made = {str(path): script(path) for path in (*AT_ONCE, *LATER)}
    assert [name for name, text in made.items() if "\nimport " in text] == []
    if NODE is not None:
        said = subprocess.run([NODE, "--experimental-vm-modules", "-e", PARSE], input=json.dumps([*made.items()]),
                              capture_output=True, text=True, timeout=60, check=True)
        assert json.loads(said.stdout) == []


SAME_TREE = """
import { parse } from "espree";
import { readFileSync } from "node:fs";
const tree = (text) => JSON.stringify(parse(text, { ecmaVersion: "latest", sourceType: "module" }), (key, value) =>
  ["start", "end", "range", "loc", "raw"].includes(key) ? undefined : value);
const each = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(each.filter(([, written, kept]) => tree(written) !== tree(kept)).map(([name]) => name)));
"""


@pytest.mark.slow
@pytest.mark.skipif(NODE is None or not (ROOT / "node_modules" / "espree").exists(), reason="needs `npm ci`")
def test_what_is_left_of_each_module_means_what_was_written():
    paths = [path for folder in ("transformer", "ui") for path in (ROOT / folder).rglob("*.js")
             if "vendor" not in path.parts]
    each = [[path.name, path.read_text("utf-8"), bare(path.read_text("utf-8"))]
            for path in paths]
    assert len(each) > 100
    said = subprocess.run([NODE, "--input-type=module", "-e", SAME_TREE], cwd=ROOT, input=json.dumps(each),
                          capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(said.stdout) == []


def run_of(text: str, folder: Path) -> list[str]:
    """The lines that a script prints."""
    (folder / "whole.mjs").write_text(text)
    return subprocess.run([NODE, "whole.mjs"], cwd=folder, capture_output=True, text=True, timeout=60,
                          check=True).stdout.splitlines()


def test_modules_that_import_each_other_or_what_is_not_exported_are_no_script(tmp_path):
    (tmp_path / "one.js").write_text('import { b } from "./two.js";\nexport const a = b;\n')
    (tmp_path / "two.js").write_text('import { a } from "./one.js";\nexport const b = a;\n')
    with pytest.raises(ValueError, match="import each other"):
        script(tmp_path / "one.js")
    (tmp_path / "two.js").write_text("const b = 1;\nexport const c = b;\n")
    with pytest.raises(ValueError, match=r"one\.js imports b, which two\.js does not export"):
        script(tmp_path / "one.js")
    (tmp_path / "one.js").write_text('import { b } from "./two.js"; // why\n')
    with pytest.raises(ValueError, match=r"one\.js imports in a way that no script is made of: import \{ b \}"):
        script(tmp_path / "one.js")
    (tmp_path / "one.js").write_text('import { b } from "./two.js";\n')
    (tmp_path / "two.js").write_text("export let b = 1;\n")
    with pytest.raises(ValueError, match=r"two\.js exports b, which may change"):
        script(tmp_path / "one.js")


@needs_node
def test_modules_that_declare_the_same_names_each_have_their_own(tmp_path):
    (tmp_path / "one.js").write_text('import { b, c as other } from "./two.js";\nimport { c } from "./three.js";\n'
                                     'const a = "one";\nfunction say() {\n  return [a, b(), other, c];\n}\n'
                                     'console.log(say().join());\n')
    (tmp_path / "two.js").write_text('import { a } from "./three.js";\nconst say = () => a;\nexport const b = say;\n'
                                     'export const c = "two";\n')
    (tmp_path / "three.js").write_text('export const a = "three";\nexport const c = a;\nfunction say() {}\nsay();\n')
    assert run_of(script(tmp_path / "one.js"), tmp_path) == ["one,three,two,three"]


def test_a_style_comes_as_text_and_only_the_module_asked_for_exports(tmp_path):
    (tmp_path / "one.js").write_text('import STYLE from "./one.css";\nimport {\n  b,\n} from "./two.js";\n'
                                     "// why\nexport const a = [\n  STYLE,\n  b,\n];\n")
    (tmp_path / "one.css").write_text('a { content: "é"; }\n')
    (tmp_path / "two.js").write_text("export const b = 1;\n")
    assert script(tmp_path / "one.js") == (
        'const $0="a { content: \\"\\u00e9\\"; }";\nconst $1=(()=>{\nconst b = 1;\nreturn {b}})();\n'
        "const STYLE=$0;\nconst {b}=$1;\nexport const a = [STYLE,b,];\n")


def test_a_text_of_several_lines_keeps_what_looks_like_a_comment_or_an_indent(tmp_path):
    """As a style or a program in a template has them; a quote in a pattern opens no text."""
    (tmp_path / "one.js").write_text("""// why
/** @param {string} text */
const quoted = (text) => text.replace(/"`/g, '""'); // isn't it;

function twice() {
  // it's so
  return `a { // "
  b: ${[1].map((n) => `${n}`)};
//c
}`;
}
export const say = () => [twice(), quoted('"`')];
""")
    text = script(tmp_path / "one.js")
    assert "\n  b: ${" in text and "\n//c\n}`" in text
    assert not any(spare in text for spare in ("why", "it's so", "isn't it", "@param", "\n  return", "\n\n"))
    if NODE is None:
        return
    (said,) = run_of(text + "console.log(JSON.stringify(say()));\n", tmp_path)
    assert json.loads(said) == ['a { // "\n  b: 1;\n//c\n}', '""']


def test_types_stay_behind_and_what_they_are_of_does_not(tmp_path):
    (tmp_path / "one.js").write_text('''/** @import { Two } from "./two.js" */
/**
 * @param {number[]} at "`
 */
export const say = (/** @type {number[]} */ [a, b]) => /** @type {string} */ (`${a}/**/${b}`); // of "*.js", /*
class One {
  /** @type {Two | null} */
  two = null;
}
export const opens = (text) => /^\\/*"/.test(text);
/** @type {One} */ (new One()).two = /** @type {Two} */ (say([1, 2]));
''')
    assert script(tmp_path / "one.js") == (
        "export const say = ([a, b]) => (`${a}/**/${b}`);\nclass One {two = null;}\n"
        'export const opens = (text) => /^\\/*"/.test(text);(new One()).two = (say([1, 2]));\n')


@needs_node
def test_what_others_have_written_gives_its_exports_under_their_names_wherever_it_is_kept(tmp_path):
    other = tmp_path / "js" / "vendor" / "other" / "other.js"
    other.parent.mkdir(parents=True)
    other.write_text("const a=1,b=2,c=3;export{a as first,b,c as default};\n")
    (tmp_path / "js" / "one.js").write_text('import { default as whole, first } from "./vendor/other/other.js";\n'
                                            "console.log(first + whole);\n")
    text = script(tmp_path / "js" / "one.js")
    assert "\nconst a=1,b=2,c=3;\n" in text and run_of(text, tmp_path) == ["4"]


def test_what_an_imported_module_is_as_a_component_of_its_own_stays_behind(tmp_path):
    (tmp_path / "one.js").write_text('import { b } from "./two.js";\nb();\n')
    (tmp_path / "two.js").write_text("export default function component() {}\nexport function b() {}\n")
    assert script(tmp_path / "one.js") == (
        "const $0=(()=>{\nfunction component() {}\nfunction b() {}\nreturn {b}})();\nconst {b}=$0;\nb();\n")


def test_what_is_imported_later_comes_from_its_address_or_not_at_all(tmp_path):
    (tmp_path / "one.js").write_text('export const load = () => import("./two.js");\n')
    (tmp_path / "two.js").write_text("export const b = 1;\n")
    assert script(tmp_path / "one.js", lambda path: f"./{path.stem}-1234.js") == (
        'export const load = () => import("./two-1234.js");\n')
    assert "import(" not in script(tmp_path / "one.js")
    assert "Promise.reject" in script(tmp_path / "one.js")


def test_what_comes_along_is_there_when_it_is_imported_later(tmp_path):
    (tmp_path / "one.js").write_text('import { count } from "./count.js";\nconst a = "outside";\n'
                                     'console.log(a, count());\n'
                                     'import("./two.js").then(({ b }) => console.log(b(), count()));\n')
    (tmp_path / "count.js").write_text("let counted = 0;\nexport const count = () => ++counted;\n")
    (tmp_path / "two.js").write_text('import { count } from "./count.js";\nimport { a } from "./three.js";\n'
                                     'const tell = () => a;\nexport function b() {\n  return [tell(), count()];\n}\n')
    (tmp_path / "three.js").write_text('export const a = "inside";\nconst count = 2;\nexport const own = count;\n')
    text = script(tmp_path / "one.js", along=["./two.js"])
    assert text.count("let counted") == 1 and "import(" not in text
    if NODE is not None:
        assert run_of(text, tmp_path) == ["outside 1", "[ 'inside', 2 ] 3"]


@each_row("entry", AT_ONCE)
def test_no_script_that_every_visitor_gets_holds_what_makes_films_and_zips(entry):
    text = script(entry, lambda path: path.name)
    for name in ("gifenc", "mediabunny", "fflate"):
        assert f"/*! {name}" in (VENDOR / name / f"{name}.js").read_text("utf-8")
        assert f"/*! {name}" not in text
    assert "function writeGif" not in text


@pytest.mark.parametrize("folder", sorted(VENDOR.iterdir()), ids=lambda path: path.name)
def test_other_peoples_modules_say_where_they_are_from(folder):
    readme = (folder / "README.md").read_text("utf-8")
    first = (folder / f"{folder.name}.js").read_text("utf-8").splitlines()[0]
    name, version, licence, address = re.fullmatch(r"/\*! (\S+) ([\d.]+), (\S+), (\S+) \*/", first).groups()
    assert readme.startswith(f"# {name} {version}\n") and licence in readme and address in readme
    assert (folder / "LICENSE").stat().st_size > 1000


def test_a_script_that_is_fetched_later_leads_to_no_other_that_leads_back():
    """As the server makes them: each has an address by its content, and so by that of those that it fetches."""
    for entry in AT_ONCE:
        scripts.kept_script(entry.stem, entry)

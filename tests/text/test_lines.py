"""Lines end where every other tool says they do, wherever people's text is read line by line."""

import json
import sys

import pytest

import transformer
from transformer.analysis.alignment_error import read_aligned
from transformer.basics.paths import ROOT
from transformer.commands.runs import NewLines
from transformer.lessons.parsing import parse
from transformer.text.corpora import TextCorpus, passages
from transformer.text.lines import lines_of
from ui.views.heads.sample import read_own

WITHIN = [sign for sign in map(chr, range(sys.maxunicode + 1))
          if len(f"a{sign}b".splitlines()) > 1 and sign not in "\r\n"]
ALL = "".join(WITHIN)
GENERATED = {  # what splits messages and logs of programs, and bytes, which have no such signs
    "huggingface/source.py", "huggingface/tokenizer_conversion.py", "jobs/checks.py", "jobs/launch.py",
    "jobs/ray_cluster.py", "model/sites.py", "training/memory_size.py", "training/ray_job.py", "training/trainer.py",
    "server/caddy.py", "server/health.py", "views/train/run_check.py"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_ends_at_a_newline_alone(end):
    lines = [f"a{sign}b" for sign in WITHIN] + ["", " c ", ""]
    assert len(WITHIN) > 5 and "\u2028" in ALL
    assert lines_of(end.join(lines)) == lines_of(end.join(lines) + end)[:-1] == lines[:-1]
    assert lines_of(end.join(["a", "b"])) == lines_of(end.join(["a", "b", ""])) == ["a", "b"]
    assert lines_of("") == [] and lines_of(end) == [""] and lines_of(end * 2) == ["", ""]
    text = f"a{ALL}b{end}{end}c"
    assert lines_of(text, keep_ends=True) == [f"a{ALL}b{end}", end, "c"]
    assert lines_of("a\n\rb\r\n\nc") == ["a", "", "b", "", "c"]


def test_what_is_read_line_by_line_has_as_many_lines_as_were_written(writer, translator, tmp_path):
    odd = f"I see{ALL}a dog."
    assert len(read_own(writer, f"{odd}\nGo on.")) == 2
    with pytest.raises(ValueError, match="line 2: "):
        read_own(translator, f"I am{ALL}cold.|J'ai froid.\n{'a' * 100}|Va.")
    path = tmp_path / "aligned.txt"
    path.write_text("# of\u2028two\nI am cold\u2028.\tJ'ai froid\t0-0\n", "utf-8")
    assert [one.source for one in read_aligned(path)] == ["I am cold\u2028."]
    text = TextCorpus("mine", "0" * 64, "", "", f"{odd}\nGo on.\n" * 40)
    assert {one for one, _ in passages(text)} == {odd, "Go on."}
    lesson = ("---\ntitle: A\u2028b\nminutes: 5\ndescription: c\n---\n\n## D\x85e\n\nF\u2029g.\n\n- link: "
              "/translate?text=Go+on.\n")
    found = parse(lesson.encode(), "one")
    assert found.title == "A\u2028b" and [stop.title for stop in found.stops] == ["D\x85e"]
    (tmp_path / "rows").write_text('{"step": 1, "why": "a\u2028b"}\n', "utf-8")
    assert NewLines.read(type("FromTheStart", (), {"path": tmp_path / "rows", "_at": 0})()) == [
        '{"step": 1, "why": "a\u2028b"}']


@pytest.mark.parametrize("how", ["file", "stdin", "json"])
def test_a_translation_a_line(headsup, translator, tmp_path, monkeypatch, how):
    texts = ["I am cold.", *(f"I like{sign}red wine." for sign in WITHIN), "", "Go on."]
    folder = translator.description.folder
    path = tmp_path / "said.txt"
    path.write_text("\r\n".join(texts) + "\r\n", "utf-8", newline="")
    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        options = ["--file", path] if how == "file" else ["--json"] if how == "json" else []
        code, out, _ = headsup("translate", folder, *options, "--device", "cpu")
    expected = transformer.translate(translator, texts)
    assert code == 0
    lines = json.loads(out)["translations"] if how == "json" else out.split("\n")[:-1]
    assert lines == (expected if how == "json" else [" ".join(lines_of(one)) for one in expected])
    path.write_text("")
    assert headsup("translate", folder, "--file", path, "--device", "cpu")[:2] == (0, "")


def test_nothing_else_splits_peoples_text_where_no_line_ends():
    found = {str(path.relative_to(ROOT / folder)) for folder in ("transformer", "ui", "pages")
             for path in (ROOT / folder).rglob("*.py") if ".splitlines(" in path.read_text("utf-8")}
    assert found == GENERATED

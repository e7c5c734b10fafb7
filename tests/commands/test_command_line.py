"""What the command line prints: results to standard output, all else to standard error."""

import json
from datetime import date
from importlib import metadata

import transformer
from transformer.analysis.jacobian_lens import read_jacobian_lens
from transformer.checkpoints import checkpoint
from transformer.commands import serve
from transformer.commands.output import lines, table
from transformer.huggingface.language_codes import languages_of
from transformer.measures.catalogue import MEASURES
from transformer.text.corpora import corpus
from transformer.text.lines import lines_of


def test_results_go_to_standard_output(headsup, writer, translator, tmp_path):
    folder, play = writer.description.folder, tmp_path / "play.txt"
    play.write_text("I see a dog and a cat.\nWho is it?\n" * 60)
    code, out, err = headsup("roles", folder, "--corpus", play, "--limit", 4, "--explain", "--device", "cpu")
    assert not code
    assert " previous " in out and "most in layer" in out and "uniform" in out
    assert "most in layer" not in err
    assert all(measure.explained in out for measure in MEASURES if "decoder" in measure.kinds)
    code, out, err = headsup("contexts", folder, "--head", "D1H0", "--measure", "previous", "--corpus", play, "--limit",
                             20, "--out", tmp_path / "head.json", "--device", "cpu")
    assert not code and out.startswith("D1H0 of ") and "band 5 of 5" in out and f"written to {tmp_path}" in err
    assert json.loads((tmp_path / "head.json").read_text())["origin"]["head"] == "D1H0"
    code, out, _ = headsup("contexts", folder, "--head", "D1H0", "--corpus", play, "--limit", 4, "--json", "--device",
                           "cpu")
    said = json.loads(out)
    assert (said["head"], said["measure"], said["texts"]) == ("D1H0", "peak", 4) and said["contexts"][0]["band"] == 5
    for asked, why in ((("D1H7",), "no site 'D1H7'"), (("decoder.0",), "names no head"),
                       (("D0H0", "--measure", "x"), "no measure 'x' of decoder attention; choose one of peak, ")):
        code, out, err = headsup("contexts", folder, "--head", *asked, "--corpus", play, "--device", "cpu")
        assert (code, out) == (2, "") and why in err
    code, out, _ = headsup("ablate", folder, "--corpus", play, "--limit", 2, "--out", tmp_path / "off", "--device",
                           "cpu")
    assert not code
    assert f"folder  {tmp_path}" in out
    assert "state  finished" in out
    code, out, _ = headsup("lens", folder, "--kind", "jacobian", "--corpus", play, "--limit", 4, "--device", "cpu")
    assert not code
    assert out.startswith("decoder depth  top token is the output's, logit lens  Jacobian lens  KL")
    assert "encoder" not in out
    assert headsup("write", folder, "I see", "--steps", 3, "--device", "cpu")[1].startswith("I see")
    code, out, err = headsup("export", folder, "--huggingface", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "error: logits_bias is True, and GPT-NeoX can only express False" in err


def test_an_error_is_one_line_with_every_character_of_it(headsup, tmp_path):
    (tmp_path / "file").write_text("")
    train = ("train", "--preset", "reverse", "--out")
    for asked, begins, ends in (
            (("evaluate", tmp_path / "[bold]gone[SEP]"), "there is no folder [bold]gone[SEP]; ", ""),
            ((*train, tmp_path / "file/run"), tmp_path / "file/run", ": Not a directory"),
            ((*train, tmp_path / (300 * "a")), tmp_path / (300 * "a"), ": File name too long")):
        code, out, err = headsup(*asked, "--device", "cpu")
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {begins}") and err.endswith(f"{ends}\n") and err.count("\n") == 1
    assert headsup("--version") == (0, f"{metadata.version('headsup-attention')}\n", "")


def test_pages_without_their_packages_are_a_sentence(headsup, monkeypatch, tmp_path):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert headsup("app") == (2, "", "error: the pages need streamlit, plotly, altair, prometheus_client, segno; "
                                 "`pip install -r requirements.txt` brings them\n")
    monkeypatch.setattr(serve, "ROOT", tmp_path)
    assert "the library alone is installed" in headsup("app")[2]


def test_list_shows_all_that_the_pages_offer_in_one_table(headsup, writer, translator, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    for place, ckpt, name in (("imports", translator, "theirs"), ("uploads", writer, "sent"),
                              ("checkpoints", writer, "kept")):
        checkpoint.save(tmp_path / place / name, ckpt.model, tokenizer=ckpt.tokenizer, meta={
            "step": 1234, "metrics": {"bleu": 12.3456, "bleu_human": 48.3} if place == "imports" else {},
            "validation_loss": 1.5})
    (tmp_path / "uploads" / "torn").mkdir()
    (tmp_path / "uploads" / "torn" / "config.json").write_text("{")
    code, out, err = headsup("list")
    assert not code
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["checkpoint", "task", "layers", "heads", "d_model", "parameters", "step", "quality", "folder"]
    assert [row[0].split("@")[0] for row in rows] == ["classify", "punctuate", "translate", "write", "kept", "sent",
                                                      "theirs"]
    assert rows[-1][1:5] == ["translates", "2+2", "2", "16"]
    assert rows[-1][6:11] == ["1,234", "BLEU", "12.35,", "people's", "48.30"]
    assert rows[-2][7:10] == ["held-out", "loss", "1.5000"]
    assert "left out: torn/config.json is not readable JSON" in err
    code, out, _ = headsup("list", tmp_path / "imports", "--json")
    found = json.loads(out)["checkpoints"]
    assert out.count("\n") == 1
    assert [one["folder"] for one in found] == [str(tmp_path / "imports" / "theirs")]


def test_a_file_is_translated_line_by_line_and_never_its_name(headsup, translator, tmp_path):
    file, folder = tmp_path / "said.txt", translator.description.folder
    file.write_text("I am cold.\nGo on.\n")
    expected = transformer.translate(translator, ["I am cold.", "Go on."])
    assert any("\n" in one for one in expected)  # which is no further line
    assert headsup("translate", folder, "--file", file, "--device", "cpu")[1] == "".join(
        f"{' '.join(lines_of(one))}\n" for one in expected)
    code, out, err = headsup("translate", folder, file, "--device", "cpu")
    assert (code, out) == (2, "")
    assert f"{file} is a file, and arguments are sentences; --file {file} translates its lines" in err
    assert "choose one" in headsup("translate", folder, "Go on.", "--file", file, "--device", "cpu")[2]
    assert "cannot be read" in headsup("translate", folder, "--file", tmp_path / "gone.txt", "--device", "cpu")[2]
    file.write_bytes(b"caf\xe9")
    assert "byte 3 is wrong" in headsup("translate", folder, "--file", file, "--device", "cpu")[2]


def test_a_change_that_acts_on_nothing_is_an_error_and_one_that_no_token_came_to_a_note(headsup, translator, writer):
    asked = ["translate", translator.description.folder, "I am cold.", "--device", "cpu", "--change"]
    code, out, err = headsup(*asked, '{"how": "cut", "site": "cross.0", "edges": [[0, 30]]}')
    assert (code, out) == (2, "") and err == ("error: cut cross.0, 0 to 30 changes nothing: there is no key 30, as the "
                                              "source has 11 tokens; name keys from 0 to 10\n")
    asked = ["write", writer.description.folder, "I am", "--steps", 3, "--temperature", 0, "--device", "cpu"]
    change = '{"how": "scale", "site": "decoder.0.z", "rows": [%d], "factor": 0}'
    code, out, err = headsup(*asked, "--change", change % 30)
    assert (code, out) == headsup(*asked)[:2]
    assert err == ("note: scale decoder.0.z by 0, row 30 changed nothing: there is no row 30, as the text has 6 "
                   "tokens; name rows from 0 to 5\n")
    assert headsup(*asked, "--change", change % 5)[2] == ""


def test_ids_that_follow_a_prompt_of_ids_stand_apart_from_it(headsup, make_checkpoint, tmp_path):
    shown = make_checkpoint(encoder_layers=0, positions="rotary")
    checkpoint.save(tmp_path / "ids", shown.model, tokenizer=None)
    ckpt = transformer.load(tmp_path / "ids")
    *_, last = transformer.steps(ckpt, "10 20 21", max_steps=3, forced={0: 5, 1: 8, 2: 7})
    assert last.whole == "10 20 21 5 8 7"
    assert transformer.start(ckpt, "").whole == str(transformer.start(ckpt, "").id)
    text = transformer.start(shown, "I am").whole
    assert text.startswith("I am")
    assert text == "I am" + transformer.start(shown, "I am").output
    out = headsup("write", tmp_path / "ids", "10 20 21", "--steps", 2, "--device", "cpu")[1]
    assert out.startswith("10 20 21 ")
    assert len(out.split()) == 5


def test_a_result_is_one_line_a_value():
    assert lines({"n": 12345, "loss": 1.23456789, "kinds": ("a", "b"), "none": None, "by": {"x": True}}) == [
        "    n  12,345", " loss  1.234568", "kinds  a, b", "by: x  True"]
    assert table([{"a": 1, "bb": "x"}, {"a": 1000, "bb": ""}]) == ["a      bb", "1      x", "1,000"]


# What a checkpoint says of itself


def test_the_shipped_checkpoints_say_when_they_were_saved_and_what_they_translate():
    for name in ("translate", "write", "classify"):
        about = checkpoint.describe(f"checkpoints/{name}")
        assert date.fromisoformat(about.meta["saved"]) >= date(2026, 11, 21)
        assert all("saved" in checkpoint.describe(one).meta for one in checkpoint.snapshots(about.folder))
        assert about.languages == (("English", "French") if name == "translate" else None)


def test_languages_are_those_of_the_corpus_or_of_the_import_whose_folder_names_them(translator, tmp_path):
    assert translator.description.languages is None
    for given, found in ((["English", "German"], ("English", "German")), (["x", 5], None)):
        checkpoint.save(tmp_path / "one", translator.model, tokenizer=translator.tokenizer, meta={"languages": given})
        assert checkpoint.describe(tmp_path / "one").languages == found
    (tmp_path / "mine.tsv").write_text("I am cold.\tJ'ai froid.\nGo on.\tContinue.\n")
    assert corpus(str(tmp_path / "mine.tsv")).languages is None
    for settings, called, found in (
            ({"source_lang": "en", "target_lang": "de"}, "opus-mt-en-fr", ["English", "German"]),
            ({"source_lang": "eng", "target_lang": "fra"}, "x", ["English", "French"]),
            ({}, "Helsinki-NLP/opus-mt-en-fr", ["English", "French"]),
            ({}, "opus-mt-tc-big-fi-sv", ["Finnish", "Swedish"]),
            ({"target_lang": "ROMANCE", "source_lang": "en"}, "opus-mt-en-ROMANCE", None),
            ({"source_lang": ["en"], "target_lang": "de"}, "mine", None)):
        assert languages_of(settings, called) == found, (settings, called)


def test_a_jacobian_lens_is_measured_and_kept_where_heads_looks(headsup, translator, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    (tmp_path / "pairs.tsv").write_text("".join(f"I see {word}.\tWe go {word}.\n" for word in "abcdeghimnostw" * 9))
    code, out, _ = headsup("lens", translator.description.folder, "--kind", "jacobian", "--corpus",
                           tmp_path / "pairs.tsv", "--write", "--device", "cpu", "--json")
    assert not code
    found = json.loads(out.splitlines()[-1])
    assert [row["encoder depth"] for row in found["encoder"]] == [0, 1, 2]
    assert [row["decoder depth"] for row in found["decoder"]] == [0, 1, 2]
    kept = read_jacobian_lens(translator, tmp_path / "analysis")
    assert kept.predictions == found["predictions"] and kept.corpus.endswith("pairs.tsv")

"""Corpora: found in the right order, verified, and split by rule, on made-up text unless the real one is at hand."""

import hashlib
import os
import zipfile

import pytest

from transformer.text import corpora
from transformer.text.corpora import CorpusChanged, CorpusMissing, at_hand, corpus, split_sources, unseen

REAL = pytest.mark.skipif(not os.environ.get("HEADSUP_DATA"), reason="HEADSUP_DATA names no folder with the corpora")
PAIRS = "Go.\tVa !\n" + "".join(f"Number {i}.\tNuméro {i}.\n" for i in range(4100)) + "Go.\tBouge\u202f!\n"


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """No data folder, an empty cache, no network; gives the cache folder."""

    def refuse(url, *args, **kwargs):
        raise OSError("no network")

    monkeypatch.delenv("HEADSUP_DATA", raising=False)
    monkeypatch.setattr(corpora.pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(corpora.pooch, "retrieve", refuse)
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def made_up(folder):
    folder.mkdir(exist_ok=True)
    (folder / "fra.txt").write_text(PAIRS, encoding="utf-8")
    return folder


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'enwik8'; known: tiny-shakespeare, eng-fra"):
        corpus("enwik8")


@pytest.mark.usefixtures("alone")
def test_the_two_sentences_come_with_the_library():
    assert at_hand("sentiment")
    found = corpus("sentiment")
    assert found.splits == {"train": [("this is awesome", "positive"), ("i hated it", "negative")]}
    assert found.classes == ("positive", "negative")
    assert corpus("sentiment").sha256 == found.sha256


@pytest.mark.parametrize(("name", "file"), [("tiny-shakespeare", "tinyshakespeare.txt"), ("eng-fra", "fra-eng.zip")])
def test_a_corpus_that_is_nowhere_says_what_to_put_where(alone, name, file):
    with pytest.raises(CorpusMissing) as missing:
        corpus(name)
    for wanted in (file, str(alone), "HEADSUP_DATA", "http"):
        assert wanted in str(missing.value)


def test_downloads_are_tried_in_order_and_land_in_the_cache(alone, monkeypatch):
    tried = []

    def retrieve(url, known_hash, *, fname, path, progressbar):
        tried.append(url)
        if len(tried) == 1:
            raise ValueError("hash of downloaded file does not match")
        with zipfile.ZipFile(path / fname, "w") as archive:
            archive.writestr("fra.txt", PAIRS)
        return str(path / fname)

    monkeypatch.setattr(corpora.pooch, "retrieve", retrieve)
    first = corpus("eng-fra", allow_changed=True)
    assert corpus("eng-fra", allow_changed=True) is first
    assert [url.split("/")[2] for url in tried] == ["d2l-data.s3-accelerate.amazonaws.com", "storage.googleapis.com"]


def test_the_named_folder_comes_before_the_environment_and_the_cache(alone, tmp_path, monkeypatch):
    folders = {name: tmp_path / name for name in ("given", "environment", "cache")}
    for name, folder in folders.items():
        folder.mkdir(exist_ok=True)
        (folder / "input.txt").write_text(name * 10)
    monkeypatch.setenv("HEADSUP_DATA", str(folders["environment"]))

    def found(data_dir):
        return corpus("tiny-shakespeare", data_dir=data_dir, allow_changed=True).text[:5]

    assert found(folders["given"]) == "given"
    assert found(tmp_path / "nothing here") == "envir"
    monkeypatch.delenv("HEADSUP_DATA")
    assert found(None) == "cache"


def test_a_changed_text_is_used_only_when_asked_for_and_recorded(alone, tmp_path):
    folder = made_up(tmp_path / "data")
    digest = hashlib.sha256(PAIRS.encode()).hexdigest()
    with pytest.raises(CorpusChanged, match=f"{digest}.*0bb85dbaa1c8"):
        corpus("eng-fra", data_dir=folder)
    assert corpus("eng-fra", data_dir=folder, allow_changed=True).sha256 == digest


def test_a_replaced_file_is_read_again(alone, tmp_path):
    for text in ("first\n", "second one\n"):
        (tmp_path / "input.txt").write_text(text)
        assert corpus("tiny-shakespeare", data_dir=tmp_path, allow_changed=True).text == text


def test_the_text_decides_whatever_it_is_packed_in(alone, tmp_path):
    plain = corpus("eng-fra", data_dir=made_up(tmp_path / "plain"), allow_changed=True)
    (tmp_path / "packed").mkdir()
    with zipfile.ZipFile(tmp_path / "packed" / "fra-eng.zip", "w") as archive:
        archive.writestr("_about.txt", "about")
        archive.writestr("fra.txt", PAIRS)
    packed = corpus("eng-fra", data_dir=tmp_path / "packed", allow_changed=True)
    assert packed == plain
    assert packed.split("test") == plain.split("test")


def test_references_keep_their_order_and_their_spaces(alone, tmp_path):
    pairs = corpus("eng-fra", data_dir=made_up(tmp_path), allow_changed=True)
    split, references = pairs.find("Go.")
    assert references == ["Va !", "Bouge\u202f!"]
    assert ("Go.", references) in pairs.split(split)
    assert pairs.find("go.") is None


def test_sources_are_dealt_by_their_hash_and_never_twice(alone, tmp_path):
    pairs = corpus("eng-fra", data_dir=made_up(tmp_path), allow_changed=True)
    splits = {name: [source for source, _ in pairs.split(name)] for name in ("test", "validation", "train")}
    assert [len(sources) for sources in splits.values()] == [2000, 2000, 101]
    hashes = [hashlib.sha256(source.encode()).hexdigest() for sources in splits.values() for source in sources]
    assert hashes == sorted(set(hashes))


def test_the_split_does_not_depend_on_the_order_of_the_file():
    sources = [f"Number {i}." for i in range(20)]
    splits = split_sources(sources, held_out=3)
    assert splits == split_sources(sources[::-1], held_out=3)
    assert [len(splits[name]) for name in ("test", "validation", "train")] == [3, 3, 14]


def test_shakespeare_is_cut_once_at_nine_tenths(alone, tmp_path):
    (tmp_path / "input.txt").write_text("0123456789" * 10 + "abc")
    text = corpus("tiny-shakespeare", data_dir=tmp_path, allow_changed=True)
    assert text.split("train") + text.split("validation") == text.text
    assert len(text.split("train")) == 92


def test_a_split_that_is_not_there_is_refused_with_those_that_are(alone, tmp_path):
    (tmp_path / "input.txt").write_text("To be")
    with pytest.raises(ValueError, match="no split 'test'; it has 2: train, validation"):
        corpus("tiny-shakespeare", data_dir=tmp_path, allow_changed=True).split("test")
    with pytest.raises(ValueError, match="no split 'dev'; it has 3: train, validation, test"):
        corpus("eng-fra", data_dir=made_up(tmp_path), allow_changed=True).split("dev")


def test_unseen_leaves_out_near_copies_and_known_translations():
    train = [("Go on!", ["Continue !"]), ("It's a cat - mine.", ["Un chat."]), ("Stop.", ["Arrête.", "Stop."])]
    test = {
        ("go on", ("Vas-y.",)): False,  # case and punctuation
        ("Its a cat, mine", ("C'est mon chat.",)): False,
        ("Halt.", ("Arrête.", "Continue !")): False,  # every reference is a training target
        ("Freeze.", ("Arrête.", "Plus un geste.")): True,
        ("Go on then.", ("Continue.",)): True,
    }
    assert unseen([(source, list(references)) for source, references in test], train) == list(test.values())


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("fra.txt", b"Go.\tVa !\nbroken\n", "line 2: 1 column where 2 are needed"),
        ("fra.txt", b"Go.\tVa\xff\n", "not UTF-8 text: byte 6"),
        ("fra.txt", b"Go.\tVa !\r\n", "1 different sources, and 4,000 of them are held out"),
        ("fra-eng.zip", b"PK\x03\x04 cut short", "not a whole zip"),
    ],
)
def test_a_broken_file_is_refused_by_name_and_place(alone, tmp_path, file, content, said):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=said) as refused:
        corpus("eng-fra", data_dir=tmp_path, allow_changed=True)
    assert str(tmp_path / file) in str(refused.value)


def test_a_third_column_and_windows_line_ends_are_read_over(alone, tmp_path):
    credited = PAIRS.replace("\n", "\tCC-BY 2.0 (France)\r\n")
    (tmp_path / "fra.txt").write_bytes(credited.encode())
    assert corpus("eng-fra", data_dir=tmp_path, allow_changed=True).find("Number 7.")[1] == ["Numéro 7."]


@REAL
def test_the_real_test_sources_are_the_ones_results_are_stated_for():
    pairs = corpus("eng-fra")
    test = pairs.split("test")
    assert hashlib.sha256("\n".join(source for source, _ in test).encode()).hexdigest() == corpora.TEST_SOURCES_SHA256
    assert (len(test), len(pairs.split("validation")), len(pairs.split("train"))) == (2000, 2000, 112_830)
    assert sum(unseen(test, pairs.split("train"))) == 1839


@REAL
def test_the_real_shakespeare_is_whole():
    text = corpus("tiny-shakespeare")
    assert (len(text.split("train")), len(text.split("validation"))) == (1_003_854, 111_540)

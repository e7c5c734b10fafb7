"""Corpora of the library are complete and as the catalogue describes them; every corpus is split the same way."""

import hashlib
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product

import pytest

from tests.rows import each_row
from tests.waiting import until
from transformer.text import corpora
from transformer.text import corpus_catalogue as sources
from transformer.text.corpora import HELD_OUT, corpus, is_available, neighbours, split_pairs, split_sources, unseen
from transformer.text.corpus_catalogue import PACKED, SOURCES, find_source, unpack

NAMES = [source.name for source in SOURCES]


@pytest.fixture
def unread(monkeypatch) -> None:
    """Nothing has been read yet, and what other tests have read is there for those that follow."""
    monkeypatch.setattr(corpora, "_read", cache(corpora._read.__wrapped__))


def packed(path, content, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("text.txt", content)
    return path


def test_an_unknown_corpus_or_split_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=f"'enwik8'; there are {', '.join(NAMES)}, or give the path of a .tsv"):
        corpus("enwik8")
    assert not is_available("enwik8")
    with pytest.raises(ValueError, match="no split 'test'; it has 2: train, validation"):
        corpus("tiny-shakespeare").split("test")
    with pytest.raises(ValueError, match="no split 'dev'; it has 3: train, validation, test"):
        corpus("eng-fra").split("dev")


@pytest.mark.slow
@each_row("source", SOURCES)
def test_the_text_is_the_one_that_results_are_stated_for(source):
    if source.synthetic:
        assert hashlib.sha256(source.make().encode()).hexdigest() == source.sha256
        return
    with zipfile.ZipFile(PACKED / source.file) as archive:
        [member] = archive.namelist()
        assert hashlib.sha256(archive.read(member)).hexdigest() == source.sha256


def test_the_sizes_that_are_said_are_those_of_the_texts_and_packed_files_say_whose_they_are_and_keep_their_references():
    assert len(corpus("eng-fra").splits["train"]) > HELD_OUT
    pairs = sum(len(references) for split in corpus("eng-fra").splits.values() for references in split.values())
    assert find_source("eng-fra").size == f"{pairs:,} pairs"
    plays = corpus("tiny-shakespeare")
    assert find_source("tiny-shakespeare").size == f"{len(plays.text) / 1e6:.1f} million characters"
    assert (len(plays.split("train")), len(plays.split("validation"))) == (1_003_854, 111_540)
    assert len(corpus("speakers").classes) == 10
    text = corpus("sentiment")
    assert text.splits == {"train": [("this is awesome", "positive"), ("i hated it", "negative")]}
    assert text.classes == ("positive", "negative")
    assert text.measured_on == "train"
    assert {path.name for path in PACKED.glob("*.zip")} == {source.file for source in SOURCES if not source.synthetic}
    assert all(bool(source.file) != source.synthetic for source in SOURCES)
    assert all(source.licence and source.attribution for source in SOURCES)
    eng_fra = find_source("eng-fra").attribution  # which its licence asks for
    assert "tatoeba.org" in eng_fra and "manythings.org/anki" in eng_fra
    split, references = corpus("eng-fra").find("Run!")
    assert references == ["Cours\u202f!", "Courez\u202f!"]
    assert ("Run!", references) in corpus("eng-fra").split(split)
    assert corpus("eng-fra").find("run!") is None


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_a_corpus_is_what_it_says_and_has_every_class_in_every_split_and_no_text_in_two_and_those_to_watch(source):
    text = corpus(source.name)
    assert is_available(source.name)
    assert (text.name, text.form, text.sha256) == (source.name, source.form, source.sha256)
    assert (text.licence, text.attribution) == (source.licence, source.attribution)
    assert set(text.splits) == set(source.splits)
    assert text.measured_on == source.measured_on
    assert getattr(text, "languages", None) == source.languages
    assert corpus(source.name) is text  # read once
    if not source.synthetic:  # a rule makes any number of them
        assert all(pinned in text.text if source.form == sources.TEXT else text.find(pinned)
                   for pinned in source.pinned)
    splits = {name: text.split(name) for name in source.splits}
    assert all(splits.values())
    if source.form == sources.TEXT:
        assert "".join(splits.values()) == text.text
        return
    if source.form == sources.CLASSES:
        assert all({label for _, label in items} == {*text.classes} for items in splits.values())
    texts = [{item[0] for item in items} for items in splits.values()]
    assert len(set.union(*texts)) == sum(map(len, texts))


RULES = {
    "reverse": lambda text, target: target == text[::-1],
    "sort": lambda text, target: target == "".join(sorted(text)),
    "add": lambda text, target: int(target) == sum(map(int, text.split("+"))) and len(target) == 4,
    "repeat": lambda text, target: any(len(text) == 4 * n and text == 4 * text[:n] and len(set(text)) == n
                                       for n in range(5, 16)),
    "brackets": lambda text, target: _closes(text)}


def _closes(text):
    """Whether nothing is left once every pair side by side is taken out."""
    for _ in text:
        for kind in ("()", "[]", "{}", "<>"):
            text = text.replace(kind, "")
    return not text


@pytest.mark.parametrize("source", [source for source in SOURCES if source.synthetic], ids=lambda source: source.name)
def test_a_synthetic_corpus_follows_its_rule_and_says_where_everything_comes_from(source):
    text = corpus(source.name)
    pairs = [(line, line) for line in text.text.split("\n")] if source.form == sources.TEXT else [
        (one, target) for name in text.splits for one, [target] in text.split(name)]
    assert all(RULES[source.name](*pair) for pair in pairs)
    for one, target in pairs[:50]:
        links = source.links(one, target)
        assert links and all(0 <= query < len(target) and 0 <= key < len(one) for query, key in links)
        if source.name in ("reverse", "sort"):
            assert {target[query] for query, _ in links} == {*one} == {one[key] for _, key in links}
            assert all(target[query] == one[key] for query, key in links)
        if source.name == "repeat":  # what is looked at is what comes next
            assert all(text_after == one[key] for query, key in links if (text_after := one[query + 1:query + 2]))
        if source.name == "brackets":  # closing what is looked at is right
            assert all(one[key] in "([{<" and _closes(one[key + 1:query + 1]) for query, key in links)


@pytest.mark.usefixtures("unread")
def test_another_corpus_is_one_more_file_and_one_more_entry(tmp_path, monkeypatch):
    content = "Go.\tGeh!\tcredited\nGo.\tLauf!\nStop.\tHalt!\n"
    packed(tmp_path / "eng-deu.zip", content)
    german = sources.Source(
        name="eng-deu", form=sources.PAIRS, title="English and German sentences", size="3 pairs", file="eng-deu.zip",
        sha256=hashlib.sha256(content.encode()).hexdigest(), licence="CC BY 2.0", attribution="Tatoeba",
        splits=("train",), languages=("English", "German"))
    monkeypatch.setattr(sources, "PACKED", tmp_path)
    monkeypatch.setattr(sources, "SOURCES", (*SOURCES, german))
    text = corpus("eng-deu")
    assert text.split("train") == [("Go.", ["Geh!", "Lauf!"]), ("Stop.", ["Halt!"])]
    assert (text.languages, text.measured_on) == (("English", "German"), "train")


def test_a_damaged_file_and_a_bit_that_flipped_on_the_disk_are_refused_by_name_with_what_to_do(tmp_path):
    path, text = tmp_path / "mine.zip", "to be or not to be " * 99
    with pytest.raises(ValueError, match="mine.zip.*not a whole zip.*install Heads Up again"):
        unpack(path, "0" * 64)
    path.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ValueError, match="mine.zip.*not a whole zip.*install Heads Up again"):
        unpack(path, "0" * 64)
    with pytest.raises(ValueError, match="mine.zip.*its sha256 is.*install Heads Up again"):
        unpack(packed(path, "another text"), "0" * 64)
    for method, place in product((zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA), (55, 60)):
        content = bytearray(packed(path, text, method).read_bytes())
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(ValueError, match="install Heads Up again"):
            unpack(path, hashlib.sha256(text.encode()).hexdigest())


def test_a_file_that_was_written_again_is_read_again(tmp_path):
    path = tmp_path / "mine.tsv"
    for target in ("Va !", "Bouge donc !"):
        path.write_text(f"Go.\t{target}\nStop.\tArrête.\n", "utf-8")
        assert corpus(str(path)).find("Go.") == ("train", [target])
    assert corpus(str(path)) is corpus(str(path))


def test_sources_are_dealt_by_their_hash_whatever_their_order_and_never_twice():
    splits = split_pairs({f"Number {i}.": [f"Numéro {i}."] for i in range(20_101)})
    assert {name: len(pairs) for name, pairs in splits.items()} == {"train": 16_101, "validation": 2000, "test": 2000}
    hashes = [hashlib.sha256(source.encode()).hexdigest() for name in ("test", "validation", "train")
              for source in splits[name]]
    assert hashes == sorted(set(hashes))
    few = [f"Number {i}." for i in range(20)]
    splits = split_sources(few, held_out=3)
    assert splits == split_sources(few[::-1], held_out=3)
    assert [len(splits[name]) for name in ("test", "validation", "train")] == [3, 3, 14]


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


def test_neighbours_have_as_many_words_and_all_but_one_are_the_same():
    train = [("I like red wine.", []), ("We went home early today!", []), ("Go home.", [])]
    test = {"I like white wine!": True, "i like RED wine": True, "We went home early.": False,
            "We went home very early today.": False, "We came home late today.": False, "Go away.": False,
            "wine like red I": False, "": False}
    assert neighbours([(source, []) for source in test], train) == list(test.values())


@pytest.mark.rare("compares every test pair of a large corpus with all that is learned from")
def test_the_test_sources_are_the_ones_results_are_stated_for():
    pairs = corpus("eng-fra")
    test = pairs.split("test")
    assert hashlib.sha256("\n".join(source for source, _ in test).encode()).hexdigest() == corpora.TEST_SOURCES_SHA256
    assert (len(test), len(pairs.split("validation")), len(pairs.split("train"))) == (2000, 2000, 112_830)
    assert sum(unseen(test, pairs.split("train"))) == 1839
    assert sum(neighbours(test, pairs.split("train"))) == 564


@pytest.mark.usefixtures("unread")
def test_what_many_ask_for_at_once_is_read_once(monkeypatch):
    reads, callers, let_go = [], [], threading.Event()

    def slow(name):
        reads.append(name)
        let_go.wait()

    def ask():
        callers.append(True)
        corpora.corpus("asked by many")

    monkeypatch.setattr(corpora, "_packed", slow)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(ask)
        until(lambda: len(callers) == 8 and reads)
        let_go.set()
    assert reads == ["asked by many"]

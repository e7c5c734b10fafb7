"""A user's file is read in whatever form it comes, and refused with file, line, limit and remedy."""

import hashlib
import os
import time

import pytest

from tests.rows import each_row
from transformer.text import user_corpus
from transformer.text.corpora import (
    HELD_OUT,
    LabelledCorpus,
    PairCorpus,
    TextCorpus,
    corpus,
    is_available,
    split_sources,
)
from transformer.text.labelled import HOLD_OUT_FROM

TEXT = "It was a bright cold day in April,\nand the clocks were striking thirteen.\n"
PAIRS = "Go.\tVa !\nStop.\tArrête.\n"
ROWS = "text,label\nthis is awesome,positive\ni hated it,negative\n"


@pytest.fixture
def write(tmp_path):
    """write("mine.tsv", "text or bytes") -> the path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@each_row(("name", "content", "kind"), [
    ("mine.txt", TEXT, TextCorpus), ("mine.tsv", PAIRS, PairCorpus), ("mine.CSV", ROWS, LabelledCorpus)])
def test_the_ending_says_what_is_in_it(write, name, content, kind):
    path = write(name, content)
    assert not is_available(f"{path}.{name}")
    assert is_available(path)
    found = corpus(path)
    assert type(found) is kind
    assert (found.name, found.sha256) == (name, hashlib.sha256(content.encode()).hexdigest())


@each_row("end", ["\n", "\r\n", "\r"])
@each_row("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_make_no_difference(write, end, mark):
    def found(name, content):
        return corpus(write(name, mark + content.replace("\n", end)))

    assert found("mine.txt", TEXT).text == TEXT
    assert found("mine.tsv", PAIRS).splits == {"train": {"Go.": ["Va !"], "Stop.": ["Arrête."]}}
    assert found("mine.csv", ROWS).split("train") == [("this is awesome", "positive"), ("i hated it", "negative")]


def test_text_is_cut_at_nine_tenths(write):
    found = corpus(write("mine.txt", TEXT * 5))
    assert found.split("train") + found.split("validation") == TEXT * 5
    assert len(found.split("train")) == int(0.9 * len(TEXT * 5))


@each_row("sources", [2, 9, 10, 57, 25_000])
def test_a_tenth_of_the_sources_is_held_out_and_at_most_2000(write, sources):
    found = corpus(write("mine.tsv", "".join(f"source {i}\ttarget {i}\n" for i in range(sources))))
    held_out = min(HELD_OUT, sources // 10)
    if not held_out:
        assert list(found.splits) == ["train"]
        assert len(found.split("train")) == sources
        return
    dealt = split_sources([f"source {i}" for i in range(sources)], held_out=held_out)
    assert {name: [source for source, _ in found.split(name)] for name in dealt} == dealt
    assert len(found.split("test")) == len(found.split("validation")) == held_out


def test_targets_of_one_source_are_references_and_csv_columns_come_in_any_order_with_others_and_quoted_fields(write):
    found = corpus(write("mine.tsv", "Go.\tVa !\nStop.\tArrête.\n\nGo.\tBouge !\nGo.\tVa !\n"))
    assert found.split("train") == [("Go.", ["Va !", "Bouge !"]), ("Stop.", ["Arrête."])]
    found = corpus(write("mine.csv", 'id, Label ,text\n1,good,"well, ""fine"""\n\n2,bad,"two\nlines"\n'))
    assert found.classes == ("good", "bad")
    assert found.split("train") == [('well, "fine"', "good"), ("two\nlines", "bad")]
    assert found.find("two\nlines") == ("train", ["bad"])


@each_row(("different", "splits"), [(HOLD_OUT_FROM, 3), (HOLD_OUT_FROM - 1, 1)])
def test_texts_are_held_out_where_there_are_enough_different_ones(write, different, splits):
    texts = [f"text {i % different}" for i in range(150)]
    found = corpus(write("mine.csv", "text,label\n" + "".join(f"{text},{'ab'[len(text) % 2]}\n" for text in texts)))
    assert len(found.splits) == splits
    assert all(found.splits.values())
    assert sum(map(len, found.splits.values())) == 150


LONG = "a" * (user_corpus.LONGEST_LINE + 1)


@each_row(("name", "content", "message"), [
    ("mine.tsv", "Go.\tVa !\nno tab\n", r"mine.tsv, line 2: 1 column where 2 are needed.*put a tab"),
    ("mine.tsv", "Go.\tVa !\rno tab\r", r"mine.tsv, line 2: 1 column"),
    ("mine.tsv", "Go.\tVa !\r\n\r\na\tb\tc\r\n", r"mine.tsv, line 3: 3 columns where 2 are needed.*cut -f 1,2"),
    ("mine.tsv", "Go.\tVa !\n \tVa.\n", r"mine.tsv, line 2: the source, column 1, is empty; fill it in"),
    ("mine.tsv", "Go.\t\u00a0\n", r"mine.tsv, line 1: the target, column 2, is empty"),
    ("mine.tsv", "Go.\tVa !\nGo.\tBouge !\n", r"mine.tsv has 1 different source, at least 2 are needed; add"),
    ("mine.tsv", "", r"mine.tsv has 0 different sources, at least 2"),
    ("mine.tsv", f"Go.\tVa !\n{LONG}\tb\n", r"mine.tsv, line 2: 10,003 characters, at most 10,000 in a line; break"),
    ("mine.txt", f"{TEXT}{LONG}", r"mine.txt, line 3: 10,001 characters"),
    ("mine.txt", "  \n short \n", r"mine.txt has 5 characters beside white space, at least 50 are needed"),
    ("mine.txt", b"fine\nnot\0fine\n", r"mine.txt, line 2: a NUL byte"),
    ("mine.txt", TEXT.encode("utf-16"), r"line 1: the file is UTF-16, and UTF-8 is needed; .*iconv -f UTF-16 "),
    ("mine.txt", TEXT.encode("utf-16-be"), r"the file is UTF-16BE, .*iconv -f UTF-16BE "),
    ("mine.txt", TEXT.encode("utf-16-le"), r"the file is UTF-16LE"),
    ("mine.txt", TEXT.encode("utf-32"), r"the file is UTF-32"),
    ("mine.tsv", "Go.\tVa !\r\nSummer.\tÉté.\r\n".encode("latin-1"),
     r"line 2: byte 0xC9 is not UTF-8: the file looks like Latin-1; .*iconv -f ISO-8859-1 "),
    ("mine.tsv", "Go.\tVa…\n".encode("cp1252"), r"line 1: byte 0x85 is not UTF-8: the file looks like Windows-1252"),
    ("mine.txt", "été à la plage\nune".encode() + b"\xe9\n", r"line 2: byte 0xE9 is not UTF-8, though most of the"),
    ("mine.txt", bytes(range(1, 256)) * 9, r"byte 0x80 is not UTF-8: this does not look like text"),
    ("mine.csv", "text,class\na,b\n", r"mine.csv, line 1: no column called 'label' where 1 is needed, only 'text', "
                                      r"'class'; name them in the first line"),
    ("mine.csv", "\ntext;label\na;b\n", r"line 2: no column called 'text'.*separate the columns by commas, not by ';'"),
    ("mine.csv", "text,label,text\na,b,c\n", r"line 1: 2 columns called 'text' where 1 is needed"),
    ("mine.csv", "text,label\na,b\nwell, fine,good\n", r"line 3: 3 columns where the header has 2; put texts with a "),
    ("mine.csv", 'text,label\n"two\nlines",a\n,b\n', r"line 4: the column text is empty"),
    ("mine.csv", "text,label\na, \n", r"line 2: the column label is empty"),
    ("mine.csv", 'text,label\na,b\n"open,c\nd,e\n', r"line 3: quotes that do not match from here on"),
    ("mine.csv", 'text,label\n"a"b,c\n', r"line 2: quotes that do not match"),
    ("mine.csv", f"text,label\na,{'b' * 201}\n", r"line 2: a label of 201 characters, at most 200; check that label"),
    ("mine.csv", "text,label\na,b\nc,b\n", r"mine.csv has 1 class, at least 2 are needed"),
    ("mine.csv", "text,label\n", r"mine.csv has 0 classes, at least 2"),
    ("mine.csv", "\n", r"mine.csv is empty; its first line has to name"),
    ("mine.csv", "text,label\n" + "".join(f"t,{i}\n" for i in range(10_001)), r"has 10,001 classes; the limit is "
                                                                               "10,000"),
])
def test_what_is_wrong_is_said_with_its_line(write, name, content, message):
    with pytest.raises(ValueError, match=message):
        corpus(write(name, content))


def test_a_file_too_large_is_refused_unread(write):
    path = write("mine.txt", "")
    os.truncate(path, user_corpus.LARGEST_FILE + 1)
    with pytest.raises(ValueError, match=r"mine.txt has 50,000,001 bytes; the limit is 50,000,000"):
        corpus(path)


@each_row(("name", "needs"), [("none.tsv", "source TAB target"), ("none.csv", "columns text and label"),
                             ("none.txt", "running text")])
def test_a_file_that_is_not_there_is_refused_with_what_to_give(tmp_path, name, needs):
    with pytest.raises(ValueError, match=f"cannot be read .*{needs}"):
        corpus(str(tmp_path / name))
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"is not a file; .*{needs}"):
        corpus(str(tmp_path / name))
    assert not is_available(str(tmp_path / name))


@pytest.mark.rare("reads a file as large as any may be")
def test_the_largest_file_is_looked_through_in_seconds(write):
    line = "a sentence of some words that stands for any other\tune phrase de quelques mots\n"
    path = write("mine.tsv", "".join(f"{i} {line}" for i in range(user_corpus.LARGEST_FILE // (len(line) + 7))))
    began = time.process_time()
    assert len(corpus(path).splits["test"]) == HELD_OUT
    assert time.process_time() - began < 60

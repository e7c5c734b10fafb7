"""A corpus of the user's own: one file, checked line by line before it is used.

`.txt` is running text, `.tsv` has one `source TAB target` a line, `.csv` a header naming the columns text and label.
Every error is a ValueError with the file's name, the line if there is one, the limit and the remedy.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from transformer.basics.folders import is_no_file
from transformer.basics.formatting import how_many
from transformer.text.corpus_catalogue import FORMS, Form
from transformer.text.labelled import Labelled, deal

LARGEST_FILE = 50_000_000  # bytes
LONGEST_LINE = 10_000  # characters
LONGEST_LABEL = 200  # characters
MOST_CLASSES = 10_000
LEAST_TEXT = 50  # characters of running text: less does not fill one window


def is_user_corpus(name: str) -> bool:
    """Whether a corpus's name is the path of a user's file."""
    return form_of_file(Path(name)) is not None


def form_of_file(path: Path) -> Form | None:
    """The form of a file, by the ending of its name; None for any other ending."""
    return next((form for form in FORMS if form.ending == path.suffix.lower()), None)


def read_text(path: Path) -> str:
    """The running text of a file, its lines ended by newlines."""
    text = "\n".join(line for _, line in _numbered(path))
    if (count := len("".join(text.split()))) < LEAST_TEXT:
        raise ValueError(f"{path.name} has {count:,} characters beside white space, at least {LEAST_TEXT} are needed; "
                         "give a longer text")
    return text


def read_pairs(path: Path) -> dict[str, list[str]]:
    """The targets of each source, both in file order; the same pair counts once."""
    found: dict[str, dict[str, None]] = {}
    for number, line in _numbered(path):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            more = "delete the others (cut -f 1,2 keeps the first two)" if len(columns) > 2 else (
                "put a tab character, not spaces, between source and target")
            raise ValueError(f"{path.name}, line {number:,}: {how_many(len(columns), 'column')} where 2 "
                             f"are needed, source TAB target; {more}")
        source, target = (column.strip() for column in columns)
        for column, (name, text) in enumerate((("source", source), ("target", target)), start=1):
            if not text:
                raise ValueError(f"{path.name}, line {number:,}: the {name}, column {column}, is empty; fill it in or "
                                 "delete the line")
        found.setdefault(source, {})[target] = None
    if len(found) < 2:
        raise ValueError(f"{path.name} has {how_many(len(found), 'different source')}, at least 2 are "
                         "needed; add lines of `source TAB target`")
    return {source: list(targets) for source, targets in found.items()}


def read_labelled(path: Path) -> tuple[list[str], dict[str, list[Labelled]]]:
    """The classes (in order of appearance) and the splits of a file with the columns text and label."""
    items = list(_rows(path))
    classes = list(dict.fromkeys(label for _, label in items))
    if len(classes) < 2:
        raise ValueError(f"{path.name} has {len(classes)} class{'es' * (not classes)}, at least 2 are needed to tell "
                         "apart; add texts with another label")
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"{path.name} has {len(classes):,} classes; the limit is {MOST_CLASSES:,}. Please check that "
                         "label and text are not exchanged")
    return classes, deal(items)


def _rows(path: Path) -> Iterator[Labelled]:
    """(text, label) of each record; a quoted field may run over several lines."""
    lines = [line for _, line in _numbered(path)]
    reader = csv.reader((f"{line}\n" for line in lines), strict=True)
    before, header, text_at, label_at = 0, None, 0, 0
    try:
        for record in reader:
            number, before = before + 1, reader.line_num
            if not any(field.strip() for field in record):
                continue
            if header is None:
                header = [name.strip().lower() for name in record]
                text_at, label_at = _columns(path, number, header, lines[number - 1])
                continue
            if len(record) != len(header):
                raise ValueError(f"{path.name}, line {number:,}: {how_many(len(record), 'column')} where "
                                 f"the header has {len(header)}; put texts with a comma into double quotes")
            text, label = record[text_at].strip(), record[label_at].strip()
            for name, value in (("text", text), ("label", label)):
                if not value:
                    raise ValueError(f"{path.name}, line {number:,}: the column {name} is empty; fill it in or delete "
                                     "the line")
            if len(label) > LONGEST_LABEL:
                raise ValueError(f"{path.name}, line {number:,}: a label of {len(label):,} characters, at most "
                                 f"{LONGEST_LABEL}; check that label and text are not exchanged")
            yield text, label
    except csv.Error as error:
        raise ValueError(f"{path.name}, line {before + 1:,}: quotes that do not match from here on ({error}); close "
                         "the quoted text, and write a double quote inside it twice") from None
    if header is None:
        raise ValueError(f"{path.name} is empty; its first line has to name the columns text and label")


def _columns(path: Path, number: int, header: list[str], line: str) -> tuple[int, int]:
    """The places of the columns text and label."""
    for name in ("text", "label"):
        if header.count(name) == 1:
            continue
        there = ", ".join(repr(column[:40]) for column in header[:8])
        count = f"{header.count(name)} columns" if name in header else "no column"
        separator = next((mark for mark in (";", "\t") if mark in line and "," not in line), None)
        remedy = f"separate the columns by commas, not by {separator!r}" if separator else (
            "name them in the first line, such as `text,label`")
        raise ValueError(f"{path.name}, line {number:,}: {count} called {name!r} where 1 is needed, only {there}; "
                         f"{remedy}")
    return header.index("text"), header.index("label")


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1, checked."""
    for number, line in enumerate(_decoded(path).split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"{path.name}, line {number:,}: {len(line):,} characters, at most {LONGEST_LINE:,} in a "
                             "line; break it into shorter lines")
        yield number, line


def _decoded(path: Path) -> str:
    """The text of a UTF-8 file, without byte order mark, every kind of line end (CRLF, CR) as a newline."""
    content = _content(path)
    if encoding := _wide(content):
        raise ValueError(f"{path.name}, line 1: the file is {encoding}, and UTF-8 is needed; save it as UTF-8, or "
                         f"convert it: iconv -f {encoding} -t UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if (at := content.find(b"\0")) >= 0:
        raise ValueError(f"{path.name}, line {_line_of(content, at):,}: a NUL byte, which no text has (0 are allowed); "
                         "give a plain text file, or delete the byte")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        wrong = f"{path.name}, line {_line_of(content, error.start):,}: byte 0x{content[error.start]:02X} is not UTF-8"
        raise ValueError(f"{wrong}{_remedy(content)}") from None


def _content(path: Path) -> bytes:
    try:
        if is_no_file(path):
            raise ValueError(f"{path} is not a file; give the path of one with {_holds(path)}")
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise ValueError(f"{path.name} has {size:,} bytes; the limit is {LARGEST_FILE:,}. Please train on a part "
                             "of it")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); give the path of a file with "
                         f"{_holds(path)}") from None


def _holds(path: Path) -> str:
    form = form_of_file(path)
    return form.holds if form else "text"


def _wide(content: bytes) -> str | None:
    """Whether bytes are UTF-16 or UTF-32, by their byte order mark or a zero in nearly every other byte."""
    for mark, name in ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"),
                       (b"\xfe\xff", "UTF-16")):
        if content.startswith(mark):
            return name
    start = content[:4_000]
    for first, name in ((0, "UTF-16BE"), (1, "UTF-16LE")):
        half = start[first::2]
        if len(start) >= 4 and half.count(0) > 0.4 * len(half) and not start[1 - first :: 2].count(0):
            return name
    return None


def _remedy(content: bytes) -> str:
    """What a file that is not UTF-8 probably is, and what to do."""
    if len(re.findall(rb"[\x01-\x08\x0e-\x1f\x7f]", content[:100_000])) > 0.05 * len(content[:100_000]):
        return ": this does not look like text; give a plain text file"
    read = content.decode(errors="replace")
    if sum(char > "\x7f" and char != "\ufffd" for char in read) > read.count("\ufffd"):
        return ", though most of the file is; retype that character, or delete it"
    encoding, called = ("WINDOWS-1252", "Windows-1252") if re.search(rb"[\x80-\x9f]", content) else (
        "ISO-8859-1", "Latin-1")
    return (f": the file looks like {called}; save it as UTF-8, or convert it: iconv -f {encoding} -t UTF-8")


def _line_of(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1

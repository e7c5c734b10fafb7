"""Harmful zips are refused by their directory, or by what comes out of them."""

import io
import shutil
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from tests.rows import each_row
from transformer.intake.archive import MOST_FILES, read_archive
from transformer.intake.receiving import take_in

CONFIG = b'{"format": 1}'


def refusal(path, tmp_path) -> str:
    """The sentence; nothing is written, not even beside the home."""
    before = {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*")}
    with pytest.raises(ValueError) as error:  # noqa: PT011
        take_in(path, tmp_path / "home")
    assert not list((tmp_path / "home").iterdir())
    (tmp_path / "home").rmdir()
    assert {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*")} == before
    message = str(error.value)
    assert message.isprintable()
    return message


def entry(name, **settings) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x")
    info.filename, info.orig_filename = name, name
    for field, value in settings.items():
        setattr(info, field, value)
    return info


def zipped(path, *entries, **settings) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in entries:
            archive.writestr(info, content, **settings)
    return path


def overwrite(path, number, *places, mark=b"PK\x01\x02", kind="<L") -> bytes:
    """Writes a number into a zip: at each place behind the last such mark, by default an entry of its directory."""
    content = bytearray(path.read_bytes())
    for at in places:
        struct.pack_into(kind, content, content.rindex(mark) + at, number)
    path.write_bytes(content)
    return bytes(content)


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "sent.zip"


@each_row("name", [
    "../config.json", "a/../../x", "/etc/passwd", "\\x", "a\\..\\x", "C:/x", "c:x", "./config.json", "a//b", "..",
    ".", " /x", "a/ .. /b", "a\nb", "a\x1bb", "\u202ex", "x" * 201, "../x/"])
def test_a_name_that_leads_outside_or_holds_a_null_is_refused(place, tmp_path, name):
    message = refusal(zipped(place, (entry("config.json"), CONFIG), (entry(name), b"")), tmp_path)
    assert "which could be written outside its folder" in message
    place.write_bytes(zipped(place, ("config.json", CONFIG), ("aXb", b"")).read_bytes().replace(b"aXb", b"a\0b"))
    assert "could be written outside" in refusal(place, tmp_path)


@each_row(("kind", "what"), [
    (stat.S_IFLNK, "a link"), (stat.S_IFIFO, "no ordinary file"), (stat.S_IFCHR, "no ordinary file"),
    (stat.S_IFSOCK, "no ordinary file"), (stat.S_IFDIR, "no ordinary file")])
def test_links_and_devices_are_refused(place, tmp_path, kind, what):
    info = entry("model.safetensors", external_attr=(kind | 0o777) << 16, create_system=3)
    message = refusal(zipped(place, (entry("config.json"), CONFIG), (info, b"/etc/passwd")), tmp_path)
    assert f"'model.safetensors' in the zip is {what}" in message


@each_row("flag", [0x1, 0x40, 0x2000])
def test_encrypted_files_are_refused(place, tmp_path, flag):
    zipped(place, ("config.json", CONFIG))
    overwrite(place, flag, 6, mark=b"PK\x03\x04", kind="<H")
    overwrite(place, flag, 8, kind="<H")
    assert "'config.json' in the zip is encrypted" in refusal(place, tmp_path)


@each_row("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_ways_of_packing_are_refused(place, tmp_path, method):
    message = refusal(zipped(place, ("config.json", CONFIG), compress_type=method), tmp_path)
    assert "unsupported compression" in message


@each_row("names", [
    ["config.json"] * 2, ["a/config.json", "a/CONFIG.json"], ["é", "e\u0301"], ["a", "a/"]])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_are_there_twice_are_refused(place, tmp_path, names):
    assert "twice" in refusal(zipped(place, *[(entry(name), b"") for name in names]), tmp_path)


def test_too_many_files_and_a_directory_longer_than_it_says_are_refused_unread(place, tmp_path):
    zipped(place, *[(f"{number}.txt", b"") for number in range(MOST_FILES + 1)])
    assert f"holds {MOST_FILES + 1} files" in refusal(place, tmp_path)
    zipped(place, *[(f"{number:0150}.txt", b"") for number in range(3_000)])
    overwrite(place, 3, 8, 10, mark=b"PK\x05\x06", kind="<H")  # so many files, it says
    assert "in a list of" in refusal(place, tmp_path)


def test_a_bomb_and_more_than_is_ever_unpacked_are_refused_before_anything_is_unpacked(place, tmp_path):
    zipped(place, ("config.json", CONFIG), ("model.safetensors", bytes(30_000_000)))
    assert "more than 100 times as many" in refusal(place, tmp_path)
    zipped(place, ("config.json", CONFIG), ("model.safetensors", bytes(1_000)))
    overwrite(place, 4_000_000_000, 24)
    assert "would unpack to 4,000,000,013 bytes; the limit is 2,000,000,000" in refusal(place, tmp_path)


@each_row("said_size", [100, 900_000])
def test_a_bomb_that_lies_about_its_size_does_not_go_off(place, tmp_path, said_size):
    zipped(place, ("config.json", CONFIG), ("model.safetensors", b"{" + bytes(5_000_000)))
    overwrite(place, said_size, 22, mark=b"PK\x03\x04")
    content = overwrite(place, said_size, 24)
    (item,) = [item for item in read_archive(io.BytesIO(content)) if item.name == "model.safetensors"]
    assert item.size == said_size
    unpacked = io.BytesIO()
    with item.open() as file, pytest.raises(zipfile.BadZipFile):
        shutil.copyfileobj(file, unpacked, 100_000)
    assert unpacked.tell() <= said_size
    assert len(refusal(place, tmp_path)) > 20


def test_what_overlaps_in_a_zip_is_refused(place, tmp_path):
    """David Fifield's "A better zip bomb" (WOOT 2019) packs one kernel under many names."""
    zipped(place, ("config.json", CONFIG), ("a", b"1" * 50), ("b", b"1" * 50))
    with zipfile.ZipFile(place) as archive:
        overwrite(place, archive.getinfo("a").header_offset, 42)
    assert "overlap at 'b'" in refusal(place, tmp_path)
    zipped(place, ("config.json", CONFIG))
    overwrite(place, 1_000, 20)
    assert "overlap with its list of files" in refusal(place, tmp_path)


@each_row(("change", "message"), [
    (lambda content: content[:-1], "damaged"), (lambda content: content[:30], "it has no end"),
    (lambda content: content + b"x", "before or after it"), (lambda content: b"PKxx" + content, "before or after it"),
    (lambda content: content[:4] + content[4:].replace(b"PK\x03\x04", b"PKxx"), "damaged at"),
    (lambda content: content.replace(b"PK\x01\x02", b"PKxx"), "damaged (Bad magic"),
    (lambda content: content.replace(b"config.json", b"konfig.json", 1), "is damaged (File name in directory"),
    (lambda content: content[:-22] + b"PK\x06\x07" + bytes(16) + content[-22:], "zip64"),
])
def test_a_damaged_zip_is_refused(place, tmp_path, change, message):
    zipped(place, ("a.txt", b"a"), ("config.json", CONFIG))
    place.write_bytes(change(place.read_bytes()))
    assert message in refusal(place, tmp_path)


def test_an_empty_zip_a_file_that_is_none_and_other_content_than_was_packed_are_refused(place, tmp_path):
    assert "the zip is empty" in refusal(zipped(place), tmp_path)
    for content, message in ((b"hello", "sent.zip is not a zip"), (b"", "sent.zip is empty")):
        place.write_bytes(content)
        assert message in refusal(place, tmp_path)
    zipped(place, ("config.json", CONFIG), compress_type=zipfile.ZIP_STORED)
    place.write_bytes(place.read_bytes().replace(CONFIG, b'{"format": 7}'))
    assert "Bad CRC-32" in refusal(place, tmp_path)

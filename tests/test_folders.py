"""Folders that others write into at the same time."""

import os
import shutil

from transformer.basics.folders import size_of, written_ns


def test_a_folder_that_is_gone_before_it_was_looked_at_counts_nothing(tmp_path, monkeypatch):
    (tmp_path / "unpacked" / "deeper").mkdir(parents=True)
    (tmp_path / "came.whl").write_bytes(b"1234")
    scandir = os.scandir

    def scan(path):
        if str(path).endswith("unpacked"):
            shutil.rmtree(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert size_of(tmp_path) == 4
    assert size_of(tmp_path / "gone") == 0 and written_ns(tmp_path / "gone") is None

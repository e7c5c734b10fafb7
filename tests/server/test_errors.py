"""What a page shows of an exception: nothing that is not for visitors."""

from pathlib import Path


def test_no_exceptions_text_reaches_a_page(start, tmp_path):
    page = tmp_path / "raises.py"
    page.write_text("import streamlit as st\nst.write('so far')\nraise KeyError('a-secret-path')\n")
    server = start(before=f"serve.APP = serve.Path({str(page)!r})")
    with server.visit() as session:
        text = session.open()
    assert "so far" in text and "exception {" in text
    for secret in ("a-secret-path", "KeyError", "Traceback", page.name, str(Path(page).parent)):
        assert secret not in text
    assert "a-secret-path" in server.log.read_text()

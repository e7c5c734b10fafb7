"""The app on the newest Streamlit of the package index: what no longer holds there, before anybody moves to it."""

import subprocess
import sys
from pathlib import Path

import pytest

from ui.page.pages import EVERY_PAGE
from ui.state.patches import WRITTEN_FOR

pytestmark = [pytest.mark.rare("installs a Streamlit from the package index"), pytest.mark.slow]

PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target")


@pytest.fixture(scope="module")
def newest(tmp_path_factory) -> tuple[Path, str]:
    """A folder with the newest Streamlit, and its version."""
    folder = tmp_path_factory.mktemp("newest") / "site-packages"  # elsewhere it takes itself for a working copy
    installed = subprocess.run([*PIP, folder, "streamlit"], capture_output=True, text=True, timeout=300)
    if installed.returncode:
        pytest.skip(f"no package index answers: {installed.stderr.strip()[-200:]}")
    return folder, next(folder.glob("streamlit-*.dist-info")).name.removeprefix("streamlit-").removesuffix(".dist-info")


def test_every_page_opens_on_the_newest_streamlit(newest, start):
    packages, version = newest
    try:
        server = start(packages=packages, before="import streamlit; print(streamlit.__file__, flush=True)")
        assert str(packages) in server.log.read_text()
        with server.visit() as session:
            for page in EVERY_PAGE:
                assert not session.open(page).sizes["exception"], page
    except Exception as error:
        if version == WRITTEN_FOR["streamlit"]:
            raise
        # nobody has it yet: requirements.txt pins the one that works
        pytest.xfail(f"the app does not run on Streamlit {version} yet: {error}")

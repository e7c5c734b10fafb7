"""Browsers other than Chromium.

Each needs its own packages (Debian: firefox-esr; webkit2gtk-driver and xvfb) and is skipped without them, saying so;
HEADSUP_REQUIRE_BROWSER=1 makes that a failure.
"""

import shutil

import pytest

from . import firefox, webkit

SIZE = (1280, 800)
NEEDED = {"firefox": (firefox, ()), "webkit": (webkit, (webkit.SCREEN,))}


@pytest.fixture(scope="module", params=list(NEEDED))
def tab(request, tmp_path_factory):
    """One tab of that browser for all tests of a file."""
    module, others = NEEDED[request.param]
    executable = next(filter(None, map(shutil.which, module.NAMES)), None)
    for name, there in ((" or ".join(module.NAMES), executable), *((name, shutil.which(name)) for name in others)):
        if there is None:
            pytest.skip(f"no {name} on the PATH")
    with module.opened(executable, tmp_path_factory.mktemp(request.param)) as tab:
        tab.resize(*SIZE)
        yield tab

"""The main path in browsers other than Chromium, as a class opens it: by an address of this computer, over plain http.

Each needs its own packages (Debian: firefox-esr; webkit2gtk-driver and xvfb) and is skipped without them, saying so;
HEADSUP_REQUIRE_BROWSER=1 makes that a failure.
"""

import re
import shutil

import pytest

from . import firefox, webkit
from .path import PATH

SIZE = (1280, 800)
NEEDED = {"firefox": (firefox, ()), "webkit": (webkit, (webkit.SCREEN,))}


@pytest.fixture(scope="module")
def for_others(serve, tmp_path_factory) -> str:
    """The address that a server says others can open."""
    folder = tmp_path_factory.mktemp("others")
    log = folder / "log.txt"
    serve(log, "ui/serve.py", "--host", "0.0.0.0", "--port", "0", HEADSUP_HOME=str(folder / "home"))
    found = re.search(r"for others at (http://[\w.:]+)", log.read_text())
    if found is None:
        pytest.skip("this computer has no address but its own")
    return found[1]


@pytest.fixture(scope="module", params=list(NEEDED))
def tab(request, tmp_path_factory):
    """One tab of that browser for all of the path."""
    module, others = NEEDED[request.param]
    executable = next(filter(None, map(shutil.which, module.NAMES)), None)
    for name, there in ((" or ".join(module.NAMES), executable), *((name, shutil.which(name)) for name in others)):
        if there is None:
            pytest.skip(f"no {name} on the PATH")
    with module.opened(executable, tmp_path_factory.mktemp(request.param)) as tab:
        tab.resize(*SIZE)
        yield tab


@pytest.mark.parametrize("part", PATH)
def test_the_main_path_is_passed(tab, for_others, part):
    PATH[part](tab, for_others)

"""How the components' scripts get to a browser: once, from an address that names their content.

The server serves them, and then a component's own script, which goes with every message, only leads there. Where
nobody does (`streamlit run app.py`, tests of single pages) the whole script goes with every message. Of one that is
served, `data-ran` on the component's element says that it has run. What is not for every visitor (films, zips) is a
script of its own, which a browser fetches from beside the others when it is asked for.
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from streamlit.components import v2

from transformer.attention_view.script_bundle import script
from transformer.basics.design import FONT

HERE = Path(__file__).parent / "js"
SERVED = "HEADSUP_SCRIPTS_SERVED"  # set in the environment of a server that does
# Messages that come before the script has are shown in any order by a browser: only the last of them is. A script that
# did not arrive is asked for again, for a minute, under another address, since browsers may keep a failure. All this
# goes with every message, so it is short.
LEADS = """export default async (component) => {{
const root = component.parentElement, {{ host }} = root;
host.headsUpLast = component;
let script;
for (let n = 0; !script; n++)
script = await import(new URL("./scripts/{name}" + (n ? "?" + n : ""), document.baseURI)).catch((error) => {{
if (n > 6) {{ root.textContent = "This part did not arrive. Reload the page."; throw error; }}
return new Promise((done) => setTimeout(done, 500 * 2 ** n)); }});
if (host.headsUpLast !== component) return;
const leave = script.default(script.unlessLeaving(component));
host.dataset.ran = "";
return leave;
}};
"""
# What a component says once its page is left (shell.js) would go out as said on that page, and Streamlit would go back
# to it.
ALONG = """
export const unlessLeaving = (component) => {
  const quiet = (say) => (...said) => window.headsUpViews?.leaving?.() || say(...said);
  const { setStateValue, setTriggerValue } = component;
  return { ...component, setStateValue: quiet(setStateValue), setTriggerValue: quiet(setTriggerValue) };
};
"""
scripts: dict[str, bytes] = {}  # name with a hash -> what is served under it


def component(name: str, entry: Path, html: str) -> Callable:
    """A Streamlit component whose script is a module and all that it imports."""
    text = (LEADS.format(name=_keep(name, script(entry, _address) + ALONG)) if os.environ.get(SERVED)
            else f"// {name}\n{script(entry)}")  # one line might be taken for a path
    return v2.component(name, html=html, js=text)


def kept_script(name: str, entry: Path) -> str:
    """The file under which the script of a page of its own is served."""
    return _keep(name, script(entry, _address))


def kept_font() -> str:
    """The file under which the font of pages without Streamlit is served."""
    return _keep(FONT.stem, FONT.read_bytes(), FONT.suffix)


@cache
def _address(module: Path) -> str:
    """Where a script finds another beside it."""
    return f"./{_keep(module.stem, script(module, _address))}"


def _keep(name: str, content: str | bytes, suffix: str = ".js") -> str:
    """Have a file served; returns its name."""
    content = content.encode() if isinstance(content, str) else content
    file = f"{name}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    scripts[file] = content
    return file

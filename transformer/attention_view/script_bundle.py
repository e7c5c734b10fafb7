"""ES modules made one script, for a page that has no files beside it.

A module imports from "#view/lines.js", which is js/lines.js here (package.json says the same to node), or from
"./ticks.js", which stands beside it; a style imported by name is its text, and a JSON file its value. Every module
comes once, after those that it imports, and all share one scope, so no two may declare the same name. Comments and
indents stay behind. Other people's modules, in js/vendor here or of the app, stay as they are, in a scope of their own.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

JS = Path(__file__).parent / "js"
DECLARED = re.compile(r"^(?:export )?(?:const|let|(?:async )?function|class) (\w+)", re.MULTILINE)
IMPORT = re.compile(r'^import (?:\{[\w\s,]*\}|(?P<text>\w+)) from "(?P<source>[^"]+)";\n', re.MULTILINE)
LATER = re.compile(r'\bimport\("(?P<source>(?:#view|\.)/[^"]+)"\)')
NOWHERE = 'Promise.reject(new Error("This needs the server of the app, which `headsup app` starts."))'

EXPORT = re.compile(r"^export (?:default )?", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:const|let|(?:async )?function|class) (\w+)", re.MULTILINE)
EXPORTS = re.compile(r"export\s*\{([^}]*)\};?\s*$")
# comments and indents; quoted text and patterns are taken first, for inside them these are text
SPARE = re.compile(r"""(`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/
                        |(?<=[(,=:!&|?])[ ]*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\[\\\n])+/)
                       |^[ ]*//[^\n]*\n|^[ ]+""", re.MULTILINE | re.DOTALL | re.VERBOSE)

Address = Callable[[Path], str]  # where a browser fetches a module that is imported only once it is needed

def script(entry: Path, address: Address | None = None, *, within: Collection[Path] = ()) -> str:
    """The module and all that it imports as one, with its own exports alone. Raises ValueError for modules that import
    each other, or of which two declare the same name.

    `import("#view/film/make.js")` stays an import, of the module's address; without `address` it fails, but for those
    `within`, which come along, each in a scope of its own.
    """
    if _from_others(entry):
        return entry.read_text("utf-8")
    parts: dict[Path, str] = {}
    places = {path.resolve(): f"modules_within[{at}]" for at, path in enumerate(within)}
    _collect(entry.resolve(), (), parts, address, places)
    names = [name for path, text in parts.items() for name in _names(path, text)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{entry.name} is made of modules of which two declare {', '.join(twice)}")
    *others, own = [text if _from_others(path) else SPARE.sub(lambda found: found[1] or "", text)
                    for path, text in parts.items()]
    whole = EXPORT.sub("", "".join(others)) + own
    for path, place in places.items():
        whole = whole.replace(place, f"Promise.resolve((() => {{\n{_given(script(path))}}})())")
    return whole


def _names(path: Path, text: str) -> list[str]:
    """What a module declares for all; other people's, in a scope of their own, only what they export."""
    return re.findall(r"\w+", text[:text.index("}")])[1:] if _from_others(path) and path.suffix == ".js" else (
        DECLARED.findall(text))


def _given(text: str) -> str:
    """A script as the body of a function that returns what it exports."""
    names = ", ".join(EXPORTED.findall(text))
    return f"{EXPORT.sub('', text)}return {{ {names} }};\n"


def _collect(path: Path, above: tuple[Path, ...], parts: dict[Path, str], address: Address | None,
             places: Mapping[Path, str]) -> None:
    """Put a module's text without its imports into `parts`, after theirs. places: what stands for modules that come
    along but are imported later."""
    if path in above:
        raise ValueError(f"{path.name} and {above[-1].name} import each other")
    text = path.read_text("utf-8")
    if _from_others(path):
        parts[path] = _apart(text)
        return
    for line in IMPORT.finditer(text):
        other = _beside(path, line["source"])
        if line["text"]:
            content = other.read_text("utf-8")
            value = json.loads(content) if other.suffix == ".json" else content
            parts[other] = f"const {line['text']} = {json.dumps(value)};\n"
        elif other not in parts:
            _collect(other, (*above, path), parts, address, places)

    def later(found: re.Match[str]) -> str:
        module = _beside(path, found["source"])
        return places.get(module) or (f'import("{address(module)}")' if address else NOWHERE)

    parts[path] = LATER.sub(later, IMPORT.sub("", text))


def _from_others(path: Path) -> bool:
    """Whether it is other people's module, whole and as it came: js/vendor/gifenc/gifenc.js."""
    return path.parts[-4:-2] == ("js", "vendor")


def _beside(path: Path, source: str) -> Path:
    """What a module means by the name of another."""
    return (JS / source.removeprefix("#view/") if source.startswith("#view/") else path.parent / source).resolve()


def _apart(text: str) -> str:
    """A whole module of somebody else's as one that declares its exports alone; a default one by its own name, as in
    `import { default as uPlot }`."""
    names = [[one.strip() for one in name.split(" as ")] for name in EXPORTS.search(text)[1].split(",")]
    names = [(name[0], name[0] if name[-1] == "default" else name[-1]) for name in names]
    given = ", ".join(f"{outside}: {inside}" for inside, outside in names)
    own = ", ".join(outside for _, outside in names)
    return f"const {{ {own} }} = (() => {{\n{EXPORTS.sub('', text)}\nreturn {{ {given} }};\n}})();\n"
